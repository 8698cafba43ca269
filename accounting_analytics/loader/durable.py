"""Files that are either whole and on the disk, or not there."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEMPORARY_SUFFIX = ".unfinished"


def write_durably(path: Path, write: Callable[[BinaryIO], object], *, sync: bool = True) -> None:
    """Write a file under another name, put it on the disk, then give it its name and put that on the disk too.

    Without `sync` the disk may take its time: for files that nobody needs after a crash.
    """
    temporary = path.with_name(f"{path.name}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as file:
            write(file)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:  # interrupted too: no half-written file stays
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
