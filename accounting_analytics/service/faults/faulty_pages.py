"""Pages of line entries, played badly. Tokens are real ones of the service, so that a scan goes on where it should."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import msgspec

from accounting_analytics.service.wire.page_tokens import Cursor
from accounting_analytics.service.wire.stored_records import microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accounting_analytics.service.faults.fault_plan import Fault
    from accounting_analytics.service.wire.page_tokens import PageTokens


class _Page(msgspec.Struct):
    """A page whose records stay the bytes they are."""

    records: list[msgspec.Raw]
    next_page_token: str | None
    prev_page_token: str | None


class _Place(msgspec.Struct):
    """Where a line entry stands."""

    datetime: dt.datetime
    id: str


def played_page(fault: Fault, body: bytes, tokens: PageTokens, asked: str | None) -> bytes | None:
    """Page with a fault; None where the fault cannot be played on it.

    Parameters
    ----------
    fault : Fault
        One of :data:`PAGE_FAULTS`.
    body : bytes
        The page as it really is.
    tokens : PageTokens
        Page tokens of the query.
    asked : str or None
        Token that the page was asked for with.
    """
    page = msgspec.json.decode(body, type=_Page)
    if not page.records or (asked is not None and tokens.read(asked).backward):
        return None
    played = PAGE_FAULTS[fault.name](page, tokens, asked, fault.settings)
    return msgspec.json.encode(played) if played else None


def _empty(page: _Page, tokens: PageTokens, asked: str | None, _: Mapping[str, float]) -> _Page | None:
    """Show nothing, and lead to the page by another token."""
    following = _token_at(page.records[0], tokens, inclusive=True)
    return None if following == asked else _Page([], following, page.prev_page_token)


def _short(page: _Page, tokens: PageTokens, _: str | None, settings: Mapping[str, float]) -> _Page | None:
    """Show only the first records, and go on after the last of them."""
    keep = int(settings.get("keep", len(page.records) // 2))
    if not 0 < keep < len(page.records):
        return None
    kept = page.records[:keep]
    return _Page(kept, _token_at(kept[-1], tokens, inclusive=False), page.prev_page_token)


def _duplicate(page: _Page, tokens: PageTokens, _: str | None, __: Mapping[str, float]) -> _Page | None:
    """Go on with the last record of the page, not after it."""
    if len(page.records) == 1 or page.next_page_token is None:
        return None
    return _Page(page.records, _token_at(page.records[-1], tokens, inclusive=True), page.prev_page_token)


def _repeated(page: _Page, tokens: PageTokens, asked: str | None, _: Mapping[str, float]) -> _Page:
    """Lead to the same page, again and again."""
    again = asked or _token_at(page.records[0], tokens, inclusive=True)
    return _Page(page.records, again, page.prev_page_token)


def _token_at(line: msgspec.Raw, tokens: PageTokens, *, inclusive: bool) -> str:
    place = msgspec.json.decode(line, type=_Place)
    return tokens.write(Cursor(False, inclusive, microseconds(place.datetime), place.id))  # noqa: FBT003 (a place)


PAGE_FAULTS: Mapping[str, Callable[[_Page, PageTokens, str | None, Mapping[str, float]], _Page | None]] = {
    "duplicate_record": _duplicate,
    "empty_page": _empty,
    "repeated_page_token": _repeated,
    "short_page": _short,
}
"""Faults that change a page."""
