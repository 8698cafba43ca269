"""After any changes of a service local books are equal to it: in money after a night, in texts after one a month."""

import datetime as dt
from itertools import count

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import example, given, settings

import accounting_analytics as aa

MONTHS = aa.Period("2025-01-01", "2025-02-28", "UTC").months()
CASH = ("bank", "savings", "card")
EXPENSE = "expense operating_expenses debit"
LEDGERS = {
    **dict(zip(CASH, ("bank_account", "bank_account", "credit_card"), strict=True)),
    "sales": "revenue operating_revenues credit",
    **dict.fromkeys(("rent", "meals", "discounts"), EXPENSE),
    "owed": "accounts_receivable",
    "loan": "loan",
    "accrued": "liability current_liabilities credit",
}
OTHERS = tuple(ledger for ledger in LEDGERS if ledger not in CASH)
OF_MONEY = ["id", "ledger_id", "journal_entry_id", "datetime", "signed_amount", "opposing_ledger_ids"]
"""Columns of a line that a report shows, or the lines of entries without cash."""


class ChangingBooks:
    """Books of two months, which are edited in the database of the service."""

    def __init__(self, service):
        self.service, self.numbers = service, count()
        entries = [(f"2025-0{month}-{day}", amounts) for month in (1, 2) for day, amounts in self.of_each_month()]
        entries = [(when, amounts, f"entry {self.new_id()}", self.new_id()) for when, amounts in entries]
        access = service.create(entries, LEDGERS)
        self.instance_id, self.client = access.instance_id, access.client(time_zone="UTC")
        ((self.pk,),) = service.execute("SELECT pk FROM instances WHERE id = ?", self.instance_id)

    @staticmethod
    def of_each_month():
        """Return days and amounts: payments, splits with lines on both sides, a transfer, and entries without cash."""
        return [
            *(("05", {"bank": -50, "rent": 50}), ("05", {"card": -7, "meals": 7}), ("09", {"bank": 40, "owed": -40})),
            *(("12", {"bank": -100, "rent": 110, "discounts": -10}), ("15", {"bank": -30, "card": 30})),
            *(("20", {"owed": 80, "sales": -80}), ("28", {"rent": 12, "accrued": -12})),
        ]

    def new_id(self):
        """Return an id, in the order of time."""
        return f"je-{next(self.numbers):04}"

    def execute(self, statement, *values):
        return self.service.execute(statement, *values)

    def choose(self, number):
        """Return the key of an entry, -1 where none is left."""
        rows = self.execute("SELECT pk FROM journal_entries WHERE instance_pk = ? ORDER BY id", self.pk)
        return rows[number % len(rows)][0] if rows else -1

    def lines(self, entry, *, on_cash):
        """Return the keys of the lines of an entry on ledgers that are cash, or are not."""
        rows = self.execute(
            "SELECT line_entries.pk FROM line_entries JOIN ledgers ON ledgers.pk = ledger_pk "
            "WHERE journal_entry_pk = ? AND report_cash_flow = ? ORDER BY line_entries.pk",
            *(entry, on_cash),
        )
        return [key for (key,) in rows]

    def ledger(self, ledger_id):
        rows = self.execute("SELECT pk FROM ledgers WHERE instance_pk = ? AND id = ?", self.pk, ledger_id)
        return rows[0][0]

    def post(self, day, amounts):
        """Post an entry on a day of the two months."""
        when = dt.date(2025, 1, 1) + dt.timedelta(days=day % 59)
        new = self.new_id()
        self.service.post(self.instance_id, (str(when), amounts, f"entry {new}", new))

    def post_payment(self, first, second):
        self.post(first, {CASH[second % len(CASH)]: -second - 1, OTHERS[second % len(OTHERS)]: second + 1})

    def post_without_cash(self, first, second):
        self.post(first, {"accrued": -second - 1, ("rent", "owed", "loan")[second % 3]: second + 1})

    def post_split(self, first, second):
        """Post a payment with lines of both sides that are not cash."""
        self.post(first, {CASH[second % len(CASH)]: -second - 1, "rent": second + 4, "discounts": -2, "loan": -1})

    def post_transfer(self, first, second):
        self.post(first, {"bank": -second - 1, "savings": second + 1})

    def post_to_new_ledger(self, first, second):
        """Create a bank account or a category, and post an entry to it, with cash or without."""
        new = f"new-{next(self.numbers)}"
        self.service.add_ledger(self.instance_id, new, "bank_account" if second % 4 == 0 else EXPENSE)
        other = (CASH[first % len(CASH)], OTHERS[first % len(OTHERS)])[second % 2]
        self.post(first, {new: -second - 1, other: second + 1})

    def delete(self, first, _):
        entry = self.choose(first)
        lines = "(SELECT pk FROM line_entries WHERE journal_entry_pk = ?)"
        self.execute(f"DELETE FROM transactions WHERE line_entry_pk IN {lines}", entry)  # noqa: S608
        self.execute("DELETE FROM line_entries WHERE journal_entry_pk = ?", entry)
        self.execute("DELETE FROM journal_entries WHERE pk = ?", entry)

    def double(self, first, _):
        self.execute("UPDATE line_entries SET units = 2 * units WHERE journal_entry_pk = ?", self.choose(first))

    def move(self, first, second):
        entry, moment = self.choose(first), dt.datetime(2025, 1, 1, 12, tzinfo=dt.UTC) + dt.timedelta(days=second % 59)
        for table, column in (("line_entries", "journal_entry_pk"), ("journal_entries", "pk")):
            change = f"UPDATE {table} SET datetime = ? WHERE {column} = ?"  # noqa: S608 (our own names)
            self.execute(change, int(moment.timestamp()) * 1_000_000, entry)

    def recategorize(self, first, second):
        """Move a line that is not cash to another such ledger."""
        self.move_line(self.choose(first), first, OTHERS[second % len(OTHERS)], on_cash=False)

    def move_to_cash(self, first, second):
        self.move_line(self.choose(first), first, CASH[second % len(CASH)], on_cash=False)

    def move_from_cash(self, first, second):
        """Move a line from a cash ledger, so that its entry may be one without cash."""
        self.move_line(self.choose(first), first, OTHERS[second % len(OTHERS)], on_cash=True)

    def change_text(self, first, second):
        text = f"text {second} {next(self.numbers)}"
        self.execute("UPDATE journal_entries SET description = ? WHERE pk = ?", text, self.choose(first))

    def lack_a_cent(self, first, _):
        """Change one line, so that its entry does not balance."""
        line = "(SELECT max(pk) FROM line_entries WHERE journal_entry_pk = ?)"
        self.execute(f"UPDATE line_entries SET units = units + 1 WHERE pk = {line}", self.choose(first))  # noqa: S608

    def move_line(self, entry, number, ledger_id, *, on_cash):
        """Move a line to another ledger; the entry then has the cash ledger of one of its lines, or none."""
        lines = self.lines(entry, on_cash=on_cash)
        if not lines:
            return
        change = "UPDATE line_entries SET ledger_pk = ? WHERE pk = ?"
        self.execute(change, self.ledger(ledger_id), lines[number % len(lines)])
        cash = self.lines(entry, on_cash=True)
        ledger = "(SELECT ledger_pk FROM line_entries WHERE pk = ?)"
        change = f"UPDATE journal_entries SET cash_ledger_pk = {ledger} WHERE pk = ?"  # noqa: S608 (our own text)
        self.execute(change, cash[0] if cash else None, entry)

    def load(self):
        """Line entries as they are now, loaded without local books."""
        ledgers = aa.discover_ledgers(self.client, "2025-01-01", "2025-02-28")
        return aa.load_line_entries(self.client, ledgers["id"], "2025-01-01", "2025-02-28"), ledgers


EDITS = (
    *(ChangingBooks.post_payment, ChangingBooks.post_without_cash, ChangingBooks.post_split),
    *(ChangingBooks.post_transfer, ChangingBooks.post_to_new_ledger, ChangingBooks.delete, ChangingBooks.double),
    *(ChangingBooks.move, ChangingBooks.recategorize, ChangingBooks.move_to_cash, ChangingBooks.move_from_cash),
    *(ChangingBooks.change_text, ChangingBooks.lack_a_cent),
)
edits = st.tuples(st.sampled_from(EDITS), st.integers(0, 999), st.integers(0, 999))
nights = st.lists(st.tuples(st.lists(edits, max_size=4), st.sampled_from([None, 0, 1])), min_size=1, max_size=3)
"""Edits before each night, and the month that is closed after it."""


def without_transfers(lines, ledgers):
    """Return what shows of lines in reports, without the entries between cash ledgers, which need not show."""
    cash = set(ledgers.loc[ledgers["report_cash_flow"], "id"])
    is_cash = lines["ledger_id"].isin(cash).groupby(lines["journal_entry_id"]).transform("all")
    return lines.loc[~is_cash, OF_MONEY].sort_values("id", ignore_index=True)


@example(nights=[([(ChangingBooks.move_from_cash, 0, 4)], None), ([(ChangingBooks.move_to_cash, 0, 0)], 0)])
@example(nights=[([], None), ([(ChangingBooks.recategorize, 3, 5)], None)])  # to a ledger that had no line
@example(nights=[([(ChangingBooks.post_to_new_ledger, 3, 4), (ChangingBooks.delete, 1, 0)], 1)])
@given(nights=nights)
@settings.get_profile("slow")
@pytest.mark.timeout(3600)
def test_books_are_those_of_the_service(posted_books, tmp_path_factory, nights):
    """Each night has what reports and entries without cash show, also of closed months; a night a month, all."""
    service = ChangingBooks(posted_books)
    days = {"start_date": "2025-01-01", "end_date": "2025-02-28", "progress": False}
    with service.client as client:
        local = aa.LocalBooks.open(tmp_path_factory.mktemp("local") / "books")
        assert local.sync(client, **days).ties
        closed = {}
        for of_night, month in nights:
            for edit, first, second in of_night:
                edit(service, first, second)
            result = local.sync(client, **days)
            fresh, ledgers = service.load()
            assert set(ledgers["id"]) == set(local.ledgers()["id"])
            held = without_transfers(local.line_entries(), ledgers)
            pd.testing.assert_frame_equal(held, without_transfers(fresh, ledgers))
            balances = fresh["signed_amount"].groupby(fresh["journal_entry_id"]).sum().round(2)
            assert result.ties == result.complete == (balances == 0).all()
            assert all(name in " ".join(result.alarms) for name in changed_months(closed, fresh, ledgers))
            if month is not None:
                local.close(MONTHS[month])
                closed[month] = of_month(local.line_entries(), month)
        for _ in MONTHS:
            local.sync(client, **days)
        pd.testing.assert_frame_equal(local.line_entries(), service.load()[0])


def of_month(lines, number):
    return lines[lines["local_date"].dt.month == number + 1]


def changed_months(closed, lines, ledgers):
    """Return the names of closed months whose lines are others now."""
    frames = {
        number: [without_transfers(frame, ledgers).astype(object) for frame in (before, of_month(lines, number))]
        for number, before in closed.items()
    }
    return [
        f"{MONTHS[number].start_date:%b %Y}" for number, (before, after) in frames.items() if not before.equals(after)
    ]
