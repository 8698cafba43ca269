"""Moving a transaction to another category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from sqlalchemy import Connection, insert, select, update

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.operations.requested_records import ledger_or_404, not_found
from accounting_analytics.service.operations.transaction_columns import COLUMNS, TransactionLine, transaction_fields
from accounting_analytics.service.storage import tables
from accounting_analytics.service.wire.identifiers import is_usable
from accounting_analytics.service.wire.rendering import encode, nested_ledger_fields
from accounting_analytics.service.wire.stored_records import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.service.wire.requests import RecategorizeTransactionBody
    from accounting_analytics.service.wire.stored_records import AnyRow, Instance, StoredLedger

BY_USER = "user"
"""Categorization method of a transaction whose categories somebody chose."""

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_TRANSACTIONS = tables.transactions.c


def recategorize_transaction(
    connection: Connection,
    instance: Instance,
    ledger_id: str,
    transaction_id: str,
    body: RecategorizeTransactionBody,
    *,
    modified_by: str | None,
) -> bytes:
    """Move opposing lines of a transaction's entry to another ledger; return both as JSON.

    A line that carries a transaction, or lies on a ledger that reports cash flow, is the side of an account and never
    a category that can be moved or moved onto: recategorizing changes no balance of such a ledger. Nothing is written
    where nothing changes.

    Parameters
    ----------
    connection : Connection
        In a database transaction that writes.
    instance : Instance
        Whose books.
    ledger_id, transaction_id : str
        The transaction and the ledger of its financial account.
    body : RecategorizeTransactionBody
        The new category, and which one it replaces (all of them when left out).
    modified_by : str or None
        Who, for the audit row.
    """
    ledger = ledger_or_404(connection, instance, ledger_id)
    own = _own_line(connection, instance, ledger, transaction_id)
    lines = _lines(connection, own.journal_entry_pk)
    chosen = _chosen(_opposing(lines, own), body.category_ledger_id)
    target = _target(connection, instance, body.updated_category_ledger_id, lines)
    moving = [line for line in chosen if line.ledger_pk != target.pk]
    if moving:
        _move(connection, own, moving, target)
        connection.execute(insert(tables.audit), _audit_row(instance, own, moving, target, modified_by))
    return _answer(connection, instance, ledger, transaction_id)


def _answer(connection: Connection, instance: Instance, ledger: StoredLedger, transaction_id: str) -> bytes:
    """Transaction with its categories as they now are, as JSON."""
    own = _own_line(connection, instance, ledger, transaction_id)
    opposing = _opposing(_lines(connection, own.journal_entry_pk), own)
    more = {
        "opposing_line_entry_ids": [line.id for line in opposing],
        "categorization_method": own.categorization_method,
    }
    return encode(
        {
            "transaction": transaction_fields(own, ledger.id, instance.scale) | more,
            "categories": _categories(opposing),
            "ledger": nested_ledger_fields(ledger),
            "journal_entry_id": own.journal_entry_id,
        }
    )


def _own_line(connection: Connection, instance: Instance, ledger: StoredLedger, transaction_id: str) -> TransactionLine:
    of_id = (
        select(*COLUMNS)
        .join_from(tables.transactions, tables.line_entries, _LINES.pk == _TRANSACTIONS.line_entry_pk)
        .join(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .where(
            _TRANSACTIONS.instance_pk == instance.pk,
            _TRANSACTIONS.id == transaction_id,
            _LINES.ledger_pk == ledger.pk,
        )
    )
    row = connection.execute(of_id).first() if is_usable(transaction_id) else None
    if row is None:
        what, code = "transaction", "transaction_not_found"
        raise not_found(what, code)
    return TransactionLine._make(row)


def _opposing(lines: Sequence[AnyRow], own: TransactionLine) -> list[AnyRow]:
    return [line for line in lines if line.debit_credit != own.debit_credit]


def _lines(connection: Connection, entry_key: int) -> Sequence[AnyRow]:
    """All lines of an entry, in the order they were posted."""
    return connection.execute(
        select(
            _LINES.pk,
            _LINES.id,
            _LINES.debit_credit,
            _LINES.high,
            _LINES.low,
            _LINES.ledger_pk,
            tables.ledgers.c.id.label("ledger_id"),
            tables.ledgers.c.name.label("ledger_name"),
            tables.ledgers.c.report_cash_flow,
            _TRANSACTIONS.id.label("transaction_id"),
        )
        .join_from(tables.line_entries, tables.ledgers, tables.ledgers.c.pk == _LINES.ledger_pk)
        .outerjoin(tables.transactions, _TRANSACTIONS.line_entry_pk == _LINES.pk)
        .where(_LINES.journal_entry_pk == entry_key)
        .order_by(_LINES.pk)
    ).all()


def _chosen(opposing: list[AnyRow], category_ledger_id: str | None) -> list[AnyRow]:
    """Opposing lines to move."""
    chosen = [line for line in opposing if category_ledger_id in (None, line.ledger_id)]
    if not chosen and category_ledger_id is not None:
        msg = "category_ledger_id is not a category of the transaction"
        raise OperationRefusedError(msg, status=404, error_code="category_not_found")
    if any(map(_is_account_side, chosen)):
        which = "category_ledger_id" if category_ledger_id is not None else "updated_category_ledger_id"
        _refuse(which, "a category that is the side of another financial account cannot be replaced")
    return chosen


def _is_account_side(line: AnyRow) -> bool:
    """Whether a line is money in an account, and so no category that can be replaced."""
    return line.transaction_id is not None or bool(line.report_cash_flow)


def _target(connection: Connection, instance: Instance, target_id: str, lines: Sequence[AnyRow]) -> StoredLedger:
    target = ledger_or_404(connection, instance, target_id)
    if target.report_cash_flow:
        _refuse(
            "updated_category_ledger_id", "a ledger that reports cash flow is no category: its balance would change"
        )
    if any(line.ledger_pk == target.pk and line.transaction_id is not None for line in lines):
        _refuse("updated_category_ledger_id", "the new category is a financial account of the same journal entry")
    return target


def _move(connection: Connection, own: TransactionLine, moving: list[AnyRow], target: StoredLedger) -> None:
    keys = [line.pk for line in moving]
    connection.execute(update(tables.line_entries).where(_LINES.pk.in_(keys)).values(ledger_pk=target.pk))
    connection.execute(
        update(tables.transactions).where(_TRANSACTIONS.line_entry_pk == own.pk).values(categorization_method=BY_USER)
    )


def _audit_row(
    instance: Instance, own: TransactionLine, moving: list[AnyRow], target: StoredLedger, modified_by: str | None
) -> dict[str, Any]:
    return {
        "instance_pk": instance.pk,
        "at": now(),
        "modified_by": modified_by,
        "operation": "recategorize_transaction",
        "transaction_id": own.transaction_id,
        "before": _placed((line.id, line.ledger_id) for line in moving),
        "after": _placed((line.id, target.id) for line in moving),
    }


def _placed(places: Iterable[tuple[str, str]]) -> str:
    return encode(dict(places)).decode()


def _categories(opposing: list[AnyRow]) -> list[dict[str, Any]]:
    """One category a ledger; editable unless it is the side of a financial account."""
    fixed = {line.ledger_id for line in opposing if _is_account_side(line)}
    return [
        {"ledger_id": ledger_id, "ledger_name": name, "editable": ledger_id not in fixed}
        for ledger_id, name in dict.fromkeys((line.ledger_id, line.ledger_name) for line in opposing)
    ]


def _refuse(field: str, message: str) -> NoReturn:
    detail = [{"loc": ["body", field], "msg": message, "type": "value_error"}]
    raise OperationRefusedError(message, status=422, error_code="validation_error", detail=detail)
