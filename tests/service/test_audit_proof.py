"""The audit log proves itself: who acted, in which order, and that neither its rows nor the books were edited."""

# ruff: noqa: S608 (our own statements)

import hashlib
import shutil
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from accounting_analytics.errors import PostingRefusedError
from accounting_analytics.service.bookkeeping.audit_log import list_changes
from accounting_analytics.service.bookkeeping.ledgers import rename_ledger
from accounting_analytics.service.bookkeeping.post_entries import NewTransaction
from accounting_analytics.service.check import check_books
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.storage import audit_rows
from accounting_analytics.service.storage.store import Store, read_instance
from accounting_analytics.service.web.server import running

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


def edit(store, *statements):
    """Change the tables by SQL, and return what the check finds: its subjects by invariant."""
    with store.writing() as connection:
        for statement in statements:
            assert connection.execute(text(statement)).rowcount
    found = {}
    for finding in check_books(store).findings:
        found.setdefault(finding.invariant, set()).add(finding.subject)
    return found


ROWS_OF = "the audit rows are complete and as they were written"
ENTRIES = "the entries are those that were posted"
LEDGERS = "the ledgers are those that were created, with their last names"
T1 = "DELETE FROM audit WHERE transaction_id = 'T1'"
POSTED_METHOD = "UPDATE transactions SET categorization_method = 'as_posted' WHERE id = 'T1'"
MINUTE = 60_000_000


def test_intact_books_have_no_findings(own):
    """Books that were changed by the service only are as its audit rows say."""
    assert check_books(own.store).findings == []
    rows = own.store.audit("books")
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert len(rows) == 1 + 3 + 6 + 5 + 1 + 2


@pytest.mark.parametrize(
    ("statements", "invariant", "subjects"),
    [
        (["DELETE FROM audit WHERE number = 1"], ROWS_OF, {"audit row 2"}),
        (["DELETE FROM audit WHERE number IN (12, 13)"], ROWS_OF, {"audit row 14"}),
        (["DELETE FROM audit WHERE number >= 17"], ROWS_OF, {"books"}),
        (["DELETE FROM audit"], ROWS_OF, {"books"}),
        (["DELETE FROM audit", "DELETE FROM audit_heads"], ROWS_OF, {"books"}),
        ([T1], ROWS_OF, {"audit row 12", "audit row 14", "audit row 16"}),
        ([T1, POSTED_METHOD], ROWS_OF, {"audit row 12", "audit row 14", "audit row 16"}),
        (["UPDATE audit SET modified_by = 'Eve' WHERE number = 12"], ROWS_OF, {"audit row 12"}),
        (["UPDATE audit SET actor = 'eve' WHERE number = 12"], ROWS_OF, {"audit row 12"}),
        (["UPDATE audit SET modified_by = NULL WHERE number = 12"], ROWS_OF, {"audit row 12"}),
        ([f"UPDATE audit SET at = at + {MINUTE} WHERE number = 18"], ROWS_OF, {"audit row 18"}),
        ([f"UPDATE audit SET at = at - {MINUTE} WHERE number = 18"], ROWS_OF, {"audit row 18"}),
        (["UPDATE audit SET pk = -pk WHERE number IN (12, 13)"], ROWS_OF, None),
        (
            [f"UPDATE audit SET number = {to} WHERE number = {one}" for one, to in ((12, 99), (13, 12), (99, 13))],
            ROWS_OF,
            None,
        ),
        (["UPDATE audit_heads SET number = number + 1"], ROWS_OF, {"books"}),
    ],
)
def test_edited_audit_rows_are_found(store, statements, invariant, subjects):
    """Rows that were deleted, renamed, shifted or put in another order are named, or the row after them."""
    found = edit(store, *statements)
    assert found[invariant] == subjects if subjects else found[invariant]


def day_sums(entry, sign):
    """Return the statement that makes the stored sums agree with an entry that was deleted or doubled."""
    return (
        f"UPDATE cash_days SET low = low {sign} (SELECT low FROM line_entries WHERE journal_entry_pk = "
        f"(SELECT pk FROM journal_entries WHERE id = '{entry}') AND ledger_pk = cash_days.ledger_pk) "
        f"WHERE day = (SELECT datetime / 86400000000 FROM journal_entries WHERE id = '{entry}')"
    )


OF = "(SELECT pk FROM journal_entries WHERE id = '{}')"
TO_FOOD = "UPDATE line_entries SET ledger_pk = (SELECT pk FROM ledgers WHERE id = 'food')"
TO_RENT = TO_FOOD.replace("food", "rent")
LINES_OF_E5 = f"journal_entry_pk = {OF.format('E5')}"


@pytest.mark.parametrize(
    ("statements", "invariant", "subject"),
    [
        (
            [f"{TO_FOOD} WHERE {LINES_OF_E5} AND debit_credit = 'debit'"],
            ENTRIES,
            "E5",
        ),
        (
            [
                f"{TO_RENT} WHERE journal_entry_pk = {OF.format('E1')} AND debit_credit = 'debit'",
                T1,
                POSTED_METHOD,
            ],
            ROWS_OF,
            "audit row 12",
        ),
        ([day_sums("E5", "+"), f"UPDATE line_entries SET low = low * 2 WHERE {LINES_OF_E5}"], ENTRIES, "E5"),
        (
            [
                day_sums("E5", "-"),
                f"DELETE FROM transactions WHERE line_entry_pk IN (SELECT pk FROM line_entries WHERE {LINES_OF_E5})",
                f"DELETE FROM line_entries WHERE {LINES_OF_E5}",
                "DELETE FROM journal_entries WHERE id = 'E5'",
            ],
            ENTRIES,
            "audit row 9 (post_entries)",
        ),
        (
            [
                f"UPDATE line_entries SET datetime = datetime + 1 WHERE {LINES_OF_E5}",
                "UPDATE journal_entries SET datetime = datetime + 1 WHERE id = 'E5'",
            ],
            ENTRIES,
            "E5",
        ),
        (["UPDATE journal_entries SET description = 'other' WHERE id = 'E5'"], ENTRIES, "E5"),
        (["UPDATE transactions SET description = 'other' WHERE id = 'T5'"], ENTRIES, "E5"),
        (["UPDATE transactions SET source_account_id = 'other' WHERE id = 'T5'"], ENTRIES, "E5"),
        (
            [
                f"UPDATE transactions SET id = '{to}' WHERE id = '{one}'"
                for one, to in (("T5", "X"), ("T6", "T5"), ("X", "T6"))
            ],
            ENTRIES,
            "E5",
        ),
        (["UPDATE journal_entries SET digest = digest + 1 WHERE id = 'E5'"], ENTRIES, "audit row 9 (post_entries)"),
        (["UPDATE ledgers SET name = 'Other' WHERE id = 'rent'"], LEDGERS, "rent"),
    ],
)
def test_edited_books_are_found(store, statements, invariant, subject):
    """A category, amount, date, text or name that was changed in the tables, or a deleted entry, is named."""
    found = edit(store, *statements)
    assert subject in found[invariant]


def test_added_rows_are_found(store):
    """An audit row and an entry that the service did not write are found."""
    row = "INSERT INTO audit (instance_pk, at, operation, transaction_id, before, after) SELECT pk, 0, 'x', '', '', ''"
    assert edit(store, f"{row} FROM instances") == {ROWS_OF: {"audit row None"}}
    copied = (
        "INSERT INTO journal_entries (pk, instance_pk, id, datetime, description, digest) "
        "SELECT 999, instance_pk, 'copy', datetime, description, digest FROM journal_entries WHERE id = 'E5'"
    )
    assert "copy" in edit(store, copied)[ENTRIES]


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
    monkeypatch.setattr(audit_rows, "now", lambda: 1)
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


def instructions(store, instance_id):
    """Return how many instructions SQLite runs to read the posted entries of an instance."""
    count = 0

    def add():
        nonlocal count
        count += 1

    with store.reading() as connection:
        driver = connection.connection.driver_connection
        instance = read_instance(connection, instance_id)
        driver.set_progress_handler(add, 1)
        read = sum(map(len, audit_rows.read_posted(connection, instance.pk)))
        driver.set_progress_handler(None, 1)
    return count / read


def test_reading_posted_entries_is_linear(make_own_books, tmp_path, monkeypatch):
    """An entry takes the same work in many batches as in one, and with entries of other instances between."""
    path, unused = tmp_path / "many.db", "http://127.0.0.1"
    with make_own_books(path, unused, id="few") as few, make_own_books(path, unused, id="many") as many:
        for books, entries in ((few, 20), (many, 300), (few, 20)):
            bank, rent = books.bank(), books.category()
            for second in range(entries):
                books.post(f"2025-03-01T12:{second // 60:02}:{second % 60:02}Z", (bank, -1), (rent, 1))
        in_one_batch = instructions(many.store, "many")
        assert instructions(many.store, "few") < 2 * in_one_batch
        monkeypatch.setattr(audit_rows, "_BATCH_ENTRIES", 10)
        assert instructions(many.store, "many") < 2 * in_one_batch
