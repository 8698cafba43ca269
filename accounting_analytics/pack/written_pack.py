"""A pack written to a folder in the formats that are asked for."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import JobTimedOutError, PdfFailedError, with_context
from accounting_analytics.pack.mail import MailBody, MailFigure, MailPicture, mail_draft
from accounting_analytics.pack.pdf import print_pdf

if TYPE_CHECKING:
    from email.headerregistry import Address

    from accounting_analytics.pack.output_files import OutputFiles
    from accounting_analytics.pack.result import MonthlyPack


class PackFormats(NamedTuple):
    """What is written beside the page.

    Attributes
    ----------
    browser : str, optional
        The program that prints the PDF; without one there is none.
    recipients : tuple of Address, optional
        Those of the mail, which needs none; without a tuple there is no mail.
    excel : bool
        Whether a workbook is written.
    """

    browser: str | None = None
    recipients: tuple[Address, ...] | None = None
    excel: bool = False


class WrittenPack(NamedTuple):
    """The files of a pack by suffix, and why there is no PDF, if that could not be printed."""

    paths: dict[str, Path]
    pdf_error: PdfFailedError | JobTimedOutError | None = None


def write_pack(pack: MonthlyPack, files: OutputFiles, formats: PackFormats) -> WrittenPack:
    """Make all formats, then replace the files of an earlier run; a PDF that fails is left out, and reported."""
    contents = {".html": pack.html.encode()}
    if formats.excel:
        contents[".xlsx"] = _workbook(pack)
    pdf_error = None
    if formats.browser is not None:
        try:
            contents[".pdf"] = print_pdf(pack.html, formats.browser)
        except (PdfFailedError, JobTimedOutError) as error:
            pdf_error = with_context(error, f"the pack without it is {files.path('.html')}")
    if formats.recipients is not None:
        attachments = {files.path(suffix).name: content for suffix, content in contents.items()}
        created_at = dt.datetime.fromisoformat(pack.created_at)
        body = _mail_body(pack, files.path(".html").name)
        contents[".eml"] = mail_draft(body, attachments, created_at=created_at, recipients=formats.recipients)
    return WrittenPack(files.replace(contents), pdf_error)


def _workbook(pack: MonthlyPack) -> bytes:
    with tempfile.TemporaryDirectory(prefix="pack-workbook-") as temporary:
        path = Path(temporary) / "pack.xlsx"
        pack.save_workbook(path)
        return path.read_bytes()


def _mail_body(pack: MonthlyPack, page_name: str) -> MailBody:
    return MailBody(
        title=pack.title,
        state=pack.state,
        verdict=pack.verdict,
        sentences=pack.sentences,
        key_figures=[MailFigure(*figure) for figure in pack.key_figures],
        pictures=[MailPicture(*picture) for picture in pack.pictures],
        page_name=page_name,
        fingerprint=pack.fingerprint,
    )
