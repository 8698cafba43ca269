"""Pages of line entries as Arrow tables: the fast way where a page is ordinary, else the strict way."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from accounting_analytics.loader.fast_page_decoder import decode_fast
from accounting_analytics.loader.strict_page_decoder import DecodedPage, decode_strictly

if TYPE_CHECKING:
    from collections.abc import Callable

    from accounting_analytics.client import records as wire
    from accounting_analytics.loader.query import LineEntryQuery

_FAST_THREADS = min(os.cpu_count() or 1, 4)
"""Pages decoded in parallel: few, because Arrow keeps memory for each thread."""
_MAX_FALLBACKS = 5
"""After so many pages in a row that are not ordinary, all are decoded strictly."""


class PageDecoder:
    """Decodes the pages of one load; several threads may use it in parallel.

    Parameters
    ----------
    query : LineEntryQuery
        What the load requests.
    """

    def __init__(self, query: LineEntryQuery) -> None:
        self._expand = query.expand
        self._scale = query.scale
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
