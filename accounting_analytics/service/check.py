"""Check the invariants of the books in a database, and report where they are broken."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Connection, Table, and_, cast, func, literal, or_, select

from accounting_analytics.chart_of_accounts import TYPE_OF_SUB_TYPE, SubType
from accounting_analytics.service.bookkeeping.ledgers import REQUIRED_LEDGERS
from accounting_analytics.service.bookkeeping.post_entries import moved_cash_ledger
from accounting_analytics.service.operations.recategorize_transaction import BY_USER
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.audit_rows import find_changed_rows
from accounting_analytics.service.storage.database import database_of, id_batches, plain_rows
from accounting_analytics.service.storage.store import Store, read_ledgers
from accounting_analytics.service.wire.stored_values import (
    CHANGES,
    RECATEGORIZE_TRANSACTION,
    SUMMED_APART,
    Instance,
    StoredLedger,
    join_sums,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


MAX_FINDINGS = 20
"""Findings that are listed per instance and invariant; further ones are only counted."""

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_LEDGERS = tables.ledgers.c
_TRANSACTIONS = tables.transactions.c
_AUDIT = tables.audit.c


class BrokenInvariant(NamedTuple):
    """An invariant in words, the id of the entry, line, ledger or transaction that breaks it, and how.

    The instance is empty if the file itself is damaged.
    """

    instance_id: str
    invariant: str
    subject: str
    problem: str


class InvariantCheck(NamedTuple):
    """Numbers of what was checked, and what is broken; in a damaged file only instances are counted."""

    instances: int
    ledgers: int
    entries: int
    lines: int
    transactions: int
    changes: int
    findings: list[BrokenInvariant]


def check_books(store: Store) -> InvariantCheck:
    """Check every invariant of every instance in one snapshot; nothing is changed, and writers do not wait."""
    instances = store.instances()
    with store.reading() as connection:
        database = database_of(connection)
        damage = [
            BrokenInvariant("", "the file is not damaged", "", problem)
            for problem in database.find_damage(connection, MAX_FINDINGS)
        ]
        if damage:  # the books in a damaged file are unreadable or wrong anyway
            return InvariantCheck(len(instances), 0, 0, 0, 0, 0, damage)
        findings = [
            BrokenInvariant("", "rows refer to rows that exist", "", problem)
            for problem in database.find_dangling_rows(connection, MAX_FINDINGS)
        ]
        for instance in instances:
            findings += _check_instance(connection, instance)
        return InvariantCheck(
            instances=len(instances),
            ledgers=_count(connection, tables.ledgers),
            entries=_count(connection, tables.journal_entries),
            lines=_count(connection, tables.line_entries),
            transactions=_count(connection, tables.transactions),
            changes=_count(connection, tables.audit, _AUDIT.operation.in_(CHANGES)),
            findings=findings,
        )


def _count(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())


def _check_instance(connection: Connection, instance: Instance) -> Iterator[BrokenInvariant]:
    ledgers = read_ledgers(connection, instance)
    for invariant, find in _INVARIANTS.items():
        count = 0
        try:
            for subject, problem in find(connection, instance, ledgers):
                count += 1
                if count <= MAX_FINDINGS:
                    yield BrokenInvariant(instance.id, invariant, subject, problem)
        except (ValueError, KeyError) as error:
            yield BrokenInvariant(
                instance.id, invariant, "", f"it cannot be checked because of an invalid value: {error}"
            )
        if count > MAX_FINDINGS:
            yield BrokenInvariant(instance.id, invariant, "", f"and {count - MAX_FINDINGS} more")


def _unbalanced(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    high, low = (cast(part, BigInteger) for part in tables.SUM_OF_UNITS)
    query = (
        select(_ENTRIES.id, high, low)
        .join_from(tables.journal_entries, tables.line_entries, _LINES.journal_entry_pk == _ENTRIES.pk)
        .where(_ENTRIES.instance_pk == instance.pk)
        .group_by(_ENTRIES.pk, _ENTRIES.id)
        .having(or_(low % SUMMED_APART != 0, high + low // SUMMED_APART != 0))
    )
    for entry_id, high_sum, low_sum in connection.execute(query):
        yield entry_id, f"its debits exceed its credits by {join_sums(high_sum, low_sum)} minor units"


def _without_two_lines(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    query = (
        select(_ENTRIES.id, func.count(_LINES.pk))
        .join_from(tables.journal_entries, tables.line_entries, _LINES.journal_entry_pk == _ENTRIES.pk, isouter=True)
        .where(_ENTRIES.instance_pk == instance.pk)
        .group_by(_ENTRIES.pk, _ENTRIES.id)
        .having(func.count(_LINES.pk) < literal(2))
    )
    for entry_id, count in connection.execute(query):
        yield entry_id, f"it has {count} line(s)"


def _inconsistent_lines(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    """Lines that do not agree with their entry or ledger."""
    query = (
        select(_LINES.id)
        .join_from(tables.line_entries, tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk, isouter=True)
        .join(tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk, isouter=True)
        .where(
            _LINES.instance_pk == instance.pk,
            or_(
                _ENTRIES.pk.is_(None),
                _LEDGERS.pk.is_(None),
                _ENTRIES.instance_pk != _LINES.instance_pk,
                _LEDGERS.instance_pk != _LINES.instance_pk,
                _ENTRIES.datetime != _LINES.datetime,
            ),
        )
    )
    for (line_id,) in connection.execute(query):
        yield line_id, "its entry or ledger does not exist, belongs to another instance, or has another instant"


def _misplaced_transactions(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    query = (
        select(_TRANSACTIONS.id)
        .join_from(tables.transactions, tables.line_entries, _LINES.pk == _TRANSACTIONS.line_entry_pk, isouter=True)
        .join(tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk, isouter=True)
        .where(
            _TRANSACTIONS.instance_pk == instance.pk,
            or_(
                _LINES.pk.is_(None),
                _LINES.instance_pk != _TRANSACTIONS.instance_pk,
                _LEDGERS.financial_account_type.is_(None),
            ),
        )
    )
    for (transaction_id,) in connection.execute(query):
        yield transaction_id, "its line does not exist, belongs to another instance, or is not on a financial account"


def _cash_without_transaction(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    """Lines without a transaction on a financial account that reports cash flow."""
    query = (
        select(_LINES.id)
        .join_from(tables.line_entries, tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk)
        .join(tables.transactions, _TRANSACTIONS.line_entry_pk == _LINES.pk, isouter=True)
        .where(
            _LINES.instance_pk == instance.pk,
            _LEDGERS.report_cash_flow.is_(True),
            _LEDGERS.financial_account_type.is_not(None),
            _TRANSACTIONS.id.is_(None),
        )
    )
    for (line_id,) in connection.execute(query):
        yield line_id, "it is on a financial account that reports cash flow, and has no transaction"


def _wrong_cash_ledgers(
    connection: Connection, instance: Instance, ledgers: list[StoredLedger]
) -> Iterator[tuple[str, str]]:
    """Entries whose stored cash ledger is not the one that their lines move."""
    by_key = {ledger.pk: ledger for ledger in ledgers}
    query = (
        select(_ENTRIES.pk, _ENTRIES.id, _ENTRIES.cash_ledger_pk, _LINES.ledger_pk, _LINES.units)
        .join_from(tables.journal_entries, tables.line_entries, _LINES.journal_entry_pk == _ENTRIES.pk)
        .join(tables.ledgers, and_(_LEDGERS.pk == _LINES.ledger_pk, _LEDGERS.report_cash_flow.is_(True)), isouter=True)
        .where(_ENTRIES.instance_pk == instance.pk, or_(_LEDGERS.pk.is_not(None), _ENTRIES.cash_ledger_pk.is_not(None)))
        .order_by(_ENTRIES.pk)
    )
    for (_, entry_id, stored_key), lines in groupby(plain_rows(connection, query), itemgetter(0, 1, 2)):
        cash = moved_cash_ledger((by_key[ledger_key], units) for *_, ledger_key, units in lines if ledger_key in by_key)
        if stored_key != (cash.pk if cash else None):
            yield entry_id, "its stored cash ledger is not the one that its lines move"


def _inconsistent_ledgers(_: Connection, __: Instance, ledgers: list[StoredLedger]) -> Iterator[tuple[str, str]]:
    by_id = {ledger.id: ledger for ledger in ledgers}
    for ledger in ledgers:
        if TYPE_OF_SUB_TYPE[SubType(ledger.sub_type)] != ledger.type:
            yield ledger.id, f"sub_type {ledger.sub_type} does not belong to type {ledger.type}"
        seen, child = set(), ledger
        while child.parent_id is not None and child.id not in seen:
            seen.add(child.id)
            parent = by_id.get(child.parent_id)
            if parent is None or parent.type != child.type:
                yield ledger.id, f"its parent {child.parent_id} does not exist or has another type"
                break
            child = parent
        else:
            if child.parent_id is not None:
                yield ledger.id, "it is among its own ancestors"


def _missing_required(_: Connection, __: Instance, ledgers: list[StoredLedger]) -> Iterator[tuple[str, str]]:
    existing = [(ledger.sub_type, ledger.debit_credit) for ledger in ledgers if ledger.is_required]
    for required in REQUIRED_LEDGERS.values():
        found = existing.count((str(required.sub_type), str(required.debit_credit)))
        if found != 1:
            yield required.name, f"there are {found} such required ledgers instead of one"


def _audit_gaps(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    """Transactions and lines whose audit rows do not lead, change by change, to their current ledgers."""
    current: dict[str, str] = {}
    changed = set()
    query = select(_AUDIT.transaction_id, _AUDIT.before, _AUDIT.after).where(
        _AUDIT.instance_pk == instance.pk, _AUDIT.operation == RECATEGORIZE_TRANSACTION
    )
    for transaction_id, before, after in connection.execute(query.order_by(_AUDIT.pk)):
        changed.add(transaction_id)
        old, new = json.loads(before), json.loads(after)
        if old.keys() != new.keys() or any(old[line] == new[line] for line in old):
            yield transaction_id, "its audit row has lines that did not change"
        for line_id, ledger_id in old.items():
            if current.get(line_id, ledger_id) != ledger_id:
                yield line_id, "two consecutive audit rows do not agree: a change between them is missing"
        current |= new
    yield from _moved_lines(connection, instance, current)
    by_user = select(_TRANSACTIONS.id).where(
        _TRANSACTIONS.instance_pk == instance.pk, _TRANSACTIONS.categorization_method == BY_USER
    )
    for transaction_id in sorted(set(connection.execute(by_user).scalars()) ^ changed):
        yield transaction_id, "it was categorized by a user without an audit row, or has an audit row without that"


def _changed_audit_rows(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    for subject in find_changed_rows(connection, instance.pk):
        yield subject, "it was changed, or the row above it was changed or removed"


def _moved_lines(
    connection: Connection, instance: Instance, ledger_ids: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Lines that are not on the ledger of their last change."""
    for chunk in id_batches(sorted(ledger_ids)):
        query = (
            select(_LINES.id.label("line_id"), _LEDGERS.id.label("ledger_id"))
            .join_from(tables.line_entries, tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk)
            .where(_LINES.instance_pk == instance.pk, _LINES.id.in_(chunk))
        )
        found = {row.line_id: row.ledger_id for row in connection.execute(query)}
        for line_id in chunk:
            if found.get(line_id) != ledger_ids[line_id]:
                yield line_id, f"its last change moved it to {ledger_ids[line_id]}, but it is on {found.get(line_id)}"


_INVARIANTS = {
    "debits equal credits": _unbalanced,
    "an entry has at least two lines": _without_two_lines,
    "a line agrees with its entry and ledger": _inconsistent_lines,
    "a transaction belongs to a line of a financial account": _misplaced_transactions,
    "a line of a cash account has a transaction": _cash_without_transaction,
    "an entry has the cash ledger that it moved": _wrong_cash_ledgers,
    "ledgers agree with their type and parents": _inconsistent_ledgers,
    "the required ledgers exist": _missing_required,
    "every change has an audit row": _audit_gaps,
    "the audit rows are as they were written": _changed_audit_rows,
}
