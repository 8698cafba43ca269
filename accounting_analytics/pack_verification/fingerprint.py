"""The fingerprint of a page: SHA-256 of its text without the fingerprint itself."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.pack_verification.page import read_page

if TYPE_CHECKING:
    from accounting_analytics.pack_verification.page import Page

_DIGITS, _GROUP = 32, 4
_ALL_DIGITS = 64


class SealedPage(NamedTuple):
    """A page in the form of packs, which shows its own fingerprint."""

    text: str
    fingerprint: str


def seal(html: str) -> SealedPage:
    """Write a page in the form of packs, and its fingerprint into each element with ``data-field="fingerprint"``.

    The page is whole and well formed; one that browsers might take for another document is refused with its line. The
    text is to be written as it is, in UTF-8.
    """
    page = read_page(html.replace("\r\n", "\n").replace("\r", "\n"))
    if not page.places:
        raise InputError('the page has no element with data-field="fingerprint", so its fingerprint has no place')
    fingerprint = fingerprint_of(page)
    return SealedPage(page.text(fingerprint), fingerprint)


def fingerprint_of(page: Page) -> str:
    """Fingerprint of a page: the first 32 hexadecimal digits, in groups of four."""
    digits = hashlib.sha256(page.text("").encode()).hexdigest()
    return "-".join(digits[start : start + _GROUP] for start in range(0, _DIGITS, _GROUP))


def read_fingerprint(text: str) -> str:
    """Fingerprint as people type or paste it: with any separators, in capitals, or with all 64 digits."""
    digits = re.sub(r"[\s:\u2010-\u2015-]", "", text).lower()
    if len(digits) not in {_DIGITS, _ALL_DIGITS} or re.search(r"[^0-9a-f]", digits):
        raise InputError(
            f"{quote(text)} is not a fingerprint, which has {_DIGITS} hexadecimal digits: 0123-4567-..., copy all of it"
        )
    return "-".join(digits[start : start + _GROUP] for start in range(0, _DIGITS, _GROUP))
