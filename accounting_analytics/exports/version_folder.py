"""Outputs that are replaced as a whole, by one program at a time: folders of versions, and the folder beside a file.

::

    DIR/current -> versions/7
    DIR/versions/6    the version before, for readers that are still reading it
    DIR/versions/7

A version is written under another name and renamed when it is complete; then the link is replaced by a rename. A reader
that resolves the link once sees the old version or the new one, also if the writer is killed.
"""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from accounting_analytics.arguments import to_path
from accounting_analytics.atomic_files import TEMPORARY_SUFFIX, sync_folder
from accounting_analytics.errors import InputError
from accounting_analytics.messages import join_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

CURRENT = "current"
LOCK_NAME = ".lock"
_VERSIONS = "versions"
_NEXT_LINK = f"{CURRENT}{TEMPORARY_SUFFIX}"
_FILES_OF_EARLIER_EXPORTS = {"manifest.json", "fact_line_entry.parquet"}
_SUFFIXES_OF_FILES = {".duckdb", ".xlsx"}
_NUMBER = re.compile(r"[1-9][0-9]*")


class VersionFolder:
    """A folder of versions; it must be new, empty, or contain nothing else.

    Parameters
    ----------
    path : path
        The folder; created with the first version.

    Raises
    ------
    InputError
        It contains other files, which are left as they are, or it is not a folder, or a new one with the name of a
        file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = to_path(path, "output")
        if not self.path.exists():
            self._require_name_of_a_folder()
            return
        if not self.path.is_dir():
            msg = f"{self.path} is a file; name a folder to export to"
            raise InputError(msg)
        names = {one.name for one in self.path.iterdir()}
        if names >= _FILES_OF_EARLIER_EXPORTS and _VERSIONS not in names:
            msg = (
                f"{self.path} is an export of an earlier version of this package, which has no versions; export to a "
                "new folder, and remove this one when nothing reads it; nothing was written"
            )
            raise InputError(msg)
        others = names - {CURRENT, _VERSIONS, LOCK_NAME, _NEXT_LINK}
        if others:
            msg = (
                f"{self.path} contains files that are not part of an export ({join_ids(others)}); name an empty or new "
                "folder; nothing was written"
            )
            raise InputError(msg)

        link = self.path / CURRENT
        if link.exists() and not link.is_symlink():
            msg = (
                f"{link} is not a link to a version; an export that was copied without its links can be read, but not "
                "replaced: name an empty or new folder; nothing was written"
            )
            raise InputError(msg)

    def _require_name_of_a_folder(self) -> None:
        """Refuse to create a folder with the name of a file, where another format was meant."""
        if self.path.suffix.lower() in _SUFFIXES_OF_FILES:
            msg = (
                f"{self.path} is the name of a file, but this format writes a folder; choose the format duckdb or "
                "excel, or name a folder; nothing was written"
            )
            raise InputError(msg)

    @property
    def current(self) -> Path | None:
        """Folder of the current version, resolved; None if there is none."""
        link = self.path / CURRENT
        return link.resolve() if link.is_symlink() and link.is_dir() else None

    @contextmanager
    def new_version(self) -> Iterator[Path]:
        """Folder for the files of the next version, which becomes the current one when the block ends without an error.

        Raises
        ------
        InputError
            Another program is writing a version.
        OSError
            The folder cannot be written; the current version is unchanged.
        """
        (self.path / _VERSIONS).mkdir(parents=True, exist_ok=True)
        with export_lock(self.path / LOCK_NAME, self.path):
            complete = self.path / _VERSIONS / str(self._last_number() + 1)
            unfinished = complete.with_name(f"{complete.name}{TEMPORARY_SUFFIX}")
            self._remove_versions(keep=self.current)
            unfinished.mkdir()
            try:
                yield unfinished
                self._make_current(unfinished, complete)
            except BaseException:  # also when interrupted: nothing unfinished stays
                shutil.rmtree(unfinished, ignore_errors=True)
                raise

    def _make_current(self, unfinished: Path, complete: Path) -> None:
        for folder in (unfinished, *(one for one in unfinished.rglob("*") if one.is_dir())):
            sync_folder(folder)
        unfinished.rename(complete)
        sync_folder(complete.parent)
        link = self.path / _NEXT_LINK
        link.unlink(missing_ok=True)
        link.symlink_to(Path(_VERSIONS) / complete.name, target_is_directory=True)
        link.replace(self.path / CURRENT)
        sync_folder(self.path)

    def _last_number(self) -> int:
        names = [one.name for one in (self.path / _VERSIONS).iterdir()]
        return max((int(name) for name in names if _NUMBER.fullmatch(name)), default=0)

    def _remove_versions(self, *, keep: Path | None) -> None:
        """Remove what an earlier export left: versions before the current one, and unfinished ones."""
        for one in (self.path / _VERSIONS).iterdir():
            if keep is None or one.resolve() != keep:
                shutil.rmtree(one)


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


def file_path(output: str | Path, suffix: str) -> Path:
    """Path of a file to write or replace.

    Raises
    ------
    InputError
        It has another suffix, is a folder, or its folder does not exist.
    """
    path = to_path(output, "output")
    if path.suffix.lower() != suffix:
        msg = f"{path}: this format writes one file; name a file that ends in {suffix}; nothing was written"
        raise InputError(msg)
    if path.is_dir():
        msg = f"{path} is a folder; name a file to write; nothing was written"
        raise InputError(msg)
    if not path.parent.is_dir():
        msg = f"{path.parent} is not a folder; create it, or name a file in another folder; nothing was written"
        raise InputError(msg)
    return path
