"""`verify_pack`: the check of a pack by its receiver, with nothing but the file and the fingerprint."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from accounting_analytics.arguments import to_path
from accounting_analytics.errors import InputError
from accounting_analytics.money import MAX_SCALE
from accounting_analytics.pack_verification.checks import (
    check_days,
    check_facts,
    check_figures,
    check_fingerprint,
    check_form,
    check_journal_entries,
    check_rows,
    figure_elements,
    unchecked_amounts,
)
from accounting_analytics.pack_verification.figure_labels import FigureLabels
from accounting_analytics.pack_verification.fingerprint import fingerprint_of, read_fingerprint
from accounting_analytics.pack_verification.pack_data import ENTRIES_ID, RECORD_ID, read_entries, read_record
from accounting_analytics.pack_verification.page import read_page
from accounting_analytics.pack_verification.recomputation import Recomputation
from accounting_analytics.pack_verification.result import PackFault, PackVerification

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.pack_verification.page import Page

_MAX_FILE_BYTES = 100_000_000


def verify_pack(path: str | Path, *, fingerprint: str | None = None) -> PackVerification:
    """Check a pack that someone sent: recompute its figures from the entries in it, and its fingerprint.

    Nothing but the file is needed, no service and no books, and nothing of the code that writes packs is used.

    Parameters
    ----------
    path : path
        The HTML file.
    fingerprint : str, optional
        The fingerprint as the mail, the run's log or the sender by telephone states it. Without it, an alteration by
        a person who also replaced the fingerprint in the page is found only where figures do not follow from entries.

    Returns
    -------
    PackVerification
        What was checked, and every fault.

    Raises
    ------
    InputError
        The file is not a pack, its data cannot be read, or the given fingerprint is not one.
    """
    given = None if fingerprint is None else read_fingerprint(fingerprint)
    file = to_path(path, "path")
    text = _read_text(file)
    if f'id="{RECORD_ID}"' not in text:
        raise InputError(f"{file} is not a pack: it has no record of its figures; give the HTML file that was sent")
    try:
        page = read_page(text)
    except InputError as error:
        fault = PackFault("form of the page", "", str(error), "a page as packs are written")
        return PackVerification(file, "", "", "", "not read", "", given, 0, 0, 0, (), (fault,))
    record, entries = read_record(_data(page, RECORD_ID)), read_entries(_data(page, ENTRIES_ID))
    if not 0 <= record.scale <= MAX_SCALE:
        raise InputError(f"the record of the pack cannot be read: its scale is {record.scale}")
    figures = Recomputation(record, entries)
    elements = figure_elements(page)
    stated = sum(figures.is_stated(one.nearest("data-table"), one.attributes["data-key"]) for one in elements)
    faults = chain(
        check_form(page, text),
        check_fingerprint(page, given),
        check_facts(page, record),
        check_figures(elements, record, figures, FigureLabels(page)),
        check_rows(elements, record),
        check_days(record, entries),
        check_journal_entries(entries),
    )
    return PackVerification(
        path=file,
        company=record.company,
        start_date=record.start_date,
        end_date=record.end_date,
        verdict=record.verdict,
        fingerprint=fingerprint_of(page),
        compared_with=given,
        figures=len(elements) - stated,
        stated=stated,
        entries=len(entries.lines),
        unchecked=unchecked_amounts(page, record.scale),
        differences=tuple(faults),
    )


def _read_text(file: Path) -> str:
    """Text of a file, with the newlines of packs: mail programs may change them."""
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise InputError(f"{file} is not a pack: it is larger than {_MAX_FILE_BYTES:,} bytes")
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; give the HTML file that was sent") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not a pack: it is not text in UTF-8; give the HTML file that was sent") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _data(page: Page, name: str) -> str:
    """Text of the one element of data with an id."""
    found = [element for element in page.elements if element.attributes.get("id") == name]
    if len(found) != 1 or found[0].name != "script":
        raise InputError(f"the data of the pack cannot be read: it has {len(found)} element(s) {name} instead of one")
    return "".join(found[0].pieces)
