"""Build the tables of the star schema: dimensions and balances of the whole period, facts a few months at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.exports.star_schema import tables
from accounting_analytics.exports.star_schema.calendar import date_dimension
from accounting_analytics.exports.star_schema.cash_balances import CashBalances
from accounting_analytics.exports.star_schema.cash_movements import CashMovements
from accounting_analytics.exports.star_schema.dimensions import (
    cash_ledger_dimension,
    ledger_dimension,
    line_entry_tags,
    load_dimension,
    tag_dimension,
    transaction_dimension,
)
from accounting_analytics.exports.star_schema.exported_books import LINES_OF_A_BATCH, name_of_month

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator

    from accounting_analytics.exports.star_schema.exported_books import ExportedBooks

_NAMES_IN_LINES = {"line_entry_id": "id", "datetime_utc": "datetime"}
Tables = dict[str, pa.Table]


class StarSchema(NamedTuple):
    """The tables of ``STAR_SCHEMA``; facts are built when they are asked for, a few months at a time.

    Attributes
    ----------
    books : ExportedBooks
        What the facts are built from.
    balances : CashBalances
        Of all months, because each begins where the one before ends.
    dimensions : dict of str to pyarrow.Table
        By name.
    """

    books: ExportedBooks
    balances: CashBalances
    dimensions: Tables

    @classmethod
    def from_books(
        cls,
        books: ExportedBooks,
        *,
        verdict: str,
        proven_at: dt.datetime | None = None,
        currency: str | None = None,
        fiscal_year_start_month: int = 1,
    ) -> Self:
        """Build balances and dimensions; `proven_at` is when the report was read that the lines agree with.

        Raises
        ------
        FrameError
            An amount or a balance has more than 18 digits.
        """
        tables.FACT_LINE_ENTRY.require_digits(books.lines.rename_columns({"id": "line_entry_id"}))
        balances = CashBalances.from_books(books)
        ledgers = ledger_dimension(books)
        dimensions = {
            "dim_ledger": ledgers,
            "dim_cash_ledger": cash_ledger_dimension(ledgers, books.scale),
            "dim_date": date_dimension(books.period, fiscal_year_start_month),
            "dim_transaction": transaction_dimension(books),
            "dim_tag": tag_dimension(books),
            "dim_load": load_dimension(books, currency=currency, verdict=verdict, proven_at=proven_at),
        }
        return cls(books, balances, dimensions)

    def facts_by_month(self, least_lines: int = LINES_OF_A_BATCH) -> Iterator[tuple[str, Tables]]:
        """Yield each month of the period, and the facts and the bridge of that month by name.

        Raises
        ------
        FrameError
            An amount of the report, or a sum, has more than 18 digits.
        """
        for books in self.books.in_batches(least_lines):
            facts = self._facts(books)
            for month in map(name_of_month, books.period.months()):
                yield month, {name: rows.filter(pc.equal(rows["month"], month)) for name, rows in facts.items()}

    def _facts(self, books: ExportedBooks) -> Tables:
        """Facts and bridge of some months; the balances are those of all months."""
        lines = {name: books.lines[_NAMES_IN_LINES.get(name, name)] for name in tables.FACT_LINE_ENTRY.columns}
        movements = CashMovements.from_books(books)
        return {
            "fact_line_entry": tables.FACT_LINE_ENTRY.from_columns(lines, books.scale),
            "fact_cash_flow_line": movements.flows,
            "fact_transfer": movements.transfers,
            "fact_daily_balance": self.balances.daily,
            "fact_period_balance": self.balances.monthly,
            "bridge_line_entry_tag": line_entry_tags(books),
        }

    def tables(self) -> Tables:
        """Tables of all months by name, in the order of ``STAR_SCHEMA``.

        Raises
        ------
        FrameError
            An amount of the report, or a sum, has more than 18 digits.
        """
        months = [facts for _, facts in self.facts_by_month()]
        return {name: pa.concat_tables(facts[name] for facts in months) for name in months[0]} | self.dimensions
