"""Books of up to 36 months on the embedded service, and edits of any kind anywhere in them."""

import datetime as dt
import random
import sqlite3
from contextlib import contextmanager
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.service.auth import issue_token
from accounting_analytics.service.bookkeeping.instances import NewInstance, create_instance
from accounting_analytics.service.bookkeeping.ledgers import NewLedger, create_ledger
from accounting_analytics.service.bookkeeping.post_entries import (
    NewJournalEntry,
    NewLine,
    NewTag,
    NewTransaction,
    post_entries,
)
from accounting_analytics.service.storage.store import Store
from accounting_analytics.service.web.server import running

ZONE = "America/New_York"
FIRST, LAST = dt.date(2023, 1, 1), dt.date(2025, 12, 31)


class ServedBooks:
    """Books of one instance that are posted in Python, edited in the database, and read over HTTP."""

    def __init__(self, path, base_url, seed, first):
        self.path, self.first = path, first
        self.random = random.Random(seed)  # noqa: S311 (a test)
        with Store.open(path) as store:
            self.instance = create_instance(store, NewInstance())
            self.token = issue_token(store, self.instance)
            self._create_ledgers(store)
            self._post(store, [self._new_entry(number) for number in range(self.random.randint(150, 250))])
        self.client = aa.LedgerClient(base_url, token=self.token, instance_id=self.instance, time_zone=ZONE)
        self._numbers = iter(range(10_000, 1_000_000))

    def _create_ledgers(self, store):
        def create(name, **fields):
            return create_ledger(store, self.instance, NewLedger(name, **fields)).id

        def category(name, kind, sub_type, side, code, **fields):
            fields |= {"type": kind, "sub_type": sub_type, "debit_credit": side, "sort_code": code}
            return create(name, report_cash_flow=False, **fields)

        self.cash = [create(name, financial_account_type="bank_account") for name in ("Bank", "Savings")]
        self.cash.append(create("Card", financial_account_type="credit_card"))
        living = category("Living", "expense", "operating_expenses", "debit", "5000")
        self.categories = [
            living,
            *(
                category(name, "expense", "operating_expenses", "debit", f"50{number}0", parent_id=living)
                for number, name in enumerate(("Rent", "Meals", "Travel"), 1)
            ),
            category("Sales", "revenue", "operating_revenues", "credit", "4000"),
        ]
        self.receivable = create("Receivables", financial_account_type="accounts_receivable")

    def _moment(self):
        day = self.first + dt.timedelta(days=self.random.randrange((LAST - self.first).days + 1))
        return dt.datetime(day.year, day.month, day.day, 17, self.random.randrange(60), tzinfo=dt.UTC)

    def _new_entry(self, number):
        """Return a purchase or receipt, a transfer between cash ledgers, or an invoice, which touches no cash."""
        amount, chance = Decimal(self.random.randint(1, 500_000)) / 100, self.random.random()
        cash, category = self.random.choice(self.cash), self.random.choice(self.categories)
        transaction = NewTransaction(f"txn-{number}", f"payment {number}")
        if chance < 0.15:
            pair = self.random.sample(self.cash, 2)
            lines = [NewLine(pair[0], "debit", amount), NewLine(pair[1], "credit", amount)]
        elif chance < 0.3:
            lines = [NewLine(self.receivable, "debit", amount), NewLine(self.categories[-1], "credit", amount)]
        elif chance < 0.4:
            half = amount.quantize(Decimal("0.01")) + 1
            lines = [
                NewLine(cash, "credit", half + amount, transaction=transaction),
                NewLine(category, "debit", half),
                NewLine(self.categories[0], "debit", amount),
            ]
        else:
            tags = (NewTag("project", f"p{number % 3}"),) if number % 4 == 0 else ()
            lines = [
                NewLine(cash, "credit", amount, transaction=transaction),
                NewLine(category, "debit", amount, tags=tags),
            ]
        return NewJournalEntry(self._moment(), f"entry {number}", tuple(lines), id=f"je-{number}")

    def _post(self, store, entries):
        post_entries(store, self.instance, entries)

    def execute(self, statement, *values):
        """Change the database."""
        with sqlite3.connect(self.path, timeout=60) as connection:
            rows = connection.execute(statement, values).fetchall()
        connection.close()
        return rows

    def _any_entry(self, *, touches_cash):
        condition = "IS NOT NULL" if touches_cash else "IS NULL"
        rows = self.execute(f"SELECT pk FROM journal_entries WHERE cash_ledger_pk {condition} ORDER BY pk")  # noqa: S608
        return self.random.choice(rows)[0]

    def insert(self, *, touches_cash=True):
        """Post an entry anywhere."""
        entry = self._new_entry(next(self._numbers))
        while any(line.ledger_id in self.cash for line in entry.lines) != touches_cash:
            entry = self._new_entry(next(self._numbers))
        with Store.open(self.path) as store:
            self._post(store, [entry])

    def delete(self, *, touches_cash=True):
        """Delete an entry with all that belongs to it."""
        pk = self._any_entry(touches_cash=touches_cash)
        lines = "(SELECT pk FROM line_entries WHERE journal_entry_pk = ?)"
        self.execute(f"DELETE FROM transactions WHERE line_entry_pk IN {lines}", pk)  # noqa: S608
        self.execute(f"DELETE FROM line_entry_tags WHERE line_entry_pk IN {lines}", pk)  # noqa: S608
        self.execute("DELETE FROM line_entries WHERE journal_entry_pk = ?", pk)
        self.execute("DELETE FROM journal_entries WHERE pk = ?", pk)

    def double_amounts(self, *, touches_cash=True):
        """Double all amounts of an entry."""
        pk = self._any_entry(touches_cash=touches_cash)
        self.execute("UPDATE line_entries SET units = 2 * units WHERE journal_entry_pk = ?", pk)

    def move(self, *, touches_cash=True):
        """Move an entry to any other day."""
        pk = self._any_entry(touches_cash=touches_cash)
        moment = int(self._moment().timestamp()) * 1_000_000
        self.execute("UPDATE line_entries SET datetime = ? WHERE journal_entry_pk = ?", moment, pk)
        self.execute("UPDATE journal_entries SET datetime = ? WHERE pk = ?", moment, pk)

    def recategorize(self):
        """Move the category of a transaction, through the interface."""
        lines = aa.load_line_entries(self.client, self.cash, self.first, LAST)
        lines = lines[lines["transaction_id"].notna() & lines["opposing_ledger_ids"].isin(self.categories)]
        line = lines.iloc[self.random.randrange(len(lines))]
        target = self.random.choice([one for one in self.categories if one != line["opposing_ledger_ids"]])
        self.client.recategorize_transaction(
            line["ledger_id"], line["transaction_id"], updated_category_ledger_id=target,
            category_ledger_id=line["opposing_ledger_ids"],
        )  # fmt: skip

    def rename_ledger(self):
        """Give a category another name."""
        self.execute("UPDATE ledgers SET name = name || '!' WHERE id = ?", self.random.choice(self.categories))

    def change_text(self):
        """Change the description of lines, which no report shows."""
        pk = self._any_entry(touches_cash=True)
        self.execute("UPDATE line_entries SET description = description || '?' WHERE journal_entry_pk = ?", pk)

    def shown_edits(self):
        """Edits that change the report of a month."""
        return [self.insert, self.delete, self.double_amounts, self.move, self.recategorize]

    def hidden_edits(self):
        """Edits that no report shows."""
        edits = (self.insert, self.delete, self.double_amounts, self.move)
        return [*(lambda edit=edit: edit(touches_cash=False) for edit in edits), self.change_text]

    def load(self, ledgers):
        """Line entries as they are now, loaded without local books."""
        return aa.load_line_entries(self.client, ledgers["id"], self.first, LAST)


@pytest.fixture
def serve(tmp_path):
    """Return a context manager that serves books of 36 months, or fewer; a seed decides what is in them."""

    @contextmanager
    def serve(seed, first=FIRST):
        path = tmp_path / f"service-{seed}.db"
        with running(path) as service:
            books = ServedBooks(path, service.base_url, seed, first)
            with books.client:
                yield books

    return serve
