"""A store that is served over HTTP, with separate books for every test."""

import datetime as dt
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import httpx
import psycopg
import pytest
from sqlalchemy import select

from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTag, NewTransaction, to_units
from accounting_analytics.service import tables
from accounting_analytics.service.database import Store, read_instance
from accounting_analytics.service.instances import NewInstance, create_instance, issue_token
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.post_entries import post_entries
from accounting_analytics.service.server import running
from accounting_analytics.service.stored_values import CHANGES, AuditRow

ON_THE_WEB = {"test_app", "test_attacks", "test_interface_requests", "test_openapi"}


def pytest_configure(config):
    """Load the plugin of schemathesis, which only these tests need."""
    config.pluginmanager.import_plugin("schemathesis.pytest.plugin")


class Books:
    """Books of one instance, posted in Python and read over HTTP."""

    def __init__(self, store, http, **options):
        self.store = store
        self.instance_id = create_instance(store, NewInstance(**options))
        self.scale = store.instance(self.instance_id).scale
        self.token = issue_token(store, self.instance_id)
        self.http = http
        self._numbers = itertools.count(1)

    @property
    def headers(self):
        return {"authorization": f"Bearer {self.token}", "service-instance-id": self.instance_id}

    def bank(self, name="Bank", **fields):
        fields = {"financial_account_type": "bank_account"} | fields
        return create_ledger(self.store, self.instance_id, NewLedger(name=name, **fields)).id

    def category(self, name="Rent", type_="expense", **fields):
        sub_types = {
            "asset": "current_assets",
            "liability": "current_liabilities",
            "equity": "equity",
            "revenue": "operating_revenues",
            "expense": "operating_expenses",
        }
        fields = {
            "debit_credit": "debit",
            "sub_type": sub_types[type_],
            "report_cash_flow": False,
            "sort_code": f"5{next(self._numbers):03d}",
        } | fields
        return create_ledger(self.store, self.instance_id, NewLedger(name=name, type=type_, **fields)).id

    def required(self, sub_type, debit_credit=None):
        (found,) = [
            ledger.id
            for ledger in self.store.ledgers(self.instance_id)
            if ledger.is_required and ledger.sub_type == sub_type and debit_credit in (None, ledger.debit_credit)
        ]
        return found

    def post(self, when, *lines, description="entry", entry_id=None):
        """Post one entry of (ledger, signed amount[, tags or transaction]) lines; positive is debit."""
        moment = dt.datetime.fromisoformat(when) if isinstance(when, str) else when
        new = []
        for ledger_id, amount, *more in lines:
            tags = tuple(tag for tag in more if isinstance(tag, NewTag))
            transaction = next((one for one in more if isinstance(one, NewTransaction)), None)
            new.append(NewLine(ledger_id, to_units(Decimal(amount), self.scale), transaction=transaction, tags=tags))
        return post_entries(
            self.store, self.instance_id, [NewJournalEntry(moment, description, tuple(new), id=entry_id)]
        )[0]

    def request(self, method, path, **options):
        options["headers"] = self.headers | options.pop("headers", {})
        return self.http.request(method, path, **options)

    def get(self, path, status=200, **params):
        response = self.request("GET", path, params=params)
        assert response.status_code == status, response.text
        return exact(response)

    def status_with(self, token):
        """Return the status and the challenge of a request with a token."""
        params = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
        headers = {"authorization": f"Bearer {token}"}
        response = self.request("GET", "/v0/reports/cash-flow", params=params, headers=headers)
        return response.status_code, response.headers.get("www-authenticate")

    def lines(self, ledger_id, start="2020-01-01", end="2030-12-31", status=200, **params):
        params = {"start_date": start, "end_date": end} | params
        return self.get(f"/v0/ledgers/{ledger_id}/line-entries", status, **params)

    def report(self, start="2020-01-01", end="2030-12-31", status=200, **params):
        return self.get("/v0/reports/cash-flow", status, start_date=start, end_date=end, **params)

    def create(self, status=201, expand=None, **body):
        params = {"expand": expand} if expand else {}
        response = self.request("POST", "/v0/ledgers", json=body, params=params)
        assert response.status_code == status, response.text
        return exact(response)

    def recategorize(self, ledger_id, transaction_id, target, category=None, *, status=200, headers=None):
        body = {"updated_category_ledger_id": target} | ({"category_ledger_id": category} if category else {})
        path = f"/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories"
        response = self.request("PUT", path, json=body, headers=headers or {})
        assert response.status_code == status, response.text
        return exact(response)

    def audit(self):
        """Return the rows of changed categories and names, without those of what was created and posted."""
        return [row for row in self.audit_rows() if row.operation in CHANGES]

    def audit_rows(self):
        """Return all rows of the audit log, oldest first."""
        columns = tables.audit.c
        query = select(*(columns[field.name] for field in fields(AuditRow))).order_by(columns.pk)
        with self.store.reading() as connection:
            instance = read_instance(connection, self.instance_id)
            return [AuditRow(*row) for row in connection.execute(query.where(columns.instance_pk == instance.pk))]


def exact(response):
    """Body of a response with every number as a Decimal."""
    return json.loads(response.content, parse_float=Decimal, parse_int=Decimal)


class PostgreSQL:
    """A PostgreSQL server on loopback with any number of databases."""

    def __init__(self, folder, program_path, *, durable=False):
        self._folder, self._program = folder / "data", program_path("postgres")
        # the server refuses to run as root
        self._as = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        if self._as:
            shutil.chown(folder, "postgres", "postgres")
        # a text order that differs from ours by default, as on many machines
        order = ["--locale-provider=icu", "--icu-locale=en-US", "--encoding=UTF8"]
        self._run(program_path("initdb"), "-A", "trust", "-U", "postgres", "--no-sync", *order, "-D", self._folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": ""}
        settings |= {"fsync": "on" if durable else "off"}
        self._options = [f"--{name}={value}" for name, value in settings.items()]
        self._log = (folder / "log").open("wb")
        self._numbers = itertools.count(1)
        self.start()

    def start(self):
        """Start the server and wait until it accepts connections, after a crash also for its recovery."""
        self._server = subprocess.Popen(  # noqa: S603 (our own)
            [self._program, "-D", self._folder, *self._options],
            cwd="/", stdout=self._log, stderr=subprocess.STDOUT, **self._as,
        )  # fmt: skip
        self._wait()

    def crash(self):
        """Stop the server immediately, without flushing its files or closing connections."""
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(20)

    def _run(self, *command):
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self._as)  # noqa: S603 (our own)

    def _wait(self):
        for _ in range(300):
            try:
                return self.execute("SELECT 1")
            except psycopg.OperationalError:
                time.sleep(0.1)
        return self.execute("SELECT 1")

    def address(self, name="postgres"):
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def execute(self, statement, name="postgres"):
        with psycopg.connect(self.address(name), autocommit=True) as connection:
            return connection.execute(statement).statusmessage

    def new(self):
        """Return the address of a new, empty database."""
        name = f"books{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def stop(self):
        self._server.send_signal(signal.SIGINT)
        self._server.wait(20)
        self._log.close()


@contextmanager
def postgresql_server(program_path, *, durable=False):
    """Run a server during the block, in a folder that the user of the server can access."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = PostgreSQL(Path(folder), program_path, durable=durable)
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def postgresql(program_path):
    """Return a PostgreSQL server that runs until the tests end."""
    with postgresql_server(program_path) as server:
        yield server


@pytest.fixture
def own_postgresql(program_path):
    """Return a PostgreSQL server for one test, with durable writes, which may be crashed."""
    with postgresql_server(program_path, durable=True) as server:
        yield server


class ServiceProcess:
    """The service as a separate process, started from the command line."""

    def __init__(self, database, *options):
        command = [sys.executable, "-m", "accounting_analytics", "serve", "--database", str(database), *options]
        # a file, because a pipe that is not read would block the process
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        # a separate process group, which signals to the tests do not reach
        self._process = subprocess.Popen(  # noqa: S603 (our own)
            command, stdout=subprocess.PIPE, stderr=self._stderr, text=True, start_new_session=True
        )
        line = self._process.stdout.readline()
        self.base_url = line.partition(" at ")[2].partition(" ")[0]
        if not self.base_url:
            self.kill()
            pytest.fail(f"the service did not start: {line}{self.stderr()}")

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def stderr(self):
        self._stderr.seek(0)
        return self._stderr.read()

    def close(self):
        """Kill the process if it runs, and delete its stderr."""
        self.kill()
        self._stderr.close()


@pytest.fixture
def start_service():
    """Return a function that serves a database in a separate process, which is killed after the test."""
    started = []

    def start(database, *options):
        started.append(ServiceProcess(database, *options))
        return started[-1]

    yield start
    for process in started:
        process.close()


@pytest.fixture
def path(tmp_path):
    """Return the path of a database in an empty folder."""
    return tmp_path / "books.db"


@pytest.fixture
def store(path):
    """Return an open store without an instance."""
    with Store.open(path) as store:
        yield store


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def served(request, tmp_path_factory):
    """Return a store in each kind of database, and an HTTP client of the service for it."""
    if request.param == "sqlite":
        database = tmp_path_factory.mktemp("served") / "books.db"
    else:
        database = request.getfixturevalue("postgresql").new()
    with (
        Store.open(database) as store,
        running(database) as service,
        httpx.Client(base_url=service.base_url, timeout=30) as http,
    ):
        yield store, http


@pytest.fixture
def make_books(served):
    return lambda **options: Books(*served, **options)


@pytest.fixture
def books(make_books):
    """Return new books of Tier 3, at scale 2."""
    return make_books()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave to the long counts on PostgreSQL requests and attacks, and all but one case of each other test."""
    seen = set()
    for item in (item for item in items if item.get_closest_marker("postgresql")):
        on_the_web = item.path.stem in ON_THE_WEB
        test = item.path, item.originalname
        if on_the_web or test in seen:
            item.add_marker(pytest.mark.long)
        seen.add(test)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def database(request, tmp_path):
    """Return a new database of each kind for one test."""
    return tmp_path / "books.db" if request.param == "sqlite" else request.getfixturevalue("postgresql").new()


@pytest.fixture
def soak_count(soak_count, request):
    """Return the function that scales long counts; on PostgreSQL half of it proves once more what SQLite has proven."""
    if soak_count(10) > 1 or request.node.get_closest_marker("postgresql") is None:
        return soak_count
    return lambda long, fewer=None: max(2, soak_count(long, fewer) // 2)


@pytest.fixture(scope="session")
def make_own_books():
    """Return a function that creates books in a given database, which is served at a given URL."""

    @contextmanager
    def making(path, base_url, **options):
        # closes idle connections before the service does
        limits = httpx.Limits(keepalive_expiry=1)
        with Store.open(path) as store, httpx.Client(base_url=base_url, timeout=30, limits=limits) as http:
            yield Books(store, http, **options)

    return making
