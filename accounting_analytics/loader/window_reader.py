"""Reading one window to its end: page after page, never in circles, never on trust."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from accounting_analytics.errors import GarbledAnswerError, InvalidRequestError, ProtocolError, ServiceError
from accounting_analytics.loader.fast_page_decoder import quick_page
from accounting_analytics.loader.page_decoder import (
    Columns,
    in_order,
    line_schema,
    page_columns,
    require_in_period,
    without_repeats,
)
from accounting_analytics.loader.windows import Outlook, halves, split, turned_out_dense

if TYPE_CHECKING:
    import datetime as dt

    from accounting_analytics.client import LedgerClient, RawResponse
    from accounting_analytics.client import records as wire
    from accounting_analytics.loader.query import LineEntryQuery, Window

_RESTARTS = 3
_QUICK_AT_ONCE = min(os.cpu_count() or 1, 4)
"""Pages read the quick way at once; the strict way it is one, because that holds the interpreter's lock."""
_ODD_IN_A_ROW = 5
"""After so many odd pages nothing is tried the quick way any more."""
_PAGES_WITHOUT_NEWS = 100


class WindowLines(NamedTuple):
    """All lines of a window, each once, by (datetime, id)."""

    window: Window
    table: pa.Table
    pages: int
    dusted: int
    repeated: int

    @property
    def newest(self) -> dt.datetime | None:
        """Instant of the newest line."""
        return self.table["datetime"][-1].as_py() if self.table.num_rows else None


class StoppedError(Exception):
    """The load was given up while this window was being read."""


class _ExpiredTokenError(Exception):
    """The service no longer knows a page token it gave."""


@dataclass
class Scan:
    """Reads windows of one query; several threads may use it at once.

    Parameters
    ----------
    client : LedgerClient
        The service.
    query : LineEntryQuery
        What is asked.
    in_flight : int
        How many windows are read at the same time; dense windows are cut into that many and more.
    stop : threading.Event
        Set when the load is given up: no further page is asked for.
    """

    client: LedgerClient
    query: LineEntryQuery
    in_flight: int
    stop: threading.Event = field(default_factory=threading.Event)
    _quick: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_QUICK_AT_ONCE, "decode"))
    _strict: threading.Lock = field(default_factory=threading.Lock)
    _odd: int = 0

    def read(self, window: Window) -> WindowLines | list[Window]:
        """Read a window to its end, or find that it is better read as several."""
        for _ in range(_RESTARTS):
            try:
                return self._read(window, may_split=self.in_flight > 1)
            except _ExpiredTokenError:
                if window.period.days > 1:  # fewer pages are sooner read
                    return halves(window)
        try:
            return self._read(window, may_split=False)
        except _ExpiredTokenError:
            msg = (
                f"list line entries ({window}): the service forgot its page token in {_RESTARTS + 1} tries "
                "to read this day; its tokens do not live long enough, load again when it is less busy"
            )
            raise ProtocolError(msg) from None

    def read_whole(self, window: Window) -> WindowLines:
        """Read a window to its end, whatever its size."""
        for _ in range(_RESTARTS):
            try:
                lines = self._read(window, may_split=False)
            except _ExpiredTokenError:
                continue
            if isinstance(lines, WindowLines):
                return lines
        msg = f"list line entries ({window}): the service forgot its page token in {_RESTARTS} tries; load again"
        raise ProtocolError(msg)

    def _read(self, window: Window, *, may_split: bool) -> WindowLines | list[Window]:
        chain = _Chain(window)
        tables = [pa.Table.from_batches([], line_schema(self.query.expand, self.query.scale))]
        dusted = 0
        token: str | None = None
        while True:
            if self.stop.is_set():
                raise StoppedError
            raw = self._answer(window, chain.pages + 1, token)
            where = f"list line entries ({window}), page {chain.pages + 1}"
            columns, token = self._columns(raw, chain.pages + 1, window, token, where)
            del raw
            require_in_period(columns.table, window.period, where)
            chain.follow(columns.table["id"], token, where)
            tables.append(columns.table)
            dusted += columns.dusted
            if token is None:
                break
            if may_split and window.period.days > 1:
                outlook = Outlook.of(columns.table["datetime"], window.period)
                if outlook is not None and turned_out_dense(window, outlook, chain.pages):
                    return split(window, outlook, self.in_flight)
        table, repeated = without_repeats(pa.concat_tables(tables))
        return WindowLines(window, in_order(table), chain.pages, dusted, repeated)

    def _answer(self, window: Window, number: int, token: str | None) -> RawResponse[wire.LineEntryPage]:
        """Ask for a page; threads wait for the service at the same time, and decode one after the other."""
        try:
            return self.client.with_raw_response.list_line_entries(**self.query.page(window, token))
        except InvalidRequestError as error:
            if token is not None and "token" in (error.error_code or ""):
                raise _ExpiredTokenError from None
            raise _on_page(error, number) from None
        except ServiceError as error:
            raise _on_page(error, number) from None

    def _columns(
        self, raw: RawResponse[wire.LineEntryPage], number: int, window: Window, token: str | None, where: str
    ) -> tuple[Columns, str | None]:
        """Columns of an answer and the next token: the quick way if it is ordinary, else by records and strictly."""
        ledger_id, expanded, scale = window.ledger_id, self.query.expand, self.query.scale
        if self._odd < _ODD_IN_A_ROW:
            # on few threads, because Arrow keeps what it needed for a page for every thread
            quick = self._quick.submit(
                quick_page, raw.content, ledger_id=ledger_id, expanded=expanded, scale=scale
            ).result()
            self._odd = 0 if quick is not None else self._odd + 1
            if quick is not None:
                return Columns(quick.table, 0), quick.next_page_token
        with self._strict:
            page = self._decoded(raw, number, window, token)
            columns = page_columns(page.records, where, ledger_id=ledger_id, expanded=expanded, scale=scale)
            return columns, page.next_page_token

    def _decoded(
        self, raw: RawResponse[wire.LineEntryPage], number: int, window: Window, token: str | None
    ) -> wire.LineEntryPage:
        """Decode an answer; one that was cut or garbled on the way is asked for again, as often as the client does."""
        try:
            try:
                return raw.parse()
            except GarbledAnswerError:
                return self.client.list_line_entries(**self.query.page(window, token))
        except ServiceError as error:
            raise _on_page(error, number) from None


class _Chain:
    """The pages of a window so far: every token once, every page once, and news now and then."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self.pages = 0
        self._tokens: set[str] = set()
        self._prints: dict[bytes, int] = {}
        self._uncounted: list[pa.ChunkedArray] = []
        self._ids: set[str] = set()
        self._without_news = 0

    def follow(self, ids: pa.ChunkedArray, token: str | None, where: str) -> None:
        """Take a page in by the ids of its lines; refuse one from which the pages would never end."""
        self.pages += 1
        if token is None:
            return
        if token in self._tokens:
            msg = f"{where}: it leads back to a page already read, so the pages never end; nothing of it was kept"
            raise ProtocolError(msg)
        self._tokens.add(token)
        self._require_another_page(ids, where)
        self._require_news(ids, where)

    def _require_another_page(self, ids: pa.ChunkedArray, where: str) -> None:
        if not len(ids):
            return
        first = self._prints.setdefault(_fingerprint(ids), self.pages)
        if first != self.pages:
            msg = f"{where}: it is page {first} again under another token, so the pages never end"
            raise ProtocolError(msg)

    def _require_news(self, ids: pa.ChunkedArray, where: str) -> None:
        """Refuse too many pages without a new line; a chain that is short enough cannot have them."""
        self._uncounted.append(ids)
        if self.pages < _PAGES_WITHOUT_NEWS:
            return
        for page in self._uncounted:
            known = len(self._ids)
            self._ids.update(page.to_pylist())
            self._without_news = 0 if len(self._ids) > known else self._without_news + 1
        self._uncounted.clear()
        if self._without_news >= _PAGES_WITHOUT_NEWS:
            msg = f"{where}: the last {_PAGES_WITHOUT_NEWS} pages brought no new line, and none says it is the last"
            raise ProtocolError(msg)


def _fingerprint(ids: pa.ChunkedArray) -> bytes:
    """Digest that only the same ids in the same order share."""
    texts = pa.concat_arrays(ids.chunks)
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    digest = hashlib.blake2b(ends - ends[0], digest_size=16)
    digest.update(memoryview(content or b"")[ends[0] : ends[-1]])
    return digest.digest()


def _on_page(error: ServiceError, number: int) -> ServiceError:
    """Name the page in an error."""
    error.args = (f"{error} (page {number} of its window)", *error.args[1:])
    return error
