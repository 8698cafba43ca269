"""One export at a time to the same output."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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
