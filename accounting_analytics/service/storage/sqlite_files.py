"""The files of an SQLite database: read without changing them, copied, or used by one program alone.

SQLite applies any write-ahead log that it finds beside a file, also to a copy that was put in the place of the former
file: :func:`check_log_belongs` refuses the log of another file.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
from collections import Counter
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, NamedTuple
from urllib.parse import urlencode

from accounting_analytics.atomic_files import replace_file, sync_folder
from accounting_analytics.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PRIVATE_MODE = 0o600
_EXCLUSIVE_SECONDS = 2.0
_PRIMARY_CODE = 0xFF
"""Mask of an extended result code; its lowest byte is the primary code."""

BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CANNOT_GROW = frozenset({sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN})
"""Codes of a quota or a limit of the file size, and of a full disk when shared memory is created or extended."""


def token_path(database: Path) -> Path:
    """File for the access token of a database's first instance."""
    return _beside(database, ".token")


def wal_path(database: Path) -> Path:
    """Write-ahead log of a database: what is committed and not yet in its file."""
    return _beside(database, "-wal")


def shm_path(database: Path) -> Path:
    """Index of the write-ahead log, which exists while a program has the database open."""
    return _beside(database, "-shm")


def journal_path(database: Path) -> Path:
    """Rollback journal of a transaction without the log; a killed program leaves it."""
    return _beside(database, "-journal")


def roll_back_unfinished(path: Path) -> None:
    """Undo the transaction of a killed program, whose rollback journal is beside the file."""
    if size_of(journal_path(path)):
        with closing(sqlite3.connect(path.absolute(), isolation_level=None)) as connection:
            connection.execute("PRAGMA schema_version").fetchone()


def unused_name(path: Path, suffix: str) -> Path:
    """Name beside a file that no file has: with the suffix, and a number if needed."""
    names = (_beside(path, f".{suffix}" if number == 1 else f".{suffix}.{number}") for number in count(1))
    return next(name for name in names if not name.exists())


def size_of(path: Path) -> int:
    """Size of a file; 0 if it does not exist."""
    return path.stat().st_size if path.exists() else 0


def primary_code(error: BaseException | None) -> int:
    """Return the result code of SQLite without its extension; 0 if the error has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY_CODE


def is_full(error: BaseException | None) -> bool:
    """Whether the disk is full, or the file or the write-ahead log beside it cannot grow."""
    return primary_code(error) == sqlite3.SQLITE_FULL or getattr(error, "sqlite_errorcode", 0) in _CANNOT_GROW


def check_access(path: Path, *, writable: bool = True) -> None:
    """Refuse a file that cannot be read, or written; a missing one is created, and only its owner can read it.

    An existing one is not opened: the locks that this program has on it would be lost when it is closed.
    """
    if path.is_file() and os.access(path, os.R_OK | (os.W_OK if writable else 0)):
        folder = path.absolute().parent
        if writable and not os.access(folder, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"database {path} cannot be opened: files beside it cannot be created in {folder}: permission denied"
            )
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE_MODE))
    except OSError as error:
        raise ConfigurationError(f"database {path} cannot be opened: {error.strerror}") from error


class FilesInUse:
    """The files of a database that this program has open, by which it is noticed that one was removed or replaced.

    Of a file that is read as unused, the content must stay as it is, too.
    """

    _open: ClassVar[Counter[object]] = Counter()
    _lock = threading.Lock()

    def __init__(self, path: Path, *, unchanged: bool = False) -> None:
        self._paths = (path, wal_path(path), shm_path(path))
        self._unchanged = unchanged
        self._found = self._identities()
        self._key = _identity(path)
        with self._lock:
            self._open[self._key] += 1

    @classmethod
    def include(cls, path: Path) -> bool:
        """Whether this program has a file open: its locks would end if it were opened and closed in another way."""
        with cls._lock:
            return cls._open[_identity(path)] > 0

    def are_in_place(self) -> bool:
        """Whether each file is still the one that was opened."""
        return self._identities() == self._found

    def close(self) -> None:
        """End the use of the files."""
        with self._lock:
            self._open[self._key] -= 1

    def _identities(self) -> list[object]:
        return [_identity(path, with_content=self._unchanged) for path in self._paths]


def is_unused(path: Path) -> bool:
    """Whether no program has a database open, and its file alone has all that is committed and nothing else."""
    return not (shm_path(path).exists() or size_of(wal_path(path)) or size_of(journal_path(path)))


def read_only_mode(path: Path) -> dict[str, str]:
    """Parameters of a connection that cannot write, and creates no file where no program has the database open."""
    return {"immutable": "1"} if is_unused(path) else {"mode": "ro"}


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection that cannot write, and creates no file where no program has the database open."""
    address = f"{path.absolute().as_uri()}?{urlencode(read_only_mode(path))}"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
        yield connection


@contextmanager
def exclusive_access(path: Path) -> Iterator[sqlite3.Connection]:
    """Give the only connection to a database, which is refused while another program has it open.

    Until the block ends, no other program can open it; what the write-ahead log had is in the file then.
    """
    with closing(sqlite3.connect(path.absolute(), isolation_level=None, timeout=_EXCLUSIVE_SECONDS)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")  # the lock stays until the connection is closed
        except sqlite3.OperationalError as error:
            if primary_code(error) not in BUSY_CODES:
                raise
            raise in_use(path) from error
        yield connection


def in_use(path: Path) -> InputError:
    """Error about a database that another program has open."""
    return InputError(
        f"{path} is in use by another program, such as a running service; nothing was changed, stop that program "
        "and run this again"
    )


def save_copy(source: sqlite3.Connection, target: Path) -> None:
    """Copy the books that a connection sees into one file, which is complete and synced to disk, or does not exist.

    The source can be written meanwhile: the copy is one snapshot.
    """

    def write(file: BinaryIO) -> None:
        with closing(sqlite3.connect(Path(file.name).absolute(), isolation_level=None)) as copy:
            copy.execute("PRAGMA locking_mode = EXCLUSIVE")
            copy.execute("PRAGMA journal_mode = MEMORY")
            source.backup(copy)
            # a copy without a write-ahead log: a log that is beside it later cannot belong to it
            copy.execute("PRAGMA journal_mode = DELETE")

    replace_file(target, write, private=True)
    sync_folder(target.parent)


def _identity(path: Path, *, with_content: bool = False) -> object:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    identity = (found.st_dev, found.st_ino)
    return (*identity, found.st_size, found.st_mtime_ns) if with_content else identity


def _beside(database: Path, suffix: str) -> Path:
    return database.with_name(f"{database.name}{suffix}")


# page size, version of the format, and counter of changes in the header of a file; 1 stands for a page of 65,536 bytes
_FILE_HEADER = struct.Struct(">16xHB5xI")
# magic number, page size and salts in the header of a log
_LOG_HEADER = struct.Struct(">I4xI4x8s8x")
# page, size of the database after a commit, salts, and, of page 1, its counter of changes, at the start of a frame
_FRAME = struct.Struct(">II8s8x24xI")
_FRAME_HEADER_SIZE = 24
_MAGIC = (0x377F0682, 0x377F0683)
_WRITE_AHEAD = 2


class _Log(NamedTuple):
    """What is committed in a log: its page size and salts, its frames, and the counters of changes in page 1."""

    page_size: int
    salts: bytes
    frames: int
    changes: list[int]


def check_log_belongs(path: Path) -> None:
    """Refuse a file beside the log of another one.

    A log is refused that is beside a file without a log (as `backup` writes it), that has another page size, or whose
    versions of page 1 do not continue the file's: that page counts the transactions that add or free pages. A log
    without any such transaction is accepted, even if it is the log of another copy of the file.
    """
    if not log_belongs(path):
        raise InputError(
            f"{wal_path(path)} belongs to another file than {path}, such as the one that was there before; SQLite "
            f"would mix both, so nothing was changed: move it and {shm_path(path).name} away to use {path} as it is"
        )


def log_belongs(path: Path) -> bool:
    """Whether the log beside a file may belong to it, or there is none."""
    while True:
        header, log = _read_header(path), _read_log(path)
        if log is None or not log.frames or _continues(header, log):
            return True
        if (header, log) == (_read_header(path), _read_log(path)):  # else a service is writing both
            return False


def _continues(header: tuple[int, int, int], log: _Log) -> bool:
    page_size, version, changes = header
    if version != _WRITE_AHEAD or log.page_size != (65_536 if page_size == 1 else page_size):
        return False
    # a connection may write its first change with the counter that the file has already
    return not log.changes or log.changes[0] - 1 <= changes <= log.changes[-1]


def _read_header(path: Path) -> tuple[int, int, int]:
    with path.open("rb") as file:
        page_size, version, changes = _FILE_HEADER.unpack(file.read(_FILE_HEADER.size).ljust(_FILE_HEADER.size, b"\0"))
    return page_size, version, changes


def _read_log(path: Path) -> _Log | None:
    """Read the log beside a file; None if it is missing or has no header."""
    try:
        file = wal_path(path).open("rb")
    except FileNotFoundError:
        return None
    with file:
        magic, page_size, salts = _LOG_HEADER.unpack(file.read(_LOG_HEADER.size).ljust(_LOG_HEADER.size, b"\0"))
        if magic not in _MAGIC:
            return None
        frames, changes = 0, []
        for number, (page, commits, counter) in enumerate(_read_frames(file, page_size, salts), 1):
            changes += [(number, counter)] if page == 1 else []
            frames = number if commits else frames
    return _Log(page_size, salts, frames, [counter for number, counter in changes if number <= frames])


def _read_frames(file: BinaryIO, page_size: int, salts: bytes) -> Iterator[tuple[int, int, int]]:
    """Page, size of the database after a commit, and counter of changes, of each frame written last."""
    for start in count(_LOG_HEADER.size, _FRAME_HEADER_SIZE + page_size):
        file.seek(start)
        frame = file.read(_FRAME.size)
        if len(frame) < _FRAME.size:
            return
        page, commits, salts_of_frame, counter = _FRAME.unpack(frame)
        if salts_of_frame != salts:
            return
        yield page, commits, counter
