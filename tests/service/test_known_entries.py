"""A second import of the same or overlapping books: what is new, what is refused, and what the file lacks."""

import pytest

from accounting_analytics.core.errors import BooksDoNotTieError
from accounting_analytics.service.imports.import_books import import_books
from accounting_analytics.service.instances import NewInstance, create_instance
from accounting_analytics.service.interface import RecategorizeTransactionBody
from accounting_analytics.service.ledgers import rename_ledger
from accounting_analytics.service.operations.recategorize_transaction import recategorize_transaction
from accounting_analytics.service.operations.shared_queries import Call

HEADER = "entry_id,datetime,entry_description,ledger,debit_credit,amount\n"
hledger = pytest.mark.hledger


@pytest.fixture
def imported(store, tmp_path):
    """Return a function that imports a file with the given text into one instance."""
    instance = create_instance(store, NewInstance(localtime="UTC"))

    def imported(text, name="books.csv", **options):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return import_books(store, instance, tmp_path / name, **options)

    imported.store, imported.instance = store, instance
    return imported


def entry(name, day, text, amount, *, category="expenses:food"):
    """Return two rows of a line table."""
    return f"{name},{day},{text},{category},debit,{amount}\n{name},{day},{text},assets:bank,credit,{amount}\n"


def journal(*entries):
    """Return a journal of entries, each a day, its text and an amount."""
    return "".join(
        f"{day} {text}\n    expenses:food   ${amount}\n    assets:bank   $-{amount}\n" for day, text, amount in entries
    )


def entries(imported):
    with imported.store.reading() as connection:
        return connection.exec_driver_sql("select count(*) from journal_entries").scalar_one()


def test_a_file_with_other_content_is_refused(imported):
    names = [("a", "2025-01-02", "Rent", "10.00"), ("b", "2025-01-03", "Tea", "3.00"), ("c", "2025-01-04", "Ink", "4")]
    first = HEADER + "".join(entry(*one) for one in names)
    imported(first)
    changed = HEADER + entry("a", "2025-01-02", "Rent", "11.00") + entry("b", "2025-01-05", "Green tea", "3.00")
    changed += entry("c", "2025-01-04", "Ink", "4", category="expenses:office") + entry("d", "2025-01-06", "New", "5")
    for dry_run in (True, False):
        with pytest.raises(BooksDoNotTieError) as refused:
            imported(changed, dry_run=dry_run)
        assert str(refused.value) == (
            "books.csv: nothing was imported: 3 entries are in the books with other content: "
            "line 2: 2025-01-02 'Rent': the file has 11.00 on expenses:food and -11.00 on assets:bank "
            "instead of 10.00 on expenses:food and -10.00 on assets:bank; "
            "line 4: 2025-01-03 'Tea': the file has 2025-01-05, the file has the text 'Green tea'; "
            "line 6: 2025-01-04 'Ink': the file has 4.00 on expenses:office instead of 4.00 on expenses:food; "
            "leave out what the books have, or import the file into a new database"
        )
        assert refused.value.exit_code == 3
    assert entries(imported) == 3
    summary = imported(first + entry("d", "2025-01-06", "New", "5"))
    assert (summary.entries, summary.known, entries(imported)) == (1, 3, 4)


@hledger
def test_without_ids_a_change_is_one_missing_and_one_new(imported):
    """Hledger's entries have no ids: a corrected amount is a new entry, and the former one is missing in the file."""
    imported(journal(("2025-01-02", "Tea", 3), ("2025-01-09", "Ink", 4)), "books.journal")
    summary = imported(journal(("2025-01-02", "Tea", 5), ("2025-01-09", "Ink", 4)), "books.journal")
    assert (summary.entries, summary.known) == (1, 1)
    assert summary.missing == ("2025-01-02 'Tea'",)


@hledger
def test_equal_entries_are_counted(imported):
    coffee = ("2025-01-02", "Coffee", 3)
    assert imported(journal(coffee, ("2025-01-02", "Coffee", "3.00")), "books.journal").entries == 2
    three = journal(coffee, coffee, coffee)
    assert (imported(three, "books.journal").entries, imported(three, "books.journal").entries) == (1, 0)
    summary = imported(journal(coffee), "books.journal")
    assert (summary.entries, summary.missing) == (0, ("2025-01-02 'Coffee'", "2025-01-02 'Coffee'"))


@hledger
def test_only_the_days_of_the_file_can_be_missing(imported):
    imported(journal(("2025-01-30", "From elsewhere", 1)), "other.journal")
    january = [(f"2025-01-{day:02}", "Tea", day) for day in range(1, 32)]
    imported(journal(*january), "books.journal")
    february = [(f"2025-02-{day:02}", "Tea", day) for day in range(1, 28)]
    summary = imported(journal(*january[24:], *february), "books.journal")
    assert (summary.entries, summary.known, summary.missing) == (27, 7, ())


def test_what_was_changed_in_the_books_is_not_a_change_of_the_file(imported):
    rows = HEADER + entry("a", "2025-01-02", "Rent", "10.00") + entry("b", "2025-01-03", "Tea", "3.00")
    imported(rows + entry("c", "2025-01-03", "Ink", "1", category="expenses:office"), cash=["assets:bank"])
    ledgers = {ledger.name: ledger.id for ledger in imported.store.ledgers(imported.instance)}
    with imported.store.reading() as connection:
        (transaction,) = connection.exec_driver_sql("select id from transactions where description = 'Rent'").scalars()
    body = RecategorizeTransactionBody(updated_category_ledger_id=ledgers["office"])
    instance = imported.store.instance(imported.instance)
    with imported.store.writing() as connection:
        recategorize_transaction(Call(connection, instance, "a test"), ledgers["bank"], transaction, body)
    rename_ledger(imported.store, imported.instance, ledgers["food"], "Food and drink")
    same = rows + entry("c", "2025-01-03", "Ink", "1", category="expenses:office")
    summary = imported(same)
    assert (summary.entries, summary.known, summary.ledgers) == (0, 3, 0)
    with pytest.raises(
        BooksDoNotTieError, match=r"'Rent': the file has -12.00 on assets:bank instead of -10.00 on asset"
    ):
        imported(same.replace("10.00", "12.00"))


def test_a_dry_run_posts_nothing(imported):
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


OPENING = "Opening Balance Retained Earnings"


def beginning(day, amount, name="begin", account="assets:bank"):
    """Return the two rows of an opening balance."""
    return f"{name},{day},Begin,{account},debit,{amount}\n{name},{day},Begin,{OPENING},credit,{amount}\n"


def test_an_opening_balance_that_the_books_have_is_not_posted_again(imported):
    imported(
        HEADER + beginning("2025-01-31", "100.00") + entry("a", "2025-02-10", "Rent", "40.00"), cash=["assets:bank"]
    )
    march = beginning("2025-02-28", "60.00", "begin-2") + entry("b", "2025-03-01", "Tea", "3.00")
    for _ in range(2):
        summary = imported(HEADER + march)
    assert (summary.entries, summary.known, entries(imported)) == (0, 2, 3)
    april = entry("c", "2025-04-01", "Ink", "4.00") + beginning("2025-04-01", "57.00", "begin-3")
    assert [imported(HEADER + april).entries for _ in range(2)] == [1, 0]
    assert entries(imported) == 4


def test_an_opening_balance_that_differs_is_refused(imported):
    imported(HEADER + beginning("2025-01-31", "100.00"), cash=["assets:bank"])
    with pytest.raises(BooksDoNotTieError) as refused:
        imported(HEADER + beginning("2025-02-28", "60.00", "begin-2") + entry("b", "2025-03-01", "Tea", "3.00"))
    assert str(refused.value) == (
        "books.csv: nothing was imported: line 2: 'Begin' begins assets:bank with 60.00, and the books have 100.00 by "
        "the end of 28 Feb 2025: import what is missing between them first, or import the file into a new database"
    )
    assert entries(imported) == 1


def test_an_opening_balance_after_a_closing_entry_is_posted(imported):
    closing = f"end,2025-12-31,End,assets:bank,credit,90.00\nend,2025-12-31,End,{OPENING},debit,90.00\n"
    imported(HEADER + beginning("2025-01-01", "100.00"), cash=["assets:bank"])
    assert imported(HEADER + entry("a", "2025-12-10", "Rent", "10.00") + closing).entries == 2
    assert imported(HEADER + beginning("2026-01-01", "90.00", "begin-2")).entries == 1
    other = beginning("2026-02-01", "7.00", "begin-3", "assets:savings")
    assert imported(HEADER + other).entries == 1
