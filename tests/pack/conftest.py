"""Packs of books that were loaded, or made of line entries."""

import functools

import pytest

import accounting_analytics as aa
from accounting_analytics.client.settings import Presentation
from accounting_analytics.pack.loaded_books import LoadedBooks, load_books
from accounting_analytics.pack.monthly_pack import PageOptions, pack_of_books
from accounting_analytics.pack.pack_periods import PackPeriods


@pytest.fixture(scope="session")
def load_month(demo_company):
    """Return a function that loads the demo's books for the pack of a month, and the periods of the pack."""

    @functools.cache
    def load(month):
        periods = PackPeriods.around(aa.Period.parse(month, time_zone=demo_company.time_zone), 1)
        return load_books(demo_company.client, periods, demo_company.start_date, progress=False), periods

    return load


@pytest.fixture(scope="session")
def make_pack():
    """Return a function that makes the pack of loaded books."""
    return lambda books, periods, **options: pack_of_books(
        books, periods, Presentation("Company"), PageOptions(**options)
    )


@pytest.fixture(scope="session")
def pack_of_lines(make_pack):
    """Return a function that makes the pack of a period of books with a first day, of which no report was compared."""

    def make(lines, ledgers, period, books_start, *, first_month=1):
        sides = ["debit" if amount >= 0 else "credit" for amount in lines["signed_amount"]]
        lines = lines.assign(amount=lines["signed_amount"].abs(), debit_credit=sides)
        lines["ledger_name"] = lines["ledger_id"].map(dict(zip(ledgers["id"], ledgers["name"], strict=True)))
        texts = ["id", "ledger_id", "journal_entry_id", "journal_entry_description", "debit_credit"]
        lines = lines.astype(dict.fromkeys(texts, "str"))
        days = aa.Period(books_start, period.end_date, period.time_zone)
        loaded = LoadedBooks(ledgers, lines, days, books_start, None, aa.check_completeness(lines), {}, (), {})
        return make_pack(loaded, PackPeriods.around(period, first_month))

    return make
