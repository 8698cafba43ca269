"""Stores for the finished windows of a load: memory, or a checkpoint folder.

With a checkpoint a load that failed or was killed continues where it stopped. A window is one Parquet file whose
metadata state its ledger and days. The file gets its name, which is its digest, only when it is complete and on
disk, so that no further record of finished windows is needed. ``manifest.json`` binds the folder to one service,
instance and request. No file name contains an id.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from accounting_analytics.client.records import Ledger
from accounting_analytics.core.atomic_files import (
    TEMPORARY_SUFFIX,
    remove_temporary_files,
    replace_file,
    sync_folder,
    write_durably,
)
from accounting_analytics.core.errors import CheckpointError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.periods import Period
from accounting_analytics.loading.request import Window
from accounting_analytics.loading.windows import FinishedWindow, WindowCounts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.loading.request import LoadRequest

MANIFEST = "manifest.json"
_LOCK = ".lock"
_METADATA_KEY = b"accounting_analytics.window"
_ROWS_PER_GROUP = 1000


class WindowStore:
    """The finished windows of a load in memory, as a context manager that ends with the load.

    Attributes
    ----------
    windows : list of FinishedWindow
        All that are finished, those of an earlier load first.
    """

    def __init__(self) -> None:
        self.windows: list[FinishedWindow] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: memory needs no closing."""

    def save(self, finished: FinishedWindow) -> FinishedWindow:
        """Save a finished window."""
        self.windows.append(finished)
        return finished

    def discard(self, stale: Iterable[FinishedWindow]) -> None:
        """Remove windows whose lines have changed since."""
        for window in stale:
            self.windows.remove(window)

    def recovery_hint(self, *, may_succeed: bool) -> str:
        """Say, for a message after a failure, which lines are saved and how to continue."""
        advice = ": load again (the first sync of local books continues where it failed)" if may_succeed else ""
        return f"nothing was kept{advice}"


class _Manifest(msgspec.Struct):
    """The request to which a checkpoint belongs."""

    load: dict[str, Any]


class _WindowMetadata(msgspec.Struct):
    """Metadata of a window that its file states."""

    ledger_id: str
    start_date: dt.date
    end_date: dt.date
    read_at: dt.datetime
    counts: WindowCounts
    shown: Ledger | None = None


class Checkpoint(WindowStore):
    """A folder with the finished windows of one request, used by one load at a time.

    The folder is created if it does not exist. An existing folder must be empty or a checkpoint of the same request.
    """

    def __init__(self, folder: Path, request: LoadRequest) -> None:
        super().__init__()
        self.folder = folder
        self._time_zone = request.period.time_zone
        self._manifest = _Manifest(request.as_json() | {"ledger_ids": sorted(request.ledger_ids)})
        self._lock = FileLock(self.folder / _LOCK, timeout=0)

    def __enter__(self) -> Self:
        with self._usable():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._require_no_other_files()
            try:
                self._lock.acquire()
            except Timeout:
                raise CheckpointError(
                    f"another load is using the checkpoint {self.folder}; wait for it, or give this load its own folder"
                ) from None
            try:
                self._write_or_compare_request()
                self._find_windows()
            except BaseException:  # also after an interrupt: the checkpoint must not stay locked
                self._lock.release()
                raise
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def save(self, finished: FinishedWindow) -> FinishedWindow:
        """Write a window so that it survives a power cut."""
        days = finished.window.period
        metadata = _WindowMetadata(
            ledger_id=finished.window.ledger_id,
            start_date=days.start_date,
            end_date=days.end_date,
            read_at=finished.read_at,
            counts=finished.counts,
            shown=finished.shown,
        )
        buffer = pa.BufferOutputStream()
        table = finished.read_table().replace_schema_metadata({_METADATA_KEY: msgspec.json.encode(metadata)})
        pq.write_table(table, buffer, compression="zstd", compression_level=1, row_group_size=_ROWS_PER_GROUP)
        content = buffer.getvalue()
        path = self.folder / _name(content)
        with self._usable():
            replace_file(path, lambda file: file.write(content), sync=True, remove_leftovers=False)
            sync_folder(self.folder)
        return super().save(replace(finished, read_table=partial(self._read_table, path), path=path))

    def discard(self, stale: Iterable[FinishedWindow]) -> None:
        """Delete windows whose lines have changed since."""
        for window in stale:
            super().discard([window])
            if window.path is not None:
                with self._usable():
                    window.path.unlink()
        with self._usable():
            sync_folder(self.folder)

    def recovery_hint(self, *, may_succeed: bool) -> str:
        """Say, for a message after a failure, which windows are on disk and how to continue."""
        lines = sum(window.counts.lines for window in self.windows)
        when = "" if may_succeed else "once the cause is removed, "
        return (
            f"{count_of(len(self.windows), 'finished window')} with {lines:,} lines safe in {self.folder}: {when}call "
            "again with the same arguments to continue from there"
        )

    def _require_no_other_files(self) -> None:
        """Refuse a folder with files that do not belong to a checkpoint."""
        names = {path.name for path in self.folder.iterdir() if path.suffix != TEMPORARY_SUFFIX}
        if MANIFEST not in names and names - {_LOCK}:
            raise CheckpointError(
                f"{self.folder} contains files but no checkpoint; name a new or empty folder, nothing was changed"
            )

    def _write_or_compare_request(self) -> None:
        """Write the request to a new folder.

        An existing folder must have the same request.
        """
        path = self.folder / MANIFEST
        remove_temporary_files(path)
        if not path.exists():
            self._write_manifest()
            return
        try:
            found = msgspec.json.decode(path.read_bytes(), type=_Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise CheckpointError(f"{path} is damaged; delete the folder {self.folder} and load again") from None
        different = [name for name, value in self._manifest.load.items() if found.load.get(name) != value]
        if different:
            name, *others = different
            also = f" (also different: {', '.join(others)})" if others else ""
            raise CheckpointError(
                f"the checkpoint {self.folder} belongs to another load: its {name} is {quote(found.load.get(name))}, "
                f"not {quote(self._manifest.load[name])}{also}; give the same arguments as then, or another folder "
                "(or delete this one); nothing was changed"
            )
        self._manifest = found

    def _write_manifest(self) -> None:
        text = msgspec.json.format(msgspec.json.encode(self._manifest))
        with self._usable():
            write_durably(self.folder / MANIFEST, lambda file: file.write(text))

    def _find_windows(self) -> None:
        for leftover in self.folder.glob(f"window-*{TEMPORARY_SUFFIX}"):
            leftover.unlink()
        for path in sorted(self.folder.glob("window-*.parquet")):
            found = pq.read_metadata(pa.BufferReader(self._read_content(path))).metadata
            stated = msgspec.json.decode(found[_METADATA_KEY], type=_WindowMetadata)
            window = Window(stated.ledger_id, Period(stated.start_date, stated.end_date, self._time_zone))
            read_table = partial(self._read_table, path)
            self.windows.append(FinishedWindow(window, stated.counts, stated.read_at, read_table, path, stated.shown))

    def _read_table(self, path: Path) -> pa.Table:
        content = pa.BufferReader(self._read_content(path))
        return pq.ParquetFile(content).read(use_threads=False).replace_schema_metadata(None)

    def _read_content(self, path: Path) -> bytes:
        """Read a window's file and check its digest.

        Parquet readers may crash on damaged files.
        """
        with self._usable():
            content = path.read_bytes()
        if path.name != _name(content):
            raise CheckpointError(
                f"{path} is not part of this load: it is truncated or was modified; delete that file and call again: "
                "only its days are read again"
            )
        return content

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Turn a disk error into an error with advice.

        The error names the folder and the saved windows.
        """
        try:
            yield
        except OSError as error:
            safe = self.recovery_hint(may_succeed=True)
            advice = safe if self.windows else "no request was sent, give another folder"
            raise CheckpointError(
                f"the checkpoint {self.folder} cannot be used ({error.strerror or error}); {advice}"
            ) from error


def _name(content: bytes | pa.Buffer) -> str:
    """Return the file name of a window, from its content's digest."""
    return f"window-{hashlib.blake2b(content, digest_size=16).hexdigest()}.parquet"
