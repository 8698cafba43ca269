"""Running the service: it starts, stops promptly, leaves nothing behind, and goes on reading on a full disk."""

import json
import logging
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import uvicorn
from broken_invariants import broken_invariants
from long_cases import also_long

from accounting_analytics.core.errors import (
    BooksDoNotTieError,
    ConfigurationError,
    InputError,
    OperationRefusedError,
)
from accounting_analytics.journals.entries import NewTransaction
from accounting_analytics.service.app import ServiceOptions
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import create_instance, issue_token
from accounting_analytics.service.server import running, serve

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}


@pytest.mark.timeout(60)
def test_running_responds_and_stops(tmp_path):
    before = set(threading.enumerate())
    with httpx.Client() as client:
        with running(tmp_path / "books.db") as service:
            assert client.get(f"{service.base_url}/openapi.json").status_code == 200
        with pytest.raises(httpx.ConnectError):
            client.get(f"{service.base_url}/openapi.json")
    assert set(threading.enumerate()) <= before


@pytest.mark.timeout(60)
def test_an_unfinished_request_does_not_delay_the_stop(tmp_path):
    with running(tmp_path / "books.db") as service:
        host, port = re.fullmatch(r"http://(.+):(\d+)", service.base_url).groups()
        with socket.create_connection((host, int(port))) as half:
            half.sendall(b"POST /v0/ledgers HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n\r\n{")
            time.sleep(0.1)
            service.stop()
            service.stop()  # a second time is fine


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])  # noqa: S104 (refused)
def test_remote_hosts_are_refused(host):
    with pytest.raises(ConfigurationError, match="other machines"):
        ServiceOptions(host=host)


def test_plain_http_for_other_machines_is_a_warning(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_args, **_named: None)
    with Store.open(tmp_path / "books.db") as store:
        create_instance(store)
    serve(tmp_path / "books.db")
    assert caplog.text == ""
    serve(tmp_path / "books.db", ServiceOptions(host="0.0.0.0", allow_remote=True))  # noqa: S104 (the option under test)
    assert "other machines can reach this service" in caplog.text
    assert "put a reverse proxy in front of it" in caplog.text


def test_a_taken_port_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        options = ServiceOptions(port=port)
        with pytest.raises(ConfigurationError, match=str(port)), running(tmp_path / "books.db", options):
            pass
    with pytest.raises(ConfigurationError, match="70000"):
        ServiceOptions(port=70000)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "notes").write_text("x" * 5000)
    with pytest.raises(InputError, match="notes"):
        serve(tmp_path / "notes")


def test_a_damaged_file_is_not_served(tmp_path):
    path = tmp_path / "books.db"
    with Store.open(path) as store:
        create_instance(store)
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'line_entries'").fetchone()
    content = path.read_bytes()
    damaged = content[: (page - 1) * 4096] + b"x" * 4096 + content[page * 4096 :]
    path.write_bytes(damaged)
    with pytest.raises(
        BooksDoNotTieError, match=r"books.db is damaged: .* it was not served, replace it by a copy of it"
    ):
        serve(path)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("how", [signal.SIGINT, *also_long(signal.SIGTERM)])
def test_serve_prints_lines_that_suffice_without_the_token(tmp_path, how):
    database = tmp_path / "my books.db"
    command = [sys.executable, "-u", "-m", "accounting_analytics", "serve", "--database", str(database)]
    command += ["--requests-per-minute", "7"]
    process = subprocess.Popen(  # noqa: S603 (our own program)
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        printed = [process.stdout.readline() for _ in range(11)]
        assert "new and empty" in printed[2]
        script = "".join(printed[8:]) + "env -0"
        shown = subprocess.run(["sh", "-c", script], capture_output=True, check=True, env={"PATH": os.environ["PATH"]})  # noqa: S603, S607
        variables = shown.stdout.decode().split("\0")
        env = dict(pair.split("=", 1) for pair in variables if pair.startswith("ACCOUNTING_ANALYTICS_"))
        token = Path(env["ACCOUNTING_ANALYTICS_TOKEN_FILE"]).read_text(encoding="utf-8").strip()
        instance = env["ACCOUNTING_ANALYTICS_INSTANCE_ID"]
        headers = {"authorization": f"Bearer {token}", "service-instance-id": instance}
        url = f"{env['ACCOUNTING_ANALYTICS_BASE_URL']}/v0/reports/cash-flow"
        response = httpx.get(url, params=DAYS | {"time_zone": "localtime"}, headers=headers)
        assert (response.status_code, response.headers["x-ratelimit-limit"]) == (200, "7")
        assert json.loads(response.content)["ending_cash_balance"] == 0
        process.send_signal(how)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert token not in "".join(printed) + out + err
    assert f"at {env['ACCOUNTING_ANALYTICS_BASE_URL']} " in printed[0]
    with Store.open(database) as store:
        assert [one.localtime for one in store.instances()] == [None]  # until an import states it


def test_no_token_is_created_for_a_remote_host(tmp_path):
    with pytest.raises(ConfigurationError, match=r"books.db has no instance, and none is created .* instances create"):
        serve(tmp_path / "books.db", ServiceOptions(host="0.0.0.0", allow_remote=True))  # noqa: S104 (the option under test)
    assert not list(tmp_path.glob("*.token"))
    with Store.open(tmp_path / "books.db") as store:
        assert store.instances() == []


@pytest.mark.postgresql
def test_an_empty_shared_database_is_named(postgresql):
    address = postgresql.new()
    with pytest.raises(ConfigurationError, match="instances create") as refused:
        serve(address, ServiceOptions(host="0.0.0.0", allow_remote=True))  # noqa: S104 (the option under test)
    assert str(refused.value).startswith(f"{address} has no instance")


@pytest.mark.timeout(60)
def test_unread_responses_do_not_delay_the_stop(tmp_path):
    with running(tmp_path / "books.db") as service, ExitStack() as held:
        url = urlsplit(service.base_url)
        for _ in range(3):
            connection = held.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            connection.connect((url.hostname, url.port))
            connection.setblocking(False)  # noqa: FBT003 (of the standard library)
            connection.send(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 400)
        time.sleep(0.5)
        service.stop()


def test_a_disconnected_client_is_not_an_error(tmp_path, caplog):
    with Store.open(tmp_path / "books.db") as store:
        instance = create_instance(store)
        token = issue_token(store, instance)
    head = (
        f"POST /v0/ledgers HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n"
        f"service-instance-id: {instance}\r\n"
        "content-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    )
    with running(tmp_path / "books.db") as service:
        url = urlsplit(service.base_url)
        with socket.create_connection((url.hostname, url.port)) as cut:
            cut.sendall(head.encode())
            time.sleep(0.2)
        with socket.create_connection((url.hostname, url.port)) as whole:
            whole.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            assert whole.recv(15) == b"HTTP/1.1 200 OK"
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
@pytest.mark.parametrize("pause", [0, 0.2])
def test_a_request_that_breaks_in_its_body_is_one_line(tmp_path, caplog, host, pause):
    head = f"POST /v0/ledgers HTTP/1.1\r\nhost: {host}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    with running(tmp_path / "books.db") as service:
        url = urlsplit(service.base_url)
        with socket.create_connection((url.hostname, url.port), timeout=10) as broken:
            broken.sendall(head if pause else head + b"zz\r\n")
            time.sleep(pause)
            if pause:
                broken.sendall(b"zz\r\n")
            assert broken.recv(10_000).startswith(
                b"HTTP/1.1 400" if host != "127.0.0.1" or not pause else b"HTTP/1.1 401"
            )
        with socket.create_connection((url.hostname, url.port), timeout=10) as whole:
            whole.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n")
            assert whole.recv(15) == b"HTTP/1.1 200 OK"
    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [(line.getMessage(), line.exc_info) for line in lines] == [("Invalid HTTP request received.", None)]


LEDGER = {"name": "Loan", "editable": True, "financial_account_type": "loan"}
DAY = ("2025-03-01", "2025-03-01")
NO_SPACE = """
    CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER full_for_ledgers BEFORE INSERT ON ledgers FOR EACH ROW EXECUTE FUNCTION no_space();
    CREATE TRIGGER full_for_lines BEFORE INSERT ON line_entries FOR EACH ROW EXECUTE FUNCTION no_space();
"""


def assert_full(response):
    """Check that a response says that the disk is full, and not to wait."""
    assert (response.status_code, response.json()["error_code"]) == (507, "insufficient_storage")
    assert "retry-after" not in response.headers
    assert "nothing was changed" in response.json()["message"]


@pytest.fixture
def crowded(tmp_path, start_service, make_own_books):
    """Return books of a service, the service, and a function that limits the size of the files that it writes."""
    service = start_service(tmp_path / "books.db")

    def limit(size):
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    with make_own_books(tmp_path / "books.db", service.base_url) as books:
        yield books, service, limit


def send_changes(books):
    """Return the responses to a new ledger and a new category."""
    return [
        books.request("POST", "/v0/ledgers", json=LEDGER),
        books.request("PUT", "/v0/ledgers/bank/transactions/T/categories", json={"updated_category_ledger_id": "food"}),
    ]


def test_changes_are_refused_and_reads_go_on(crowded):
    books, service, limit = crowded
    bank, rent, _ = books.bank(id="bank"), books.category(id="rent"), books.category("Food", id="food")
    books.post("2025-03-01T12:00:00Z", (bank, -5, NewTransaction(id="T")), (rent, 5))
    with closing(sqlite3.connect(books.store.path)) as connection:  # the log must grow again with the next change
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = books.store.ledgers(books.instance_id)
    limit(1)  # as if the disk were full
    for _ in range(2):
        for response in send_changes(books):
            assert_full(response)
        assert len(books.lines(bank)["records"]) == 1
        assert books.report(*DAY)["ending_cash_balance"] == -5
    limit(resource.RLIM_INFINITY)
    assert books.store.ledgers(books.instance_id) == before
    assert books.audit() == []
    assert [response.status_code for response in send_changes(books)] == [201, 200]
    assert broken_invariants(books.store) == []
    log = service.stderr()
    assert "Traceback" not in log
    assert "Logging error" not in log


@pytest.mark.postgresql
def test_full_disk_of_the_server_is_507_then_recovers(postgresql, make_own_books):
    address = postgresql.new()
    with running(address) as service, make_own_books(address, service.base_url) as books:
        bank, rent = books.bank(id="bank"), books.category(id="rent")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(NO_SPACE)
            assert_full(books.request("POST", "/v0/ledgers", json=LEDGER))
            with pytest.raises(OperationRefusedError, match="disk of the database is full; nothing was changed"):
                books.post("2025-03-01T12:00:00Z", (bank, -5), (rent, 5))
            assert books.lines(bank)["records"] == []
            connection.execute("DROP FUNCTION no_space CASCADE")
        books.create(**LEDGER)
        books.post("2025-03-01T12:00:00Z", (bank, -5), (rent, 5))
