"""The flows of a cash flow statement by category and column, the largest first and the others together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.arguments import require_type
from accounting_analytics.charts.labels import short_labels
from accounting_analytics.charts.mark_table import MAX_LINES, TableLine
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR, Figure
from accounting_analytics.messages import quote
from accounting_analytics.money import exact_sum
from accounting_analytics.statements import Statement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    from accounting_analytics.selections import Span
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Row
    from accounting_analytics.statements.statement_figures import StatementFigures

TRANSFERS = "transfers"
"""Section of transfers between own accounts, which are neither in nor out."""
_OTHERS = "others"


class FlowCategory(NamedTuple):
    """A category: its key, its name, the rows of the statement that it sums, and its flow in each column."""

    key: str
    name: str
    rows: Sequence[Row]
    amounts: Sequence[Decimal | None]

    @property
    def total(self) -> Decimal:
        """Sum over the columns whose amounts are known."""
        return exact_sum(one for one in self.amounts if one is not None)


class CategoryFlows(NamedTuple):
    """The categories of a statement and its periods."""

    figures: StatementFigures
    columns: Sequence[StatementColumn]
    categories: Sequence[FlowCategory]

    @classmethod
    def of_statement(cls, statement: Statement, chart: str) -> CategoryFlows:
        """Read the own flows of every ledger, but of transfers between own accounts."""
        figures = figures_of(statement, chart)
        columns = [one for one in statement.columns if one.kind == "period"]
        rows = flow_rows(figures)
        made = [
            FlowCategory(
                row.key,
                row.label.removesuffix(" (own)"),
                [row],
                [figures.figure(row.key, one.key).exact() for one in columns],
            )
            for row in rows
        ]
        return cls(figures, columns, made)

    def largest_outflows(self, largest: int) -> list[FlowCategory]:
        """Categories with a net outflow, the largest first, and one for all others of them."""
        check_largest(largest)
        paid = sorted((one for one in self.categories if one.total < 0), key=lambda one: (one.total, one.key))
        own, rest = paid[:largest], paid[largest:]
        if len(rest) > 1:
            sums = [
                None if None in amounts else exact_sum(one for one in amounts if one is not None)
                for amounts in zip(*(one.amounts for one in rest), strict=True)
            ]
            name = f"{len(rest)} other categories"
            own.append(FlowCategory(_OTHERS, name, [row for one in rest for row in one.rows], sums))
        else:
            own += rest
        return own

    def labels(self, categories: Sequence[FlowCategory]) -> list[str]:
        """Names of categories, short and different."""
        return short_labels([one.name for one in categories])

    def figure(self, categories: Sequence[FlowCategory], key: str) -> Figure:
        """Figure of a category in a column, whose entries are those of its ledgers."""
        name, _, column_key = key.rpartition(KEY_SEPARATOR)
        found = [one for one in categories if one.key == name]
        column = self.figures.columns.by_key.get(column_key)
        if not found or column is None:
            raise InputError(f"no mark of the chart has the key {quote(key)}")
        (category,) = found
        exact = category.amounts[[one.key for one in self.columns].index(column_key)]
        if exact is None:
            return self.figures.figure(category.rows[0].key, column_key)
        parts = [part for row in category.rows for part in self.figures.selections(row, column)]
        units = sum(self.figures.units(row, column) for row in category.rows)
        source = self.figures.source
        return Figure(
            key,
            f"{category.name}, {column.label}",
            units,
            "the sum of line entries of entries that touch cash, credits less debits",
            scale=source.scale,
            as_decimals=source.as_decimals,
            _load_entries=partial(source.entries, parts, units),
        )

    def lines(self, categories: Sequence[FlowCategory]) -> list[TableLine] | None:
        """Lines behind categories, for a table of marks."""
        rows = [row for one in categories for row in one.rows]
        spans = [span for column in self.columns for _, span in self.figures.spans("flow", column)]
        known = [one for one in spans if one not in self.figures.unknown and not one.is_empty]
        return flow_lines(self.figures, rows, known)


def figures_of(statement: Statement, chart: str) -> StatementFigures:
    """Figures of a cash flow statement; any other argument is refused."""
    hint = "pass what cash_flow_statement(...) returns"
    require_type(statement, Statement, "statement", hint)
    figures = statement.figures
    if not any(row.measure == "flow" for row in figures.layout.by_key.values()):
        raise InputError(f"{chart} needs a cash flow statement, not {quote(statement.title)}; {hint}")
    return figures


def check_largest(largest: int) -> None:
    """Refuse a count that is not a positive whole number."""
    if not isinstance(largest, int) or largest < 1:
        raise InputError(f"largest must be a whole number of at least 1, not {quote(largest)}")


def flow_rows(figures: StatementFigures) -> list[Row]:
    """Own flows of ledgers, but of transfers between own accounts."""
    rows = figures.layout.by_key.values()
    return [one for one in rows if one.measure == "flow" and figures.is_own(one) and one.section != TRANSFERS]


def flow_lines(figures: StatementFigures, rows: Sequence[Row], spans: Sequence[Span]) -> list[TableLine] | None:
    """Cash flow lines of rows, positive into cash; None if a page cannot carry them."""
    ledger_ids = {ledger_id for row in rows for ledger_id in row.ledger_ids}
    if not spans or not ledger_ids:
        return []
    found = figures.source.shown_lines(spans, ledger_ids, figures.ledgers, MAX_LINES)
    if found is None:
        return None
    return [
        TableLine(
            (line.ledger_id, "in" if line.units < 0 else "out"),
            figures.ledgers.name(line.ledger_id),
            line.day,
            line.description,
            line.opposing,
            -line.units,
        )
        for line in found
        if line.is_flow
    ]


def column_days(column: StatementColumn) -> tuple[str, str]:
    """First and last day of a column."""
    ((_, period),) = column.periods
    return period.start_date.isoformat(), period.end_date.isoformat()
