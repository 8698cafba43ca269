"""One export at a time to the same output."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from accounting_analytics.atomic_files import TEMPORARY_SUFFIX
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_NAME = ".lock"


@contextmanager
def export_lock(file: Path, output: Path) -> Iterator[None]:
    """Lock a file in an existing folder until the block ends; a killed program releases its lock.

    Raises
    ------
    InputError
        Another export to `output` has the lock.
    OSError
        The file cannot be written.
    """
    lock = FileLock(file, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        msg = f"another export to {output} is running; wait for it; nothing was written"
        raise InputError(msg) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def unfinished_folder(path: Path) -> Iterator[Path]:
    """Empty private folder beside a file, for its next content; what a killed export left there is removed.

    Raises
    ------
    InputError
        Another export to the file is running.
    OSError
        The folder cannot be written.
    """
    folder = path.with_name(f"{path.name}{TEMPORARY_SUFFIX}")
    folder.mkdir(mode=0o700, exist_ok=True)
    with export_lock(folder / LOCK_NAME, path):
        try:
            for leftover in folder.iterdir():
                if leftover.name != LOCK_NAME:
                    shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
