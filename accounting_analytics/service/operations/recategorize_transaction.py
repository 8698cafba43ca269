"""Recategorizing a transaction: moving its opposing lines to another category."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict
from sqlalchemy import Connection, select, update

from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.journals.entries import is_valid_id
from accounting_analytics.service import tables
from accounting_analytics.service.audit_log import record
from accounting_analytics.service.interface import (
    CategorizedTransaction,
    Category,
    NestedLedger,
    RecategorizedTransaction,
    RecategorizeTransactionBody,
)
from accounting_analytics.service.operations.shared_queries import (
    Call,
    LineRow,
    find_ledger,
    refuse_unknown,
    select_lines,
    transaction_of_line,
)
from accounting_analytics.service.requests import refuse_value
from accounting_analytics.service.stored_values import (
    RECATEGORIZE_TRANSACTION,
    AnyRow,
    Instance,
    StoredLedger,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


BY_USER = "user"
"""Categorization method that a recategorized transaction has."""

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_LEDGERS = tables.ledgers.c
_TRANSACTIONS = tables.transactions.c


def recategorize_transaction(
    call: Call, ledger_id: str, transaction_id: str, body: RecategorizeTransactionBody
) -> RecategorizedTransaction:
    """Move a transaction's opposing lines to another ledger, and return the transaction.

    A line with a transaction, or on a ledger that reports cash flow, is the account side of an entry. Such a line is
    never moved, and no line is moved to its ledger, so that recategorizing changes no balance of such a ledger. If
    nothing changes, nothing is written.
    """
    connection, instance = call.connection, call.instance
    ledger = find_ledger(connection, instance, ledger_id)
    own = _own_line(connection, instance, ledger, transaction_id)
    lines = _lines(connection, own.journal_entry_pk)
    chosen = _chosen(_opposing(lines, own), body.category_ledger_id)
    target = _target(connection, instance, body.updated_category_ledger_id, lines)
    moving = [line for line in chosen if line.ledger_pk != target.pk]
    if moving:
        _move(connection, own, moving, target)
        before, after = {line.id: line.ledger_id for line in moving}, {line.id: target.id for line in moving}
        record(
            connection,
            instance,
            RECATEGORIZE_TRANSACTION,
            before,
            after,
            actor=call.actor,
            transaction_id=transaction_id,
            modified_by=call.modified_by,
        )
    return _recategorized(connection, instance, ledger, transaction_id)


def _recategorized(
    connection: Connection, instance: Instance, ledger: StoredLedger, transaction_id: str
) -> RecategorizedTransaction:
    """Return the transaction with its current categories."""
    own = _own_line(connection, instance, ledger, transaction_id)
    opposing = _opposing(_lines(connection, own.journal_entry_pk), own)
    return RecategorizedTransaction(
        transaction=CategorizedTransaction(
            **asdict(transaction_of_line(own, ledger.id, instance.scale)),
            opposing_line_entry_ids=[line.id for line in opposing],
            categorization_method=own.categorization_method,
        ),
        categories=_categories(opposing),
        ledger=NestedLedger.from_stored(ledger),
        journal_entry_id=own.journal_entry_id,
    )


def _own_line(connection: Connection, instance: Instance, ledger: StoredLedger, transaction_id: str) -> LineRow:
    query = (
        select_lines()
        .select_from(tables.transactions)
        .join(tables.line_entries, _LINES.pk == _TRANSACTIONS.line_entry_pk)
        .join(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .where(_TRANSACTIONS.instance_pk == instance.pk, _TRANSACTIONS.id == transaction_id)
        .where(_LINES.ledger_pk == ledger.pk)
    )
    row = connection.execute(query).first() if is_valid_id(transaction_id) else None
    if row is None:
        refuse_unknown("transaction")
    return LineRow(*row)


def _opposing(lines: Sequence[AnyRow], own: LineRow) -> list[AnyRow]:
    return [line for line in lines if line.debit_credit != own.debit_credit]


def _lines(connection: Connection, entry_key: int) -> Sequence[AnyRow]:
    """Return all lines of an entry, in the order of posting."""
    query = (
        select(_LINES.pk, _LINES.id, _LINES.debit_credit, _LINES.ledger_pk, _LEDGERS.id.label("ledger_id"))
        .add_columns(_LEDGERS.name.label("ledger_name"), _LEDGERS.report_cash_flow)
        .add_columns(_TRANSACTIONS.id.label("transaction_id"))
        .join_from(tables.line_entries, tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk)
        .outerjoin(tables.transactions, _TRANSACTIONS.line_entry_pk == _LINES.pk)
        .where(_LINES.journal_entry_pk == entry_key)
        .order_by(_LINES.pk)
    )
    return connection.execute(query).all()


def _chosen(opposing: list[AnyRow], category_ledger_id: str | None) -> list[AnyRow]:
    """Choose the opposing lines to move."""
    chosen = [line for line in opposing if category_ledger_id in (None, line.ledger_id)]
    if not chosen and category_ledger_id is not None:
        raise OperationRefusedError(
            "category_ledger_id is not a category of the transaction", status=404, error_code="category_not_found"
        )
    if any(map(_is_account_side, chosen)):
        which = "category_ledger_id" if category_ledger_id is not None else "updated_category_ledger_id"
        refuse_value(["body", which], "a category that is another financial account cannot be replaced")
    return chosen


def _is_account_side(line: AnyRow) -> bool:
    """Return whether a line is the account side of its entry.

    The other side is a category.
    """
    return line.transaction_id is not None or bool(line.report_cash_flow)


def _target(connection: Connection, instance: Instance, target_id: str, lines: Sequence[AnyRow]) -> StoredLedger:
    target = find_ledger(connection, instance, target_id)
    if target.report_cash_flow:
        refuse_value(
            ["body", "updated_category_ledger_id"],
            "a ledger that reports cash flow cannot be a category: its balance would change",
        )
    if any(line.ledger_pk == target.pk and line.transaction_id is not None for line in lines):
        message = "the new category is a financial account of the same journal entry"
        refuse_value(["body", "updated_category_ledger_id"], message)
    return target


def _move(connection: Connection, own: LineRow, moving: list[AnyRow], target: StoredLedger) -> None:
    moved = update(tables.line_entries).where(_LINES.pk.in_([line.pk for line in moving]))
    connection.execute(moved.values(ledger_pk=target.pk))
    categorized = update(tables.transactions).where(_TRANSACTIONS.line_entry_pk == own.pk)
    connection.execute(categorized.values(categorization_method=BY_USER))


def _categories(opposing: list[AnyRow]) -> list[Category]:
    """Return one category for each ledger. Categories that are financial accounts are not editable."""
    fixed = {line.ledger_id for line in opposing if _is_account_side(line)}
    return [
        Category(ledger_id=ledger_id, ledger_name=name, editable=ledger_id not in fixed)
        for ledger_id, name in dict.fromkeys((line.ledger_id, line.ledger_name) for line in opposing)
    ]
