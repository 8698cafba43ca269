"""The application: authentication, errors as JSON, host names, limits, headers of every response."""

import contextlib
import itertools
import json
import logging
import re
import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from urllib.parse import urlsplit

import httpx
import pytest

from accounting_analytics.core.errors import ConfigurationError
from accounting_analytics.journals.entries import NewTransaction
from accounting_analytics.service.app import MAX_BODY, RateLimits, ServiceOptions, create_app
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import create_instance, issue_token
from accounting_analytics.service.server import RunningService, running

BEARER = 'Bearer realm="accounting-analytics"'
ERROR = {"message", "data", "display_message", "error_code"}
TARGET = {"updated_category_ledger_id": "x"}
DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


def every_operation(ledger="x", transaction="x"):
    """Return method, path and options of a well-formed request of each operation."""
    return [
        ("POST", "/v0/ledgers", {"json": {"name": "x", "editable": True, "financial_account_type": "loan"}}),
        ("PUT", f"/v0/ledgers/{ledger}/transactions/{transaction}/categories", {"json": TARGET}),
        ("GET", f"/v0/ledgers/{ledger}/line-entries", {"params": DAYS}),
        ("GET", "/v0/reports/cash-flow", {"params": DAYS}),
    ]  # fmt: skip


def bad_authorizations(books):
    """Return Authorization headers that are not valid."""
    key, secret = books.token.split(".")
    return [
        None, "", "Bearer", f"Basic {books.token}", books.token, f"Bearer {books.token}x", f"Bearer {key}",
        f"Bearer {key}.", f"Bearer .{secret}", f"Bearer {secret}.{key}", f"Bearer {books.token[:-1]}",
        "Bearer \u00e9\u00fe", f"Bearer {books.token},{books.token}", "Bearer ' OR 1=1 --", f"Bearer {'x' * 20_000}",
        f"Bearer x {books.token}",
    ]  # fmt: skip


def test_bad_tokens_are_401(books):
    bodies = set()
    for authorization, (method, path, options) in itertools.product(bad_authorizations(books), every_operation()):
        headers = {"service-instance-id": books.instance_id}
        if authorization is not None:
            headers["authorization"] = authorization.encode("latin-1")
        response = books.http.request(method, path, headers=headers, **options)
        assert response.status_code == 401, (authorization, response.text)
        presented = (authorization or "").startswith("Bearer ")
        assert response.headers["www-authenticate"] == (BEARER + ', error="invalid_token"' if presented else BEARER)
        bodies.add(response.text)
    (body,) = bodies
    assert set(json.loads(body)) == ERROR
    headers = books.headers | {"authorization": f"bearer {books.token}"}  # the scheme is not case-sensitive
    assert books.http.get("/v0/reports/cash-flow", params=DAYS, headers=headers).status_code == 200


def test_a_token_is_valid_for_its_own_instance_only(books, make_books):
    other = make_books()
    bodies = set()
    for instance, (method, path, options) in itertools.product((other.instance_id, "nothing", ""), every_operation()):
        response = books.request(method, path, headers={"service-instance-id": instance}, **options)
        assert response.status_code == 404
        bodies.add(response.text)
    assert len(bodies) == 1
    assert json.loads(*bodies)["error_code"] == "instance_not_found"
    response = books.http.get("/v0/reports/cash-flow", params=DAYS, headers={"authorization": f"Bearer {books.token}"})
    assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, ["header", "service-instance-id"])


@pytest.mark.parametrize("path", ["/", "/v0", "/v1/ledgers", "/v0/ledgers/", "/docs", "/v0/ledgers/a%2Fb/line-entries"])
def test_unknown_paths_are_json_404(books, path):
    response = books.request("GET", path, params=DAYS, follow_redirects=False)
    assert (response.status_code, set(response.json())) == (404, ERROR)


def test_other_methods_are_json_405(books):
    methods = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "FOO"]
    for method, (own, path, options) in itertools.product(methods, every_operation()):
        if method != own:
            response = books.request(method, path, params=options.get("params"))
            assert (response.status_code, set(response.json())) == (405, ERROR)
            assert own in response.headers["allow"]


def test_bad_bodies_are_refused(books):
    before = books.store.ledgers(books.instance_id)
    for content, content_type, status in (
        (b"{", "application/json", 422),
        (b" " * (MAX_BODY + 1), "application/json", 413),
        ((b"x" * 1000 for _ in range(100)), "application/json", 413),
        (b"name=x", "application/x-www-form-urlencoded", 415),
        (b"{}", None, 415),
        (b"{}", "application/json; charset=utf-8", 422),
    ):
        headers = {"content-type": content_type} if content_type else {}
        response = books.request("POST", "/v0/ledgers", content=content, headers=headers)
        assert response.status_code == status
    assert books.store.ledgers(books.instance_id) == before


def test_a_repeated_field_is_refused(books):
    account, headers = '"editable": true, "financial_account_type": "loan"', {"content-type": "application/json"}
    for body in ('{"name": "x", "name": "y", %s}', '{%s, "name": "x", "na\\u006de": "x"}'):
        response = books.request("POST", "/v0/ledgers", content=body % account, headers=headers)
        assert response.status_code == 422
        (wrong,) = response.json()["detail"]
        assert wrong["loc"] == ["body"]
        assert 'duplicate key "name"' in wrong["msg"]


def new_headers(store):
    instance = create_instance(store)
    return {"authorization": f"Bearer {issue_token(store, instance)}", "service-instance-id": instance}


def test_a_failure_hides_its_cause(store, path, caplog):
    headers = new_headers(store)
    with store.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE line_entries RENAME TO gone")
    with running(path) as service:
        response = httpx.get(f"{service.base_url}/v0/reports/cash-flow", params=DAYS, headers=headers)
    assert (response.status_code, set(response.json())) == (500, ERROR)
    assert not re.search("gone|line_entries|select|sqlite|traceback|books", response.text, re.IGNORECASE)
    assert "no such table" in caplog.text
    assert f"request {response.headers['x-request-id']} failed" in caplog.text
    assert response.headers["x-content-type-options"] == "nosniff"


def test_health_needs_no_token_and_counts_for_no_limit(store, path):
    options = ServiceOptions(requests_per_minute=1)
    with running(path, options) as service, httpx.Client(base_url=service.base_url) as http:
        for _ in range(3):
            response = http.get("/health")
            assert (response.status_code, response.json()) == (200, {"status": "ok"})
            assert "x-ratelimit-limit" not in response.headers
        assert http.post("/health").status_code == 405
        with store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE settings RENAME TO gone")
        response = http.get("/health")
        assert (response.status_code, response.json()) == (503, {"status": "unavailable"})
        with store.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE gone RENAME TO settings")
        assert http.get("/health").status_code == 200


def test_only_names_of_this_service_are_served(books, tmp_path):
    for path in ("/v0/reports/cash-flow", "/openapi.json", "/"):
        for host in ("evil.example", "localhost.evil.example", "192.0.2.1"):
            assert books.request("GET", path, params=DAYS, headers={"host": host}).status_code == 400
        for host in ("localhost:1", "127.0.0.1", "[::1]:80"):
            assert books.request("GET", path, params=DAYS, headers={"host": host}).status_code != 400
    with running(tmp_path / "books.db", ServiceOptions(public_hosts=["books.example.org"])) as service:
        for host, status in (("books.example.org", 200), ("example.org", 400)):
            assert httpx.get(f"{service.base_url}/openapi.json", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    "name", ["https://books.example.org", "books.example.org:443", "", "*", "*.example.org", "a b"]
)
def test_public_hosts_are_bare_names(name):
    with pytest.raises(ConfigurationError, match="bare host name"):
        ServiceOptions(public_hosts=[name])


def test_connections_are_limited(tmp_path):
    with running(tmp_path / "books.db") as service, contextlib.ExitStack() as held:
        url = urlsplit(service.base_url)
        for _ in range(256):
            held.enter_context(socket.create_connection((url.hostname, url.port)))
        assert httpx.get(f"{service.base_url}/health").status_code == 503
        held.close()
        while httpx.get(f"{service.base_url}/health").status_code == 503:  # until the service has noticed
            time.sleep(0.05)


def test_every_response_has_headers_and_an_id(books):
    seen = set()
    for response in (
        books.http.get("/openapi.json"),
        books.http.get("/nowhere"),
        books.http.get("/v0/reports/cash-flow"),
        books.http.get("/openapi.json", headers={"host": "evil.example"}),
        books.request("GET", "/v0/reports/cash-flow", params=DAYS),
        books.http.get("/openapi.json", headers={"x-request-id": "mine\t<script>"}),
    ):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in response.headers
        assert "server" not in response.headers
        assert re.fullmatch(r"[0-9a-f]{16}", response.headers["x-request-id"])
        seen.add(response.headers["x-request-id"])
    assert len(seen) == 6


def test_the_log_has_no_secrets(books, caplog):
    bank, rent = books.bank(id="secretbank"), books.category(id="secretrent")
    books.post("2025-03-01T12:00:00Z", (bank, -1, NewTransaction(id="secretmove")), (rent, 1))
    with caplog.at_level(logging.DEBUG):
        books.request(
            "GET",
            f"/v0/ledgers/{bank}/line-entries",
            params=DAYS | {"tag_ids": "secrettag", "page_token": "secrettoken"},
        )
        books.recategorize(bank, "secretmove", rent, headers={"modified-by": "secretuser"})
        books.http.get("/secretpath?secretquery", headers={"authorization": "Bearer secretkey.secretvalue"})
        books.http.request("SECRETMETHOD", "/v0/ledgers", headers={"x": "secretheader"})
    logged = "".join(r.getMessage() for r in caplog.records if r.name.startswith(("accounting_analytics", "uvicorn")))
    assert "secret" not in logged.lower()
    assert books.token.partition(".")[2] not in logged


def test_changes_that_wait_delay_no_reader(path, caplog):
    with Store.open(path, lock_seconds=1) as store, ThreadPoolExecutor(60) as pool:
        headers = new_headers(store)
        service = RunningService(create_app(store))
        with (
            contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
            httpx.Client(base_url=service.base_url, headers=headers, timeout=60) as http,
        ):
            other.execute("BEGIN IMMEDIATE")
            body = {"name": "x", "editable": True, "financial_account_type": "loan"}
            changes = [pool.submit(http.post, "/v0/ledgers", json=body) for _ in range(50)]
            locked = next(as_completed(changes)).result()
            assert (locked.status_code, locked.json()["error_code"]) == (503, "busy")
            assert int(locked.headers["retry-after"]) > 0
            assert "lock" not in locked.text
            assert http.get("/v0/reports/cash-flow", params=DAYS).status_code == 200
            assert not all(change.done() for change in changes)
            other.execute("ROLLBACK")
            assert {change.result().status_code for change in changes} == {201, 503}
            assert http.post("/v0/ledgers", json=body).status_code == 201
        service.stop()
    assert "Traceback" not in caplog.text


HEADERS = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")


class Clock:
    """Seconds that pass when a test sets them."""

    now = 1000.0

    def __call__(self):
        return self.now


def test_limits_reset_after_a_minute():
    clock = Clock()
    limits = RateLimits(2, clock)
    assert [tuple(limits.acquire(1).values()) for _ in range(2)] == [("2", "1", "60"), ("2", "0", "60")]
    clock.now += 59.5
    refused = limits.acquire(1)
    assert refused == dict(zip(HEADERS, ("2", "0", "1"), strict=True)) | {"retry-after": "1"}
    assert limits.acquire(2)["x-ratelimit-remaining"] == "1"
    clock.now += 0.5
    assert limits.acquire(1) == dict(zip(HEADERS, ("2", "1", "60"), strict=True))
    assert RateLimits(None).acquire(1) == {}
    with pytest.raises(ConfigurationError, match="1 or more, not 0"):
        RateLimits(0)


def test_threads_share_one_limit():
    limits = RateLimits(320, Clock())
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: limits.acquire(1), range(2000)))
    allowed = [one for one in taken if "retry-after" not in one]
    assert {int(one["x-ratelimit-remaining"]) for one in allowed} == set(range(len(allowed))) == set(range(320))


@pytest.fixture
def limited(store, path):
    """Return a service of five requests per minute and two instances of it."""
    options = ServiceOptions(requests_per_minute=5)
    with running(path, options) as service, httpx.Client(base_url=service.base_url) as http:
        yield http, [new_headers(store) for _ in range(2)]


def test_responses_have_rate_limit_headers(limited):
    http, (mine, other) = limited
    responses = [
        http.get("/v0/reports/cash-flow", params=DAYS, headers=mine),
        http.get("/v0/reports/cash-flow", headers=mine),
        http.get("/v0/ledgers/x/line-entries", params=DAYS, headers=mine),
        http.post("/v0/ledgers", json={}, headers=mine),
        http.get("/v0/reports/cash-flow", params=DAYS, headers=mine | {"service-instance-id": "another"}),
    ]
    assert [response.status_code for response in responses] == [200, 422, 404, 422, 404]
    assert [response.headers["x-ratelimit-remaining"] for response in responses] == ["4", "3", "2", "1", "0"]
    assert {response.headers["x-ratelimit-limit"] for response in responses} == {"5"}
    refused = http.get("/v0/reports/cash-flow", params=DAYS, headers=mine)
    assert (refused.status_code, refused.json()["error_code"]) == (429, "too_many_requests")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert refused.headers["retry-after"] == refused.headers["x-ratelimit-reset"]
    created = http.post(
        "/v0/ledgers", json={"name": "x", "editable": True, "financial_account_type": "loan"}, headers=mine
    )
    assert created.status_code == 429
    assert http.get("/v0/reports/cash-flow", params=DAYS, headers=other).headers["x-ratelimit-remaining"] == "4"


def test_unauthenticated_requests_do_not_count(limited):
    http, (mine, _) = limited
    for authorization in ("", "Bearer x", mine["authorization"] + "x") * 10:
        response = http.get("/v0/reports/cash-flow", params=DAYS, headers=mine | {"authorization": authorization})
        assert response.status_code == 401
        assert not set(HEADERS) & set(response.headers)
    assert http.get("/v0/reports/cash-flow", params=DAYS, headers=mine).headers["x-ratelimit-remaining"] == "4"
