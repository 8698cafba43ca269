"""Atomic file writes: a file is replaced completely and synced, or left unchanged."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from accounting_analytics.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

TEMPORARY_SUFFIX = ".unfinished"
_DEFAULT_MODE = 0o666
PRIVATE_MODE = 0o600
_MAX_STEM_BYTES = 200
_ABANDONED_AFTER = 3600.0
"""Age in seconds after which no running program still writes to a temporary file."""


def replace_file(
    path: Path,
    write: Callable[[BinaryIO], object],
    *,
    sync: bool = True,
    private: bool = False,
    remove_leftovers: bool = True,
) -> None:
    """Write a file completely or not at all, by renaming a temporary file.

    Without `sync` a crash may lose the file. Only its owner may read a `private` file. `remove_leftovers` removes old
    temporary files, which takes longer in a large folder.
    """
    with _written(path, write, sync=sync, private=private, remove_leftovers=remove_leftovers) as temporary:
        temporary.replace(path)


@contextmanager
def replacing_files(contents: Mapping[Path, bytes], *, private: bool = False) -> Iterator[None]:
    """Write several temporary files before the block, and replace all files after it, or none."""
    with ExitStack() as stack:
        temporaries = {
            path: stack.enter_context(
                _written(path, partial(_write_bytes, content), sync=True, private=private, remove_leftovers=True)
            )
            for path, content in contents.items()
        }
        yield
        for path, temporary in temporaries.items():
            temporary.replace(path)
    for folder in {path.parent for path in contents}:
        sync_folder(folder)


def write_durably(path: Path, write: Callable[[BinaryIO], object], *, remove_leftovers: bool = True) -> None:
    """Replace a file and sync its folder, so that it survives a power cut."""
    replace_file(path, write, remove_leftovers=remove_leftovers)
    sync_folder(path.parent)


def write_text(path: Path, text: str, *, private: bool = False) -> Path:
    """Write a UTF-8 text file to an existing folder, completely or not at all."""
    try:
        replace_file(path, lambda file: file.write(text.encode()), private=private)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; the previous content is unchanged") from error
    return path


def remove_temporary_files(path: Path, *, older_than: float = 0.0) -> None:
    """Remove temporary files that a killed program left and that have at least an age."""
    for leftover in path.parent.glob(f"{glob.escape(_stem(path))}.*{TEMPORARY_SUFFIX}"):
        with suppress(OSError):  # removed by another process, or owned by another user
            if time.time() - leftover.stat().st_mtime >= older_than:
                leftover.unlink()


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk, if the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _written(
    path: Path, write: Callable[[BinaryIO], object], *, sync: bool, private: bool, remove_leftovers: bool
) -> Iterator[Path]:
    """Yield a temporary file with the content, and remove it on failure."""
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if remove_leftovers:
        remove_temporary_files(path, older_than=_ABANDONED_AFTER)
    temporary = path.with_name(f"{_stem(path)}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    mode = PRIVATE_MODE if private else _DEFAULT_MODE
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            write(file)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        yield temporary
    except BaseException:  # also after an interrupt: no temporary file stays
        with suppress(OSError):
            temporary.unlink()
        raise


def _write_bytes(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def _stem(path: Path) -> str:
    """Shorten the name of a file to leave room for a suffix."""
    return path.name.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")
