"""The star schema: each table of ``table_definitions.py`` is the query of the same name in this folder, run by DuckDB.

The queries read the books: ``line``, ``report_line``, ``ledger``, ``starting_balance``, ``month`` and ``export``, a row
with what is the same for all; and tables made before, among them ``account`` and ``cash_movement``, which are not
exported. Amounts have 38 digits until a table is complete, so that no sum is rounded or too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.categorization.category_ledgers import uncategorized_ledgers
from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.exports.books import LINES_OF_A_BATCH, name_of_month, with_dates
from accounting_analytics.exports.star_schema import table_definitions
from accounting_analytics.exports.star_schema.query_database import StarDatabase
from accounting_analytics.exports.star_schema.table_definitions import DATE, FLAG, INSTANT, NUMBER, TABLES, TEXT
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.schemas import Ledgers
from accounting_analytics.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.exports.books import ExportedBooks, MonthProof
    from accounting_analytics.periods import Period

Tables = dict[str, pa.Table]
_FACTS = ("fact_line_entry", "fact_cash_flow_line", "fact_transfer", "bridge_line_entry_tag")
_BALANCES = ("fact_daily_balance", "fact_period_balance")
_DIMENSIONS = ("dim_ledger", "dim_cash_ledger", "dim_date", "dim_tag", "dim_load")
_OPTIONAL = {
    **dict.fromkeys(("transaction_review_status", "transaction_posted_status", "source_account_id"), TEXT),
    **dict.fromkeys(("tag_names", "tag_group_ids"), TEXT),
    "transaction_personal": FLAG,
}
"""Columns of lines that are absent where they were not loaded."""
_PROOF = {"verdict": TEXT, "read_at": INSTANT, "proven_at": INSTANT, "is_complete": FLAG}
"""What is known of a month, with the types of its columns."""


class StarSchema(NamedTuple):
    """The tables of ``STAR_SCHEMA``; facts are made when they are asked for, a few months at a time."""

    books: ExportedBooks
    balances: Tables  # those of all months, because each begins where the one before ends
    dimensions: Tables

    @classmethod
    def from_books(
        cls,
        books: ExportedBooks,
        proofs: Mapping[str, MonthProof],
        *,
        currency: str | None = None,
        fiscal_year_start_month: int = 1,
    ) -> Self:
        """Make balances and dimensions."""
        with whole_database(
            books, proofs, currency=currency, fiscal_year_start_month=fiscal_year_start_month
        ) as database:
            balances = {name: database.make(TABLES[name]) for name in _BALANCES}
            dimensions = {name: database.make(TABLES[name]) for name in _DIMENSIONS}
            dimensions["dim_transaction"] = make_transactions(database, books.in_batches())
        return cls(books, balances, dimensions)

    def facts_by_month(self, least_lines: int = LINES_OF_A_BATCH) -> Iterator[tuple[str, Tables]]:
        """Yield each month of the period, and the facts and the bridge of that month by name."""
        with _ledger_database(self.books) as database:
            for books in self.books.in_batches(least_lines):
                database.add(line=_lines(books), report_line=report_lines(books))
                database.add(cash_movement=database.rows("cash_movement"))
                facts = {name: database.make(TABLES[name]) for name in _FACTS} | self.balances
                for month in map(name_of_month, books.period.months()):
                    yield month, {name: rows.filter(pc.equal(rows["month"], month)) for name, rows in facts.items()}

    def tables(self) -> Tables:
        """Tables of all months by name."""
        months = [facts for _, facts in self.facts_by_month()]
        return {name: pa.concat_tables(facts[name] for facts in months) for name in months[0]} | self.dimensions


def whole_database(
    books: ExportedBooks,
    proofs: Mapping[str, MonthProof],
    *,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> StarDatabase:
    """Database with the lines of all months, the months with their proofs, and what is the same for all rows."""
    table_definitions.FACT_LINE_ENTRY.require_digits(books.lines.rename_columns({"id": "line_entry_id"}))
    stated = {"currency": (currency, TEXT), "fiscal_start": (fiscal_year_start_month, NUMBER)}
    database = _ledger_database(books)
    database.add(export=_export_row(books, stated), month=_months(books, proofs), line=_lines(books))
    return database


def _ledger_database(books: ExportedBooks) -> StarDatabase:
    """Database with the ledgers of books, and the accounts among them."""
    database = StarDatabase(books.scale)
    database.add(ledger=_ledgers(books), starting_balance=_table(books.report.starting_balances))
    database.add(account=database.rows("account"))
    return database


def report_lines(books: ExportedBooks) -> pa.Table:
    """Lines of the report with their local dates."""
    return with_dates(_table(books.report.lines), books.period)


def date_dimension(period: Period, fiscal_year_start_month: int) -> pa.Table:
    """``dim_date``: every day of the calendar and fiscal years that the period touches."""
    days = {"start_date": (period.start_date, DATE), "end_date": (period.end_date, DATE)}
    with StarDatabase() as database:
        database.add(export=_row({**days, "fiscal_start": (fiscal_year_start_month, NUMBER)}))
        return database.make(table_definitions.DIM_DATE)


def make_transactions(database: StarDatabase, batches: Iterable[ExportedBooks]) -> pa.Table:
    """``dim_transaction`` of all months, made a few months at a time; of several lines of one the first remains."""
    parts = []
    for batch in batches:
        database.add(line=_lines(batch))
        rows = database.rows("dim_transaction")
        found = merchants(rows["description"].to_pandas().fillna(""))
        rows = rows.append_column("merchant", pa.array(found, TEXT, from_pandas=True))
        parts.append(table_definitions.DIM_TRANSACTION.from_rows(rows, batch.scale))
    ordered = pa.concat_tables(parts).sort_by("transaction_id")  # stable
    ids = ordered["transaction_id"]
    repeated = pa.concat_arrays([pa.array([False] * min(1, len(ids)), FLAG), *pc.equal(ids[1:], ids[:-1]).chunks])
    return ordered.filter(pc.invert(repeated)) if pc.any(repeated).as_py() else ordered  # a filter copies all columns


def _lines(books: ExportedBooks) -> pa.Table:
    """Lines with all columns that the queries name; what a transaction has no description of is called by its line."""
    lines = books.lines
    for name, dtype in _OPTIONAL.items():
        if name not in lines.column_names:
            lines = lines.append_column(name, pa.nulls(len(lines), dtype))
    if "transaction_description" in lines.column_names:
        return lines
    return lines.append_column("transaction_description", lines["description"])


def _ledgers(books: ExportedBooks) -> pa.Table:
    """Ledgers with their paths and roles: those of the chart of accounts, of lines and of the report."""
    ledgers = _all_ledgers(books)
    names = LedgerNames.from_frame(ledgers)
    upwards = [[ledger_id, *names.hierarchy.ancestors(ledger_id)] for ledger_id in ledgers["id"]]
    return _table(
        ledgers.assign(
            path=ledgers["id"].map(names.path),
            level=[len(ids) for ids in upwards],
            root_name=[names.name(ids[-1]) for ids in upwards],
            is_cash=ledgers["id"].isin(books.cash_ledger_ids),
            is_uncategorized=ledgers["id"].isin(uncategorized_ledgers(ledgers)),
        )
    )


def _all_ledgers(books: ExportedBooks) -> pd.DataFrame:
    """Ledgers of the chart of accounts, and a row with id and name for each other ledger of a line or the report."""
    report, lines = books.report, books.lines.select(["ledger_id", "ledger_name"]).group_by(["ledger_id"])
    in_lines = lines.aggregate([("ledger_name", "min")]).to_pandas()
    named = {
        **dict(zip(in_lines["ledger_id"], in_lines["ledger_name_min"], strict=True)),
        **dict(zip(report.starting_balances["ledger_id"], report.starting_balances["ledger_name"], strict=True)),
        **dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True)),
    }
    known = set(books.ledgers["id"])
    others = {ledger_id: name for ledger_id, name in named.items() if ledger_id not in known}
    if not others:
        return books.ledgers
    columns: dict[str, list[object]] = {name: [None] * len(others) for name in books.ledgers.columns}
    columns |= {"id": list(others), "name": list(others.values()), "sort_code": [""] * len(others)}
    columns["report_cash_flow"] = [False] * len(others)
    rows = Ledgers.from_columns({name: columns[name] for name in Ledgers.dtypes() if name in columns})
    return pd.concat([books.ledgers, rows], ignore_index=True)


def _months(books: ExportedBooks, proofs: Mapping[str, MonthProof]) -> pa.Table:
    """Name, days and proof of each month of the period."""
    months = list(books.period.months())
    days = {name: pa.array([getattr(one, name) for one in months], DATE) for name in ("start_date", "end_date")}
    names = list(map(name_of_month, months))
    stated = {
        field: pa.array([getattr(proofs[name], field) for name in names], dtype) for field, dtype in _PROOF.items()
    }
    return pa.table({"month": pa.array(names, TEXT), **days, **stated})


def _export_row(books: ExportedBooks, stated: Mapping[str, tuple[object, pa.DataType]]) -> pa.Table:
    """Row of what is the same for all rows."""
    period = books.period
    return _row(
        {
            "start_date": (period.start_date, DATE),
            "end_date": (period.end_date, DATE),
            "time_zone": (period.time_zone, TEXT),
            "scale": (books.scale, NUMBER),
            "is_partial": (books.is_partial, FLAG),
            "known_ledgers": (books.known_ledgers, TEXT),
            "notes": (" ".join(books.notes) or None, TEXT),
            "package_version": (__version__, TEXT),
            **stated,
        }
    )


def _row(columns: Mapping[str, tuple[object, pa.DataType]]) -> pa.Table:
    """Table of one row, of values with their types."""
    return pa.table({name: pa.array([value], dtype) for name, (value, dtype) in columns.items()})


def _table(frame: Any) -> pa.Table:  # noqa: ANN401 (a pandas frame)
    """Arrow table of a frame, without the metadata of pandas."""
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
