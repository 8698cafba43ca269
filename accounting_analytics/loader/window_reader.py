"""One window of a load, read page by page to its end or split into smaller windows."""

from __future__ import annotations

import datetime as dt
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accounting_analytics.client.paging import follow_pages, restart_on_expired_token
from accounting_analytics.errors import (
    ExpiredPageTokenError,
    ProtocolError,
    ServiceError,
    with_context,
)
from accounting_analytics.loader.fast_page_decoder import decode_fast
from accounting_analytics.loader.line_tables import line_schema, remove_repeats, require_in_period, sort_lines
from accounting_analytics.loader.strict_page_decoder import DecodedPage, decode_strictly
from accounting_analytics.loader.windows import DensityEstimate, FinishedWindow, halve, should_split, split

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.loader.load_request import LoadRequest
    from accounting_analytics.loader.windows import Window

_ATTEMPTS = 3
_FAST_THREADS = min(os.cpu_count() or 1, 4)
"""Pages decoded in parallel: few, because Arrow keeps memory for each thread."""
_MAX_FALLBACKS = 5
"""After so many pages in a row that are not ordinary, all are decoded strictly."""


class LoadStoppedError(Exception):
    """The load failed elsewhere while this window was read."""


class WindowReader:
    """Reads windows of one request; several threads may use it in parallel.

    Dense windows are split into as many as are read in parallel, and more. When `stop` is set, no further page is
    requested.
    """

    def __init__(self, request: LoadRequest) -> None:
        self.request = request
        self.stop = threading.Event()
        self._began = dt.datetime.now(dt.UTC)
        self._decoding_threads = ThreadPoolExecutor(_FAST_THREADS, "decode")
        self._strict_lock = threading.Lock()
        self._fallbacks = 0

    def read(self, window: Window) -> FinishedWindow | list[Window]:
        """Read a window to its end, or return the smaller windows to read instead."""
        try:
            return self._read(window, may_split=self.request.in_flight > 1)
        except ExpiredPageTokenError:
            # half a window has half the pages, so its tokens need not live as long
            return halve(window) if window.period.days > 1 else self.read_whole(window)

    def read_whole(self, window: Window) -> FinishedWindow:
        """Read a window to its end, whatever its size."""
        read = partial(self._read_to_end, window)
        try:
            return restart_on_expired_token(read, attempts=_ATTEMPTS)
        except ExpiredPageTokenError as error:
            raise ProtocolError(
                f"list line entries ({window}): the service refused its own page token in each of {_ATTEMPTS} attempts "
                f"to read all pages of these days; the last refusal: {error}"
            ) from None

    def _read(self, window: Window, *, may_split: bool) -> FinishedWindow | list[Window]:
        pages = []
        for page in self._pages(window):
            pages.append(page)
            if may_split and window.period.days > 1 and page.next_page_token is not None:
                density = DensityEstimate.from_page(page.table["datetime"], window.period)
                if density is not None and should_split(window, density, len(pages)):
                    return split(window, density, self.request.in_flight)
        return self._join(window, pages)

    def _read_to_end(self, window: Window) -> FinishedWindow:
        return self._join(window, list(self._pages(window)))

    def _pages(self, window: Window) -> Iterator[DecodedPage]:
        return follow_pages(partial(self._request_page, window), subject=f"list line entries ({window})")

    def _join(self, window: Window, pages: list[DecodedPage]) -> FinishedWindow:
        schema = line_schema(self.request.expand, self.request.scale)
        table, repeats = remove_repeats(pa.concat_tables([schema.empty_table(), *(page.table for page in pages)]))
        table = sort_lines(table)
        return FinishedWindow(
            window=window,
            lines=table.num_rows,
            pages=len(pages),
            noise_removed=sum(page.noise_removed for page in pages),
            repeats_removed=repeats,
            characters_replaced=sum(page.characters_replaced for page in pages),
            newest=table["datetime"][-1].as_py() if table.num_rows else None,
            read_at=self._began,
            read_table=lambda: table,
        )

    def _request_page(self, window: Window, token: str | None, number: int) -> DecodedPage:
        """Request and decode a page; threads wait for the service in parallel."""
        if self.stop.is_set():
            raise LoadStoppedError
        request, where = self.request, f"list line entries ({window}), page {number}"
        arguments = request.page_arguments(window, token)
        options: dict[str, Any] = {"ledger_id": window.ledger_id, "expand": request.expand, "scale": request.scale}
        try:
            read = self._request_fast(arguments, options) or request.client.list_line_entries(**arguments)
        except ServiceError as error:
            raise with_context(error, f"page {number} of its window") from None
        if isinstance(read, DecodedPage):
            page = read
        else:
            with self._strict_lock:  # one at a time: it holds the interpreter's lock anyway
                page = decode_strictly(read, where, **options)
        require_in_period(page.table, window.period, where)
        return page

    def _request_fast(self, arguments: dict[str, Any], options: dict[str, Any]) -> DecodedPage | None:
        """Request a page and decode it on one of few threads; None if it, or several before it, were not ordinary."""
        if self._fallbacks >= _MAX_FALLBACKS:
            return None
        content = self.request.client.list_line_entries_json(**arguments)
        page = self._decoding_threads.submit(decode_fast, content, **options).result()
        self._fallbacks = 0 if page is not None else self._fallbacks + 1
        return page
