"""Posting of journal entries, checked and written in one database transaction.

The entries are plain values of :mod:`accounting_analytics.journals.entries`. Missing ids are created.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Table, func, insert, select
from sqlalchemy.exc import IntegrityError

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.journals.entries import (
    LINE_TEXTS,
    NewLine,
    NewTag,
    NewTransaction,
    check_entry,
    check_id,
    derived_id,
)
from accounting_analytics.service import tables
from accounting_analytics.service.audit_log import record
from accounting_analytics.service.database import Store, id_batches, read_instance, read_ledgers
from accounting_analytics.service.stored_values import (
    POST_ENTRIES,
    Instance,
    StoredLedger,
    new_ids,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

    from accounting_analytics.journals.entries import NewJournalEntry


def moved_cash_ledger(lines: Iterable[tuple[StoredLedger, int]]) -> StoredLedger | None:
    """Find the cash ledger that an entry moves most. Of equal amounts, the first by sort code is chosen."""
    movements: defaultdict[str, int] = defaultdict(int)
    ledgers = {}
    for ledger, units in lines:
        if ledger.report_cash_flow:
            movements[ledger.id] += units
            ledgers[ledger.id] = ledger
    return min(
        ledgers.values(), key=lambda ledger: (-abs(movements[ledger.id]), ledger.sort_code, ledger.id), default=None
    )


_POSTED_STATUS = "posted"
AS_POSTED = "as_posted"
"""Categorization method of a transaction that still has the categories with which its journal entry was posted."""

_BATCH_ENTRIES = 2000


def post_entries(store: Store, instance_id: str, entries: Iterable[NewJournalEntry]) -> list[str]:
    """Post all journal entries or none, and return their ids in order."""
    with store.writing() as connection:
        instance = read_instance(connection, instance_id)
        ledgers = {ledger.id: ledger for ledger in read_ledgers(connection, instance)}
        return JournalWriter(connection, instance, ledgers).post(entries)


class _NewRows:
    """Rows to be written to a table.

    Values are in the order of the columns.
    """

    def __init__(self, connection: Connection, table: Table, name: str) -> None:
        columns = table.c.keys()
        marks = ["?" if connection.dialect.paramstyle == "qmark" else "%s"] * len(columns)
        self._insert = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join(marks)})"  # noqa: S608 (our own names)
        self._connection, self._table, self._name = connection, table, name
        self._given_ids = set[str]()
        self.rows: list[tuple[Any, ...]] = []

    def choose_id(self, given: str | None, new: str) -> str:
        """Return the given id, else the new id. Refuse an id that is given twice."""
        if given is None:
            return new
        if given in self._given_ids:
            raise PostingRefusedError(f"{self._name} id {given!r} is used twice")
        self._given_ids.add(check_id(given, self._name))
        return given

    def write(self) -> None:
        """Insert the rows through the driver, which is twice as fast."""
        if self.rows:
            self._connection.exec_driver_sql(self._insert, self.rows)

    def clear(self) -> None:
        """Begin the next batch."""
        self.rows, self._given_ids = [], set()

    def refuse_known_ids(self, instance: Instance) -> None:
        """Refuse given ids that the books already have."""
        for chunk in id_batches(sorted(self._given_ids)):
            known = select(self._table.c.id).where(
                self._table.c.instance_pk == instance.pk, self._table.c.id.in_(chunk)
            )
            if duplicate := self._connection.execute(known.limit(1)).scalar():
                raise PostingRefusedError(f"{self._name} id {duplicate!r} is already in the books; nothing was posted")


class JournalWriter:
    """The journal of an instance, in a write transaction.

    `ledgers` maps the names that lines use to ledgers.
    """

    def __init__(self, connection: Connection, instance: Instance, ledgers: Mapping[str, StoredLedger]) -> None:
        self._connection = connection
        self._instance = instance
        self._ledgers = ledgers
        self._zone = ZoneInfo(instance.time_zone)
        self._tag_keys: dict[NewTag, int] = {}
        self._entry_keys = count(_last_key(connection, tables.journal_entries) + 1)
        self._line_keys = count(_last_key(connection, tables.line_entries) + 1)
        self._entries = _NewRows(connection, tables.journal_entries, "journal entry")
        self._lines = _NewRows(connection, tables.line_entries, "line")
        self._transactions = _NewRows(connection, tables.transactions, "transaction")
        self._tags = _NewRows(connection, tables.line_entry_tags, "tag")
        self._entry_ids, self._transaction_ids = new_ids("ent"), new_ids("txn")

    def post(
        self,
        entries: Iterable[NewJournalEntry],
        *,
        operation: str = POST_ENTRIES,
        source: Mapping[str, str] = MappingProxyType({}),
    ) -> list[str]:
        """Write entries with one audit row, which states their `source`, and return their ids."""
        numbered = enumerate(entries)
        posted: list[tuple[Any, ...]] = []
        while batch := list(islice(numbered, _BATCH_ENTRIES)):
            posted += self._post_batch(batch)
        if posted:
            keys = {"first_key": str(posted[0][0]), "last_key": str(posted[-1][0])}
            after = {**source, "entries": str(len(posted)), **keys}
            record(self._connection, self._instance, operation, {}, after)
        return [entry_id for _, entry_id in posted]

    def _post_batch(self, batch: list[tuple[int, NewJournalEntry]]) -> list[tuple[int, str]]:
        """Write a batch of entries, and return their keys and ids."""
        all_rows = self._entries, self._lines, self._transactions, self._tags
        for rows in all_rows:
            rows.clear()
        posted = []
        for number, entry in batch:
            try:
                posted.append(self._add(entry))
            except PostingRefusedError as error:
                name = f" {entry.id!r}" if entry.id else ""
                raise PostingRefusedError(
                    f"journal entry {number + 1}{name}: {error}; nothing was posted", entry_index=number
                ) from error
        try:
            with self._connection.begin_nested():
                for rows in all_rows:
                    rows.write()
        except IntegrityError:
            for rows in all_rows[:3]:
                rows.refuse_known_ids(self._instance)
            raise
        return posted

    def _add(self, entry: NewJournalEntry) -> tuple[int, str]:
        """Check an entry, and collect its rows for the batch.

        Return the key and the id of the entry.
        """
        check_entry(entry, self._instance.scale)
        self._check_day(entry.datetime)
        ledgers = [self._find_ledger(line.ledger_id) for line in entry.lines]
        cash = moved_cash_ledger(zip(ledgers, [line.units for line in entry.lines], strict=True))
        key, entry_id = next(self._entry_keys), self._entries.choose_id(entry.id, next(self._entry_ids))
        instant = tables.microseconds(entry.datetime)
        row = (key, self._instance.pk, entry_id, instant, entry.description, cash.pk if cash else None)
        self._entries.rows.append(row)
        for number, (line, ledger) in enumerate(zip(entry.lines, ledgers, strict=True), start=1):
            line_id = self._lines.choose_id(line.id, f"{entry_id}-{number}")
            self._add_line(key, instant, line_id, line, ledger)
        return key, entry_id

    def _add_line(self, entry_key: int, instant: int, line_id: str, line: NewLine, ledger: StoredLedger) -> None:
        key = next(self._line_keys)
        side = _DEBIT if line.units >= 0 else _CREDIT
        texts = [getattr(line, name) for name in LINE_TEXTS]
        self._lines.rows.append(
            (key, self._instance.pk, line_id, entry_key, ledger.pk, instant, side, line.units, *texts)
        )
        if ledger.financial_account_type is not None:
            self._add_transaction(key, line.transaction or NewTransaction(line.description))
        if line.tags:
            self._tags.rows += [(key, tag) for tag in dict.fromkeys(map(self._tag_key, line.tags))]

    def _add_transaction(self, line_key: int, transaction: NewTransaction) -> None:
        row = (
            line_key,
            self._instance.pk,
            self._transactions.choose_id(transaction.id, next(self._transaction_ids)),
            transaction.description,
            bool(transaction.personal),
            _POSTED_STATUS,
            transaction.review_status,
            transaction.source_account_id,
            AS_POSTED,
        )
        self._transactions.rows.append(row)

    def _check_day(self, moment: dt.datetime) -> None:
        start = self._instance.entries_start
        if start is not None and moment.astimezone(self._zone).date() < start:
            raise PostingRefusedError(
                f"datetime {moment} is before {start}, the first day of the books of the instance"
            )

    def _find_ledger(self, ledger_id: str) -> StoredLedger:
        if ledger_id not in self._ledgers:
            raise PostingRefusedError(f"there is no ledger {ledger_id!r} in instance {self._instance.id!r}")
        return self._ledgers[ledger_id]

    def _tag_key(self, tag: NewTag) -> int:
        if tag not in self._tag_keys:
            texts = (self._instance.id, tag.group, tag.name)  # the tags are the same if books are posted again
            group_row = {"id": derived_id("tgr", *texts[:2]), "name": tag.group}
            group = self._find_or_create(tables.tag_groups, group_row, instance_pk=self._instance.pk)
            row = {"id": derived_id("tag", *texts), "name": tag.name, "instance_pk": self._instance.pk}
            self._tag_keys[tag] = self._find_or_create(tables.tags, row, tag_group_pk=group)
        return self._tag_keys[tag]

    def _find_or_create(self, table: Table, row: dict[str, Any], **within: int) -> int:
        """Return the key of the row with a name. Create the row if it is missing."""
        key = self._connection.execute(select(table.c.pk).filter_by(name=row["name"], **within)).scalar()
        if key is None:
            written = insert(table).values(**row, **within)
            key = self._connection.execute(written.returning(table.c.pk)).scalar_one()
        return int(key)


_DEBIT, _CREDIT = DebitCredit.DEBIT.value, DebitCredit.CREDIT.value


def _last_key(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.pk), 0))).scalar_one())
