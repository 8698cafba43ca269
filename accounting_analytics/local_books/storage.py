"""The folder of local books: a Delta table of lines, and charts of accounts.

The table has one Parquet file a month. Each commit of the table contains a version as text, with a SHA-256 of this
version and all versions before, so that an edited, removed or foreign commit is found. Each file is named after the
SHA-256 of its bytes, which is checked whenever it is read.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from accounting_analytics.core.atomic_files import write_durably
from accounting_analytics.core.day_ranges import DayRange, days_to_text
from accounting_analytics.core.errors import BooksError, ChangedWhileReadingError, InputError
from accounting_analytics.core.extras import import_extra
from accounting_analytics.core.load_metadata import to_table_metadata
from accounting_analytics.core.messages import quote, shorten
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.loading.arrow_lines import are_within, line_schema, lines_within, sort_lines
from accounting_analytics.loading.request import DEFAULT_EXPANSIONS
from accounting_analytics.local_books.versions import StoredFile, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.core.periods import Period

_VERSION, _DIGEST = "accounting_analytics", "accounting_analytics_digest"
_LINES, _LEDGERS = "lines", "ledgers"
_KEEP_LOG = {"delta.logRetentionDuration": "interval 36500 days"}
_UNREADABLE = re.compile("[\\\\\x00-\x1f\x7f\ud800-\udfff]|%[0-9A-Fa-f]{2}")
_HINT = "copy the folder aside, and sync into a new one"


@cache
def table_schema(scale: int) -> pa.Schema:
    """Return the columns of the line entries."""
    return line_schema(frozenset(DEFAULT_EXPANSIONS), scale)


def exact_lines(lines: pa.Table, days: Period, *, scale: int) -> pa.Table:
    """Attach the metadata of a complete load to lines, for calculations."""
    metadata = load_metadata(lines.num_rows, days, (), scale)
    return lines.replace_schema_metadata(to_table_metadata(metadata))


def load_metadata(count: int, days: Period, ledger_ids: Iterable[str], scale: int) -> dict[str, Any]:
    """Return the metadata of a complete load of `count` lines."""
    covered = days_to_text([DayRange.of_period(days)])
    return {
        "start_date": days.start_date.isoformat(),
        "end_date": days.end_date.isoformat(),
        "time_zone": days.time_zone,
        "expand": sorted(DEFAULT_EXPANSIONS),
        "scale": scale,
        "filters": {},
        "complete": True,
        "ledgers": json.dumps(dict.fromkeys(ledger_ids, covered)),
        "missing": {},
        "consistency": "combined",
        "of_one_moment": "not checked",
        "windows": 0,
        "pages": 0,
        "lines": count,
    }


class BooksFolder:
    """The folder of local books. A path that deltalake misreads is refused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first_load = folder / "first-load"
        self._delta = import_extra("deltalake", "books", "local books")
        self._log = folder / _LINES / "_delta_log"
        path = str(folder.resolve())
        if _UNREADABLE.search(path):
            raise InputError(
                f"local books cannot be in the folder {quote(path, limit=400)}: the path of Delta tables cannot have a "
                "backslash, a percent sign with two hexadecimal digits, a control character or bytes that are not "
                "UTF-8; nothing was read or written, name another folder, to which local books can be moved as they are"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for one writer. Refuse a second writer."""
        lock = FileLock(self.folder / "books.lock", timeout=0)
        with _naming_folder(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
            except Timeout:
                raise InputError(
                    f"another program is writing to the local books {self.folder}; wait for it, then try again"
                ) from None
        try:
            yield
        finally:
            lock.release()

    def versions(self) -> list[Version]:
        """Return all versions, oldest first."""
        return [version for version, _ in self._versions_with_digests()]

    def _versions_with_digests(self) -> Iterator[tuple[Version, str]]:
        """Yield each version with a digest.

        The digest covers the version and all versions before. The files of the log are read directly, because history()
        of deltalake is empty if the path has a # or ?.
        """
        digest = ""
        for number, path in enumerate(sorted(self._log.glob("*.json"))):
            if path.name != _commit_name(number):
                raise BooksError(
                    f"commits are missing in {self._log}, the first of them {_commit_name(number)}; {_HINT}"
                )
            stated = _commit_info(path)
            text = stated.get(_VERSION)
            if not isinstance(text, str):
                raise BooksError(
                    f"version {number} of {self.folder} was written by another program "
                    f"({shorten(str(stated.get('operation')))} of {shorten(str(stated.get('engineInfo')))}); {_HINT}"
                )
            digest = _digest_of(digest, text)
            if digest != stated.get(_DIGEST):
                raise BooksError(f"version {number} of {self.folder} was changed after it was written; {_HINT}")
            try:
                version = msgspec.json.decode(text, type=Version)
            except msgspec.ValidationError:
                raise BooksError(
                    "the local books were written by another version of this package: sync into a new folder"
                ) from None
            yield version, digest

    def commit(self, version: Version) -> None:
        """Write the next version completely or not at all. Its files must exist."""
        commits = list(self._versions_with_digests())
        if len(commits) != version.number:
            raise ChangedWhileReadingError(
                f"another program wrote to {self.folder} meanwhile; nothing was changed, sync again"
            )
        before, digest = commits[-1] if commits else (None, "")
        text = msgspec.json.encode(version).decode()
        delta, transaction = self._delta, import_extra("deltalake.transaction", "books", "local books")
        changed = list(version.files) if before is None else before.changed_months(version)
        now = time.time_ns() // 1_000_000
        actions = [
            transaction.AddAction(
                path=version.files[month].path.removeprefix(f"{_LINES}/"),
                size=version.files[month].size,
                partition_values={"month": month},
                modification_time=now,
                data_change=True,
                stats=json.dumps({"numRecords": version.files[month].rows}),
            )
            for month in changed
        ]
        schema = delta.Schema.from_arrow(table_schema(version.scale).append(pa.field("month", pa.string())))
        metadata = {_VERSION: text, _DIGEST: _digest_of(digest, text)}
        properties = transaction.CommitProperties(custom_metadata=metadata, max_commit_retries=0)
        options = {"partition_by": ["month"], "commit_properties": properties}
        table = self.folder / _LINES
        with _naming_folder(self.folder):
            try:
                if before is None:
                    transaction.create_table_with_add_actions(
                        str(table), schema, actions, configuration=_KEEP_LOG, **options
                    )
                else:
                    replaced = [("month", "in", changed)]
                    opened = delta.DeltaTable(table, version=before.number)
                    opened.create_write_transaction(actions, "overwrite", schema, partition_filters=replaced, **options)
            except delta.exceptions.DeltaError as error:
                reason = quote(str(error))
                raise InputError(f"{table} cannot be written ({reason}); the books are unchanged") from error

    def save(self, name: str, rows: pa.Table) -> StoredFile:
        """Write a file. It belongs to no version until a commit."""
        buffer = pa.BufferOutputStream()
        pq.write_table(rows.combine_chunks(), buffer, compression="zstd", compression_level=1)
        content = buffer.getvalue()
        file = StoredFile(f"{name}-{hashlib.sha256(content).hexdigest()}.parquet", content.size, rows.num_rows)
        path = self.folder / file.path
        if not (path.exists() and path.stat().st_size == file.size):
            with _naming_folder(self.folder):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_durably(path, lambda target: target.write(memoryview(content)), remove_leftovers=False)
        return file

    def path(self, file: StoredFile) -> Path:
        """Return the path of a file. Refuse a changed file."""
        path = self.folder / file.path
        try:
            with path.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
        except FileNotFoundError:
            raise BooksError(f"{path} is missing; {_HINT}") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
        if not file.path.endswith(f"-{digest}.parquet"):
            raise BooksError(f"{path} was changed after it was written; {_HINT}")
        return path

    def read(self, file: StoredFile, columns: list[str] | None = None) -> pa.Table:
        """Read the rows of a file."""
        with pq.ParquetFile(self.path(file)) as opened:
            return opened.read(columns)

    def save_month(self, month: str, lines: pa.Table) -> StoredFile:
        """Write the lines of a month."""
        return self.save(f"{_LINES}/{month}", lines)

    def read_lines(self, version: Version, months: Iterable[str]) -> pa.Table:
        """Read some months of a version, ordered by (datetime, id)."""
        tables = [self.read(version.files[month]) for month in sorted(months) if month in version.files]
        return pa.concat_tables([table_schema(version.scale).empty_table(), *tables])

    def save_ledgers(self, ledgers: pd.DataFrame) -> StoredFile:
        """Write a chart of accounts with its attrs."""
        return self.save(f"{_LEDGERS}/{_LEDGERS}", pa.Table.from_pandas(ledgers, preserve_index=False))

    def read_ledgers(self, version: Version) -> pd.DataFrame:
        """Read the chart of accounts of a version."""
        ledgers: pd.DataFrame = Ledgers.require_valid(self.read(version.ledgers).to_pandas())
        ledgers.attrs["notes"] = tuple(ledgers.attrs["notes"])
        return ledgers

    def has_files(self, version: Version) -> bool:
        """Return whether the files of a version are still kept."""
        return all((self.folder / file.path).exists() for file in (version.ledgers, *version.files.values()))

    def remove_unused(self, kept: Iterable[Version]) -> int:
        """Delete the files that no kept version has, and return their number."""
        names = {file.path for version in kept for file in (version.ledgers, *version.files.values())}
        paths = [path for name in (_LINES, _LEDGERS) for path in (self.folder / name).glob("*.parquet*")]
        unused = [path for path in paths if f"{path.parent.name}/{path.name}" not in names]
        for path in unused:
            path.unlink(missing_ok=True)
        return len(unused)


def _commit_name(number: int) -> str:
    return f"{number:020}.json"


def _commit_info(commit: Path) -> dict[str, Any]:
    """Read the commitInfo of a commit's file, or return {}."""
    try:
        actions = [json.loads(line) for line in commit.read_bytes().splitlines()]
    except (OSError, ValueError) as error:
        raise BooksError(f"{commit} cannot be read ({quote(shorten(str(error)))}); {_HINT}") from error
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def _digest_of(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


@contextmanager
def _naming_folder(folder: Path) -> Iterator[None]:
    """Add the folder to an error of the file system."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror or error}); the books are unchanged") from error


_KEYS = ["ledger_id", "journal_entry_id", "datetime"]
"""Columns that a `Choice` reads."""
Choice: TypeAlias = "Callable[[pa.Table], pa.ChunkedArray]"
"""A function that marks the chosen lines of a table."""


class WorkingCopy:
    """The months of books during a sync: files that no version has yet."""

    def __init__(self, folder: BooksFolder, files: Mapping[str, StoredFile], scale: int) -> None:
        self._folder = folder
        self.files = dict(files)
        self._empty = table_schema(scale).empty_table()
        self._arrived: dict[str, str] = {}

    def read(self, month: str, columns: list[str] | None = None) -> pa.Table:
        """Read the line entries of a month, or only some columns."""
        if month in self.files:
            return self._folder.read(self.files[month], columns)
        return self._empty if columns is None else self._empty.select(columns)

    def read_days(self, days: Period) -> pa.Table:
        """Read line entries of some days."""
        tables = [lines_within(self.read(month.month), days) for month in days.months()]
        return pa.concat_tables([self._empty, *tables])

    def replace(self, days: Period, lines: pa.Table, chosen: Choice | None = None) -> None:
        """Replace all lines of some days, or only the chosen lines."""
        for month in days.months():
            new = lines_within(lines, month).cast(self._empty.schema)
            if chosen is not None and not new.num_rows and not self._has_any(month, chosen):
                continue
            before = self.read(month.month)
            replaced = are_within(before, month)
            if chosen is not None:
                replaced = pc.and_(replaced, chosen(before))
            # a line that moved to another month may have moved back here
            is_same = month.month in self.files and not self._arrived and before.filter(replaced).equals(new)
            if not is_same:
                self._save(month, before, before.filter(pc.invert(replaced)), new)

    def _has_any(self, month: Period, chosen: Choice) -> bool:
        """Return whether a month has a chosen line, or no file yet."""
        keys = lines_within(self.read(month.month, _KEYS), month)
        return month.month not in self.files or bool(pc.any(chosen(keys)).as_py())

    def add(self, days: Period, lines: pa.Table) -> pa.Table:
        """Add lines of new ledgers, and return the other lines of the same entries."""
        others = [self._empty]
        for month in days.months():
            before, new = self.read(month.month), lines_within(lines, month).cast(self._empty.schema)
            others.append(before.filter(_are_in(before["journal_entry_id"], new["journal_entry_id"])))
            self._save(month, before, before, new)
        return pa.concat_tables(others)

    def remove_moved(self) -> None:
        """Remove lines that moved to another month from the month that had them before."""
        moved, self._arrived = self._arrived, {}
        for name in list(self.files) if moved else ():
            found = self.read(name, ["id"])["id"]
            found = found.filter(_are_in(found, pa.array(moved, pa.string())))
            stale = [line_id for line_id in found.to_pylist() if moved[line_id] != name]
            if stale:
                lines = self.read(name)
                kept = lines.filter(pc.invert(_are_in(lines["id"], pa.array(stale, pa.string()))))
                self.files[name] = self._folder.save_month(name, kept)

    def _save(self, month: Period, before: pa.Table, kept: pa.Table, new: pa.Table) -> None:
        """Write a month with its new and kept lines.

        A month that stays the same is not written.
        """
        name = month.month
        after = sort_lines(pa.concat_tables([kept.filter(pc.invert(_are_in(kept["id"], new["id"]))), new]))
        if name in self.files:
            stayed = before["id"].filter(pc.invert(_are_in(before["id"], pa.array(self._arrived, pa.string()))))
            arrived = new["id"].filter(pc.invert(_are_in(new["id"], stayed)))
            self._arrived |= dict.fromkeys(arrived.to_pylist(), name)
        if name not in self.files or not after.equals(before):
            self.files[name] = self._folder.save_month(name, after)


def _are_in(ids: pa.ChunkedArray, others: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    return pc.is_in(ids, value_set=others)
