"""Reports that were made before the books changed, reconciled with local books that have the earlier versions."""

import pytest

import accounting_analytics as aa
from accounting_analytics.books import Books


def sync(books, service):
    """Sync the 36 months."""
    return books.sync(service.client, start_date="2023-01-01", end_date="2025-12-31")


@pytest.mark.parametrize("seed", [500, 501])
def test_an_earlier_version_explains_an_earlier_report(tmp_path, serve, seed):
    """A report from before some changes ties with the version before them, and the explanation names it."""
    with serve(seed) as service:
        books = Books.open(tmp_path / "books")
        sync(books, service)
        days = ("2023-01-01", "2025-12-31")
        reported = aa.load_cash_flow_report(service.client, *days)
        for _ in range(2):
            service.recategorize()
            service.insert()
        sync(books, service)
        service.double_amounts()
        sync(books, service)
    books = Books.open(tmp_path / "books")
    recomputed = aa.recompute_cash_flow(books, books.ledgers(), *days)
    result = aa.reconcile(reported, recomputed, line_entries=books, ledgers=books.ledgers())
    assert not result.ties
    (found,) = result.hypotheses
    assert found.kind == "version"
    assert found.sentence.startswith("The report agrees with version 0 of the local books, of 20")
    assert found.sentence in result.explain()
