"""Atomic file writes: a file is replaced completely and synced to disk, or left unchanged."""

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
_PRIVATE_MODE = 0o600
_MAX_STEM_BYTES = 200
_ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file can no longer belong to a program that is still writing it."""


def replace_file(
    path: Path,
    write: Callable[[BinaryIO], object],
    *,
    sync: bool = True,
    private: bool = False,
    remove_leftovers: bool = True,
) -> None:
    """Write a temporary file, sync it to disk, and rename it to `path`: all of it is replaced, or nothing.

    Without `sync` a crash may lose it; a `private` file only its owner may read; the search for the temporary files of
    killed programs takes longer in a larger folder.
    """
    with _written(path, write, sync=sync, private=private, remove_leftovers=remove_leftovers) as temporary:
        temporary.replace(path)


@contextmanager
def replacing_files(contents: Mapping[Path, bytes], *, private: bool = False) -> Iterator[None]:
    """Write and sync several files before the block, and replace them after it: where one does not fit, none is new."""
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
    """Replace a file and sync its folder too, so that a power cut right afterwards changes nothing."""
    replace_file(path, write, remove_leftovers=remove_leftovers)
    sync_folder(path.parent)


def write_text(path: Path, text: str, *, private: bool = False) -> Path:
    """Write a UTF-8 text file, completely or not at all, to a folder that exists."""
    try:
        replace_file(path, lambda file: file.write(text.encode()), private=private)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; the previous content is unchanged") from error
    return path


def remove_temporary_files(path: Path, *, older_than: float = 0.0) -> None:
    """Remove temporary files of `path` that a killed program left, if they are at least so many seconds old."""
    for leftover in path.parent.glob(f"{glob.escape(_stem(path))}.*{TEMPORARY_SUFFIX}"):
        with suppress(OSError):  # removed by another process, or owned by another user
            if time.time() - leftover.stat().st_mtime >= older_than:
                leftover.unlink()


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, on systems where folders can be synced."""
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
    """Temporary file beside `path` with its content; it is removed if it cannot be written or the block fails."""
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if remove_leftovers:
        remove_temporary_files(path, older_than=_ABANDONED_AFTER)
    temporary = path.with_name(f"{_stem(path)}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}")
    mode = _PRIVATE_MODE if private else _DEFAULT_MODE
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            write(file)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        yield temporary
    except BaseException:  # also when interrupted: no temporary file stays
        with suppress(OSError):
            temporary.unlink()
        raise


def _write_bytes(content: bytes, file: BinaryIO) -> None:
    file.write(content)


def _stem(path: Path) -> str:
    """Name of a file, shortened so that a suffix fits after it."""
    return path.name.encode()[:_MAX_STEM_BYTES].decode(errors="ignore")
