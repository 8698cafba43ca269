"""The service with faults: between the front door and the application, where it can see and spoil every answer."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
from decimal import Decimal
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.routing import Match, Route

from accounting_analytics.errors import InputError, OperationRefusedError
from accounting_analytics.service.bookkeeping.new_entries import NewJournalEntry, NewLine
from accounting_analytics.service.bookkeeping.posted_journal import post_entries
from accounting_analytics.service.faults.fault_plan import KINDS
from accounting_analytics.service.faults.faulty_pages import PAGE_FAULTS, played_page
from accounting_analytics.service.operations.list_line_entries import page_tokens
from accounting_analytics.service.wire.rendering import encode, error_fields
from accounting_analytics.service.wire.requests import ListLineEntriesQuery, parse_query
from accounting_analytics.service.wire.responses import json_answer, refusal, unauthorized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.types import Message, Receive, Scope, Send

    from accounting_analytics.service.faults.fault_plan import Fault, FaultDial
    from accounting_analytics.service.storage.store import Store
    from accounting_analytics.service.wire.stored_records import Instance

_DRIP = 256
_HTML = b"<!doctype html><title>Welcome</title><h1>Sign in to continue</h1>\n"
_FIRST_DAY, _LAST_DAY = dt.date(1, 1, 4), dt.date(9999, 12, 27)
"""First and last day whose noon an entry can be posted at, in every time zone."""

_NOT_PLAYED_HERE = {"rate_limit"}


class _Answer:
    """An answer held back until it is known what becomes of it."""

    def __init__(self) -> None:
        self.start: dict[str, Any] = {}
        self.body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = dict(message)
        else:
            self.body += message.get("body", b"")

    def replace(self, body: bytes, *, status: int | None = None, content_type: bytes | None = None) -> None:
        """Put another body in place of the one there is."""
        replaced = {b"content-length": b"%d" % len(body)}
        if content_type is not None:
            replaced[b"content-type"] = content_type
        kept = [(name, value) for name, value in self.start["headers"] if name not in replaced]
        self.start["headers"] = [*kept, *replaced.items()]
        self.start["status"] = status or self.start["status"]
        self.body = body


class _Due:
    """Faults that are due on one request, and those that were played on it."""

    def __init__(self, dial: FaultDial, faults: list[Fault]) -> None:
        self._dial = dial
        self.faults = faults
        self._played: list[str] = []

    def playing(self, *names: str) -> Iterator[Fault]:
        """Faults of these names; each is counted as played."""
        for fault in self.faults:
            if fault.name in names:
                self.note(fault)
                yield fault

    def note(self, fault: Fault) -> None:
        self._dial.note(fault)
        self._played.append(fault.name)

    def marking(self, send: Send) -> Send:
        """Say in the answer which faults were played on it."""

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start" and self._played:
                header = (b"x-injected-fault", ",".join(self._played).encode())
                message = {**message, "headers": [*message.get("headers", []), header]}
            await send(message)

        return marked


class FaultyService:
    """ASGI application that plays faults on the operations of another.

    Parameters
    ----------
    app : Starlette
        The application, whose routes are named like the operations.
    store : Store
        Its books: late entries are posted for real.
    dial : FaultDial
        What is played, and when.
    """

    def __init__(self, app: Starlette, store: Store, dial: FaultDial) -> None:
        self._app = app
        self._store = store
        self._dial = dial
        self._page_token_key = store.page_token_key()
        self._late = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or not."""
        operation = self._operation(scope)
        if operation not in KINDS["latency"].operations:
            await self._app(scope, receive, send)
            return
        due = self._due(operation, Request(scope))
        send = due.marking(send)
        if await self._played_instead(due, scope, receive, send):
            return
        answer = _Answer()
        await self._app(scope, receive, answer.send)
        if not answer.start:  # the client went away
            return
        if answer.start["status"] == HTTPStatus.OK and operation == "list_line_entries":
            await self._play_on_page(due, scope, answer)
        await self._deliver(due, answer, scope, receive, send)

    def _operation(self, scope: Scope) -> str:
        for route in self._app.routes:
            if isinstance(route, Route) and route.matches(scope)[0] == Match.FULL:
                return route.name
        return ""

    def _due(self, operation: str, request: Request) -> _Due:
        names = KINDS.keys() - _NOT_PLAYED_HERE
        if "page_token" not in request.query_params:
            names -= {"expired_page_token"}
        token = sha256(request.headers.get("authorization", "").encode("latin-1")).digest()
        return _Due(self._dial, self._dial.due(operation, token, names=names))

    async def _played_instead(self, due: _Due, scope: Scope, receive: Receive, send: Send) -> bool:
        """Play what comes before the service is asked; true when it is then not asked at all."""
        for fault in due.playing("latency"):
            await asyncio.sleep(fault.settings["ms"] / 1000)
        for fault in due.playing("stall"):
            wait = fault.settings["ms"] / 1000 if "ms" in fault.settings else None
            await _until_gone(receive, wait)
            await _cut(scope, receive)
            return True
        for _ in due.playing("drop_connection"):
            await _cut(scope, receive)
            return True
        answers = [name for name in KINDS if name.startswith("http_")]
        for fault in due.playing(*answers, "expired_token", "expired_page_token"):
            await _instead(fault)(scope, receive, send)
            return True
        return False

    async def _play_on_page(self, due: _Due, scope: Scope, answer: _Answer) -> None:
        instance: Instance = scope["state"]["instance"]
        ledger_id: str = scope["path_params"]["ledger_id"]
        query = parse_query(ListLineEntriesQuery, Request(scope).query_params.multi_items())
        for fault in due.faults:
            if fault.name == "late_entry" and await run_sync(
                self._post_late, instance, ledger_id, query, next(self._late)
            ):
                due.note(fault)
        tokens = page_tokens(self._page_token_key, instance, ledger_id, query)
        for fault in due.faults:
            played = played_page(fault, answer.body, tokens, query.page_token) if fault.name in PAGE_FAULTS else None
            if played is not None:
                due.note(fault)
                answer.replace(played)
                return

    def _post_late(self, instance: Instance, ledger_id: str, query: ListLineEntriesQuery, number: int) -> bool:
        """Post an entry into the period that is being read, against a required ledger; false where none can be."""
        begin = max(query.start_date, _FIRST_DAY, instance.entries_start or _FIRST_DAY)
        days = (min(query.end_date, _LAST_DAY) - begin).days
        if days < 0:
            return False
        opposing = next(
            ledger.id for ledger in self._store.ledgers(instance.id) if ledger.is_required and ledger.id != ledger_id
        )
        day = begin + dt.timedelta(days=self._dial.chance("late_entry", number).randint(0, days))
        noon = dt.datetime.combine(day, dt.time(12), dt.UTC)
        amount = Decimal(number).scaleb(-instance.scale)
        lines = (NewLine(ledger_id, "debit", amount), NewLine(opposing, "credit", amount))
        try:
            post_entries(self._store, instance.id, [NewJournalEntry(noon, f"late entry {number}", lines)])
        except (InputError, OperationRefusedError, DBAPIError):  # somebody else is at work, or it does not fit
            return False
        return True

    async def _deliver(self, due: _Due, answer: _Answer, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, spoiled or not at all as it may be."""
        for _ in due.playing("lost_answer"):
            await _cut(scope, receive)
            return
        for _ in due.playing("garbage_body"):
            noise = self._dial.chance("garbage_body", self._dial.played["garbage_body"])
            answer.replace(b"\xff" + noise.randbytes(len(answer.body)))
        for _ in due.playing("html_200"):
            answer.replace(_HTML, status=200, content_type=b"text/html; charset=utf-8")
        for _ in due.playing("truncated_body"):
            await send(answer.start)
            await send({"type": "http.response.body", "body": answer.body[: len(answer.body) // 2], "more_body": True})
            scope["state"]["transport"].close()
            await _until_gone(receive)
            return
        drips = list(due.playing("slow_drip"))
        await send(answer.start)
        for fault in drips[:1]:
            size = int(fault.settings.get("bytes", _DRIP))
            for start in range(0, len(answer.body), size):
                drop = answer.body[start : start + size]
                await send({"type": "http.response.body", "body": drop, "more_body": True})
                await asyncio.sleep(fault.settings["ms"] / 1000)
            answer.body = b""
        await send({"type": "http.response.body", "body": answer.body, "more_body": False})


def _instead(fault: Fault) -> Response:
    """Answer that a fault gives in place of the service."""
    if fault.name == "expired_token":
        return refusal(unauthorized(presented=True))
    if fault.name == "expired_page_token":
        msg = "the page token has expired; start again without it"
        return refusal(OperationRefusedError(msg, status=400, error_code="page_token_expired"))
    message = f"a fault that is played on purpose: {fault.name}"
    retry_after = fault.settings.get("retry_after")
    headers = {} if retry_after is None else {"retry-after": f"{retry_after:g}"}
    return json_answer(encode(error_fields(message, fault.name)), int(fault.name.removeprefix("http_")), headers)


async def _cut(scope: Scope, receive: Receive) -> None:
    """Cut the connection without another byte."""
    scope["state"]["transport"].abort()
    await _until_gone(receive)


async def _until_gone(receive: Receive, seconds: float | None = None) -> None:
    """Wait until the client is gone, or for some seconds."""
    try:
        async with asyncio.timeout(seconds):
            while (await receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        return
