"""Bridges between two versions of local books."""

import datetime as dt

import accounting_analytics as aa
from accounting_analytics.books import Books


def sync(books, service):
    """Sync the twelve months."""
    return books.sync(service.client, start_date=service.first, end_date="2025-12-31")


def test_versions_of_books_are_bridged_by_entry(tmp_path, serve):
    """What was edited between two syncs is named by entry, and the steps sum to the change of the cash flow."""
    with serve(401, dt.date(2025, 1, 1)) as service:
        books = Books.open(tmp_path / "books")
        sync(books, service)
        before = books.line_entries()
        service.recategorize()
        service.insert()
        service.delete()
        sync(books, service)
        bridge = aa.bridge(books.as_of(0), books, largest=100)
        after = service.load(books.ledgers())
    old, new = set(before["journal_entry_id"]), set(after["journal_entry_id"])
    found = {step.entry_id: step.cause.name for step in bridge.steps}
    assert {entry for entry, cause in found.items() if cause == "added later"} == new - old
    assert {entry for entry, cause in found.items() if cause == "deleted"} == old - new
    (moved,) = {entry for entry, cause in found.items() if cause == "recategorized"}
    assert sum(step.units for step in bridge.steps if step.entry_id == moved) == 0
    assert set(found.values()) == {"added later", "deleted", "recategorized"}
    assert sum(bridge[step.key].exact() for step in bridge.steps) == bridge["change"].exact()
    books_drift = books.drift(0)
    assert set(books_drift.lines["journal_entry_id"]) >= set(found)
