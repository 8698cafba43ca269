"""The request guard: host names, sizes, headers of every response, and the access log."""

import logging
import re
import socket
import sqlite3
import time

import httpx
import pytest

from accounting_analytics.errors import ConfigurationError
from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.bookkeeping.post_entries import NewTransaction
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.app import create_app
from accounting_analytics.service.web.request_guard import AllowedHosts
from accounting_analytics.service.web.server import RunningService, running
from accounting_analytics.service.web.service_options import ServiceOptions

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
ERROR = {"message", "data", "display_message", "error_code"}


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:1", "localhost.", "[::1]:80", "127.9.9.9"]
)
def test_loopback_names_are_allowed(host):
    """Loopback has several names."""
    assert AllowedHosts().allows(host)


@pytest.mark.parametrize(
    "host",
    [
        "", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "[2001:db8::1]",
        "localhost:x", "localhost:", "user@localhost", "localhost/x", "[::1", "[localhost]", "127.0.0.1\x00",
        " localhost", "localhost\u00e9", "127.1", "2130706433", "0x7f.1",
    ],
)  # fmt: skip
def test_other_names_are_not_allowed(host):
    """A name that a web page may have rebound to this address is not allowed."""
    assert not AllowedHosts().allows(host)


def test_public_names_and_addresses():
    """Public names are allowed exactly; if other machines are allowed, IP addresses are too."""
    hosts = AllowedHosts(["Books.Example.org"], any_address=True)
    assert hosts.allows("books.example.org:443")
    assert hosts.allows("192.0.2.1:80")
    assert hosts.allows("[2001:db8::1]")
    assert not hosts.allows("evil.books.example.org")
    for wrong in ("https://books.example.org", "books.example.org:443", "", "*", "*.example.org", "a b"):
        with pytest.raises(ConfigurationError, match="bare host name"):
            AllowedHosts([wrong])


def test_a_rebound_name_reads_nothing(books):
    """With another Host even a valid token gets 400, on every path."""
    for path in ("/v0/reports/cash-flow", "/openapi.json", "/"):
        response = books.request("GET", path, params=DAYS, headers={"host": "evil.example"})
        assert (response.status_code, set(response.json())) == (400, ERROR)


def test_public_hosts_reach_the_service(tmp_path):
    """Requests may use the public names of the service, and no others."""
    with running(tmp_path / "books.db", ServiceOptions(public_hosts=["books.example.org"])) as service:
        url = f"{service.base_url}/openapi.json"
        assert httpx.get(url, headers={"host": "books.example.org"}).status_code == 200
        assert httpx.get(url, headers={"host": "example.org"}).status_code == 400


def target_of(books, target):
    """Return the status of a request with any request target."""
    host, port = books.http.base_url.host, books.http.base_url.port
    head = [f"GET {target} HTTP/1.1", f"host: {host}:{port}", "connection: close"]
    head += [f"{name}: {value}" for name, value in books.headers.items()]
    with socket.create_connection((host, port)) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        return int(connection.makefile("rb").readline().split()[1])


def test_a_target_may_be_a_url_of_this_service(books):
    """A request target that is a URL is read if its host is this service; any other host is 400."""
    host = f"127.0.0.1:{books.http.base_url.port}"
    days = "start_date=2025-01-01&end_date=2025-12-31"
    bank = books.bank("B", id="a b")
    lines = f"/v0/ledgers/{bank.replace(' ', '%20')}/line-entries?{days}"
    for prefix in ("", f"http://{host}", f"HTTP://localhost:{books.http.base_url.port}", f"https://{host}"):
        assert target_of(books, f"{prefix}/v0/reports/cash-flow?{days}") == 200
        assert target_of(books, f"{prefix}{lines}") == 200
        assert target_of(books, f"{prefix}/openapi.json") == 200
    for root in (
        f"http://{host}",
        f"http://{host}/",
        f"http://{host}?x=1",
        f"http://{host}/http://{host}/openapi.json",
    ):
        assert target_of(books, root) == 404
    for other in ("evil.example", f"evil.example@{host}", f"{host}@evil.example", "", "127.0.0.1.evil.example:80"):
        assert target_of(books, f"http://{other}/openapi.json") == 400
    assert target_of(books, f"ftp://{host}/openapi.json") == 404


def test_too_many_or_too_large(books):
    """Headers, paths and queries above their limits are refused with a status each; up to the limits they are read."""
    get = books.http.get
    own = 10  # at most so many headers the client adds itself
    assert get("/openapi.json", headers={f"x-{n}": "1" for n in range(64 - own)}).status_code == 200
    assert get("/openapi.json", headers={f"x-{n}": "1" for n in range(65)}).status_code == 431
    assert get("/openapi.json", headers={"x": "1" * 30_000}).status_code == 200
    assert get("/openapi.json", headers={"x": "1" * 33_000}).status_code == 431
    assert get("/openapi.json?" + "x" * 16_000).status_code == 200
    assert get("/openapi.json?" + "x" * 16_500).status_code == 414
    assert get("/" + "x" * 8_000).status_code == 404
    assert get("/" + "x" * 8_200).status_code == 414


def test_every_response_has_security_headers(books):
    """Success, refusal and error have the security headers, and a request id each."""
    seen = set()
    for response in (
        books.http.get("/openapi.json"),
        books.http.get("/nowhere"),
        books.http.get("/v0/reports/cash-flow"),
        books.http.get("/openapi.json", headers={"host": "evil.example"}),
        books.request("GET", "/v0/reports/cash-flow", params=DAYS),
        books.http.get("/openapi.json", headers={"x-request-id": "mine\t<script>"}),
    ):
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["x-frame-options"] == "DENY"
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


def test_books_that_stay_locked_are_503(tmp_path, caplog):
    """While another program locks the database, changes are 503 with retry-after, and reads work."""
    path = tmp_path / "books.db"
    with Store.open(path, lock_seconds=0.05) as store:
        instance = create_instance(store)
        headers = {"authorization": f"Bearer {issue_token(store, instance)}", "service-instance-id": instance}
        service = RunningService(create_app(store))
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
