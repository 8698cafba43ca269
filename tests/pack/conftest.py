"""Packs of the demo's books, and of line entries."""

import functools

import pytest

import accounting_analytics as aa
from accounting_analytics.pack.pack_periods import PackPeriods


@pytest.fixture(scope="session")
def load_month(demo_company):
    """Return a function that loads the demo's books of a month, with the reports of all periods of its pack."""

    @functools.cache
    def load(month):
        periods = PackPeriods.around(aa.Period.parse(month, time_zone=demo_company.time_zone), 1)
        return aa.load_books(demo_company.client, periods.this, reports=periods.compared().values(), progress=False)

    return load


@pytest.fixture(scope="session")
def thousands_pack(load_month):
    """Return the pack of May 2026 in thousands."""
    return aa.monthly_pack(load_month("2026-05"), amounts_in="k")


@pytest.fixture(scope="session")
def pack_of_lines():
    """Return a function that makes the pack of a period of books with a first day, of which no report was compared."""

    def make(lines, ledgers, period, first_day, *, first_month=1):
        sides = ["debit" if amount >= 0 else "credit" for amount in lines["signed_amount"]]
        lines = lines.assign(amount=lines["signed_amount"].abs(), debit_credit=sides)
        lines["ledger_name"] = lines["ledger_id"].map(dict(zip(ledgers["id"], ledgers["name"], strict=True)))
        texts = ["id", "ledger_id", "journal_entry_id", "journal_entry_description", "debit_credit"]
        lines = lines.astype(dict.fromkeys(texts, "str"))
        options = {"company": "Company", "fiscal_year_start_month": first_month}
        books = aa.Books(lines, ledgers, period, time_zone=period.time_zone, opening=first_day, **options)
        return aa.monthly_pack(books, allow_empty=True)

    return make
