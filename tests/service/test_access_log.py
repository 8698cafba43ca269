"""Host names, limits of connections, headers of every response, and the access log."""

import contextlib
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
from accounting_analytics.service.app import ServiceOptions, create_app
from accounting_analytics.service.instances import create_instance, issue_token
from accounting_analytics.service.post_entries import NewTransaction
from accounting_analytics.service.server import RunningService, running
from accounting_analytics.service.store import Store

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


def test_a_public_host_is_a_bare_name():
    """A public host with a scheme, a port or a wildcard would never be named by a request."""
    for name in ("https://books.example.org", "books.example.org:443", "", "*", "*.example.org", "a b"):
        with pytest.raises(ConfigurationError, match="bare host name"):
            ServiceOptions(public_hosts=[name])


def test_a_rebound_name_reads_nothing(books):
    """With another Host even a valid token gets 400, on every path."""
    for path in ("/v0/reports/cash-flow", "/openapi.json", "/"):
        for host in ("evil.example", "localhost.evil.example", "192.0.2.1"):
            assert books.request("GET", path, params=DAYS, headers={"host": host}).status_code == 400
        for host in ("localhost:1", "127.0.0.1", "[::1]:80"):
            assert books.request("GET", path, params=DAYS, headers={"host": host}).status_code != 400


def test_public_hosts_reach_the_service(tmp_path):
    """Requests may use the public names of the service, and no others."""
    with running(tmp_path / "books.db", ServiceOptions(public_hosts=["books.example.org"])) as service:
        url = f"{service.base_url}/openapi.json"
        assert httpx.get(url, headers={"host": "books.example.org"}).status_code == 200
        assert httpx.get(url, headers={"host": "example.org"}).status_code == 400


def test_connections_are_limited(tmp_path):
    """With 256 open connections a further request is 503, and is served when they are closed."""
    with running(tmp_path / "books.db") as service, contextlib.ExitStack() as held:
        url = urlsplit(service.base_url)
        for _ in range(256):
            held.enter_context(socket.create_connection((url.hostname, url.port)))
        assert httpx.get(f"{service.base_url}/health").status_code == 503
        held.close()
        while httpx.get(f"{service.base_url}/health").status_code == 503:  # until the service has noticed
            time.sleep(0.05)


def test_every_response_has_headers_and_an_id(books):
    """Success, refusal and error are not stored, and have a request id each."""
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


def access_log_lines(caplog, count):
    """Return the lines of the access log; the last may be written after its response has arrived."""
    lines = []
    while len(lines) < count:
        time.sleep(0.01)
        records = [record for record in caplog.records if record.name == "accounting_analytics.service.access"]
        lines = [record.getMessage() for record in records]
    return lines


def test_the_log_has_routes_and_no_secrets(books, caplog):
    """A line has method, route, status, time, request id and instance; no token, id or value of a request."""
    bank, rent = books.bank(id="secretbank"), books.category(id="secretrent")
    books.post("2025-03-01T12:00:00Z", (bank, -1, NewTransaction(id="secretmove")), (rent, 1))
    with caplog.at_level(logging.DEBUG):
        response = books.request(
            "GET",
            f"/v0/ledgers/{bank}/line-entries",
            params=DAYS | {"tag_ids": "secrettag", "page_token": "secrettoken"},
        )
        books.recategorize(bank, "secretmove", rent, headers={"modified-by": "secretuser"})
        books.http.get("/secretpath?secretquery", headers={"authorization": "Bearer secretkey.secretvalue"})
        books.http.request("SECRETMETHOD", "/v0/ledgers", headers={"x": "secretheader"})
    lines = access_log_lines(caplog, 4)
    first = re.fullmatch(
        rf"GET (\S+) (\d+) [\d.]+ ms, request {response.headers['x-request-id']}, instance {books.instance_id}",
        lines[0],
    )
    assert first.groups() == ("/v0/ledgers/{ledger_id}/line-entries", "400")
    assert lines[1].startswith("PUT /v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories 200 ")
    assert lines[2].startswith("GET - 404 ")
    assert lines[2].endswith(" instance -")
    assert lines[3].startswith("other ")
    logged = "".join(r.getMessage() for r in caplog.records if r.name.startswith(("accounting_analytics", "uvicorn")))
    assert "secret" not in logged.lower()
    assert books.token.partition(".")[2] not in logged


def test_changes_that_wait_delay_no_reader(tmp_path, caplog):
    """While another program locks the database, lists are served beside many waiting changes, which are 503 at last."""
    path = tmp_path / "books.db"
    with Store.open(path, lock_seconds=1) as store, ThreadPoolExecutor(60) as pool:
        instance = create_instance(store)
        headers = {"authorization": f"Bearer {issue_token(store, instance)}", "service-instance-id": instance}
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
