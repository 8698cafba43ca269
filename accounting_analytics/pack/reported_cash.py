"""The service's cash flow reports beside what the line entries of the pack sum to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.figure_tables import TableHead
from accounting_analytics.pack.key_figures import summed_row
from accounting_analytics.pack.pack_tables import TableBuilder, page_spans

if TYPE_CHECKING:
    from decimal import Decimal

    from accounting_analytics.pack.loaded_books import ComparedPeriod
    from accounting_analytics.pack.pack_tables import PackLines, PackTable
    from accounting_analytics.statements import Statement

NAME = "reported_cash"
REPORTED, CALCULATED, DIFFERENCE = "reported", "calculated", "difference"
_ROWS = {
    "starting_cash_balance": "Cash at the start",
    "net_cash_flow": "Net change in cash",
    "ending_cash_balance": "Cash at the end",
}


def reported_cash_table(
    compared: dict[str, ComparedPeriod], statement: Statement, entries: PackLines
) -> PackTable | None:
    """Make the table of the reports that were loaded; None where local books had compared them before."""
    heads = {
        REPORTED: TableHead("Reported by the service", is_comparison=False),
        CALCULATED: TableHead("Calculated here", is_comparison=False),
        DIFFERENCE: TableHead("Difference", is_comparison=True),
    }
    table, figures = TableBuilder(NAME, entries, heads), statement.figures
    for key, one in compared.items():
        if one.reported is None:
            continue
        table.heading(one.label)
        sums = one.reported.exact_sums()
        column = figures.columns.by_key[key]
        for name, label in _ROWS.items():
            row = figures.layout.by_key.get(name)
            summed = row and summed_row(figures, row)
            if row is None or summed is None:
                continue
            row_key = f"{name} {key}"
            spans = page_spans(figures, row.measure, column)
            reported: Decimal = getattr(sums, name)
            made = [
                table.stated(row_key, REPORTED, reported),
                table.sum_of_days(row_key, f"{CALCULATED} {key}", summed, spans, statement[name, key]),
            ]
            terms = [("+", f"{row_key}|{REPORTED}"), ("-", f"{row_key}|{CALCULATED} {key}")]
            table.row(row_key, label, [*made, table.sum_of_terms(row_key, DIFFERENCE, terms)], level=1)
            table.label(row_key, f"{label}, {one.label}")
    return table.build("The service's cash flow reports, and the same from line entries") if table.has_rows else None
