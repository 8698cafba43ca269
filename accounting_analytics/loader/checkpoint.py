"""Finished windows on disk: a load that was killed goes on where it was.

A window is one Parquet file that says itself which days of which ledger it holds. It appears under its name, which has
its digest, only when it is whole and on the disk, so there is no second state that could run ahead of it.
``manifest.json`` binds the folder to one service, instance and query. No file is named by an id.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import json
import re
import threading
from functools import partial
from pathlib import Path
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
from accounting_analytics.loader.page_decoder import line_schema
from accounting_analytics.loader.query import Window
from accounting_analytics.loader.window_files import KeptWindow
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.query import LineEntryQuery
    from accounting_analytics.loader.window_reader import WindowLines

MANIFEST = "manifest.json"
ROWS_A_GROUP = 1000
_LOCK = ".lock"
_FORMAT = 1
_WINDOW = b"accounting_analytics.window"
_NAME = re.compile(r"window-\d{6,}-(?P<digest>[0-9a-f]{32})\.parquet")


class Checkpoint:
    """A folder of finished windows of one query; use it as a context manager, one load at a time.

    Parameters
    ----------
    folder : path
        Made if it is not there. An existing one must be empty or a checkpoint of the same query.
    client : LedgerClient
        Whose address and instance the folder is bound to.
    query : LineEntryQuery
        What is asked.
    passing : bool
        The folder is gone after the load, so nothing in it need survive a crash.

    Raises
    ------
    CheckpointError
        The folder belongs to something else, is in use, is damaged, or cannot be written.
    """

    def __init__(
        self, folder: str | Path, client: LedgerClient, query: LineEntryQuery, *, passing: bool = False
    ) -> None:
        self.folder = Path(folder)
        self._query = query
        self._sync = not passing
        self._bound: dict[str, Any] = {
            "format": _FORMAT,
            "base_url": client.base_url,
            "instance_id": client.instance_id,
            **query.as_json(),
            "ledger_ids": sorted(query.ledger_ids),
        }
        self._key = hashlib.sha256(_text(self._bound).encode()).hexdigest()
        self._lock = FileLock(self.folder / _LOCK, timeout=0)
        self._writing = threading.RLock()
        self._open = False
        self._numbers = itertools.count(1)
        self._kept: dict[Path, KeptWindow] = {}

    def __enter__(self) -> Self:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._require_no_strangers()
            self._lock.acquire()
        except Timeout:
            msg = f"another load is using the checkpoint {self.folder}; wait for it, or give this one its own folder"
            raise CheckpointError(msg) from None
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._bind()
            self._find_windows()
        except OSError as error:
            self._lock.release()
            raise self._unusable(error) from error
        except BaseException:  # an interrupted opening must not keep the checkpoint locked
            self._lock.release()
            raise
        self._open = True
        return self

    def __exit__(self, *error: object) -> None:
        with self._writing:  # a window being written is finished first
            self._open = False
            self._lock.release()

    def finished(self) -> Iterable[KeptWindow]:
        """Windows that are whole and on the disk."""
        return list(self._kept.values())

    def keep(self, lines: WindowLines) -> KeptWindow:
        """Write a window; when this returns it survives a power cut."""
        newest = lines.newest
        said = {
            "load": self._key,
            "ledger": self._bound["ledger_ids"].index(lines.window.ledger_id),
            "start_date": lines.window.period.start_date.isoformat(),
            "end_date": lines.window.period.end_date.isoformat(),
            "pages": lines.pages,
            "dusted": lines.dusted,
            "repeated": lines.repeated,
            "newest": None if newest is None else newest.isoformat(),
            "lines": lines.table.num_rows,
        }
        table = lines.table.replace_schema_metadata({_WINDOW: _text(said).encode()})

        written = pa.BufferOutputStream()
        pq.write_table(table, written, compression="zstd", compression_level=1, row_group_size=ROWS_A_GROUP)
        content = written.getvalue()
        with self._writing:
            if not self._open:
                msg = f"the load of checkpoint {self.folder} has ended; this window was not written"
                raise CheckpointError(msg)
            path = self.folder / f"window-{next(self._numbers):06}-{_digest(content)}.parquet"
        try:
            if self._sync:
                write_durably(path, lambda file: file.write(content), remove_leftovers=False)
            else:
                replace_file(path, lambda file: file.write(content), sync=False, remove_leftovers=False)
        except OSError as error:
            raise self._unusable(error) from error
        one = self._window(path, said)
        with self._writing:
            self._kept[path] = one
        return one

    def forget(self, windows: Iterable[KeptWindow]) -> None:
        """Delete windows that turned out to be stale."""
        try:
            with self._writing:
                for one in windows:
                    if one.path is not None:
                        one.path.unlink(missing_ok=True)
                        self._kept.pop(one.path, None)
                sync_folder(self.folder)
        except OSError as error:
            raise self._unusable(error) from error

    def safe(self) -> str:
        """Say, for a message, what is on the disk and how to go on."""
        lines = sum(one.lines for one in self._kept.values())
        return (
            f"{len(self._kept)} finished window(s) with {lines:,} lines are safe in {self.folder}: call again with the "
            "same arguments to go on from there"
        )

    def _require_no_strangers(self) -> None:
        """Refuse a folder that is not a checkpoint: it is somebody's."""
        if (self.folder / MANIFEST).exists():
            return
        leftovers = set(self.folder.glob(f"{MANIFEST}*{TEMPORARY_SUFFIX}"))
        if any(one.name != _LOCK and one not in leftovers for one in self.folder.iterdir()):
            msg = f"{self.folder} holds files but no checkpoint; name a new or empty folder, nothing was changed"
            raise CheckpointError(msg)

    def _bind(self) -> None:
        """Bind a new folder to the query, or make sure that an old one is bound to it."""
        path = self.folder / MANIFEST
        remove_temporary_files(path)
        if not path.exists():
            write_durably(path, lambda file: file.write(json.dumps(self._bound, indent=2).encode()))
            return
        try:
            bound = json.loads(path.read_bytes())
        except ValueError:
            bound = None
        if not isinstance(bound, dict) or "format" not in bound:
            msg = f"{path} is damaged; delete the folder {self.folder} and load again"
            raise CheckpointError(msg)
        different = [name for name in self._bound if bound.get(name) != self._bound[name]]
        if different:
            name = different[0]
            msg = (
                f"the checkpoint {self.folder} is of another load: its {name} is {_shown(bound.get(name))}, not "
                f"{_shown(self._bound[name])}{_others(different)}; give the same arguments as then, or another folder "
                "(or delete this one); nothing was changed"
            )
            raise CheckpointError(msg)

    def _find_windows(self) -> None:
        for leftover in self.folder.glob(f"window-*{TEMPORARY_SUFFIX}"):
            leftover.unlink()
        numbers = [0]
        for path in sorted(self.folder.glob("window-*.parquet")):
            self._kept[path] = self._window(path, self._said(path))
            numbers.append(int(path.name.split("-")[1]))
        self._numbers = itertools.count(max(numbers) + 1)
        covered: dict[str, Period] = {}
        for path, one in sorted(self._kept.items(), key=lambda each: each[1].window.period):
            before = covered.get(one.window.ledger_id)
            if before is not None and before.end_date >= one.window.period.start_date:
                raise self._damaged(path, "its days are also in another window")
            covered[one.window.ledger_id] = one.window.period

    def _said(self, path: Path) -> dict[str, Any]:
        """Read what a window says of itself; refuse one that is damaged or of another load."""
        try:
            whole = pq.read_metadata(pa.BufferReader(self._content(path)))
            said = json.loads(whole.metadata[_WINDOW])
        except (pa.ArrowException, TypeError, KeyError, ValueError):
            raise self._damaged(path, "it holds something else") from None
        if said.get("load") != self._key:
            raise self._damaged(path, "it belongs to another load")
        if said["lines"] != whole.num_rows:
            raise self._damaged(path, f"it has {whole.num_rows} lines, not {said['lines']}")
        return dict(said)

    def _window(self, path: Path, said: dict[str, Any]) -> KeptWindow:
        period = Period.of(said["start_date"], said["end_date"], self._query.period.time_zone)
        return KeptWindow(
            window=Window(self._bound["ledger_ids"][said["ledger"]], period),
            lines=said["lines"],
            pages=said["pages"],
            dusted=said["dusted"],
            repeated=said["repeated"],
            newest=None if said["newest"] is None else dt.datetime.fromisoformat(said["newest"]),
            table=partial(self._read, path),
            path=path,
        )

    def _read(self, path: Path) -> pa.Table:
        content = self._content(path)
        table = pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False).replace_schema_metadata(None)
        if table.schema != line_schema(self._query.expand, self._query.scale):
            raise self._damaged(path, "it has other columns")
        return table

    def _content(self, path: Path) -> bytes:
        """Bytes of a window, if they are those that were written: a reader of Parquet may crash on others."""
        named = _NAME.fullmatch(path.name)
        if named is None:
            raise self._damaged(path, "its name is not one that a load gives")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise self._unusable(error) from error
        if _digest(content) != named["digest"]:
            raise self._damaged(path, "it was cut or changed")
        return content

    def _damaged(self, path: Path, why: str) -> CheckpointError:
        msg = f"{path} is no window of this load: {why}; delete that file and call again: only its days are read again"
        return CheckpointError(msg)

    def _unusable(self, error: OSError) -> CheckpointError:
        safe = self.safe() if self._kept else "nothing was asked for, give another folder"
        msg = f"the checkpoint {self.folder} cannot be used ({error.strerror or error}); {safe}"
        return CheckpointError(msg)


def _digest(content: bytes | pa.Buffer) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _text(said: dict[str, Any]) -> str:
    return json.dumps(said, sort_keys=True, ensure_ascii=True)


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 (one line of a message)


def _others(different: list[str]) -> str:
    return f" (and {', '.join(different[1:])} differ{'s' if len(different) == 2 else ''})" if different[1:] else ""  # noqa: PLR2004
