"""Books whose first day moves back, and ledgers that appear between two syncs."""

import datetime as dt
import json

import httpx
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import ServiceError


def test_books_that_are_extended_reach_back(tmp_path, serve):
    """Extended to before the first line, books know that they have every line, so that sums are balances."""
    with serve(7, dt.date(2025, 10, 1)) as service:
        books = aa.Books.open(tmp_path / "books")
        books.sync(service.client, start_date="2025-12-01", end_date="2025-12-31")
        assert books.books_start is None
        assert books.sync(service.client, start_date="2025-10-01", end_date="2025-12-31").ties
        assert books.books_start == dt.date(2025, 10, 1)
        fresh = service.load(books.ledgers())
        held = books.line_entries()
        pd.testing.assert_frame_equal(held[held["local_date"] <= "2025-12-31"], fresh)


def test_a_new_name_changes_no_line(tmp_path, serve):
    """A ledger that is renamed changes the chart of accounts, not the lines: no drift, no alarm of closed days."""
    with serve(9) as service:
        books = aa.Books.open(tmp_path / "books")
        books.sync(service.client, start_date="2025-12-01", end_date="2025-12-31")
        books.close(books.period)
        service.rename_ledger()
        result = books.sync(service.client, months_a_night=12, end_date="2025-12-31")
        assert result.changes.frame.empty
        assert result.alarms == ()


def post_in_november(service, id_, day, debit, credit):
    """Post an entry of November 2025."""
    service.post((dt.datetime(2025, 11, day, 17, tzinfo=dt.UTC), {debit: 5, credit: -5}, id_, id_))


def sync_since_december(books, service):
    """Delete all lines before December 2025, and sync the rest."""
    service.execute("DELETE FROM transactions")
    service.execute("DELETE FROM line_entry_tags")
    early = "(SELECT pk FROM line_entries WHERE datetime < 1764568800000000)"  # before December 2025
    service.execute(f"DELETE FROM line_entries WHERE pk IN {early}")  # noqa: S608
    service.execute("DELETE FROM journal_entries WHERE datetime < 1764568800000000")
    assert books.sync(service.client, start_date="2025-12-01", end_date="2025-12-31").ties
    assert books.books_start == dt.date(2025, 12, 1)


@pytest.mark.parametrize("touches_cash", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_sync_looks_before_the_first_day(tmp_path, serve, touches_cash):
    """The line of each ledger that is read again is its first one: if that is too early, no sum is a balance."""
    with serve(11) as service:
        books = aa.Books.open(tmp_path / "books")
        sync_since_december(books, service)
        assert books.sync(service.client, end_date="2025-12-31").notes == ()
        debit = service.cash[0] if touches_cash else service.receivable
        post_in_november(service, "late", 10, debit, service.categories[0])
        post_in_november(service, "later", 12, debit, service.categories[0])
        result = books.sync(service.client, end_date="2025-12-31")
        assert result.ties
        (note,) = result.notes
        assert note == (
            "There are lines before 2025-12-01 now, the first on 2025-11-10: balances of the books begin with those "
            "that the service reports for 2025-12-01. Sync with start_date=2025-11-01 to read them."
        )
        assert note in result.explain()
        assert books.books_start is None
        assert "books_start" not in books.line_entries().attrs["load"]
        december = aa.load_cash_flow_report(service.client, "2025-12-01", "2025-12-31")
        assert aa.reconcile(december, books.report(december.period)).ties
        assert books.sync(service.client, end_date="2025-12-31").notes == ()
        assert books.sync(service.client, start_date="2025-11-01", end_date="2025-12-31").ties
        assert books.books_start == dt.date(2025, 11, 1)
        assert len(books.line_entries(aa.Period("2025-11-01", "2025-11-30", books.time_zone))) == 4


class Interrupted(httpx.HTTPTransport):
    """Counts the requests, and refuses one of them for good."""

    count = refused = 0

    def handle_request(self, request):
        """Send a request."""
        self.count += 1
        return httpx.Response(501, json={}) if self.count == self.refused else super().handle_request(request)


def test_an_interrupted_first_sync_continues(books, tmp_path):
    """What was loaded before the failure is not requested again; nothing of it is left afterwards."""
    categories = [f"category-{number}" for number in range(20)]
    entries = [("2025-03-10", {"bank": -1, one: 1}) for one in categories]
    ledgers = {"bank": "bank_account"} | dict.fromkeys(categories, "expense operating_expenses debit")
    days = {"start_date": "2025-03-01", "end_date": "2025-03-31", "progress": False}
    transport = Interrupted()
    client = books(entries, ledgers, transport=transport)
    needed = aa.Books.open(tmp_path / "whole").sync(client, **days).requests
    transport.count, transport.refused = 0, needed - 1
    local = aa.Books.open(tmp_path / "books")
    with pytest.raises(ServiceError):
        local.sync(client, **days)
    assert local.version is None
    result = local.sync(client, **days)
    assert result.ties
    assert result.requests < needed - 10
    assert sorted(path.name for path in local.folder.iterdir()) == ["books.lock", "ledgers", "lines"]


class EmptyFirstPage(httpx.HTTPTransport):
    """Leaves the first page of the days before the books empty, as a service may that has further pages."""

    def handle_request(self, request):
        """Send a request."""
        response = super().handle_request(request)
        asked = request.url.params
        if asked.get("start_date") != "0001-01-01" or asked.get("limit") != "1" or "page_token" in asked:
            return response
        return httpx.Response(response.status_code, json=json.loads(response.read()) | {"records": []})


def test_lines_on_a_later_page_are_lines_before_the_first_day(books, tmp_path):
    """Extended books do not claim to reach back where the first page of earlier days is empty, but not the last."""
    days = ("2025-01-10", "2025-01-11", "2025-02-10", "2025-03-10")
    entries = [(day, {"bank": -1, "rent": 1}) for day in days]
    ledgers = {"bank": "bank_account", "rent": "expense operating_expenses debit"}
    local = aa.Books.open(tmp_path / "books")
    client = books(entries, ledgers, transport=EmptyFirstPage())
    local.sync(client, start_date="2025-03-01", end_date="2025-03-31", progress=False)
    assert local.sync(client, start_date="2025-02-01", end_date="2025-03-31", progress=False).ties
    assert local.books_start is None
