"""The audit log: changes by name and id, who made them and when, and that its rows are only added."""

import datetime as dt
import hashlib
from contextlib import contextmanager

import pytest
from broken_invariants import broken_invariants
from sqlalchemy.exc import IntegrityError

from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.journals.entries import NewTransaction
from accounting_analytics.service import audit_log
from accounting_analytics.service.audit_log import list_changes
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.ledgers import rename_ledger
from accounting_analytics.service.server import running


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
    (renamed, second, first, posted, *_), _ = list_changes(changed.store, changed.instance_id)
    assert (first.transaction_id, first.modified_by) == ("T", "Ada")
    assert (first.before_names, first.before_ids) == ("Rent|Meals", "rent|food")
    assert (first.after_names, first.after_ids) == ("Travel", "travel")
    assert first.datetime == dt.datetime(2025, 4, 1, 23, 30, tzinfo=dt.UTC)
    assert (second.modified_by, second.after_names) == (None, "Meals")
    assert (renamed.operation, renamed.transaction_id) == ("rename_ledger", None)
    assert (renamed.before_names, renamed.before_ids) == ("Food", "food")
    assert (renamed.after_names, renamed.after_ids) == ("Meals", "food")
    assert (posted.operation, posted.before_names, posted.after_names) == ("post_entries", "", "1 entries")


def test_limit_keeps_the_newest_and_total_counts_all(changed, make_books):
    changes, total = list_changes(changed.store, changed.instance_id, limit=1)
    assert ([change.operation for change in changes], total) == (["rename_ledger"], 3 + 5 + 2)
    (created,), total = list_changes(changed.store, make_books().instance_id)
    assert (created.operation, created.after_names, total) == ("create_ledger", "4 ledgers", 1)


ROWS = """entry_id,datetime,entry_description,ledger,debit_credit,amount
I1,2025-03-07T12:00:00Z,imported,expenses:food,debit,2
I1,2025-03-07T12:00:00Z,imported,assets:bank,credit,2
"""


@contextmanager
def changed_books(database, make_own_books, folder):
    """Give books with two entries, three changes of transactions, a new name, and an import."""
    with running(database) as service, make_own_books(database, service.base_url, id="books") as books:
        bank, rent, food = books.bank(id="bank"), books.category("Rent", id="rent"), books.category("Food", id="food")
        for day in (1, 2):
            lines = (bank, -day, NewTransaction(id=f"T{day}")), (rent, day)
            books.post(f"2025-03-0{day}T12:00:00Z", *lines, entry_id=f"E{day}")
        for transaction, target in (("T1", food), ("T2", food), ("T1", rent)):
            books.recategorize(bank, transaction, target, headers={"modified-by": "Ada"})
        rename_ledger(books.store, "books", "food", "Meals", modified_by="Grace")
        path = folder / "more.csv"
        path.write_text(ROWS)
        import_books(books.store, "books", path, cash=["assets:bank"], time_zone="UTC")
        yield books


@pytest.fixture
def own(database, make_own_books, tmp_path):
    """Return changed books in a database of their own, and served."""
    with changed_books(database, make_own_books, tmp_path) as books:
        yield books


def test_rows_can_only_be_added(own):
    assert broken_invariants(own.store) == []
    rows = own.audit_rows()
    assert len(rows) == 1 + 3 + 2 + 3 + 1 + 2
    statements = ["UPDATE audit SET modified_by = 'Eve'", "DELETE FROM audit"]
    for statement in [*statements, *(["TRUNCATE audit"] if own.store.path is None else [])]:
        with pytest.raises(IntegrityError, match="can only be added"), own.store.writing() as connection:
            connection.exec_driver_sql(statement)
    assert own.audit_rows() == rows
    own.recategorize("bank", "T1", "bank", status=422)
    with pytest.raises(PostingRefusedError):
        own.post("2025-03-01T12:00:00Z", ("bank", -1), ("rent", 1), entry_id="E1")
    assert own.audit_rows() == rows


def test_rows_name_who_acted(own):
    key = own.token.partition(".")[0]
    own.create(name="Tax", editable=True, financial_account_type="loan")
    changes, _ = list_changes(own.store, "books")
    assert [(one.operation, one.actor, one.modified_by) for one in changes[:5]] == [
        ("create_ledger", key, None),
        ("import_books", "local", None),
        ("create_ledger", "local", None),
        ("rename_ledger", "local", "Grace"),
        ("recategorize_transaction", key, "Ada"),
    ]
    assert changes[0].after_names == "Tax"
    sha256 = hashlib.sha256(ROWS.encode()).hexdigest()
    assert (changes[1].after_names, changes[1].after_ids) == ("more.csv|1 entries", sha256)
