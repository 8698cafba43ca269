"""The bridge between two columns of a statement, by category and payee."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.bridges.payments import (
    BridgeStep,
    PeriodEdge,
    SideLines,
    category_name,
    find_cause,
    join_sides,
    payees_of_entries,
)
from accounting_analytics.bridges.result import Bridge, check_largest, shown_steps
from accounting_analytics.bridges.sentences import BridgeWords
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.messages import quote
from accounting_analytics.selections import Selection, Span
from accounting_analytics.statements.line_sums import LineSource
from accounting_analytics.statements.statement import ChosenColumn

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from accounting_analytics.periods import Period
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Row
    from accounting_analytics.statements.statement_figures import StatementFigures


def bridge(
    before: ChosenColumn,
    after: ChosenColumn,
    *,
    edge_days: int = 5,
    largest: int = 8,
) -> Bridge:
    """Explain why a total changed, in steps that sum exactly to the change.

    Between two columns of a statement, each payee of a category has one step, its change, with the first cause that
    fits:

    1. ``earlier`` or ``later``: one payment was made on the other side of the edge that the periods share. This is
       claimed only where it explains the whole change: the period with the payment has two payments more than the
       other; both have payments of the same amounts once it is counted in the other; it is within `edge_days` of the
       edge, and a payment of the same amount is within `edge_days` of the other end of that period, which is its place
       in the other one (rent on 1 and 28 February, and none in March). A payee that has no payment in the earlier
       period must also have been paid before it, in the lines that the statement was made from.
    2. ``new payee``: no payment before. ``gone``: no payment after.
    3. ``more payments`` or ``fewer payments``. The additional ones are named if all others are on the same days of
       both periods, counted from the first, up to three days apart, and the gaps between them are as regular.
    4. ``larger payments`` or ``smaller payments``; ``other amounts`` where money moved in opposite directions. If a
       single payment has another amount, it is named.

    A payment is what a journal entry moved in the category. The payee is the merchant of the transaction's description,
    else of the journal entry's; entries without either are one step of their category, ``other``.

    Parameters
    ----------
    before, after : ChosenColumn
        Two columns of one cash flow or income statement, as ``statement.column("2026-05")`` returns them.
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
        The columns are of balances, are calculated from others, overlap or are of two statements; or an option is
        wrong.
    """
    check_largest(largest)
    if not isinstance(edge_days, int) or edge_days < 0:
        raise InputError(f"edge_days must be a whole number, 0 or more, not {quote(edge_days)}")
    for one in (before, after):
        if not isinstance(one, ChosenColumn):
            raise InputError(
                f'a bridge explains two columns of a statement, such as statement.column("2026-05"), not '
                f"{type(one).__name__}; what changed in the same days, entry by entry, is in drift(before).by_entry of "
                "local books"
            )
    return bridge_periods(before, after, edge_days, largest)


_TOTALS = ("net_cash_flow", "net_income")
_PERIODS = ("period", "prior", "prior_year")


def bridge_periods(before: ChosenColumn, after: ChosenColumn, edge_days: int, largest: int) -> Bridge:
    """Bridge two columns of one statement."""
    figures, total, source = _checked(before, after)
    bridged = _BridgedTotal(figures, total, source)
    edge = PeriodEdge.between(_period(before.column), _period(after.column), edge_days)
    sides = [bridged.lines(before.column, 1), bridged.lines(after.column, -1)]
    keys = [list(zip(side.frame["ledger_id"], side.payees, strict=True)) for side in sides]
    steps = bridged.steps(sides, keys, edge)
    steps.sort(key=lambda one: (-abs(one.units), one.key))
    ranks = {(one.ledger_id, one.payee): rank for rank, one in enumerate(steps)}
    lines = join_sides(sides, [[ranks.get(one, -1) for one in of_side] for of_side in keys])
    _require_total(figures, total, before.column, lines.before_units)
    _require_total(figures, total, after.column, lines.after_units)
    labels = before.column.label, after.column.label
    unit = "cash" if bridged.measure == "flow" else "net income"
    words = BridgeWords(total.label, *labels, unit, source.scale)
    shown = shown_steps(tuple(steps), largest)
    return Bridge(
        total.label,
        *labels,
        shown,
        source.scale,
        source.time_zone,
        before.statement.currency,
        source.notes,
        words,
        tuple(steps),
        lines,
    )


def _checked(before: ChosenColumn, after: ChosenColumn) -> tuple[StatementFigures, Row, LineSource]:
    """Refuse columns that cannot be bridged; return the figures, the row of the total, and the lines."""
    figures = before.statement.figures
    if before.statement is not after.statement:
        raise InputError("before and after must be columns of one statement: make one statement that has both periods")
    rows = figures.layout.by_key.values()
    total = next((row for row in rows if row.kind == "total" and row.key.rstrip("_") in _TOTALS), None)
    if total is None or figures.rules.of_balances:
        raise InputError(
            "a bridge explains the change of a period's total, and the columns of the "
            f"{before.statement.title.lower()} are balances; pass columns of a cash flow statement or an income "
            "statement"
        )
    for one in (before, after):
        if one.column.kind not in _PERIODS:
            raise InputError(
                f"column {one.column.key!r} is calculated from others, so it has no payments; pass the column of a "
                "period"
            )
        figure = figures.figure(total.key, one.column.key)
        if figure.units is None:
            raise InputError(f"{total.label} of {one.column.label} cannot be bridged: {figure.calculation}")
    old, new = _period(before.column), _period(after.column)
    if old.start_date <= new.end_date and new.start_date <= old.end_date:
        raise InputError(f"before and after must be different days, and {old} and {new} overlap")
    if not isinstance(figures.source, LineSource):
        raise InputError("a cash flow report has one period; make the statement from line entries")
    return figures, total, figures.source


def _require_total(figures: StatementFigures, total: Row, column: StatementColumn, units: int) -> None:
    """Refuse lines that do not sum to the total of their column."""
    figure = figures.figure(total.key, column.key)
    if figure.units != units:
        raise BooksDoNotTieError(
            f"the line entries of {column.label} sum to {units} minor units, but {total.label} is {figure.exact()}: "
            "the lines have changed since the statement was made; make it again"
        )


def _period(column: StatementColumn) -> Period:
    ((_, period),) = column.periods
    return period


class _BridgedTotal:
    """The total that is bridged: its ledgers, and their lines."""

    def __init__(self, figures: StatementFigures, total: Row, source: LineSource) -> None:
        self.figures, self.source = figures, source
        rows = self._summed_rows(total)
        self.measure = rows[0].measure if rows else "flow"
        self.ledger_ids = tuple(dict.fromkeys(one for row in rows for one in row.ledger_ids))
        self.expenses = {one: row.factor > 0 for row in rows for one in row.ledger_ids}
        self._paid: set[tuple[str, str]] | None = None

    def _summed_rows(self, row: Row) -> list[Row]:
        """Rows that sum lines, of a row that may be made of others."""
        if not row.terms:
            return [row]
        return [one for _, key in row.terms for one in self._summed_rows(self.figures.layout.by_key[key])]

    def lines(self, column: StatementColumn, factor: int) -> SideLines:
        """Lines of a column, summed with a factor; credits increase the total."""
        ((_, span),) = self.figures.spans(self.measure, column)
        return self._lines(span, factor)

    def _lines(self, span: Span, factor: int) -> SideLines:
        sums = self.source.sums({span})[span]
        units = factor * sum(sums.get(one, 0) for one in self.ledger_ids)
        entries = self.source.entries([Selection(factor, span, self.ledger_ids)], units)
        payees = payees_of_entries(self.source.lines(span), self.source.cash)
        return SideLines.of_entries(entries, -factor, payees, self.source.scale)

    def _paid_before(self, day: dt.date) -> set[tuple[str, str]]:
        """Categories and payees of the lines before a day, as far as they are loaded."""
        first = self.source.loaded.start_date
        if first >= day:
            return set()
        span = Span(first, day.fromordinal(day.toordinal() - 1), self.measure == "flow")
        lines = self._lines(span, -1)
        return set(zip(lines.frame["ledger_id"], lines.payees, strict=True))

    def steps(
        self, sides: Sequence[SideLines], keys: Sequence[Sequence[tuple[str, str]]], edge: PeriodEdge
    ) -> list[BridgeStep]:
        """Make the steps of the categories and payees that changed."""
        before, after = (side.payments(of_side) for side, of_side in zip(sides, keys, strict=True))
        of_entries = [one.entry_units() for one in sides]
        first_day = min(edge.before.start_date, edge.after.start_date)
        steps = []
        for ledger_id, payee in dict.fromkeys((*before, *after)):
            pair = ledger_id, payee
            old, new = before.get(pair, ()), after.get(pair, ())
            if sum(one.units for one in old) == sum(one.units for one in new):
                continue
            was_paid_earlier = partial(self._was_paid_before, first_day, pair)
            steps.append(
                BridgeStep(
                    f"{ledger_id}{KEY_SEPARATOR}{payee}",
                    ledger_id,
                    category_name(self.figures.ledgers, ledger_id),
                    payee,
                    find_cause(old, new, edge, has_payee=bool(payee), was_paid_earlier=was_paid_earlier),
                    old,
                    new,
                    is_expense=None if self.measure == "flow" else self.expenses[ledger_id],
                    is_deduction=any(
                        one.units * units[one.entry_id] < 0
                        for payments, units in zip((old, new), of_entries, strict=True)
                        for one in payments
                    ),
                )
            )
        return steps

    def _was_paid_before(self, day: dt.date, pair: tuple[str, str]) -> bool:
        """Whether a payee of a category has lines before a day."""
        if self._paid is None:
            self._paid = self._paid_before(day)
        return pair in self._paid
