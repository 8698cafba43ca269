"""`Bridge`: why a total changed from one period to another, by category and counterparty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.core.chart_of_accounts import Hierarchy
from accounting_analytics.core.column_conversion import exact_amounts, negated
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.periods import Period
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.reports.books.value import Books, to_books
from accounting_analytics.reports.figures.figure import (
    KEY_SEPARATOR,
    Figure,
    checked_entries,
    figure_of_entries,
    find_row,
    float_amounts,
)
from accounting_analytics.reports.figures.figure_table import entries_behind, figure_table_html, table_of_figures
from accounting_analytics.reports.figures.selections import Selection, Span
from accounting_analytics.reports.payees.bridge_payments import (
    NO_PAYEE,
    SMALLER_CHANGES,
    TRANSFERRED,
    BridgeStep,
    Cause,
    History,
    PaidLines,
    PeriodEdge,
    categories_of_steps,
    find_cause,
)
from accounting_analytics.reports.payees.bridge_sentences import (
    BridgeWords,
    StepSides,
    others_sentence,
    step_sentence,
    total_sentence,
    write_amount,
)
from accounting_analytics.reports.statements.columns import compared_period
from accounting_analytics.reports.statements.four_statements import cash_flow_statement, income_statement
from accounting_analytics.reports.statements.rows import OPENINGS_NOTE

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import PeriodLike
    from accounting_analytics.reports.figures.figure_table import FigureTable
    from accounting_analytics.reports.payees.bridge_payments import StepKey, StepKind
    from accounting_analytics.reports.payees.bridge_sentences import AmountWriter
    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.rows import Row
    from accounting_analytics.reports.statements.statement_figures import StatementFigures

BEFORE, AFTER, CHANGE, LAST = "before", "after", "change", "last"
_OTHERS = "smaller_changes"
_MAX_SENTENCES = 5
_COMPARISONS: dict[str, Literal["prior", "prior_year"]] = {"prior": "prior", "prior_year": "prior_year"}
_TOTALS = {"net_cash_flow": cash_flow_statement, "net_income": income_statement}
"""Totals that a bridge explains, and the function that makes the statement with each total."""


class BridgedLines(NamedTuple):
    """Lines of both periods. Each line has its side and the rank of its step.

    The rank is -1 if the counterparty of the line has no step, because its amount did not change.
    """

    frame: pd.DataFrame
    is_after: npt.NDArray[np.bool_]
    ranks: npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False, eq=False)
class Bridge(Result):
    """Steps that explain a changed total and sum exactly to the change, as :func:`bridge` returns them.

    Amounts are positive where they increase the total: cash that comes in, or net income. ``bridge["before"]``,
    ``bridge["after"]``, ``bridge["change"]`` and ``bridge[step.key]`` are figures with their line entries; the sides of
    a step are ``bridge[f"{step.key}|before"]`` and ``|after``. If a counterparty had no payment in one of the periods,
    ``|last`` is its latest payment before the payments of the other. ``bridge["smaller_changes|5"]`` is all steps but
    the five largest.

    Parameters
    ----------
    title : str
        The total.
    before, after : str
        The two periods.
    steps : tuple of BridgeStep
        The largest changes by absolute amount, then one step for all others.
    scale : int
        Fraction digits of the amounts.
    time_zone : str
        Zone that days are counted in.
    currency : str or None
        What the caller of the statement named.
    notes : tuple of str
        Remarks for the reader.
    """

    title: str
    before: str
    after: str
    steps: tuple[BridgeStep, ...]
    scale: int
    time_zone: str
    currency: str | None
    notes: tuple[str, ...]
    _unit: str
    _units: tuple[int, int]
    _all: tuple[BridgeStep, ...]
    _lines: BridgedLines
    _last: Mapping[str, pd.DataFrame]

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each step; the amounts sum to the change."""
        figures = [self.sides(step.key) for step in self.steps]
        columns: dict[str, Any] = {
            "label": [step.label for step in self.steps],
            "category": [step.category for step in self.steps],
            "counterparty": [step.counterparty or None for step in self.steps],
            "cause": [step.cause.name for step in self.steps],
            "rhythm": [step.cause.rhythm or None for step in self.steps],
            "amount": float_amounts([sides.change for sides in figures]),
            "before": float_amounts([sides.before for sides in figures]),
            "after": float_amounts([sides.after for sides in figures]),
            "payments_before": [len(step.before) for step in self.steps],
            "payments_after": [len(step.after) for step in self.steps],
            "days": [", ".join(f"{day.date}" for day in step.cause.payments) or None for step in self.steps],
            "key": [step.key for step in self.steps],
        }
        texts = ("label", "category", "counterparty", "cause", "rhythm", "days", "key")
        frame = pd.DataFrame(columns).astype(dict.fromkeys(texts, "str"))
        frame.attrs |= {"scale": self.scale, "notes": self.notes}
        return frame

    def __getitem__(self, key: str) -> Figure:
        """Return the figure of a side, of the change, or of a step, by key or label."""
        row, _, side = key.rpartition(KEY_SEPARATOR) if isinstance(key, str) else ("", "", "")
        if row == _OTHERS and side.isdecimal():
            return self.sides(key).change
        if side in {BEFORE, AFTER} and (row in self._ranks or row.startswith(f"{_OTHERS}{KEY_SEPARATOR}")):
            figures = self.sides(row)
            return figures.before if side == BEFORE else figures.after
        if side == LAST and row in self._last:
            return self._last_figure(row)
        names = {
            BEFORE: self.before,
            AFTER: self.after,
            CHANGE: "Change",
            **{step.key: step.label for step in self._all},
        }
        known = ", ".join(quote(key) for key in (BEFORE, AFTER, CHANGE))
        found = find_row(LedgerNames(names, Hierarchy({})), key, f"give {known}, or the key or label of a step")
        figures = self.sides(found if found in self._ranks else CHANGE)
        return {BEFORE: figures.before, AFTER: figures.after}.get(found, figures.change)

    def sides(self, key: str) -> StepSides:
        """Return both sides and the change of a step, as figures.

        Keys also name the sum of smaller changes (``smaller_changes|5``) and the total (``change``).
        """
        if key == CHANGE:
            return self._figures((BEFORE, AFTER, CHANGE), self.title, range(-1, len(self._all)), *self._units)
        others, _, number = key.partition(KEY_SEPARATOR)
        first = int(number) if others == _OTHERS else self._ranks[key]
        ranks = range(first, len(self._all) if others == _OTHERS else first + 1)
        steps = self._all[ranks.start : ranks.stop]
        label = count_of(len(steps), "smaller change") if others == _OTHERS else steps[0].label
        units = sum(step.before_units for step in steps), sum(step.after_units for step in steps)
        keys = f"{key}{KEY_SEPARATOR}{BEFORE}", f"{key}{KEY_SEPARATOR}{AFTER}", key
        figures = self._figures(keys, label, ranks, *units)
        return figures._replace(last=self._last_figure(key)) if key in self._last else figures

    def summary(self) -> str:
        """One line: the total on both sides, and its change."""
        return total_sentence(self._words(), self.sides(CHANGE))

    def sentences(self, write: AmountWriter = write_amount, *, since: dt.date | None = None) -> list[str]:
        """Write at most seven sentences: the total, the largest steps, all others.

        `write` is called with each figure whose amount a sentence names, and by default writes the amount. Amounts of
        payments before `since` are left out.
        """
        words, listed = self._words(write), [step for step in self.steps if step.cause.name != SMALLER_CHANGES]
        shown = listed if len(self._all) <= _MAX_SENTENCES + 1 else listed[:_MAX_SENTENCES]
        texts = [total_sentence(words, self.sides(CHANGE))]
        for step in shown:
            figures, last = self.sides(step.key), step.cause.last
            is_left_out = since is not None and last is not None and last.date < since
            texts.append(step_sentence(step, words, figures._replace(last=None) if is_left_out else figures))
        if rest := len(self._all) - len(shown):
            texts.append(others_sentence(rest, words, self[f"{_OTHERS}{KEY_SEPARATOR}{len(shown)}"]))
        return texts

    def _words(self, write: AmountWriter = write_amount) -> BridgeWords:
        return BridgeWords(self.title, f"in {self.before}", f"in {self.after}", self._unit, write)

    def _parts(self) -> Iterator[ResultPart]:
        yield ResultPart(self.sentences()[1:])
        yield ResultPart(html=lambda: figure_table_html(self.table('bridge[{row!r} + "|" + {column!r}].entries')))

    def table(self, call: str, subtitle: Sequence[str] = ()) -> FigureTable:
        """Make the table of each step's sides and change. `call` is the expression that returns a figure's entries."""
        shown = [*((step.label, self.sides(step.key)) for step in self.steps), (self.title, self.sides(CHANGE))]
        rows = [(label, [sides.before, sides.after, sides.change]) for label, sides in shown]
        heads = [self.before, self.after, "Change"]
        return table_of_figures(
            self.title, subtitle, heads, rows, entries_behind(rows), scale=self.scale, call=call, ends_in_total=True
        )

    def _content(self) -> dict[str, Any]:
        total = self.sides(CHANGE)
        return {
            "title": self.title,
            "before": {"label": self.before, "amount": total.before.exact()},
            "after": {"label": self.after, "amount": total.after.exact()},
            "change": total.change.exact(),
            "steps": [self._step_content(step) for step in self.steps],
            "sentences": self.sentences(),
            "time_zone": self.time_zone,
        }

    def _step_content(self, step: BridgeStep) -> dict[str, Any]:
        change = self.sides(step.key).change
        return {
            "key": step.key,
            "label": step.label,
            "cause": step.cause.name,
            "amount": change.exact(),
            "payments": [
                {"journal_entry_id": payment.entry_id, "date": payment.date} for payment in step.cause.payments
            ],
            "line_ids": list(change.exact_entries()["id"]),
        }

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """Map the key of each step to its rank."""
        return {step.key: rank for rank, step in enumerate(self._all)}

    def _figures(self, keys: tuple[str, str, str], label: str, ranks: range, before: int, after: int) -> StepSides:
        """Make the figures of some steps: both sides and the change."""

        def figure(key: str, side: str, of: str, units: int, calculation: str) -> Figure:
            load = partial(self._entries, ranks, units, side)
            return Figure(
                key,
                label if key.startswith(_OTHERS) and side == CHANGE else f"{label}, {of}",
                units,
                calculation,
                scale=self.scale,
                _load_entries=load,
            )

        less = f"the line entries in {self.after} less those in {self.before}"
        return StepSides(
            figure(keys[0], BEFORE, self.before, before, f"the sum of line entries in {self.before}"),
            figure(keys[1], AFTER, self.after, after, f"the sum of line entries in {self.after}"),
            figure(keys[2], CHANGE, "change", after - before, less),
        )

    def _entries(self, ranks: range, units: int, side: str) -> pd.DataFrame:
        """Select the lines of a figure. In a change, lines of the earlier side have the opposite sign."""
        lines = self._lines
        chosen = (lines.ranks >= ranks.start) & (lines.ranks < ranks.stop)
        if side != CHANGE:
            chosen &= lines.is_after == (side == AFTER)
        entries = lines.frame[chosen].reset_index(drop=True)
        if side == CHANGE:
            amounts = exact_amounts(entries["figure_amount"], self.scale, entries["id"]).column
            entries["figure_amount"] = amounts.where(lines.is_after[chosen], negated(amounts))
        return checked_entries(entries, units, self.scale)

    def _last_figure(self, key: str) -> Figure:
        """Make the figure of a counterparty's last payment before a period."""
        label = f"{self._all[self._ranks[key]].label}, the payment before"
        return figure_of_entries(f"{key}{KEY_SEPARATOR}{LAST}", label, self._last[key], scale=self.scale)


def bridge(
    books: Books,
    period: PeriodLike = None,
    *,
    against: PeriodLike = "prior",
    total: Literal["net_cash_flow", "net_income"] = "net_cash_flow",
    edge_days: int = 5,
    largest: int = 8,
) -> Bridge:
    """Explain why a total changed, in steps that sum exactly to the change.

    Between two periods each counterparty of a category has one step, its change, with the first cause that fits:

    1. ``earlier`` or ``later``: one payment was made on the other side of the edge that the periods share. This is
       claimed only where it explains the whole change: the period with the payment has two payments more than the
       other; both have payments of the same amounts once it is counted in the other; it is within `edge_days` of the
       edge, and a payment of the same amount is within `edge_days` of the other end of that period, which is its place
       in the other one (rent on 1 and 28 February, and none in March). A counterparty that has no payment in the
       earlier period must also have been paid before it, in the lines of the books.
    2. In the later period only: ``new counterparty`` or ``new customer`` (no payment in any loaded line before it),
    ``new
       category`` (the counterparty was paid before, in others), else ``paid before``, with the rhythm where there is
       one.
    3. In the earlier period only: ``gone`` (the rhythm of the counterparty has two payments or more until the end of
    the later
       period, and none came since), ``missed`` (it has one), ``not due`` (it has none), else ``no payment``.
    4. ``more payments`` or ``fewer payments``, of more or less money. The additional ones are named if all others are
       on the same days of both periods, counted from the first, up to three days apart, and the gaps between them are
       as regular.
    5. ``larger payments`` or ``smaller payments`` where their number does not say why; ``other amounts`` where money
       moved in opposite directions. If a single one of as many payments has another amount, it is named.

    A payment is what a journal entry moved in the category; categories of a counterparty that are in one journal entry,
    as wages and their taxes, are one step. The counterparty is who owes or is owed, else who was paid or pays;
    entries without one are one step of their category, ``other``, and so are ``transfers`` between own accounts.
    Rhythms are those of :func:`~accounting_analytics.recurring_payments`, and rest on all loaded
    lines: load a year or more before the two periods.

    Parameters
    ----------
    books : Books
        The line entries.
    period : period-like, optional
        The later days; by default those of the books.
    against : period-like or {"prior", "prior_year"}
        Days to compare with: as many before, the same a year earlier, or any others that do not overlap.
    total : {"net_cash_flow", "net_income"}
        What changed.
    edge_days : int
        Days on either side of the edge of two periods, at most a quarter of the shorter; 0 looks for no movement.
    largest : int
        How many steps are shown, by absolute amount; the others share one.

    Returns
    -------
    Bridge
        ``.explain()`` says it in sentences. Amounts are positive where they increase cash or net income.

    Raises
    ------
    InputError
        The periods overlap, the total is not known, or an option is wrong.
    IncompleteLoadError
        The books lack days of the periods.

    Examples
    --------
    ::

        aa.bridge(books, "2026-05", against="2026-04")
    """
    books = to_books(books)
    if not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {quote(largest)}")
    if not isinstance(edge_days, int) or edge_days < 0:
        raise InputError(f"edge_days must be a whole number, 0 or more, not {quote(edge_days)}")
    if total not in _TOTALS:
        raise InputError(f"total must be one of {', '.join(map(repr, _TOTALS))}, not {quote(total)}")
    after = books.days_of(period)
    comparison = _COMPARISONS.get(against) if isinstance(against, str) else None
    before = compared_period(after, comparison) if comparison else books.days_of(against)
    found = _bridged(books, before, after, total)
    columns = found.figures.columns.shown
    edge = PeriodEdge.between(before, after, edge_days)
    read = [found.lines(column) for column in columns]
    categories = categories_of_steps(read)
    sides = [side.joined(categories) for side in read]
    history = cache(lambda: found.history(columns, categories))
    steps = found.steps(sides, categories, edge, history)
    ranks = {(step.ledger_ids[0], step.counterparty): rank for rank, step in enumerate(steps)}
    lines = BridgedLines(
        pd.concat([side.frame for side in sides], ignore_index=True),
        np.repeat([False, True], [len(side.frame) for side in sides]),
        np.array([ranks.get(key, -1) for side in sides for key in side.keys], dtype=np.int64),
    )
    lines.frame.attrs = dict(sides[1].frame.attrs)
    rest = len(steps) - largest
    others_key, others_label = f"{_OTHERS}{KEY_SEPARATOR}{largest}", count_of(rest, "smaller change")
    others = BridgeStep(others_key, (), others_label, "", Cause(SMALLER_CHANGES), (), ())
    return Bridge(
        title=found.row.label,
        before=columns[0].label,
        after=columns[1].label,
        steps=tuple(steps) if rest <= 0 else (*steps[:largest], others),
        scale=found.source.scale,
        time_zone=found.source.time_zone,
        currency=books.currency,
        notes=found.notes,
        _unit="cash" if found.is_cash else "net income",
        _units=(sum(sides[0].units), sum(sides[1].units)),
        _all=tuple(steps),
        _lines=lines,
        _last={
            step.key: history().lines.of_payment((step.ledger_ids[0], step.counterparty), step.cause.last)
            for step in steps
            if step.cause.last and step.cause.rhythm
        },
    )


def _bridged(books: Books, before: Period, after: Period, total: str) -> _BridgedTotal:
    """Sum a total in two periods. Refuse periods that share days, and totals that are not known."""
    if before.start_date <= after.end_date and after.start_date <= before.end_date:
        raise InputError(f"a bridge compares different days, and {before} and {after} overlap")
    first, last = min(before.start_date, after.start_date), max(before.end_date, after.end_date)
    make = _TOTALS[total]
    figures = make(books, Period(first, last, books.time_zone), columns=[before, after]).figures
    row = next(row for row in figures.layout.by_key.values() if row.kind == "total" and row.key.rstrip("_") == total)
    for column in figures.columns.shown:
        figure = figures.figure(row.key, column.key)
        if figure.units is None:
            raise InputError(
                f"{row.label} of {column.label} cannot be bridged: {figure.calculation}; compare other periods"
            )
    return _BridgedTotal(figures, row, books.source)


class _BridgedTotal(NamedTuple):
    """The bridged row of a statement, and the source of its lines."""

    figures: StatementFigures
    row: Row
    source: LineSource

    @property
    def is_cash(self) -> bool:
        """True for the change of cash, false for net income."""
        return self.row.key.rstrip("_") == "net_cash_flow"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the lines, and a note if opening balances are outside all steps."""
        has_openings = any(row.measure == "opened" for row in self.figures.layout.shown)
        return (*self.source.notes, *([OPENINGS_NOTE] if has_openings else []))

    def lines(self, column: StatementColumn) -> PaidLines:
        """Return the lines that sum to the figure of a column."""
        return self._paid_lines([self._selection(column)])

    def history(self, columns: Sequence[StatementColumn], categories: Mapping[StepKey, Sequence[str]]) -> History:
        """Read payments of all loaded days, or of both columns if days are missing."""
        loaded, chosen = self.source.loaded, [self._selection(column) for column in columns]
        every = Span(loaded.start_date, loaded.end_date, self.is_cash)
        if not self.source.missing(every):
            chosen = [
                Selection(
                    -1, every, tuple(dict.fromkeys(ledger_id for part in chosen for ledger_id in part.ledger_ids))
                )
            ]
        first = min(part.span.first or loaded.start_date for part in chosen)
        return History.of_lines(first, self._paid_lines(chosen).joined(categories))

    def _selection(self, column: StatementColumn) -> Selection:
        """Select all lines of the total in a column. Credits increase the total."""
        ((_, span),) = self.figures.spans("flow" if self.is_cash else "movement", column)
        parts = self.figures.figure(self.row.key, column.key).selections
        return Selection(-1, span, tuple(dict.fromkeys(ledger_id for part in parts for ledger_id in part.ledger_ids)))

    def _paid_lines(self, chosen: Sequence[Selection]) -> PaidLines:
        entries = self.figures.entries(chosen)
        return PaidLines.of_entries(entries, self.source.counterparties, self.figures.transfers, self.source.scale)

    def steps(
        self,
        sides: Sequence[PaidLines],
        categories: Mapping[StepKey, tuple[str, ...]],
        edge: PeriodEdge,
        history: Callable[[], History],
    ) -> list[BridgeStep]:
        """Make the steps of changed categories and payees, the largest first."""
        before, after = (side.payments() for side in sides)

        def step(key: StepKey) -> BridgeStep:
            ledger_ids, counterparty = categories[key], key[1]
            old, new = tuple(before.get(key, ())), tuple(after.get(key, ()))
            if counterparty:
                cause = find_cause(key, old, new, edge, history)
            else:
                cause = Cause(TRANSFERRED if key[0] in self.figures.transfers else NO_PAYEE)
            names = [_category_name(self.figures.ledgers, ledger_id) for ledger_id in ledger_ids]
            return BridgeStep(
                f"{key[0]}{KEY_SEPARATOR}{counterparty}",
                ledger_ids,
                _joined_names(names),
                counterparty,
                cause,
                old,
                new,
                self._kind(ledger_ids),
            )

        steps = (step(key) for key in {**before, **after})
        return sorted(
            (changed for changed in steps if changed.units), key=lambda changed: (-abs(changed.units), changed.key)
        )

    def _kind(self, ledger_ids: Sequence[str]) -> StepKind:
        """Say what a step changes: cash, revenue, an expense or net income."""
        if self.is_cash:
            return "cash"
        rows = self.figures.layout.by_key.values()
        expenses = {ledger_id for row in rows if not row.terms and row.factor > 0 for ledger_id in row.ledger_ids}
        of_expenses = {ledger_id in expenses for ledger_id in ledger_ids}
        return "net income" if len(of_expenses) > 1 else "expense" if of_expenses == {True} else "revenue"


def _joined_names(names: Sequence[str]) -> str:
    """Join the names of a step's categories.

    More than two names become the first and a count.
    """
    first, *others = names
    if len(others) > 1:
        return f"{first} and {len(others):,} other categories"
    return " and ".join(names)


def _category_name(names: LedgerNames, ledger_id: str) -> str:
    """Name a ledger, by its path if the name is shared."""
    name = names.name(ledger_id)
    return names.path(ledger_id) if len(names.matches(name)) > 1 else name
