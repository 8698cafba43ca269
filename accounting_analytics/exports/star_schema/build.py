"""Build all tables of the star schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.exports.star_schema import tables
from accounting_analytics.exports.star_schema.calendar import date_dimension
from accounting_analytics.exports.star_schema.cash_balances import CashBalances
from accounting_analytics.exports.star_schema.cash_movements import CashMovements
from accounting_analytics.exports.star_schema.dimensions import (
    cash_ledger_dimension,
    ledger_dimension,
    load_dimension,
    tag_tables,
    transaction_dimension,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from accounting_analytics.exports.star_schema.exported_books import ExportedBooks

_NAMES_IN_LINES = {"line_entry_id": "id", "datetime_utc": "datetime"}


def build_star_schema(
    books: ExportedBooks, *, verdict: str, currency: str | None = None, fiscal_year_start_month: int = 1
) -> dict[str, pa.Table]:
    """Build the tables of ``STAR_SCHEMA`` by name, in its order.

    Raises
    ------
    FrameError
        An amount or a sum has more than 18 digits.
    """
    lines = {name: books.lines[_NAMES_IN_LINES.get(name, name)] for name in tables.FACT_LINE_ENTRY.columns}
    line_entries = tables.FACT_LINE_ENTRY.from_columns(lines, books.scale)  # first: refuses amounts of too many digits
    movements, balances = CashMovements.from_books(books), CashBalances.from_books(books)
    ledgers = ledger_dimension(books)
    tags, tagged_lines = tag_tables(books)
    return {
        "fact_line_entry": line_entries,
        "fact_cash_flow_line": movements.flows,
        "fact_transfer": movements.transfers,
        "fact_daily_balance": balances.daily,
        "fact_period_balance": balances.monthly,
        "bridge_line_entry_tag": tagged_lines,
        "dim_ledger": ledgers,
        "dim_cash_ledger": cash_ledger_dimension(ledgers, books.scale),
        "dim_date": date_dimension(books.period, fiscal_year_start_month),
        "dim_transaction": transaction_dimension(books),
        "dim_tag": tags,
        "dim_load": load_dimension(books, currency=currency, verdict=verdict),
    }
