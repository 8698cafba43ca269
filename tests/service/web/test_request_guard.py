"""The front door: names, sizes, what every answer carries, and what the log says and does not say."""

import logging
import re
import sqlite3

import httpx
import pytest

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.auth.access_tokens import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.bookkeeping.new_entries import NewTransaction
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.app import create_app
from accounting_analytics.service.web.request_guard import Hosts
from accounting_analytics.service.web.server import RunningService, running

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
ERROR = {"message", "data", "display_message", "error_code"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:1", "localhost.", "[::1]:80", "127.9.9.9"]
)
def test_loopback_names_are_answered(host):
    """Loopback has several names."""
    assert Hosts().allow(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "[2001:db8::1]",
        "localhost:x", "localhost:", "user@localhost", "localhost/x", "[::1", "[localhost]", "127.0.0.1\x00",
        " localhost", "localhost\u00e9", "127.1", "2130706433", "0x7f.1",
    ],
)  # fmt: skip
def test_other_names_are_not(host):
    """A name that somebody else's page may have rebound to this address is not ours."""
    assert not Hosts().allow(host)


def test_public_names_and_addresses():
    """Configured names are answered exactly; where other machines are let in, bare addresses are too."""
    hosts = Hosts(["Books.Example.org"], any_address=True)
    assert hosts.allow("books.example.org:443")
    assert hosts.allow("192.0.2.1:80")
    assert hosts.allow("[2001:db8::1]")
    assert not hosts.allow("evil.books.example.org")
    for wrong in ("https://books.example.org", "books.example.org:443", "", "*", "*.example.org", "a b"):
        with pytest.raises(ConfigurationError, match="bare host name"):
            Hosts([wrong])


def test_a_rebound_name_reads_nothing(books):
    """With a foreign Host even a valid token gets 400, on every path."""
    for path in ("/v0/reports/cash-flow", "/openapi.json", "/oauth/token", "/"):
        answer = books.request("GET", path, params=DAYS, headers={"host": "evil.example"})
        assert (answer.status_code, set(answer.json())) == (400, ERROR)


def test_public_hosts_reach_the_service(tmp_path):
    """The names given to the service are those it answers to."""
    with running(tmp_path / "books.db", public_hosts=["books.example.org"]) as service:
        url = f"{service.base_url}/openapi.json"
        assert httpx.get(url, headers={"host": "books.example.org"}).status_code == 200
        assert httpx.get(url, headers={"host": "example.org"}).status_code == 400


def test_too_many_or_too_large(books):
    """Headers, paths and queries beyond their limits are refused by their own status; up to them they are read."""
    get = books.http.get
    ours = 10  # headers that the client sends by itself, at most
    assert get("/openapi.json", headers={f"x-{n}": "1" for n in range(64 - ours)}).status_code == 200
    assert get("/openapi.json", headers={f"x-{n}": "1" for n in range(65)}).status_code == 431
    assert get("/openapi.json", headers={"x": "1" * 30_000}).status_code == 200
    assert get("/openapi.json", headers={"x": "1" * 33_000}).status_code == 431
    assert get("/openapi.json?" + "x" * 16_000).status_code == 200
    assert get("/openapi.json?" + "x" * 16_500).status_code == 414
    assert get("/" + "x" * 8_000).status_code == 404
    assert get("/" + "x" * 8_200).status_code == 414


def test_every_answer_is_guarded(books):
    """Success, refusal and error carry the security headers once, and an id of their own."""
    seen = set()
    for answer in (
        books.http.get("/openapi.json"),
        books.http.get("/nowhere"),
        books.http.get("/v0/reports/cash-flow"),
        books.http.get("/openapi.json", headers={"host": "evil.example"}),
        books.request("GET", "/v0/reports/cash-flow", params=DAYS),
        books.http.post("/oauth/token"),
        books.http.get("/openapi.json", headers={"x-request-id": "mine\t<script>"}),
    ):
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers
        assert re.fullmatch(r"[0-9a-f]{16}", answer.headers["x-request-id"])
        seen.add(answer.headers["x-request-id"])
    assert len(seen) == 7


def test_the_log_names_routes_and_no_secrets(books, caplog):
    """A line has method, route, status, time, request id and instance; no token, id or value of a request."""
    bank, rent = books.bank(id="secretbank"), books.category(id="secretrent")
    books.post("2025-03-01T12:00:00Z", (bank, -1, NewTransaction(id="secretmove")), (rent, 1))
    with caplog.at_level(logging.DEBUG):
        answer = books.request(
            "GET",
            f"/v0/ledgers/{bank}/line-entries",
            params=DAYS | {"tag_ids": "secrettag", "page_token": "secrettoken"},
        )
        books.recategorize(bank, "secretmove", rent, headers={"modified-by": "secretuser"})
        books.http.get("/secretpath?secretquery", headers={"authorization": "Bearer secretkey.secretvalue"})
        books.http.request("SECRETMETHOD", "/v0/ledgers", headers={"x": "secretheader"})
    lines = [record.getMessage() for record in caplog.records if record.name == "accounting_analytics.service.access"]
    assert len(lines) == 4
    said = re.fullmatch(
        rf"GET (\S+) (\d+) [\d.]+ ms, request {answer.headers['x-request-id']}, instance {books.instance_id}", lines[0]
    )
    assert said.groups() == ("/v0/ledgers/{ledger_id}/line-entries", "400")
    assert lines[1].startswith("PUT /v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories 200 ")
    assert lines[2].startswith("GET - 404 ")
    assert lines[2].endswith(" instance -")
    assert lines[3].startswith("other ")
    ours = "".join(r.getMessage() for r in caplog.records if r.name.startswith(("accounting_analytics", "uvicorn")))
    assert "secret" not in ours.lower()
    assert books.token.partition(".")[2] not in ours


def test_books_that_stay_locked_are_503(tmp_path, caplog):
    """While another program keeps the database locked, changes are 503 with retry-after, and reading goes on."""
    path = tmp_path / "books.db"
    with Store.open(path, lock_seconds=0.05) as store:
        instance = create_instance(store)
        headers = {"authorization": f"Bearer {issue_token(store, instance)}", "service-instance-id": instance}
        service = RunningService(create_app(store), "127.0.0.1", 0)
        other = sqlite3.connect(path, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            body = {"name": "x", "editable": True, "financial_account_type": "loan"}
            with httpx.Client(base_url=service.base_url, headers=headers) as http:
                locked = http.post("/v0/ledgers", json=body)
                assert (locked.status_code, locked.json()["error_code"]) == (503, "busy")
                assert int(locked.headers["retry-after"]) > 0
                assert "lock" not in locked.text
                assert http.get("/v0/reports/cash-flow", params=DAYS).status_code == 200
                other.execute("ROLLBACK")
                assert http.post("/v0/ledgers", json=body).status_code == 201
        finally:
            other.close()
            service.stop()
    assert "Traceback" not in caplog.text
