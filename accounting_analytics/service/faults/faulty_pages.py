"""Pages of line entries with faults. Their tokens are valid, so that paging continues at the right position."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import msgspec

from accounting_analytics.service.wire.page_tokens import Cursor
from accounting_analytics.service.wire.stored_values import microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accounting_analytics.service.faults.fault_plan import Fault
    from accounting_analytics.service.wire.page_tokens import PageTokens


class _Page(msgspec.Struct):
    """A page whose records are kept as bytes."""

    records: list[msgspec.Raw]
    next_page_token: str | None
    prev_page_token: str | None


class _Position(msgspec.Struct):
    """Position of a line entry in the order of pages."""

    datetime: dt.datetime
    id: str


def inject_page_fault(fault: Fault, body: bytes, tokens: PageTokens, token: str | None) -> bytes | None:
    """Page with a fault; None if the fault is impossible on this page.

    Parameters
    ----------
    fault : Fault
        One of :data:`PAGE_FAULTS`.
    body : bytes
        The correct page.
    tokens : PageTokens
        Page tokens of the query.
    token : str or None
        Page token of the request.
    """
    page = msgspec.json.decode(body, type=_Page)
    if not page.records or (token is not None and tokens.read(token).backward):
        return None
    faulty = PAGE_FAULTS[fault.name](page, tokens, token, fault.settings)
    return msgspec.json.encode(faulty) if faulty else None


def _empty(page: _Page, tokens: PageTokens, token: str | None, _: Mapping[str, float]) -> _Page | None:
    """Return no records, and another token for the same page."""
    next_token = _token_at(page.records[0], tokens, inclusive=True)
    return None if next_token == token else _Page([], next_token, page.prev_page_token)


def _short(page: _Page, tokens: PageTokens, _: str | None, settings: Mapping[str, float]) -> _Page | None:
    """Return only the first records; the next page starts after them."""
    count = int(settings.get("keep", len(page.records) // 2))
    if not 0 < count < len(page.records):
        return None
    first = page.records[:count]
    return _Page(first, _token_at(first[-1], tokens, inclusive=False), page.prev_page_token)


def _duplicate(page: _Page, tokens: PageTokens, _: str | None, __: Mapping[str, float]) -> _Page | None:
    """Start the next page with the last record of this one."""
    if len(page.records) == 1 or page.next_page_token is None:
        return None
    return _Page(page.records, _token_at(page.records[-1], tokens, inclusive=True), page.prev_page_token)


def _repeated(page: _Page, tokens: PageTokens, token: str | None, _: Mapping[str, float]) -> _Page:
    """Return the token of this page as that of the next."""
    same_token = token or _token_at(page.records[0], tokens, inclusive=True)
    return _Page(page.records, same_token, page.prev_page_token)


def _token_at(line: msgspec.Raw, tokens: PageTokens, *, inclusive: bool) -> str:
    position = msgspec.json.decode(line, type=_Position)
    return tokens.write(Cursor(False, inclusive, microseconds(position.datetime), position.id))  # noqa: FBT003 (forward)


PAGE_FAULTS: Mapping[str, Callable[[_Page, PageTokens, str | None, Mapping[str, float]], _Page | None]] = {
    "duplicate_record": _duplicate,
    "empty_page": _empty,
    "repeated_page_token": _repeated,
    "short_page": _short,
}
"""Faults that change a page."""
