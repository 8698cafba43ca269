"""Tables of the database.

Every row belongs to one instance, directly or through its parent row. ``pk`` columns are internal and never leave the
service; ``id`` columns are the identifiers of the interface, unique in their instance. Instants are stored as
microseconds since 1970; amounts are signed minor units (debit positive) of at most 18 digits.

Triggers of the database refuse to change or delete a row of the audit log.
"""

from __future__ import annotations

import datetime as dt
from itertools import starmap
from typing import TYPE_CHECKING

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Date,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    and_,
    event,
    false,
    func,
    or_,
    true,
)
from sqlalchemy.types import UserDefinedType

from accounting_analytics.journals.entries import LINE_TEXTS, MAX_DIGITS
from accounting_analytics.service.stored_values import SUMMED_APART

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

VERSION = 9
"""Version of the tables, which every database stores. Any change of the tables increases it."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


class Instant(UserDefinedType[dt.datetime]):
    """Column type of an aware instant, which is stored as microseconds since 1970 and read in UTC."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """Return the type of the column."""
        return "BIGINT"

    def bind_processor(self, dialect: Dialect) -> Callable[[dt.datetime | None], int | None]:  # noqa: ARG002 (of the base)
        """Return the function that stores a value."""
        return lambda value: None if value is None else microseconds(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[int | None], dt.datetime | None]:  # noqa: ARG002 (of the base)
        """Return the function that reads a value."""
        return lambda value: None if value is None else _EPOCH + value * _MICROSECOND


def microseconds(instant: dt.datetime) -> int:
    """Convert an aware instant to microseconds since 1970, as stored."""
    return (instant - _EPOCH) // _MICROSECOND


metadata = MetaData()

# SQLite makes a primary key the row id only if its type is exactly INTEGER.
_Key = BigInteger().with_variant(Integer, "sqlite")
# Text is ordered by code point, whatever the locale of the database.
_Text = String().with_variant(String(collation="C"), "postgresql")


def _instance() -> Column[int]:
    return Column("instance_pk", _Key, ForeignKey("instances.pk"), nullable=False)


settings = Table(
    "settings",
    metadata,
    Column("name", _Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)

instances = Table(
    "instances",
    metadata,
    Column("pk", _Key, primary_key=True),
    Column("id", _Text, nullable=False, unique=True),
    Column("name", _Text, nullable=False),
    Column("tier", Integer, nullable=False),
    Column("scale", Integer, nullable=False),
    Column("localtime", _Text),
    Column("company", _Text),
    Column("currency", _Text),
    Column("entries_start", Date),
    Column("created_at", Instant, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("key", _Text, primary_key=True),
    _instance(),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant),
)

ledgers = Table(
    "ledgers",
    metadata,
    Column("pk", _Key, primary_key=True),
    _instance(),
    Column("id", _Text, nullable=False),
    Column("name", _Text, nullable=False),
    Column("debit_credit", _Text, nullable=False),
    Column("editable", Boolean, nullable=False),
    Column("financial_account_type", _Text),
    Column("is_required", Boolean, nullable=False),
    Column("parent_pk", _Key),
    Column("report_cash_flow", Boolean, nullable=False),
    Column("sort_code", _Text, nullable=False),
    Column("sub_type", _Text, nullable=False),
    Column("type", _Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("instance_pk", "id"),
    UniqueConstraint("instance_pk", "pk"),
    ForeignKeyConstraint(["instance_pk", "parent_pk"], ["ledgers.instance_pk", "ledgers.pk"]),
)

journal_entries = Table(
    "journal_entries",
    metadata,
    Column("pk", _Key, primary_key=True),
    _instance(),
    Column("id", _Text, nullable=False),
    Column("datetime", Instant, nullable=False),
    Column("description", _Text, nullable=False),
    # The cash ledger that the entry moves, if any: derived from its lines and written with them.
    Column("cash_ledger_pk", _Key, ForeignKey("ledgers.pk")),
    UniqueConstraint("instance_pk", "id"),
)

line_entries = Table(
    "line_entries",
    metadata,
    Column("pk", _Key, primary_key=True),
    _instance(),
    Column("id", _Text, nullable=False),
    Column("journal_entry_pk", _Key, ForeignKey("journal_entries.pk"), nullable=False),
    Column("ledger_pk", _Key, nullable=False),
    Column("datetime", Instant, nullable=False),
    Column("debit_credit", _Text, nullable=False),
    Column("units", BigInteger, nullable=False),
    *(Column(name, _Text, nullable=False) for name in LINE_TEXTS),
    UniqueConstraint("instance_pk", "id"),
    ForeignKeyConstraint(["instance_pk", "ledger_pk"], ["ledgers.instance_pk", "ledgers.pk"]),
    CheckConstraint(
        "(debit_credit = 'debit' AND units >= 0) OR (debit_credit = 'credit' AND units <= 0)",
        name="sign_follows_side",
    ),
    CheckConstraint(f"abs(units) < {10**MAX_DIGITS}", name="units_are_bounded"),
)
# A covering index: it alone gives the pages and sums of a ledger, in the order of a page.
Index(
    "line_entries_of_ledger",
    line_entries.c.ledger_pk,
    line_entries.c.datetime,
    line_entries.c.id,
    line_entries.c.units,
    line_entries.c.journal_entry_pk,
)
Index("line_entries_of_journal_entry", line_entries.c.journal_entry_pk)
SUM_OF_UNITS = (func.sum(line_entries.c.units // SUMMED_APART), func.sum(line_entries.c.units % SUMMED_APART))
"""Columns of a query that :func:`~accounting_analytics.service.stored_values.join_sums` takes."""


def is_within(
    intervals: Iterable[tuple[dt.datetime | None, dt.datetime | None]], column: ColumnElement[dt.datetime]
) -> ColumnElement[bool]:
    """Return the condition that an instant is in an interval. Ends are exclusive, and None means no end."""

    def is_in(start: dt.datetime | None, end: dt.datetime | None) -> ColumnElement[bool]:
        after = true() if start is None else column >= start
        return after if end is None else and_(after, column < end)

    return or_(false(), *starmap(is_in, intervals))


transactions = Table(
    "transactions",
    metadata,
    Column("line_entry_pk", _Key, ForeignKey("line_entries.pk"), primary_key=True, autoincrement=False),
    _instance(),
    Column("id", _Text, nullable=False),
    Column("description", _Text, nullable=False),
    Column("personal", Boolean, nullable=False),
    Column("posted_status", _Text, nullable=False),
    Column("review_status", _Text, nullable=False),
    Column("source_account_id", _Text),
    Column("categorization_method", _Text, nullable=False),
    UniqueConstraint("instance_pk", "id"),
)

tag_groups = Table(
    "tag_groups",
    metadata,
    Column("pk", _Key, primary_key=True),
    _instance(),
    Column("id", _Text, nullable=False),
    Column("name", _Text, nullable=False),
    UniqueConstraint("instance_pk", "id"),
    UniqueConstraint("instance_pk", "name"),
)

tags = Table(
    "tags",
    metadata,
    Column("pk", _Key, primary_key=True),
    _instance(),
    Column("id", _Text, nullable=False),
    Column("tag_group_pk", _Key, ForeignKey("tag_groups.pk"), nullable=False),
    Column("name", _Text, nullable=False),
    UniqueConstraint("instance_pk", "id"),
    UniqueConstraint("tag_group_pk", "name"),
)

line_entry_tags = Table(
    "line_entry_tags",
    metadata,
    Column("line_entry_pk", _Key, ForeignKey("line_entries.pk"), primary_key=True, autoincrement=False),
    Column("tag_pk", _Key, ForeignKey("tags.pk"), primary_key=True, autoincrement=False),
)

audit = Table(
    "audit",
    metadata,
    Column("pk", _Key, primary_key=True),
    _instance(),
    Column("at", Instant, nullable=False),
    Column("modified_by", _Text),
    Column("operation", _Text, nullable=False),
    Column("transaction_id", _Text),
    Column("before", JSON, nullable=False),
    Column("after", JSON, nullable=False),
    Column("actor", _Text, nullable=False),
)
Index("audit_of_instance", audit.c.instance_pk)
_ONLY_ADDED = "rows of the audit log can only be added"
_REFUSE = f"BEGIN SELECT RAISE(ABORT, '{_ONLY_ADDED}'); END"
_RAISE = f"BEGIN RAISE integrity_constraint_violation USING MESSAGE = '{_ONLY_ADDED}'; END"
_TRIGGERS = [
    ("sqlite", f"CREATE TRIGGER audit_refuses_update BEFORE UPDATE ON audit {_REFUSE}"),
    ("sqlite", f"CREATE TRIGGER audit_refuses_delete BEFORE DELETE ON audit {_REFUSE}"),
    ("postgresql", f"CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ {_RAISE} $$"),
    (
        "postgresql",
        (
            "CREATE TRIGGER audit_refuses_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
            "EXECUTE FUNCTION refuse_change()"
        ),
    ),
]
for _dialect, _statement in _TRIGGERS:
    event.listen(audit, "after_create", DDL(_statement).execute_if(dialect=_dialect))  # type: ignore[no-untyped-call]
