"""The write-ahead log beside an SQLite file: whether it belongs to the file, or to another one that was there before.

SQLite applies any log that it finds beside a file, also to a copy that was put in the place of the former file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import InputError
from accounting_analytics.service.storage.sqlite_files import shm_path, wal_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_MAGIC = (0x377F0682, 0x377F0683)
_LOG_HEADER = 32
_FRAME_HEADER = 24
_FILE_HEADER = 100
_WRITE_AHEAD = 2


class _FileHeader(NamedTuple):
    """Header of a database file: whether it has a log at all, its page size, and its counter of changes."""

    uses_log: bool
    page_size: int
    changes: int

    @classmethod
    def read(cls, path: Path) -> _FileHeader:
        with path.open("rb") as file:
            header = file.read(_FILE_HEADER)
        size = _integer(header[16:18])
        # 1 stands for 65,536, which does not fit
        return cls(header[18:19] == bytes([_WRITE_AHEAD]), 65_536 if size == 1 else size, _integer(header[24:28]))


class _Log(NamedTuple):
    """What is committed in a log: its page size, its salts, and the counter of changes in each version of page 1."""

    page_size: int
    salts: bytes
    frames: int
    changes: list[int]

    @classmethod
    def read(cls, path: Path) -> _Log | None:
        """Read a log; None if it is missing or has no header."""
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return None
        with file:
            header = file.read(_LOG_HEADER)
            if len(header) < _LOG_HEADER or _integer(header[:4]) not in _MAGIC:
                return None
            page_size, salts = _integer(header[8:12]), header[16:24]
            frames, changes = 0, []
            for number, (page, commits, counter) in enumerate(_frames(file, page_size, salts), 1):
                changes += [(number, counter)] if page == 1 else []
                frames = number if commits else frames
        return cls(page_size, salts, frames, [counter for number, counter in changes if number <= frames])


def _frames(file: BinaryIO, page_size: int, salts: bytes) -> Iterator[tuple[int, int, int]]:
    """Page, size of the database after a commit, and bytes 24 to 27 of the page, of each frame written last."""
    for start in range(_LOG_HEADER, 1 << 62, _FRAME_HEADER + page_size):
        file.seek(start)
        frame = file.read(_FRAME_HEADER + 28)
        if len(frame) < _FRAME_HEADER + 28 or frame[8:16] != salts:
            return
        yield _integer(frame[:4]), _integer(frame[4:8]), _integer(frame[-4:])


def check_log_belongs(path: Path) -> None:
    """Refuse a file beside the log of another one.

    A log is refused that is beside a file without a log (as `backup` writes it), that has another page size, or whose
    versions of page 1 do not continue the file's: that page counts the transactions that add or free pages. A log
    without any such transaction is accepted, even if it is the log of another copy of the file.

    Raises
    ------
    InputError
        The log belongs to another file; nothing was changed.
    """
    if not log_belongs(path):
        msg = (
            f"{wal_path(path)} belongs to another file than {path}, such as the one that was there before; SQLite "
            f"would mix both, so nothing was changed: move it and {shm_path(path).name} away to use {path} as it is"
        )
        raise InputError(msg)


def log_belongs(path: Path) -> bool:
    """Whether the log beside a file may belong to it, or there is none."""
    while True:
        header, log = _FileHeader.read(path), _Log.read(wal_path(path))
        if log is None or not log.frames or _continues(header, log):
            return True
        if (header, log) == (_FileHeader.read(path), _Log.read(wal_path(path))):  # else a service is writing both
            return False


def _continues(header: _FileHeader, log: _Log) -> bool:
    if not header.uses_log or header.page_size != log.page_size:
        return False
    # a connection may write its first change with the counter that the file has already
    return not log.changes or log.changes[0] - 1 <= header.changes <= log.changes[-1]


def _integer(content: bytes) -> int:
    return int.from_bytes(content, "big")
