"""Files that are either whole and on the disk, or as they were before."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import time
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEMPORARY_SUFFIX = ".unfinished"
_EVERYBODY = 0o666
_OWNER = 0o600
_LONGEST_STEM = 200
_NOBODY_WRITES = 3600.0
"""Seconds after which a half of a file is no longer somebody's who is still writing it."""


def replace_file(
    path: Path, write: Callable[[BinaryIO], object], *, sync: bool = True, private: bool = False, again: bool = True
) -> None:
    """Write a file under a name of its own and put it on the disk, then give it its name.

    Parameters
    ----------
    path : Path
        The file; what is there is replaced in one step, or left as it is.
    write : callable
        Writes the content to a binary file.
    sync : bool
        Whether to wait for the disk; not for files that nobody needs after a crash.
    private : bool
        Whether only the owner may ever read it, also while it is being written; else whom the umask allows.
    again : bool
        Whether a program that was killed may have left a half of this file; else its folder is not searched for one,
        which takes as long as the folder is large.

    Raises
    ------
    OSError
        It cannot be written; nothing is left beside it.
    """
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if again:
        clear_leftovers(path, older_than=_NOBODY_WRITES)
    temporary = path.with_name(f"{_stem(path)}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    mode = _OWNER if private else _EVERYBODY
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            write(file)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:  # interrupted too: no half-written file stays
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_durably(path: Path, write: Callable[[BinaryIO], object], *, again: bool = True) -> None:
    """Replace a file, and put its name on the disk too: a power cut right afterwards changes nothing.

    Raises
    ------
    OSError
        It cannot be written, or its folder cannot be put on the disk.
    """
    replace_file(path, write, again=again)
    sync_folder(path.parent)


def clear_leftovers(path: Path, *, older_than: float = 0.0) -> None:
    """Remove halves of a file that were being written when a program was killed, so many seconds ago or longer."""
    for leftover in path.parent.glob(f"{glob.escape(_stem(path))}.*{TEMPORARY_SUFFIX}"):
        with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
            if time.time() - leftover.stat().st_mtime >= older_than:
                leftover.unlink()


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where folders can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stem(path: Path) -> str:
    """Name of a file, cut so that more fits behind it."""
    return path.name.encode()[:_LONGEST_STEM].decode(errors="ignore")
