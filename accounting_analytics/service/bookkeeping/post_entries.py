"""Journal entries to post, and their posting: they are checked and written in one database transaction.

The entries are plain values without checks: :func:`post_entries` checks them, and creates the ids that are not given.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from decimal import Decimal
from itertools import count, islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from sqlalchemy import Connection, Table, func, insert, select
from sqlalchemy.exc import IntegrityError

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import AmountError, PostingRefusedError
from accounting_analytics.money import format_amount, from_minor_units
from accounting_analytics.service.bookkeeping.audit_log import record
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import Store, id_batches, read_instance, read_ledgers
from accounting_analytics.service.wire.stored_values import (
    POST_ENTRIES,
    Instance,
    StoredLedger,
    check_id,
    check_text,
    derived_id,
    new_ids,
    to_units,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class NewTransaction(msgspec.Struct, frozen=True, gc=False):
    """The transaction of a line on a ledger with a financial account type."""

    description: str = ""
    personal: bool = False
    review_status: str = "unreviewed"
    source_account_id: str | None = None
    id: str | None = None


class NewTag(msgspec.Struct, frozen=True, order=True, gc=False):
    """A tag, identified by the names of its group and itself."""

    group: str
    name: str


class NewLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a journal entry; a negative amount is posted as its magnitude on the other side.

    A transaction is only on a ledger with a financial account type, where one is created if none is given.
    """

    ledger_id: str
    debit_credit: str
    amount: Decimal
    description: str = ""
    transaction: NewTransaction | None = None
    tags: tuple[NewTag, ...] = ()
    id: str | None = None


class NewJournalEntry(msgspec.Struct, frozen=True, gc=False):
    """A journal entry at an aware instant: at least two lines, whose debits equal their credits."""

    datetime: dt.datetime
    description: str
    lines: tuple[NewLine, ...]
    id: str | None = None


def moved_cash_ledger(lines: Iterable[tuple[StoredLedger, int]]) -> StoredLedger | None:
    """Cash ledger that an entry moves most, ties by sort code and id; None if no line is on a cash ledger."""
    movements: defaultdict[str, int] = defaultdict(int)
    ledgers = {}
    for ledger, units in lines:
        if ledger.report_cash_flow:
            movements[ledger.id] += units
            ledgers[ledger.id] = ledger
    return min(
        ledgers.values(), key=lambda ledger: (-abs(movements[ledger.id]), ledger.sort_code, ledger.id), default=None
    )


REVIEW_STATUSES = ("reviewed", "unreviewed")
_POSTED_STATUS = "posted"
AS_POSTED = "as_posted"
"""Categorization method of a transaction with the categories of its journal entry."""

_BATCH_ENTRIES = 2000
_MIN_LINES = 2
_MAX_TAG_LENGTH = 500
# instants that every time zone can convert
_FIRST = dt.datetime(1, 1, 3, tzinfo=dt.UTC)
_LAST = dt.datetime(9999, 12, 29, tzinfo=dt.UTC)


def post_entries(store: Store, instance_id: str, entries: Iterable[NewJournalEntry]) -> list[str]:
    """Post journal entries, all of them or none, and return their ids in the order given.

    The error about one that cannot be posted has its position as ``entry_index``.
    """
    with store.writing() as connection:
        instance = read_instance(connection, instance_id)
        ledgers = {ledger.id: ledger for ledger in read_ledgers(connection, instance)}
        return PostedJournal(connection, instance, ledgers).post(entries)


class _CheckedLine(NamedTuple):
    """A line with its ledger, signed units (debit positive) and the side that they are on."""

    line: NewLine
    ledger: StoredLedger
    units: int
    side: str


class PostedJournal:
    """The journal of an instance, to which entries are posted; the connection is in a write transaction."""

    def __init__(self, connection: Connection, instance: Instance, ledgers: Mapping[str, StoredLedger]) -> None:
        self._connection = connection
        self._instance = instance
        self._ledgers = ledgers
        self._zone = ZoneInfo(instance.localtime)
        self._tags: dict[NewTag, int] = {}
        self._next_key = _last_key(connection, tables.journal_entries) + 1
        self._line_keys = count(_last_key(connection, tables.line_entries) + 1)
        self._new_ids = {prefix: new_ids(prefix) for prefix in ("ent", "lin", "txn")}
        self._given_ids: dict[Table, set[str]] = {}
        self._rows: dict[Table, list[dict[str, Any]]] = {}

    def post(
        self,
        entries: Iterable[NewJournalEntry],
        *,
        operation: str = POST_ENTRIES,
        source: Mapping[str, str] = MappingProxyType({}),
    ) -> list[str]:
        """Write entries with one audit row, which says where they come from, and return their ids."""
        numbered = iter(enumerate(entries))
        ids: list[str] = []
        first_key = self._next_key
        while batch := list(islice(numbered, _BATCH_ENTRIES)):
            ids.extend(self._post_batch(batch))
        if ids:
            keys = {"first_key": str(first_key), "last_key": str(first_key + len(ids) - 1)}
            after = {**source, "entries": str(len(ids)), **keys}
            record(self._connection, self._instance, operation, {}, after)
        return ids

    def _post_batch(self, batch: list[tuple[int, NewJournalEntry]]) -> list[str]:
        """Write some entries and return their ids."""
        self._rows = {table: [] for table in _ROW_NAMES}
        self._given_ids = {table: set() for table in _ROW_NAMES}
        for number, entry in batch:
            try:
                self._add(entry)
            except (PostingRefusedError, AmountError) as error:
                name = f" {entry.id!r}" if entry.id else ""
                raise PostingRefusedError(
                    f"journal entry {number + 1}{name}: {error}; nothing was posted", entry_index=number
                ) from error
        self._write()
        entries = self._rows[tables.journal_entries]
        self._next_key += len(entries)
        return [entry["id"] for entry in entries]

    def _add(self, entry: NewJournalEntry) -> None:
        self._check_instant(entry.datetime)
        lines = list(map(self._check_line, entry.lines))
        if len(lines) < _MIN_LINES:
            raise PostingRefusedError(f"an entry has at least {_MIN_LINES} lines, not {len(lines)}")
        amounts = [line.units for line in lines]
        if sum(amounts):
            raise PostingRefusedError(self._describe_imbalance(amounts))
        cash = moved_cash_ledger((line.ledger, line.units) for line in lines)
        key = self._next_key + len(self._rows[tables.journal_entries])
        row = {
            "pk": key,
            "instance_pk": self._instance.pk,
            "id": self._choose_id(tables.journal_entries, entry.id, "ent"),
            "datetime": entry.datetime,
            "description": check_text(entry.description, "description"),
            "cash_ledger_pk": cash.pk if cash else None,
        }
        self._rows[tables.journal_entries].append(row)
        for line in lines:
            self._add_line(key, entry.datetime, line)

    def _add_line(self, entry_key: int, moment: dt.datetime, checked: _CheckedLine) -> None:
        line, ledger, units, side = checked
        key = next(self._line_keys)
        row = {
            "pk": key,
            "instance_pk": self._instance.pk,
            "id": self._choose_id(tables.line_entries, line.id, "lin"),
            "journal_entry_pk": entry_key,
            "ledger_pk": ledger.pk,
            "datetime": moment,
            "debit_credit": side,
            "units": units,
            **{name: check_text(getattr(line, name), f"line {name}") for name in tables.LINE_TEXTS},
        }
        self._rows[tables.line_entries].append(row)
        if ledger.financial_account_type is not None or line.transaction is not None:
            self._add_transaction(key, line, ledger)
        if line.tags:
            tags = dict.fromkeys(map(self._tag_key, line.tags))
            self._rows[tables.line_entry_tags].extend({"line_entry_pk": key, "tag_pk": tag} for tag in tags)

    def _add_transaction(self, line_key: int, line: NewLine, ledger: StoredLedger) -> None:
        if ledger.financial_account_type is None:
            raise PostingRefusedError(
                f"ledger {ledger.id!r} has no financial account type, so its lines have no transaction"
            )
        transaction = line.transaction or NewTransaction(description=line.description)
        if transaction.review_status not in REVIEW_STATUSES:
            raise PostingRefusedError(f"unknown status {transaction.review_status!r} of a transaction")
        source = transaction.source_account_id
        row = {
            "line_entry_pk": line_key,
            "instance_pk": self._instance.pk,
            "id": self._choose_id(tables.transactions, transaction.id, "txn"),
            "description": check_text(transaction.description, "transaction description"),
            "personal": bool(transaction.personal),
            "posted_status": _POSTED_STATUS,
            "review_status": transaction.review_status,
            "source_account_id": None if source is None else check_text(source, "source_account_id"),
            "categorization_method": AS_POSTED,
        }
        self._rows[tables.transactions].append(row)

    def _write(self) -> None:
        """Write the rows of a batch; constraints of the database find duplicate ids."""
        try:
            with self._connection.begin_nested():
                for table, rows in self._rows.items():
                    if rows:
                        self._connection.execute(insert(table), rows)
        except IntegrityError:
            self._raise_duplicate_id()
            raise

    def _check_instant(self, moment: dt.datetime) -> None:
        if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
            raise PostingRefusedError(f"datetime {moment} has no time zone; give an aware datetime")
        if not _FIRST <= moment < _LAST:
            raise PostingRefusedError(f"datetime {moment} is too close to the end of the calendar")
        start = self._instance.entries_start
        if start is not None and moment.astimezone(self._zone).date() < start:
            raise PostingRefusedError(
                f"datetime {moment} is before {start}, the first day of the books of the instance"
            )

    def _find_ledger(self, ledger_id: str) -> StoredLedger:
        if ledger_id not in self._ledgers:
            raise PostingRefusedError(f"there is no ledger {ledger_id!r} in instance {self._instance.id!r}")
        return self._ledgers[ledger_id]

    def _check_line(self, line: NewLine) -> _CheckedLine:
        """Check ledger, side and amount of a line; a negative amount is on the other side."""
        ledger = self._find_ledger(line.ledger_id)
        if line.debit_credit not in _OTHER_SIDE:
            raise PostingRefusedError(f"debit_credit must be 'debit' or 'credit', not {line.debit_credit!r}")
        units = to_units(line.amount, self._instance.scale)
        side = line.debit_credit if units >= 0 else _OTHER_SIDE[line.debit_credit]
        return _CheckedLine(line, ledger, abs(units) if side == DebitCredit.DEBIT else -abs(units), side)

    def _describe_imbalance(self, units: list[int]) -> str:
        debits, credits_ = (
            format_amount(from_minor_units(abs(sum(side)), self._instance.scale))
            for side in ([unit for unit in units if unit > 0], [unit for unit in units if unit < 0])
        )
        return f"debits {debits} do not equal credits {credits_}"

    def _choose_id(self, table: Table, given: str | None, prefix: str) -> str:
        if given is None:
            return next(self._new_ids[prefix])
        if given in self._given_ids[table]:
            raise PostingRefusedError(f"{_ROW_NAMES[table]} id {given!r} is used twice")
        self._given_ids[table].add(check_id(given, _ROW_NAMES[table]))
        return given

    def _raise_duplicate_id(self) -> None:
        for table, given in self._given_ids.items():
            for chunk in id_batches(sorted(given)):
                duplicate = self._connection.execute(
                    select(table.c.id).where(table.c.instance_pk == self._instance.pk, table.c.id.in_(chunk)).limit(1)
                ).scalar()
                if duplicate is not None:
                    raise PostingRefusedError(
                        f"{_ROW_NAMES[table]} id {duplicate!r} is already in the books; nothing was posted"
                    )

    def _tag_key(self, tag: NewTag) -> int:
        if tag not in self._tags:
            texts = (self._instance.id, tag.group, tag.name)  # books that are posted again have the same tags
            group_row = {"id": derived_id("tgr", *texts[:2]), "name": tag.group}
            group = self._find_or_create(tables.tag_groups, group_row, instance_pk=self._instance.pk)
            row = {"id": derived_id("tag", *texts), "name": tag.name, "instance_pk": self._instance.pk}
            self._tags[tag] = self._find_or_create(tables.tags, row, tag_group_pk=group)
        return self._tags[tag]

    def _find_or_create(self, table: Table, row: dict[str, Any], **within: int) -> int:
        """Key of the row with this name, which is created if there is none."""
        if not check_text(row["name"], "tag name", most=_MAX_TAG_LENGTH):
            raise PostingRefusedError("a tag and its group need a name")
        key = self._connection.execute(select(table.c.pk).filter_by(name=row["name"], **within)).scalar()
        if key is None:
            written = insert(table).values(**row, **within)
            key = self._connection.execute(written.returning(table.c.pk)).scalar_one()
        return int(key)


_OTHER_SIDE = {
    DebitCredit.DEBIT.value: DebitCredit.CREDIT.value,
    DebitCredit.CREDIT.value: DebitCredit.DEBIT.value,
}
_ROW_NAMES = {
    tables.journal_entries: "journal entry",
    tables.line_entries: "line",
    tables.transactions: "transaction",
    tables.line_entry_tags: "tag",
}


def _last_key(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.pk), 0))).scalar_one())
