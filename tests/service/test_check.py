"""The check of a database: no findings in intact books, and one for every way to break them."""

import datetime as dt
import json
import os
import sqlite3
from contextlib import closing

import pytest

from accounting_analytics.service.check import MAX_FINDINGS, check_books
from accounting_analytics.service.database import Store, read_instance
from accounting_analytics.service.instances import NewInstance, create_instance
from accounting_analytics.service.interface import RecategorizeTransactionBody
from accounting_analytics.service.ledgers import NewLedger, create_ledger
from accounting_analytics.service.operations.recategorize_transaction import recategorize_transaction
from accounting_analytics.service.operations.resource_lookup import Call
from accounting_analytics.service.post_entries import NewJournalEntry, NewLine, NewTag, NewTransaction, post_entries

NOON = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)


def ledger(name, **fields):
    """Return a new category."""
    category = {"type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit", "sort_code": "5"}
    return NewLedger(name=name, id=name, **{"report_cash_flow": False} | category | fields)


@pytest.fixture
def path(tmp_path):
    """Return the file of intact books: two expenses and a transfer."""
    path = tmp_path / "books.db"
    with Store.open(path) as store:
        instance = create_instance(store, NewInstance(id="books"))
        for name in ("bank", "savings"):
            create_ledger(store, instance, NewLedger(name=name, financial_account_type="bank_account", id=name))
        create_ledger(store, instance, ledger("costs"))
        create_ledger(store, instance, ledger("rent", parent_id="costs"))
        create_ledger(store, instance, ledger("food", parent_id="costs"))
        for number, (own, other) in enumerate([("bank", "rent"), ("savings", "rent"), ("bank", "savings")]):
            lines = (
                NewLine(own, -500, transaction=NewTransaction(id=f"T{number}"), id=f"L{number}"),
                NewLine(other, 500, tags=(NewTag("class", "north"),), id=f"O{number}"),
            )
            post_entries(
                store, instance, [NewJournalEntry(NOON + dt.timedelta(days=number), "entry", lines, id=f"E{number}")]
            )
    return path


def findings(path, *statements):
    """Change the file without the rules of the database, and return what the check finds."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    with Store.open(path) as store:
        return check_books(store).findings


def test_intact_books_have_no_findings(path):
    """In intact books nothing is found, and everything is counted."""
    with Store.open(path) as store:
        checked = check_books(store)
    assert checked.findings == []
    assert (checked.instances, checked.ledgers, checked.entries, checked.lines) == (1, 9, 3, 6)
    assert (checked.transactions, checked.changes) == (4, 0)


BROKEN = (
    ("UPDATE line_entries SET units = 501 WHERE id = 'O0'", "debits equal credits", "E0"),
    ("UPDATE line_entries SET units = 1000000500 WHERE id = 'O0'", "debits equal credits", "E0"),
    ("DELETE FROM line_entries WHERE journal_entry_pk = 1", "an entry has at least two lines", "E0"),
    ("UPDATE line_entries SET datetime = datetime + 1 WHERE id = 'O0'", "a line agrees", "O0"),
    ("UPDATE line_entries SET journal_entry_pk = 99 WHERE id = 'O1'", "a line agrees", "O1"),
    ("UPDATE line_entries SET ledger_pk = 99 WHERE id = 'O1'", "a line agrees", "O1"),
    ("UPDATE transactions SET line_entry_pk = 99 WHERE id = 'T0'", "a transaction belongs", "T0"),
    ("UPDATE transactions SET line_entry_pk = 2 WHERE id = 'T0'", "a transaction belongs", "T0"),
    ("DELETE FROM transactions WHERE id = 'T0'", "a line of a cash account", "L0"),
    ("UPDATE journal_entries SET cash_ledger_pk = NULL WHERE id = 'E0'", "an entry has the cash", "E0"),
    ("UPDATE journal_entries SET cash_ledger_pk = 6 WHERE id = 'E0'", "an entry has the cash", "E0"),
    ("UPDATE ledgers SET type = 'revenue' WHERE id = 'food'", "ledgers agree", "food"),
    ("UPDATE ledgers SET parent_pk = pk WHERE id = 'costs'", "ledgers agree", "rent"),
    ("UPDATE ledgers SET is_required = 0 WHERE pk = 1", "the required ledgers", "Transfers Between Accounts"),
    ("UPDATE transactions SET categorization_method = 'user' WHERE id = 'T0'", "every change", "T0"),
)  # fmt: skip


def test_findings(path):
    """A broken invariant is reported with the id of what breaks it."""
    intact = path.read_bytes()
    for statement, invariant, subject in BROKEN:
        path.write_bytes(intact)
        found = findings(path, statement)
        assert any(one.invariant.startswith(invariant) and one.subject == subject for one in found), found
        assert all(one.instance_id in {"books", ""} for one in found)


def test_invalid_values_are_findings(path):
    """An invalid value ends the check of one invariant, with a finding, but not the others."""
    columns = "instance_pk, number, at, actor, operation, transaction_id, before, after, digest"
    for statement in (
        "UPDATE ledgers SET sub_type = 'junk' WHERE id = 'food'",
        f"INSERT INTO audit ({columns}) VALUES (1, 99, 0, '', 'recategorize_transaction', 'T0', '{{', '', '')",  # noqa: S608
    ):
        found = findings(path, statement, "UPDATE line_entries SET units = 501 WHERE id = 'O0'")
        assert any("invalid value" in one.problem for one in found)
        assert any(one.subject == "E0" for one in found)


def test_changes_without_an_audit_row_are_found(path):
    """A line that was moved without an audit row, or whose audit rows do not agree, is reported."""
    body = RecategorizeTransactionBody(updated_category_ledger_id="food")
    with Store.open(path) as store, store.writing() as connection:
        instance = read_instance(connection, "books")
        recategorize_transaction(Call(connection, instance, "key"), "bank", "T0", body)
    with Store.open(path) as store:
        assert check_books(store).findings == []
    back = "UPDATE line_entries SET ledger_pk = (SELECT pk FROM ledgers WHERE id = 'rent') WHERE id = 'O0'"
    assert [one.subject for one in findings(path, back)] == ["O0"]
    by_user = "UPDATE transactions SET categorization_method = 'as_posted' WHERE id = 'T0'"
    assert {one.subject for one in findings(path, by_user)} == {"O0", "T0"}
    nothing = "UPDATE audit SET after = before WHERE operation = 'recategorize_transaction'"
    found = findings(path, "DROP TRIGGER audit_refuses_update", nothing)
    assert {"T0", "audit row 10"} <= {one.subject for one in found}


def test_many_findings_are_counted(path):
    """Twenty findings of an invariant are listed, the rest is counted."""
    with Store.open(path) as store:
        lines = (NewLine("bank", 100), NewLine("rent", -100))
        post_entries(store, "books", [NewJournalEntry(NOON, "entry", lines)] * (MAX_FINDINGS + 5))
    found = findings(path, "UPDATE line_entries SET units = units + 1 WHERE ledger_pk = 8")
    assert len([one for one in found if one.invariant == "debits equal credits"]) == MAX_FINDINGS + 1
    assert "and 7 more" in [one.problem for one in found]


def test_a_damaged_index_is_found(path):
    """An index that does not agree with its table is found by the integrity check of the database."""
    index = "UPDATE sqlite_master SET sql = replace(sql, 'journal_entry_pk)', 'ledger_pk)') WHERE name = "
    found = findings(path, "PRAGMA writable_schema = ON", f"{index}'line_entries_of_journal_entry'")
    assert any(one.invariant == "the file is not damaged" for one in found)


def test_a_damaged_page_is_a_finding(path):
    """A file with an overwritten page is reported as damaged, and nothing else is checked."""
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'line_entries'").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"x" * 4096)
    with Store.open(path, create=False) as store:
        found = check_books(store).findings
    assert {one.invariant for one in found} == {"the file is not damaged"}


def test_the_command(path, command_line):
    """Intact books exit with 0 and counts; broken ones with 3 and the findings as a table or JSON."""

    def check(*words):
        return command_line(["serve", "--check", "--database", *words], path.parent, dict(os.environ))

    intact = check("books.db")
    assert (intact.returncode, intact.stdout) == (0, "")
    assert "every invariant holds: 3 entries, 6 lines" in intact.stderr
    findings(path, "UPDATE line_entries SET units = 501 WHERE id = 'O0'")
    broken = check("books.db")
    assert (broken.returncode, "E0" in broken.stdout, "nothing was changed" in broken.stderr) == (3, True, True)
    result = json.loads(check("books.db", "--json").stdout)
    assert result["lines"] == 6
    assert "E0" in {one["subject"] for one in result["findings"]}
    assert (check("missing.db").returncode, path.with_name("missing.db").exists()) == (2, False)
