"""Where finished windows stay until all of them are read: in memory, or in the folder of a checkpoint.

With a checkpoint a load that failed or was killed continues where it stopped. A window is one Parquet file whose
metadata state its ledger and days. It appears under its name, which contains its digest, only when it is complete and
on disk, so there is no other state that could disagree with it. ``manifest.json`` binds the folder to one service,
instance and request. ``verified.json`` names the days that were read twice without a change, and the digest of the
windows that this is true of. No file is named after an id.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import re
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from accounting_analytics.atomic_files import (
    TEMPORARY_SUFFIX,
    remove_temporary_files,
    replace_file,
    sync_folder,
    write_durably,
)
from accounting_analytics.errors import CheckpointError
from accounting_analytics.loader.line_tables import line_schema
from accounting_analytics.loader.windows import FinishedWindow, Window
from accounting_analytics.messages import count_of, quote
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from accounting_analytics.loader.load_request import LoadRequest

MANIFEST = "manifest.json"
_VERIFIED = "verified.json"
_LOCK = ".lock"
_FORMAT = 4
_METADATA_KEY = b"accounting_analytics.window"
_NAME = re.compile(r"window-\d{6,}-(?P<digest>[0-9a-f]{32})\.parquet")
_ROWS_PER_GROUP = 1000


class WindowStore:
    """Stores finished windows during a load, as a context manager: in memory, where nothing survives the load."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to close."""

    def finished(self) -> Iterable[FinishedWindow]:
        """Windows that an earlier load finished."""
        return ()

    def save(self, finished: FinishedWindow) -> FinishedWindow:
        """Save a window whose lines are in memory; when this returns it is as safe as the store can make it."""
        return finished

    def discard(self, windows: Iterable[FinishedWindow]) -> None:
        """Remove windows that turned out to be stale."""

    def is_verified(self, days: Period) -> bool:  # noqa: ARG002 (for stores that survive a load)
        """Whether :meth:`mark_verified` was called for these days and exactly these windows."""
        return False

    def mark_verified(self, days: Period) -> None:
        """Note the days whose lines in these windows are those of one moment."""

    def recovery_hint(self, *, may_succeed: bool = True) -> str:
        """Which lines are safe after a failure, and how to continue if another load may succeed, for a message."""
        advice = ": load again (a load with checkpoint=... continues where it failed)" if may_succeed else ""
        return f"nothing was kept{advice}"


class Checkpoint(WindowStore):
    """A folder with the finished windows of one request, used by one load at a time.

    The folder is created if it does not exist; an existing one must be empty or a checkpoint of the same request. A
    temporary one is deleted after the load, so its files need not survive a crash.
    """

    def __init__(self, folder: Path, request: LoadRequest, *, temporary: bool = False) -> None:
        self.folder = folder
        self._request = request
        self._durable = not temporary
        self._manifest: dict[str, Any] = {
            "format": _FORMAT,
            **request.as_json(),
            "ledger_ids": sorted(request.ledger_ids),
        }
        self._load_digest = hashlib.sha256(_to_text(self._manifest).encode()).hexdigest()
        self._folder_lock = FileLock(self.folder / _LOCK, timeout=0)
        self._lock = threading.RLock()
        self._is_open = False
        self._numbers = itertools.count(1)
        self._windows: dict[Path, FinishedWindow] = {}

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._require_no_other_files()
            self._folder_lock.acquire()
        except Timeout:
            raise CheckpointError(
                f"another load is using the checkpoint {self.folder}; wait for it, or give this load its own folder"
            ) from None
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._bind()
            self._find_windows()
        except OSError as error:
            self._folder_lock.release()
            raise self._unusable(error) from error
        except BaseException:  # also when interrupted: the checkpoint must not stay locked
            self._folder_lock.release()
            raise
        self._is_open = True
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:  # after any window that is being written
            self._is_open = False
            self._folder_lock.release()

    def finished(self) -> Iterable[FinishedWindow]:
        """Windows that are complete and on disk."""
        return list(self._windows.values())

    def save(self, finished: FinishedWindow) -> FinishedWindow:
        """Write a window; when this returns, it survives a power cut."""
        metadata = {
            "load": self._load_digest,
            "ledger": self._manifest["ledger_ids"].index(finished.window.ledger_id),
            "start_date": finished.window.period.start_date.isoformat(),
            "end_date": finished.window.period.end_date.isoformat(),
            "pages": finished.pages,
            "noise_removed": finished.noise_removed,
            "repeats_removed": finished.repeats_removed,
            "characters_replaced": finished.characters_replaced,
            "newest": finished.newest and finished.newest.isoformat(),
            "read_at": finished.read_at.isoformat(),
            "lines": finished.lines,
        }
        table = finished.read_table().replace_schema_metadata({_METADATA_KEY: _to_text(metadata).encode()})
        buffer = pa.BufferOutputStream()
        pq.write_table(table, buffer, compression="zstd", compression_level=1, row_group_size=_ROWS_PER_GROUP)
        path = self._write(buffer.getvalue())
        saved = replace(finished, read_table=partial(self._read_table, path), path=path)
        with self._lock:
            self._windows[path] = saved
        return saved

    def discard(self, windows: Iterable[FinishedWindow]) -> None:
        """Delete windows that turned out to be stale."""
        try:
            with self._lock:
                for one in windows:
                    if one.path is not None:
                        one.path.unlink(missing_ok=True)
                        self._windows.pop(one.path, None)
                sync_folder(self.folder)
        except OSError as error:
            raise self._unusable(error) from error

    def is_verified(self, days: Period) -> bool:
        """Whether the days were read twice without a change, and the windows are still the same."""
        try:
            verified = json.loads((self.folder / _VERIFIED).read_bytes())
            period = Period(verified["start_date"], verified["end_date"], self._request.period.time_zone)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return False  # then they are read again
        return period.covers(days) and verified.get("windows") == self._windows_digest()

    def mark_verified(self, days: Period) -> None:
        """Write the days that were read twice without a change, for the windows as they are."""
        if not self._durable:
            return
        verified = {
            "start_date": days.start_date.isoformat(),
            "end_date": days.end_date.isoformat(),
            "windows": self._windows_digest(),
        }
        try:
            write_durably(self.folder / _VERIFIED, lambda file: file.write(_to_text(verified).encode()))
        except OSError as error:
            raise self._unusable(error) from error

    def recovery_hint(self, *, may_succeed: bool = True) -> str:
        """Which windows are safe on disk and how to continue, for a message."""
        lines = sum(one.lines for one in self._windows.values())
        when = "" if may_succeed else "once the cause is removed, "
        return (
            f"{count_of(len(self._windows), 'finished window')} with {lines:,} lines safe in {self.folder}: {when}call "
            "again with the same arguments to continue from there"
        )

    def _windows_digest(self) -> str:
        """Digest of the names of all windows, which contain their digests."""
        return _digest("\n".join(sorted(path.name for path in self._windows)).encode())

    def _require_no_other_files(self) -> None:
        """Refuse a folder with files that are not a checkpoint's."""
        if (self.folder / MANIFEST).exists():
            return
        leftovers = set(self.folder.glob(f"{MANIFEST}*{TEMPORARY_SUFFIX}"))
        if any(one.name != _LOCK and one not in leftovers for one in self.folder.iterdir()):
            raise CheckpointError(
                f"{self.folder} contains files but no checkpoint; name a new or empty folder, nothing was changed"
            )

    def _bind(self) -> None:
        """Bind a new folder to the request, or check that an existing one is bound to it."""
        path = self.folder / MANIFEST
        remove_temporary_files(path)
        if not path.exists():
            write_durably(path, lambda file: file.write(json.dumps(self._manifest, indent=2).encode()))
            return
        try:
            manifest = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            manifest = None
        if not isinstance(manifest, dict) or "format" not in manifest:
            raise CheckpointError(f"{path} is damaged; delete the folder {self.folder} and load again")
        if manifest["format"] != _FORMAT:
            raise CheckpointError(
                f"the checkpoint {self.folder} was written by another version; delete the folder and load again"
            )
        different = [name for name in self._manifest if manifest.get(name) != self._manifest[name]]
        if different:
            name, *others = different
            also = f" (also different: {', '.join(others)})" if others else ""
            raise CheckpointError(
                f"the checkpoint {self.folder} belongs to another load: its {name} is {quote(manifest.get(name))}, "
                f"not {quote(self._manifest[name])}{also}; give the same arguments as then, or another folder "
                "(or delete this one); nothing was changed"
            )

    def _find_windows(self) -> None:
        for leftover in self.folder.glob(f"window-*{TEMPORARY_SUFFIX}"):
            leftover.unlink()
        numbers = [0]
        for path in sorted(self.folder.glob("window-*.parquet")):
            self._windows[path] = self._finished_window(path, self._read_metadata(path))
            numbers.append(int(path.name.split("-")[1]))
        self._numbers = itertools.count(max(numbers) + 1)
        previous: dict[str, Period] = {}
        for path, one in sorted(self._windows.items(), key=lambda entry: entry[1].window.period):
            before = previous.get(one.window.ledger_id)
            if before is not None and before.end_date >= one.window.period.start_date:
                raise self._damaged(path, "its days are also in another window")
            previous[one.window.ledger_id] = one.window.period

    def _write(self, content: pa.Buffer) -> Path:
        with self._lock:
            if not self._is_open:
                raise CheckpointError(f"the load of checkpoint {self.folder} has ended; this window was not written")
            path = self.folder / f"window-{next(self._numbers):06}-{_digest(content)}.parquet"
        try:
            if self._durable:
                write_durably(path, lambda file: file.write(content), remove_leftovers=False)
            else:
                replace_file(path, lambda file: file.write(content), sync=False, remove_leftovers=False)
        except OSError as error:
            raise self._unusable(error) from error
        return path

    def _read_metadata(self, path: Path) -> dict[str, Any]:
        """Metadata of a window; refuses one that is damaged or of another load."""
        try:
            parquet = pq.read_metadata(pa.BufferReader(self._read_content(path)))
            metadata = json.loads(parquet.metadata[_METADATA_KEY])
        except (pa.ArrowException, TypeError, KeyError, ValueError, RecursionError):
            raise self._damaged(path, "it is not a window") from None
        if metadata.get("load") != self._load_digest:
            raise self._damaged(path, "it belongs to another load")
        if metadata["lines"] != parquet.num_rows:
            raise self._damaged(path, f"it has {parquet.num_rows} lines, not {metadata['lines']}")
        return dict(metadata)

    def _finished_window(self, path: Path, metadata: dict[str, Any]) -> FinishedWindow:
        period = Period.of(metadata["start_date"], metadata["end_date"], self._request.period.time_zone)
        return FinishedWindow(
            window=Window(self._manifest["ledger_ids"][metadata["ledger"]], period),
            lines=metadata["lines"],
            pages=metadata["pages"],
            noise_removed=metadata["noise_removed"],
            repeats_removed=metadata["repeats_removed"],
            characters_replaced=metadata["characters_replaced"],
            newest=metadata["newest"] and dt.datetime.fromisoformat(metadata["newest"]),
            read_at=dt.datetime.fromisoformat(metadata["read_at"]),
            read_table=partial(self._read_table, path),
            path=path,
        )

    def _read_table(self, path: Path) -> pa.Table:
        content = self._read_content(path)
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False).replace_schema_metadata(None)
        if table.schema != line_schema(self._request.expand, self._request.scale):
            raise self._damaged(path, "it has other columns")
        return table

    def _read_content(self, path: Path) -> bytes:
        """Bytes of a window, checked against its digest: a Parquet reader may crash on damaged files."""
        name = _NAME.fullmatch(path.name)
        if name is None:
            raise self._damaged(path, "its name is not that of a window")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise self._unusable(error) from error
        if _digest(content) != name["digest"]:
            raise self._damaged(path, "it is truncated or was modified")
        return content

    def _damaged(self, path: Path, reason: str) -> CheckpointError:
        msg = (
            f"{path} is not part of this load: {reason}; delete that file and call again: only its days are read again"
        )
        return CheckpointError(msg)

    def _unusable(self, error: OSError) -> CheckpointError:
        advice = self.recovery_hint() if self._windows else "no request was sent, give another folder"
        msg = f"the checkpoint {self.folder} cannot be used ({error.strerror or error}); {advice}"
        return CheckpointError(msg)


def _digest(content: bytes | pa.Buffer) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _to_text(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True, ensure_ascii=True)
