"""Ledgers of an instance: creation with defaults and sort codes, listing, and renaming."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

from msgspec.structs import replace
from sqlalchemy import Connection, insert, update

from accounting_analytics.core.chart_of_accounts import (
    DEFAULTS,
    MAX_SORT_CODE_LENGTH,
    TYPE_OF_SUB_TYPE,
    FinancialAccountType,
    Hierarchy,
    LedgerType,
    SubType,
)
from accounting_analytics.core.errors import InputError, OperationRefusedError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import quote
from accounting_analytics.journals.accounts import FIRST_DIGIT, REQUIRED_ACCOUNTS, Account
from accounting_analytics.journals.entries import check_id, check_text
from accounting_analytics.service import tables
from accounting_analytics.service.audit_log import LOCAL, record
from accounting_analytics.service.database import Store, read_instance, read_ledgers
from accounting_analytics.service.interface import CreateLedgerBody
from accounting_analytics.service.stored_values import (
    CREATE_LEDGER,
    RENAME_LEDGER,
    Instance,
    StoredLedger,
    new_id,
    now,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class NewLedger(CreateLedgerBody, frozen=True, kw_only=True, gc=False):
    """A ledger to create, with its id if one is given."""

    editable: bool = True
    id: str | None = None

    @classmethod
    def of_account(cls, account: Account) -> Self:
        """Convert a plain account to a ledger."""
        fields = account._asdict()
        del fields["is_required"]
        return cls(**fields)


REQUIRED_LEDGERS = {
    role: replace(NewLedger.of_account(account), id=None) for role, account in REQUIRED_ACCOUNTS.items()
}
"""The four required ledgers of every instance."""

_WITHOUT_FINANCIAL_ACCOUNT = ("debit_credit", "report_cash_flow", "sort_code", "sub_type", "type")


def create_ledger(store: Store, instance_id: str, new: NewLedger) -> StoredLedger:
    """Create a ledger. Refuse incomplete or contradictory fields, and an unknown parent."""
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
    """Write new ledgers, parents first, and return all ledgers, with the new ledgers last."""
    ledgers = read_ledgers(connection, instance)
    existing = len(ledgers)
    ids = {ledger.id for ledger in ledgers}
    for new in new_ledgers:
        ledger_id = new_id("led") if new.id is None else check_id(new.id, "ledger")
        if ledger_id in ids:
            raise InputError(
                f"there is already a ledger {ledger_id!r} in instance {instance.id!r}; nothing was changed"
            )
        ids.add(ledger_id)
        parent_pk, fields = _complete_fields(new, ledgers)
        fields |= {"id": ledger_id, "is_required": is_required, "created_at": now()}
        row = fields | {"instance_pk": instance.pk, "parent_pk": parent_pk}
        pk = connection.execute(insert(tables.ledgers).returning(tables.ledgers.c.pk), row).scalar_one()
        ledgers.append(StoredLedger(pk=pk, parent_id=new.parent_id, **fields))
    if names := {ledger.id: ledger.name for ledger in ledgers[existing:]}:
        record(connection, instance, CREATE_LEDGER, {}, names, actor=actor)
    return ledgers


def _complete_fields(new: NewLedger, ledgers: Sequence[StoredLedger]) -> tuple[int | None, dict[str, Any]]:
    """Complete the fields of a new ledger, or refuse the ledger.

    Return the key of its parent, and all fields.
    """
    check_text(new.name, "the name of a ledger")
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


def _with_defaults(new: NewLedger) -> dict[str, Any]:
    given = {name: getattr(new, name) for name in ("debit_credit", "report_cash_flow", "sub_type", "type")}
    if new.financial_account_type is None:
        missing = [name for name in _WITHOUT_FINANCIAL_ACCOUNT if getattr(new, name) is None]
        if missing:
            verb = "are" if len(missing) > 1 else "is"
            message = f"{', '.join(missing)} {verb} required when financial_account_type is not given"
            _refuse(*missing, message=message, kind="missing")
    else:
        defaults = DEFAULTS[FinancialAccountType(new.financial_account_type)]._asdict()
        given = {name: defaults[name] if value is None else value for name, value in given.items()}
    return {name: value if isinstance(value, bool) else str(value) for name, value in given.items()}


def _find_parent(parent_id: str | None, ledger_type: str, ledgers: Sequence[StoredLedger]) -> StoredLedger | None:
    if parent_id is None:
        return None
    parent = next((ledger for ledger in ledgers if ledger.id == parent_id), None)
    if parent is None:
        raise OperationRefusedError(
            "the parent ledger does not exist in this instance", status=404, error_code="parent_not_found"
        )
    if parent.type != ledger_type:
        _refuse("parent_id", message=f"the parent is of type {parent.type}, not {ledger_type}")
    return parent


def _refuse(*fields: str, message: str, kind: str = "value_error") -> NoReturn:
    detail = [{"loc": ["body", field], "msg": message, "type": kind} for field in fields]
    raise OperationRefusedError(message, status=422, error_code="validation_error", detail=detail)


_STEP = 10
_WIDTH = 4
_NUMBER = re.compile(r"(?<=.)[0-9]+\Z", re.DOTALL)  # the first character stands for the type, and is never changed


def next_sort_code(siblings: Sequence[str], ledger_type: str, parent_code: str | None = None) -> str:
    """Return the next sort code among siblings, or the first code if there are none."""
    if siblings:
        return sort_code_after(max(siblings))
    if parent_code is None:
        return f"{FIRST_DIGIT[LedgerType(ledger_type)]}{_first_number(_WIDTH)}"
    code = f"{parent_code}{_STEP}"
    return code if len(code) <= MAX_SORT_CODE_LENGTH else sort_code_after(parent_code)


def sort_code_after(code: str) -> str:
    """Return a sort code that is greater than `code` as text.

    The number at the end is counted up to the next multiple of ten. When its n digits are used up, n more are appended,
    at least four, which gives 10**n more codes: from 10010, the code has 20 characters after 10**8. A code with 20
    characters and no number left is returned as it is.
    """
    number = _NUMBER.search(code)
    width = len(number[0]) if number else 0
    if number:
        counted = str((int(number[0]) // _STEP + 1) * _STEP).zfill(width)
        if len(counted) == width:
            return f"{code[: number.start()]}{counted}"
    return f"{code}{_first_number(max(_WIDTH, width))}"[:MAX_SORT_CODE_LENGTH]


def _first_number(width: int) -> str:
    return str(_STEP).zfill(width)


@dataclass(frozen=True)
class ListedLedger:
    """A ledger as the operator sees it: the fields of the interface, and its path."""

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
    """List the ledgers of an instance by (sort_code, id)."""
    ledgers = store.ledgers(instance_id)
    names = names_of_ledgers(ledgers)
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
    """Rename the ledger with an id, name or path, and return the ledger as it was before.

    A required ledger may also be renamed, and other ledgers may have the new name.
    """
    if not check_text(name, "the name of a ledger").strip():
        raise InputError("a ledger needs a name; nothing was changed")
    with store.writing() as connection:
        instance = read_instance(connection, instance_id)
        found = _find(read_ledgers(connection, instance), ledger)
        if found.name == name:
            return found
        connection.execute(update(tables.ledgers).where(tables.ledgers.c.pk == found.pk).values(name=name))
        record(connection, instance, RENAME_LEDGER, {found.id: found.name}, {found.id: name}, modified_by=modified_by)
    return found


def _find(ledgers: Sequence[StoredLedger], text: str) -> StoredLedger:
    names = names_of_ledgers(ledgers)
    if text not in names:
        suggestion = names.suggestion(text) or "give its id, unique name or path, as shown by: service ledgers list"
        raise InputError(f"no ledger of the instance matches {quote(text)}; {suggestion} (nothing was changed)")
    ledger_id = names.find(text)
    return next(ledger for ledger in ledgers if ledger.id == ledger_id)


def names_of_ledgers(ledgers: Sequence[StoredLedger]) -> LedgerNames:
    """Return the names and paths of ledgers of an instance."""
    parents = Hierarchy({ledger.id: ledger.parent_id for ledger in ledgers})
    return LedgerNames({ledger.id: ledger.name for ledger in ledgers}, parents)
