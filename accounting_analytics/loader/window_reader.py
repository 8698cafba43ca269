"""One window of a load, read page by page to its end or split into smaller windows."""

from __future__ import annotations

import datetime as dt
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from accounting_analytics.client.pagination import follow_pages, restart_on_expired_token
from accounting_analytics.errors import (
    ExpiredPageTokenError,
    GarbledAnswerError,
    ProtocolError,
    ServiceError,
    with_context,
)
from accounting_analytics.loader.fast_page_decoder import decode_fast
from accounting_analytics.loader.line_tables import line_schema, remove_repeats, require_in_period, sort_lines
from accounting_analytics.loader.strict_page_decoder import DecodedPage, decode_strictly
from accounting_analytics.loader.windows import DensityEstimate, halve, should_split, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accounting_analytics.client import RawResponse
    from accounting_analytics.client import records as wire
    from accounting_analytics.loader.load_request import LoadRequest
    from accounting_analytics.loader.windows import Window

_ATTEMPTS = 3
_FAST_THREADS = min(os.cpu_count() or 1, 4)
"""Pages decoded in parallel: few, because Arrow keeps memory for each thread."""
_MAX_FALLBACKS = 5
"""After so many pages in a row that are not ordinary, all are decoded strictly."""


class WindowLines(NamedTuple):
    """All lines of a window, each once, by (datetime, id)."""

    window: Window
    table: pa.Table
    pages: int
    noise_removed: int
    repeats_removed: int
    read_at: dt.datetime
    characters_replaced: int = 0

    @property
    def newest(self) -> dt.datetime | None:
        """Instant of the newest line."""
        return self.table["datetime"][-1].as_py() if self.table.num_rows else None


class LoadStoppedError(Exception):
    """The load failed elsewhere while this window was read."""


class PageDecoder:
    """Decodes the pages of one load; several threads may use it in parallel.

    Parameters
    ----------
    request : LoadRequest
        What is requested.
    """

    def __init__(self, request: LoadRequest) -> None:
        self._expand = request.expand
        self._scale = request.scale
        self._threads = ThreadPoolExecutor(_FAST_THREADS, "decode")
        self._strict_lock = threading.Lock()
        self._fallbacks = 0

    def decode(
        self, content: bytes, parse: Callable[[], wire.LineEntryPage], where: str, ledger_id: str
    ) -> DecodedPage:
        """Decode the body of a response; `parse` makes wire records of it where it is not ordinary.

        Raises
        ------
        ProtocolError
            The page breaks the interface.
        """
        if self._fallbacks < _MAX_FALLBACKS:
            page = self._threads.submit(
                decode_fast, content, ledger_id=ledger_id, expand=self._expand, scale=self._scale
            ).result()
            self._fallbacks = 0 if page is not None else self._fallbacks + 1
            if page is not None:
                return page
        with self._strict_lock:  # one at a time: it holds the interpreter's lock anyway
            return decode_strictly(parse(), where, ledger_id=ledger_id, expand=self._expand, scale=self._scale)


@dataclass
class WindowReader:
    """Reads windows of one query; several threads may use it in parallel.

    Parameters
    ----------
    request : LoadRequest
        What is requested; dense windows are split into as many as are read in parallel, and more.
    stop : threading.Event
        Set when the load fails: no further page is requested.
    """

    request: LoadRequest
    stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._decoder = PageDecoder(self.request)
        self._began = dt.datetime.now(dt.UTC)

    def read(self, window: Window) -> WindowLines | list[Window]:
        """Read a window to its end, or return the smaller windows to read instead."""
        try:
            return self._read(window, may_split=self.request.in_flight > 1)
        except ExpiredPageTokenError:
            # half a window has half the pages, so its tokens need not live as long
            return halve(window) if window.period.days > 1 else self.read_whole(window)

    def read_whole(self, window: Window) -> WindowLines:
        """Read a window to its end, whatever its size."""
        read = partial(self._read_to_end, window)
        try:
            return restart_on_expired_token(read, attempts=_ATTEMPTS)
        except ExpiredPageTokenError as error:
            msg = (
                f"list line entries ({window}): the service refused its own page token in each of {_ATTEMPTS} attempts "
                f"to read all pages of these days; the last refusal: {error}"
            )
            raise ProtocolError(msg) from None

    def _read(self, window: Window, *, may_split: bool) -> WindowLines | list[Window]:
        pages = []
        for page in self._pages(window):
            pages.append(page)
            if may_split and window.period.days > 1 and page.next_page_token is not None:
                density = DensityEstimate.from_page(page.table["datetime"], window.period)
                if density is not None and should_split(window, density, len(pages)):
                    return split(window, density, self.request.in_flight)
        return self._join(window, pages)

    def _read_to_end(self, window: Window) -> WindowLines:
        return self._join(window, list(self._pages(window)))

    def _pages(self, window: Window) -> Iterator[DecodedPage]:
        return follow_pages(partial(self._request_page, window), subject=f"list line entries ({window})")

    def _join(self, window: Window, pages: list[DecodedPage]) -> WindowLines:
        schema = line_schema(self.request.expand, self.request.scale)
        table, repeats = remove_repeats(pa.concat_tables([schema.empty_table(), *(page.table for page in pages)]))
        noise = sum(page.noise_removed for page in pages)
        replaced = sum(page.characters_replaced for page in pages)
        return WindowLines(window, sort_lines(table), len(pages), noise, repeats, self._began, replaced)

    def _request_page(self, window: Window, token: str | None, number: int) -> DecodedPage:
        """Request and decode a page; threads wait for the service in parallel."""
        if self.stop.is_set():
            raise LoadStoppedError
        where = f"list line entries ({window}), page {number}"
        try:
            response = self.request.client.with_raw_response.list_line_entries(
                **self.request.page_arguments(window, token)
            )
        except ServiceError as error:
            raise with_context(error, f"page {number} of its window") from None
        parse = partial(self._parse, response, window, token, number)
        page = self._decoder.decode(response.content, parse, where, window.ledger_id)
        require_in_period(page.table, window.period, where)
        return page

    def _parse(
        self, response: RawResponse[wire.LineEntryPage], window: Window, token: str | None, number: int
    ) -> wire.LineEntryPage:
        """Make wire records of a response; a truncated or garbled one is requested again, as the client does."""
        try:
            try:
                return response.parse()
            except GarbledAnswerError:
                return self.request.client.list_line_entries(**self.request.page_arguments(window, token))
        except ServiceError as error:
            raise with_context(error, f"page {number} of its window") from None
