"""A second import of the same or overlapping books: what is new, what changed, and what the file lacks."""

import pytest

from accounting_analytics.service.bookkeeping.instances import create_instance
from accounting_analytics.service.bookkeeping.ledgers import rename_ledger
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.operations.recategorize_transaction import recategorize_transaction
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.wire.requests import RecategorizeTransactionBody

HEADER = "entry_id,datetime,entry_description,ledger,debit_credit,amount\n"
POSTINGS = "txnidx,date,status,description,comment,account,amount,commodity,posting-status,posting-comment\n"


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a file with the given text into one instance."""
    with Store.open(tmp_path / "books.db") as store:
        instance = create_instance(store)

        def imported(text, **options):
            (tmp_path / "books.csv").write_text(text, encoding="utf-8")
            return import_books(store, instance, tmp_path / "books.csv", **options)

        imported.store, imported.instance = store, instance
        yield imported


def entry(name, day, text, amount, *, category="expenses:food"):
    """Return two rows of a line table."""
    return f"{name},{day},{text},{category},debit,{amount}\n{name},{day},{text},assets:bank,credit,{amount}\n"


def posting(number, day, text, amount):
    """Return two rows of hledger's CSV."""
    return "".join(
        f"{number},{day},,{text},,{account},{sign}{amount},$,,\n"
        for account, sign in (("expenses:food", ""), ("assets:bank", "-"))
    )


def entries(imported):
    """Count the entries in the books."""
    with imported.store.reading() as connection:
        return connection.exec_driver_sql("select count(*) from journal_entries").scalar_one()


def test_entries_with_ids_that_changed_are_named(imported):
    """Day, text, amount and account that differ are named with both values, and the books keep what they have."""
    names = [("a", "2025-01-02", "Rent", "10.00"), ("b", "2025-01-03", "Tea", "3.00"), ("c", "2025-01-04", "Ink", "4")]
    imported(HEADER + "".join(entry(*one) for one in names))
    changed = HEADER + entry("a", "2025-01-02", "Rent", "11.00") + entry("b", "2025-01-05", "Green tea", "3.00")
    summary = imported(changed + entry("c", "2025-01-04", "Ink", "4", category="expenses:office"))
    assert (summary.entries, summary.known, summary.ledgers, summary.missing) == (0, 3, 0, ())
    rent, tea, ink = summary.changed
    assert rent == (
        "line 2: 2025-01-02 'Rent': the file has 11.00 on expenses:food and -11.00 on assets:bank "
        "instead of 10.00 on expenses:food and -10.00 on assets:bank"
    )
    assert tea == "line 4: 2025-01-03 'Tea': the file has 2025-01-05, the file has the text 'Green tea'"
    assert ink.endswith("the file has 4.00 on expenses:office instead of 4.00 on expenses:food")
    assert entries(imported) == 3


def test_without_ids_a_change_is_one_missing_and_one_new(imported):
    """Hledger's entries have no ids: a corrected amount is a new entry, and the former one is missing in the file."""
    first = POSTINGS + posting(1, "2025-01-02", "Tea", 3) + posting(2, "2025-01-09", "Ink", 4)
    imported(first)
    summary = imported(first.replace(",3,$", ",5,$").replace(",-3,$", ",-5,$"))
    assert (summary.entries, summary.known, summary.changed) == (1, 1, ())
    assert summary.missing == ("2025-01-02 'Tea'",)


def test_equal_entries_are_counted(imported):
    """Two equal coffees of a day are two entries, and a third in the next file is one new entry."""
    imported(POSTINGS + posting(1, "2025-01-02", "Coffee", 3) + posting(2, "2025-01-02", "Coffee", 3))
    three = POSTINGS + "".join(posting(number, "2025-01-02", "Coffee", 3) for number in range(3))
    assert (imported(three).entries, imported(three).entries) == (1, 0)
    summary = imported(POSTINGS + posting(1, "2025-01-02", "Coffee", 3))
    assert (summary.entries, summary.missing) == (0, ("2025-01-02 'Coffee'", "2025-01-02 'Coffee'"))


def test_only_the_days_of_the_file_can_be_missing(imported):
    """A file of the next month that overlaps by a week lacks nothing of the weeks before it, nor of another import."""
    imported(POSTINGS + posting(9, "2025-01-30", "From elsewhere", 1))
    imported(POSTINGS + "".join(posting(day, f"2025-01-{day:02}", "Tea", day) for day in range(1, 32)))
    february = "".join(posting(100 + day, f"2025-02-{day:02}", "Tea", day) for day in range(1, 28))
    overlap = "".join(posting(day, f"2025-01-{day}", "Tea", day) for day in range(25, 32))
    summary = imported(POSTINGS + overlap + february)
    assert (summary.entries, summary.known, summary.missing) == (27, 7, ())


def test_what_was_changed_in_the_books_is_not_a_change_of_the_file(imported):
    """A recategorized transaction and a renamed ledger are known entries; the bank is still compared."""
    rows = HEADER + entry("a", "2025-01-02", "Rent", "10.00") + entry("b", "2025-01-03", "Tea", "3.00")
    imported(rows + entry("c", "2025-01-03", "Ink", "1", category="expenses:office"), cash=["assets:bank"])
    ledgers = {ledger.name: ledger.id for ledger in imported.store.ledgers(imported.instance)}
    with imported.store.reading() as connection:
        (transaction,) = connection.exec_driver_sql("select id from transactions where description = 'Rent'").scalars()
    body = RecategorizeTransactionBody(updated_category_ledger_id=ledgers["office"])
    instance = imported.store.instance(imported.instance)
    with imported.store.writing() as connection:
        recategorize_transaction(
            connection, instance, ledgers["bank"], transaction, body, modified_by=None, actor="a test"
        )
    rename_ledger(imported.store, imported.instance, ledgers["food"], "Food and drink")
    same = rows + entry("c", "2025-01-03", "Ink", "1", category="expenses:office")
    summary = imported(same)
    assert (summary.entries, summary.known, summary.changed, summary.ledgers) == (0, 3, (), 0)
    (changed,) = imported(same.replace("10.00", "12.00")).changed
    assert changed == "line 2: 2025-01-02 'Rent': the file has -12.00 on assets:bank instead of -10.00 on assets:bank"


def test_a_dry_run_posts_nothing(imported):
    """A dry run says what would be imported, of which accounts, and leaves the books as they are."""
    rows = HEADER + entry("a", "2025-01-02", "Rent", "10.00") + entry("b", "2025-01-03", "Tea", "3.50")
    summary = imported(rows, cash=["assets:bank"], dry_run=True)
    assert (summary.entries, summary.lines, summary.start_date, summary.end_date) == (2, 4, "2025-01-02", "2025-01-03")
    bank, food = summary.accounts
    assert (bank.account, bank.type, bank.report_cash_flow, bank.is_new) == ("assets:bank", "asset", True, True)
    assert (bank.lines, bank.debits, bank.credits) == (2, "0.00", "13.50")
    assert (food.account, food.type, food.report_cash_flow, food.debits) == ("expenses:food", "expense", False, "13.50")
    assert entries(imported) == 0
    assert len(imported.store.ledgers(imported.instance)) == 4
    assert imported(rows).entries == 2
