"""Ledgers, tags and days that a request names, found in its own instance only: any other id is 404."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from msgspec import UNSET, UnsetType
from sqlalchemy import ColumnElement, Connection, bindparam, func, select

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.periods import LOCALTIME, Period
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import SELECT_LEDGERS
from accounting_analytics.service.wire.requests import PeriodQuery, refuse_value
from accounting_analytics.service.wire.response_models import NestedLedger
from accounting_analytics.service.wire.stored_values import Instance, StoredLedger, is_valid_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def requested_period(instance: Instance, query: PeriodQuery) -> Period:
    """Days of a request; 422 if they are not in order, or the books begin later."""
    if query.end_date < query.start_date:
        refuse_value(["query", "end_date"], "end_date is before start_date")
    if instance.entries_start is not None and query.start_date < instance.entries_start:
        message = f"the books of this instance begin on {instance.entries_start}; start_date must not be earlier"
        refuse_value(["query", "start_date"], message, "before_entries_start")
    zone = instance.localtime if query.time_zone == LOCALTIME else query.time_zone
    return Period(query.start_date, query.end_date, zone)


def has_all_tags(connection: Connection, instance: Instance, tag_ids: Sequence[str]) -> list[ColumnElement[bool]]:
    """Conditions that a line entry has every tag: one condition for any number of tags; 404 for an unknown tag."""
    if not tag_ids:
        return []
    line_tags = tables.line_entry_tags.c
    keys = _tag_keys(connection, instance, tag_ids)
    count = select(func.count()).where(line_tags.line_entry_pk == tables.line_entries.c.pk, line_tags.tag_pk.in_(keys))
    return [count.scalar_subquery() == len(keys)]


def _tag_keys(connection: Connection, instance: Instance, tag_ids: Sequence[str]) -> list[int]:
    tags = tables.tags.c
    valid_ids = {tag_id for tag_id in tag_ids if is_valid_id(tag_id)}
    keys = connection.execute(select(tags.pk).where(tags.instance_pk == instance.pk, tags.id.in_(valid_ids))).scalars()
    found = list(keys)
    if len(found) < len(set(tag_ids)):
        refuse_unknown("tag")
    return found


_BY_ID = SELECT_LEDGERS.where(tables.ledgers.c.id == bindparam("ledger"))


def refuse_unknown(resource: str) -> NoReturn:
    """Refuse a ledger, transaction or tag that does not exist in the instance with 404."""
    raise OperationRefusedError(
        f"the {resource} does not exist in this instance", status=404, error_code=f"{resource}_not_found"
    )


def find_ledger(connection: Connection, instance: Instance, ledger_id: str) -> StoredLedger:
    """Ledger of the instance with this id; 404 if it does not exist."""
    parameters = {"instance": instance.pk, "ledger": ledger_id}
    row = connection.execute(_BY_ID, parameters).first() if is_valid_id(ledger_id) else None
    if row is None:
        refuse_unknown("ledger")
    return StoredLedger.from_row(row)


def expand_parent(
    connection: Connection, instance: Instance, ledger: StoredLedger, paths: Iterable[str]
) -> NestedLedger | UnsetType | None:
    """Parent of a ledger, with as many ancestors as the longest of the expand paths, such as ``parent.parent``."""
    levels = max((path.count("parent") for path in paths), default=0)
    return _parent(connection, instance, ledger, levels)


def _parent(
    connection: Connection, instance: Instance, ledger: StoredLedger, levels: int
) -> NestedLedger | UnsetType | None:
    if not levels:
        return UNSET
    if ledger.parent_id is None:
        return None
    parent = find_ledger(connection, instance, ledger.parent_id)
    return NestedLedger.from_stored(parent, _parent(connection, instance, parent, levels - 1))
