"""The service with faults: a layer between request guard and application that can change every response."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
from decimal import Decimal
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from anyio.to_thread import run_sync
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.routing import Match, Route

from accounting_analytics.errors import InputError, OperationRefusedError
from accounting_analytics.service.bookkeeping.post_entries import NewJournalEntry, NewLine, post_entries
from accounting_analytics.service.faults.fault_plan import FAULT_KINDS, Fault, FaultPlan
from accounting_analytics.service.operations.list_line_entries import Cursor, PageTokens, page_tokens
from accounting_analytics.service.wire.requests import ListLineEntriesQuery, parse_query
from accounting_analytics.service.wire.response_models import Error, error_response, json_response, unauthorized
from accounting_analytics.service.wire.stored_values import Instance, microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.types import Message, Receive, Scope, Send

    from accounting_analytics.service.storage.store import Store


class _FaultyPage(msgspec.Struct):
    """A page whose records are kept as bytes."""

    records: list[msgspec.Raw]
    next_page_token: str | None
    prev_page_token: str | None


class _LinePosition(msgspec.Struct):
    """Position of a line entry in the order of pages."""

    datetime: dt.datetime
    id: str


def inject_page_fault(fault: Fault, body: bytes, tokens: PageTokens, token: str | None) -> bytes | None:
    """Page with one of :data:`PAGE_FAULTS`; None if the fault is impossible on this page."""
    page = msgspec.json.decode(body, type=_FaultyPage)
    if not page.records or (token is not None and tokens.read(token).backward):
        return None
    faulty = PAGE_FAULTS[fault.name](page, tokens, token, fault.settings)
    return msgspec.json.encode(faulty) if faulty else None


def _empty(page: _FaultyPage, tokens: PageTokens, token: str | None, _: Mapping[str, float]) -> _FaultyPage | None:
    """Return no records, and another token for the same page."""
    next_token = _token_at(page.records[0], tokens, inclusive=True)
    return None if next_token == token else _FaultyPage([], next_token, page.prev_page_token)


def _short(page: _FaultyPage, tokens: PageTokens, _: str | None, settings: Mapping[str, float]) -> _FaultyPage | None:
    """Return only the first records; the next page starts after them."""
    count = int(settings.get("keep", len(page.records) // 2))
    if not 0 < count < len(page.records):
        return None
    first = page.records[:count]
    return _FaultyPage(first, _token_at(first[-1], tokens, inclusive=False), page.prev_page_token)


def _duplicate(page: _FaultyPage, tokens: PageTokens, _: str | None, __: Mapping[str, float]) -> _FaultyPage | None:
    """Start the next page with the last record of this one."""
    if len(page.records) == 1 or page.next_page_token is None:
        return None
    return _FaultyPage(page.records, _token_at(page.records[-1], tokens, inclusive=True), page.prev_page_token)


def _repeated(page: _FaultyPage, tokens: PageTokens, token: str | None, _: Mapping[str, float]) -> _FaultyPage:
    """Return the token of this page as that of the next."""
    same_token = token or _token_at(page.records[0], tokens, inclusive=True)
    return _FaultyPage(page.records, same_token, page.prev_page_token)


def _token_at(line: msgspec.Raw, tokens: PageTokens, *, inclusive: bool) -> str:
    position = msgspec.json.decode(line, type=_LinePosition)
    return tokens.write(Cursor(False, inclusive, microseconds(position.datetime), position.id))  # noqa: FBT003 (forward)


PAGE_FAULTS: Mapping[str, Callable[[_FaultyPage, PageTokens, str | None, Mapping[str, float]], _FaultyPage | None]] = {
    "duplicate_record": _duplicate,
    "empty_page": _empty,
    "repeated_page_token": _repeated,
    "short_page": _short,
}
"""Faults that change a page."""


_DRIP_SIZE = 256
_HTML = b"<!doctype html><title>Welcome</title><h1>Sign in to continue</h1>\n"
_FIRST_DAY, _LAST_DAY = dt.date(1, 1, 4), dt.date(9999, 12, 27)
"""First and last day with a noon that an entry can be posted at, in every time zone."""

_INJECTED_ELSEWHERE = {"rate_limit"}


class _BufferedResponse:
    """A response that is kept until its faults are decided."""

    def __init__(self) -> None:
        self.start: dict[str, Any] = {}
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = dict(message)
        else:
            self.body += message.get("body", b"")

    def replace(self, body: bytes, *, status: int | None = None, content_type: bytes | None = None) -> None:
        """Replace the body."""
        replaced = {b"content-length": b"%d" % len(body)}
        if content_type is not None:
            replaced[b"content-type"] = content_type
        unchanged = [(name, value) for name, value in self.start["headers"] if name not in replaced]
        self.start["headers"] = [*unchanged, *replaced.items()]
        self.start["status"] = status or self.start["status"]
        self.body = body


class _RequestFaults:
    """Faults of one request; those that were injected are named in a header of its response."""

    def __init__(self, plan: FaultPlan, faults: list[Fault], headers: dict[str, str]) -> None:
        self._plan = plan
        self.faults = faults
        self._headers = headers
        self._injected: list[str] = []

    def inject(self, *names: str) -> Iterator[Fault]:
        """Faults with these names; each is counted as injected."""
        for fault in self.faults:
            if fault.name in names:
                self.count(fault)
                yield fault

    def count(self, fault: Fault) -> None:
        self._plan.count(fault)
        self._injected.append(fault.name)
        self._headers["x-injected-fault"] = ",".join(self._injected)


class FaultyService:
    """ASGI application that injects faults into the operations of another, whose routes have their names."""

    def __init__(self, app: Starlette, store: Store, plan: FaultPlan) -> None:
        self._app = app
        self._store = store
        self._plan = plan
        self._page_token_key = store.page_token_key()
        self._late_entries = itertools.count(1)
        self._late_writes: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request with its faults; there may be no response."""
        operation = self._operation(scope)
        if operation not in FAULT_KINDS["latency"].operations:
            await self._app(scope, receive, send)
            return
        faults = self._next_faults(operation, Request(scope))
        if await self._replace_operation(faults, scope, receive, send):
            return
        response = _BufferedResponse()
        await self._app(scope, receive, response.send)
        if not response.start:  # the client disconnected
            return
        if response.start["status"] == HTTPStatus.OK and operation == "list_line_entries":
            await self._change_page(faults, scope, response)
        await self._send(faults, response, scope, receive, send)

    def _operation(self, scope: Scope) -> str:
        for route in self._app.routes:
            if isinstance(route, Route) and route.matches(scope)[0] == Match.FULL:
                return route.name
        return ""

    def _next_faults(self, operation: str, request: Request) -> _RequestFaults:
        names = FAULT_KINDS.keys() - _INJECTED_ELSEWHERE
        if not request.query_params.get("page_token"):
            names -= {"expired_page_token"}
        token = sha256(request.headers.get("authorization", "").encode("latin-1")).digest()
        faults = self._plan.next_faults(operation, token, names=names)
        return _RequestFaults(self._plan, faults, request.state.response_headers)

    async def _replace_operation(self, faults: _RequestFaults, scope: Scope, receive: Receive, send: Send) -> bool:
        """Inject the faults before an operation; true if the operation is not run."""
        for fault in faults.inject("latency"):
            await asyncio.sleep(fault.settings["ms"] / 1000)
        for fault in faults.inject("stall"):
            wait = fault.settings["ms"] / 1000 if "ms" in fault.settings else None
            await _wait_for_disconnect(receive, wait)
            await _cut(scope, receive)
            return True
        for _ in faults.inject("drop_connection"):
            await _cut(scope, receive)
            return True
        for fault in faults.inject("late_write"):
            await self._schedule_write(scope, receive, fault.settings["ms"] / 1000)
            await _error_response(fault)(scope, receive, send)
            return True
        statuses = [name for name in FAULT_KINDS if name.startswith("http_")]
        for fault in faults.inject(*statuses, "expired_token", "expired_page_token"):
            await _error_response(fault)(scope, receive, send)
            return True
        return False

    async def _schedule_write(self, scope: Scope, receive: Receive, seconds: float) -> None:
        """Read a request completely, and run its operation some seconds later; its response is discarded."""
        body = await Request(scope, receive).body()
        state = {**scope["state"], "response_headers": {}}
        task = asyncio.create_task(self._write_late({**scope, "state": state}, body, seconds))
        self._late_writes.add(task)  # the event loop keeps only a weak reference
        task.add_done_callback(self._late_writes.discard)

    async def _write_late(self, scope: Scope, body: bytes, seconds: float) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await asyncio.sleep(seconds)
        await self._app(scope, receive, _BufferedResponse().send)

    async def _change_page(self, faults: _RequestFaults, scope: Scope, response: _BufferedResponse) -> None:
        instance: Instance = scope["state"]["instance"]
        ledger_id: str = scope["path_params"]["ledger_id"]
        query = parse_query(ListLineEntriesQuery, Request(scope).query_params.multi_items())
        for fault in faults.faults:
            if fault.name == "late_entry" and await run_sync(
                self._post_late_entry, instance, ledger_id, query, next(self._late_entries)
            ):
                faults.count(fault)
        tokens = page_tokens(self._page_token_key, instance, ledger_id, query)
        for fault in faults.faults:
            if fault.name not in PAGE_FAULTS:
                continue
            page = inject_page_fault(fault, response.body, tokens, query.page_token)
            if page is not None:
                faults.count(fault)
                response.replace(page)
                return

    def _post_late_entry(self, instance: Instance, ledger_id: str, query: ListLineEntriesQuery, number: int) -> bool:
        """Post an entry in the period of the query, against a required ledger; false if it is impossible."""
        first_day = max(query.start_date, _FIRST_DAY, instance.entries_start or _FIRST_DAY)
        days = (min(query.end_date, _LAST_DAY) - first_day).days
        if days < 0:
            return False
        opposing = next(
            ledger.id for ledger in self._store.ledgers(instance.id) if ledger.is_required and ledger.id != ledger_id
        )
        day = first_day + dt.timedelta(days=self._plan.random_for("late_entry", number).randint(0, days))
        noon = dt.datetime.combine(day, dt.time(12), dt.UTC)
        amount = Decimal(number).scaleb(-instance.scale)
        lines = (NewLine(ledger_id, "debit", amount), NewLine(opposing, "credit", amount))
        try:
            post_entries(self._store, instance.id, [NewJournalEntry(noon, f"late entry {number}", lines)])
        except (InputError, OperationRefusedError, DBAPIError):  # another writer is active, or the entry is not allowed
            return False
        return True

    async def _send(
        self, faults: _RequestFaults, response: _BufferedResponse, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Send the response, with faults or not at all."""
        for _ in faults.inject("lost_answer"):
            await _cut(scope, receive)
            return
        for _ in faults.inject("garbage_body"):
            noise = self._plan.random_for("garbage_body", self._plan.injected["garbage_body"])
            response.replace(b"\xff" + noise.randbytes(len(response.body)))
        for _ in faults.inject("html_200"):
            response.replace(_HTML, status=200, content_type=b"text/html; charset=utf-8")
        for _ in faults.inject("truncated_body"):
            await send(response.start)
            await send(
                {"type": "http.response.body", "body": response.body[: len(response.body) // 2], "more_body": True}
            )
            scope["state"]["transport"].close()
            await _wait_for_disconnect(receive)
            return
        drips = list(faults.inject("slow_drip"))
        await send(response.start)
        for fault in drips[:1]:
            size = int(fault.settings.get("bytes", _DRIP_SIZE))
            for start in range(0, len(response.body), size):
                chunk = response.body[start : start + size]
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await asyncio.sleep(fault.settings["ms"] / 1000)
            response.body = b""
        await send({"type": "http.response.body", "body": response.body, "more_body": False})


def _error_response(fault: Fault) -> Response:
    """Response of a fault that replaces the operation."""
    if fault.name == "expired_token":
        return error_response(unauthorized(with_token=True))
    if fault.name == "expired_page_token":
        msg = "the page token has expired; start again without it"
        return error_response(OperationRefusedError(msg, status=400, error_code="page_token_expired"))
    message = f"injected fault: {fault.name}"
    retry_after = fault.settings.get("retry_after")
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    status = HTTPStatus.GATEWAY_TIMEOUT if fault.name == "late_write" else int(fault.name.removeprefix("http_"))
    return json_response(Error.from_message(message, fault.name), status, headers)


async def _cut(scope: Scope, receive: Receive) -> None:
    """Cut the connection without sending another byte."""
    scope["state"]["transport"].abort()
    await _wait_for_disconnect(receive)


async def _wait_for_disconnect(receive: Receive, seconds: float | None = None) -> None:
    """Wait until the client disconnects, or for some seconds."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return
