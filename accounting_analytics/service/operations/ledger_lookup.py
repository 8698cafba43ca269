"""Ledgers that a request names, found in its own instance only: any other id is 404."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from sqlalchemy import Connection, bindparam

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import SELECT_LEDGERS
from accounting_analytics.service.wire.identifiers import is_valid_id
from accounting_analytics.service.wire.response_models import NestedLedger
from accounting_analytics.service.wire.stored_values import StoredLedger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from msgspec import UnsetType

    from accounting_analytics.service.wire.stored_values import Instance

_BY_ID = SELECT_LEDGERS.where(tables.ledgers.c.id == bindparam("ledger"))


def not_found(resource: str) -> OperationRefusedError:
    """Return the 404 for a ledger, transaction or tag that does not exist in the instance."""
    msg = f"the {resource} does not exist in this instance"
    return OperationRefusedError(msg, status=404, error_code=f"{resource}_not_found")


def find_ledger(connection: Connection, instance: Instance, ledger_id: str) -> StoredLedger:
    """Ledger of the instance with this id; 404 if it does not exist."""
    parameters = {"instance": instance.pk, "ledger": ledger_id}
    row = connection.execute(_BY_ID, parameters).first() if is_valid_id(ledger_id) else None
    if row is None:
        resource = "ledger"
        raise not_found(resource)
    return StoredLedger.from_row(row)


def expand_parent(
    connection: Connection, instance: Instance, ledger: StoredLedger, paths: Iterable[str]
) -> NestedLedger | UnsetType | None:
    """Parent of a ledger, with as many ancestors as the longest expand path asks for.

    Parameters
    ----------
    paths : iterable of str
        Expand paths such as ``parent.parent``; each ``parent`` is one level.
    """
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
