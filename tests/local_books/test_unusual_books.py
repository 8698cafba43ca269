"""Local books of a service that changes in unusual ways: lines that move, no lines at all, ledgers that appear."""

import datetime as dt

import pandas as pd
import pytest
from long_cases import also_long
from posted_books import Part

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.reconciliation.compared_report import compare_reports

END = "2025-04-30"


class SmallBooks:
    """Books of a few ledgers and entries, which a test posts, moves, and syncs into local books."""

    def __init__(self, service, zone, local, **fields):
        self.service, self.zone, self.local = service, zone, local
        access = service.create(time_zone=zone, **fields)
        self.instance_id, self.client = access.instance_id, access.client(time_zone=zone)

    def add(self, id_, kind=None, **fields):
        """Create a bank account, or a category of a kind."""
        sub_types = {"expense": "operating_expenses", "liability": "current_liabilities"}
        if kind is None:
            fields |= {"financial_account_type": "bank_account"}
        else:
            fields |= {"type": kind, "sub_type": sub_types[kind], "debit_credit": "debit"}
        self.service.add_ledger(self.instance_id, id_, {"name": id_} | fields)

    def post(self, when, debit, credit, *tags):
        """Post an entry whose id is its instant."""
        amounts = {debit: Part(10, tags=tags), credit: -10}
        self.service.post(self.instance_id, (when, amounts, when, when[:10]))

    def change_ledger(self, id_, **fields):
        """Change fields of a ledger in the database, which the interface has no operation for."""
        ledger = "id = ? AND instance_pk = (SELECT max(pk) FROM instances)"
        for name, value in fields.items():
            self.service.execute(f"UPDATE ledgers SET {name} = ? WHERE {ledger}", value, id_)  # noqa: S608

    def move(self, entry_id, when):
        """Move an entry without cash to another instant."""
        moment = int(dt.datetime.fromisoformat(when).replace(tzinfo=dt.UTC).timestamp()) * 1_000_000
        entries = "SELECT pk FROM journal_entries WHERE id = ? AND instance_pk = (SELECT max(pk) FROM instances)"
        ((key,),) = self.service.execute(entries, entry_id)
        for table, column in (("line_entries", "journal_entry_pk"), ("journal_entries", "pk")):
            change = f"UPDATE {table} SET datetime = ? WHERE {column} = ?"  # noqa: S608 (our own names)
            self.service.execute(change, moment, key)

    def sync(self, **options):
        """Sync the local books up to the end."""
        return self.local.sync(self.client, **{"end_date": END, "progress": False} | options)

    def check(self, start_date="2025-03-01", end_date=END):
        """Check lines and monthly reports of the local books against the service."""
        ledgers = aa.discover_ledgers(self.client, start_date, end_date)
        days = aa.Period(start_date, end_date, self.zone)
        fresh = aa.load_line_entries(self.client, ledgers["id"], start_date, end_date)
        pd.testing.assert_frame_equal(self.local.line_entries(days), fresh)
        for month in days.months():
            reported = aa.load_cash_flow_report(self.client, month.start_date, month.end_date)
            assert compare_reports(reported, self.local.report(month)).ties


@pytest.fixture
def make_books(posted_books, tmp_path):
    """Return a function that makes books with a bank, rent and a loan, and local books without a sync."""
    made = []

    def make(zone="UTC", **fields):
        made.append(SmallBooks(posted_books, zone, aa.LocalBooks.open(tmp_path / "books"), **fields))
        made[-1].add("bank")
        made[-1].add("rent", "expense")
        made[-1].add("loan", "liability")
        return made[-1]

    yield make
    for one in made:
        one.client.close()


def fill(small, months=(3, 4)):
    """Post a payment and an entry without cash in each month."""
    for month in months:
        small.post(f"2025-{month:02}-10T03:00:00", "rent", "bank")
        small.post(f"2025-{month:02}-11T03:00:00", "rent", "loan")


@pytest.fixture
def small(make_books):
    """Return books with a payment and an entry without cash in March and April, which local books have."""
    small = make_books()
    fill(small)
    small.sync()
    return small


@pytest.mark.parametrize("when", ["2025-03-20T00:00:00", *also_long("2025-03-10T00:00:00", "2025-04-12T00:00:00")])
def test_an_entry_that_moved_is_held_once(small, when):
    small.move("2025-04-11", when)
    for _ in small.local.period.months():
        assert small.sync().ties
        assert len(small.local.line_entries()) in {6, 8}  # without the entry, or with it once
    small.check()
    assert small.local.drift(0).frame["entries"].max() == 1


def test_entry_that_moved_within_a_month_is_not_doubled(small):
    small.move("2025-03-11", "2025-03-20T00:00:00")
    small.post("2025-03-20T04:00:00", "rent", "bank")
    assert small.sync(months_a_night=0).ties
    small.check()


def test_syncing_no_ledgers_is_refused_but_no_lines_are_books(make_books, posted_books, tmp_path):
    small = make_books()
    empty = SmallBooks(posted_books, "UTC", small.local)
    with empty.client, pytest.raises(InputError, match="the service has no ledgers with lines until 2025-04-30 yet"):
        empty.sync()
    assert [path.name for path in (tmp_path / "books").iterdir()] == ["books.lock"]
    assert small.sync().ties
    assert len(small.local.line_entries()) == 0
    small.post("2025-04-10T03:00:00", "rent", "bank")
    assert small.sync().ties
    small.check("2025-04-01")
    small.post("2025-02-10T03:00:00", "rent", "bank")
    late = small.sync(months_a_night=0)
    assert not late.ties
    assert "sync with an earlier start_date" in late.explain()
    assert small.sync(start_date="2025-02-01").ties
    small.check("2025-02-01")


@pytest.mark.long
def test_books_that_are_extended_both_ways(make_books):
    small = make_books()
    fill(small, (1, 2, 3, 4))
    for start, end in (("2025-02-11", "2025-03-10"), (None, "2025-04-10"), ("2025-01-11", None), ("2024-12-24", None)):
        assert small.sync(start_date=start, end_date=end or END).ties
        small.check(str(small.local.period.start_date), str(small.local.period.end_date))
    before = small.local.line_entries()
    assert small.sync(end_date="2025-02-10").changes.frame.empty
    pd.testing.assert_frame_equal(small.local.line_entries(), before)


def test_cash_before_the_first_day_that_changes_is_noted(make_books):
    small, changed = make_books(), "The cash balances before 1 Apr 2025 have changed"
    fill(small, (1, 2, 3, 4))
    assert small.sync(start_date="2025-04-01").notes == small.sync().notes == ()
    small.post("2025-03-20T03:00:00", "rent", "bank")
    late = small.sync()
    assert (late.ties, [note.startswith(changed) for note in late.notes]) == (True, [True])
    extended = small.sync(start_date="2025-03-01")
    assert (extended.ties, extended.notes) == (True, ())
    small.check()


def test_texts_are_found_in_recent_days_and_in_turn(small):
    days_since = (dt.datetime.now(dt.UTC).date() - dt.date(2025, 4, 1)).days
    for number, (options, found) in enumerate(
        [
            ({"months_a_night": 0}, 0),
            ({"months_a_night": 0, "lookback_days": days_since}, 2),
            ({"months_a_night": 1}, 0),  # of March
            ({"months_a_night": 1}, 2),
        ]
    ):
        entry = "id = '2025-04-10' AND instance_pk = (SELECT max(pk) FROM instances)"
        small.service.execute(f"UPDATE journal_entries SET description = 'text {number}' WHERE {entry}")  # noqa: S608
        assert small.sync(**options).changes.frame["lines"].sum() == found


@pytest.mark.parametrize("zone", ["Pacific/Apia", *also_long("Australia/Lord_Howe", "Africa/Cairo")])
def test_lines_at_ends_of_months_and_clock_changes_match(make_books, zone):
    small = make_books(zone)
    for when in ("03-29T12:00", "04-05T14:59", "04-24T21:30", "04-30T11:00"):
        small.post(f"2025-{when}:00", "rent", "bank")
    assert small.sync().ties
    small.post("2025-03-31T11:00:00", "rent", "bank")
    assert small.sync(months_a_night=0).ties
    small.check(str(small.local.period.start_date))


@pytest.mark.long
def test_ledgers_that_appear_between_syncs_are_found(make_books):
    small = make_books()
    fill(small, (1, 2, 3, 4))
    small.sync()
    small.add("second_bank")
    small.add("parent", "expense")
    small.add("child", "expense", parent_id="parent")
    small.post("2025-02-12T03:00:00", "child", "second_bank")
    assert small.sync(months_a_night=0).ties
    small.check()
    small.add("later", "expense", parent_id="parent")
    small.post("2025-03-12T03:00:00", "later", "rent")
    assert small.sync(months_a_night=4).ties
    small.check()
    found = small.local.ledgers().set_index("id")["parent_id"]
    assert (found["child"], found["later"]) == ("parent", "parent")


@pytest.mark.parametrize("months", [0, *also_long(1)])
def test_ledgers_without_lines_are_those_of_the_service(make_books, months):
    small = make_books()
    small.add("reserve")
    small.add("accounts")
    small.add("checking", parent_id="accounts")
    small.add("costs", "expense")
    small.add("fees", "expense", parent_id="costs")
    fill(small)
    small.post("2025-03-12T03:00:00", "fees", "checking")
    small.sync()
    shown = ["name", "sort_code", "report_cash_flow", "type", "parent_id", "sub_type", "editable"]

    def rows(of):
        return of.set_index("id")[shown].astype(object).where(lambda frame: frame.notna(), None).to_dict("index")

    for number in range(2):
        small.change_ledger("accounts", name=f"Bank accounts {number}", sort_code=f"{9 - number}000")
        small.change_ledger("reserve", name=f"Reserve {number}", sort_code=f"{7 - number}000")
        small.change_ledger("costs", name=f"All costs {number}", sort_code=f"{8 - number}000")
        assert small.sync(months_a_night=months).ties
        expected = aa.discover_ledgers(small.client, "2025-03-01", END)
        assert rows(small.local.ledgers()) == rows(expected)
        assert list(small.local.ledgers()["id"]) == list(expected["id"])
        assert f": Reserve {number}." in " ".join(small.local.ledgers().attrs["notes"])
        report, reported = (
            small.local.report(small.local.period),
            aa.load_cash_flow_report(small.client, "2025-03-01", END),
        )
        for table in ("ledgers", "starting_balances", "ending_balances"):
            pd.testing.assert_frame_equal(getattr(report, table), getattr(reported, table))
    small.add("vault")
    assert small.sync(months_a_night=months).ties
    assert small.local.ledgers().set_index("id").loc["vault", ["name", "report_cash_flow"]].tolist() == ["vault", True]


def test_ledger_below_another_parent_is_read_again(make_books):
    small = make_books()
    for parent in ("costs", "overhead"):
        small.add(parent, "expense")
    small.add("fees", "expense", parent_id="costs")
    fill(small)
    small.post("2025-03-12T03:00:00", "fees", "bank")
    small.post("2025-03-13T03:00:00", "overhead", "bank")
    small.sync()
    ((key,),) = small.service.execute("SELECT max(pk) FROM ledgers WHERE id = 'overhead'")
    small.change_ledger("fees", parent_pk=key)
    assert small.sync(months_a_night=0).ties
    assert small.local.ledgers().set_index("id").loc["fees", "parent_id"] == "overhead"


def test_fields_of_ledgers_that_have_no_lines_in_the_books_stay(make_books):
    small = make_books()
    small.add("debts", "liability")
    small.add("mortgage", "liability", parent_id="debts")
    small.post("2025-02-10T03:00:00", "mortgage", "bank")
    small.post("2025-04-10T03:00:00", "rent", "bank")
    small.sync(start_date="2025-04-01")
    before = small.local.ledgers()
    assert before.set_index("id").loc["mortgage", "parent_id"] == "debts"
    small.sync()
    pd.testing.assert_frame_equal(small.local.ledgers(), before)


@pytest.mark.parametrize("months", [0, *also_long(1)])
def test_an_entry_between_a_new_ledger_and_a_known_one_is_whole(small, months):
    small.add("accrued", "liability")
    small.add("bonus", "expense")
    small.post("2025-03-12T03:00:00", "loan", "accrued")
    small.service.post(small.instance_id, ("2025-03-13", {"rent": 5, "bonus": 5, "accrued": -10}, "bonus"))
    small.post("2025-04-12T03:00:00", "accrued", "bank")
    result = small.sync(months_a_night=months)
    assert (result.ties, result.complete) == (True, True), result.explain()
    small.check()
    books = aa.load_books(small.local, ("2025-03-01", END))
    assert aa.recompute_cash_flow(books).ending_cash_balance == -30
    assert aa.balance_sheet(books).frame is not None
    assert result.requests <= 40


def test_a_month_with_half_an_entry_does_not_tie(small):
    half = "(SELECT max(pk) FROM line_entries WHERE journal_entry_pk = (SELECT max(pk) FROM journal_entries))"
    small.service.execute(f"UPDATE line_entries SET units = units + 1 WHERE pk = {half}")  # noqa: S608
    result = small.sync(months_a_night=2)
    assert (result.ties, result.complete) == (False, False)
    assert "1 of 2 months have journal entries that are not complete; first 2025-04: 1 does not" in result.verdict
    assert "not complete" in small.local.month_proofs(small.local.period)["2025-04"].verdict


def test_entries_after_the_last_day_are_no_first_day(make_books):
    small = make_books()
    small.post("2025-04-10T03:00:00", "rent", "bank")
    assert small.sync(end_date="2025-03-15").ties
    assert (str(small.local.period.start_date), str(small.local.period.end_date)) == ("2025-03-01", "2025-03-15")
    assert len(small.local.line_entries()) == 0


def test_filters_are_those_of_the_service(make_books):
    small = make_books()
    tags = "project=a", "project=b"
    small.post("2025-04-10T03:00:00", "rent", "bank", tags[0])
    small.post("2025-04-11T03:00:00", "rent", "loan", *tags)
    small.post("2025-04-12T03:00:00", "loan", "bank", tags[1])
    small.sync()
    ids = sorted({one for text in small.local.line_entries()["tag_ids"] if text for one in text.split("|")})
    for is_cashflow, tag_ids in ((None, ids[:1]), (True, None), (False, ids[1:]), (True, ids[1:]), (None, ids)):
        options = {"is_cashflow": is_cashflow, "tag_ids": tag_ids}
        fresh = aa.load_line_entries(small.client, small.local.ledgers()["id"], "2025-04-01", END, **options)
        pd.testing.assert_frame_equal(small.local.line_entries(**options), fresh)
    with pytest.raises(InputError, match="the local books have no ledger rnet"):
        small.local.line_entries(ledger_ids=["rnet"])


@pytest.mark.parametrize("entries_start", [dt.date(2025, 3, 1), *also_long(dt.date(2024, 1, 1))])
def test_service_that_refuses_early_days_needs_a_first_day(make_books, entries_start):
    small = make_books(entries_start=entries_start)
    fill(small)
    with pytest.raises(InputError, match=rf"refuses days before {entries_start}, .*: give it as start_date"):
        small.sync()
    for _ in range(2):
        assert small.sync(start_date="2025-03-01").ties
        assert small.local.books_start is None
    small.check()
    assert len(small.local.line_entries()) == 8


def test_ledgers_of_the_year_before_are_known(make_books):
    small = make_books()
    small.post("2025-02-10T03:00:00", "loan", "bank")
    small.post("2025-04-10T03:00:00", "rent", "bank")
    assert small.sync(start_date="2025-04-01").ties
    assert {"bank", "rent", "loan"} <= set(small.local.ledgers()["id"])
