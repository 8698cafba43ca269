"""The section of a pack that compares its period, and the year to date, with a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.pack.pack_table import PackTable, statement_table
from accounting_analytics.reports.statements.columns import budget_columns
from accounting_analytics.reports.statements.four_statements import income_statement

if TYPE_CHECKING:
    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.statements.budget import BudgetLike

BUDGET = "budget"
_NOTES = ("The budget", "Without any budget")
"""Texts with which a statement's notes about its budget begin."""


def budget_table(
    books: Books, periods: PackPeriods, budget: BudgetLike | None, amounts_in: AmountsIn | None
) -> PackTable | None:
    """Make the table of budget and actual amounts, or None without a budget."""
    if budget is None:
        return None
    this, *_ = columns = periods.key_columns()
    to_date = [column for column in columns[1:] if column.kind == "period"]
    shown = [shown for column in (this, *to_date) for shown in (column, *budget_columns(column))]
    made = income_statement(books, columns=shown, budget=budget, amounts_in=amounts_in)
    table = statement_table(BUDGET, made)
    notes = [*(note for note in made.notes if note.startswith(_NOTES)), *table.table.notes]
    return table._replace(table=table.table._replace(title="Budget and actual", notes=notes))
