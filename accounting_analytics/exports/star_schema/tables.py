"""Tables and views of the star schema: grains, keys, and types of columns.

A column that has the name of a dimension's key refers to that dimension (``KEYS``): BI tools relate the tables by
themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGITS = 18
"""Digits of an amount: the most that Parquet stores in an INT64."""


AMOUNT = f"decimal({DIGITS}, scale)"
"""Type of an amount, with the scale of the books."""


TEXT, DATE, INSTANT, NUMBER, WHOLE, FLAG = "varchar", "date", "timestamptz", "integer", "bigint", "boolean"


KEYS = {
    "line_entry_id": "fact_line_entry",
    "ledger_id": "dim_ledger",
    "cash_ledger_id": "dim_cash_ledger",
    "transaction_id": "dim_transaction",
    "counterparty_id": "dim_counterparty",
    "tag_id": "dim_tag",
    "date": "dim_date",
    "month": "dim_load",
}
"""For each name of a key column, the table whose rows it identifies."""


class StarTable(NamedTuple):
    """A fact, a dimension or a bridge, with its grain, its key and the types of its columns."""

    name: str
    grain: str
    key: tuple[str, ...]
    columns: Mapping[str, str]

    @property
    def references(self) -> dict[str, str]:
        """Map each foreign key column to the table that it refers to."""
        return {column: KEYS[column] for column in self.columns if KEYS.get(column, self.name) != self.name}

    @property
    def is_partitioned(self) -> bool:
        """True if each month of the table has its own file."""
        return "month" in self.references

    def definition(self, scale: int, *, has_keys: bool) -> str:
        """Write the statement that creates the table, optionally with its keys."""
        parts = [f"{name} {dtype.replace('scale', str(scale))}" for name, dtype in self.columns.items()]
        if has_keys:
            parts.append(f"primary key ({', '.join(self.key)})")
            parts += [f"foreign key ({name}) references {other} ({name})" for name, other in self.references.items()]
        return f"create table {self.name} ({', '.join(parts)})"


STAR_SCHEMA = (
    StarTable(
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
            "counterparty_id": TEXT,
            "debit_credit": TEXT,
            "amount": AMOUNT,
            "signed_amount": AMOUNT,
            "description": TEXT,
            "journal_entry_description": TEXT,
            "related_line_entry_id": TEXT,
            "editable": FLAG,
        },
    ),
    StarTable(
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
            "counterparty_id": TEXT,
            "amount": AMOUNT,
            "journal_entry_description": TEXT,
        },
    ),
    StarTable(
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
            "counterparty_id": TEXT,
            "amount": AMOUNT,
            "journal_entry_description": TEXT,
        },
    ),
    StarTable(
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
    ),
    StarTable(
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
    ),
    StarTable(
        "bridge_line_entry_tag",
        "one tag of one line entry",
        ("line_entry_id", "tag_id"),
        {"line_entry_id": TEXT, "tag_id": TEXT, "month": TEXT},
    ),
    StarTable(
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
    ),
    StarTable(
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
    ),
    StarTable(
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
    ),
    StarTable(
        "dim_counterparty",
        "one counterparty of journal entries: who owes or is owed, else who was paid or pays; adjustments have none",
        ("counterparty_id",),
        {"counterparty_id": TEXT, "counterparty": TEXT},
    ),
    StarTable(
        "dim_transaction",
        "one transaction of a financial account",
        ("transaction_id",),
        {
            "transaction_id": TEXT,
            "transaction_date": DATE,
            "description": TEXT,
            "counterparty": TEXT,
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
    ),
    StarTable("dim_tag", "one tag", ("tag_id",), {"tag_id": TEXT, "tag_name": TEXT, "tag_group_id": TEXT}),
    StarTable(
        "dim_load",
        "one exported month: what was loaded, whether lines of the known ledgers are missing, and which ledgers are "
        "known",
        ("month",),
        {
            "month": TEXT,
            "start_date": DATE,
            "end_date": DATE,
            "time_zone": TEXT,
            "currency": TEXT,
            "scale": NUMBER,
            "line_entries": WHOLE,
            "read_at_utc": INSTANT,
            "is_partial": FLAG,
            "verdict": TEXT,
            "proven_at_utc": INSTANT,
            "known_ledgers": TEXT,
            "notes": TEXT,
            "package_version": TEXT,
        },
    ),
)
"""All tables: facts, the bridge, dimensions."""


VIEWS = {
    "line_entries": (
        "Line entries with the names of their ledgers and counterparties; one row is one line entry of the period.",
        """
        select line.*, ledger.path, ledger.type, ledger.statement, ledger.statement_section, party.counterparty
        from fact_line_entry as line
        inner join dim_ledger as ledger on ledger.ledger_id = line.ledger_id
        left join dim_counterparty as party on party.counterparty_id = line.counterparty_id
        """,
    ),
    "cash_flow": (
        "Cash flow with the names of categories, accounts and counterparties; one row is one category line.",
        """
        select flow.*, category.path as category, category.parent_name, category.type, account.cash_ledger_name,
            party.counterparty
        from fact_cash_flow_line as flow
        inner join dim_ledger as category on category.ledger_id = flow.ledger_id
        left join dim_cash_ledger as account on account.cash_ledger_id = flow.cash_ledger_id
        left join dim_counterparty as party on party.counterparty_id = flow.counterparty_id
        """,
    ),
}
"""Comment and query of each view. Each question without parameters is also a view."""
