"""The audit log: who acted, in which order, and that its rows are only added."""

import datetime as dt
import hashlib
import shutil
from contextlib import contextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.service import audit_log
from accounting_analytics.service.audit_log import list_changes
from accounting_analytics.service.check import check_books
from accounting_analytics.service.imports import import_books
from accounting_analytics.service.instances import create_instance
from accounting_analytics.service.ledgers import rename_ledger
from accounting_analytics.service.post_entries import NewTransaction
from accounting_analytics.service.server import running
from accounting_analytics.service.store import Store

ROWS = """entry_id,datetime,entry_description,ledger,debit_credit,amount
I1,2025-03-07T12:00:00Z,imported,expenses:food,debit,2
I1,2025-03-07T12:00:00Z,imported,assets:bank,credit,2
"""


@contextmanager
def changed_books(database, make_own_books, folder):
    """Give books with seven entries, three changed transactions and a new name."""
    with running(database) as service, make_own_books(database, service.base_url, id="books") as books:
        bank, rent, food = books.bank(id="bank"), books.category("Rent", id="rent"), books.category("Food", id="food")
        for day in range(1, 7):
            lines = (bank, -day, NewTransaction(id=f"T{day}")), (rent, day)
            books.post(f"2025-03-0{day}T12:00:00Z", *lines, entry_id=f"E{day}")
        for transaction, target in (("T1", food), ("T2", food), ("T1", rent), ("T3", food), ("T1", food)):
            books.recategorize(bank, transaction, target, headers={"modified-by": "Ada"})
        rename_ledger(books.store, "books", "food", "Meals", modified_by="Grace")
        path = folder / "more.csv"
        path.write_text(ROWS)
        import_books(books.store, "books", path, cash=["assets:bank"])
        yield books


@pytest.fixture
def own(database, make_own_books, tmp_path):
    """Return changed books in a database of their own, and served."""
    with changed_books(database, make_own_books, tmp_path) as books:
        yield books


@pytest.fixture(scope="module")
def changed_file(tmp_path_factory, make_own_books):
    """Return the file of changed books."""
    folder = tmp_path_factory.mktemp("changed")
    with changed_books(folder / "books.db", make_own_books, folder):
        pass
    return folder / "books.db"


@pytest.fixture
def store(changed_file, tmp_path):
    """Return the store of a copy of the changed books."""
    with Store.open(shutil.copyfile(changed_file, tmp_path / "copy.db")) as store:
        yield store


CHANGED = "the audit rows are as they were written"
CHANGES_OF_A_ROW = [
    "UPDATE audit SET modified_by = 'Eve' WHERE number = 12",
    "DELETE FROM audit WHERE number = 12",
    "DELETE FROM audit",
]


def test_intact_books_have_no_findings(own):
    """Books that were changed by the service only are as its audit rows say."""
    assert check_books(own.store).findings == []
    rows = own.store.audit("books")
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) == 1 + 3 + 6 + 5 + 1 + 2


@pytest.mark.parametrize("statement", CHANGES_OF_A_ROW)
def test_rows_can_only_be_added(own, statement):
    """Both databases refuse to change or delete an audit row, and nothing of the statement is kept."""
    before = own.store.audit("books")
    with pytest.raises(IntegrityError, match="can only be added"), own.store.writing() as connection:
        connection.exec_driver_sql(statement)
    assert own.store.audit("books") == before


@pytest.mark.postgresql
def test_all_rows_cannot_be_removed_at_once(postgresql):
    """PostgreSQL refuses TRUNCATE too."""
    with Store.open(postgresql.new()) as store:
        create_instance(store)
        with pytest.raises(IntegrityError, match="can only be added"), store.writing() as connection:
            connection.exec_driver_sql("TRUNCATE audit")


def edit(store, *statements):
    """Change the tables by SQL, past the triggers, and return what the check finds: its subjects by invariant."""
    with store.writing() as connection:
        for trigger in ("audit_refuses_update", "audit_refuses_delete"):
            connection.exec_driver_sql(f"DROP TRIGGER {trigger}")
        for statement in statements:
            assert connection.execute(text(statement)).rowcount
    found = {}
    for finding in check_books(store).findings:
        found.setdefault(finding.invariant, set()).add(finding.subject)
    return found


@pytest.mark.parametrize(
    ("statement", "subjects"),
    [
        ("DELETE FROM audit WHERE number = 1", {"audit row 2"}),
        ("DELETE FROM audit WHERE number IN (12, 13)", {"audit row 14"}),
        ("UPDATE audit SET modified_by = 'Eve' WHERE number = 12", {"audit row 12"}),
        ("UPDATE audit SET actor = 'eve' WHERE number = 12", {"audit row 12"}),
        ("UPDATE audit SET modified_by = NULL WHERE number = 12", {"audit row 12"}),
        ("UPDATE audit SET at = at - 1 WHERE number = 18", {"audit row 18"}),
        ("UPDATE audit SET number = 99 WHERE number = 18", {"audit row 99"}),
        ("UPDATE audit SET digest = X'00' WHERE number = 12", {"audit row 12", "audit row 13"}),
    ],
)
def test_rows_that_were_changed_past_the_triggers_are_named(store, statement, subjects):
    """A row that was changed, numbered anew or removed is named, or the row after it."""
    assert edit(store, statement)[CHANGED] == subjects


def test_a_category_that_was_changed_in_the_tables_is_named(store):
    """A line that is not where its last audit row moved it is found."""
    moved = (
        "UPDATE line_entries SET ledger_pk = (SELECT pk FROM ledgers WHERE id = 'rent') WHERE debit_credit = 'debit' "
        "AND journal_entry_pk = (SELECT pk FROM journal_entries WHERE id = 'E1')"
    )
    assert len(edit(store, moved)["every change has an audit row"]) == 1


def test_rows_name_who_acted(own):
    """A row has the key of the access token beside the client's text; commands have none; lists show both."""
    key = own.token.partition(".")[0]
    own.create(name="Tax", editable=True, financial_account_type="loan")
    changes = list_changes(own.store, "books").changes
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


def test_time_never_goes_back(own, monkeypatch):
    """If the clock of the machine was set back, a row has the time of the row above."""
    before = own.store.audit("books")[-1].at
    monkeypatch.setattr(audit_log, "now", lambda: dt.datetime(1970, 1, 1, tzinfo=dt.UTC))
    rename_ledger(own.store, "books", "rent", "Flat")
    assert own.store.audit("books")[-1].at == before
    assert check_books(own.store).findings == []


def test_a_refused_change_leaves_no_number_out(own):
    """A change that is rolled back leaves no gap in the numbers."""
    own.recategorize("bank", "T1", "bank", status=422)
    lines = ("bank", -1), ("rent", 1)
    with pytest.raises(PostingRefusedError):
        own.post("2025-03-01T12:00:00Z", *lines, entry_id="E1")
    own.recategorize("bank", "T2", "rent")
    assert check_books(own.store).findings == []
