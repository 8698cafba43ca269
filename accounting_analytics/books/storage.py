"""Where local books are kept, and what each of their versions states about itself."""

from __future__ import annotations

import datetime as dt
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from filelock import FileLock, Timeout

from accounting_analytics.books.delta_table import Commit, PartitionedTable
from accounting_analytics.errors import BooksError, InputError
from accounting_analytics.exports.books import MonthProof
from accounting_analytics.loader.line_tables import are_within, line_schema, lines_within, sort_lines
from accounting_analytics.loader.load_request import DEFAULT_EXPANSIONS
from accounting_analytics.periods import Period
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.books.delta_table import PartFile


FORMAT = 1
_AGREED = "The service's cash flow report agrees with the line entries to the last digit."
_DIFFERED = "The service's report does not agree with the line entries:"
_NOT_COMPLETE = "Journal entries are not complete:"
_NOT_COMPARED = "Not compared with the service's report."


class MonthRecord(msgspec.Struct, frozen=True):
    """What is known of a month: when all its lines were read, and whether they agree with the service's report.

    A month with a journal entry that is not complete does not agree, whatever its report shows.
    `problem` is why the lines are not complete or differ from the report; empty where they are and agree.
    """

    read_at: str
    compared_at: str = ""
    ties: bool = False
    complete: bool = False
    problem: str = ""

    def proof(self) -> MonthProof:
        """Return what an export states of the month."""
        read_at, compared_at = (
            dt.datetime.fromisoformat(one) if one else None for one in (self.read_at, self.compared_at)
        )
        verdict = _AGREED if self.ties else _NOT_COMPARED if compared_at is None else self._difference()
        verdict += f" {self.problem}." if self.problem else ""
        return MonthProof(verdict, read_at, compared_at if self.ties else None, self.complete)

    def _difference(self) -> str:
        return _DIFFERED if self.complete else _NOT_COMPLETE


class ClosedPeriod(msgspec.Struct, frozen=True):
    """Days whose lines must not change any more, and the version that they were closed with."""

    start_date: str
    end_date: str
    closed_at: str
    version: int


class LineChanges(msgspec.Struct, frozen=True):
    """How many lines a sync added, removed and changed, and in which months."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    months: tuple[str, ...] = ()


class BooksRecord(msgspec.Struct, frozen=True):
    """The record of a version; instants are ISO texts in UTC, dates ISO texts.

    `reaches_back` is whether no ledger has a line before the first day. `anchor` are the cash balances, in minor units,
    that the service reported at the start of the first day.
    """

    format: int
    action: str
    written_at: str
    base_url: str
    instance_id: str
    start_date: str
    end_date: str
    time_zone: str
    scale: int
    reaches_back: bool
    ledgers_version: int
    months: dict[str, MonthRecord]
    anchor: dict[str, int] = msgspec.field(default_factory=dict)
    changes: LineChanges = LineChanges()
    closed: tuple[ClosedPeriod, ...] = ()

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """Read a record; one of another format is refused."""
        if record.get("format") != FORMAT:
            raise BooksError("the local books were written by another version: sync into a new folder")
        return msgspec.convert(record, cls)

    @property
    def period(self) -> Period:
        """The days of the books."""
        return Period(self.start_date, self.end_date, self.time_zone)

    @property
    def ties(self) -> bool:
        """Whether every month agrees with the service's report."""
        return all(one.ties for one in self.months.values())

    @property
    def complete(self) -> bool:
        """Whether every journal entry of every month is complete."""
        return all(one.complete for one in self.months.values())

    @property
    def instant(self) -> dt.datetime:
        """When the version was written."""
        return dt.datetime.fromisoformat(self.written_at)

    @property
    def synced_at(self) -> dt.datetime:
        """When the last sync began, which compared every month; closing some days is a version too."""
        return dt.datetime.fromisoformat(max(one.compared_at for one in self.months.values()))

    def summary(self) -> str:
        """Write what the last sync proved, as one sentence."""
        count = len(self.months)
        differing = [month for month, one in self.months.items() if not one.ties]
        if differing:
            first = f"{differing[0]}: {self.months[differing[0]].problem}"
            differ = any(self.months[month].complete for month in differing)
            what = "do not agree with the service's report" if differ else "have journal entries that are not complete"
            return f"{len(differing)} of {count} months {what}; first {first}"
        return f"all {count} months agree with the service's cash flow reports"

    def describe_held(self, period: Period) -> str:
        """Say which days of a period the books have, and what to do."""
        first, last = max(period.start_date, self.period.start_date), min(period.end_date, self.period.end_date)
        held = f"for the days that they have, use {first}/{last}; " if first <= last else ""
        earlier = [f"start_date='{period.start_date}'"] if period.start_date < self.period.start_date else []
        later = [f"end_date='{period.end_date}'"] if period.end_date > self.period.end_date else []
        return (
            f"the local books have {self.period}, which does not include all of {period}; {held}to extend them, sync "
            f"with {' and '.join(earlier + later)}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON types."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


_WHOLE = "all"
Choice: TypeAlias = "Callable[[pa.Table], pa.ChunkedArray]"
"""Which lines of a table are chosen."""


class Version(NamedTuple):
    """A version of the books: its commit, and what its record states."""

    commit: Commit
    record: BooksRecord

    @property
    def number(self) -> int:
        """Number of the version, from 0."""
        return self.commit.version

    @property
    def label(self) -> str:
        """Number of the version and when it was written."""
        return f"version {self.number} ({self.record.instant:%Y-%m-%d %H:%M} UTC)"


@cache
def table_schema(scale: int) -> pa.Schema:
    """Columns of the line entries."""
    return line_schema(frozenset(DEFAULT_EXPANSIONS), scale)


_STATED = ("required", "discovery", "notes")
"""What a chart of accounts states about itself, in its ``attrs``."""


class BooksFolder:
    """The folder of local books."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines = PartitionedTable(folder / "lines", "month")
        self.ledgers = PartitionedTable(folder / "ledgers", "part")
        self.first_load = folder / "first-load"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one writer; another one is refused."""
        lock = FileLock(self.folder / "books.lock", timeout=0)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise InputError(
                f"another program is writing to the local books {self.folder}; wait for it, then try again"
            ) from None
        except OSError as error:
            raise InputError(
                f"the local books {self.folder} cannot be written ({error.strerror or error}); nothing was changed"
            ) from error
        try:
            yield
        finally:
            lock.release()

    def versions(self) -> list[Version]:
        """All versions, oldest first."""
        return [Version(commit, BooksRecord.of(commit.record)) for commit in self.lines.commits()]

    def read_lines(self, version: Version, months: Iterable[str]) -> pa.Table:
        """Line entries of some months of a version, ordered by (datetime, id)."""
        parts = version.commit.parts
        empty = table_schema(version.record.scale).empty_table()
        tables = [self.lines.read(parts[one]).cast(empty.schema) for one in sorted(months) if one in parts]
        return pa.concat_tables([empty, *tables])

    def read_ledgers(self, number: int) -> pd.DataFrame:
        """Read the chart of accounts of a version of its table."""
        commits = self.ledgers.commits()
        if number >= len(commits):
            raise BooksError(f"version {number} of {self.ledgers.folder} is missing; sync into a new folder")
        commit = commits[number]
        frame = self.ledgers.read(commit.parts[_WHOLE]).to_pandas(ignore_metadata=True)
        ledgers = Ledgers.require_valid(frame.reindex(columns=list(Ledgers.dtypes())).astype(Ledgers.dtypes()))
        ledgers.attrs |= {name: commit.record[name] for name in _STATED}
        ledgers.attrs["notes"] = tuple(commit.record["notes"])
        return ledgers

    def write_ledgers(self, ledgers: pd.DataFrame, at: str) -> int:
        """Write a version of the chart of accounts if it is another one than before; return its number."""
        table = pa.Table.from_pandas(ledgers[list(Ledgers.dtypes())], preserve_index=False).replace_schema_metadata(
            None
        )
        record = {"written_at": at} | {name: ledgers.attrs[name] for name in _STATED}
        record["notes"] = list(ledgers.attrs["notes"])
        file = self.ledgers.save(_WHOLE, table)
        commits = self.ledgers.commits()
        last = commits[-1] if commits else None
        if last is not None and last.parts[_WHOLE] == file and _is_same(last.record, record):
            return last.version
        return self.ledgers.commit(table.schema, {_WHOLE: file}, record, last).version


def _is_same(before: Mapping[str, object], record: Mapping[str, object]) -> bool:
    return all(before[name] == record[name] for name in _STATED)


class WorkingCopy:
    """The months of books while they are synced: files that no version has yet."""

    def __init__(self, table: PartitionedTable, parts: Mapping[str, PartFile], scale: int) -> None:
        self._table = table
        self.parts = dict(parts)
        self._empty = table_schema(scale).empty_table()
        self._arrived: dict[str, str] = {}
        self._last_read: tuple[PartFile | None, pa.Table] = None, self._empty

    def read(self, month: str) -> pa.Table:
        """Line entries of a month; the one that was read last stays in memory."""
        if month not in self.parts:
            return self._empty
        if self._last_read[0] != self.parts[month]:
            self._last_read = self.parts[month], self._table.read(self.parts[month]).cast(self._empty.schema)
        return self._last_read[1]

    def replace(self, days: Period, lines: pa.Table, chosen: Choice | None = None) -> None:
        """Replace the lines of some days, all or those chosen; a month that stays the same keeps its file."""
        for month in days.months():
            before = self.read(month.month)
            replaced = are_within(before, days)
            if chosen is not None:
                replaced = pc.and_(replaced, chosen(before))
            self._save(month, before, before.filter(pc.invert(replaced)), lines)

    def add(self, days: Period, lines: pa.Table) -> None:
        """Add lines of ledgers that no month has yet."""
        for month in days.months():
            name, new = month.month, lines_within(lines, month)
            if new.num_rows or name not in self.parts:
                before = self.read(name)
                self._save(month, before, before, new)

    def remove_moved(self) -> None:
        """Remove lines that were read in one month from the months that they were in before."""
        moved, self._arrived = self._arrived, {}
        for name, file in list(self.parts.items()) if moved else ():
            found = self._table.read(file, columns=["id"])["id"]
            found = found.filter(_are_in(found, pa.array(moved, pa.string())))
            stale = [line_id for line_id in found.to_pylist() if moved[line_id] != name]
            if stale:
                lines = self.read(name)
                kept = lines.filter(pc.invert(_are_in(lines["id"], pa.array(stale, pa.string()))))
                self.parts[name] = self._table.save(name, kept)

    def _save(self, month: Period, before: pa.Table, kept: pa.Table, lines: pa.Table) -> None:
        """Write a month: lines that were just read, and those that are kept because they are not among them."""
        name, new = month.month, lines_within(lines, month).cast(self._empty.schema)
        if name in self.parts:
            stayed = before["id"].filter(pc.invert(_are_in(before["id"], pa.array(self._arrived, pa.string()))))
            arrived = new["id"].filter(pc.invert(_are_in(new["id"], stayed)))
            self._arrived |= dict.fromkeys(arrived.to_pylist(), name)
        kept = kept.filter(pc.invert(_are_in(kept["id"], new["id"])))
        self.parts[name] = self._table.save(name, sort_lines(pa.concat_tables([kept, new])))


def _are_in(ids: pa.ChunkedArray, others: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return pc.is_in(ids, value_set=others)
