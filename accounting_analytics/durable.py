"""Files that are either whole and on the disk, or as they were before."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEMPORARY_SUFFIX = ".unfinished"
_EVERYBODY = 0o666
_OWNER = 0o600


def write_durably(path: Path, write: Callable[[BinaryIO], object], *, sync: bool = True, private: bool = False) -> None:
    """Write a file under a name of its own, put it on the disk, then give it its name and put that on the disk too.

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

    Raises
    ------
    OSError
        It cannot be written; nothing is left beside it.
    """
    mode = _OWNER if private else _EVERYBODY
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
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
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk, where folders can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
