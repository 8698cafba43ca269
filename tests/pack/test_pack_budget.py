"""The section of a pack that compares with a budget: its figures are those of the statement, and can be checked."""

import dataclasses
import datetime as dt

import openpyxl
import pytest
from may_budget import BUDGET
from payee_books import LEDGERS, frame_of, paid
from recorded_figures import read_checked

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, PeriodError

COLUMNS = [f"2026-05{column}{suffix}" for column in ("", " to_date") for suffix in ("", " budget", " difference")]

SMALL = BUDGET.query("ledger == 'Rent'").replace(7_600, 3_000)
"""The budget of small books, whose rent is 3,200."""


@pytest.fixture(scope="module")
def pack_of_small_books(pack_of_lines):
    """Return a function that makes the pack of May 2026, or other days, of small books with options."""
    days = [f"2026-{month:02}-12" for month in range(1, 6)]
    lines = frame_of([*paid(*days), *paid("2026-05-13", cents=50_000, ledger="sales", counterparty="CAFE")])

    def make(days="2026-05", **options):
        period = aa.Period.parse(days, time_zone="UTC")
        return pack_of_lines(lines, LEDGERS, period, dt.date(2026, 1, 12), **options)

    return make


def test_figures_are_those_of_the_statement(planned_pack, load_month):
    books = load_month("2026-05")
    month = aa.income_statement(books, "2026-05", budget=BUDGET)
    to_date = aa.income_statement(books, "2026-01/2026-05", compare="total", budget=BUDGET)
    shown = planned_pack.figures.query("table == 'budget'").set_index("key")["amount"]
    ledgers = [books.names.find(name) for name in ("Rent", "Cafe Sales", "People", "Interest Expense")]
    for row in (*ledgers, "operating_expenses", "net_income", "net_margin"):
        for name in ("budget", "difference", "difference_pct"):
            of_month, of_total = month[row, f"2026-05 {name}"], to_date[row, f"total {name}"]
            assert shown.get(f"{row}|2026-05 {name}") == of_month.exact()
            assert shown.get(f"{row}|2026-05 to_date {name}") == of_total.exact()
    assert shown["outside_budget|2026-05 to_date"] == to_date["outside_budget", "total"].exact()
    trend = aa.charts.trend(month)
    assert trend.mark("net_income|2026-05 budget").exact() == shown["net_income|2026-05 budget"]
    assert shown["led_people|2026-05 budget"] == 27_000


def test_receiver_can_check_the_budget(planned_pack, tmp_path):
    path = planned_pack.save(tmp_path / "pack.html")
    assert aa.verify_pack(path).verified
    page, sums = read_checked(planned_pack.html)
    assert {column for one in page.figures if one.table == "budget" for column in [one.key.rpartition("|")[2]]} == {
        *COLUMNS, "2026-05 difference_pct", "2026-05 to_date difference_pct",
    }  # fmt: skip
    stated = [one for one in sums.data["tables"]["budget"]["figures"].values() if one[0] == "stated"]
    assert ["stated", "Rent, May 2026 (budget, row 5)", 760_000] in stated
    assert len(stated) == len(BUDGET)
    (row,) = [line for line in planned_pack.html.splitlines() if ">Rent<" in line and "led_rent|2026-05 budget" in line]
    for before, after in ((">7,600.00<", ">7,700.00<"), (">300.00<", ">200.00<")):
        assert row.count(before) == 1
        path.write_text(planned_pack.html.replace(row, row.replace(before, after)), encoding="utf-8")
        assert len(aa.verify_pack(path).faults) == 1


def test_the_section_is_left_out_or_alone(planned_pack, demo_pack, pack_of_small_books, tmp_path):
    others, alone = (dataclasses.replace(planned_pack, section_names=names) for names in (("summary",), ("budget",)))
    assert [name for name in ("Budget and actual", 'id="budget"') if name in demo_pack.html + others.html] == []
    assert aa.verify_pack(alone.save(tmp_path / "pack.html")).verified
    pack_of_small_books(budget=SMALL, sections=["budget"]).save_workbook(tmp_path / "pack.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "pack.xlsx")["Budget and actual"]
    cells = {row[0].value: [cell.value for cell in row[1:]] for row in sheet.iter_rows() if row[0].value}
    assert cells["Rent"][:2] == [3_200, 3_000]
    assert cells["Rent"][2].startswith("=ROUND(")
    assert len(demo_pack.html.encode()) < len(planned_pack.html.encode()) < 600_000


def test_a_budget_that_does_not_reach_back_has_no_year_to_date(pack_of_small_books, tmp_path):
    pack = pack_of_small_books(budget=SMALL.query("month > '2026-02'"), amounts_in="k")
    heads = [head.text for head in pack.content.tables["budget"].table.heads]
    assert heads == ["May 2026", "Budget", "Difference", "% difference", "2026 to date"]
    assert "The budget has no amounts for 2026-01, 2026-02: columns with such a month have no budget, not zero." in (
        pack.content.tables["budget"].table.notes
    )
    assert aa.verify_pack(pack.save(tmp_path / "pack.html")).verified


def test_what_cannot_be_compared_is_refused(pack_of_small_books):
    with pytest.raises(PeriodError, match="10 to 16 May 2026 is a part of a month, whose budget may be that of May"):
        pack_of_small_books("2026-05-10/2026-05-16", budget=SMALL)
    with pytest.raises(InputError, match="budget has amounts from 2026-01 to 2026-04, and not for each month of any"):
        pack_of_small_books(budget=SMALL.query("month < '2026-05'"))
    with pytest.raises(InputError, match="budget, row 1: no discovered ledger matches 'Rnt'; did you mean 'Rent'"):
        pack_of_small_books(budget=SMALL.replace("Rent", "Rnt").query("ledger == 'Rnt'").head(1))
