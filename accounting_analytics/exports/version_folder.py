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
_SUFFIXES_OF_FILES = {".duckdb", ".xlsx"}
_NUMBER = re.compile(r"[1-9][0-9]*")


class VersionFolder:
    """A folder of versions; it is new, empty, or contains nothing else, and is created with the first version."""

    def __init__(self, path: str | Path) -> None:
        self.path = to_path(path, "output")
        if not self.path.exists():
            self._require_name_of_a_folder()
            return
        if not self.path.is_dir():
            raise InputError(f"{self.path} is a file; name a folder to export to")
        names = {one.name for one in self.path.iterdir()}
        others = names - {CURRENT, _VERSIONS, LOCK_NAME, _NEXT_LINK}
        if others:
            raise InputError(
                f"{self.path} contains files that are not part of an export ({join_ids(others)}); name an empty or new "
                "folder; nothing was written"
            )
        link = self.path / CURRENT
        if link.exists() and not link.is_symlink():
            raise InputError(
                f"{link} is not a link to a version; an export that was copied without its links can be read, but not "
                "replaced: name an empty or new folder; nothing was written"
            )

    def _require_name_of_a_folder(self) -> None:
        """Refuse to create a folder with the name of a file, where another format was meant."""
        if self.path.suffix.lower() in _SUFFIXES_OF_FILES:
            raise InputError(
                f"{self.path} is the name of a file, but this format writes a folder; choose the format duckdb or "
                "excel, or name a folder; nothing was written"
            )

    @property
    def current(self) -> Path | None:
        """Folder of the current version, resolved; None if there is none."""
        link = self.path / CURRENT
        return link.resolve() if link.is_symlink() and link.is_dir() else None

    @contextmanager
    def new_version(self) -> Iterator[Path]:
        """Folder for the files of the next version; it becomes the current one when the block ends without an error."""
        is_new = not self.path.exists()
        (self.path / _VERSIONS).mkdir(parents=True, exist_ok=True)
        with export_lock(self.path / LOCK_NAME, self.path):
            complete = self.path / _VERSIONS / str(self._last_number() + 1)
            unfinished = complete.with_name(f"{complete.name}{TEMPORARY_SUFFIX}")
            self._remove_versions(keep=self.current)
            is_new = is_new and self.current is None  # another program may have exported meanwhile
            unfinished.mkdir()
            try:
                yield unfinished
                self._make_current(unfinished, complete)
            except BaseException:  # also when interrupted: nothing unfinished stays
                shutil.rmtree(self.path if is_new else unfinished, ignore_errors=True)
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
    """Lock a file in an existing folder until the block ends; a killed program releases its lock."""
    lock = FileLock(file, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise InputError(f"another export to {output} is running; wait for it; nothing was written") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def unfinished_folder(path: Path) -> Iterator[Path]:
    """Empty private folder beside a file, for its next content; what a killed export left there is removed."""
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
    """Path of a file to write or replace."""
    path = to_path(output, "output")
    if path.suffix.lower() != suffix:
        raise InputError(f"{path}: this format writes one file; name a file that ends in {suffix}; nothing was written")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file to write; nothing was written")
    if not path.parent.is_dir():
        raise InputError(
            f"{path.parent} is not a folder; create it, or name a file in another folder; nothing was written"
        )
    return path
