"""After edits anywhere in the books a sync has the lines of the service again, and names what changed."""

import datetime as dt
import json

import pandas as pd
import pytest

import accounting_analytics as aa

QUARTER = aa.Period("2025-10-01", "2025-12-31", "America/New_York")


def assert_same_lines(books, service):
    """Assert that the books have exactly the lines that a load from the service has now."""
    fresh = service.load(books.ledgers())
    pd.testing.assert_frame_equal(books.line_entries(), fresh)
    return fresh


def assert_same_report(report, other):
    """Assert that two reports have the same figures."""
    for name in ("ledgers", "starting_balances", "ending_balances"):
        pd.testing.assert_frame_equal(getattr(report, name), getattr(other, name), check_like=True)
    assert report.exact_sums() == other.exact_sums()


def changed_ids(before, after):
    """Return the ids of lines that only one frame has or that differ in it, without what follows from other lines."""
    following = ["ledger_name", "opposing_ledger_ids", "journal_entry_line_entry_ids"]
    rows = [
        {row["id"]: str(row) for row in frame.drop(columns=following).astype(object).to_dict("records")}
        for frame in (before, after)
    ]
    return {one for one in rows[0].keys() | rows[1].keys() if rows[0].get(one) != rows[1].get(one)}


def sync(books, service, **options):
    """Sync all months."""
    return books.sync(service.client, start_date=service.first, end_date="2025-12-31", **options)


@pytest.fixture
def first(soak_count):
    """Return the first day of the books: three months here, 36 in `make soak`."""
    return QUARTER.start_date if soak_count(10) == 1 else dt.date(2023, 1, 1)


@pytest.mark.soak
def test_edits_are_found(tmp_path, serve, first, soak_count):
    """What a report shows is found by the next sync, without any rota; the old report stays, and drift names lines."""
    for seed in range(soak_count(50, 1)):
        with serve(seed, first) as service:
            books = aa.Books.open(tmp_path / f"books-{seed}")
            assert sync(books, service).ties
            before = assert_same_lines(books, service)
            reported = aa.load_cash_flow_report(service.client, QUARTER.start_date, QUARTER.end_date)
            shown = service.shown_edits()
            for edit in service.random.choices(shown, k=service.random.randint(1, 6)) if seed else shown:
                edit()
            result = sync(books, service, months_a_night=0)
            assert (result.ties, result.complete) == (True, True), (seed, result.explain())
            after = assert_same_lines(books, service)
            assert set(result.changes.lines["id"]) == changed_ids(before, after), seed
            assert_same_report(books.as_of(0).report(QUARTER), reported)
            now = aa.load_cash_flow_report(service.client, QUARTER.start_date, QUARTER.end_date)
            assert_same_report(books.report(QUARTER), now)
            types = books.ledgers().set_index("id")["type"]
            of_credit = set(types.index[types.isin(["liability", "equity", "revenue"])])
            changes = [(one.key.split("|")[1] in of_credit, one.exact()) for one in result.changes.figures]
            assert sum(-amount if is_credit else amount for is_credit, amount in changes) == 0


@pytest.mark.long
@pytest.mark.soak
def test_the_rota_finds_the_rest(tmp_path, serve, first, soak_count):
    """Texts and entries without cash are found when their month is read again, at the latest after all months."""
    for seed in range(100, 100 + soak_count(50, 1)):
        with serve(seed, first) as service:
            books = aa.Books.open(tmp_path / f"books-{seed}")
            sync(books, service)
            for edit in service.random.sample(service.hidden_edits(), 3):
                edit()
            found = [sync(books, service, months_a_night=12).changes for _ in range(3)]
            assert_same_lines(books, service)
            assert any(len(changes.frame) for changes in found)


@pytest.mark.long
def test_requests_of_a_sync_without_changes(tmp_path, serve, first, monkeypatch):
    """One report a month; the rota takes a line, a page of entries without cash, and a page a month of each ledger."""
    with serve(300, first) as service:
        books = aa.Books.open(tmp_path / "books")
        sync(books, service)
        sent, call = [], aa.LedgerClient._call

        def count(client, subject, *arguments, **options):
            sent.append(subject)
            return call(client, subject, *arguments, **options)

        monkeypatch.setattr(aa.LedgerClient, "_call", count)
        ledgers, months = len(books.ledgers()), 12 * (2026 - first.year) - first.month + 1
        result = sync(books, service, months_a_night=0)
        assert result.requests == len(sent) <= months + 5
        assert result.summary().endswith(f" {len(sent)} requests.")
        assert json.loads(result.to_json())["requests"] == len(sent)
        rota = sync(books, service, months_a_night=2).requests
        assert months + 3 * ledgers < rota <= months + 5 + ledgers + 2 * ledgers + (ledgers - len(service.cash))
