"""The files of a pack: page, PDF and workbook, and their names."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock, Timeout

from accounting_analytics.core.atomic_files import remove_temporary_files, replacing_files
from accounting_analytics.core.errors import (
    ConfigurationError,
    InputError,
    JobTimedOutError,
    PdfFailedError,
    with_context,
)
from accounting_analytics.core.fiscal_years import name_unit
from accounting_analytics.core.messages import printable, quote, shorten
from accounting_analytics.core.name_keys import name_key
from accounting_analytics.pack.read_page import read_page
from accounting_analytics.pack.verify_pack import data_of_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.core.periods import Period
    from accounting_analytics.pack.pack_result import MonthlyPack


_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
_FIRST_WITH_PAGE_NUMBERS = 131
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",  # containers have little shared memory
    "--no-pdf-header-footer",
)
_HEAD = re.compile(r"<head\b[^>]*>", re.IGNORECASE)
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:\">"
)
_VERSION = re.compile(rb"Chrome/([0-9]+)")
_SECONDS = 120.0


def find_browser(configured: str | None = None) -> str:
    """Return the path of the configured Chromium, else of the first Chromium on PATH."""
    for program in (configured,) if configured else _PROGRAMS:
        if path := shutil.which(program):
            return path
    missing = f"browser is {quote(configured)}, which is not a program" if configured else "no Chromium is on PATH"
    raise ConfigurationError(
        f"{missing}, and a PDF is printed by it: install it (apt-get install chromium, or Google Chrome), or give its "
        "path in ACCOUNTING_ANALYTICS_BROWSER; the page itself needs no browser"
    )


def print_pdf(html: str, browser: str, *, seconds: float = _SECONDS) -> bytes:
    """Print a page with its own paper style. End the browser after the time limit."""
    try:
        with tempfile.TemporaryDirectory(prefix="pack-pdf-", ignore_cleanup_errors=True) as temporary:
            return _print(html, browser, Path(temporary), seconds)
    except OSError as error:
        place = error.filename or tempfile.gettempdir()
        raise PdfFailedError(f"no PDF was printed: {place} cannot be written: {error.strerror}") from error


def _print(html: str, browser: str, folder: Path, seconds: float) -> bytes:
    """Print a page in an empty folder."""
    page, pdf, log = folder / "page.html", folder / "page.pdf", folder / "log.txt"
    page.write_bytes(_with_policy(html).encode())
    command = [browser, *_OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={pdf}", page.as_uri()]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # Chromium has no sandbox for root
    with log.open("wb") as messages:
        code = _run(command, messages.fileno(), seconds)
    content = pdf.read_bytes() if pdf.exists() else b""
    _require_whole(content, code, log.read_text(encoding="utf-8", errors="replace"))
    return content


def _with_policy(html: str) -> str:
    """Add a policy to the head of a page.

    With the policy, nothing runs and nothing is loaded.
    """
    head = _HEAD.search(html)
    if head is None:
        raise PdfFailedError("no PDF was printed: the page has no head")
    return f"{html[: head.end()]}{_POLICY}{html[head.end() :]}"


def _run(command: list[str], log: int, seconds: float) -> int:
    """Run the browser without the service's settings, and return its exit code."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ACCOUNTING_ANALYTICS_")}
    try:
        browser = subprocess.Popen(  # noqa: S603 (the configured browser)
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigurationError(f"the browser {command[0]} cannot be started: {error.strerror}") from error
    try:
        return browser.wait(seconds)
    except subprocess.TimeoutExpired:
        raise JobTimedOutError(f"the browser did not print the PDF in {seconds:g} seconds") from None
    finally:
        if browser.poll() is None:  # also after an interrupt
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()


def _require_whole(pdf: bytes, code: int, log: str) -> None:
    """Refuse a PDF that is cut or has no page numbers."""
    if code or not (pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")):
        reason = shorten(printable((log.strip().splitlines() or ["no message"])[-1], " "), limit=200)
        raise PdfFailedError(f"the browser printed no PDF (exit code {code}): {reason}")
    version = _VERSION.search(pdf)
    if version is None or int(version[1]) < _FIRST_WITH_PAGE_NUMBERS:
        found = "of an unknown version" if version is None else f"version {version[1].decode()}"
        raise PdfFailedError(
            f"the browser is {found}, and prints no page numbers: Chromium {_FIRST_WITH_PAGE_NUMBERS} or later does"
        )


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
