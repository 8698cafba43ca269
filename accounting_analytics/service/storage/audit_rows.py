"""Rows of the audit log: numbered by instance, each with a digest of itself and of the row before it.

Triggers of the database refuse to change or delete a row; the digests show a row that was changed past them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, insert, select

from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.response_models import encode
from accounting_analytics.service.wire.stored_values import now

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOCAL = "local"
"""Actor of a change that a program made in the database itself, without an access token."""

_AUDIT = tables.audit.c
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
    connection.execute(insert(tables.audit), row | {"digest": _digest(previous, row)})


def find_changed_rows(connection: Connection, instance_pk: int) -> Iterator[str]:
    """Rows whose number or digest does not follow from themselves and the row above."""
    number, previous = 0, b""
    rows = connection.execute(select(tables.audit).where(_AUDIT.instance_pk == instance_pk).order_by(_AUDIT.number))
    for row in rows.mappings():
        if row["number"] != number + 1 or bytes(row["digest"]) != _digest(previous, dict(row)):
            yield f"audit row {row['number']}"
        number, previous = row["number"], row["digest"]


def _digest(previous: bytes, row: Mapping[str, Any]) -> bytes:
    """SHA-256 of the digest of the row above and of the text of a row."""
    return sha256(bytes(previous) + encode([row[name] for name in _IN_DIGEST])).digest()
