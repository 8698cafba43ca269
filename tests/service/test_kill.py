"""Books killed at any moment under load have every acknowledged change, and no partial ones."""

import itertools
import random
import threading
import time
from collections import Counter

import httpx
import pytest
from broken_invariants import broken_invariants

from accounting_analytics.journals.entries import NewTransaction
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import create_instance
from accounting_analytics.service.stored_values import RECATEGORIZE_TRANSACTION

CATEGORIES = ["food", "rent", "tax", "travel", "fun"]
CLIENTS, OF_A_CLIENT, FILE = 4, 5, 10
POSTER = """
import datetime as dt
import itertools
import sys
from pathlib import Path
from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.post_entries import post_entries
from accounting_analytics.service.database import Store

database, instance, name = sys.argv[1:]
with Store.open(database) as store:
    for number in itertools.count():
        entry, count = f"{name}-{number}", 1
        try:
            if number % 3:
                lines = NewLine("bank", -750), NewLine("food", 250), NewLine("rent", 500)
                moment = dt.datetime(2025, 6, 1, tzinfo=dt.UTC)
                post_entries(store, instance, [NewJournalEntry(moment, "posted", lines, id=f"{entry}.0")])
            else:
                count, rows = 10, ["entry_id,datetime,entry_description,ledger,debit_credit,amount"]
                for row in range(count):
                    start = f"{entry}.{row},2025-06-02T12:00:00Z,imported"
                    rows += [f"{start},bank,debit,1.25", f"{start},food,credit,1.25"]
                Path("books.csv").write_text("\\n".join(rows), encoding="utf-8")
                import_books(store, instance, Path("books.csv"), time_zone="UTC")
        except OperationRefusedError:
            continue
        print(entry, count, flush=True)
"""


class Clients:
    """Clients that write over HTTP; they remember what was requested and what was acknowledged."""

    def __init__(self, books):
        self.books, self.numbers = books, itertools.count(1)
        self.requested, self.acknowledged, self.ledgers, self.failures = set(), set(), {}, Counter()
        self.possible = {}
        for transaction in [f"T{number}" for number in range(CLIENTS * OF_A_CLIENT)]:
            books.post("2025-03-01T12:00:00Z", ("bank", -1, NewTransaction(id=transaction)), ("food", 1))
            self.possible[transaction] = {"food"}

    def begin(self, base_url):
        """Write to a service from several threads until it stops; wait for a change and a ledger."""
        before = len(self.acknowledged), len(self.ledgers)
        self.threads = [threading.Thread(target=self.write, args=(base_url, number)) for number in range(CLIENTS)]
        for thread in self.threads:
            thread.start()
        while len(self.acknowledged) == before[0] or len(self.ledgers) == before[1]:
            time.sleep(0.01)

    def write(self, base_url, number):
        rng = random.Random(number)  # noqa: S311 (no secret)
        with httpx.Client(base_url=base_url, timeout=30, headers=self.books.headers) as http:
            try:
                while True:
                    self.create(http)
                    self.recategorize(http, rng, f"T{number * OF_A_CLIENT + rng.randrange(OF_A_CLIENT)}")
            except httpx.TransportError:
                return

    def recategorize(self, http, rng, transaction):
        """Move a transaction to a category that it cannot have, also if the last request got no response."""
        targets = [one for one in CATEGORIES if one not in self.possible[transaction]]
        if not targets:  # it can be in any of them
            return
        target, change = rng.choice(targets), f"change {next(self.numbers)}"
        self.requested.add(change)
        self.possible[transaction] = self.possible[transaction] | {target}
        path = f"/v0/ledgers/bank/transactions/{transaction}/categories"
        body, headers = {"updated_category_ledger_id": target}, {"modified-by": change}
        response = http.put(path, json=body, headers=headers)
        self.failures[response.status_code] += 1
        if response.status_code == 200:
            self.possible[transaction] = {target}
            self.acknowledged.add(change)

    def create(self, http):
        name = f"ledger {next(self.numbers)}"
        body = {"name": name, "editable": True, "financial_account_type": "loan", "sort_code": "2"}
        response = http.post("/v0/ledgers", json=body)
        self.failures[response.status_code] += 1
        if response.status_code == 201:
            self.ledgers[response.json()["id"]] = name


def check(clients, posted):
    """Check that everything acknowledged exists once and completely."""
    books, store = clients.books, clients.books.store
    assert broken_invariants(store) == []
    changes = Counter(row.modified_by for row in books.audit() if row.operation == RECATEGORIZE_TRANSACTION)
    assert set(changes.values()) <= {1}
    assert clients.acknowledged <= set(changes) <= clients.requested
    names = {ledger.id: ledger.name for ledger in store.ledgers(books.instance_id)}
    assert clients.ledgers.items() <= names.items()
    assert set(Counter(name for name in names.values() if name.startswith("ledger ")).values()) <= {1}
    entries = "select e.id, count(*) from journal_entries e join line_entries l on l.journal_entry_pk = e.pk group by 1"
    with store.reading() as connection:
        found = [(one.partition(".")[0], count) for one, count in connection.exec_driver_sql(entries) if "-" in one]
    assert all(count == (3 if int(name.partition("-")[2]) % 3 else 2) for name, count in found)
    counts = Counter(name for name, _ in found)
    assert {name: counts[name] for name in posted} == posted
    assert set(counts.values()) <= {1, FILE}
    for line in books.lines("bank", "2025-03-01", "2025-03-01", limit=1000, expand="opposing_ledger_ids")["records"]:
        (ledger,) = line["opposing_ledger_ids"]
        assert ledger in clients.possible[line["transaction_id"]]
        clients.possible[line["transaction_id"]] = {ledger}


@pytest.mark.long
@pytest.mark.soak
def test_nothing_is_lost_after_50_kills_under_load(start_service, make_own_books, soak_count, tmp_path, fork_server):
    database, rng, posted = tmp_path / "books.db", random.Random(50), {}  # noqa: S311 (no secret)
    with Store.open(database) as store:
        create_instance(store)
    with make_own_books(database, "http://127.0.0.1:1") as books:
        books.bank(id="bank")
        for name in CATEGORIES:
            books.category(name, id=name)
        clients = Clients(books)
        for number in range(soak_count(50, fewer=3)):
            service = start_service(database)
            books.http.base_url = service.base_url
            check(clients, posted)
            poster = fork_server.start(POSTER, database, books.instance_id, f"poster{number}", folder=tmp_path)
            clients.begin(service.base_url)
            time.sleep(rng.uniform(0, 0.5))
            killed = fork_server.kill(poster) if number % 2 else None
            service.kill()
            for thread in clients.threads:
                thread.join()
            printed = (killed or fork_server.kill(poster)).stdout.splitlines(keepends=True)
            whole = (line.split() for line in printed if line.endswith("\n"))
            posted |= {name: int(count) for name, count in whole}
            # 503: the program that posts held the lock of writers for too long, and nothing was changed
            assert set(clients.failures) <= {200, 201, 503}
            assert "Traceback" not in service.stderr()
        books.http.base_url = start_service(database).base_url
        check(clients, posted)
        assert len(posted) > 3
