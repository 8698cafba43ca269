"""The tables of the star schema: the grain, the key and the columns of each.

A column that has the name of a dimension's key refers to that dimension (``KEYS``), so that BI tools relate the tables
by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGITS = 18
"""Digits of an amount: as many as Parquet stores in an INT64."""
AMOUNT = pa.decimal128(DIGITS)
"""Type of an amount column; its scale is that of the books."""
TEXT, DATE, INSTANT = pa.string(), pa.date32(), pa.timestamp("us", "UTC")
NUMBER, FLAG = pa.int32(), pa.bool_()

_DUCKDB_TYPES = {
    TEXT: "varchar",
    DATE: "date",
    INSTANT: "timestamptz",
    NUMBER: "integer",
    pa.int64(): "bigint",
    FLAG: "boolean",
}

KEYS = {
    "line_entry_id": "fact_line_entry",
    "ledger_id": "dim_ledger",
    "cash_ledger_id": "dim_cash_ledger",
    "transaction_id": "dim_transaction",
    "tag_id": "dim_tag",
    "date": "dim_date",
    "month": "dim_load",
}
"""Table that a column of this name identifies a row of."""


class StarTable(NamedTuple):
    """A fact, a dimension or a bridge: what one row is, the columns that identify it, and the types of all columns."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: Mapping[str, pa.DataType]

    @property
    def references(self) -> dict[str, str]:
        """Table that each foreign key refers to, by column."""
        return {column: KEYS[column] for column in self.columns if KEYS.get(column, self.name) != self.name}

    @property
    def is_partitioned(self) -> bool:
        """Whether the rows belong to months, each of which has a file."""
        return "month" in self.references

    def schema(self, scale: int) -> pa.Schema:
        """Arrow schema with amounts of a scale."""
        amount = pa.decimal128(DIGITS, scale)
        return pa.schema([(name, amount if dtype == AMOUNT else dtype) for name, dtype in self.columns.items()])

    def file_schema(self, scale: int) -> pa.Schema:
        """Arrow schema of the Parquet files; a month is in their path."""
        schema = self.schema(scale)
        return schema.remove(schema.get_field_index("month")) if self.is_partitioned else schema

    @property
    def amounts(self) -> list[str]:
        """Names of the amount columns."""
        return [name for name, dtype in self.columns.items() if dtype == AMOUNT]

    def column_types(self, scale: int) -> dict[str, str]:
        """Type of each column in DuckDB."""
        amount = f"decimal({DIGITS}, {scale})"
        return {name: _DUCKDB_TYPES.get(dtype, amount) for name, dtype in self.columns.items()}


FACT_LINE_ENTRY = StarTable(
    "fact_line_entry",
    "one line entry of the period",
    ("line_entry_id",),
    {
        "line_entry_id": TEXT,
        "month": TEXT,
        "date": DATE,
        "datetime_utc": INSTANT,
        "ledger_id": TEXT,
        "journal_entry_id": TEXT,
        "transaction_id": TEXT,
        "debit_credit": TEXT,
        "amount": AMOUNT,
        "signed_amount": AMOUNT,
        "description": TEXT,
        "journal_entry_description": TEXT,
        "related_line_entry_id": TEXT,
        "editable": FLAG,
    },
)
FACT_CASH_FLOW_LINE = StarTable(
    "fact_cash_flow_line",
    "one category line of a journal entry that moved cash, without transfers between own accounts",
    ("line_id",),
    {
        "line_id": TEXT,
        "month": TEXT,
        "date": DATE,
        "datetime_utc": INSTANT,
        "ledger_id": TEXT,
        "cash_ledger_id": TEXT,
        "journal_entry_id": TEXT,
        "transaction_id": TEXT,
        "amount": AMOUNT,
        "journal_entry_description": TEXT,
    },
)
FACT_TRANSFER = StarTable(
    "fact_transfer",
    "one own account that a journal entry moved money into (positive) or out of (negative) from another",
    ("journal_entry_id", "cash_ledger_id"),
    {
        "journal_entry_id": TEXT,
        "cash_ledger_id": TEXT,
        "month": TEXT,
        "date": DATE,
        "datetime_utc": INSTANT,
        "transaction_id": TEXT,
        "amount": AMOUNT,
        "journal_entry_description": TEXT,
    },
)
FACT_DAILY_BALANCE = StarTable(
    "fact_daily_balance",
    "one day of one account that reports cash flow",
    ("cash_ledger_id", "date"),
    {
        "cash_ledger_id": TEXT,
        "month": TEXT,
        "date": DATE,
        "opening_balance": AMOUNT,
        "movement": AMOUNT,
        "closing_balance": AMOUNT,
    },
)
FACT_PERIOD_BALANCE = StarTable(
    "fact_period_balance",
    "one month of one account that reports cash flow; date is its last exported day",
    ("cash_ledger_id", "date"),
    {
        "cash_ledger_id": TEXT,
        "month": TEXT,
        "start_date": DATE,
        "date": DATE,
        "starting_balance": AMOUNT,
        "movement": AMOUNT,
        "ending_balance": AMOUNT,
    },
)
BRIDGE_LINE_ENTRY_TAG = StarTable(
    "bridge_line_entry_tag",
    "one tag of one line entry",
    ("line_entry_id", "tag_id"),
    {"line_entry_id": TEXT, "tag_id": TEXT, "month": TEXT},
)
DIM_LEDGER = StarTable(
    "dim_ledger",
    "one ledger of the chart of accounts",
    ("ledger_id",),
    {
        "ledger_id": TEXT,
        "name": TEXT,
        "path": TEXT,
        "level": NUMBER,
        "root_name": TEXT,
        "parent_ledger_id": TEXT,
        "parent_name": TEXT,
        "type": TEXT,
        "sub_type": TEXT,
        "statement": TEXT,
        "statement_section": TEXT,
        "debit_credit": TEXT,
        "financial_account_type": TEXT,
        "sort_code": TEXT,
        "display_order": NUMBER,
        "is_cash": FLAG,
        "is_transfer": FLAG,
        "is_uncategorized": FLAG,
        "is_required": FLAG,
        "created_at_utc": INSTANT,
    },
)
DIM_CASH_LEDGER = StarTable(
    "dim_cash_ledger",
    "one ledger that reports cash flow",
    ("cash_ledger_id",),
    {
        "cash_ledger_id": TEXT,
        "cash_ledger_name": TEXT,
        "cash_ledger_path": TEXT,
        "financial_account_type": TEXT,
        "type": TEXT,
        "display_order": NUMBER,
    },
)
DIM_DATE = StarTable(
    "dim_date",
    "one day of every calendar and fiscal year that has exported days",
    ("date",),
    {
        "date": DATE,
        "year": NUMBER,
        "quarter": NUMBER,
        "month_number": NUMBER,
        "month_name": TEXT,
        "year_month": TEXT,
        "day": NUMBER,
        "weekday": NUMBER,
        "weekday_name": TEXT,
        "iso_year": NUMBER,
        "iso_week": NUMBER,
        "fiscal_year": NUMBER,
        "fiscal_quarter": NUMBER,
        "fiscal_month": NUMBER,
    },
)
DIM_TRANSACTION = StarTable(
    "dim_transaction",
    "one transaction of a financial account",
    ("transaction_id",),
    {
        "transaction_id": TEXT,
        "transaction_date": DATE,
        "description": TEXT,
        "merchant": TEXT,
        "account_name": TEXT,
        "is_cash": FLAG,
        "transaction_amount": AMOUNT,
        "direction": TEXT,
        "is_uncategorized": FLAG,
        "age_in_days": NUMBER,
        "review_status": TEXT,
        "posted_status": TEXT,
        "personal": FLAG,
        "source_account_id": TEXT,
    },
)
DIM_TAG = StarTable("dim_tag", "one tag", ("tag_id",), {"tag_id": TEXT, "tag_name": TEXT, "tag_group_id": TEXT})
DIM_LOAD = StarTable(
    "dim_load",
    "one exported month: what was loaded, whether lines of the known ledgers are missing, and which ledgers are known",
    ("month",),
    {
        "month": TEXT,
        "start_date": DATE,
        "end_date": DATE,
        "time_zone": TEXT,
        "currency": TEXT,
        "scale": NUMBER,
        "line_entries": pa.int64(),
        "read_at_utc": INSTANT,
        "is_partial": FLAG,
        "verdict": TEXT,
        "proven_at_utc": INSTANT,
        "known_ledgers": TEXT,
        "notes": TEXT,
        "package_version": TEXT,
    },
)

STAR_SCHEMA = (
    FACT_LINE_ENTRY,
    FACT_CASH_FLOW_LINE,
    FACT_TRANSFER,
    FACT_DAILY_BALANCE,
    FACT_PERIOD_BALANCE,
    BRIDGE_LINE_ENTRY_TAG,
    DIM_LEDGER,
    DIM_CASH_LEDGER,
    DIM_DATE,
    DIM_TRANSACTION,
    DIM_TAG,
    DIM_LOAD,
)
"""All tables: facts, the bridge, dimensions."""

TABLES = {table.name: table for table in STAR_SCHEMA}
"""All tables by name."""
