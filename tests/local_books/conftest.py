"""Books of up to 36 months on the embedded service, and edits of any kind anywhere in them."""

import datetime as dt
import random
from contextlib import contextmanager
from decimal import Decimal

import pytest
from posted_books import Part, PostedBooks

import accounting_analytics as aa

ZONE = "America/New_York"
CASH = {"bank": "bank_account", "savings": "bank_account", "card": "credit_card"}
EXPENSE = {"type": "expense", "sub_type": "operating_expenses", "debit_credit": "debit"}
CATEGORIES = {
    "living": EXPENSE,
    **dict.fromkeys(("rent", "meals", "travel"), EXPENSE | {"parent_id": "living"}),
    "sales": "revenue operating_revenues credit",
}
FIRST, LAST = dt.date(2023, 1, 1), dt.date(2025, 12, 31)


class ServedBooks:
    """Books of one instance that are posted in Python, edited in the database, and read over HTTP."""

    def __init__(self, service, seed, first):
        self.service, self.first = service, first
        self.random = random.Random(seed)  # noqa: S311 (a test)
        self.path, self.cash, self.categories, self.receivable = service.path, [*CASH], [*CATEGORIES], "receivables"
        entries = [self._new_entry(number) for number in range(self.random.randint(150, 250))]
        access = service.create(entries, CASH | CATEGORIES | {self.receivable: "accounts_receivable"})
        self.instance, self.token, self.client = access.instance_id, access.token, access.client(time_zone=ZONE)
        self._numbers = iter(range(10_000, 1_000_000))

    def _moment(self):
        day = self.first + dt.timedelta(days=self.random.randrange((LAST - self.first).days + 1))
        return dt.datetime(day.year, day.month, day.day, 17, self.random.randrange(60), tzinfo=dt.UTC)

    def _new_entry(self, number):
        """Return a purchase or receipt, a transfer between cash ledgers, or an invoice, which touches no cash."""
        amount, chance = Decimal(self.random.randint(1, 500_000)) / 100, self.random.random()
        cash, category = self.random.choice(self.cash), self.random.choice(self.categories)
        text = f"payment {number}"
        if chance < 0.15:
            to, other = self.random.sample(self.cash, 2)
            parts = [(to, amount), (other, -amount)]
        elif chance < 0.3:
            parts = [(self.receivable, amount), ("sales", -amount)]
        elif chance < 0.4:
            half = amount + 1
            parts = [(cash, Part(-half - amount, description=text)), (category, half), ("living", amount)]
        else:
            tags = (f"project=p{number % 3}",) if number % 4 == 0 else ()
            parts = [(cash, Part(-amount, description=text)), (category, Part(amount, tags=tags))]
        return self._moment(), parts, f"entry {number}", f"je-{number}"

    def post(self, *entries):
        self.service.post(self.instance, *entries)

    def execute(self, statement, *values):
        return self.service.execute(statement, *values)

    def _any_entry(self, *, touches_cash):
        condition = "IS NOT NULL" if touches_cash else "IS NULL"
        rows = self.execute(f"SELECT pk FROM journal_entries WHERE cash_ledger_pk {condition} ORDER BY pk")  # noqa: S608
        return self.random.choice(rows)[0]

    def insert(self, *, touches_cash=True):
        """Post an entry anywhere."""
        entry = self._new_entry(next(self._numbers))
        while any(ledger_id in self.cash for ledger_id, _ in entry[1]) != touches_cash:
            entry = self._new_entry(next(self._numbers))
        self.post(entry)

    def delete(self, *, touches_cash=True):
        """Delete an entry with all that belongs to it."""
        pk = self._any_entry(touches_cash=touches_cash)
        lines = "(SELECT pk FROM line_entries WHERE journal_entry_pk = ?)"
        self.execute(f"DELETE FROM transactions WHERE line_entry_pk IN {lines}", pk)  # noqa: S608
        self.execute(f"DELETE FROM line_entry_tags WHERE line_entry_pk IN {lines}", pk)  # noqa: S608
        self.execute("DELETE FROM line_entries WHERE journal_entry_pk = ?", pk)
        self.execute("DELETE FROM journal_entries WHERE pk = ?", pk)

    def double_amounts(self, *, touches_cash=True):
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
        ledger_id = self.random.choice(self.categories)
        (name,) = (ledger.name for ledger in self.service.store.ledgers(self.instance) if ledger.id == ledger_id)
        self.service.rename_ledger(self.instance, ledger_id, f"{name}!")

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
        with PostedBooks(tmp_path / f"service-{seed}.db") as service:
            books = ServedBooks(service, seed, first)
            with books.client:
                yield books

    return serve
