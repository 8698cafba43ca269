"""The service with faults: pages, late entries and lost changes are as named; `test_fault_runs.py` has the others."""

import datetime as dt
import time
from contextlib import contextmanager

import httpx
import pytest
from faulty_service import running_with_faults

from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTransaction
from accounting_analytics.service.post_entries import post_entries

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
LINES = 13


@pytest.fixture
def served_with(tmp_path, make_own_books):
    """Return a function that serves books of 13 lines on a bank ledger with faults."""

    @contextmanager
    def serving(faults, seed=1):
        path = tmp_path / "books.db"
        with running_with_faults(path, faults, seed) as service, make_own_books(path, service.base_url) as books:
            books.faults = service.plan
            books.bank(id="bank")
            books.category(id="rent")
            books.category("Food", id="food")
            lines = [
                (NewLine("bank", -100, transaction=NewTransaction(id=f"T{n}")), NewLine("rent", 100))
                for n in range(LINES)
            ]
            first = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)
            entries = [NewJournalEntry(first + dt.timedelta(n), "entry", one) for n, one in enumerate(lines)]
            post_entries(books.store, books.instance_id, entries)
            yield books

    return serving


def read_pages(books, limit=5, most=200):
    """Return the ids of the lines of the bank ledger by page, following the tokens."""
    pages, token = [], {}
    while token is not None and len(pages) < most:
        page = books.lines("bank", limit=limit, **token)
        pages.append([line["id"] for line in page["records"]])
        token = {"page_token": page["next_page_token"]} if page["next_page_token"] else None
    return pages


def get_report(books):
    return books.request("GET", "/v0/reports/cash-flow", params=DAYS)


@pytest.mark.parametrize(
    ("fault", "sizes"),
    [
        ("empty_page", [0, 5, 0, 5, 0, 3]),
        ("short_page", [2, 2, 2, 2, 2, 1, 1, 1]),
        ("short_page:keep=1", [1] * LINES),
        ("duplicate_record", [5, 5, 5]),
    ],
)
def test_faulty_pages_lack_no_line(served_with, fault, sizes):
    with served_with(fault) as books:
        pages = read_pages(books)
        assert [len(page) for page in pages] == sizes
        assert len({line for page in pages for line in page}) == LINES


def test_faulty_page_tokens_repeat_or_expire(served_with):
    with served_with("repeated_page_token:after=2") as books:
        pages = read_pages(books, limit=2, most=8)
        assert len(pages) == 8
        assert pages[1] != pages[2] == pages[3] == pages[7]
    with served_with("expired_page_token:times=1") as books:
        token = books.lines("bank", limit=5)["next_page_token"]
        refused = books.lines("bank", limit=5, page_token=token, status=400)
        assert refused["error_code"] == "page_token_expired"
        assert len(books.lines("bank", limit=5, page_token=token)["records"]) == 5


def test_late_entries_are_in_later_pages(served_with):
    with served_with("late_entry:every=2") as books:
        before = {line for page in read_pages(books) for line in page}
        late = {line for page in read_pages(books) for line in page} - before
        read = books.report()
        assert books.faults.injected["late_entry"] >= len(late) > 0
        assert sum(one["net_cash_flow"] for one in read["cash_flow_ledgers"]) == read["ending_cash_balance"]


def test_changes_without_a_response_are_made_once_or_not(served_with):
    with served_with("lost_answer:times=1") as books:
        with pytest.raises(httpx.TransportError):
            books.recategorize("bank", "T1", "food")
        assert len(books.audit()) == 1
        assert get_report(books).status_code == 200
        books.recategorize("bank", "T2", "food")
    with served_with("drop_connection:on=recategorize_transaction:times=1") as books:
        with pytest.raises(httpx.TransportError):
            books.recategorize("bank", "T1", "food")
        assert books.audit() == []
        books.recategorize("bank", "T1", "food")
    with served_with("late_write:ms=300:times=1") as books:
        assert books.recategorize("bank", "T1", "food", status=504)["error_code"] == "late_write"
        assert books.audit() == []
        while not books.audit():
            time.sleep(0.01)
        books.recategorize("bank", "T2", "food")
        assert [change.transaction_id for change in books.audit()] == ["T1", "T2"]


def test_the_same_seed_gives_the_same_faults(served_with):
    def statuses(seed):
        with served_with("http_503:p=0.3", seed=seed) as books:
            return [get_report(books).status_code for _ in range(20)]

    first = statuses(1)
    assert first == statuses(1)
    assert first != statuses(2)
    assert 1 < first.count(503) < 15
