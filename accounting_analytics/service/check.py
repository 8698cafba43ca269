"""Check the invariants of the books in a database, and report where they are broken."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    bindparam,
    cast,
    func,
    literal,
    or_,
    select,
)

from accounting_analytics.core.chart_of_accounts import TYPE_OF_SUB_TYPE, SubType
from accounting_analytics.service import tables
from accounting_analytics.service.audit_log import find_changed_rows
from accounting_analytics.service.database import Store, find_damage, id_batches, read_ledgers
from accounting_analytics.service.ledgers import REQUIRED_LEDGERS
from accounting_analytics.service.operations.recategorize_transaction import BY_USER
from accounting_analytics.service.post_entries import moved_cash_ledger
from accounting_analytics.service.stored_values import (
    CHANGES,
    RECATEGORIZE_TRANSACTION,
    SUMMED_APART,
    Instance,
    StoredLedger,
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


@dataclass(frozen=True)
class BrokenInvariant:
    """An invariant in words, the id of the entry, line, ledger or transaction that breaks it, and how.

    The instance is empty if the file itself is damaged.
    """

    instance_id: str
    invariant: str
    subject: str
    problem: str


@dataclass(frozen=True)
class InvariantCheck:
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
        damage = [
            BrokenInvariant("", "the file is not damaged", "", problem)
            for problem in find_damage(connection, MAX_FINDINGS)
        ]
        if damage:  # the books in a damaged file are unreadable or wrong anyway
            return InvariantCheck(len(instances), 0, 0, 0, 0, 0, damage)
        findings = [found for instance in instances for found in _check_instance(connection, instance)]
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
    for invariant, findings in _findings(connection, instance).items():
        count = 0
        try:
            for subject, problem in findings:
                count += 1
                if count <= MAX_FINDINGS:
                    yield BrokenInvariant(instance.id, invariant, subject, problem)
        except (ValueError, KeyError) as error:
            yield BrokenInvariant(
                instance.id, invariant, "", f"it cannot be checked because of an invalid value: {error}"
            )
        if count > MAX_FINDINGS:
            yield BrokenInvariant(instance.id, invariant, "", f"and {count - MAX_FINDINGS} more")


def _findings(connection: Connection, instance: Instance) -> dict[str, Iterator[tuple[str, str]]]:
    """Return what breaks each invariant: an id, and how; it is found when it is read."""
    ledgers = read_ledgers(connection, instance)
    return {
        **{invariant: _found(connection, instance, *query) for invariant, query in _QUERIES.items()},
        "an entry has the cash ledger that it moved": _wrong_cash_ledgers(connection, instance, ledgers),
        "ledgers agree with their type and parents": _inconsistent_ledgers(ledgers),
        "the required ledgers exist": _missing_required(ledgers),
        "every change has an audit row": _audit_gaps(connection, instance),
        "the audit rows are as they were written": find_changed_rows(connection, instance),
    }


def _found(connection: Connection, instance: Instance, query: Select[str], problem: str) -> Iterator[tuple[str, str]]:
    for found in connection.execute(query, {"instance": instance.pk}).scalars():
        yield found, problem


_INSTANCE: BindParameter[int] = bindparam("instance")
_HIGH, _LOW = (cast(part, BigInteger) for part in tables.SUM_OF_UNITS)
_LINES_OF_ENTRIES = select(_ENTRIES.id).group_by(_ENTRIES.pk, _ENTRIES.id)
_QUERIES = {
    "debits equal credits": (
        _LINES_OF_ENTRIES.join(tables.line_entries, _LINES.journal_entry_pk == _ENTRIES.pk)
        .where(_ENTRIES.instance_pk == _INSTANCE)
        .having(or_(_LOW % SUMMED_APART != 0, _HIGH + _LOW // SUMMED_APART != 0)),
        "its debits do not equal its credits",
    ),
    "an entry has at least two lines": (
        _LINES_OF_ENTRIES.outerjoin(tables.line_entries, _LINES.journal_entry_pk == _ENTRIES.pk)
        .where(_ENTRIES.instance_pk == _INSTANCE)
        .having(func.count(_LINES.pk) < literal(2)),
        "it has no line, or one",
    ),
    "a line agrees with its entry and ledger": (
        select(_LINES.id)
        .outerjoin(tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .outerjoin(tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk)
        .where(_LINES.instance_pk == _INSTANCE)
        .where(
            or_(
                _ENTRIES.pk.is_(None),
                _LEDGERS.pk.is_(None),
                _ENTRIES.instance_pk != _LINES.instance_pk,
                _LEDGERS.instance_pk != _LINES.instance_pk,
                _ENTRIES.datetime != _LINES.datetime,
            )
        ),
        "its entry or ledger does not exist, belongs to another instance, or has another instant",
    ),
    "a transaction belongs to a line of a financial account": (
        select(_TRANSACTIONS.id)
        .outerjoin(tables.line_entries, _LINES.pk == _TRANSACTIONS.line_entry_pk)
        .outerjoin(tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk)
        .where(_TRANSACTIONS.instance_pk == _INSTANCE)
        .where(
            or_(
                _LINES.pk.is_(None),
                _LINES.instance_pk != _TRANSACTIONS.instance_pk,
                _LEDGERS.financial_account_type.is_(None),
            )
        ),
        "its line does not exist, belongs to another instance, or is not on a financial account",
    ),
    "a line of a cash account has a transaction": (
        select(_LINES.id)
        .join(tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk)
        .outerjoin(tables.transactions, _TRANSACTIONS.line_entry_pk == _LINES.pk)
        .where(_LINES.instance_pk == _INSTANCE, _LEDGERS.report_cash_flow.is_(True))
        .where(_LEDGERS.financial_account_type.is_not(None), _TRANSACTIONS.id.is_(None)),
        "it is on a financial account that reports cash flow, and has no transaction",
    ),
}
"""Queries of the ids that break an invariant, and how they do."""


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
    rows = connection.execute(query, execution_options={"yield_per": 2000})
    for (_, entry_id, stored_key), lines in groupby(rows, itemgetter(0, 1, 2)):
        cash = moved_cash_ledger((by_key[ledger_key], units) for *_, ledger_key, units in lines if ledger_key in by_key)
        if stored_key != (cash.pk if cash else None):
            yield entry_id, "its stored cash ledger is not the one that its lines move"


def _inconsistent_ledgers(ledgers: list[StoredLedger]) -> Iterator[tuple[str, str]]:
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


def _missing_required(ledgers: list[StoredLedger]) -> Iterator[tuple[str, str]]:
    existing = [(ledger.sub_type, ledger.debit_credit) for ledger in ledgers if ledger.is_required]
    for required in REQUIRED_LEDGERS.values():
        found = existing.count((str(required.sub_type), str(required.debit_credit)))
        if found != 1:
            yield required.name, f"there are {found} such required ledgers instead of one"


def _audit_gaps(connection: Connection, instance: Instance) -> Iterator[tuple[str, str]]:
    """Transactions and lines whose audit rows do not lead, change by change, to their current ledgers."""
    current: dict[str, str] = {}
    changed = set()
    query = select(_AUDIT.transaction_id, _AUDIT.before, _AUDIT.after).where(
        _AUDIT.instance_pk == instance.pk, _AUDIT.operation == RECATEGORIZE_TRANSACTION
    )
    for transaction_id, before, after in connection.execute(query.order_by(_AUDIT.pk)):
        changed.add(transaction_id)
        if before.keys() != after.keys() or any(before[line] == after[line] for line in before):
            yield transaction_id, "its audit row has lines that did not change"
        for line_id, ledger_id in before.items():
            if current.get(line_id, ledger_id) != ledger_id:
                yield line_id, "two consecutive audit rows do not agree: a change between them is missing"
        current |= after
    yield from _moved_lines(connection, instance, current)
    by_user = select(_TRANSACTIONS.id).where(
        _TRANSACTIONS.instance_pk == instance.pk, _TRANSACTIONS.categorization_method == BY_USER
    )
    for transaction_id in sorted(set(connection.execute(by_user).scalars()) ^ changed):
        yield transaction_id, "it was categorized by a user without an audit row, or has an audit row without that"


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
