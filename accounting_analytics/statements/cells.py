"""Cells of a statement: exact amounts, what each is made of, and the line entries behind it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal, Inexact, Rounded, localcontext
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.figures import KEY_SEPARATOR, OWN, Figure
from accounting_analytics.money import EXACT, format_amount, from_minor_units, pandas_dtype, to_float
from accounting_analytics.statements.line_sums import LinePart

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.periods import Period
    from accounting_analytics.statements.columns import Columns, StatementColumn
    from accounting_analytics.statements.line_sums import PageLine, Source, Span, SpanRules
    from accounting_analytics.statements.rows import Layout, Measure, Row

_PERCENT_DIGITS = Decimal("0.1")
NOT_KNOWN = "not known"
ZERO = "\N{EN DASH}"
_MAX_PAGE_LINES = 9_000


class PageLines(NamedTuple):
    """Lines that a page can carry, and the measures of the figures that they are all of the lines of."""

    measures: Collection[Measure]
    lines: list[PageLine]


@dataclass(frozen=True)
class Cells:
    """The cells of a statement, calculated when they are asked for.

    Attributes
    ----------
    columns, layout : Columns, Layout
        What is shown, and all that can be asked for.
    source : Source
        What has the lines.
    sums : mapping
        Signed units by ledger, of each span of days.
    unknown : mapping
        Why spans of days are not known.
    rules : SpanRules
        Which days a measure is of.
    ledgers : LedgerNames
        Names of all ledgers.
    starting : mapping or None
        Supplied starting balances in units.
    """

    columns: Columns
    layout: Layout
    source: Source
    sums: Mapping[Span, Mapping[str, int]]
    unknown: Mapping[Span, str]
    rules: SpanRules
    ledgers: LedgerNames
    starting: Mapping[str, int] | None
    _known: dict[tuple[str, str], Any] = field(default_factory=dict)

    def value(self, row_key: str, column_key: str) -> Decimal | None:
        """Exact amount (or percentage) of a cell; None where it is not known."""
        column = self.columns.by_key[column_key]
        cell: Decimal | int | None = self.units(self.layout.by_key[row_key], column)
        return from_minor_units(cell, self.source.scale) if isinstance(cell, int) else cell

    def text(self, row_key: str, column_key: str) -> str:
        """Text of a cell: negative amounts in parentheses, a dash for zero; empty where there is no amount."""
        if row_key not in self.layout.by_key:
            return ""
        row, column = self.layout.by_key[row_key], self.columns.by_key[column_key]
        if self._why_empty(row, column):
            return ""
        return text_of(self.value(row_key, column_key), is_percent=column.is_percent)

    def is_additive(self, row_key: str, column_key: str) -> bool:
        """Whether a cell is a sum of line entries; one that is not known has none."""
        row, column = self.layout.by_key[row_key], self.columns.by_key[column_key]
        if self.units(row, column) is None:
            return False
        is_sum = not self._terms(row, column) and self._starting_units(row, column) is None
        return is_sum and not self._is_reported(row)

    def _is_reported(self, row: Row) -> bool:
        """Whether a row is a balance that a report states without its lines."""
        return self.source.is_report and row.measure in {"opening", "balance"}

    def is_own(self, row: Row) -> bool:
        """Whether a row is the own amount of one ledger."""
        return row.kind == "own" or (row.kind == "ledger" and f"{OWN}{row.key}" not in self.layout.by_key)

    def spans(self, measure: Measure, column: StatementColumn) -> list[tuple[int, Span]]:
        """Days that a column adds (1) or subtracts (-1) for a measure; credits are subtracted in a trial balance."""
        side = -1 if column.side == "credit" else 1
        return [(side * factor, self.rules.span(measure, period)) for factor, period in _periods(measure, column)]

    def page_lines(self, measured: Mapping[Measure, Sequence[Row]]) -> PageLines | None:
        """Lines behind rows by measure, if a page can carry them; those of balances beside flows are left out."""
        measures: list[Measure] = [one for one in measured if one in {"flow", "movement"}]
        measures = measures or list(measured)
        ledger_ids = {one for measure in measures for row in measured[measure] for one in row.ledger_ids}
        spans = [
            span
            for measure in measures
            for column in self.columns.shown
            for _, span in self.spans(measure, column)
            if span not in self.unknown and not span.is_empty
        ]
        lines = self.source.page_lines(spans, ledger_ids, self.ledgers, _MAX_PAGE_LINES) if spans else None
        return None if lines is None else PageLines(measures, lines)

    def page_terms(self) -> dict[str, list[tuple[str, str, str]]]:
        """Sign, label and text of what each derived figure is made of, by its key."""
        return {
            f"{row.key}{KEY_SEPARATOR}{column.key}": found
            for row in self.layout.shown
            if row.kind != "heading"
            for column in self.columns.shown
            if (found := self._term_texts(row, column))
        }

    def term_keys(self, row_key: str, column_key: str) -> list[tuple[str, str, str]]:
        """Sign, row and column of the cells that a cell adds or subtracts; empty where it is a sum of lines."""
        terms = self._terms(self.layout.by_key[row_key], self.columns.by_key[column_key])
        return [("-" if factor < 0 else "+", row.key, column.key) for factor, (row, column) in terms]

    def _term_texts(self, row: Row, column: StatementColumn) -> list[tuple[str, str, str]]:
        starting = self._starting_terms(row, column)
        if starting:
            return [("+", one.label, text_of(one.exact())) for one in starting]
        terms = self._terms(row, column)
        signs = ["-" if factor < 0 else "+" for factor, _ in terms]
        if column.kind in {"change_pct", "share"} and terms:
            signs[1] = "-" if column.kind == "change_pct" else "/"
        texts = [
            (sign, self._label(*cell), self.text(cell[0].key, cell[1].key))
            for sign, (_, cell) in zip(signs, terms, strict=True)
        ]
        if column.kind == "change_pct" and terms:
            base = self.value(terms[1][1][0].key, terms[1][1][1].key)
            is_negative = base is not None and base < 0
            label = texts[1][1] + (" without its sign" if is_negative else "")
            texts.append(("/", label, text_of(base if base is None else abs(base))))
        if column.kind == "average" and terms:
            texts.append(("/", "Number of columns", str(len(terms))))
        return texts

    def amounts(self, values: list[Decimal | None], column: StatementColumn) -> pd.Series[Any]:
        """Column of a frame, in the form that the frames of the source have."""
        if self.source.as_decimals:
            return pd.Series(values, dtype=pandas_dtype(1 if column.is_percent else self.source.scale))
        if column.is_percent:
            return pd.Series([None if one is None else float(one) for one in values], dtype="float64")
        scale = self.source.scale
        return pd.Series([None if one is None else to_float(one, scale) for one in values], dtype="float64")

    def parts_of(self, row: Row, column: StatementColumn) -> list[LinePart]:
        """Lines that a cell sums, if it is not made of others."""
        spans = self.spans(row.measure, column)
        if column.side:
            ((side, span),) = spans
            return [LinePart(side, span, self._on_side(row, column))]
        return [LinePart(row.factor * factor, span, row.ledger_ids) for factor, span in spans]

    def _on_side(self, row: Row, column: StatementColumn) -> tuple[str, ...]:
        """Ledgers of a row whose balance is on the side of a column of a trial balance."""
        ((side, span),) = self.spans(row.measure, column)
        starting = self.starting or {}
        sums = self.sums.get(span, {})  # none of days that are not known
        return tuple(one for one in row.ledger_ids if (sums.get(one, 0) + starting.get(one, 0)) * side > 0)

    def lines_of(self, parts: Sequence[LinePart]) -> pd.DataFrame:
        """Return the lines of some parts, with ``figure_amount``."""
        return self.source.entries(parts, _sum(parts, self.source.sums({part.span for part in parts})))

    def has_lines(self, row: Row, column: StatementColumn) -> bool:
        """Whether a cell that is a sum of line entries has any."""
        if not self.is_additive(row.key, column.key) or self._why_unknown(row, column):
            return False
        return any(one in self.sums[part.span] for part in self.parts_of(row, column) for one in part.ledger_ids)

    def units(self, row: Row, column: StatementColumn) -> Any:  # noqa: ANN401 (units, a percentage, or None)
        """Units or percentage of a cell; None where it is not known."""
        key = (row.key, column.key)
        if key not in self._known:
            self._known[key] = self._calculate(row, column)
        return self._known[key]

    def _calculate(self, row: Row, column: StatementColumn) -> Any:  # noqa: ANN401 (units, a percentage, or None)
        if self._why_unknown(row, column):
            return None
        terms = self._terms(row, column)
        if not terms:
            parts = self.parts_of(row, column)
            moved = _sum(parts, self.sums)
            return moved + (self._starting_units(row, column) or 0)
        values = [self.units(*cell) for _, cell in terms]
        if None in values:
            return None
        if column.kind == "average":
            return int(_divide(sum(values), len(values), Decimal(1)))
        if column.is_percent:
            this, base = values
            part, size = (this - base, abs(base)) if column.kind == "change_pct" else (this, base)
            return _divide(100 * part, size, _PERCENT_DIGITS) if size else None
        return sum(factor * value for (factor, _), value in zip(terms, values, strict=True))

    def _terms(self, row: Row, column: StatementColumn) -> list[tuple[int, tuple[Row, StatementColumn]]]:
        """Cells that a cell is made of, added or subtracted; of a percentage: the part, and the whole or earlier."""
        others = [self.columns.by_key[key] for key in column.terms]
        if column.kind == "share":
            return [(1, (row, others[0])), (1, (self.layout.by_key[self.layout.share_of], others[0]))]
        if column.terms:
            return [(1, (row, one)) for one in others]
        if row.key == self.layout.inflows:
            own = [one for one in self.layout.by_key.values() if one.measure == "flow" and self.is_own(one)]
            return [(1, (one, column)) for one in own if (self.units(one, column) or 0) > 0]
        return [(factor, (self.layout.by_key[key], column)) for factor, key in row.terms]

    def _starting_units(self, row: Row, column: StatementColumn) -> int | None:
        """Supplied starting balances in a cell; None in cells that have none, such as changes, where they cancel."""
        count = sum(factor for factor, _ in column.periods)
        if self.starting is None or not count or row.measure not in {"balance", "opening", "earlier_years"}:
            return None
        (part, *_) = self.parts_of(row, column)
        return part.factor * sum(self.starting.get(one, 0) for one in part.ledger_ids)

    def _why_unknown(self, row: Row, column: StatementColumn) -> str:
        """Why a cell is not known; empty where it is."""
        if not row.is_known:
            return f"ledgers whose parent or type is unknown might belong to {row.label}"
        if column.kind == "average" and not column.terms:
            return "no column is a whole period"
        if empty := self._why_empty(row, column):
            return empty
        if self._terms(row, column):
            return ""
        if self.starting is not None and row.measure in {"earlier_years", "this_year"} and self._is_within_year(column):
            return "the supplied balances do not say which earnings are of this fiscal year"
        spans = (span for _, span in self.spans(row.measure, column))
        return next((self.unknown[span] for span in spans if span in self.unknown), "")

    def _is_within_year(self, column: StatementColumn) -> bool:
        """Whether supplied balances may have earnings of the fiscal year of a column."""
        return any(self.rules.is_within_year(period) for _, period in column.periods)

    def _why_empty(self, row: Row, column: StatementColumn) -> str:
        """Why a cell has no amount: balances beside flows have no average, no share, and no total over gaps."""
        if row.key == self.layout.inflows and column.kind in {"change", "total"}:
            return f"total inflows are those of one period, so they have no {column.kind}"
        if self.rules.of_balances or row.measure not in {"opening", "balance"}:
            return ""
        if column.kind in {"average", "share"}:
            return f"a balance has no {column.kind} here"
        periods = sorted((period.start_date, period.end_date) for _, period in column.periods)
        gaps = [one for one, following in pairwise(periods) if following[0] - one[1] != dt.timedelta(days=1)]
        return "the columns do not follow each other" if column.kind == "total" and gaps else ""

    def figure(self, row_key: str, column_key: str) -> Figure:
        """Make the figure of a cell."""
        row, column = self.layout.by_key[row_key], self.columns.by_key[column_key]
        exact, terms = self.value(row_key, column_key), self._terms(row, column)
        made_of = tuple(self.figure(one.key, other.key) for _, (one, other) in terms)
        load = None
        if self.is_additive(row_key, column_key):
            load = partial(self.source.entries, self.parts_of(row, column), self.units(row, column))
        return Figure(
            f"{row_key}{KEY_SEPARATOR}{column_key}",
            self._label(row, column),
            self.amounts([exact], column).iloc[0] if exact is not None else None,
            self._calculation(row, column, exact),
            (*made_of, *self._starting_terms(row, column)),
            _exact=exact,
            _load_entries=load,
        )

    def _starting_terms(self, row: Row, column: StatementColumn) -> list[Figure]:
        """Return the supplied starting balances and the movement since, of which a balance is made."""
        units = self._starting_units(row, column)
        if units is None or len(self.parts_of(row, column)) != 1 or self._why_unknown(row, column):
            return []
        parts = self.parts_of(row, column)
        moved = _sum(parts, self.sums)
        starting, movement = (from_minor_units(one, self.source.scale) for one in (units, moved))
        key, label = f"{row.key}{KEY_SEPARATOR}{column.key}", self._label(row, column)
        supplied = "was supplied as starting_balances, so no line entries of it were loaded"
        return [
            Figure(
                key, f"{label}: starting balance", self.amounts([starting], column).iloc[0], supplied, _exact=starting
            ),
            Figure(
                key,
                f"{label}: movement since {self.rules.since}",
                self.amounts([movement], column).iloc[0],
                "sum of line entries",
                _exact=movement,
                _load_entries=partial(self.source.entries, parts, moved),
            ),
        ]

    def _label(self, row: Row, column: StatementColumn) -> str:
        return f"{row.label}, {column.label}"

    def _calculation(self, row: Row, column: StatementColumn, exact: Decimal | None) -> str:
        """How a cell was calculated, or why it is not known: a sentence without its end."""
        terms = self._terms(row, column)
        if exact is None:
            return f"it is not known: {self._why_unknown(row, column) or _UNKNOWN.get(column.kind, _UNKNOWN['period'])}"
        of_terms = {
            "average": f"the average of {len(terms)} columns, rounded to {self.source.scale} digits",
            "change_pct": "the change in percent of the earlier amount without its sign",
            "share": f"percent of {self.layout.by_key[self.layout.share_of].label.lower()}",
        }
        if column.kind in of_terms:
            return of_terms[column.kind]
        if terms:
            signs = [f"{'-' if factor < 0 else '+'} {cell[0].label}" for factor, cell in terms]
            return f"calculated: {' '.join(signs).removeprefix('+ ')}"
        return self._sum_text(row, column)

    def _sum_text(self, row: Row, column: StatementColumn) -> str:
        """Describe what a cell is the sum of."""
        if self._is_reported(row):
            return "it was only reported; the line entries of the cash ledgers from the beginning of the books have it"
        if self._starting_units(row, column) is not None:
            return "the supplied starting balance and the movement since"
        up_to = f"its line entries up to the day{f' since {self.rules.since}' if self.rules.since else ''}"
        measured = {"flow": "line entries of entries that touch cash", "movement": "line entries"}
        side = "credits less debits" if row.factor < 0 else "debits less credits"
        return f"the sum of {measured.get(row.measure, up_to)}, {side}"


def _sum(parts: Sequence[LinePart], sums: Mapping[Span, Mapping[str, int]]) -> int:
    return sum(part.factor * sums[part.span].get(one, 0) for part in parts for one in part.ledger_ids)


def _periods(measure: Measure, column: StatementColumn) -> Sequence[tuple[int, Period]]:
    """Periods of a column for a measure: a total of cash starts with the first period and ends with the last."""
    if column.kind == "total" and measure == "opening":
        return [min(column.periods, key=lambda one: one[1].start_date)]
    if column.kind == "total" and measure == "balance":
        return [max(column.periods, key=lambda one: one[1].end_date)]
    return column.periods


def text_of(value: Decimal | None, *, is_percent: bool = False) -> str:
    """Text of an amount: a negative one in parentheses, a dash for zero."""
    if value is None:
        return NOT_KNOWN
    if not value:
        return ZERO
    text = f"{abs(value):,}%" if is_percent else format_amount(abs(value))
    return f"({text})" if value < 0 else text


_UNKNOWN = {
    "change_pct": "the earlier amount is zero",
    "share": "the whole is zero",
    "period": "a figure that it is made of is not known",
}


def _divide(units: int | Decimal, count: int | Decimal, digits: Decimal) -> Decimal:
    """Quotient, rounded half to even."""
    with localcontext(EXACT) as context:
        context.traps[Inexact] = False
        context.traps[Rounded] = False
        return (Decimal(units) / Decimal(count)).quantize(digits, ROUND_HALF_EVEN)
