"""A draft of a budget: the last twelve months, with what recurs at its latest amount, as a file to edit."""

import openpyxl
import pandas as pd
import pytest
from payee_books import LEDGERS, frame_of, paid

import accounting_analytics as aa
from accounting_analytics.core.errors import IncompleteLoadError, InputError, PeriodError

MONTHS = [f"2025-{month:02}" for month in range(1, 13)]


def days(day, months):
    """Return the day of some months of 2025."""
    return [f"{month:02}-{day:02}" for month in months]


def entries():
    """Return a year: rent that rose, a new subscription, one that ended, sales that vary, and a purchase."""
    wages = [
        paid(day, cents=-(400_000 + 1_000 * number), counterparty="PAYROLL", ledger="wages")[0]
        for number, day in enumerate(days(28, range(1, 13)))
    ]
    sales = [
        paid(day, cents=900_000 + 77_700 * number, counterparty="SHOP", ledger="sales")[0]
        for number, day in enumerate(days(20, range(1, 13)))
    ]
    return [
        *paid(*days(1, range(1, 10))),
        *paid(*days(1, range(10, 13)), cents=-340_000),
        *paid(*days(9, range(8, 13)), cents=-9_900, counterparty="ZOOM"),
        *paid(*days(11, range(1, 7)), cents=-5_000, counterparty="GYM"),
        *paid("06-15", cents=-120_000, counterparty="OVEN MAKER"),
        *wages,
        *sales,
    ]


def books_of_2025(lines=None, last="2025-12-31"):
    """Return books of the year, and of the next, until a day."""
    lines = frame_of(entries()) if lines is None else lines
    ledgers = LEDGERS.assign(editable=True, created_at=pd.NaT)
    return aa.Books(lines, ledgers, ("2025-01-01", last), time_zone="UTC", opening="2025-01-01")


def drafted(draft, ledger):
    return draft[draft["ledger"] == ledger].set_index("month")["amount"].round(2).to_dict()


def test_a_month_is_that_of_the_last_year_with_what_recurs_at_its_latest_amount():
    draft = aa.draft_budget(books_of_2025(), "2026")
    assert list(draft.columns) == ["ledger", "month", "amount", "note"]
    assert drafted(draft, "Rent") == {
        f"2026-{month:02}": 3_499.00 + (1_200 if month == 6 else 0) for month in range(1, 13)
    }
    assert drafted(draft, "Sales") == {f"2026-{month:02}": 9_000 + 777 * (month - 1) for month in range(1, 13)}
    assert drafted(draft, "Wages")["2026-03"] == 4_020
    notes = draft.set_index(["ledger", "month"])["note"]
    assert notes["Rent", "2026-06"] == "OAK STREET 3,400.00; ZOOM 99.00"
    assert notes["Sales", "2026-06"] == ""
    assert aa.notes(draft) == (
        "Of Jan 2025 to Dec 2025, with 2 counterparties at their latest amount.",
        "Left out, because they have stopped: GYM.",
    )


def test_a_month_without_lines_has_no_amount():
    lines = [one for one in entries() if one.text in {"SHOP", "OVEN MAKER"}]
    draft = aa.draft_budget(books_of_2025(frame_of(lines)), "2026-05/2026-07")
    of_rent = draft[draft["ledger"] == "Rent"]
    assert of_rent["amount"].isna().tolist() == [True, False, True]
    assert not (draft["amount"] == 0).any()


@pytest.mark.parametrize("name", ["budget.csv", "budget.xlsx"])
def test_the_file_is_read_as_the_table_is(tmp_path, name):
    draft = aa.draft_budget(books_of_2025(), "2026", path=tmp_path / name)
    given = [
        aa.income_statement(books_of_2025(), "2026-07/2026-09", budget=one).frame for one in (draft, tmp_path / name)
    ]
    pd.testing.assert_frame_equal(*given)
    assert given[0].set_index("key").loc["net_income", "2026-07 budget"] > 0
    with pytest.raises(InputError, match=r"exists, and may have been edited: name another file; nothing was written"):
        aa.draft_budget(books_of_2025(), "2026", path=tmp_path / name)
    if name.endswith("xlsx"):
        sheet = openpyxl.load_workbook(tmp_path / name).active
        assert [cell.value for cell in sheet[1]] == ["ledger", "month", "amount", "note"]
    with pytest.raises(InputError, match=r"must end in \.csv or \.xlsx"):
        aa.draft_budget(books_of_2025(), "2026", path=tmp_path / "budget.txt")


def test_the_twelve_months_are_the_last_whole_ones_before_the_budget():
    later = books_of_2025(frame_of([*entries(), *paid("2026-01-01", cents=-340_000)]), "2026-01-20")
    for period in ("2026", "2027"):
        assert aa.notes(aa.draft_budget(later, period))[0].startswith("Of Jan 2025 to Dec 2025, ")
    with pytest.raises(
        IncompleteLoadError, match="takes Dec 2024 to Nov 2025, and the books begin on 1 Jan 2025; load"
    ):
        aa.draft_budget(later, "2025-12")
    with pytest.raises(PeriodError, match="is a part of a month"):
        aa.draft_budget(later, "2026", as_of="2025-12-15")
    with pytest.raises(PeriodError, match="is a part of a month"):
        aa.draft_budget(later, ("2026-01-01", "2026-01-15"))


def test_own_amounts_of_a_parent_are_no_total(tmp_path):
    ledgers = LEDGERS.assign(
        editable=True, created_at=pd.NaT, parent_id=["rent" if one == "wages" else None for one in LEDGERS["id"]]
    )
    year = aa.Books(frame_of(entries()), ledgers, ("2025-01-01", "2025-12-31"), time_zone="UTC", opening="2025-01-01")
    draft = aa.draft_budget(year, "2026", path=tmp_path / "budget.csv")
    assert set(draft["ledger"]) == {"own:Rent", "Rent:Wages", "Sales"}
    income = aa.income_statement(year, "2026-01", budget=tmp_path / "budget.csv")
    assert income["Rent", "2026-01 budget"].amount == 3_499 + 4_000
    assert income["outside_budget", "2026-01"].amount == 0


def test_other_sides_and_entries_without_cash_keep_their_amounts(demo_company):
    loaded = aa.load_books(demo_company.client, progress=False)
    draft = aa.draft_budget(loaded, "2027")
    assert drafted(draft, "Expenses:Running the Business:Depreciation")["2027-05"] == 1_590
    assert drafted(draft, "Expenses:Premises:Rent") == {f"2027-{month:02}": 7_900 for month in range(1, 13)}
    income = aa.income_statement(loaded, "2025-07/2026-06").tidy()
    earning = income[income["section"] != "not_categorized"].groupby("path")["amount"].sum().round(2)
    same = draft[draft["ledger"].isin(["Income:Sales:Cafe Sales", "Expenses:Cost of Goods:Coffee Sold"])]
    assert same.groupby("ledger")["amount"].sum().round(2).to_dict() == earning[same["ledger"].unique()].to_dict()
    assert {loaded.names.find(ledger) for ledger in draft["ledger"]} <= set(loaded.names.ids)
