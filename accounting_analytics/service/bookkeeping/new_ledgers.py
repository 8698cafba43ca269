"""Create ledgers: defaults of their fields, checks, and a sort code after their siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
from sqlalchemy import Connection, insert

from accounting_analytics.chart_of_accounts import (
    DEFAULTS,
    MAX_SORT_CODE_LENGTH,
    TYPE_OF_SUB_TYPE,
    DebitCredit,
    FinancialAccountType,
    LedgerType,
    RequiredLedger,
    SubType,
)
from accounting_analytics.errors import InputError, OperationRefusedError
from accounting_analytics.service.bookkeeping.sort_codes import next_sort_code
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.audit_rows import LOCAL, NewAuditRow, record
from accounting_analytics.service.storage.store import read_instance, read_ledgers
from accounting_analytics.service.wire.identifiers import check_id, check_text, new_id
from accounting_analytics.service.wire.stored_values import CREATE_LEDGER, StoredLedger, instant, now

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from enum import StrEnum

    from accounting_analytics.service.storage.store import Store
    from accounting_analytics.service.wire.stored_values import Instance


class NewLedger(msgspec.Struct, frozen=True, gc=False):
    """A ledger to create.

    Parameters
    ----------
    name : str
        Free-form name.
    editable : bool
        Whether line entries may be added or removed by hand.
    debit_credit, type, sub_type, report_cash_flow, sort_code
        As in the interface; each has a default if `financial_account_type` is given.
    financial_account_type : str, optional
        Marks a ledger that represents a real-world financial account.
    parent_id : str, optional
        Parent ledger, of the same type.
    id : str, optional
        Identifier to use.
    """

    name: str
    editable: bool = True
    debit_credit: str | None = None
    type: str | None = None
    sub_type: str | None = None
    financial_account_type: str | None = None
    report_cash_flow: bool | None = None
    parent_id: str | None = None
    sort_code: str | None = None
    id: str | None = None


REQUIRED_LEDGERS = {
    RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS: NewLedger(
        "Transfers Between Accounts",
        debit_credit=DebitCredit.DEBIT,
        type=LedgerType.ASSET,
        sub_type=SubType.TRANSFERS_BETWEEN_ACCOUNTS,
        report_cash_flow=False,
        sort_code="10001",
    ),
    RequiredLedger.UNCATEGORIZED_INFLOW: NewLedger(
        "Uncategorized Cash Inflow",
        debit_credit=DebitCredit.CREDIT,
        type=LedgerType.ASSET,
        sub_type=SubType.UNCATEGORIZED_ASSETS,
        report_cash_flow=False,
        sort_code="10002",
    ),
    RequiredLedger.UNCATEGORIZED_OUTFLOW: NewLedger(
        "Uncategorized Cash Outflow",
        debit_credit=DebitCredit.DEBIT,
        type=LedgerType.ASSET,
        sub_type=SubType.UNCATEGORIZED_ASSETS,
        report_cash_flow=False,
        sort_code="10003",
    ),
    RequiredLedger.OPENING_BALANCE: NewLedger(
        "Opening Balance Retained Earnings",
        debit_credit=DebitCredit.CREDIT,
        type=LedgerType.EQUITY,
        sub_type=SubType.EQUITY,
        report_cash_flow=False,
        sort_code="30001",
    ),
}
"""The four ledgers of every instance."""

_WITHOUT_FINANCIAL_ACCOUNT = ("debit_credit", "report_cash_flow", "sort_code", "sub_type", "type")
_VOCABULARIES: dict[str, type[StrEnum]] = {
    "debit_credit": DebitCredit,
    "type": LedgerType,
    "sub_type": SubType,
    "financial_account_type": FinancialAccountType,
}


def create_ledger(store: Store, instance_id: str, new: NewLedger) -> StoredLedger:
    """Create a ledger.

    Raises
    ------
    OperationRefusedError
        The fields are incomplete or do not agree, or the parent does not exist; nothing was changed.
    """
    with store.writing() as connection:
        return add_ledgers(connection, read_instance(connection, instance_id), [new])[-1]


def add_ledgers(
    connection: Connection,
    instance: Instance,
    new_ledgers: Iterable[NewLedger],
    *,
    is_required: bool = False,
    actor: str = LOCAL,
) -> list[StoredLedger]:
    """Write new ledgers in the transaction of `connection`, parents before their children, with one audit row.

    Returns
    -------
    list of StoredLedger
        All ledgers of the instance, the new ones last.
    """
    ledgers = read_ledgers(connection, instance)
    existing = len(ledgers)
    ids = {ledger.id for ledger in ledgers}
    for new in new_ledgers:
        ledger_id = new_id("led") if new.id is None else check_id(new.id, "ledger")
        if ledger_id in ids:
            msg = f"there is already a ledger {ledger_id!r} in instance {instance.id!r}; nothing was changed"
            raise InputError(msg)
        ids.add(ledger_id)
        parent_pk, fields = complete_fields(new, ledgers)
        created = now()
        fields |= {"id": ledger_id, "is_required": is_required, "created_at": created}
        row = fields | {"instance_pk": instance.pk, "parent_pk": parent_pk}
        pk = connection.execute(insert(tables.ledgers).returning(tables.ledgers.c.pk), row).scalar_one()
        ledgers.append(StoredLedger(pk=pk, parent_id=new.parent_id, **fields | {"created_at": instant(created)}))
    if names := {ledger.id: ledger.name for ledger in ledgers[existing:]}:
        record(connection, instance.pk, NewAuditRow(CREATE_LEDGER, {}, names, actor))
    return ledgers


def complete_fields(new: NewLedger, ledgers: Sequence[StoredLedger]) -> tuple[int | None, dict[str, Any]]:
    """Key of the parent and the fields of a new ledger with their defaults, checked against the instance's `ledgers`.

    Raises
    ------
    OperationRefusedError
        404 for an unknown parent; 422 for fields that are missing, unknown or do not agree.
    """
    _check_vocabularies(new)
    fields = _with_defaults(new)
    ledger_type = str(fields["type"])
    if TYPE_OF_SUB_TYPE[SubType(fields["sub_type"])] != ledger_type:
        default = f" (the default of {new.financial_account_type})"
        _refuse(
            "sub_type",
            message=f"sub_type {fields['sub_type']}{'' if new.sub_type else default} does not belong to type "
            f"{ledger_type}{'' if new.type else default}",
        )
    parent = _find_parent(new.parent_id, ledger_type, ledgers)
    code = new.sort_code
    if code is None:
        siblings = [other for other in ledgers if other.type == ledger_type and other.parent_id == new.parent_id]
        parent_code = parent.sort_code if parent else None
        code = next_sort_code([other.sort_code for other in siblings], ledger_type, parent_code)
    return parent.pk if parent else None, fields | {
        "name": new.name,
        "editable": new.editable,
        "financial_account_type": str(new.financial_account_type) if new.financial_account_type else None,
        "sort_code": code,
    }


def _check_vocabularies(new: NewLedger) -> None:
    if not isinstance(new.name, str) or not new.name:
        _refuse("name", message="a ledger needs a name")
    check_text(new.name, "the name of a ledger")
    check_text(new.sort_code or "", "sort_code")
    for field, vocabulary in _VOCABULARIES.items():
        value = getattr(new, field)
        if value is not None and value not in set(vocabulary):
            _refuse(field, message=f"{field} {value!r} is not one of: {', '.join(vocabulary)}")
    if new.sort_code is not None and not 0 < len(new.sort_code) <= MAX_SORT_CODE_LENGTH:
        _refuse("sort_code", message=f"sort_code has 1 to {MAX_SORT_CODE_LENGTH} characters")


def _with_defaults(new: NewLedger) -> dict[str, Any]:
    given = {name: getattr(new, name) for name in ("debit_credit", "report_cash_flow", "sub_type", "type")}
    if new.financial_account_type is None:
        missing = [name for name in _WITHOUT_FINANCIAL_ACCOUNT if getattr(new, name) is None]
        if missing:
            verb = "are" if len(missing) > 1 else "is"
            message = f"{', '.join(missing)} {verb} required when financial_account_type is not given"
            _refuse(*missing, message=message, kind="missing")
        return {name: _plain(value) for name, value in given.items()}
    defaults = DEFAULTS[FinancialAccountType(new.financial_account_type)]._asdict()
    return {name: _plain(defaults[name] if value is None else value) for name, value in given.items()}


def _plain(value: str | bool) -> str | bool:  # noqa: FBT001 (either kind of field)
    return value if isinstance(value, bool) else str(value)


def _find_parent(parent_id: str | None, ledger_type: str, ledgers: Sequence[StoredLedger]) -> StoredLedger | None:
    if parent_id is None:
        return None
    parent = next((ledger for ledger in ledgers if ledger.id == parent_id), None)
    if parent is None:
        msg = "the parent ledger does not exist in this instance"
        raise OperationRefusedError(msg, status=404, error_code="parent_not_found")
    if parent.type != ledger_type:
        _refuse("parent_id", message=f"the parent is of type {parent.type}, not {ledger_type}")
    return parent


def _refuse(*fields: str, message: str, kind: str = "value_error") -> NoReturn:
    detail = [{"loc": ["body", field], "msg": message, "type": kind} for field in fields]
    raise OperationRefusedError(message, status=422, error_code="validation_error", detail=detail)
