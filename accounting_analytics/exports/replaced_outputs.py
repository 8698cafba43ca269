"""Outputs that are replaced as a whole, by one program at a time: a folder of versions, or a file.

::

    DIR/current -> versions/7
    DIR/versions/6    the version before, for readers that are still reading it
    DIR/versions/7

A version is written under another name and renamed when it is complete; then the link is replaced by a rename. A reader
that resolves the link once sees the old version or the new one, also if the writer is killed.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.atomic_files import TEMPORARY_SUFFIX, sync_folder
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import join_ids
from accounting_analytics.exports.manifest import CURRENT, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = ".lock"
_VERSIONS = "versions"
_NEXT_LINK = f"{CURRENT}{TEMPORARY_SUFFIX}"
_SUFFIXES_OF_FILES = {".duckdb", ".xlsx"}


class VersionFolder:
    """A folder of versions whose files have a suffix. It must be new, empty, or have only versions."""

    def __init__(self, output: str | Path, suffix: str) -> None:
        self.path = to_path(output, "output")
        self.location = self.path / CURRENT
        if self.path.exists():
            self._require_versions()
        elif self.path.suffix.lower() in _SUFFIXES_OF_FILES:
            raise InputError(
                f"{self.path} is the name of a file, but this format writes a folder; name a folder, or choose the "
                "format duckdb; nothing was written"
            )
        names = [] if self._current is None else [file.name for file in Manifest.load(self._current).files]
        if not all(name.endswith(suffix) for name in names):
            raise InputError(
                f"{self.path} has an export in another format ({names[0]}); name another folder; nothing was written"
            )

    def _require_versions(self) -> None:
        """Refuse a folder that has other files."""
        if not self.path.is_dir():
            raise InputError(f"{self.path} is a file; name a folder to export to")
        others = {path.name for path in self.path.iterdir()} - {CURRENT, _VERSIONS, _LOCK, _NEXT_LINK}
        if others:
            raise InputError(
                f"{self.path} contains files that are not part of an export ({join_ids(others)}); name an empty or new "
                "folder; nothing was written"
            )
        if self.location.exists() and not self.location.is_symlink():
            raise InputError(
                f"{self.location} is not a link to a version; an export that was copied without its links can be read, "
                "but not replaced: name an empty or new folder; nothing was written"
            )

    @property
    def _current(self) -> Path | None:
        """Find the folder of the current version, if any."""
        return self.location.resolve() if self.location.is_dir() else None

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """Make a folder for the next version, which becomes the current version when the block succeeds."""
        is_new = not self.path.exists()
        versions = self.path / _VERSIONS
        versions.mkdir(parents=True, exist_ok=True)
        with _locked(self.path / _LOCK, self.path):
            current = self._current
            for version in versions.iterdir():  # earlier versions, and unfinished versions
                if version.resolve() != current:
                    shutil.rmtree(version)
            complete = versions / str(1 if current is None else int(current.name) + 1)
            unfinished = complete.with_name(f"{complete.name}{TEMPORARY_SUFFIX}")
            unfinished.mkdir()
            try:
                yield unfinished
                _sync(unfinished)
                unfinished.rename(complete)
                self._make_current(complete)
            except BaseException:  # also after an interrupt: nothing unfinished stays
                shutil.rmtree(self.path if is_new and current is None else unfinished, ignore_errors=True)
                raise

    def _make_current(self, version: Path) -> None:
        sync_folder(version.parent)
        link = self.path / _NEXT_LINK
        link.unlink(missing_ok=True)
        link.symlink_to(Path(_VERSIONS) / version.name, target_is_directory=True)
        link.replace(self.location)
        sync_folder(self.path)


class OutputFile:
    """A file with a suffix in an existing folder."""

    def __init__(self, output: str | Path, suffix: str) -> None:
        self.path = to_path(output, "output")
        self.location = self.path.parent
        if self.path.suffix.lower() != suffix:
            raise InputError(
                f"{self.path}: this format writes one file; name a file that ends in {suffix}; nothing was written"
            )
        if self.path.is_dir():
            raise InputError(f"{self.path} is a folder; name a file to write; nothing was written")
        if not self.location.is_dir():
            raise InputError(
                f"{self.location} is not a folder; create it, or name a file in another folder; nothing was written"
            )

    @contextmanager
    def replaced(self) -> Iterator[Path]:
        """Yield the path of a private file, which replaces the output when the block ends."""
        folder = self.path.with_name(f"{self.path.name}{TEMPORARY_SUFFIX}")
        folder.mkdir(mode=0o700, exist_ok=True)
        with _locked(folder / _LOCK, self.path):
            try:
                unfinished = folder / "next" / self.path.name
                shutil.rmtree(unfinished.parent, ignore_errors=True)  # files of a killed export
                unfinished.parent.mkdir()
                yield unfinished
                _sync(unfinished.parent)
                unfinished.replace(self.path)
                sync_folder(self.location)
            finally:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(file: Path, output: Path) -> Iterator[None]:
    """Lock a file until the block ends. The lock of a killed program is released."""
    try:
        with FileLock(file, timeout=0):
            yield
    except Timeout:
        raise InputError(f"another export to {output} is running; wait for it; nothing was written") from None


def _sync(folder: Path) -> None:
    """Write a folder and its files to disk."""
    sync_folder(folder)
    for path in folder.rglob("*"):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
