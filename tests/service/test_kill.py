"""Books killed at any moment under load have every acknowledged change, and no partial ones."""

import itertools
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from accounting_analytics.service import tables
from accounting_analytics.service.check import check_books
from accounting_analytics.service.instances import create_instance
from accounting_analytics.service.post_entries import NewTransaction
from accounting_analytics.service.store import Store
from accounting_analytics.service.values import RECATEGORIZE_TRANSACTION

CATEGORIES = ["food", "rent", "tax", "travel", "fun"]
RECATEGORIZING, CREATING, OF_A_CLIENT = 4, 2, 5
FILE = 10


class Poster:
    """A process that posts and imports, and what it has acknowledged."""

    numbers = itertools.count(1)

    def __init__(self, database, instance, folder):
        self.name = f"poster{next(self.numbers)}"
        program = Path(__file__).with_name("posting_process.py")
        self._process = subprocess.Popen(  # noqa: S603 (our own)
            [sys.executable, program, str(database), instance, self.name, str(folder)],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self.posted = {}
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            if line.endswith("\n"):
                name, count = line.split()
                self.posted[name] = int(count)

    def wait_for_post(self):
        """Wait until it has posted again."""
        before, deadline = len(self.posted), time.monotonic() + 60
        while len(self.posted) == before:
            assert self._process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


class Clients:
    """Clients that write over HTTP; they remember what was requested and what was acknowledged."""

    def __init__(self, books):
        self.books = books
        self.numbers = itertools.count(1)
        self.requested, self.acknowledged = set(), set()
        self.ledgers = {}
        self.failures = Counter()
        self.possible = {}
        for transaction in [f"T{number}" for number in range(RECATEGORIZING * OF_A_CLIENT)]:
            books.post("2025-03-01T12:00:00Z", ("bank", -1, NewTransaction(id=transaction)), ("food", 1))
            self.possible[transaction] = {"food"}

    def begin(self, base_url):
        """Write to a service from several threads until it stops or `end` is called; wait for a change and a ledger."""
        self.url, self.stopped = base_url, threading.Event()
        before = len(self.acknowledged), len(self.ledgers)
        work = [(self.recategorize, number) for number in range(RECATEGORIZING)] + [(self.create, 0)] * CREATING
        self.threads = [threading.Thread(target=self.write, args=one) for one in work]
        for thread in self.threads:
            thread.start()
        deadline = time.monotonic() + 60
        while len(self.acknowledged) == before[0] or len(self.ledgers) == before[1]:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def wait_for_failure(self):
        """Wait until a request of a client failed."""
        deadline = time.monotonic() + 30
        while not self.failures:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def end(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def write(self, writes, number):
        rng = random.Random(number)  # noqa: S311 (no secret)
        with httpx.Client(base_url=self.url, timeout=30, headers=self.books.headers) as http:
            while not self.stopped.is_set():
                try:
                    writes(http, rng, number)
                except httpx.TransportError:
                    return

    def recategorize(self, http, rng, number):
        """Move a transaction to a category that it cannot have, also if the last request got no response."""
        transaction = f"T{number * OF_A_CLIENT + rng.randrange(OF_A_CLIENT)}"
        targets = [one for one in CATEGORIES if one not in self.possible[transaction]]
        if not targets:  # it can be in any of them
            return
        target = rng.choice(targets)
        change = f"change {next(self.numbers)}"
        self.requested.add(change)
        self.possible[transaction] = self.possible[transaction] | {target}
        path = f"/v0/ledgers/bank/transactions/{transaction}/categories"
        body, headers = {"updated_category_ledger_id": target}, {"modified-by": change}
        if self.is_done(http.put(path, json=body, headers=headers), 200):
            self.possible[transaction] = {target}
            self.acknowledged.add(change)

    def create(self, http, _, __):
        name = f"ledger {next(self.numbers)}"
        body = {"name": name, "editable": True, "financial_account_type": "loan", "sort_code": "2"}
        response = http.post("/v0/ledgers", json=body)
        if self.is_done(response, 201):
            self.ledgers[response.json()["id"]] = name

    def is_done(self, response, status):
        if response.status_code != status:
            self.failures[response.status_code] += 1
        return response.status_code == status


def check(store, instance, clients, posters):
    """Check that everything acknowledged exists once and completely."""
    assert check_books(store).findings == []
    changes = Counter(row.modified_by for row in store.audit(instance) if row.operation == RECATEGORIZE_TRANSACTION)
    assert set(changes.values()) <= {1}
    assert clients.acknowledged <= set(changes) <= clients.requested
    created = Counter(ledger.name for ledger in store.ledgers(instance) if ledger.name.startswith("ledger "))
    assert set(created.values()) <= {1}
    names = {ledger.id: ledger.name for ledger in store.ledgers(instance)}
    assert clients.ledgers.items() <= names.items()
    check_posted(store, posters)
    params = {"start_date": "2025-03-01", "end_date": "2025-03-01", "limit": 1000, "expand": "opposing_ledger_ids"}
    records = clients.books.get("/v0/ledgers/bank/line-entries", **params)["records"]
    categories = {line["transaction_id"]: line["opposing_ledger_ids"] for line in records}
    assert categories.keys() == clients.possible.keys()
    for transaction, (ledger,) in categories.items():
        assert ledger in clients.possible[transaction]
        clients.possible[transaction] = {ledger}


def check_posted(store, posters):
    """Check that every acknowledged entry and file is complete, and so is any other."""
    acknowledged = {name: count for poster in posters for name, count in poster.posted.items()}
    entries, lines = tables.journal_entries, tables.line_entries
    query = (
        select(entries.c.id, func.count())
        .join_from(entries, lines, lines.c.journal_entry_pk == entries.c.pk)
        .where(entries.c.id.like("poster%"))
        .group_by(entries.c.id)
    )
    found = Counter()
    with store.reading() as connection:
        for entry_id, count in connection.execute(query):
            name = entry_id.partition(".")[0]
            found[name] += 1
            assert count == (2 if int(name.partition("-")[2]) % 3 == 0 else 3)
    assert {name: found[name] for name in acknowledged} == acknowledged
    assert {count for name, count in found.items()} <= {1, FILE}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgresql, pytest.mark.long])])
def own_database(request, tmp_path):
    """Return a database and its server, if it has one."""
    if request.param == "sqlite":
        return tmp_path / "books.db", None
    server = request.getfixturevalue("own_postgresql")
    return server.new(), server


class Rounds:
    """Rounds in which all clients write, one process is killed, and the books are checked."""

    def __init__(self, books, database, server, start, folder):
        self.books, self.database, self.server, self.start, self.folder = books, database, server, start, folder
        self.rng = random.Random(50)  # noqa: S311 (no secret)
        self.clients, self.posters, self.service = Clients(books), [], None
        self.killed = Counter()
        self.new_poster()

    def new_poster(self):
        self.posters.append(Poster(self.database, self.books.instance_id, self.folder))

    def check(self):
        """Start the service if it was killed, and check the books."""
        self.service = self.service or self.start(self.database)
        self.books.http.base_url = self.service.base_url
        check(self.books.store, self.books.instance_id, self.clients, self.posters)

    def kill(self, number):
        """Let all clients write for a while, and then kill a process."""
        self.clients.begin(self.service.base_url)
        self.posters[-1].wait_for_post()
        time.sleep(self.rng.uniform(0, 0.5))
        if self.server is not None and number % 3 == 0:
            self.crash_database()
        else:
            self.service.kill()
            self.clients.end()
            self.killed["service"] += 1
            assert self.clients.failures == Counter()
            assert "Traceback" not in self.service.stderr()
            self.service = None
        if self.rng.random() < 0.3:
            self.posters[-1].kill()
            self.killed["poster"] += 1
            self.new_poster()

    def crash_database(self):
        """Crash the database server; requests fail with 500, or with 503 while it starts."""
        self.server.crash()
        self.clients.wait_for_failure()
        self.clients.end()
        self.server.start()
        self.killed["database"] += 1
        assert set(self.clients.failures) <= {500, 503}
        self.clients.failures.clear()


@pytest.mark.long
@pytest.mark.soak
def test_killed_under_load(own_database, start_service, make_own_books, soak_count, tmp_path):
    """After 50 kills of the service, its database or the poster, nothing is lost or partial."""
    database, server = own_database
    times = soak_count(50, fewer=3)
    with Store.open(database) as store:
        create_instance(store)
    with make_own_books(database, "http://127.0.0.1:1") as books:
        books.bank(id="bank")
        for name in CATEGORIES:
            books.category(name, id=name)
        rounds = Rounds(books, database, server, start_service, tmp_path)
        try:
            for number in range(times):
                rounds.check()
                rounds.kill(number)
            rounds.check()
        finally:
            rounds.posters[-1].kill()
        assert rounds.killed["service"] + rounds.killed["database"] == times
        assert min(len(rounds.clients.acknowledged), len(rounds.clients.ledgers)) >= times
        assert sum(len(poster.posted) for poster in rounds.posters) >= times
