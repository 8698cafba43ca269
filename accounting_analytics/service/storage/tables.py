"""Tables of the database.

Every row belongs to one instance, directly or through its parent row. ``pk`` columns are internal and never leave the
service; ``id`` columns are the identifiers of the interface, unique in their instance. Instants are microseconds since
1970 in UTC; amounts are signed minor units, see :mod:`accounting_analytics.service.wire.stored_values`.

Rows of the audit log are numbered by instance, each with a digest of itself and of the row before it. Triggers of the
database refuse to change or delete a row; the digests show a row that was changed past them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Date,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    event,
    func,
    insert,
    select,
)

from accounting_analytics.service.wire.response_models import encode
from accounting_analytics.service.wire.stored_values import MAX_DIGITS, SUMMED_APART, now

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
    Column("localtime", _Text, nullable=False),
    Column("entries_start", Date),
    Column("created_at", BigInteger, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("key", _Text, primary_key=True),
    _instance(),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("label", String, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Column("revoked_at", BigInteger),
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
    Column("created_at", BigInteger, nullable=False),
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
    Column("datetime", BigInteger, nullable=False),
    Column("description", _Text, nullable=False),
    # The cash ledger that the entry moves, if any: derived from its lines and written with them.
    Column("cash_ledger_pk", _Key, ForeignKey("ledgers.pk")),
    UniqueConstraint("instance_pk", "id"),
)

LINE_TEXTS = ("description",)
"""Text columns of a line that are posted, stored and returned unchanged.

Each is also a field of :class:`~..post_entries.NewLine` and of :class:`~..response_models.LineEntry`, with the same
name.
"""

line_entries = Table(
    "line_entries",
    metadata,
    Column("pk", _Key, primary_key=True),
    _instance(),
    Column("id", _Text, nullable=False),
    Column("journal_entry_pk", _Key, ForeignKey("journal_entries.pk"), nullable=False),
    Column("ledger_pk", _Key, nullable=False),
    Column("datetime", BigInteger, nullable=False),
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
# A covering index: pages and sums of a ledger are read from it alone, in the order of a page.
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
"""Columns of a query for :func:`~accounting_analytics.service.wire.stored_values.join_sums`."""

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
    Column("at", BigInteger, nullable=False),
    Column("modified_by", _Text),
    Column("operation", _Text, nullable=False),
    Column("transaction_id", _Text, nullable=False),
    Column("before", _Text, nullable=False),
    Column("after", _Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("actor", _Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    UniqueConstraint("instance_pk", "number"),
)
Index("audit_of_transaction", audit.c.instance_pk, audit.c.transaction_id)
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


LOCAL = "local"
"""Actor of a change that a program made in the database itself, without an access token."""

_AUDIT = audit.c
_IN_DIGEST = ("number", "at", "actor", "modified_by", "operation", "transaction_id", "before", "after")


class NewAuditRow(NamedTuple):
    """A change to be recorded: what was there before and after it, and who made it.

    The actor is the key of an access token or :data:`LOCAL`; the user is as the client states it.
    """

    operation: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    actor: str = LOCAL
    transaction_id: str = ""
    modified_by: str | None = None


def record(connection: Connection, instance_pk: int, new: NewAuditRow) -> None:
    """Write the next row of an audit log; its time is never before that of the row above."""
    rows = select(_AUDIT.number, _AUDIT.at, _AUDIT.digest).where(_AUDIT.instance_pk == instance_pk)
    last = connection.execute(rows.order_by(_AUDIT.number.desc()).limit(1)).one_or_none()
    number, at, previous = last or (0, 0, b"")
    row = {
        **new._asdict(),
        "before": encode(new.before).decode(),
        "after": encode(new.after).decode(),
        "instance_pk": instance_pk,
        "number": number + 1,
        "at": max(at, now()),
    }
    connection.execute(insert(audit), row | {"digest": _digest(previous, row)})


def find_changed_rows(connection: Connection, instance_pk: int) -> Iterator[str]:
    """Rows whose number or digest does not follow from themselves and the row above."""
    number, previous = 0, b""
    rows = connection.execute(select(audit).where(_AUDIT.instance_pk == instance_pk).order_by(_AUDIT.number))
    for row in rows.mappings():
        if row["number"] != number + 1 or bytes(row["digest"]) != _digest(previous, dict(row)):
            yield f"audit row {row['number']}"
        number, previous = row["number"], row["digest"]


def _digest(previous: bytes, row: Mapping[str, Any]) -> bytes:
    """SHA-256 of the digest of the row above and of the text of a row."""
    return sha256(bytes(previous) + encode([row[name] for name in _IN_DIGEST])).digest()
