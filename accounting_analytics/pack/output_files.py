"""Files of a pack in a folder, named by company and period: a run replaces all of them, or sets them aside."""

from __future__ import annotations

import re
import unicodedata
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from accounting_analytics.atomic_files import remove_temporary_files, replacing_files
from accounting_analytics.errors import AccountingAnalyticsError, InputError, with_context
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

SUFFIXES = (".html", ".pdf", ".eml", ".xlsx")
_PREVIOUS = ".previous"
_LONGEST_COMPANY = 60


def pack_name(company: str | None, period: Period) -> str:
    """Name of the files without suffix: company in lower-case words, and the period as short as it can be written."""
    text = unicodedata.normalize("NFC", company or "").casefold()
    words = re.sub(r"[\W_]+", "-", text)[:_LONGEST_COMPANY].strip("-")
    return f"{words or 'pack'}_{_period_name(period)}"


def _period_name(period: Period) -> str:
    """Year, quarter or month if the period is one of them, else both days."""
    first, last = period.start_date, period.end_date
    for text in (f"{first:%Y}", f"{first:%Y}-Q{(first.month + 2) // 3}", f"{first:%Y-%m}"):
        if Period.parse(text, time_zone=period.time_zone) == period:
            return text
    return f"{first}_{last}"


class OutputFiles:
    """The files of one name in a folder, and with the mark ``.previous`` those of the run before."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name

    def path(self, suffix: str) -> Path:
        """Path of a file."""
        return self.folder / f"{self.name}{suffix}"

    def previous(self, suffix: str) -> Path:
        """Path of the file of the run before."""
        return self.folder / f"{self.name}{_PREVIOUS}{suffix}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the files for one run; if it fails, those of an earlier run are set aside."""
        lock = FileLock(self.folder / f".{self.name}.lock", timeout=0, mode=0o600)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise InputError(
                f"another run writes {self.name} in {self.folder}; wait for it, then try again; nothing was changed"
            ) from None
        except OSError as error:
            raise _folder_error(self.folder, error) from error
        try:
            self._remove_unfinished()
            yield
        except BaseException as error:
            self._forget_older()
            moved = self._set_aside(SUFFIXES)
            if moved and isinstance(error, AccountingAnalyticsError):
                with_context(error, f"the files of the run before are now {', '.join(map(str, moved))}")
            raise
        finally:
            lock.release()

    def replace(self, contents: Mapping[str, bytes]) -> dict[str, Path]:
        """Write the files of a run by suffix, keep those of the run before, and return the new paths.

        Files of the run before in formats that this run does not write are set aside: all are of one run.
        """
        earlier: dict[Path, bytes] = {}
        try:
            for suffix in contents:
                with suppress(FileNotFoundError):
                    earlier[self.previous(suffix)] = self.path(suffix).read_bytes()
            new = {self.path(suffix): content for suffix, content in contents.items()}
            with replacing_files(earlier | new, private=True):
                self._forget_older()
                self._set_aside(suffix for suffix in SUFFIXES if suffix not in contents)
        except OSError as error:
            raise _folder_error(self.folder, error) from error
        return {suffix: self.path(suffix) for suffix in contents}

    def _remove_unfinished(self) -> None:
        """Remove temporary files of a killed run."""
        for suffix in SUFFIXES:
            for path in (self.path(suffix), self.previous(suffix)):
                remove_temporary_files(path)

    def _forget_older(self) -> None:
        """Remove previous files in formats that the last run did not write: those that stay are of one run."""
        last = {suffix for suffix in SUFFIXES if self.path(suffix).exists()}
        for suffix in SUFFIXES:
            if last and suffix not in last:
                self.previous(suffix).unlink(missing_ok=True)

    def _set_aside(self, suffixes: Iterable[str]) -> list[Path]:
        """Give files of an earlier run the name of previous ones, and return their new paths."""
        moved = []
        for suffix in suffixes:
            with suppress(FileNotFoundError):
                moved.append(self.path(suffix).replace(self.previous(suffix)))
        return moved


def _folder_error(folder: Path, error: OSError) -> InputError:
    return InputError(f"the folder {folder} cannot be written: {error.strerror}; no new file was written")
