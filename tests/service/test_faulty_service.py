"""The service with faults: every fault does what its name says, and repeats with its seed."""

import time
from contextlib import contextmanager
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from faulty_service import FAULTS, STATUSES, running_with_faults

from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.post_entries import NewTransaction
from accounting_analytics.service.store import Store

DAYS = {"start_date": "2025-01-01", "end_date": "2025-12-31"}
LINES = 23


@pytest.fixture
def served_with(tmp_path, make_own_books):
    """Return a function that serves books of 23 lines on a bank ledger with faults."""

    @contextmanager
    def serving(faults, seed=1):
        path = tmp_path / "books.db"
        with running_with_faults(path, faults, seed) as service, make_own_books(path, service.base_url) as books:
            books.faults = service.plan
            books.bank(id="bank")
            books.category(id="rent")
            books.category("Food", id="food")
            for number in range(LINES):
                when = f"2025-03-{number % 20 + 1:02d}T12:00:00Z"
                books.post(when, ("bank", -1, NewTransaction(id=f"T{number}")), ("rent", 1))
            yield books

    return serving


def read_pages(books, limit=5, most=200):
    """Return the pages of the bank ledger, following the tokens."""
    pages, token = [], {}
    while token is not None and len(pages) < most:
        pages.append(books.lines("bank", limit=limit, **token))
        following = pages[-1]["next_page_token"]
        token = {"page_token": following} if following else None
    return pages


def ids(pages):
    """Return the ids of all records of pages."""
    return [line["id"] for page in pages for line in page["records"]]


def report(books):
    """Return the response of a report."""
    return books.request("GET", "/v0/reports/cash-flow", params=DAYS)


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_statuses(served_with, status):
    """Every second request gets the status, with retry-after if set, and its operation is not run."""
    with served_with(f"http_{status}:every=2:retry_after=1.5") as books:
        responses = [
            books.request("POST", "/v0/ledgers", json={"name": "x", "editable": True, "financial_account_type": "loan"})
            for _ in range(4)
        ]
        assert [response.status_code for response in responses] == [201, status, 201, status]
        assert responses[1].json()["error_code"] == f"http_{status}"
        assert responses[1].headers["retry-after"] == "1.5"
        assert len([one for one in books.store.ledgers(books.instance_id) if one.name == "x"]) == 2
        assert books.faults.injected == {f"http_{status}": 2}


def test_empty_page_always(served_with):
    """Even if every page is empty at first, paging ends and no line is lost."""
    with served_with("empty_page") as books:
        pages = read_pages(books)
        assert [len(page["records"]) for page in pages] == [0, 5, 0, 5, 0, 5, 0, 5, 0, 3]
        assert len(set(ids(pages))) == LINES


def test_short_page(served_with):
    """Pages are short, or have the number of records that is set; no line is lost."""
    with served_with("short_page:p=0.5") as books:
        pages = read_pages(books)
        assert 2 in {len(page["records"]) for page in pages}
        assert len(ids(pages)) == len(set(ids(pages))) == LINES
    with served_with("short_page:keep=1") as books:
        assert [len(page["records"]) for page in read_pages(books)] == [1] * LINES


def test_duplicate_record(served_with):
    """A page begins with the last record of the one before, with the same content; nothing is missing."""
    with served_with("duplicate_record") as books:
        pages = read_pages(books)
        assert len(set(ids(pages))) == LINES
        assert len(ids(pages)) == LINES + books.faults.injected["duplicate_record"] > LINES
        for before, after in pairwise(pages):
            assert before["records"][-1] == after["records"][0]


def test_repeated_page_token(served_with):
    """The token repeats the same page for ever."""
    with served_with("repeated_page_token:after=2") as books:
        pages = read_pages(books, most=10)
        assert len(pages) == 10
        assert pages[2]["records"] == pages[3]["records"] == pages[9]["records"]
        assert len({page["next_page_token"] for page in pages[2:]}) == 1
    with served_with("repeated_page_token") as books:
        assert len({page["next_page_token"] for page in read_pages(books, most=5)}) == 1


def test_expired_page_token(served_with):
    """Requests with a page token are refused as expired; those without are served."""
    with served_with("expired_page_token:times=1") as books:
        token = books.lines("bank", limit=5)["next_page_token"]
        refused = books.lines("bank", limit=5, page_token=token, status=400)
        assert refused["error_code"] == "page_token_expired"
        assert len(books.lines("bank", limit=5, page_token=token)["records"]) == 5


def test_expired_token(served_with):
    """Each token is valid for three requests; a new one for three more."""
    with served_with("expired_token:after=3") as books:
        assert [report(books).status_code for _ in range(5)] == [200, 200, 200, 401, 401]
        books.token = issue_token(books.store, books.instance_id)
        responses = [report(books) for _ in range(4)]
        assert [response.status_code for response in responses] == [200, 200, 200, 401]
        assert responses[3].headers["www-authenticate"] == 'Bearer realm="accounting-analytics", error="invalid_token"'


def test_late_entry(served_with):
    """While pages are read, balanced entries are posted into the period: later pages have them."""
    with served_with("late_entry:every=2") as books:
        before = set(ids(read_pages(books)))
        assert books.faults.injected["late_entry"] >= 2
        late = [line for page in read_pages(books) for line in page["records"] if line["id"] not in before]
        assert {line["journal_entry_description"] for line in late} <= {f"late entry {n}" for n in range(1, 20)}
        read = books.report()
        assert sum(one["net_cash_flow"] for one in read["cash_flow_ledgers"]) == read["ending_cash_balance"]
        assert read["ending_cash_balance"] == -LINES + sum(
            Decimal(n) / 100 for n in range(1, books.faults.injected["late_entry"] + 1)
        )


@pytest.mark.long
def test_late_entries_do_not_wait(served_with, tmp_path):
    """While another writer is active, a page is served without its late entry."""
    with served_with("late_entry") as books, Store.open(tmp_path / "books.db") as other, other.writing():
        assert len(books.lines("bank")["records"]) == LINES
        assert not books.faults.injected["late_entry"]


def test_lost_answer(served_with):
    """The change is made, and no response comes; reads are not affected."""
    with served_with("lost_answer:times=1") as books:
        with pytest.raises(httpx.TransportError):
            books.recategorize("bank", "T1", "food")
        assert len(books.audit()) == 1
        assert report(books).status_code == 200
        books.recategorize("bank", "T2", "food")


def test_late_write(served_with):
    """The response is 504 and the books are unchanged; the change is made later, once."""
    with served_with("late_write:ms=1000:times=1") as books:
        late = books.recategorize("bank", "T1", "food", status=504)
        assert late["error_code"] == "late_write"
        assert books.audit() == []
        while not books.audit():
            time.sleep(0.01)
        (change,) = books.audit()
        assert change.transaction_id == "T1"
        books.recategorize("bank", "T2", "food")


def test_drop_connection(served_with):
    """The connection is cut before anything is done."""
    with served_with("drop_connection:on=recategorize_transaction:times=1") as books:
        with pytest.raises(httpx.TransportError):
            books.recategorize("bank", "T1", "food")
        assert books.audit() == []
        books.recategorize("bank", "T1", "food")


def test_truncated_body(served_with):
    """Fewer bytes come than content-length says."""
    with served_with("truncated_body:times=1") as books:
        with pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"):
            report(books)
        assert report(books).status_code == 200


def test_garbage_body(served_with):
    """A success with a body that is not text, the same for the same seed."""
    bodies = []
    for _ in range(2):
        with served_with("garbage_body:times=1", seed=7) as books:
            response = report(books)
            assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
            with pytest.raises(UnicodeDecodeError):
                response.content.decode()
            bodies.append(response.content[:50])
            assert report(books).json()
    assert bodies[0] == bodies[1]


def test_html_200(served_with):
    """A sign-in page with 200, as captive portals send."""
    with served_with("html_200") as books:
        response = report(books)
        assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert "<h1>" in response.text


def test_the_same_seed_gives_the_same_faults(served_with):
    """Only the seed and the numbers of the requests decide which of them get a fault."""

    def statuses(seed):
        with served_with("http_503:p=0.3", seed=seed) as books:
            return [report(books).status_code for _ in range(40)]

    first = statuses(1)
    assert first == statuses(1)
    assert first != statuses(2)
    assert 3 < first.count(503) < 25


def test_every_fault_is_tested():
    """No fault is without a test in this file."""
    here = Path(__file__).read_text(encoding="utf-8")
    tested = {name for name in FAULTS if name not in {*STATUSES, "latency"}}
    assert all(f'served_with("{name}' in here for name in tested)
