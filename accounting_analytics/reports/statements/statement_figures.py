"""The figures of a statement, each made when it is asked for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from accounting_analytics.core.column_conversion import exact_amounts
from accounting_analytics.core.money import rounded_quotient, to_minor_units
from accounting_analytics.core.periods import DAY, day_label, month_label
from accounting_analytics.reports.books.payees import entry_ids
from accounting_analytics.reports.figures.figure import (
    KEY_SEPARATOR,
    OWN,
    PERCENT,
    Figure,
    figure_of_quotient,
    figure_of_terms,
)
from accounting_analytics.reports.figures.selections import Selection, units_of
from accounting_analytics.reports.statements.by_tags import TaggedLines
from accounting_analytics.reports.statements.columns import BUDGET, whole_months

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.books.opening import Opening
    from accounting_analytics.reports.figures.selections import Span
    from accounting_analytics.reports.statements.budget import Budget, BudgetLine
    from accounting_analytics.reports.statements.columns import Columns, StatementColumn
    from accounting_analytics.reports.statements.rows import Layout, Measure, Row
    from accounting_analytics.reports.statements.sources import Source
    from accounting_analytics.reports.statements.summed_days import SpanRules

_DIFFERENCES = ("difference", "difference_pct")
_CHANGES = ("change", "change_pct", *_DIFFERENCES)
Mark = Literal["favourable", "unfavourable", ""]
SignedFigures = list[tuple[str, Figure]]
TRANSFERS = "transfers"
"""Section of transfers between own accounts, which count as neither cash in nor cash out."""


@dataclass(frozen=True)
class StatementFigures:
    """The figures of a statement by row and column.

    Attributes
    ----------
    columns, layout : Columns, Layout
        The columns and rows: those shown, and all by key.
    source : Source
        The sums, and the lines behind them.
    sums : mapping
        Signed units by ledger, of each span of days.
    unknown : mapping
        Reasons why spans of days are not known.
    rules : SpanRules
        Rules for the days of each measure.
    ledgers : LedgerNames
        Names of all ledgers.
    starting : mapping or None
        Supplied starting balances in units.
    amounts_in : {"k", "M"} or None
        The unit that amounts are shown in.
    budget : Budget or None
        The budget that is compared.
    """

    columns: Columns
    layout: Layout
    source: Source
    sums: Mapping[Span, Mapping[str, int]]
    unknown: Mapping[Span, str]
    rules: SpanRules
    ledgers: LedgerNames
    starting: Mapping[str, int] | None
    amounts_in: AmountsIn | None = None
    budget: Budget | None = None
    _made: dict[tuple[str, str], Figure] = field(default_factory=dict)
    _spans: dict[tuple[Measure, str], list[tuple[int, Span]]] = field(default_factory=dict)
    _sides: dict[str, dict[int, pd.DataFrame]] = field(default_factory=dict)

    def figure(self, row_key: str, column_key: str) -> Figure:
        """Return the figure of a row and a column."""
        key = (row_key, column_key)
        if key not in self._made:
            self._made[key] = self._make(self.layout.by_key[row_key], self.columns.by_key[column_key])
        return self._made[key]

    def text(self, row_key: str, column_key: str) -> str:
        """Return a figure's text in the unit of shown amounts."""
        return self.figure(row_key, column_key).text_in(self.amounts_in)

    def units(self, row: Row, column: StatementColumn) -> int:
        """Return the units of a figure, zero where it is not known."""
        units = self.figure(row.key, column.key).units
        return units if isinstance(units, int) else 0

    def mark(self, row: Row, column: StatementColumn) -> Mark:
        """Mark a change or difference as favourable or unfavourable for its row."""
        units = self.figure(row.key, column.key).units if column.kind in _CHANGES else None
        if not units or not row.favourable or self.rules.of_balances:
            return ""
        return "favourable" if (units > 0) == (row.favourable > 0) else "unfavourable"

    def is_own(self, row: Row) -> bool:
        """Test if a row is the own amount of one ledger."""
        return row.kind == "own" or (row.kind == "ledger" and f"{OWN}{row.key}" not in self.layout.by_key)

    def spans(self, measure: Measure, column: StatementColumn) -> list[tuple[int, Span]]:
        """Return the spans of days that a column sums, each with its sign.

        In a trial balance credits are subtracted.
        """
        key = (measure, column.key)
        if key not in self._spans:
            side, periods = -1 if column.side == "credit" else 1, _periods(measure, column)
            self._spans[key] = [
                (side * factor, self.rules.span(measure, period)._replace(tag=tag))
                for factor, period in periods
                for tag in column.tags or ("",)
            ]
        return self._spans[key]

    def selections(self, row: Row, column: StatementColumn) -> list[Selection]:
        """Select the line entries that a figure sums."""
        if row.key == self.layout.outside:
            return self._outside_budget(row, column)
        spans = self.spans(row.measure, column)
        if not column.side:
            return [Selection(row.factor * factor, span, row.ledger_ids) for factor, span in spans]
        ((side, span),) = spans
        starting, sums = self.starting or {}, self.sums.get(span, {})  # of known spans only
        on_side = tuple(
            ledger_id
            for ledger_id in row.ledger_ids
            if (sums.get(ledger_id, 0) + starting.get(ledger_id, 0)) * side > 0
        )
        return [Selection(side, span, on_side)]

    def entries(self, selections: Sequence[Selection]) -> pd.DataFrame:
        """Return the selected lines, with ``figure_amount``."""
        sums = self.source.sums({part.span for part in selections})
        return self.source.entries(selections, units_of(selections, sums))

    def flow_entries(self, rows: Sequence[Row], column: StatementColumn, *, sign: int = 1) -> pd.DataFrame | None:
        """Return the cash flow lines of rows, multiplied by `sign`, or None if they are not known."""
        parts = [part for row in rows for part in self.selections(row, column)]
        if not parts or any(part.span in self.unknown for part in parts):
            return None
        ledger_ids = [ledger_id for part in parts for ledger_id in part.ledger_ids]
        return self.entries([Selection(sign * parts[0].factor, parts[0].span, ledger_ids)])

    def flow_rows(self) -> list[Row]:
        """Return the own flows of ledgers, without transfers."""
        return [row for row in self._own_flow_rows() if row.section != TRANSFERS]

    def _own_flow_rows(self) -> list[Row]:
        return [row for row in self.layout.by_key.values() if row.measure == "flow" and self.is_own(row)]

    @property
    def transfers(self) -> set[str]:
        """Return the ledgers of transfers between own accounts."""
        return {
            ledger_id for row in self.layout.by_key.values() if row.section == TRANSFERS for ledger_id in row.ledger_ids
        }

    def cash_side(self, column: StatementColumn, sign: int) -> pd.DataFrame | None:
        """Return the lines of entries that bring cash in, or take it out.

        `sign` is 1 for entries that bring cash in, and -1 for those that take it out. The lines of an entry are summed,
        so that taxes withheld from wages are neither in nor out.
        """
        if column.key not in self._sides:
            lines = self.flow_entries(self._own_flow_rows(), column)
            self._sides[column.key] = {} if lines is None else sides_of(lines, self.source.scale)
        return self._sides[column.key].get(sign)

    def has_lines(self, figure: Figure) -> bool:
        """Test if a sum of line entries has any."""
        return any(ledger_id in self.sums[part.span] for part in figure.selections for ledger_id in part.ledger_ids)

    def _make(self, row: Row, column: StatementColumn) -> Figure:
        terms = self._terms(row, column)
        signs, figures = tuple(sign for sign, _ in terms), tuple(figure for _, figure in terms)
        make = partial(
            Figure,
            f"{row.key}{KEY_SEPARATOR}{column.key}",
            f"{row.label}, {self._heading(column)}",
            terms=figures,
            signs=signs,
            scale=self.source.scale,
        )
        if none := self._why_none(row, column):
            return make(None, f"it is not known: {none}", kind="none", terms=(), signs=())
        why = self._why_unknown(row, column)
        if not why and any(figure.units is None for figure in figures):
            why = "a figure that it is made of is not known"
        if why:
            return make(None, f"it is not known: {why}")
        if row.kind == "percent":
            part, whole = (int(figure.units or 0) for figure in figures)
            return figure_of_quotient(
                partial(make, signs=("+", "/")), part, whole, self.layout.by_key[row.terms[1][1]].label
            )
        if column.is_percent or column.kind == "average":
            return self._quotient(make, column, figures)
        if terms:
            made_of = "stated" if column.kind == BUDGET and not row.terms else "calculated"
            return self._total(make, column, terms, made_of)
        return self._sum(make, row, column)

    def _quotient(self, make: Callable[..., Figure], column: StatementColumn, terms: Sequence[Figure]) -> Figure:
        """Make an average of columns, or a percentage."""
        values = [int(term.units or 0) for term in terms]
        if column.kind == "average":
            units = rounded_quotient(sum(values), len(values))
            made_of = f"the average of {len(terms)} columns, rounded to {self.source.scale} digits"
            return make(units, made_of, kind="average")
        this, base = values
        if column.kind == "share":
            return figure_of_quotient(make, this, base, self.layout.by_key[self.layout.share_of].label)
        if column.kind == "difference_pct":
            return figure_of_quotient(make, this, base, terms[1].label)
        percent = PERCENT.of(this - base, abs(base)) if base else None
        made_of = "the change in percent of the earlier amount without its sign"
        made_of = made_of if base else "it is not known: the earlier amount is zero"
        return make(percent, made_of, kind="change_pct")

    def _total(
        self,
        make: Callable[..., Figure],
        column: StatementColumn,
        terms: Sequence[tuple[str, Figure]],
        made_of: str = "calculated",
    ) -> Figure:
        """Sum known figures. The sum has lines if each of the figures is a sum of lines."""
        factors = [-1 if sign == "-" else 1 for sign, _ in terms]
        figures = [figure for _, figure in terms]
        units = sum(factor * int(figure.units or 0) for factor, figure in zip(factors, figures, strict=True))
        names = (f"{sign} {figure.label.removesuffix(f', {self._heading(column)}')}" for sign, figure in terms)
        selections = [
            part._replace(factor=factor * part.factor)
            for factor, figure in zip(factors, figures, strict=True)
            for part in figure.selections
        ]
        load = (
            partial(self.source.entries, selections, units) if all(figure.is_additive for figure in figures) else None
        )
        made_of = f"{made_of}: {' '.join(names).removeprefix('+ ')}"
        return make(units, made_of, selections=selections if load else (), _load_entries=load)

    def _sum(self, make: Callable[..., Figure], row: Row, column: StatementColumn) -> Figure:
        """Sum line entries, and add a given or reported starting balance."""
        selections = self.selections(row, column)
        moved = units_of(selections, self.sums)
        load = partial(self.source.entries, selections, moved)
        if self.source.is_report and row.measure in {"opening", "balance"}:
            reported = (
                "it was only reported; the line entries of the cash ledgers from the beginning of the books have it"
            )
            return make(moved, reported)
        starting = self._starting_units(row, column)
        if starting is None:
            return make(moved, self._sum_text(row), selections=selections, _load_entries=load)
        movement = make(moved, "sum of line entries", _load_entries=load)
        return add_starting_balance(movement, starting, self.rules.opening, selections)

    def _terms(self, row: Row, column: StatementColumn) -> SignedFigures:
        """Return the signed figures that a figure is made of."""
        if column.kind == BUDGET:
            return self._budget_terms(row, column)
        others = [self.figure(row.key, key) for key in column.terms]
        if column.kind == "share":
            return [("+", others[0]), ("/", self.figure(self.layout.share_of, column.terms[0]))]
        if column.kind == "difference_pct":
            return [("+", others[0]), ("/", _without_sign(others[1]))]
        if column.terms:
            signs = "+-" if column.kind in {"change_pct", "difference"} else "+" * len(others)
            return list(zip(signs, others, strict=True))
        if row.key == self.layout.inflows:
            own_rows = self._own_flow_rows()
            return [("+", self.figure(own.key, column.key)) for own in own_rows if self.units(own, column) > 0]
        return [("-" if factor < 0 else "+", self.figure(key, column.key)) for factor, key in row.terms]

    def _budget_terms(self, row: Row, column: StatementColumn) -> SignedFigures:
        """Return the terms of a budget: totalled rows, children, stated amounts."""
        if row.measure not in {"movement", "flow"} or row.key == self.layout.outside:
            return []
        if row.terms:
            others = [("-" if factor < 0 else "+", self.figure(key, column.key)) for factor, key in row.terms]
            known = [(sign, figure) for sign, figure in others if figure.kind != "none"]
            return known if row.kind != "percent" or self._has_margin(row, column) else []
        found: SignedFigures = []
        below: set[BudgetLine] = set()
        for key in row.children:
            child, lines = self.figure(key, column.key), self._budget_lines(self.layout.by_key[key], column)
            if child.kind != "none" and lines:
                found.append(("+", child))
                below.update(lines)
        direct = [line for line in self._budget_lines(row, column) if line not in below]
        return [*found, *(("+", self._stated(row, line)) for line in direct)]

    def _budget_lines(self, row: Row, column: StatementColumn) -> list[BudgetLine]:
        """Return the amounts that the budget states for a row.

        A column has no budget if one of its months has no amount at all. An amount stated for a parent belongs to the
        parent's total, unless it states that it is the own amount.
        """
        months = column.months
        if self.budget is None or not self.budget.covers(months):
            return []
        is_part = row.kind == "own" and self._is_parent(row.ledger_ids[0])
        return [line for line in self.budget.of(row.ledger_ids, months) if line.is_own or not is_part]

    def _has_margin(self, row: Row, column: StatementColumn) -> bool:
        """Test if each section of a margin has a budget.

        If a section had no budget, the margin would be too high.
        """
        if row.terms:
            return all(self._has_margin(self.layout.by_key[key], column) for _, key in row.terms)
        is_whole = row.key == self.layout.share_of
        return bool(self._budget_lines(row, column)) or not (is_whole or row in self.layout.shown)

    def _is_parent(self, ledger_id: str) -> bool:
        """Test if a ledger's total is known and includes other ledgers."""
        row = self.layout.by_key.get(ledger_id)
        return row is not None and row.is_known and len(row.ledger_ids) > 1

    def own_figure(self, row: Row, column: StatementColumn) -> Figure:
        """Return the figure of a ledger's own amount, or of the budget stated for it."""
        figure = self.figure(row.key, column.key)
        if column.kind != BUDGET or self.budget is None or not self.budget.covers(column.months):
            return figure
        stated = [("+", self._stated(row, line)) for line in self.budget.of(row.ledger_ids, column.months)]
        return figure_of_terms(figure.key, figure.label, stated) if stated else figure

    def _stated(self, row: Row, line: BudgetLine) -> Figure:
        """Make the figure of an amount that the budget states.

        The figure has the sign of its row.
        """
        where = f"{self.budget.source if self.budget else BUDGET}, row {line.row}"
        key = f"{BUDGET} row {line.row}{KEY_SEPARATOR}{line.month:%Y-%m}"
        label = f"{self.ledgers.name(line.ledger_id)}, {month_label(line.month)} ({where})"
        return Figure(key, label, row.factor * line.units, f"stated in {where}", scale=self.source.scale)

    def _outside_budget(self, row: Row, column: StatementColumn) -> list[Selection]:
        """Select the lines of ledgers and months without a budget."""
        selections = []
        for month in (month for _, period in column.periods for month in whole_months(period)):
            budgeted = {
                below
                for line in (self.budget.of(row.ledger_ids, {month.start_date}) if self.budget else ())
                for below in ((line.ledger_id,) if line.is_own else self.layout.by_key[line.ledger_id].ledger_ids)
            }
            span = self.rules.span(row.measure, month)
            if span not in self.unknown:
                others = tuple(ledger_id for ledger_id in row.ledger_ids if ledger_id not in budgeted)
                selections.append(Selection(row.factor, span, others))
        return selections

    def has_budget(self, column: StatementColumn) -> bool:
        """Test if a column's budget has an amount in each month."""
        is_beside = f"{column.key} {BUDGET}" in self.columns.by_key
        return self.budget is not None and is_beside and self.budget.covers(column.months)

    def _heading(self, column: StatementColumn) -> str:
        """Write the heading of a column, with the heading of its period."""
        if column.kind not in {BUDGET, *_DIFFERENCES} or column.of is None:
            return column.label
        return f"{self.columns.by_key[column.of].label} {column.label.lower()}"

    def _starting_units(self, row: Row, column: StatementColumn) -> int | None:
        """Return the sum of supplied starting balances.

        Return None if balances cancel out or do not apply.
        """
        count = sum(factor for factor, _ in column.periods)
        if self.starting is None or not count or row.measure not in {"balance", "opening", "earlier_years"}:
            return None
        (part, *_) = self.selections(row, column)
        return part.factor * sum(self.starting.get(ledger_id, 0) for ledger_id in part.ledger_ids)

    def _why_none(self, row: Row, column: StatementColumn) -> str:
        """Return why a cell has no amount, else ""."""
        if row.kind == "percent" and (column.terms or column.kind == "change"):
            return "percentages are compared side by side"
        if column.kind in {BUDGET, *_DIFFERENCES} or row.key == self.layout.outside:
            return self._why_no_budget(row, column)
        if row.key == self.layout.inflows and column.kind in {"change", "total"}:
            return f"total inflows are those of one period, so they have no {column.kind}"
        if self.rules.of_balances or row.measure not in {"opening", "balance"}:
            return ""
        if column.kind in {"average", "share"}:
            return f"a balance has no {column.kind} here"
        periods = sorted((period.start_date, period.end_date) for _, period in column.periods)
        gaps = [earlier for earlier, following in pairwise(periods) if following[0] - earlier[1] != DAY]
        return "the columns do not follow each other" if column.kind == "total" and gaps else ""

    def _why_no_budget(self, row: Row, column: StatementColumn) -> str:
        """Return why a row has no budget, else ""."""
        if column.kind == BUDGET:
            return "" if self._budget_terms(row, column) else "the budget has no amount for it in these months"
        if column.kind in _DIFFERENCES:
            is_none = self.figure(row.key, f"{column.of} {BUDGET}").kind == "none"
            return "there is no budget to compare it with" if is_none else ""
        return "" if self.has_budget(column) else "it is of columns that have a budget in each month"

    def _why_unknown(self, row: Row, column: StatementColumn) -> str:
        """Return why a figure is not known, else ""."""
        if not row.is_known:
            return f"ledgers whose parent or type is unknown might belong to {row.label}"
        if column.kind == "average" and not column.terms:
            return "no column is a whole period"
        if row.kind == "percent" or column.kind == "share":
            return self._why_no_quotient(column)
        if column.kind == BUDGET or column.terms or row.terms or row.key == self.layout.inflows:
            return ""
        if self.starting is not None and row.measure in {"earlier_years", "this_year"} and self._is_within_year(column):
            return "the supplied balances do not say which earnings are of this fiscal year"
        spans = (span for _, span in self.spans(row.measure, column))
        return next((self.unknown[span] for span in spans if span in self.unknown), "")

    def _why_no_quotient(self, column: StatementColumn) -> str:
        """Return why a quotient of tagged lines is not known.

        The lines without a tag may also have costs that belong to a tag.
        """
        if not isinstance(self.source, TaggedLines):
            return ""
        of = self.columns.by_key[column.terms[0]] if column.terms else column
        return self.source.why_no_margin([span for _, span in self.spans("movement", of)])

    def _is_within_year(self, column: StatementColumn) -> bool:
        """Test if supplied balances may include earnings of the fiscal year."""
        return any(self.rules.is_within_year(period) for _, period in column.periods)

    def _sum_text(self, row: Row) -> str:
        """Describe the line entries that a figure sums."""
        since = self.rules.opening.since
        up_to = f"its line entries up to the day{f' since {day_label(since)}' if since else ''}"
        measured = {
            "flow": "line entries of entries that touch cash",
            "opened": "line entries of opening balances",
            "movement": "line entries",
        }
        side = "credits less debits" if row.factor < 0 else "debits less credits"
        return f"the sum of {measured.get(row.measure, up_to)}, {side}"


def add_starting_balance(movement: Figure, starting: int, opening: Opening, selections: Sequence[Selection]) -> Figure:
    """Add a given or reported starting balance to the movement since."""
    since = f" since {day_label(opening.since)}" if opening.since else ""
    stated = "reported by the service" if opening.basis == "reported" else "given as opening"
    balance = replace(
        movement,
        label=f"{movement.label}: starting balance",
        units=starting,
        calculation=f"was {stated}: no line entries of it were loaded",
        _load_entries=None,
    )
    return replace(
        movement,
        units=starting + int(movement.units or 0),
        calculation="the supplied starting balance and the movement since",
        terms=(balance, replace(movement, label=f"{movement.label}: movement{since}")),
        signs=("+", "+"),
        selections=selections,
        _load_entries=None,
    )


def sides_of(lines: pd.DataFrame, scale: int) -> dict[int, pd.DataFrame]:
    """Split lines by entries that bring cash in (1) or out (-1)."""
    moved: defaultdict[str, int] = defaultdict(int)
    entries = entry_ids(lines)
    amounts = exact_amounts(lines["figure_amount"], scale, lines["id"]).column
    for entry, amount in zip(entries, amounts, strict=True):
        moved[entry] += to_minor_units(amount, scale)
    return {sign: lines[np.array([sign * moved[entry] > 0 for entry in entries], dtype=bool)] for sign in (1, -1)}


def _periods(measure: Measure, column: StatementColumn) -> Sequence[tuple[int, Period]]:
    """Return the periods of a column that a measure sums.

    A total of cash starts with the first period and ends with the last.
    """
    if column.kind == "total" and measure == "opening":
        return [min(column.periods, key=lambda signed_period: signed_period[1].start_date)]
    if column.kind == "total" and measure == "balance":
        return [max(column.periods, key=lambda signed_period: signed_period[1].end_date)]
    return column.periods


def _without_sign(figure: Figure) -> Figure:
    """Return the figure without the minus sign of its amount."""
    if not isinstance(figure.units, int) or figure.units >= 0:
        return figure
    return figure_of_terms(f"{figure.key} size", f"{figure.label} without its sign", [("-", figure)])
