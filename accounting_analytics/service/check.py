"""The invariants of a database: what must hold of its books at any moment, and where it does not."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import BigInteger, Connection, and_, cast, func, literal, or_, select

from accounting_analytics.chart_of_accounts import TYPE_OF_SUB_TYPE, SubType
from accounting_analytics.service.bookkeeping.cash_movement import moved_cash_ledger
from accounting_analytics.service.bookkeeping.new_ledgers import REQUIRED_LEDGERS
from accounting_analytics.service.operations.recategorize_transaction import BY_USER
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import database_of
from accounting_analytics.service.storage.store import read_ledgers
from accounting_analytics.service.storage.streamed_rows import plain_batches
from accounting_analytics.service.wire.stored_records import MICROSECONDS_A_DAY
from accounting_analytics.service.wire.units import BASE, joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Table

    from accounting_analytics.service.storage.store import Store
    from accounting_analytics.service.wire.stored_records import Instance, StoredLedger

SHOWN = 20
"""Findings that are listed for one instance and invariant; further ones are only counted."""

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_LEDGERS = tables.ledgers.c
_TRANSACTIONS = tables.transactions.c
_AUDIT = tables.audit.c


class Finding(NamedTuple):
    """Something that should not be.

    Attributes
    ----------
    instance_id : str
        Whose books.
    invariant : str
        What should hold.
    subject : str
        Where it does not: an entry, line, ledger or transaction by its id.
    problem : str
        How it is broken.
    """

    instance_id: str
    invariant: str
    subject: str
    problem: str


class Checked(NamedTuple):
    """What was looked at, and what was found.

    Attributes
    ----------
    instances, ledgers, entries, lines, transactions, changes : int
        How many there are; changes are audit rows. In a damaged file only instances are counted.
    findings : list of Finding
        Empty where every invariant holds.
    """

    instances: int
    ledgers: int
    entries: int
    lines: int
    transactions: int
    changes: int
    findings: list[Finding]


def check_books(store: Store) -> Checked:
    """Check every invariant of every instance, in one snapshot; changes nothing.

    Parameters
    ----------
    store : Store
        An open database; others may go on reading and writing meanwhile.

    Returns
    -------
    Checked
        Counts, and at most 20 findings for an instance and invariant.
    """
    instances = store.instances()
    with store.reading() as connection:
        database = database_of(connection)
        damage = [Finding("", "the file is sound", "", problem) for problem in database.find_damage(connection, SHOWN)]
        if damage:  # what such a file says of its books is not worth comparing, or cannot be read
            return Checked(len(instances), 0, 0, 0, 0, 0, damage)
        findings = [
            Finding("", "rows refer to rows that exist", "", problem)
            for problem in database.find_dangling_rows(connection, SHOWN)
        ]
        for instance in instances:
            findings += _of_instance(connection, instance)
        return Checked(
            instances=len(instances),
            ledgers=_count(connection, tables.ledgers),
            entries=_count(connection, tables.journal_entries),
            lines=_count(connection, tables.line_entries),
            transactions=_count(connection, tables.transactions),
            changes=_count(connection, tables.audit),
            findings=findings,
        )


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _of_instance(connection: Connection, instance: Instance) -> Iterator[Finding]:
    ledgers = read_ledgers(connection, instance)
    for invariant, found in _INVARIANTS.items():
        broken = 0
        try:
            for subject, problem in found(connection, instance, ledgers):
                broken += 1
                if broken <= SHOWN:
                    yield Finding(instance.id, invariant, subject, problem)
        except (ValueError, KeyError, msgspec.DecodeError) as error:
            yield Finding(instance.id, invariant, "", f"it cannot be checked, a value makes no sense: {error}")
        if broken > SHOWN:
            yield Finding(instance.id, invariant, "", f"and {broken - SHOWN} more")


def _unbalanced(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    high, low = (cast(func.sum(part), BigInteger) for part in (_LINES.high, _LINES.low))
    query = (
        select(_ENTRIES.id, func.count(), high, low)
        .join_from(tables.journal_entries, tables.line_entries, _LINES.journal_entry_pk == _ENTRIES.pk)
        .where(_ENTRIES.instance_pk == instance.pk)
        .group_by(_ENTRIES.pk, _ENTRIES.id)
        .having(or_(low % BASE != 0, high + low // BASE != 0))
    )
    for entry_id, _count, high_sum, low_sum in connection.execute(query):
        yield entry_id, f"its debits exceed its credits by {joined(high_sum, low_sum)} minor units"


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


def _strayed(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    """Lines that are not at home with their entry or ledger."""
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
        yield line_id, "its entry or ledger is not there, is another instance's, or has another instant"


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
        yield transaction_id, "its line is not there, is another instance's, or lies on no financial account"


def _cash_without_transaction(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    """Lines on a financial account that reports cash flow: no recategorization can bring one there."""
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
        yield line_id, "it lies on a financial account that reports cash flow, and has no transaction"


def _wrong_cash_ledgers(
    connection: Connection, instance: Instance, ledgers: list[StoredLedger]
) -> Iterator[tuple[str, str]]:
    """Entries whose cash ledger is not the one their lines say."""
    by_key = {ledger.pk: ledger for ledger in ledgers}
    query = (
        select(_ENTRIES.pk, _ENTRIES.id, _ENTRIES.cash_ledger_pk, _LINES.ledger_pk, _LINES.high, _LINES.low)
        .join_from(tables.journal_entries, tables.line_entries, _LINES.journal_entry_pk == _ENTRIES.pk)
        .join(tables.ledgers, and_(_LEDGERS.pk == _LINES.ledger_pk, _LEDGERS.report_cash_flow.is_(True)), isouter=True)
        .where(_ENTRIES.instance_pk == instance.pk, or_(_LEDGERS.pk.is_not(None), _ENTRIES.cash_ledger_pk.is_not(None)))
        .order_by(_ENTRIES.pk)
    )
    entry_key, entry_id, said = None, "", None
    moved: list[tuple[StoredLedger, int]] = []
    for batch in plain_batches(connection, query):
        for key, next_id, next_said, ledger_key, high, low in batch:
            if key != entry_key:
                yield from _wrong_cash_ledger(entry_id, said, moved)
                entry_key, entry_id, said, moved = key, next_id, next_said, []
            if ledger_key in by_key:
                moved.append((by_key[ledger_key], joined(high, low)))
    yield from _wrong_cash_ledger(entry_id, said, moved)


def _wrong_cash_ledger(
    entry_id: str, said: int | None, moved: list[tuple[StoredLedger, int]]
) -> Iterator[tuple[str, str]]:
    cash = moved_cash_ledger(moved)
    if said != (cash.pk if cash else None):
        yield entry_id, "the cash ledger it is said to move is not the one its lines move"


def _wrong_cash_days(
    connection: Connection, instance: Instance, ledgers: list[StoredLedger]
) -> Iterator[tuple[str, str]]:
    """Days whose sum is not that of the lines."""
    days = tables.cash_days.c
    names = {ledger.pk: ledger.id for ledger in ledgers}
    of_instance = select(_LEDGERS.pk).where(_LEDGERS.instance_pk == instance.pk, _LEDGERS.report_cash_flow.is_(True))
    kept: defaultdict[tuple[int, int], int] = defaultdict(int)
    stored = select(days.ledger_pk, days.day, days.high, days.low).join_from(tables.cash_days, tables.ledgers)
    for key, day, high, low in connection.execute(stored.where(_LEDGERS.instance_pk == instance.pk)):
        kept[key, day] = joined(high, low)
    lines = select(_LINES.ledger_pk, _LINES.datetime, _LINES.high, _LINES.low).where(_LINES.ledger_pk.in_(of_instance))
    for batch in plain_batches(connection, lines):
        for key, moment, high, low in batch:
            kept[key, moment // MICROSECONDS_A_DAY] -= joined(high, low)
    for (key, day), difference in kept.items():
        if difference:
            yield names[key], f"the balance kept for day {day} since 1970 is {difference} minor units off"


def _disagreeing_ledgers(_: Connection, __: Instance, ledgers: list[StoredLedger]) -> Iterator[tuple[str, str]]:
    by_id = {ledger.id: ledger for ledger in ledgers}
    for ledger in ledgers:
        if TYPE_OF_SUB_TYPE[SubType(ledger.sub_type)] != ledger.type:
            yield ledger.id, f"sub_type {ledger.sub_type} does not belong to type {ledger.type}"
        seen, at = set(), ledger
        while at.parent_id is not None and at.id not in seen:
            seen.add(at.id)
            parent = by_id.get(at.parent_id)
            if parent is None or parent.type != at.type:
                yield ledger.id, f"its parent {at.parent_id} is not there, or of another type"
                break
            at = parent
        else:
            if at.parent_id is not None:
                yield ledger.id, "it is among its own ancestors"


def _missing_required(_: Connection, __: Instance, ledgers: list[StoredLedger]) -> Iterator[tuple[str, str]]:
    there = [(ledger.sub_type, ledger.debit_credit) for ledger in ledgers if ledger.is_required]
    for required in REQUIRED_LEDGERS.values():
        found = there.count((str(required.sub_type), str(required.debit_credit)))
        if found != 1:
            yield required.name, f"there are {found} such required ledgers, not one"


def _audit_gaps(connection: Connection, instance: Instance, _: object) -> Iterator[tuple[str, str]]:
    """Audit rows that do not lead, change by change, to where the lines lie now."""
    lies: dict[str, str] = {}
    users = set()
    query = select(_AUDIT.transaction_id, _AUDIT.before, _AUDIT.after).where(_AUDIT.instance_pk == instance.pk)
    for transaction_id, before, after in connection.execute(query.order_by(_AUDIT.pk)):
        users.add(transaction_id)
        was, became = (msgspec.json.decode(places, type=dict[str, str]) for places in (before, after))
        if was.keys() != became.keys() or any(was[line] == became[line] for line in was):
            yield transaction_id, "a change of it says that lines moved which did not"
        for line_id, place in was.items():
            if lies.get(line_id, place) != place:
                yield line_id, "two changes in a row do not fit together: one between them was not recorded"
        lies |= became
    yield from _elsewhere(connection, instance, lies)
    by_user = select(_TRANSACTIONS.id).where(
        _TRANSACTIONS.instance_pk == instance.pk, _TRANSACTIONS.categorization_method == BY_USER
    )
    for transaction_id in sorted(set(connection.execute(by_user).scalars()) ^ users):
        yield transaction_id, "it was categorized by somebody without a record of it, or the other way round"


def _elsewhere(connection: Connection, instance: Instance, lies: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Lines that lie elsewhere than their last change says."""
    moved = sorted(lies)
    for start in range(0, len(moved), _IDS_A_QUERY):
        chunk = moved[start : start + _IDS_A_QUERY]
        query = (
            select(_LINES.id.label("line_id"), _LEDGERS.id.label("ledger_id"))
            .join_from(tables.line_entries, tables.ledgers, _LEDGERS.pk == _LINES.ledger_pk)
            .where(_LINES.instance_pk == instance.pk, _LINES.id.in_(chunk))
        )
        there = {row.line_id: row.ledger_id for row in connection.execute(query)}
        for line_id in chunk:
            if there.get(line_id) != lies[line_id]:
                yield line_id, f"its last change put it on {lies[line_id]}, and it lies on {there.get(line_id)}"


_IDS_A_QUERY = 500
_INVARIANTS = {
    "debits equal credits": _unbalanced,
    "an entry has at least two lines": _without_two_lines,
    "a line is at home with its entry and ledger": _strayed,
    "a transaction is a line of a financial account": _misplaced_transactions,
    "a line of a cash account has its transaction": _cash_without_transaction,
    "an entry names the cash ledger it moved": _wrong_cash_ledgers,
    "balances kept by day are those of the lines": _wrong_cash_days,
    "ledgers agree with their type and parents": _disagreeing_ledgers,
    "the required ledgers are there": _missing_required,
    "every change is in the audit": _audit_gaps,
}
