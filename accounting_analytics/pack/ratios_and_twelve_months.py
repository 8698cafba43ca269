"""Sections of a pack for a bank: key ratios, and the income statement of twelve months."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.pack.pack_table import (
    PackRow,
    PackTable,
    amount_head,
    make_table,
    statement_table,
    text_head,
)
from accounting_analytics.reports.payees.key_ratios import key_ratios
from accounting_analytics.reports.statements.four_statements import income_statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.reports.books.value import Books

RATIOS, TWELVE_MONTHS = "key_ratios", "twelve_months"


def ratio_table(books: Books, periods: PackPeriods, depreciation: Iterable[str]) -> PackTable:
    """Make the table of the key ratios, with their parts and definitions."""
    found = key_ratios(books.of(periods.this), periods.this.end_date, depreciation=depreciation)
    rows = [
        PackRow(label, [figure, meaning], "ledger" if level else "balance", level)
        for label, level, figure, meaning in found.rows()
    ]
    return make_table(RATIOS, "Key ratios", [amount_head("Value"), text_head("What it is")], rows)


def twelve_months_table(books: Books, periods: PackPeriods, amounts_in: AmountsIn | None) -> PackTable:
    """Make the table of the income statement of twelve months."""
    made = income_statement(books, columns=periods.twelve_months_columns(), amounts_in=amounts_in)
    table = statement_table(TWELVE_MONTHS, made)
    return table._replace(table=table.table._replace(title="Income statement of twelve months"))
