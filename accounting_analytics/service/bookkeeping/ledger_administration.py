"""The ledgers of an instance for its operator: a list of them, and new names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import update

from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import InputError
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import quote
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.audit_rows import NewAuditRow, record
from accounting_analytics.service.storage.store import read_instance, read_ledgers
from accounting_analytics.service.wire.identifiers import check_text
from accounting_analytics.service.wire.stored_values import RENAME_LEDGER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.service.storage.store import Store
    from accounting_analytics.service.wire.stored_values import StoredLedger


@dataclass(frozen=True)
class ListedLedger:
    """A ledger as its operator sees it; the fields are those of the interface, and its path from the root."""

    name: str
    id: str
    path: str
    type: str
    sub_type: str
    debit_credit: str
    sort_code: str
    report_cash_flow: bool
    is_required: bool


def list_ledgers(store: Store, instance_id: str) -> list[ListedLedger]:
    """Ledgers of an instance by (sort_code, id)."""
    ledgers = store.ledgers(instance_id)
    names = _names(ledgers)
    return [
        ListedLedger(
            name=ledger.name,
            id=ledger.id,
            path=names.path(ledger.id),
            type=ledger.type,
            sub_type=ledger.sub_type,
            debit_credit=ledger.debit_credit,
            sort_code=ledger.sort_code,
            report_cash_flow=ledger.report_cash_flow,
            is_required=ledger.is_required,
        )
        for ledger in ledgers
    ]


def rename_ledger(
    store: Store, instance_id: str, ledger: str, name: str, *, modified_by: str | None = None
) -> StoredLedger:
    """Change the name of a ledger, with an audit row, and return the ledger as it was before.

    Parameters
    ----------
    store : Store
        The database.
    instance_id : str
        The books.
    ledger : str
        Id, unique name or path of the ledger; a required ledger may be renamed too.
    name : str
        The new name; other ledgers may have it.
    modified_by : str, optional
        User for the audit row.

    Raises
    ------
    InputError
        No ledger or more than one matches, or the name is empty; nothing was changed.
    """
    if not check_text(name, "the name of a ledger").strip():
        msg = "a ledger needs a name; nothing was changed"
        raise InputError(msg)
    with store.writing() as connection:
        instance = read_instance(connection, instance_id)
        found = _find(read_ledgers(connection, instance), ledger)
        if found.name == name:
            return found
        connection.execute(update(tables.ledgers).where(tables.ledgers.c.pk == found.pk).values(name=name))
        renamed = NewAuditRow(RENAME_LEDGER, {found.id: found.name}, {found.id: name}, modified_by=modified_by)
        record(connection, instance.pk, renamed)
    return found


def _find(ledgers: Sequence[StoredLedger], text: str) -> StoredLedger:
    names = _names(ledgers)
    if text not in names:
        suggestion = names.suggestion(text) or "give its id, unique name or path, as shown by: ledgers list"
        msg = f"no ledger of the instance matches {quote(text)}; {suggestion} (nothing was changed)"
        raise InputError(msg)
    ledger_id = names.find(text)
    return next(ledger for ledger in ledgers if ledger.id == ledger_id)


def _names(ledgers: Sequence[StoredLedger]) -> LedgerNames:
    parents = Hierarchy({ledger.id: ledger.parent_id for ledger in ledgers})
    return LedgerNames({ledger.id: ledger.name for ledger in ledgers}, parents)
