"""The audit log: changes by name and id, its filters and its limit."""

import datetime as dt

import pytest

from accounting_analytics.core.errors import PeriodError
from accounting_analytics.service import audit_log
from accounting_analytics.service.audit_log import ChangeFilter, list_changes
from accounting_analytics.service.ledgers import rename_ledger
from accounting_analytics.service.post_entries import NewTransaction
from accounting_analytics.service.values import CHANGES


@pytest.fixture
def changed(make_books, monkeypatch):
    """Return books with two recategorizations (the first of a split) and a new name, on three days."""
    start = dt.datetime(2025, 4, 1, 23, 30, tzinfo=dt.UTC)

    def set_day(day):
        monkeypatch.setattr(audit_log, "now", lambda: start + dt.timedelta(day))

    set_day(-30)
    books = make_books()
    bank, rent, food = books.bank(id="bank"), books.category("Rent", id="rent"), books.category("Food", id="food")
    travel = books.category("Travel", id="travel")
    books.post("2025-03-01T12:00:00Z", (bank, -5, NewTransaction(id="T")), (rent, 3), (food, 2))
    books.post("2025-03-01T12:00:00Z", (bank, -7, NewTransaction(id="U")), (rent, 7))
    set_day(0)
    books.recategorize(bank, "T", travel, headers={"modified-by": "Ada"})
    set_day(1)
    books.recategorize(bank, "U", food)
    set_day(2)
    rename_ledger(books.store, books.instance_id, "food", "Meals", modified_by="Ada")
    return books


def test_changes_by_name_and_id(changed):
    """The newest change comes first; a new name shows as the present name of the ledger, and both in its own row."""
    renamed, second, first, posted, *_ = list_changes(changed.store, changed.instance_id).changes
    assert (first.transaction_id, first.modified_by) == ("T", "Ada")
    assert (first.before_names, first.before_ids) == ("Rent|Meals", "rent|food")
    assert (first.after_names, first.after_ids) == ("Travel", "travel")
    assert first.datetime == dt.datetime(2025, 4, 1, 23, 30, tzinfo=dt.UTC)
    assert (second.modified_by, second.after_names) == (None, "Meals")
    assert (renamed.operation, renamed.transaction_id) == ("rename_ledger", None)
    assert (renamed.before_names, renamed.before_ids) == ("Food", "food")
    assert (renamed.after_names, renamed.after_ids) == ("Meals", "food")
    assert (posted.operation, posted.before_names, posted.after_names) == ("post_entries", "", "1 entries")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"transaction_id": "T"}, ["T"]),
        ({"modified_by": "Ada"}, [None, "T"]),
        ({"start_date": "2025-04-02"}, [None, "U"]),
        ({"end_date": "2025-04-02"}, ["U", "T"]),
        ({"start_date": "2025-04-02", "end_date": "2025-04-02"}, ["U"]),
        ({"start_date": "2025-04-02", "end_date": "2025-04-02", "time_zone": "Europe/Paris"}, ["T"]),
        ({"end_date": "9999-12-31"}, [None, "U", "T"]),
        ({"transaction_id": "T", "modified_by": "Grace"}, []),
    ],
)
def test_filters(changed, filters, found):
    """Changes are chosen by transaction, user and local days, all together."""
    listed = list_changes(changed.store, changed.instance_id, ChangeFilter(**filters))
    assert [change.transaction_id for change in listed.changes if change.operation in CHANGES] == found
    assert listed.total == len(listed.changes)


def test_limit(changed):
    """The limit keeps the newest changes, and the total counts all of them."""
    listed = list_changes(changed.store, changed.instance_id, limit=1)
    assert ([change.operation for change in listed.changes], listed.total) == (["rename_ledger"], 3 + 5 + 2)


def test_only_its_own_instance(changed, make_books):
    """Another instance of the same database has its own log."""
    (created,), total = list_changes(changed.store, make_books().instance_id)
    assert (created.operation, created.after_names, created.number, total) == ("create_ledger", "4 ledgers", 1, 1)


def test_days_in_the_wrong_order_are_refused(changed):
    """A last day before the first one is an error."""
    with pytest.raises(PeriodError, match="before start_date"):
        list_changes(changed.store, changed.instance_id, ChangeFilter(start_date="2025-04-02", end_date="2025-04-01"))
