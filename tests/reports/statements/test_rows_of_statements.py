"""Rows of a statement: how they are found, what a parent is, sections, depth, and what is stated below."""

import datetime as dt
from decimal import Decimal

import openpyxl
import pytest
from books_strategy import INFLOW, OPENING, OUTFLOW, TRANSFERS, books, ledger_frame, line_table, requests
from hypothesis import given, settings
from naive_statements import BALANCE, CASH, INCOME, NaiveBooks, NaiveLedger, NaiveLine
from statement_checks import row_key, row_units, shown_keys, statement_of

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

LEDGERS = (
    *(TRANSFERS, OPENING, INFLOW, OUTFLOW),
    NaiveLedger("bank", "Bank", "asset", "current_assets", is_cash=True, account="bank_account"),
    NaiveLedger("x", "Expenses", "expense", "operating_expenses"),
    NaiveLedger("home", "Home", "expense", "operating_expenses", parent="x"),
    NaiveLedger("rent1", "Rent", "expense", "operating_expenses", parent="home"),
    NaiveLedger("office", "Office", "expense", "operating_expenses", parent="x"),
    NaiveLedger("rent2", "Rent", "expense", "operating_expenses", parent="office"),
    NaiveLedger("rent3", "Rent", "expense", "other_expenses"),
    NaiveLedger("memo", "Memo", "memorandum", "memorandum"),
)


def small(*pairs, ledgers=LEDGERS):
    """Books of entries (ledger, units) paid by the bank in January 2025."""
    instant = dt.datetime(2025, 1, 15, 12, tzinfo=dt.UTC)
    lines = []
    for entry, (ledger, amount) in enumerate(pairs):
        lines.append(NaiveLine(f"le{entry}a", ledger, f"je{entry}", instant, amount))
        lines.append(NaiveLine(f"le{entry}b", "bank", f"je{entry}", instant, -amount))
    return NaiveBooks(ledgers, lines, "UTC")


def of_january(function, naive):
    """Statement of January 2025."""
    frames = line_table(naive).to_pandas(), ledger_frame(naive)
    return function(aa.Books(*frames, "2025-01", time_zone="UTC", opening="2025-01-01"))


def test_rows_are_found_by_id_path_or_unique_name():
    statement = of_january(aa.income_statement, small(("rent1", 100), ("rent2", 200), ("home", 50), ("x", 7)))
    assert statement["rent1", "2025-01"].exact() == 1
    assert statement["Expenses:Office:Rent"].exact() == 2
    with pytest.raises(InputError) as ambiguous:
        statement["Rent"]
    for text in ("Expenses:Home:Rent", "Expenses:Office:Rent", "rent1", "rent2"):
        assert text in str(ambiguous.value)
    one = of_january(aa.income_statement, small(("rent1", 100)))
    assert one["Rent"].exact() == 1  # unique in this statement


@pytest.mark.parametrize("index", [1, 2], ids=["one", "both"])
def test_suspense_is_stated_under_the_income_statement(index):
    statement = of_january(aa.income_statement, small(("rent1", 100), *[("outflow", 1234), ("inflow", -5000)][:index]))
    assert statement.value("net_income", "2025-01") == Decimal(-1)
    keys = [row.key for row in statement.rows]
    below = keys[keys.index("net_income") + 1 :]
    assert [one for one in below if one in {"inflow", "outflow"}] == ["inflow", "outflow"][-index:]
    assert below[0] == "not_categorized"
    assert row_units(statement, below[0]) == [-1234 if index == 1 else 3766]
    assert statement.rows[keys.index("not_categorized")].label == "Not categorized (in less out)"
    nothing = of_january(aa.income_statement, small(("rent1", 100)))
    assert nothing["not_categorized"].amount == 0
    assert nothing.rows[-1].key == "not_categorized"


def test_undecided_payments_are_said_to_be_no_assets(tmp_path):
    sheet = of_january(aa.balance_sheet, small(("rent1", 100), ("outflow", 1234)))
    assert sheet["total_assets"].units == sheet["suspense"].units + sheet["current_assets"].units == -100
    sheet.to_excel(tmp_path / "sheet.xlsx")
    cells = [row[0] for row in openpyxl.load_workbook(tmp_path / "sheet.xlsx")["Balance sheet"].values]
    for text in (str(sheet), sheet._repr_html_(), "\n".join(filter(None, cells))):
        assert "In suspense: not decided, not assets" in text
        assert "Total in suspense, not assets" in text
        assert "In suspense are payments and receipts that are not decided" in text
    assert "suspense" not in str(of_january(aa.balance_sheet, small(("rent1", 100))))


def test_an_unknown_type_makes_totals_not_known():
    naive = small(("rent1", 100), ("memo", 500))
    income, balance = of_january(aa.income_statement, naive), of_january(aa.balance_sheet, naive)
    assert income.value("net_income", "2025-01") is None
    assert balance.value("total_assets", "2025-01") is None
    assert income["Rent"].exact() == 1
    assert of_january(aa.cash_flow_statement, naive)["Memo"].exact() == -5


def test_rows_without_movement_are_left_out_and_counted():
    statement = of_january(aa.income_statement, small(("rent1", 100)))
    assert {row.key for row in statement.rows if row.kind == "ledger"} == {"rent1"}  # and those that are its section
    assert "6 ledgers without amounts left out." in statement.notes  # suspense, memo, office, two rents


def test_an_unknown_sub_type_is_a_section_of_its_type():
    ledgers = (*LEDGERS, NaiveLedger("tax", "Tax", "expense", "income_taxes"))
    naive = small(("rent1", 100), ("tax", 250), ledgers=ledgers)
    statement = of_january(aa.income_statement, naive)
    assert row_units(statement, "operating_income") == [-100]
    assert row_units(statement, "net_income") == [-350]
    (row,) = [row for row in statement.rows if row.key == row_key(statement, "tax")]
    assert row.section not in {one.section for one in statement.rows if "rent1" in one.ledger_ids}
    assert any(note.startswith("Other (expense) has 1 ledger of type expense") for note in statement.notes)


@pytest.mark.parametrize("kind", [INCOME, BALANCE, CASH])
@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_depth_hides_rows_but_not_amounts(kind, naive, request):
    whole, top = statement_of(kind, naive, request), statement_of(kind, naive, request, depth=1)
    for key in shown_keys(top):
        assert row_units(top, key) == row_units(whole, key)
    levels = {(row.section, row.level) for row in top.rows if row.kind == "ledger"}
    assert len(levels) == len({section for section, _ in levels})
    assert not [row for row in top.rows if row.kind == "own"]
    others = [{row.key for row in one.rows if row.kind not in {"ledger", "own"}} for one in (whole, top)]
    assert others[0] == others[1]


@settings.get_profile("slow")
@given(naive=books(), request=requests())
def test_favourable_is_more_of_cash_income_and_assets(naive, request):
    income, sheet, cash = (statement_of(kind, naive, request) for kind in (INCOME, BALANCE, CASH))
    signs = {"revenue": 1, "expense": -1, "asset": 1, "equity": 1, "liability": -1}
    for statement in (income, sheet):
        for row in [one for one in statement.rows if one.kind in {"ledger", "own"}]:
            ledger = naive.ledgers[row.ledger_ids[0]]
            if not ledger.is_required:
                assert row.favourable == signs[ledger.type]
    assert {row.favourable for row in cash.rows if row.kind == "ledger"} <= {1}


def test_given_periods_are_columns_and_prior_is_the_same_dates():
    at = lambda day: dt.datetime.combine(day, dt.time(12), dt.UTC)  # noqa: E731 (short)
    days = [dt.date(2025, month, day) for month, day in ((1, 31), (2, 11), (2, 12), (2, 28), (3, 11))]
    lines = []
    for number, day in enumerate(days):
        lines.append(NaiveLine(f"le{number}a", "rent1", f"je{number}", at(day), 10**number))
        lines.append(NaiveLine(f"le{number}b", "bank", f"je{number}", at(day), -(10**number)))
    naive = NaiveBooks(LEDGERS, lines, "UTC")
    frames = line_table(naive).to_pandas(), ledger_frame(naive)
    month = aa.income_statement(aa.Books(*frames, time_zone="UTC"), ("2025-03-01", "2025-03-11"), compare=["prior"])
    assert [month.value("rent1", column.key) for column in month.columns] == [Decimal(100), Decimal("0.10")]
    books = aa.Books(*frames, time_zone="UTC", opening="2024-01-01")
    sheet = aa.balance_sheet(books, "2025-02", compare=["prior"])
    assert [sheet.value("bank", column.key) for column in sheet.columns] == [Decimal("-11.11"), Decimal("-0.01")]
    given = [aa.Period("2025-01-31", "2025-02-11"), aa.Period("2025-02-12", "2025-02-12")]
    two = aa.income_statement(aa.Books(*frames, time_zone="UTC"), columns=given, compare=["total"])
    assert [two.value("rent1", column.key) for column in two.columns] == [Decimal("0.11"), Decimal(1), Decimal("1.11")]
