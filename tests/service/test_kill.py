"""Killed at any moment under load, the books have every change that was acknowledged, and nothing half-written."""

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

from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.bookkeeping.new_entries import NewTransaction
from accounting_analytics.service.check import check_books
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import Store

CATEGORIES = ["food", "rent", "tax", "travel", "fun"]
RECATEGORIZING, CREATING, OF_A_CLIENT = 4, 2, 5
FILE = 10


class Poster:
    """A process that posts and imports, and what it said was in the books."""

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
        for said in self._process.stdout:
            if said.endswith("\n"):
                name, count = said.split()
                self.posted[name] = int(count)

    def works(self):
        """Wait until it has posted something more."""
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
    """Clients that write over HTTP while they can; every one knows what it asked for and what was acknowledged."""

    def __init__(self, books):
        self.books = books
        self.numbers = itertools.count(1)
        self.asked, self.acknowledged = set(), set()
        self.ledgers = {}
        self.failures = Counter()
        self.lies = {}
        for transaction in [f"T{number}" for number in range(RECATEGORIZING * OF_A_CLIENT)]:
            books.post("2025-03-01T12:00:00Z", ("bank", -1, NewTransaction(id=transaction)), ("food", 1))
            self.lies[transaction] = {"food"}

    def begin(self, base_url):
        """Write to a service from several threads at once, until it is gone or `end` says so."""
        self.url, self.over, self.begun = base_url, threading.Event(), threading.Event()
        work = [(self.recategorize, number) for number in range(RECATEGORIZING)] + [(self.create, 0)] * CREATING
        self.threads = [threading.Thread(target=self.write, args=one) for one in work]
        for thread in self.threads:
            thread.start()
        assert self.begun.wait(30)

    def gone_on(self):
        """Wait until a client was told that something is wrong."""
        deadline = time.monotonic() + 30
        while not self.failures:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def write(self, writes, number):
        rng = random.Random(number)  # noqa: S311 (no secret)
        with httpx.Client(base_url=self.url, timeout=30, headers=self.books.headers) as http:
            while not self.over.is_set():
                try:
                    writes(http, rng, number)
                except httpx.TransportError:
                    return

    def recategorize(self, http, rng, number):
        """Move a transaction to where it is not, wherever the last, unanswered change may have left it."""
        transaction = f"T{number * OF_A_CLIENT + rng.randrange(OF_A_CLIENT)}"
        places = [one for one in CATEGORIES if one not in self.lies[transaction]]
        if not places:  # nobody knows any more where it is
            return
        target = rng.choice(places)
        change = f"change {next(self.numbers)}"
        self.asked.add(change)
        self.lies[transaction] = self.lies[transaction] | {target}
        path = f"/v0/ledgers/bank/transactions/{transaction}/categories"
        body, headers = {"updated_category_ledger_id": target}, {"modified-by": change}
        if self.is_done(http.put(path, json=body, headers=headers), 200):
            self.lies[transaction] = {target}
            self.acknowledged.add(change)

    def create(self, http, _, __):
        name = f"ledger {next(self.numbers)}"
        body = {"name": name, "editable": True, "financial_account_type": "loan", "sort_code": "2"}
        answer = http.post("/v0/ledgers", json=body)
        if self.is_done(answer, 201):
            self.ledgers[answer.json()["id"]] = name

    def is_done(self, answer, status):
        if answer.status_code == status:
            self.begun.set()
        else:
            self.failures[answer.status_code] += 1
        return answer.status_code == status


def check(store, instance, clients, posters):
    """Everything acknowledged is there, nothing is there twice or half."""
    assert check_books(store).findings == []
    changes = Counter(row.modified_by for row in store.audit(instance))
    assert set(changes.values()) <= {1}
    assert clients.acknowledged <= set(changes) <= clients.asked
    made = Counter(ledger.name for ledger in store.ledgers(instance) if ledger.name.startswith("ledger "))
    assert set(made.values()) <= {1}
    there = {ledger.id: ledger.name for ledger in store.ledgers(instance)}
    assert clients.ledgers.items() <= there.items()
    check_posted(store, posters)
    params = {"start_date": "2025-03-01", "end_date": "2025-03-01", "limit": 1000, "expand": "opposing_ledger_ids"}
    records = clients.books.get("/v0/ledgers/bank/line-entries", **params)["records"]
    lies = {line["transaction_id"]: line["opposing_ledger_ids"] for line in records}
    assert lies.keys() == clients.lies.keys()
    for transaction, (ledger,) in lies.items():
        assert ledger in clients.lies[transaction]
        clients.lies[transaction] = {ledger}


def check_posted(store, posters):
    """Every entry and every file that was said to be there is there as a whole, and so is any other."""
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


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def own_database(request, tmp_path):
    """Return a database, and the server that it is in, if it is in one."""
    if request.param == "sqlite":
        return tmp_path / "books.db", None
    server = request.getfixturevalue("own_postgresql")
    return server.new(), server


class Rounds:
    """Round after round, everybody writes, somebody is killed, and the books are looked at."""

    def __init__(self, books, database, server, start, folder):
        self.books, self.database, self.server, self.start, self.folder = books, database, server, start, folder
        self.rng = random.Random(50)  # noqa: S311 (no secret)
        self.clients, self.posters, self.service = Clients(books), [], None
        self.killed = Counter()
        self.new_poster()

    def new_poster(self):
        self.posters.append(Poster(self.database, self.books.instance_id, self.folder))

    def look(self):
        """Serve the books again, where nobody does, and see what is there."""
        self.service = self.service or self.start(self.database)
        self.books.http.base_url = self.service.base_url
        check(self.books.store, self.books.instance_id, self.clients, self.posters)

    def kill(self, number):
        """Let everybody write for a while, and then end somebody in the middle of it."""
        self.clients.begin(self.service.base_url)
        self.posters[-1].works()
        time.sleep(self.rng.uniform(0, 0.5))
        if self.server is not None and number % 3 == 2:
            self.crash_database()
        else:
            self.service.kill()
            self.clients.end()
            self.killed["service"] += 1
            assert self.clients.failures == Counter()
            assert "Traceback" not in self.service.complaints()
            self.service = None
        if self.rng.random() < 0.3:
            self.posters[-1].kill()
            self.killed["poster"] += 1
            self.new_poster()

    def crash_database(self):
        """Crash the server under the service, which tells its clients so and goes on when it is back."""
        self.server.crash()
        self.clients.gone_on()
        self.clients.end()
        self.server.start()
        self.killed["database"] += 1
        assert set(self.clients.failures) == {503}
        self.clients.failures.clear()


@pytest.mark.soak
def test_killed_under_load(own_database, start_service, make_own_books, soak_count, tmp_path):
    """50 kills of the service, of its database or of who posts, at seeded moments: nothing is lost or half-written."""
    database, server = own_database
    times = soak_count(50)
    with Store.open(database) as store:
        create_instance(store)
    with make_own_books(database, "http://127.0.0.1:1") as books:
        books.bank(id="bank")
        for name in CATEGORIES:
            books.category(name, id=name)
        rounds = Rounds(books, database, server, start_service, tmp_path)
        try:
            for number in range(times):
                rounds.look()
                rounds.kill(number)
            rounds.look()
        finally:
            rounds.posters[-1].kill()
        assert rounds.killed["service"] + rounds.killed["database"] == times
        assert min(len(rounds.clients.acknowledged), len(rounds.clients.ledgers)) > times
        assert sum(len(poster.posted) for poster in rounds.posters) > times
