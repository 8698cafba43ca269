"""Packs of the demo's books, and of line entries."""

import pytest
from may_budget import BUDGET

import accounting_analytics as aa


@pytest.fixture(scope="session")
def thousands_pack(load_month):
    """Return the pack of May 2026 in thousands."""
    return aa.monthly_pack(load_month("2026-05"), amounts_in="k")


@pytest.fixture(scope="session")
def thousands_workbook(thousands_pack, tmp_path_factory):
    """Return the workbook of the pack of May 2026 in thousands."""
    path = tmp_path_factory.mktemp("workbook") / "thousands.xlsx"
    thousands_pack.save_workbook(path)
    return path


@pytest.fixture(scope="session")
def planned_pack(load_month):
    """Return the pack of May 2026 with a budget and the ledger of depreciation."""
    return aa.monthly_pack(load_month("2026-05"), budget=BUDGET, depreciation=["Depreciation"])


@pytest.fixture(scope="session")
def pack_of_lines():
    """Return a function that makes the pack of a period of books with a first day, of which no report was compared."""

    def make(lines, ledgers, period, first_day, *, first_month=1, **options):
        sides = ["debit" if amount >= 0 else "credit" for amount in lines["signed_amount"]]
        lines = lines.assign(amount=lines["signed_amount"].abs(), debit_credit=sides)
        lines["ledger_name"] = lines["ledger_id"].map(dict(zip(ledgers["id"], ledgers["name"], strict=True)))
        texts = ["id", "ledger_id", "journal_entry_id", "journal_entry_description", "debit_credit"]
        lines = lines.astype(dict.fromkeys(texts, "str"))
        own = {"company": "Company", "fiscal_year_start_month": first_month}
        books = aa.Books(lines, ledgers, period, time_zone=period.time_zone, opening=first_day, **own)
        return aa.monthly_pack(books, allow_empty=True, **options)

    return make
