"""Budget against actual: what a person states, its totals and differences, and every way in which it is refused."""

import datetime as dt
import re
from decimal import Decimal
from typing import NamedTuple

import duckdb
import openpyxl
import pandas as pd
import polars as pl
import pytest
from books_strategy import books, ledger_frame, line_table
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_statements import CASH, INCOME
from payee_books import frame_of, paid
from statement_checks import BOOKS_START, FUNCTIONS, whole_units

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, PeriodError

LEDGERS = pd.DataFrame(
    [
        ("bank", "Bank", "asset", "current_assets", "debit", "bank_account", True, None),
        ("sales", "Sales", "revenue", "operating_revenues", "credit", None, False, None),
        ("premises", "Premises", "expense", "operating_expenses", "debit", None, False, None),
        ("rent", "Rent", "expense", "operating_expenses", "debit", None, False, "premises"),
        ("power", "Power", "expense", "operating_expenses", "debit", None, False, "premises"),
        ("fees", "Fees", "expense", "operating_expenses", "debit", None, False, None),
        ("fees2", "Fees", "expense", "other_expenses", "debit", None, False, None),
        ("split", "Costs", "expense", "operating_expenses", "debit", None, False, None),
        ("goods", "Beans", "expense", "cost_of_goods_sold", "debit", None, False, "split"),
        ("tea", "Tea", "expense", "operating_expenses", "debit", None, False, "split"),
        ("loan", "Loan", "liability", "non-current_liabilities", "credit", "loan", False, None),
    ],
    columns=[
        "id",
        "name",
        "type",
        "sub_type",
        "debit_credit",
        "financial_account_type",
        "report_cash_flow",
        "parent_id",
    ],
).assign(is_required=False, sort_code=[f"{number:02}" for number in range(11)])
SUFFIXES = ("", " budget", " difference", " difference_pct")
QUARTER = ("2025-01-01", "2025-03-31")


def small_books(ledgers=LEDGERS):
    """Return books of a quarter: sales and rent each month, power in January, fees in March."""
    entries = [
        *(paid(f"{month}-05", cents=500_000, counterparty="SHOP", ledger="sales")[0] for month in ("01", "02", "03")),
        *(paid(f"{month}-01", cents=-210_000)[0] for month in ("01", "02", "03")),
        *paid("01-20", cents=-15_050, counterparty="GRID", ledger="power"),
        *paid("03-09", cents=-4_000, counterparty="BANK", ledger="fees"),
    ]
    entries = [one._replace(entry_id=f"je{number}") for number, one in enumerate(entries)]
    return aa.Books(frame_of(entries), ledgers, QUARTER, time_zone="UTC", opening="2025-01-01")


def budget_of(*rows):
    """Return a budget of rows of ledger, month and amount."""
    return pd.DataFrame(rows, columns=["ledger", "month", "amount"])


STATED = budget_of(
    ("Sales", "2025-01", 4_800), ("Rent", "2025-01", 2_000), ("Power", "2025-01", Decimal("150.50")),
    ("Sales", "2025-02", 5_200), ("Premises", "2025-02", 2_300),
)  # fmt: skip
"""Leaves in January, a parent in February, nothing in March."""


def amounts(statement, row, *columns):
    """Return exact amounts of a row as texts; empty where there is none."""
    return [None if text is None else f"{text:f}" for text in (statement[row, column].exact() for column in columns)]


def test_budget_difference_and_percent_stand_beside_each_period():
    income = aa.income_statement(small_books(), QUARTER, budget=STATED)
    heads = [f"2025-01{suffix}" for suffix in SUFFIXES]
    assert [one.key for one in income.columns][:5] == [*heads, "2025-02"]
    assert amounts(income, "Sales", *heads) == ["5000.00", "4800.00", "200.00", "4.2"]
    assert amounts(income, "Rent", *heads) == ["2100.00", "2000.00", "100.00", "5.0"]
    assert amounts(income, "Power", *heads) == ["150.50", "150.50", "0.00", "0.0"]
    assert amounts(income, "Premises", *heads) == ["2250.50", "2150.50", "100.00", "4.7"]
    assert amounts(income, "net_income", *heads) == ["2749.50", "2649.50", "100.00", "3.8"]
    assert amounts(income, "outside_budget", *heads) == ["0.00", None, None, None]
    assert amounts(income, "Premises", "2025-02", "2025-02 budget") == ["2100.00", "2300.00"]
    assert amounts(income, "Rent", "2025-02", "2025-02 budget", "2025-02 difference") == ["2100.00", None, None]
    assert amounts(income, "net_income", "2025-03", "2025-03 budget", "2025-03 difference") == ["2860.00", None, None]
    assert amounts(income, "outside_budget", "2025-03") == [None]
    assert income["Rent", "2025-03 budget"].text == ""
    assert any(
        "no amounts for 2025-03: columns with such a month have no budget, not zero" in one for one in income.notes
    )
    frame = income.frame.set_index("key")
    assert frame["2025-01 favourable"].astype(object).where(frame["2025-01 favourable"].notna(), None).to_dict() == {
        **dict.fromkeys(frame.index), "sales": True, "operating_revenues": True, "gross_profit": True, "rent": False,
        "premises": False, "operating_expenses": False, "operating_income": True, "net_income": True,
    }  # fmt: skip


def test_what_is_booked_outside_of_the_budget_has_its_entries():
    budget = pd.concat([STATED, budget_of(("Sales", "2025-03", 5_000))])
    income = aa.income_statement(small_books(), QUARTER, columns="quarter", budget=budget)
    outside = income["outside_budget", "2025-Q1"]
    assert outside.exact() == Decimal("-2140.00")
    assert sorted(outside.entries["ledger_id"]) == ["fees", "rent"]
    assert outside.entries["figure_amount"].sum() == -2140
    assert amounts(income, "net_income", "2025-Q1", "2025-Q1 budget", "2025-Q1 difference") == [
        "8509.50", "10549.50", "-2040.00",
    ]  # fmt: skip


def test_a_total_has_its_budget_too():
    days = ("2025-01-01", "2025-02-28")
    income = aa.income_statement(small_books(), days, compare=["total", "budget"], budget=STATED)
    assert [one.key for one in income.columns][-4:] == [
        "total",
        "total budget",
        "total difference",
        "total difference_pct",
    ]
    assert amounts(income, "Premises", "total", "total budget", "total difference") == ["4350.50", "4450.50", "-100.00"]
    whole = aa.income_statement(small_books(), QUARTER, compare="total", budget=STATED)
    assert amounts(whole, "Premises", "total", "total budget") == ["6450.50", None]


def test_a_ledger_with_a_budget_is_shown_without_entries():
    budget = budget_of(("fees2", "2025-01", 80), ("Beans", "2025-01", 0), ("Sales", "2025-01", -100))
    income = aa.income_statement(small_books(), "2025-01", budget=budget)
    assert "fees2" in [one.key for one in income.rows]
    assert amounts(income, "fees2", "2025-01", "2025-01 budget", "2025-01 difference") == ["0.00", "80.00", "-80.00"]
    assert (income["Beans", "2025-01 budget"].text, income["Beans", "2025-01 difference_pct"].text) == (
        "\N{EN DASH}",
        "not known",
    )
    assert amounts(income, "Sales", "2025-01 difference", "2025-01 difference_pct") == ["5100.00", "5100.0"]
    base = income["Sales", "2025-01 difference_pct"].terms[1]
    assert (base.exact(), base.terms[0].exact()) == (Decimal("100.00"), Decimal("-100.00"))


def test_a_margin_needs_a_budget_of_every_section_with_amounts():
    sales, costs = budget_of(("Sales", "2025-01", 4_000)), budget_of(("Premises", "2025-01", 3_000))
    alone, both = (
        aa.income_statement(small_books(), "2025-01", budget=one) for one in (sales, pd.concat([sales, costs]))
    )
    assert (alone["net_margin", "2025-01 budget"].text, both["net_margin", "2025-01 budget"].text) == ("", "25.0%")
    assert both["net_margin", "2025-01 difference"].text == ""
    assert "Without any budget: Total operating expenses. Other totals are sums of what has one." in alone.notes


def test_every_figure_unfolds_to_the_rows_of_the_budget():
    income = aa.income_statement(small_books(), "2025-01", budget=STATED)
    (rent,) = income["Rent", "2025-01 budget"].terms
    assert (rent.label, rent.calculation) == ("Rent, Jan 2025 (budget, row 2)", "stated in budget, row 2")
    assert stated_rows(income["net_income", "2025-01 budget"]) == {1: 480_000, 2: -200_000, 3: -15_050}
    assert income["Rent", "2025-01 difference"].signed_terms() == [
        ("+", "Rent, Jan 2025", "2,100.00"), ("-", "Rent, Jan 2025 budget", "2,000.00"),
    ]  # fmt: skip
    page = income._repr_html_()
    assert "Rent, Jan 2025 (budget, row 2)" in page
    assert 'title="unfavourable">U&nbsp;</abbr>100.00' in page
    assert "U 100.00" in income.explain()


def test_a_tidy_table_has_what_is_stated_for_each_ledger():
    income = aa.income_statement(small_books(), QUARTER, compare="total", budget=STATED)
    tidy = income.tidy()
    budget = tidy[tidy["kind"] == "budget"].dropna(subset="amount")
    assert dict(zip(budget["of_column"] + " " + budget["name"], budget["amount"], strict=True)) == {
        "2025-01 Sales": 4_800, "2025-01 Rent": 2_000, "2025-01 Power": 150.5, "2025-02 Sales": 5_200,
        "2025-02 Premises": 2_300,
    }  # fmt: skip
    signs = budget["section"].map({"operating_revenues": 1, "operating_expenses": -1})
    of_month = (signs * budget["amount"]).groupby(budget["of_column"]).sum()
    assert of_month["2025-02"] == income["net_income", "2025-02 budget"].amount == 2_900


def test_a_figure_has_one_value_whatever_was_loaded(demo_books):
    rows = [(name, f"2026-{month:02}", 1_000 * month) for name in ("Rent", "Cafe Sales") for month in (3, 4, 5)]
    budget, names = budget_of(*rows, ("People", "2026-05", 20_000)), ("Rent", "People", "net_income", "outside_budget")
    found = []
    for first, columns in (
        ("2026-05-01", "month"),
        ("2026-03-01", "month"),
        ("2026-03-01", ["2026-05", "2026-03/2026-05"]),
    ):
        loaded = aa.load_books(demo_books.client, (first, "2026-05-31"), since=first, reports=(), progress=False)
        income = aa.income_statement(loaded, columns=columns, budget=budget)
        found.append([amounts(income, name, *(f"2026-05{suffix}" for suffix in SUFFIXES)) for name in names])
    whole = aa.income_statement(aa.Books(demo_books.lines, demo_books.ledgers), "2026-05", budget=budget)
    found.append([amounts(whole, name, *(f"2026-05{suffix}" for suffix in SUFFIXES)) for name in names])
    assert found == [found[0]] * 4
    assert found[0][1][1] == "20000.00"


def test_the_own_amount_of_a_parent_stands_beside_those_below_it():
    budget = budget_of(("own:Premises", "2025-01", 10), ("Rent", "2025-01", 2_000), ("own:split", "2025-01", 7))
    income = aa.income_statement(small_books(), "2025-01", budget=budget)
    assert amounts(income, "Premises", "2025-01 budget") == ["2010.00"]
    assert amounts(income, "Costs", "2025-01 budget", "2025-01 difference") == ["7.00", "-7.00"]
    assert amounts(income, "own:premises", "2025-01 budget") == ["10.00"]
    assert amounts(income, "Power", "2025-01 budget") == [None]
    assert income["outside_budget", "2025-01"].entries["ledger_id"].tolist() == ["sales", "power"]


def stated_rows(figure, sign=1):
    """Rows of the budget that a figure is made of, each with its units and the sign they have in it."""
    if not figure.terms:
        found = re.search(r"row (\d+)\)$", figure.label)
        return {int(found[1]): sign * figure.units}
    rows = {}
    for term_sign, term in zip(figure.signs, figure.terms, strict=True):
        of_term = stated_rows(term, sign * (-1 if term_sign == "-" else 1))
        assert rows.keys().isdisjoint(of_term)
        rows |= of_term
    assert sum(rows.values()) == sign * figure.units
    return rows


def test_a_cash_flow_statement_has_the_same_budget():
    budget = pd.concat([STATED, budget_of(("Loan", "2025-01", 1_000))])
    cash = aa.cash_flow_statement(small_books(), "2025-01", budget=budget)
    columns = ["2025-01", "2025-01 budget", "2025-01 difference"]
    assert amounts(cash, "Rent", *columns) == ["-2100.00", "-2000.00", "-100.00"]
    assert amounts(cash, "Loan", *columns) == ["0.00", "1000.00", "-1000.00"]
    assert amounts(cash, "net_cash_flow", *columns) == ["2749.50", "3649.50", "-900.00"]
    assert amounts(cash, "ending_cash_balance", *columns) == ["2749.50", None, None]
    assert not cash.frame.set_index("key").loc["rent", "2025-01 favourable"]
    with pytest.raises(InputError, match="'Loan' has no budget here: in an income statement, ledgers of revenue and"):
        aa.income_statement(small_books(), "2025-01", budget=budget)


def written(frame, folder):
    """Write a budget as CSV of commas and semicolons, with guarded months, and as a workbook of texts and dates."""
    guarded = frame.assign(month="'" + frame["month"])
    frame.to_csv(folder / "budget.csv", index=False)
    guarded.to_csv(folder / "guarded.csv", index=False)
    frame.assign(amount=frame["amount"].map(lambda one: f"{one:.2f}".replace(".", ","))).to_csv(
        folder / "semicolons.csv", index=False, sep=";"
    )
    frame.to_excel(folder / "texts.xlsx", index=False)
    frame.assign(month=pd.to_datetime(frame["month"])).to_excel(folder / "dates.xlsx", index=False)
    return [folder / name for name in ("budget.csv", "guarded.csv", "semicolons.csv", "texts.xlsx", "dates.xlsx")]


def test_a_budget_is_read_of_any_table(tmp_path):
    shown = aa.income_statement(small_books(), QUARTER, budget=STATED).frame
    months = pd.PeriodIndex(STATED["month"], freq="M")
    frames = [
        STATED.astype({"amount": "float64"}).set_axis([7] * 5).assign(note="x")[["note", "amount", "month", "ledger"]],
        STATED.assign(month=months),
        STATED.assign(month=months.to_timestamp()),
        STATED.assign(ledger=["sales", "Premises:Rent", " power ", "SALES", "premises"]),
        pd.concat([STATED, budget_of(("Fees", "never", None), ("", "", float("nan")))]),
    ]
    for budget in (*frames, *written(STATED, tmp_path), str(tmp_path / "budget.csv")):
        pd.testing.assert_frame_equal(aa.income_statement(small_books(), QUARTER, budget=budget).frame, shown)
    income = aa.income_statement(small_books(), QUARTER, budget=tmp_path / "budget.csv")
    assert income["Rent", "2025-01 budget"].terms[0].label == "Rent, Jan 2025 (budget.csv, row 3)"


def test_rounding_noise_of_floats_is_removed_and_noted():
    income = aa.income_statement(small_books(), "2025-01", budget=budget_of(("Rent", "2025-01", 0.1 + 0.2)))
    assert amounts(income, "Rent", "2025-01 budget") == ["0.30"]
    assert "Of the budget: 1 amount had float rounding noise, which was removed." in income.notes


BOTH = (
    "'Premises:Rent' is below 'Premises', which has an amount for 2025-01 in row 1: it may be a part of that or come on"
)
REFUSED = {
    "an unknown ledger": ([("Rant", "2025-01", 1)], "row 1: no discovered ledger matches 'Rant'; did you mean 'Rent'?"),
    "an ambiguous ledger": (
        [("Fees", "2025-01", 1)],
        "row 1: several ledgers match 'Fees': 'Fees' (id fees), 'Fees' (id",
    ),
    "a ledger and month twice": (
        [("Rent", "2025-01", 1), ("Sales", "2025-01", 2), ("Premises:Rent", "2025-01", 3)],
        "row 3: 'Premises:Rent' has an amount for 2025-01 in row 1 already; give one of them, or their sum",
    ),
    "a parent beside its child": ([("Premises", "2025-01", 1), ("Rent", "2025-01", 2)], f"row 2: {BOTH}"),
    "a parent of several sections": (
        [("Costs", "2025-01", 1)],
        "row 1: 'Costs' has ledgers below it in other sections (Costs:Beans), and its amount may be of its own",
    ),
    "more digits than the currency": ([("Rent", "2025-01", Decimal("1.005"))], "row 1: amount 1.005 does not fit 2"),
    "floats with more digits": ([("Rent", "2025-01", 1.005)], "1 amount not in whole minor units at scale 2"),
    "texts as amounts": ([("Rent", "2025-01", "1.00")], "column 'amount' holds str, not exact amounts"),
    "another form of month": ([("Rent", "2025-1", 1)], "row 1: month: '2025-1' is not a month; write it as 2027-01"),
    "a month that a spreadsheet changed": ([("Rent", "Jan-25", 1)], "month: 'Jan-25' is not a month"),
    "a month that does not exist": ([("Rent", "2025-13", 1)], "month: '2025-13' is not a month"),
    "a day": ([("Rent", dt.date(2025, 1, 15), 1)], "month: 2025-01-15 is a day, not a month; write it as 2025-01"),
    "a quarter": ([("Rent", pd.Period("2025Q1"), 1)], "is not a month; write it as 2027-01"),
    "cash": ([("Bank", "2025-01", 1)], "'Bank' has no budget here: in an income statement, ledgers of revenue and"),
    "no amounts": ([("Rent", "2025-01", None)], "budget has no amount; a budget is a table, a CSV file or an Excel"),
    "no rows": ([], "budget has no amount"),
    "other months": (
        [("Rent", "2026-01", 1)],
        "budget has amounts from 2026-01 to 2026-01, and not for each month of any",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_refused(name):
    rows, text = REFUSED[name]
    with pytest.raises(InputError, match=re.escape(text)) as raised:
        aa.income_statement(small_books(), QUARTER, budget=budget_of(*rows))
    assert str(raised.value).startswith("budget")


def test_all_problems_of_a_file_are_named_together(tmp_path):
    path = tmp_path / "budget.csv"
    path.write_text("ledger,month,amount\nRent,2025-01,1.005\nRant,2025-02,1\nRent,2025/03,x\n,2025-04,5\n")
    with pytest.raises(InputError) as raised:
        aa.income_statement(small_books(), QUARTER, budget=path)
    lines = str(raised.value).splitlines()
    assert lines[0] == f"{path} cannot be used; correct these 4 problems:"
    assert [line.partition(":")[0] for line in lines[1:]] == ["row 2", "row 3", "row 4", "row 5"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "its first row is empty"),
        ("ledger,amount\nRent,1\n", "the first row lacks month"),
        ("ledger,2025-01\nRent,1\n", "the first row lacks amount, month; it has 1 other column, first '2025-01'"),
        ("ledger,month,month,amount\nRent,1,1,1\n", "a column appears twice: month"),
        ("ledger,month,amount\n", "budget.csv has no amount"),
        ("ledger,month,amount\nRent,2025-01,\n", "budget.csv has no amount"),
        ('ledger,month,amount\nRent,2025-01,"1,234"\n', "may have a decimal mark or a mark of thousands"),
    ],
)
def test_other_files_are_refused_with_what_a_budget_is(tmp_path, text, message):
    path = tmp_path / "budget.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        aa.income_statement(small_books(), QUARTER, budget=path)


@pytest.mark.parametrize("given", ["missing.csv", 5, pd.Series([1]), budget_of().drop(columns="month")])
def test_what_is_no_budget_is_refused(given):
    with pytest.raises(InputError, match=r"budget.*with the columns ledger, month"):
        aa.income_statement(small_books(), QUARTER, budget=given)


@pytest.mark.parametrize("columns", [None, ["2025-01-01/2025-01-15"], [("2025-01-01", "2025-02-10")]])
def test_a_part_of_a_month_is_refused_with_both_readings(columns):
    with pytest.raises(
        PeriodError, match=r"is a part of a month, whose budget may be that of .* 2025 or 1[05] of its \d"
    ):
        aa.income_statement(small_books(), ("2025-01-01", "2025-01-15"), columns=columns, budget=STATED)


def test_what_has_no_budget_says_so():
    found = small_books()
    with pytest.raises(InputError, match="compare: a budget is of what is booked in a month, and balances are not"):
        aa.balance_sheet(found, "2025-01", compare="budget")
    with pytest.raises(InputError, match="compare='budget' needs a budget: pass budget="):
        aa.income_statement(found, "2025-01", compare="budget")
    with pytest.raises(InputError, match="a budget is of all lines of a ledger, and tags are of some"):
        aa.cash_flow_statement(found, "2025-01", tag_ids="x", budget=STATED)
    with pytest.raises(InputError, match="a budget is of all lines of a ledger, and tags are of some"):
        aa.income_statement(found, "2025-01", columns="tag", budget=STATED)
    report = aa.recompute_cash_flow(found)
    with pytest.raises(InputError, match="one period to show: pass books to compare periods or a budget"):
        aa.cash_flow_statement(report, ledgers=LEDGERS, budget=STATED)


def test_a_workbook_calculates_the_differences(tmp_path):
    income = aa.income_statement(small_books(), "2025-01", budget=STATED)
    income.to_excel(tmp_path / "income.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "income.xlsx").worksheets[0]
    cells = {row[0].value: [cell.value for cell in row[1:5]] for row in sheet.iter_rows() if row[0].value}
    number = next(row[0].row for row in sheet.iter_rows() if row[0].value == "Rent")
    assert cells["Rent"][1:3] == [2000, f"=ROUND(B{number}-C{number},2)"]
    assert cells["Total operating expenses"][1].startswith("=ROUND(SUM(C")
    entries = openpyxl.load_workbook(tmp_path / "income.xlsx")["Entries"]
    assert entries.max_row == 1 + 3


FRAMES = {"pandas": lambda table: table.to_pandas(), "polars": pl.from_arrow, "duckdb": duckdb.from_arrow}
MONTHS = [f"{year}-{month:02}" for year in (2024, 2025) for month in range(1, 13)][:18]


class StatedRow(NamedTuple):
    """A row of a budget: a ledger with those below it, or its own amount alone."""

    ledger: str
    month: str
    units: int
    is_own: bool = False


@st.composite
def budgets(draw, naive, kind):
    """Draw amounts of ledgers: totals of one section, none above another amount of the month, and own amounts."""
    ledgers = naive.ledgers

    def above(one):
        while one := ledgers[one].parent:
            yield one

    def section(one):
        return naive.section(kind, one)

    usable = [one.id for one in ledgers.values() if not (one.is_required or one.is_cash) and section(one.id)]
    whole = {one for one in usable if all(section(other) == section(one) for other in ledgers if one in above(other))}
    parts = (st.sampled_from(usable), st.sampled_from(MONTHS), st.integers(-(10**12), 10**12), st.booleans())
    rows = draw(st.lists(st.builds(StatedRow, *parts), min_size=1, max_size=24, unique_by=lambda row: row[:2]))
    kept = []
    for drawn in rows:
        row = drawn._replace(is_own=drawn.is_own or drawn.ledger not in whole)
        others = [other for other in kept if other.month == row.month]
        is_below = any(not other.is_own and other.ledger in above(row.ledger) for other in others)
        if not is_below and (row.is_own or not any(row.ledger in above(other.ledger) for other in others)):
            kept.append(row)
    return kept


@pytest.mark.parametrize("kind", [INCOME, CASH])
@settings.get_profile("slow")
@given(naive=books(), data=st.data())
def test_random_budgets_sum_and_lose_nothing(kind, naive, data):
    rows = data.draw(budgets(naive, kind))
    unit = data.draw(st.sampled_from(["month", "quarter"]))
    frame = FRAMES[data.draw(st.sampled_from(list(FRAMES)))](line_table(naive))
    statement = statement_of_budget(kind, naive, rows, unit, frame)
    sides = {"asset": -1, "expense": -1} if kind == CASH else {}
    for column in [one for one in statement.columns if one.kind in {"period", "total"}]:
        months = {f"{month:%Y-%m}" for month in column.months}
        stated = {number: row for number, row in enumerate(rows, start=1) if row.month in months}
        is_covered = months <= {row.month for row in rows}
        for row in statement.figures.layout.by_key.values():
            budget, difference = (statement[f"{row.key}|{column.key} {name}"] for name in ("budget", "difference"))
            if row.kind not in {"ledger", "subtotal"} or row.key == "outside_budget":
                continue
            found = {number: one for number, one in stated.items() if is_covered and one.ledger in row.ledger_ids}
            if not found:
                assert (budget.units, budget.text, difference.text) == (None, "", "")
                continue
            signs = {number: sides.get(naive.ledgers[one.ledger].type, 1) for number, one in found.items()}
            assert stated_rows(budget) == {number: signs[number] * one.units for number, one in found.items()}
            assert difference.units == statement[f"{row.key}|{column.key}"].units - budget.units
        assert_nothing_lost(statement, column, naive, kind, stated if is_covered else None)


def statement_of_budget(kind, naive, rows, unit, frame):
    """Statement of the books with the budget of rows, from the first to the last month of it."""
    found = aa.Books(
        frame, ledger_frame(naive), ("2024-01-01", "2025-06-30"), time_zone=naive.zone,
        opening=None if kind == INCOME else BOOKS_START,
    )  # fmt: skip
    texts = [f"own:{row.ledger}" if row.is_own else row.ledger for row in rows]
    budget = budget_of(*((text, row.month, Decimal(row.units) / 100) for text, row in zip(texts, rows, strict=True)))
    compare, columns = ["total", "budget"], "month"
    covered = sorted({row.month for row in rows})
    if unit == "quarter":  # any months as one column
        columns = [(f"{covered[0]}-01", pd.Period(covered[0]).end_time.date())]
    return getattr(aa, FUNCTIONS[kind])(found, columns=columns, compare=compare, budget=budget)


def assert_nothing_lost(statement, column, naive, kind, stated):
    """Check that what is outside of the budget, and the actuals of what is in it, are the whole total."""
    total = "net_income" if kind == INCOME else "net_cash_flow"
    outside = statement[f"outside_budget|{column.key}"]
    if stated is None:
        assert outside.text == ""
        return
    covered = {
        (below, row.month)
        for row in stated.values()
        for below in ([row.ledger] if row.is_own else statement.figures.layout.by_key[row.ledger].ledger_ids)
    }
    counted = [
        line
        for line in naive.lines
        if naive.section(kind, line.ledger) not in {None, "suspense"}
        or (kind == CASH and naive.section(kind, line.ledger))
        if kind == INCOME or (line.entry in naive.entries_with_cash and line.entry not in naive.entries_of_openings)
        if f"{naive.days[line.id]:%Y-%m}" in {f"{month:%Y-%m}" for month in column.months}
    ]
    expected = {
        line.id: -line.units for line in counted if (line.ledger, f"{naive.days[line.id]:%Y-%m}") not in covered
    }
    entries = outside.entries
    units = {one: round(amount * 100) for one, amount in zip(entries["id"], entries["figure_amount"], strict=True)}
    assert units == expected
    within = -sum(line.units for line in counted if line.id not in expected)
    assert outside.units + within == whole_units(statement[f"{total}|{column.key}"].exact())
