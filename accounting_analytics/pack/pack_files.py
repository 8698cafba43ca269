"""The files of a pack: page, PDF and workbook, and their names."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock, Timeout

from accounting_analytics.core.atomic_files import PRIVATE_MODE, remove_temporary_files, replacing_files
from accounting_analytics.core.errors import (
    InputError,
    JobTimedOutError,
    PdfFailedError,
    with_context,
)
from accounting_analytics.core.fiscal_years import name_unit
from accounting_analytics.core.messages import printable, quote
from accounting_analytics.core.name_keys import name_key
from accounting_analytics.pack.page_format import read_page
from accounting_analytics.pack.print_pdf import print_pdf
from accounting_analytics.pack.verify_pack import data_of_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.core.periods import Period
    from accounting_analytics.pack.pack_result import MonthlyPack


SUFFIXES = (".html", ".pdf", ".xlsx")
_LONGEST_COMPANY = 60


def pack_name(company: str | None, period: Period, fiscal_year_start_month: int = 1) -> str:
    """Make the name of the files without suffix: company in lower case, then the period."""
    words = re.sub(r"[\W_]+", "-", name_key(company or ""))[:_LONGEST_COMPANY].strip("-")
    unit = name_unit(period, fiscal_year_start_month)
    days = f"{period.start_date}_{period.end_date}" if unit is None else unit.key.replace("/", "-")
    return f"{words or 'pack'}_{days}"


class OutputFiles:
    """The files in a folder that have one name and different suffixes."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.name = name

    def path(self, suffix: str) -> Path:
        """Return the path of the file with a suffix."""
        return self.folder / f"{self.name}{suffix}"

    def require_company(self, company: str | None) -> None:
        """Refuse to replace the page of another company of a similar name."""
        page = self.path(".html")
        if not page.exists():
            return
        try:
            found = data_of_page(read_page(page.read_text(encoding="utf-8"))).company
        except (OSError, UnicodeDecodeError, InputError) as error:
            raise InputError(
                f"{page} is there, and is not a pack that can be read: {error}; move it, or choose another folder; "
                "nothing was changed"
            ) from error
        if name_key(found) != name_key(printable(company or "")):
            raise InputError(
                f"{page} is the pack of {quote(found) if found else 'a company without a name'}, and that of "
                f"{quote(company) if company else 'one without a name'} would replace it: choose another folder; "
                "nothing was changed"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the files for one run."""
        lock = FileLock(self.folder / f".{self.name}.lock", timeout=0, mode=PRIVATE_MODE)
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
            for suffix in SUFFIXES:
                remove_temporary_files(self.path(suffix))  # files of a killed run
            yield
        finally:
            lock.release()

    def replace(self, contents: Mapping[str, bytes]) -> dict[str, Path]:
        """Write the files of a run by suffix, and return their paths.

        Files of an earlier run in other formats are removed, so that all files with the name are from one run.
        """
        new = {self.path(suffix): content for suffix, content in contents.items()}
        try:
            with replacing_files(new, private=True):
                pass
            for suffix in SUFFIXES:
                if suffix not in contents:
                    self.path(suffix).unlink(missing_ok=True)
        except OSError as error:
            raise _folder_error(self.folder, error) from error
        return {suffix: self.path(suffix) for suffix in contents}


def _folder_error(folder: Path, error: OSError) -> InputError:
    return InputError(f"the folder {folder} cannot be written: {error.strerror}; no new file was written")


class PackFormats(NamedTuple):
    """Formats that are written in addition to the page.

    Attributes
    ----------
    browser : str, optional
        The program that prints the PDF; without one there is none.
    excel : bool
        Whether a workbook is written.
    """

    browser: str | None = None
    excel: bool = False


class WrittenPack(NamedTuple):
    """The files of a pack by suffix, and the reason for a missing PDF."""

    paths: dict[str, Path]
    pdf_error: PdfFailedError | JobTimedOutError | None = None


def write_pack(pack: MonthlyPack, files: OutputFiles, formats: PackFormats) -> WrittenPack:
    """Make all formats, then replace earlier files. If the PDF fails, the result says why."""
    contents = {".html": pack.html.encode()}
    if formats.excel:
        contents[".xlsx"] = _workbook(pack)
    pdf_error = None
    if formats.browser is not None:
        try:
            contents[".pdf"] = print_pdf(pack.html, formats.browser)
        except (PdfFailedError, JobTimedOutError) as error:
            pdf_error = with_context(error, f"the pack without it is {files.path('.html')}")
    return WrittenPack(files.replace(contents), pdf_error)


def _workbook(pack: MonthlyPack) -> bytes:
    with tempfile.TemporaryDirectory(prefix="pack-workbook-") as temporary:
        path = Path(temporary) / "pack.xlsx"
        pack.save_workbook(path)
        return path.read_bytes()
