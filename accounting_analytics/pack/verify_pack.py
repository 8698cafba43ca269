"""`verify_pack`: the check of a pack by its receiver, who needs only the file and the fingerprint."""

from __future__ import annotations

import hashlib
import re
from itertools import chain
from typing import TYPE_CHECKING

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import MAX_SCALE
from accounting_analytics.pack.page_format import DATA_ID, StatedFigure, read_data, read_page
from accounting_analytics.pack.receiver_checks import (
    Recomputation,
    check_days,
    check_facts,
    check_figures,
    check_journal_entries,
    check_shown,
    unchecked_amounts,
)
from accounting_analytics.pack.verification_result import PackFault, PackVerification

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.pack.page_format import PageData, PageElement

_MAX_FILE_BYTES = 100_000_000
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def verify_pack(path: str | Path, *, fingerprint: str | None = None) -> PackVerification:
    """Check a pack that someone sent: recompute its figures from the entries in it, and its fingerprint.

    Nothing but the file is needed, no service and no books, and nothing of the code that writes packs is used. The
    check runs nothing of the page; a browser does, so open one only after its SHA-256 was compared.

    Parameters
    ----------
    path : path
        The HTML file.
    fingerprint : str, optional
        SHA-256 of the file, as ``sha256sum`` prints it, from the run's log, the workbook or its sender. Without it, an
        alteration is found only where figures and facts do not follow from the data in the page.

    Returns
    -------
    PackVerification
        What was checked, and every fault.

    Raises
    ------
    InputError
        The file is not a pack, its data cannot be read, or the given fingerprint is not one.
    """
    given = None if fingerprint is None else _read_fingerprint(fingerprint)
    file = to_path(path, "path")
    content = _read(file)
    text = _decode(content, file)
    if f'id="{DATA_ID}"' not in text:
        raise InputError(f"{file} is not a pack: it has no data of its figures; give the HTML file that was sent")
    calculated = hashlib.sha256(content).hexdigest()
    page = read_page(text)
    data = data_of_page(page)
    if not 0 <= data.scale <= MAX_SCALE:
        raise InputError(f"the data of the pack cannot be read: their scale is {data.scale}")
    figures = Recomputation(data)
    elements = [element for element in page if "data-key" in element.attributes]
    tables = {name: table.figures for name, table in data.tables.items()}
    shown = [tables.get(element.nearest("data-table"), {}).get(element.attributes["data-key"]) for element in elements]
    stated = sum(isinstance(figure, StatedFigure) for figure in shown)
    faults = chain(
        _compare_fingerprints(given, calculated),
        check_facts(page, data),
        check_figures(elements, figures),
        check_shown(elements, data),
        check_days(data),
        check_journal_entries(data),
    )
    return PackVerification(
        path=file,
        company=data.company,
        start_date=data.start_date,
        end_date=data.end_date,
        verdict=data.verdict,
        fingerprint=calculated,
        compared_with=given,
        figures=len(elements) - stated,
        stated=stated,
        entries=len(data.lines),
        unchecked=unchecked_amounts(page, data.scale, data.amounts_in),
        differences=tuple(faults),
    )


def _read_fingerprint(text: str) -> str:
    """Read a fingerprint that people typed, also with capitals or spaces."""
    digits = "".join(text.split()).lower()
    if not _FINGERPRINT.fullmatch(digits):
        raise InputError(f"{quote(text)} is not a fingerprint: copy all 64 digits that sha256sum prints of the file")
    return digits


def _compare_fingerprints(given: str | None, calculated: str) -> Iterator[PackFault]:
    if given is not None and given != calculated:
        yield PackFault("fingerprint", "", given, calculated)


def _read(file: Path) -> bytes:
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise InputError(f"{file} is not a pack: it is larger than {_MAX_FILE_BYTES:,} bytes")
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; give the HTML file that was sent") from error


def _decode(content: bytes, file: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is not a pack: it is not text in UTF-8; give the HTML file that was sent") from error


def data_of_page(page: Iterable[PageElement]) -> PageData:
    """Read the data element of a page, which must be the only one."""
    found = [element for element in page if element.attributes.get("id") == DATA_ID]
    if len(found) != 1 or found[0].name != "script":
        raise InputError(
            f"the data of the pack cannot be read: the page has {len(found)} elements of data instead of one"
        )
    return read_data("".join(found[0].pieces))
