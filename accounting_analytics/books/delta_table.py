"""A Delta table whose Parquet files are named after their SHA-256 digests; it knows no service and no books.

The table has one file a part, such as a month. A commit replaces parts and carries a record as text, together with the
digest of the record before it: an edited, removed or foreign commit is found, and so is every changed file. Files are
read by their names: the readers of deltalake itself can abort a process that ends.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.atomic_files import write_durably
from accounting_analytics.errors import BooksError, ChangedWhileReadingError, InputError
from accounting_analytics.extras import import_extra
from accounting_analytics.messages import quote, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_RECORD = "accounting_analytics"
_DIGEST = "accounting_analytics_digest"
_LOG = "_delta_log"
_KEEP_LOG = {"delta.logRetentionDuration": "interval 36500 days", "delta.enableExpiredLogCleanup": "false"}
_UNREADABLE = re.compile("[\\\\\x00-\x1f\x7f\ud800-\udfff]|%[0-9A-Fa-f]{2}")
_HINT = "copy the folder aside, and sync into a new one"


class PartFile(NamedTuple):
    """The file of a part: its name, which ends in the SHA-256 digest of its bytes, its size, and its rows."""

    name: str
    size: int
    rows: int


@dataclass(frozen=True)
class Commit:
    """One version of the table: when it was written, what its record states, and the digest of both and all before."""

    version: int
    at: dt.datetime
    record: dict[str, Any]
    digest: str

    @property
    def parts(self) -> dict[str, PartFile]:
        """Files of the version by part."""
        return {part: PartFile(*file) for part, file in self.record["parts"].items()}


class PartitionedTable:
    """A Delta table in a folder, with one file for each value of the text column `part_column`."""

    def __init__(self, folder: Path, part_column: str) -> None:
        _require_readable_path(folder)
        self.folder = folder
        self._part_column = part_column

    def commits(self) -> list[Commit]:
        """All commits, oldest first, each checked against the one before; empty where there is no table."""
        return self._read_log() if any((self.folder / _LOG).glob("*.json")) else []

    def _read_log(self) -> list[Commit]:
        """Read the commits of the log up to the one that is the newest now."""
        log = self.folder / _LOG
        with self._naming_damage():
            table = _deltalake().DeltaTable(self.folder)
            listed = {uri.rpartition("/")[2] for uri in table.file_uris()}
            # deltalake's own history() is empty, without an error, where the path of the folder has a # or ?
            history = [_commit_info(log / f"{version:020}.json") for version in range(table.version() + 1)]
        commits = list(self._checked(history))
        if listed != {file.name for file in commits[-1].parts.values()}:
            raise BooksError(f"the files that {log} lists are not those of its record; {_HINT}")
        return commits

    def _checked(self, history: Iterable[Mapping[str, Any]]) -> Iterator[Commit]:
        """Read the record of each commit, and check that it follows the one before."""
        before = ""
        for version, entry in enumerate(history):
            text, digest = entry.get(_RECORD), entry.get(_DIGEST)
            if not isinstance(text, str) or digest is None:
                raise BooksError(
                    f"version {version} of {self.folder} was written by another program "
                    f"({shorten(str(entry.get('operation')))} of {shorten(str(entry.get('engineInfo')))}); {_HINT}"
                )
            if digest != _digest_of(before, text):
                raise BooksError(f"version {version} of {self.folder} was changed after it was written; {_HINT}")
            record = json.loads(text)
            yield Commit(version, dt.datetime.fromisoformat(record["written_at"]), record, digest)
            before = digest

    def save(self, part: str, rows: pa.Table) -> PartFile:
        """Write the file of a part; it belongs to no version before it is committed."""
        buffer = pa.BufferOutputStream()
        pq.write_table(
            rows.replace_schema_metadata(None).combine_chunks(), buffer, compression="zstd", compression_level=1
        )
        content = buffer.getvalue()
        file = PartFile(f"{part}-{hashlib.sha256(content).hexdigest()}.parquet", content.size, rows.num_rows)
        path = self.folder / file.name
        if not (path.exists() and path.stat().st_size == file.size):
            with _naming_folder(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
                write_durably(path, lambda target: target.write(memoryview(content)), remove_leftovers=False)
        return file

    def path(self, file: PartFile) -> Path:
        """Path of a file, if it is as it was written; it is read in parts, whatever its size."""
        path = self.folder / file.name
        with _naming_file(path), path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256")
        self._require_digest(file, digest.hexdigest())
        return path

    def read(self, file: PartFile, columns: list[str] | None = None) -> pa.Table:
        """Rows of a file, if it is as it was written."""
        path = self.folder / file.name
        with _naming_file(path):
            content = path.read_bytes()
        self._require_digest(file, hashlib.sha256(content).hexdigest())
        return pq.read_table(pa.BufferReader(content), columns=columns)

    def _require_digest(self, file: PartFile, digest: str) -> None:
        """Refuse a file whose bytes are not those that were written."""
        if not file.name.endswith(f"-{digest}.parquet"):
            raise BooksError(f"{self.folder / file.name} was changed after it was written; {_HINT}")

    def commit(
        self, schema: pa.Schema, parts: Mapping[str, PartFile], record: Mapping[str, Any], last: Commit | None
    ) -> Commit:
        """Write a version with these parts, unless another one was written since `last`."""
        delta, transaction = _deltalake(), import_extra("deltalake.transaction", "books", "a table of local books")
        at = record["written_at"]
        text = json.dumps({**record, "parts": parts})
        digest = _digest_of("" if last is None else last.digest, text)
        before = {} if last is None else last.parts
        now = time.time_ns() // 1_000_000
        actions: list[Any] = [
            transaction.RemoveAction(
                file.name, data_change=True, deletion_timestamp=now, size=file.size, partition_values=self._values(part)
            )
            for part, file in before.items()
            if parts.get(part) != file
        ]
        actions += [
            transaction.AddAction(
                path=file.name,
                size=file.size,
                partition_values=self._values(part),
                modification_time=now,
                data_change=True,
                stats=json.dumps({"numRecords": file.rows}),
            )
            for part, file in parts.items()
            if before.get(part) != file
        ]
        options = {
            "partition_by": [self._part_column],
            "commit_properties": transaction.CommitProperties(
                custom_metadata={_RECORD: text, _DIGEST: digest}, max_commit_retries=0
            ),
            "post_commithook_properties": transaction.PostCommitHookProperties(cleanup_expired_logs=False),
        }
        stored = delta.Schema.from_arrow(schema.append(pa.field(self._part_column, pa.string())))
        with _naming_folder(self.folder):
            try:
                if last is None:
                    transaction.create_table_with_add_actions(
                        str(self.folder), stored, actions, configuration=_KEEP_LOG, **options
                    )
                else:
                    table = delta.DeltaTable(self.folder, version=last.version)
                    table.create_write_transaction(actions, "append", stored, **options)
            except delta.exceptions.CommitFailedError as error:
                raise ChangedWhileReadingError(
                    f"another program wrote to {self.folder} meanwhile; nothing was changed, sync again"
                ) from error
            except delta.exceptions.DeltaError as error:
                reason = quote(str(error))
                raise InputError(f"{self.folder} cannot be written ({reason}); the books are unchanged") from error
        return Commit(0 if last is None else last.version + 1, dt.datetime.fromisoformat(at), json.loads(text), digest)

    def remove_unused(self, kept: Iterable[Commit]) -> int:
        """Delete the files that none of these versions has; return how many there were."""
        names = {file.name for commit in kept for file in commit.parts.values()}
        unused = [path for path in self.folder.glob("*.parquet*") if path.name not in names]
        for path in unused:
            path.unlink(missing_ok=True)
        return len(unused)

    def has_files(self, commit: Commit) -> bool:
        """Whether the files of a version are still kept."""
        return all((self.folder / file.name).exists() for file in commit.parts.values())

    def _values(self, part: str) -> dict[str, str]:
        return {self._part_column: part}

    @contextmanager
    def _naming_damage(self) -> Iterator[None]:
        """Name the log in an error of its reader."""
        delta = _deltalake()
        try:
            yield
        except (delta.exceptions.DeltaError, OSError, ValueError, KeyError) as error:
            reason = quote(shorten(str(error)))
            raise BooksError(f"{self.folder / _LOG} cannot be read ({reason}); {_HINT}") from error


def _digest_of(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()


def _commit_info(commit: Path) -> dict[str, Any]:
    """Read what a commit states about itself: one of the actions in its file, or nothing."""
    try:
        actions = [json.loads(line) for line in commit.read_bytes().splitlines()]
    except FileNotFoundError:
        raise BooksError(f"commits are missing in {commit.parent}, the first of them {commit.name}; {_HINT}") from None
    return next((action["commitInfo"] for action in actions if "commitInfo" in action), {})


def _require_readable_path(folder: Path) -> None:
    """Refuse a path that deltalake reads as another one: it decodes %20, and a backslash ends a name for it."""
    path = str(folder.resolve())
    if not _UNREADABLE.search(path):
        return
    raise InputError(
        f"local books cannot be in the folder {quote(path, limit=400)}: the path of Delta tables cannot have a "
        "backslash, a percent sign with two hexadecimal digits, a control character or bytes that are not UTF-8; "
        "nothing was read or written, name another folder, to which local books can be moved as they are"
    )


def _deltalake() -> Any:  # noqa: ANN401 (a module)
    return import_extra("deltalake", "books", "a table of local books")


@contextmanager
def _naming_file(path: Path) -> Iterator[None]:
    """Name a file that is missing or cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise BooksError(f"{path} is missing; {_HINT}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def _naming_folder(folder: Path) -> Iterator[None]:
    """Name the folder in an error of the file system, such as a full disk."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror or error}); the books are unchanged") from error
