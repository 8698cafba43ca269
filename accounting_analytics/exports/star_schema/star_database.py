"""The star schema: each table of ``table_definitions.py`` is the query of the same name in this folder, run by DuckDB.

The queries read the books: ``line``, ``report_line``, ``ledger``, ``starting_balance``, ``month`` and ``export``, a row
with what is the same for all; and each other, among them ``account`` and ``cash_movement``, which are not exported.
Amounts have 38 digits until a table is complete, so that no sum is rounded or too long.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Self

import duckdb
import pandas as pd
import pyarrow as pa
from duckdb.func import ARROW

from accounting_analytics.categorization.category_ledgers import uncategorized_ledgers
from accounting_analytics.categorization.merchants import merchants
from accounting_analytics.duckdb_settings import WITHOUT_EXTENSIONS
from accounting_analytics.errors import FrameError
from accounting_analytics.exports.books import arrow_table, lines_within, report_lines
from accounting_analytics.exports.star_schema.table_definitions import (
    DATE,
    DIGITS,
    FLAG,
    INSTANT,
    NUMBER,
    STAR_SCHEMA,
    TEXT,
)
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import count_of, join_ids, shorten
from accounting_analytics.schemas import Ledgers
from accounting_analytics.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from accounting_analytics.exports.books import ExportedBooks, MonthProof
    from accounting_analytics.exports.star_schema.table_definitions import StarTable
    from accounting_analytics.periods import Period

_CONFIG = WITHOUT_EXTENSIONS | {"temp_directory": ""}  # texts of the books are in no file but the export
_MEMORY = "400MB"
"""What DuckDB keeps in memory where it may write to a folder: enough for a row group of each of its threads."""
_THREADS = min(os.cpu_count() or 1, 8)
_NOT_EXPORTED = ("account", "cash_movement")
_OPTIONAL = {
    **dict.fromkeys(("transaction_review_status", "transaction_posted_status", "source_account_id"), TEXT),
    **dict.fromkeys(("tag_names", "tag_group_ids"), TEXT),
    "transaction_personal": FLAG,
}
"""Columns of lines that are absent where they were not loaded."""
_PROOF = {"verdict": TEXT, "read_at": INSTANT, "proven_at": INSTANT, "is_complete": FLAG}
"""What is known of a month, with the types of its columns."""


class StarDatabase:
    """Books in DuckDB, with a view for each table of the star schema: it is calculated when it is read.

    The schema ``source`` has what the views read: the frames of the books, or a copy of them, which is read faster.
    """

    def __init__(
        self,
        books: ExportedBooks,
        proofs: Mapping[str, MonthProof],
        *,
        currency: str | None = None,
        fiscal_year_start_month: int = 1,
        with_copy: bool = False,
    ) -> None:
        self.books = books
        self._lines, self._report_lines = _lines(books), report_lines(books)
        self._source = "table" if with_copy else "view"
        self.connection = duckdb.connect(config=_CONFIG)
        self.connection.execute("set TimeZone = 'UTC'")
        self.connection.create_function("merchant", _merchant, ["VARCHAR"], "VARCHAR", type=ARROW)
        stated = {"currency": (currency, TEXT), "fiscal_start": (fiscal_year_start_month, NUMBER)}
        self.connection.execute("create schema source")
        self._read(
            export=_export_row(books, stated),
            month=_months(books, proofs),
            ledger=_ledgers(books),
            starting_balance=arrow_table(books.report.starting_balances),
        )
        self.show(books.period)
        for name in _NOT_EXPORTED:
            self.connection.execute(f"create view source.{name} as {query_of(name)}")
        for table in STAR_SCHEMA:
            columns = ", ".join(f"{name}::{dtype} as {name}" for name, dtype in table.column_types(books.scale).items())
            query = f"select {columns} from ({query_of(table.name)})"  # noqa: S608 (our own names)
            self.connection.execute(f"create view {table.name} as {query}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()

    def show(self, period: Period) -> None:
        """Let the queries see the lines of some days only, such as those of one month."""
        self._read(line=lines_within(self._lines, period), report_line=lines_within(self._report_lines, period))

    def _read(self, **frames: pa.Table) -> None:
        """Let the queries read frames by their names, in place of earlier ones."""
        for name, rows in frames.items():
            self.connection.register(f"{name}_rows", rows)
            self.connection.execute(f"create or replace {self._source} source.{name} as from {name}_rows")
            if self._source == "table":
                self.connection.unregister(f"{name}_rows")

    def spill_into(self, folder: Path) -> None:
        """Let DuckDB write what does not fit into its memory to a folder, which has the rights of the export."""
        self.connection.execute(f"set temp_directory = {text_literal(str(folder.absolute()))}")
        self.connection.execute(f"set memory_limit = '{_MEMORY}'; set threads = {_THREADS}")

    def execute(self, statement: str) -> duckdb.DuckDBPyConnection:
        """Run a statement that reads tables; an amount that is too large for them is refused."""
        with self._explained():
            return self.connection.execute(statement)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say which amount is too large for its column."""
        try:
            yield
        except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
            self._require_digits()
            raise FrameError(f"the tables cannot be calculated ({shorten(str(error))}); nothing was written") from error

    def rows(self, name: str) -> pa.Table:
        """Rows of a table."""
        with self._explained():
            return self.connection.sql(f"from {name}").to_arrow_table()

    def totals(self, table: StarTable, rows: str) -> tuple[int, dict[str, str]]:
        """Count the rows of a table, and sum its amounts exactly, as text."""
        sums = [f"coalesce(sum({name}), 0)::decimal(38, {self.books.scale})::varchar" for name in table.amounts]
        count, *texts = self.execute(f"select {', '.join(['count(*)', *sums])} from ({rows})").fetchall()[0]  # noqa: S608 (our own names)
        return count, dict(zip(table.amounts, texts, strict=True))

    def _require_digits(self) -> None:
        """Refuse amounts of more than 18 digits; the message names their rows by the key."""
        limit = f"1e{DIGITS - self.books.scale}::decimal(38, {self.books.scale})"
        for table in STAR_SCHEMA:
            key = ", ".join(table.key)
            for name in table.amounts:
                query = f"select {key} from ({query_of(table.name)}) where abs({name}) >= {limit}"  # noqa: S608 (our own names)
                too_large = self.connection.execute(query).fetchall()
                if too_large:
                    keys = [", ".join(map(str, row)) for row in too_large]
                    raise FrameError(
                        f"{table.name}: {count_of(len(keys), 'value')} of {name} with more than {DIGITS} digits, "
                        f"which BI tools do not read exactly: {key} {join_ids(keys)}; nothing was written"
                    )


def text_literal(value: str) -> str:
    """Text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def query_of(name: str) -> str:
    """Read the query of a table."""
    return files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8")


def _merchant(descriptions: pa.ChunkedArray) -> pa.Array:
    """Merchant of each description, as a function of DuckDB."""
    return pa.array(merchants(descriptions.to_pandas()), TEXT)


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
    return arrow_table(
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
    names = [month.month for month in months]
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
