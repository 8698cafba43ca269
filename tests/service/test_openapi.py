"""The OpenAPI document describes what is really served: schemathesis finds no difference."""

import json
from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings

from accounting_analytics.service.access import issue_client
from accounting_analytics.service.openapi import INSTANCE_HEADER, openapi_document
from accounting_analytics.service.posting import NewTag, NewTransaction

OPERATIONS = {
    "create_ledger": ("POST", "/v0/ledgers"),
    "recategorize_transaction": ("PUT", "/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories"),
    "list_line_entries": ("GET", "/v0/ledgers/{ledger_id}/line-entries"),
    "retrieve_cash_flow_report": ("GET", "/v0/reports/cash-flow"),
    "issue_token": ("POST", "/oauth/token"),
}


def test_document(books):
    """The document is OpenAPI 3.1, served without a token, with exactly the operations and their parameters."""
    answer = books.http.get("/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.content == openapi_document()
    document = answer.json()
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
        "issue_token": set(),
    }  # fmt: skip
    zones = next(
        p["schema"] for p in document["paths"]["/v0/reports/cash-flow"]["get"]["parameters"] if p["name"] == "time_zone"
    )
    assert {"UTC", "localtime", "Etc/GMT+12", "Etc/GMT-14", "US/Eastern", "EST5EDT"} < set(zones["enum"])
    assert zones["default"] == "UTC"


@pytest.fixture
def world(books):
    """Return books with ten transactions, two categories, a parent ledger and a tag."""
    books.client = issue_client(books.store, books.instance_id)
    books.bank(id="bank")
    books.category(id="rent")
    books.category("Food", id="food")
    for number in range(10):
        transaction = NewTransaction(id=f"T{number}", source_account_id="source")
        books.post(
            f"2025-03-{number + 1:02d}T12:00:00Z", ("bank", -5, transaction, NewTag("class", "north")), ("rent", 5)
        )
    return books


def made_plausible(case, world):
    """Let a case of the right form mean something: ids that exist, dates in order, no invented page token.

    JSON Schema can say none of these three. Cases that are meant to be wrong stay wrong.
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
    if isinstance(case.body, dict) and "grant_type" in case.body:
        case.body |= world.client._asdict()
    if isinstance(case.body, dict) and "updated_category_ledger_id" in case.body:
        case.body = {"updated_category_ledger_id": "rent" if len(str(case.body)) % 2 else "food"}
    if case.query and len(case.query.get("tag_ids", ())) > 1:
        case.query["tag_ids"] = [world.lines("bank", limit=1)["records"][0]["tags"][0]["id"]]


@pytest.fixture
def session():
    """Keep one connection instead of one a request."""
    with requests.Session() as session:
        yield session


@pytest.fixture
def statuses():
    """Count answers by status; in the end the operation must have succeeded often, and refused."""
    counted = Counter()
    yield counted
    succeeded, refused = (sum(count for status, count in counted.items() if status // 100 == kind) for kind in (2, 4))
    assert succeeded > 50, counted
    assert refused > 50, counted


api = schemathesis.openapi.from_dict(json.loads(openapi_document()))


@api.parametrize()
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_schemathesis_finds_nothing(case, world, session, statuses):
    """200 examples an operation and every boundary value, right and wrong: each answer is as documented."""
    made_plausible(case, world)
    named = any(name.lower() == INSTANCE_HEADER for name in case.headers or {})
    headers = {"Authorization": f"Bearer {world.token}"} if case.operation.path.startswith("/v0/") else {}
    headers |= {INSTANCE_HEADER: world.instance_id} if named else {}
    answer = case.call_and_validate(base_url=str(world.http.base_url), headers=headers, session=session)
    statuses[answer.status_code] += 1
