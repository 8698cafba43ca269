"""Rows of the audit log: numbered by instance, each with a digest of itself and of the row before it.

The last number of an instance is kept in another table, so that missing rows are found wherever they were. The row of
posted entries has the digests of those entries, so that a later change of an entry in the tables is found too.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, case, insert, select, update

from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.response_models import encode
from accounting_analytics.service.wire.stored_values import RECATEGORIZE_TRANSACTION, now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LOCAL = "local"
"""Actor of a change that a program made in the database itself, without an access token."""

_AUDIT = tables.audit.c
_HEADS = tables.audit_heads.c
_LAST_DIGEST = (
    select(_AUDIT.digest)
    .where(_AUDIT.instance_pk == bindparam("instance"))
    .order_by(_AUDIT.number.desc())
    .limit(1)
    .scalar_subquery()
)
# one statement, because writers of PostgreSQL wait for each other while it is sent
_NEXT = (
    update(tables.audit_heads)
    .where(_HEADS.instance_pk == bindparam("instance"))
    .values(number=_HEADS.number + 1, at=case((_HEADS.at > bindparam("now"), _HEADS.at), else_=bindparam("now")))
    .returning(_HEADS.number, _HEADS.at, _LAST_DIGEST)
)
_INSERT = insert(tables.audit)
_BATCH_ENTRIES = 5000
_ENTRIES = tables.journal_entries.c
_LINES = tables.line_entries.c
# entries and lines are found by their keys: those of other instances may lie between them
_KEYS_OF_ENTRIES = select(_ENTRIES.pk).where(_ENTRIES.instance_pk == bindparam("instance"))
_SOME_ENTRIES = (
    select(_ENTRIES.pk, _ENTRIES.id, _ENTRIES.datetime, _ENTRIES.description, _ENTRIES.digest)
    .where(_ENTRIES.pk.in_(bindparam("keys", expanding=True)))
    .order_by(_ENTRIES.pk)
)
_TEXTS = [_LINES[name] for name in tables.LINE_TEXTS]
_POSTED_FIELDS = ("id", "description", "personal", "posted_status", "review_status", "source_account_id")
_OF_TRANSACTION = [tables.transactions.c[name] for name in _POSTED_FIELDS]
NO_TRANSACTION = (None,) * len(_POSTED_FIELDS)
"""What a line without a transaction has in the digest of its entry instead of the fields of one."""
_LINES_OF_ENTRIES = (
    select(_LINES.journal_entry_pk, _LINES.id, _LINES.ledger_pk, _LINES.high, _LINES.low, *_TEXTS, *_OF_TRANSACTION)
    .join_from(tables.line_entries, tables.transactions, isouter=True)
    .where(_LINES.journal_entry_pk.in_(bindparam("keys", expanding=True)))
    .order_by(_LINES.journal_entry_pk, _LINES.pk)
)
_PROVEN = ("number", "at", "actor", "modified_by", "operation", "transaction_id", "before", "after")


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


class Posted(NamedTuple):
    """What the row of posted entries says of them: how many, the range of their keys, and the sum of their digests."""

    entries: int
    first_key: int
    last_key: int
    digest: int

    @classmethod
    def from_after(cls, after: Mapping[str, str]) -> Posted | None:
        """Read what :meth:`to_after` wrote; None in a row without posted entries."""
        return cls(*(int(after[name]) for name in cls._fields)) if "first_key" in after else None

    def to_after(self) -> dict[str, str]:
        """Texts for the row."""
        return {name: str(value) for name, value in self._asdict().items()}


class PostedEntry(NamedTuple):
    """An entry in the tables: the digest that was stored when it was posted, and the one of what is there now."""

    key: int
    id: str
    stored: int | None
    digest: int


def begin_audit(connection: Connection, instance_pk: int) -> None:
    """Begin the audit log of a new instance."""
    connection.execute(insert(tables.audit_heads), {"instance_pk": instance_pk, "number": 0, "at": 0})


def record(connection: Connection, instance_pk: int, new: NewAuditRow) -> None:
    """Write the next row of an audit log; its time is never before that of the row above."""
    number, at, previous = connection.execute(_NEXT, {"instance": instance_pk, "now": now()}).one()
    row = {
        **new._asdict(),
        "before": encode(new.before).decode(),
        "after": encode(new.after).decode(),
        "instance_pk": instance_pk,
        "number": number,
        "at": at,
    }
    connection.execute(_INSERT, row | {"digest": row_digest(bytes(previous or b""), row)})


def row_digest(previous: bytes, row: Mapping[str, Any]) -> bytes:
    """Digest of a row, and of the digest of the row before it."""
    return sha256(previous + encode([row[name] for name in _PROVEN])).digest()


def entry_digest(entry_id: str, moment: int, description: str, lines: Iterable[Sequence[Any]]) -> int:
    """Digest of a posted entry, in 64 bits.

    Each line, in the order they were posted, has its id, the key of its ledger, both parts of its amount, its texts,
    and the fields of its transaction or :data:`NO_TRANSACTION`.
    """
    content = encode((entry_id, moment, description, *lines))
    return int.from_bytes(blake2b(content, digest_size=8).digest(), signed=True)


def sum_digests(digests: Iterable[int]) -> int:
    """Sum of the digests of entries, in 64 bits."""
    return sum(digests) % (1 << 64)


def read_posted(connection: Connection, instance_pk: int) -> Iterator[list[PostedEntry]]:
    """Entries of an instance as they were posted, in batches: each line on the ledger that it was on at first."""
    ledger_keys = _first_ledgers(connection, instance_pk)
    keys = sorted(connection.execute(_KEYS_OF_ENTRIES, {"instance": instance_pk}).scalars())
    for start in range(0, len(keys), _BATCH_ENTRIES):
        batch = {"keys": keys[start : start + _BATCH_ENTRIES]}
        entries = connection.execute(_SOME_ENTRIES, batch).all()
        lines: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for entry_key, line_id, ledger_key, *others in connection.execute(_LINES_OF_ENTRIES, batch):
            lines[entry_key].append((line_id, ledger_keys.get(line_id, ledger_key), *others))
        yield [
            PostedEntry(key, entry_id, stored, entry_digest(entry_id, moment, description, lines[key]))
            for key, entry_id, moment, description, stored in entries
        ]


def _first_ledgers(connection: Connection, instance_pk: int) -> dict[str, int]:
    """Key of the first ledger of every line that was moved, by the id of the line."""
    ledgers = tables.ledgers.c
    query = select(ledgers.id, ledgers.pk).where(ledgers.instance_pk == instance_pk)
    keys = {row.id: row.pk for row in connection.execute(query)}
    moved = select(_AUDIT.before).where(_AUDIT.instance_pk == instance_pk, _AUDIT.operation == RECATEGORIZE_TRANSACTION)
    first: dict[str, int] = {}
    for before in connection.execute(moved.order_by(_AUDIT.pk)).scalars():
        for line_id, ledger_id in decode_texts(before).items():
            first.setdefault(line_id, keys.get(ledger_id, 0))
    return first


def decode_texts(stored: str) -> dict[str, str]:
    """Read what was before or after a change."""
    return msgspec.json.decode(stored, type=dict[str, str])
