"""The OpenAPI document describes the service: schemathesis finds no difference."""

import json
from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings

from accounting_analytics.service.bookkeeping.post_entries import NewTag, NewTransaction
from accounting_analytics.service.web.openapi import INSTANCE_HEADER, openapi_document

OPERATIONS = {
    "create_ledger": ("POST", "/v0/ledgers"),
    "recategorize_transaction": ("PUT", "/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories"),
    "list_line_entries": ("GET", "/v0/ledgers/{ledger_id}/line-entries"),
    "retrieve_cash_flow_report": ("GET", "/v0/reports/cash-flow"),
}


def test_document(books):
    """The document is OpenAPI 3.1, served without a token, with exactly the operations and their parameters."""
    response = books.http.get("/openapi.json")
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.content == openapi_document()
    document = response.json()
    assert document["openapi"].startswith("3.1.")
    named = {
        operation["operationId"]: (method.upper(), path)
        for path, at in document["paths"].items()
        for method, operation in at.items()
    }
    assert named == OPERATIONS
    parameters = {
        operation["operationId"]: {parameter["name"] for parameter in operation.get("parameters", ())}
        for at in document["paths"].values()
        for operation in at.values()
    }
    assert parameters == {
        "create_ledger": {"service-instance-id", "expand"},
        "recategorize_transaction": {"service-instance-id", "ledger_id", "transaction_id", "modified-by"},
        "list_line_entries": {
            "service-instance-id", "ledger_id", "start_date", "end_date", "is_cashflow", "time_zone", "expand",
            "tag_ids", "limit", "page_token",
        },
        "retrieve_cash_flow_report": {"service-instance-id", "start_date", "end_date", "time_zone", "tag_ids"},
    }  # fmt: skip
    zones = next(
        p["schema"] for p in document["paths"]["/v0/reports/cash-flow"]["get"]["parameters"] if p["name"] == "time_zone"
    )
    assert {"UTC", "localtime", "Etc/GMT+12", "Etc/GMT-14", "US/Eastern", "EST5EDT"} < set(zones["enum"])
    assert zones["default"] == "UTC"


def add_entries(books):
    """Return books with ten transactions, two categories and a tag."""
    books.bank(id="bank")
    books.category(id="rent")
    books.category("Food", id="food")
    for number in range(10):
        transaction = NewTransaction(id=f"T{number}", source_account_id="source")
        books.post(
            f"2025-03-{number + 1:02d}T12:00:00Z", ("bank", -5, transaction, NewTag("class", "north")), ("rent", 5)
        )
    return books


@pytest.fixture
def world(books):
    """Return books with ledgers, transactions and a tag."""
    return add_entries(books)


def make_meaningful(case, world):
    """Give a valid case ids that exist, dates in order, and no invented page token.

    JSON Schema cannot express these. Cases that are meant to be wrong stay wrong.
    """
    if case.meta.generation.mode.is_negative:
        return
    known = {"ledger_id": "bank", "transaction_id": "T1"}
    for name in known.keys() & (case.path_parameters or {}).keys():
        case.path_parameters[name] = known[name]
    if {"start_date", "end_date"} <= (case.query or {}).keys():
        dates = sorted([case.query["start_date"], case.query["end_date"]])
        case.query["start_date"], case.query["end_date"] = dates
        case.query.pop("page_token", None)
    if isinstance(case.body, dict) and "updated_category_ledger_id" in case.body:
        case.body = {"updated_category_ledger_id": "rent" if len(str(case.body)) % 2 else "food"}
    if case.query and case.query.get("tag_ids"):
        case.query["tag_ids"] = [world.lines("bank", limit=1)["records"][0]["tags"][0]["id"]]


@pytest.fixture
def session():
    """Return a session, which keeps one connection."""
    with requests.Session() as session:
        yield session


@pytest.fixture
def statuses():
    """Count responses by status; the operation must both succeed and refuse often."""
    counted = Counter()
    yield counted
    succeeded, refused = (sum(count for status, count in counted.items() if status // 100 == kind) for kind in (2, 4))
    assert succeeded > 50, counted
    assert refused > 50, counted


def few_zones():
    """Return the document with a few of the 600 time zones, each of which is a boundary value."""
    document = json.loads(openapi_document())
    for operations in document["paths"].values():
        for parameter in operations.get("get", {}).get("parameters", ()):
            if parameter["name"] == "time_zone":
                parameter["schema"]["enum"] = ["UTC", "localtime", *parameter["schema"]["enum"][1::60]]
    return document


api = schemathesis.openapi.from_dict(few_zones())
with_every_zone = schemathesis.openapi.from_dict(json.loads(openapi_document()))
ON_SQLITE = pytest.mark.parametrize("served", ["sqlite"], indirect=True)


@ON_SQLITE
@api.parametrize()
@settings(max_examples=50, suppress_health_check=list(HealthCheck), database=None)
def test_schemathesis_finds_nothing(case, world, session, statuses):
    """50 examples per operation and every boundary value, right and wrong: each response is as documented."""
    check_response(case, world, session, statuses)


@pytest.mark.long
@with_every_zone.parametrize()
@settings(max_examples=200, suppress_health_check=list(HealthCheck), database=None)
def test_schemathesis_finds_nothing_in_any_zone(case, world, session, statuses):
    """200 examples with every time zone, on both databases."""
    check_response(case, world, session, statuses)


def check_response(case, world, session, statuses):
    """Send a case and check that its response is as documented."""
    make_meaningful(case, world)
    named = any(name.lower() == INSTANCE_HEADER for name in case.headers or {})
    headers = {"Authorization": f"Bearer {world.token}"} if case.operation.path.startswith("/v0/") else {}
    headers |= {INSTANCE_HEADER: world.instance_id} if named else {}
    response = case.call_and_validate(base_url=str(world.http.base_url), headers=headers, session=session)
    statuses[response.status_code] += 1


class Sessions(api.as_state_machine()):
    """Follows the links of the document, in new books every time, because responses depend on the books."""

    make_books, session, reached = None, None, None

    def setup(self):
        self.world = add_entries(self.make_books())
        self.ids = {"ledger_id": {"bank", "rent", "food"}, "transaction_id": {f"T{number}" for number in range(10)}}
        self.queries = {}

    def before_call(self, case):
        if case.meta.generation.mode.is_negative:
            return
        path = {name: value for name, value in (case.path_parameters or {}).items() if value in self.ids[name]}
        token, body = (case.query or {}).get("page_token"), case.body
        make_meaningful(case, self.world)
        case.path_parameters = {**(case.path_parameters or {}), **path}
        if isinstance(body, dict) and body.get("updated_category_ledger_id") in {"rent", "food"}:
            case.body = body
        if case.operation.path.endswith("line-entries"):  # days and pages that have a token
            case.query["start_date"] = min(case.query["start_date"], "2025-02-01")
            case.query["end_date"] = max(case.query["end_date"], "2025-04-01")
            case.query["limit"] = int(case.query.get("limit") or 1) % 7 + 1  # an empty limit is none
        if token is not None and self.queries:  # an invented token becomes a real one
            token = token if token in self.queries else next(iter(self.queries))
        if token in self.queries:  # a token is valid only with its own query
            path, query = self.queries[token]
            case.path_parameters, case.query = dict(path), query | {"page_token": token}

    def after_call(self, response, case):
        self.reached[case.operation.label, response.status_code] += 1
        if response.status_code == 201:
            self.ids["ledger_id"].add(response.json()["id"])
        if case.operation.path.endswith("line-entries") and response.status_code == 200:
            page = response.json()
            self.reached["pages by token"] += "page_token" in case.query
            query = {name: value for name, value in case.query.items() if name != "page_token"}
            for token in (page["next_page_token"], page["prev_page_token"]):
                self.queries[token] = (case.path_parameters, query)
            self.queries.pop(None, None)

    def get_call_kwargs(self, case):
        headers = {"Authorization": f"Bearer {self.world.token}"} if case.operation.path.startswith("/v0/") else {}
        if any(name.lower() == INSTANCE_HEADER for name in case.headers or {}):
            headers[INSTANCE_HEADER] = self.world.instance_id
        return {"base_url": str(self.world.http.base_url), "headers": headers, "session": self.session}

    def teardown(self):
        report = self.world.report()
        net = sum(one["net_cash_flow"] for one in report["cash_flow_ledgers"])
        assert net == report["ending_cash_balance"] == -50


@pytest.mark.parametrize(
    "served", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgresql, pytest.mark.long])], indirect=True
)
@pytest.mark.soak
def test_schemathesis_follows_links(make_books, session, soak_count):
    """Create, list, page, recategorize, repeatedly: every response is as documented, and the books balance."""
    reached = Counter()
    attributes = {"make_books": staticmethod(make_books), "session": session, "reached": reached}
    type("Sessions", (Sessions,), attributes).run(
        settings=settings(
            max_examples=soak_count(500, fewer=15),
            stateful_step_count=6,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
    )
    done = {key[0] for key in reached if isinstance(key, tuple) and key[1] in {200, 201}}
    assert len(done) == len(OPERATIONS), reached
    assert reached["pages by token"] > 0, reached
