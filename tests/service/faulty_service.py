"""The service with faults on purpose: an application around the real one that can change every response.

A plan of faults is written as ``name:setting=value:setting=value``, several separated by commas. The settings `p`
(probability), `every`, `after` and `times` say when a fault is injected, and `on` limits it to one operation. The seed
and the number of a request, among those a fault applies to, decide, so that a run can be repeated. Requests are
authenticated, changes made and pages read by the real service: a lost response belongs to a change that was made.
"""

import asyncio
import datetime as dt
import itertools
import random
from collections import Counter
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
from anyio.to_thread import run_sync
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request

from accounting_analytics.core.errors import InputError, OperationRefusedError
from accounting_analytics.journals.entries import NewJournalEntry, NewLine
from accounting_analytics.service.app import ServiceOptions, create_app, error_response, json_response, unauthorized
from accounting_analytics.service.database import Store
from accounting_analytics.service.interface import Error, ListLineEntriesQuery
from accounting_analytics.service.operations.list_line_entries import Cursor, PageTokens
from accounting_analytics.service.post_entries import post_entries
from accounting_analytics.service.requests import parse_query
from accounting_analytics.service.server import RunningService

LISTING = {"list_line_entries"}
CHANGES = {"create_ledger", "recategorize_transaction"}
OPERATIONS = {*LISTING, *CHANGES, "retrieve_cash_flow_report"}
STATUSES = ("http_408", "http_500", "http_502", "http_503", "http_504")
FAULTS = {
    **dict.fromkeys(STATUSES, OPERATIONS),
    **dict.fromkeys(("drop_connection", "garbage_body", "html_200", "latency", "truncated_body"), OPERATIONS),
    **dict.fromkeys(("duplicate_record", "empty_page", "repeated_page_token", "short_page"), LISTING),
    **dict.fromkeys(("expired_page_token", "late_entry"), LISTING),
    **dict.fromkeys(("late_write", "lost_answer"), CHANGES),
    "expired_token": OPERATIONS,
}
"""Every fault, and the operations that it is injected into."""
HTML = b"<!doctype html><title>Welcome</title><h1>Sign in to continue</h1>\n"


class Fault(NamedTuple):
    """A fault of a plan, its operations, and its settings."""

    name: str
    operations: set
    settings: dict

    @classmethod
    def parse(cls, text):
        name, *settings = text.split(":")
        values = dict(setting.split("=") for setting in settings)
        operations = {values.pop("on")} if "on" in values else FAULTS[name]
        return cls(name, operations, {key: float(value) for key, value in values.items()})


class FaultPlan:
    """The faults of a plan; `injected` counts them by name."""

    def __init__(self, text, seed):
        self.faults = list(map(Fault.parse, text.split(",")))
        self.seed = seed
        self.injected = Counter()
        self._requests, self._injected, self._tokens = Counter(), Counter(), Counter()

    def next_faults(self, operation, request):
        """Faults to inject into the next request of an operation, in the order of the plan."""
        return [
            fault
            for index, fault in enumerate(self.faults)
            if operation in fault.operations and self._is_next(index, fault, request)
        ]

    def _is_next(self, index, fault, request):
        if fault.name == "expired_token":
            token = request.headers.get("authorization")
            self._tokens[token] += 1
            return self._tokens[token] > fault.settings["after"]
        if fault.name == "expired_page_token" and not request.query_params.get("page_token"):
            return False
        self._requests[index] += 1
        number = self._requests[index] - int(fault.settings.get("after", 0))
        if number <= 0 or self._injected[index] >= fault.settings.get("times", float("inf")):
            return False
        if number % fault.settings.get("every", 1):
            return False
        return self.random_for(index, fault.name, number).random() < fault.settings.get("p", 1)

    def count(self, fault):
        self.injected[fault.name] += 1
        self._injected[self.faults.index(fault)] += 1

    def random_for(self, *key):
        """Random numbers that depend on the seed and on a key."""
        return random.Random(":".join(map(str, (self.seed, *key))))  # noqa: S311 (nothing secret)


class Page(msgspec.Struct):
    """A page whose records are kept as bytes."""

    records: list[msgspec.Raw]
    next_page_token: str | None
    prev_page_token: str | None


class Position(msgspec.Struct):
    """Position of a line entry in the order of pages."""

    datetime: dt.datetime
    id: str


def token_at(line, tokens, *, inclusive):
    """Token of the page that begins with a line, or after it."""
    position = msgspec.json.decode(line, type=Position)
    return tokens.write(Cursor(False, inclusive, position.datetime, position.id))  # noqa: FBT003 (forward)


def faulty_page(fault, body, tokens, token):
    """Page with a fault; None if the fault is impossible on this page."""
    page = msgspec.json.decode(body, type=Page)
    if not page.records or (token is not None and tokens.read(token).backward):
        return None
    first, last, records = page.records[0], page.records[-1], page.records
    match fault.name:
        case "empty_page":  # no records, and another token for the same page
            records, following = [], token_at(first, tokens, inclusive=True)
            if following == token:
                return None
        case "short_page":  # only the first records; the next page starts after them
            records = records[: int(fault.settings.get("keep", len(records) // 2))]
            if not 0 < len(records) < len(page.records):
                return None
            following = token_at(records[-1], tokens, inclusive=False)
        case "duplicate_record":  # the next page starts with the last record of this one
            if len(records) == 1 or page.next_page_token is None:
                return None
            following = token_at(last, tokens, inclusive=True)
        case "repeated_page_token":  # the token of this page as that of the next
            following = token or token_at(first, tokens, inclusive=True)
        case _:
            return None
    return msgspec.json.encode(Page(records, following, page.prev_page_token))


def error_of(fault):
    """Response of a fault that replaces the operation; None for any other fault."""
    if fault.name == "expired_token":
        return error_response(unauthorized(with_token=True))
    if fault.name == "expired_page_token":
        return error_response(OperationRefusedError("expired", status=400, error_code="page_token_expired"))
    if fault.name == "late_write" or fault.name in STATUSES:
        status = 504 if fault.name == "late_write" else int(fault.name.removeprefix("http_"))
        return json_response(Error.from_message(f"injected fault: {fault.name}", fault.name), status)
    return None


class Response:
    """A response that is kept until its faults are decided."""

    def __init__(self):
        self.start, self.body = {}, b""

    async def send(self, message):
        if message["type"] == "http.response.start":
            self.start = dict(message)
        else:
            self.body += message.get("body", b"")

    def replace(self, body, **headers):
        headers = {"content-length": str(len(body)), **headers}
        replaced = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
        kept = [(name, value) for name, value in self.start["headers"] if name not in replaced]
        self.start["headers"], self.body = [*kept, *replaced.items()], body


class FaultyService:
    """ASGI application that injects the faults of a plan into the operations of the service."""

    def __init__(self, app, store, plan):
        self._app, self._store, self._plan = app, store, plan
        self._page_token_key = store.page_token_key()
        self._late_entries, self._late_writes = itertools.count(1), set()

    async def __call__(self, scope, receive, send):
        operation = operation_of(scope)
        if operation is None:
            await self._app(scope, receive, send)
            return
        faults = self._plan.next_faults(operation, Request(scope))
        if await self._replace_operation(faults, scope, receive, send):
            return
        response = Response()
        await self._app(scope, receive, response.send)
        if response.start["status"] == 200 and operation == "list_line_entries":
            await self._change_page(faults, scope, response)
        await self._send(faults, response, receive, send)

    async def _replace_operation(self, faults, scope, receive, send):
        """Inject the faults before an operation; true if the operation is not run."""
        for fault in faults:
            if fault.name == "latency":
                self._plan.count(fault)
                await asyncio.sleep(fault.settings["ms"] / 1000)
        for fault in faults:
            if fault.name == "drop_connection":
                self._plan.count(fault)
                cut(receive)
                return True
            if (response := error_of(fault)) is not None:
                self._plan.count(fault)
                if fault.name == "late_write":
                    await self._schedule_write(scope, receive, fault.settings["ms"] / 1000)
                await response(scope, receive, send)
                return True
        return False

    async def _schedule_write(self, scope, receive, seconds):
        """Read a request completely, and run its operation some seconds later; its response is discarded."""
        body = await Request(scope, receive).body()

        async def receive_again():
            return {"type": "http.request", "body": body, "more_body": False}

        async def write_late():
            await asyncio.sleep(seconds)
            await self._app({**scope, "state": {}}, receive_again, Response().send)

        task = asyncio.create_task(write_late())
        self._late_writes.add(task)  # the event loop keeps only a weak reference
        task.add_done_callback(self._late_writes.discard)

    async def _change_page(self, faults, scope, response):
        instance, ledger_id = scope["state"]["instance"], scope["path_params"]["ledger_id"]
        query = parse_query(ListLineEntriesQuery, Request(scope).query_params.multi_items())
        tokens = PageTokens(self._page_token_key, instance, ledger_id, query)
        for fault in faults:
            if fault.name == "late_entry":
                number = next(self._late_entries)
                if await run_sync(self._post_late, instance, ledger_id, query, number):
                    self._plan.count(fault)
        for fault in faults:
            page = faulty_page(fault, response.body, tokens, query.page_token)
            if page is not None:
                self._plan.count(fault)
                response.replace(page)
                return

    def _post_late(self, instance, ledger_id, query, number):
        """Post an entry in the period of the query, against a required ledger; false if it is impossible."""
        ledgers = self._store.ledgers(instance.id)
        other = next(ledger.id for ledger in ledgers if ledger.is_required and ledger.id != ledger_id)
        days = (query.end_date - query.start_date).days
        day = query.start_date + dt.timedelta(self._plan.random_for("late_entry", number).randint(0, days))
        lines = (NewLine(ledger_id, number), NewLine(other, -number))
        entry = NewJournalEntry(dt.datetime.combine(day, dt.time(12), dt.UTC), f"late entry {number}", lines)
        try:
            post_entries(self._store, instance.id, [entry])
        except (InputError, OperationRefusedError, DBAPIError):  # another writer is active, or it is not allowed
            return False
        return True

    async def _send(self, faults, response, receive, send):
        """Send the response, with faults or not at all."""
        for fault in faults:
            if fault.name == "lost_answer":
                self._plan.count(fault)
                cut(receive)
                return
            if fault.name == "garbage_body":
                self._plan.count(fault)
                response.replace(b"\xff" + self._plan.random_for(fault.name).randbytes(len(response.body)))
            if fault.name == "html_200":
                self._plan.count(fault)
                response.start["status"] = 200
                response.replace(HTML, content_type="text/html; charset=utf-8")
        await send(response.start)
        for fault in faults:
            if fault.name == "truncated_body":
                self._plan.count(fault)
                half = response.body[: len(response.body) // 2]
                await send({"type": "http.response.body", "body": half, "more_body": True})
                transport_of(receive).close()
                return
        await send({"type": "http.response.body", "body": response.body})


def operation_of(scope):
    """Operation that a request is for; None for any other request."""
    match scope["method"], scope["path"].split("/")[1:]:
        case "POST", ["v0", "ledgers"]:
            return "create_ledger"
        case "PUT", ["v0", "ledgers", _, "transactions", _, "categories"]:
            return "recategorize_transaction"
        case "GET", ["v0", "ledgers", _, "line-entries"]:
            return "list_line_entries"
        case "GET", ["v0", "reports", "cash-flow"]:
            return "retrieve_cash_flow_report"
    return None


def transport_of(receive):
    """Transport of the connection that a request came on: `receive` is a method of uvicorn's request."""
    return receive.__self__.transport


def cut(receive):
    """Cut the connection without sending another byte."""
    transport_of(receive).abort()


@contextmanager
def running_with_faults(database, faults, seed=1):
    """Serve the books of a database with the faults of a plan, which is an attribute of what is given."""
    with Store.open(database) as store:
        plan = FaultPlan(faults, seed)
        service = RunningService(FaultyService(create_app(store), store, plan), ServiceOptions())
        service.plan = plan
        try:
            yield service
        finally:
            service.stop()
