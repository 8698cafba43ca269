"""The PDF of a page, printed by Chromium, which loads nothing and runs nothing."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from accounting_analytics.core.errors import ConfigurationError, JobTimedOutError, PdfFailedError
from accounting_analytics.core.messages import printable, quote, shorten

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
