"""Pages, reports and changes from 64 threads in parallel are consistent with each other."""

import datetime as dt
import itertools
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from broken_invariants import broken_invariants
from sqlalchemy import select

from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTransaction
from accounting_analytics.service import tables
from accounting_analytics.service.database import Store
from accounting_analytics.service.instances import create_instance
from accounting_analytics.service.post_entries import post_entries
from accounting_analytics.service.stored_values import join_sums

THREADS = 64
CATEGORIES = ["food", "rent", "tax", "travel"]
NEW_YEAR = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)


def seeded_random(seed):
    return random.Random(seed)  # noqa: S311 (no secret)


class Traffic:
    """What the threads do, and what is known of the books.

    Every thread has its own transactions, so that it knows the categories after each of its changes; `shared` ones are
    recategorized by all threads. Lines on `bank` and on `steady` never move: each line that exists before a scan must
    be in the scan.
    """

    def __init__(self, books):
        self.books = books
        books.bank(id="bank")
        for name in ("steady", *CATEGORIES):
            books.category(name, id=name)
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.unmoved = {"bank": set(), "steady": set()}
        self.flows = set()
        self.cents = 0
        self.ledgers = list(CATEGORIES)
        self.changed, self.attempted, self.done = set(), {}, Counter()
        self.own = {thread: [] for thread in range(THREADS)}
        self.shared = [self.post(seeded_random(number), ["food"]) for number in range(10)]
        for number in range(60):
            self.post(seeded_random(number), ["steady"])

    def post(self, rng, categories):
        """Post one entry through the store and remember its lines."""
        number = next(self.numbers)
        cents = [rng.randrange(1, 10_000) for _ in categories]
        sign = rng.choice([1, -1])
        moment = NEW_YEAR + dt.timedelta(minutes=rng.randrange(300 * 24 * 60))
        own = NewLine("bank", sign * sum(cents), transaction=NewTransaction(id=f"T{number}"), id=f"L{number}.0")
        parts = enumerate(zip(categories, cents, strict=True), start=1)
        named = (own, *(NewLine(ledger, -sign * part, id=f"L{number}.{place}") for place, (ledger, part) in parts))
        post_entries(
            self.books.store, self.books.instance_id, [NewJournalEntry(moment, "entry", named, id=f"E{number}")]
        )
        with self.lock:
            self.cents += sign * sum(cents)
            self.unmoved["bank"].add(named[0].id)
            self.unmoved["steady"] |= {line.id for line in named if line.ledger_id == "steady"}
            self.flows |= {line.id for line in named[1:]}
        return f"T{number}"

    def known(self, lines):
        with self.lock:
            return set(lines)

    def post_steady(self, rng, _):
        self.post(rng, ["steady"])

    def post_own(self, rng, thread):
        categories = rng.choice([["food"], ["rent", "tax"], ["rent", "rent", "travel"]])
        self.own[thread].append([self.post(rng, categories), categories])

    def create_ledger(self, rng, _):
        ledger = self.books.create(
            name="made", editable=True, type="expense", sub_type="other_expenses", debit_credit="debit",
            report_cash_flow=False, sort_code=f"{rng.randrange(1000)}", parent_id=rng.choice([None, *CATEGORIES]),
        )["id"]  # fmt: skip
        with self.lock:
            self.ledgers.append(ledger)

    def recategorize_own(self, rng, thread):
        if not self.own[thread]:
            self.post_own(rng, thread)
        owned = rng.choice(self.own[thread])
        transaction, categories = owned
        target, category = rng.choice(self.ledgers), rng.choice([None, *categories])
        change = f"change {next(self.numbers)}"
        response = self.books.recategorize("bank", transaction, target, category, headers={"modified-by": change})
        owned[1] = [target if category in (None, ledger) else ledger for ledger in categories]
        assert [one["ledger_id"] for one in response["categories"]] == list(dict.fromkeys(owned[1]))
        if owned[1] != categories:
            with self.lock:
                self.changed.add(change)

    def recategorize_shared(self, rng, _):
        transaction, target = rng.choice(self.shared), rng.choice(self.ledgers)
        change = f"change {next(self.numbers)}"
        response = self.books.recategorize("bank", transaction, target, headers={"modified-by": change})
        assert [one["ledger_id"] for one in response["categories"]] == [target]
        with self.lock:
            self.attempted[change] = (transaction, target)

    def pages(self, rng, ledger):
        """Pages of a ledger from first to last, and the token of the page before the last."""
        params = {"limit": rng.randrange(20, 90), "expand": rng.choice(["ledger", "transaction,journal_entry"])}
        found, token = [], {}
        while token is not None:
            page = self.books.lines(ledger, **params, **token)
            found.append([line["id"] for line in page["records"]])
            token = {"page_token": page["next_page_token"]} if page["next_page_token"] else None
        return found, page["prev_page_token"], params

    def scan(self, rng, _):
        """Go to the last page of a ledger, and back to the first."""
        ledger = rng.choice(["bank", "steady", *CATEGORIES])
        known = self.known(self.unmoved.get(ledger, ()))
        pages, token, params = self.pages(rng, ledger)
        backward = [pages[-1]]
        while token:
            page = self.books.lines(ledger, **params, page_token=token)
            backward.append([line["id"] for line in page["records"]])
            token = page["prev_page_token"]
        for found in (list(itertools.chain(*pages)), list(itertools.chain(*backward))):
            assert len(set(found)) == len(found)
            assert known - set(found) == set()

    def report(self, _, __):
        known = self.known(self.flows)
        report = self.books.report()
        lines = [line for ledger in report["cash_flow_ledgers"] for line in ledger["lines"]]
        net = sum(ledger["net_cash_flow"] for ledger in report["cash_flow_ledgers"])
        assert net == sum(line["amount"] for line in lines)
        assert net == report["ending_cash_balance"] - report["starting_cash_balance"]
        assert report["ending_cash_balance"] == sum(ledger["cash_balance"] for ledger in report["ending_balances"])
        ids = [line["line_id"] for line in lines]
        assert len(set(ids)) == len(ids)
        assert known - set(ids) == set()

    def trial_balance_is_zero(self):
        """Check in the database that all debits equal all credits."""
        with self.books.store.reading() as connection:
            high, low = connection.execute(select(*tables.SUM_OF_UNITS)).one()
        assert join_sums(high, low) == 0

    def work(self, thread, steps, seed):
        """Do random operations while steps are left; after every change, check the trial balance."""
        rng = seeded_random(seed * THREADS + thread)
        changes = [self.recategorize_own] * 6 + [self.recategorize_shared] * 2 + [self.create_ledger]
        changes += [self.post_steady, self.post_own]
        reads = [self.scan, self.scan, self.report, self.report]
        for _ in steps:
            operation = rng.choice(changes + reads)
            operation(rng, thread)
            if operation in changes:
                self.trial_balance_is_zero()
            with self.lock:
                self.done[operation.__name__] += 1

    def check_audit(self):
        """Check at the end that every change has one audit row, and that there are no others."""
        assert broken_invariants(self.books.store) == []
        rows = self.books.audit()
        named = Counter(row.modified_by for row in rows)
        assert set(named.values()) <= {1}
        assert self.changed <= set(named)
        assert set(named) - self.changed <= set(self.attempted)
        became = {(row.transaction_id, ledger) for row in rows for ledger in row.after.values()}
        # an response without a row is one to a request for what was so already
        for change, (transaction, target) in self.attempted.items():
            assert change in named or (transaction, target) in became or target == "food"
        assert self.books.report()["ending_cash_balance"] == Decimal(self.cents) / 100


@pytest.mark.soak
def test_parallel_operations(database, start_service, make_own_books, soak_count):
    with Store.open(database) as store:
        create_instance(store)
    service = start_service(database)
    total, seed = soak_count(10_000, fewer=100), 1
    with make_own_books(database, service.base_url) as books:
        traffic = Traffic(books)
        steps = iter(range(total))
        with ThreadPoolExecutor(THREADS) as pool:
            for future in [pool.submit(traffic.work, thread, steps, seed) for thread in range(THREADS)]:
                future.result()
        traffic.check_audit()
    assert traffic.done.total() == total
    assert len(traffic.done) == 7 or total < 100
    service.kill()
    assert service.stderr() == ""
