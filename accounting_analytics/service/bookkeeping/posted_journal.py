"""Posting journal entries: each is checked, balanced, and written in the caller's database transaction."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from itertools import count, islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlalchemy import BigInteger, Connection, Table, cast, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import AmountError, PostingRefusedError
from accounting_analytics.money import format_amount, from_minor_units
from accounting_analytics.service.bookkeeping.cash_movement import moved_cash_ledger
from accounting_analytics.service.bookkeeping.new_entries import NewTransaction
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import database_of
from accounting_analytics.service.storage.store import read_instance, read_ledgers
from accounting_analytics.service.wire.identifiers import new_id, new_ids, unicode_text, usable
from accounting_analytics.service.wire.stored_records import MICROSECONDS_A_DAY, microseconds
from accounting_analytics.service.wire.units import BASE, split, units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry, NewLine, NewTag
    from accounting_analytics.service.storage.store import Store
    from accounting_analytics.service.wire.stored_records import Instance, StoredLedger

POSTED_STATUSES = frozenset({"posted"})
REVIEW_STATUSES = frozenset({"reviewed", "unreviewed"})
AS_POSTED = "as_posted"
"""Categorization method of a transaction whose categories came with its journal entry."""

_ENTRIES_A_BATCH = 2000
_IDS_A_QUERY = 500
_MINIMUM_LINES = 2
_LONGEST_TAG = 500
# every time zone can place these
_FIRST = dt.datetime(1, 1, 3, tzinfo=dt.UTC)
_LAST = dt.datetime(9999, 12, 29, tzinfo=dt.UTC)


def post_entries(store: Store, instance_id: str, entries: Iterable[NewJournalEntry]) -> list[str]:
    """Post journal entries, all of them or none, and return their ids in the order given.

    Raises
    ------
    PostingRefusedError
        An entry does not balance, names an unknown ledger, has an amount that does not fit, or an id is taken;
        ``entry_index`` is its position. Nothing was posted.
    """
    with store.writing() as connection:
        instance = read_instance(connection, instance_id)
        ledgers = {ledger.id: ledger for ledger in read_ledgers(connection, instance)}
        return PostedJournal(connection, instance, ledgers).post(entries)


class PostedJournal:
    """Writes journal entries of one instance.

    Parameters
    ----------
    connection : Connection
        In a database transaction that writes.
    instance : Instance
        Whose books.
    ledgers : mapping of id to StoredLedger
        All ledgers of the instance.
    """

    def __init__(self, connection: Connection, instance: Instance, ledgers: Mapping[str, StoredLedger]) -> None:
        self._connection = connection
        self._instance = instance
        self._ledgers = ledgers
        self._zone = ZoneInfo(instance.localtime)
        self._tags: dict[NewTag, int] = {}
        self._entry_keys, self._line_keys = (
            count(_last_key(connection, table) + 1) for table in (tables.journal_entries, tables.line_entries)
        )
        self._new_ids = {prefix: new_ids(prefix) for prefix in ("ent", "lin", "txn")}
        self._given: dict[Table, set[str]] = {}
        self._rows: dict[Table, list[tuple[Any, ...]]] = {}
        self._moved: defaultdict[tuple[int, int], int] = defaultdict(int)

    def post(self, entries: Iterable[NewJournalEntry]) -> list[str]:
        """Write entries and return their ids; the first one that is refused raises, naming it."""
        waiting = iter(enumerate(entries))
        ids: list[str] = []
        while batch := list(islice(waiting, _ENTRIES_A_BATCH)):
            ids.extend(self._post_batch(batch))
        return ids

    def _post_batch(self, batch: list[tuple[int, NewJournalEntry]]) -> list[str]:
        self._rows = {table: [] for table in _WRITTEN}
        self._given = {table: set() for table in _WRITTEN}
        self._moved = defaultdict(int)
        for number, entry in batch:
            try:
                self._add(entry)
            except (PostingRefusedError, AmountError) as error:
                shown = f" {entry.id!r}" if entry.id else ""
                msg = f"journal entry {number + 1}{shown}: {error}; nothing was posted"
                raise PostingRefusedError(msg, entry_index=number) from error
        self._write()
        entries = self._rows[tables.journal_entries]
        self._check_balanced(first=entries[0][_KEY])
        return [row[_ID] for row in entries]

    def _add(self, entry: NewJournalEntry) -> None:
        moment = self._moment(entry.datetime)
        signed = [(self._ledger(line.ledger_id), *self._signed_units(line)) for line in entry.lines]
        if len(signed) < _MINIMUM_LINES:
            msg = f"an entry has at least {_MINIMUM_LINES} lines, not {len(signed)}"
            raise PostingRefusedError(msg)
        amounts = [units for _, units, _ in signed]
        if sum(amounts):
            raise PostingRefusedError(self._unbalanced(amounts))
        cash = moved_cash_ledger((ledger, units) for ledger, units, _ in signed)
        key = next(self._entry_keys)
        entry_id = self._id(tables.journal_entries, entry.id, "ent")
        description = unicode_text(entry.description, "description")
        instance_key = self._instance.pk
        self._rows[tables.journal_entries].append(
            (key, instance_key, entry_id, moment, description, cash.pk if cash else None)
        )
        for line, (ledger, units, side) in zip(entry.lines, signed, strict=True):
            line_key = next(self._line_keys)
            line_id = self._id(tables.line_entries, line.id, "lin")
            said = unicode_text(line.description, "line description")
            self._rows[tables.line_entries].append(
                (line_key, instance_key, line_id, key, ledger.pk, moment, side, *split(units), said)
            )
            if ledger.report_cash_flow:
                self._moved[ledger.pk, moment // MICROSECONDS_A_DAY] += units
            if ledger.financial_account_type is not None or line.transaction is not None:
                self._add_transaction(line_key, line, ledger)
            if line.tags:
                carried = dict.fromkeys(map(self._tag, line.tags))
                self._rows[tables.line_entry_tags].extend((line_key, tag) for tag in carried)

    def _add_transaction(self, line_key: int, line: NewLine, ledger: StoredLedger) -> None:
        if ledger.financial_account_type is None:
            msg = f"ledger {ledger.id!r} has no financial account type, so its lines have no transaction"
            raise PostingRefusedError(msg)
        transaction = line.transaction or NewTransaction(description=line.description)
        if transaction.posted_status not in POSTED_STATUSES or transaction.review_status not in REVIEW_STATUSES:
            msg = f"unknown status {transaction.posted_status!r}/{transaction.review_status!r} of a transaction"
            raise PostingRefusedError(msg)
        source = transaction.source_account_id
        self._rows[tables.transactions].append(
            (
                line_key,
                self._instance.pk,
                self._id(tables.transactions, transaction.id, "txn"),
                unicode_text(transaction.description, "transaction description"),
                bool(transaction.personal),
                transaction.posted_status,
                transaction.review_status,
                None if source is None else unicode_text(source, "source_account_id"),
                AS_POSTED,
            )
        )

    def _write(self) -> None:
        """Write the rows of a batch; the database's own rules say which ids are taken."""
        database = database_of(self._connection)
        savepoint = self._connection.begin_nested()
        try:
            for table, rows in self._rows.items():
                if rows:
                    database.insert_rows(self._connection, table, rows)
        except IntegrityError:
            savepoint.rollback()
            self._refuse_taken()
            raise
        savepoint.commit()
        if self._moved:
            moved = [
                {"ledger_pk": ledger_key, "day": day, "high": high, "low": low}
                for (ledger_key, day), units in self._moved.items()
                for high, low in [split(units)]
            ]
            self._connection.execute(_ADD_TO_CASH_DAYS, moved)

    def _moment(self, moment: dt.datetime) -> int:
        if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
            msg = f"datetime {moment} has no time zone; give an aware datetime"
            raise PostingRefusedError(msg)
        try:
            placed = _FIRST <= moment < _LAST
        except OverflowError:
            placed = False
        if not placed:
            msg = f"datetime {moment} is too close to the end of the calendar"
            raise PostingRefusedError(msg)
        start = self._instance.entries_start
        if start is not None and moment.astimezone(self._zone).date() < start:
            msg = f"datetime {moment} is before {start}, where the books of the instance begin"
            raise PostingRefusedError(msg)
        return microseconds(moment)

    def _ledger(self, ledger_id: str) -> StoredLedger:
        if ledger_id not in self._ledgers:
            msg = f"there is no ledger {ledger_id!r} in instance {self._instance.id!r}"
            raise PostingRefusedError(msg)
        return self._ledgers[ledger_id]

    def _signed_units(self, line: NewLine) -> tuple[int, str]:
        """Signed units and side; the sign of a negative amount becomes the other side."""
        if line.debit_credit not in _OTHER_SIDE:
            msg = f"debit_credit must be 'debit' or 'credit', not {line.debit_credit!r}"
            raise PostingRefusedError(msg)
        units = units_of(line.amount, self._instance.scale)
        side = line.debit_credit if units >= 0 else _OTHER_SIDE[line.debit_credit]
        return (abs(units) if side == DebitCredit.DEBIT else -abs(units)), side

    def _unbalanced(self, units: list[int]) -> str:
        debits, credits_ = (
            format_amount(from_minor_units(abs(sum(side)), self._instance.scale))
            for side in ([at for at in units if at > 0], [at for at in units if at < 0])
        )
        return f"debits {debits} are not credits {credits_}"

    def _id(self, table: Table, given: str | None, prefix: str) -> str:
        if given is None:
            return next(self._new_ids[prefix])
        if given in self._given[table]:
            msg = f"{_WRITTEN[table]} id {given!r} is given twice"
            raise PostingRefusedError(msg)
        self._given[table].add(usable(given, _WRITTEN[table]))
        return given

    def _refuse_taken(self) -> None:
        for table, given in self._given.items():
            for chunk in _chunks(sorted(given)):
                taken = self._connection.execute(
                    select(table.c.id).where(table.c.instance_pk == self._instance.pk, table.c.id.in_(chunk)).limit(1)
                ).scalar()
                if taken is not None:
                    msg = f"{_WRITTEN[table]} id {taken!r} is already in the books; nothing was posted"
                    raise PostingRefusedError(msg)

    def _check_balanced(self, first: int) -> None:
        """Ask the database itself, before the transaction ends, whether every new entry balances."""
        lines = tables.line_entries.c
        high, low = (cast(func.sum(part), BigInteger) for part in (lines.high, lines.low))
        unbalanced = self._connection.execute(
            select(lines.journal_entry_pk)
            .where(lines.journal_entry_pk >= first)
            .group_by(lines.journal_entry_pk)
            .having((low % BASE != 0) | (high + low // BASE != 0))
            .limit(1)
        ).first()
        if unbalanced is not None:
            msg = "the database holds an unbalanced entry; nothing was posted"
            raise PostingRefusedError(msg)

    def _tag(self, tag: NewTag) -> int:
        if tag not in self._tags:
            group = self._named(tables.tag_groups, "tgr", tag.group, instance_pk=self._instance.pk)
            row = {"instance_pk": self._instance.pk}
            self._tags[tag] = self._named(tables.tags, "tag", tag.name, row, tag_group_pk=group)
        return self._tags[tag]

    def _named(self, table: Table, prefix: str, name: str, row: dict[str, Any] | None = None, **within: int) -> int:
        """Key of the row with this name, made when there is none."""
        if not unicode_text(name, "tag name", most=_LONGEST_TAG):
            msg = "a tag and its group need a name"
            raise PostingRefusedError(msg)
        key = self._connection.execute(select(table.c.pk).filter_by(name=name, **within)).scalar()
        if key is None:
            written = insert(table).values(id=new_id(prefix), name=name, **within, **(row or {}))
            key = self._connection.execute(written.returning(table.c.pk)).scalar_one()
        return int(key)


_OTHER_SIDE = {
    DebitCredit.DEBIT.value: DebitCredit.CREDIT.value,
    DebitCredit.CREDIT.value: DebitCredit.DEBIT.value,
}
_KEY, _ID = 0, 2
_WRITTEN = {
    tables.journal_entries: "journal entry",
    tables.line_entries: "line",
    tables.transactions: "transaction",
    tables.line_entry_tags: "tag",
}

# the same words in either database
_ADD_TO_CASH_DAYS = text(
    "INSERT INTO cash_days (ledger_pk, day, high, low) VALUES (:ledger_pk, :day, :high, :low) "
    "ON CONFLICT (ledger_pk, day) "
    "DO UPDATE SET high = cash_days.high + excluded.high, low = cash_days.low + excluded.low"
)


def _last_key(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.pk), 0))).scalar_one())


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    return (ids[start : start + _IDS_A_QUERY] for start in range(0, len(ids), _IDS_A_QUERY))
