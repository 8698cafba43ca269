"""Finding what a request names, in its own instance only: anything else is 404."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, bindparam, func, select

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.periods import LOCALTIME
from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.identifiers import is_usable
from accounting_analytics.service.wire.rendering import nested_ledger_fields
from accounting_analytics.service.wire.stored_records import StoredLedger

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence
    from typing import Any

    from accounting_analytics.service.wire.stored_records import Instance

_LEDGER = [column for column in tables.ledgers.c if column.name not in {"instance_pk", "parent_pk"}]
_PARENTS = tables.ledgers.alias()
_OF_ID = (
    select(*_LEDGER, _PARENTS.c.id.label("parent_id"))
    .join_from(tables.ledgers, _PARENTS, tables.ledgers.c.parent_pk == _PARENTS.c.pk, isouter=True)
    .where(tables.ledgers.c.instance_pk == bindparam("instance"), tables.ledgers.c.id == bindparam("ledger"))
)


def not_found(what: str, error_code: str) -> OperationRefusedError:
    """Return the 404 for something that does not exist in the instance."""
    msg = f"the {what} does not exist in this instance"
    return OperationRefusedError(msg, status=404, error_code=error_code)


def find_ledger(connection: Connection, instance: Instance, ledger_id: str) -> StoredLedger | None:
    """Ledger of the instance with this id, if there is one."""
    if not is_usable(ledger_id):
        return None
    row = connection.execute(_OF_ID, {"instance": instance.pk, "ledger": ledger_id}).mappings().first()
    return StoredLedger.from_row(dict(row)) if row else None


def ledger_or_404(connection: Connection, instance: Instance, ledger_id: str) -> StoredLedger:
    """Ledger of the instance with this id."""
    ledger = find_ledger(connection, instance, ledger_id)
    if ledger is None:
        what, code = "ledger", "ledger_not_found"
        raise not_found(what, code)
    return ledger


def parent_fields(connection: Connection, instance: Instance, ledger: StoredLedger, levels: int) -> dict[str, Any]:
    """``parent`` of a ledger, nested as many levels deep as asked; null above a root, empty for no levels."""
    if not levels:
        return {}
    if ledger.parent_id is None:
        return {"parent": None}
    parent = ledger_or_404(connection, instance, ledger.parent_id)
    return {"parent": nested_ledger_fields(parent) | parent_fields(connection, instance, parent, levels - 1)}


def carries_all(connection: Connection, instance: Instance, tag_ids: Sequence[str]) -> list[ColumnElement[bool]]:
    """Conditions that a line entry carries every one of the tags: one condition, however many there are."""
    if not tag_ids:
        return []
    carried = tables.line_entry_tags.c
    keys = _tag_keys(connection, instance, tag_ids)
    counted = select(func.count()).where(carried.line_entry_pk == tables.line_entries.c.pk, carried.tag_pk.in_(keys))
    return [counted.scalar_subquery() == len(keys)]


def refuse_before_start(instance: Instance, start_date: dt.date) -> None:
    """Refuse a period that begins before the books of the instance do."""
    if instance.entries_start is not None and start_date < instance.entries_start:
        msg = f"the books of this instance begin on {instance.entries_start}; ask from then on"
        detail = [{"loc": ["query", "start_date"], "msg": msg, "type": "before_entries_start"}]
        raise OperationRefusedError(msg, status=422, error_code="validation_error", detail=detail)


def zone_name(instance: Instance, time_zone: str) -> str:
    """IANA name of a requested time zone."""
    return instance.localtime if time_zone == LOCALTIME else time_zone


def _tag_keys(connection: Connection, instance: Instance, tag_ids: Sequence[str]) -> list[int]:
    tags = tables.tags.c
    wanted = {tag_id for tag_id in tag_ids if is_usable(tag_id)}
    keys = connection.execute(select(tags.pk).where(tags.instance_pk == instance.pk, tags.id.in_(wanted))).scalars()
    found = list(keys)
    if len(found) < len(set(tag_ids)):
        what, code = "tag", "tag_not_found"
        raise not_found(what, code)
    return found
