"""Entries of opening balances: no inflow, a row of their own between cash at the start and at the end."""

import csv
import json
from decimal import Decimal

import openpyxl
import pytest
from statement_checks import assert_law, entry_units, row_units

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError

OPENING = "opening_balances"
ENTRIES = {
    "2024-12-01 Start": {
        "assets:bank": 10_000,
        "assets:van": 8000,
        "liabilities:loan": -6000,
        "equity:opening": -12_000,
    },
    "2025-01-09 Sale": {"assets:bank": 2500, "income:sales": -2500},
    "2025-01-10 Till, found": {"assets:till": 150, "equity:opening": -150},
    "2025-02-03 Rent": {"assets:bank": -700, "expenses:rent": 700},
    "2025-02-04 Owner": {"assets:bank": 40, "equity:owner": -40},
}
"""Entries of opening balances have other balances too, and may be of any day."""


def open_entries(folder, entries=ENTRIES, **options):
    rows = ["entry_id,datetime,entry_description,ledger,debit_credit,amount"]
    for number, (name, legs) in enumerate(entries.items()):
        day, _, text = name.partition(" ")
        for ledger, amount in legs.items():
            side = "debit" if amount > 0 else "credit"
            rows.append(f'e{number},{day},"{text}",{ledger},{side},{abs(amount)}.00')
    file = folder / "lines.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return aa.open_table(file, "2024-12/2025-02", time_zone="UTC", cash="assets:[bt][ai]*", **options)


@pytest.fixture
def opened_books(tmp_path):
    return open_entries(tmp_path)


def test_opening_balances_have_a_row_of_their_own(opened_books):
    statement = aa.cash_flow_statement(opened_books, "2024-12/2025-02", compare=["total", "average", "change"])
    rows = {"starting_cash_balance": [0, 10_000, 12_650], OPENING: [10_000, 150, 0], "net_cash_flow": [0, 2500, -660]}
    for key, amounts in rows.items():
        assert row_units(statement, key) == [100 * amount for amount in amounts]
    assert row_units(statement, "ending_cash_balance") == [1_000_000, 1_265_000, 1_199_000]
    assert [row.label for row in statement.rows if not row.level][-4:] == [
        "Net change in cash",
        "Cash at the start",
        "Opening balances",
        "Cash at the end",
    ]
    assert not any(row.section == "investing" for row in statement.rows)
    assert entry_units(statement[OPENING, "2024-12"]) == {"e0-2": -800_000, "e0-3": 600_000, "e0-4": 1_200_000}
    assert statement[OPENING, "total"].exact() == Decimal(10_150)
    assert entry_units(statement[OPENING, "2025-01 change"]) == {
        "e2-2": 15_000, "e0-2": 800_000, "e0-3": -600_000, "e0-4": -1_200_000
    }  # fmt: skip
    assert statement[OPENING, "average"].exact() == Decimal("3383.33")
    for row in statement.rows:
        for column in statement.columns:
            if row.kind != "heading" and statement.text(row.key, column.key):
                assert_law(statement, row, column)
    note = "Entries of opening balances are no inflow: they are in no section and not in the net change in cash."
    assert any(one.startswith(note) for one in statement.notes)


def test_row_is_shown_where_there_are_some_or_asked(opened_books):
    statement = aa.cash_flow_statement(opened_books, "2025-02")
    assert OPENING not in {row.key for row in statement.rows}
    assert statement[OPENING].exact() == 0
    assert not any("opening balances" in one for one in statement.notes)


def test_a_report_has_the_same_row(opened_books):
    report = aa.recompute_cash_flow(opened_books, "2025-01")
    assert report.exact().net_cash_flow == Decimal("2650.00")
    found, expected = (
        aa.cash_flow_statement(report, ledgers=opened_books.ledgers),
        aa.cash_flow_statement(opened_books, "2025-01"),
    )
    (here,), (there,) = found.columns, expected.columns
    assert [row.key for row in found.rows] == [row.key for row in expected.rows]
    for row in found.rows:
        assert found.value(row.key, here.key) == expected.value(row.key, there.key) if row.kind != "heading" else True
    assert entry_units(found[OPENING]) == entry_units(expected[OPENING]) == {"e2-2": 15_000}
    assert set(found["net_cash_flow"].entries["line_id"]) == {"e1-2"}
    totals = aa.recompute_cash_flow(opened_books, "2024-12", lines=False)
    with pytest.raises(
        InputError, match=r"the report has opening balances and no lines, .* recompute it with lines=True"
    ):
        aa.cash_flow_statement(totals, ledgers=opened_books.ledgers)
    later = aa.recompute_cash_flow(opened_books, "2025-02", lines=False)
    assert aa.cash_flow_statement(later, ledgers=opened_books.ledgers)["net_cash_flow"].exact() == Decimal(-660)


def test_files_and_pages_have_the_row(opened_books, tmp_path):
    statement = aa.cash_flow_statement(opened_books, "2024-12/2025-01", compare="total")
    statement.to_excel(tmp_path / "cash.xlsx")
    sheets = openpyxl.load_workbook(tmp_path / "cash.xlsx")
    entries = list(sheets["Entries"].iter_rows(min_row=2, values_only=True))
    ids = [row[-1] for row in entries]
    assert [ids.count(one) for one in ("e0-2", "e0-3", "e0-4", "e2-2")] == [1, 1, 1, 1]
    statement.to_csv(tmp_path / "cash.csv")
    with (tmp_path / "cash.csv").open(encoding="utf-8-sig", newline="") as file:
        (row,) = (one for one in csv.DictReader(file) if one["key"] == OPENING)
    assert (row["2024-12"], row["2025-01"], row["total"]) == ("10000.00", "150.00", "10150.00")
    (content,) = (one for one in json.loads(statement.to_json())["rows"] if one["key"] == OPENING)
    assert content["amounts"] == {"2024-12": "10000.00", "2025-01": "150.00", "total": "10150.00"}
    assert "Opening balances" in statement._repr_html_()


def test_bridges_charts_and_sides_leave_openings_out(opened_books):
    bridge = aa.bridge(opened_books, "2025-01", against="2024-12")
    assert (bridge["before"].exact(), bridge["after"].exact()) == (0, 2500)
    assert any(one.startswith("Entries of opening balances are no inflow") for one in bridge.notes)
    report = aa.recompute_cash_flow(opened_books, "2024-12/2025-02")
    frame = aa.charts.inflow_outflow(report, by="month", ledgers=opened_books.ledgers).frame
    assert list(frame["Inflow"]) == [0, 2500, 40]
    chosen = opened_books.with_lines(opened_books.lines, label="all of them")
    statement = aa.cash_flow_statement(chosen, "2025-01")
    assert [row.label for row in statement.rows][-2:] == ["Net change in cash", "Opening balances"]
    assert statement[OPENING].exact() == Decimal(150)


def test_openings_are_known_or_a_doubt(tmp_path, opened_books):
    assert [opened_books.names.path(one) for one in opened_books.opening.equity] == [
        "Opening Balance Retained Earnings"
    ]
    assert aa.cash_flow_statement(opened_books, compare="average").columns[-1].label == "Average"
    for entries, options in (
        ({"2024-12-01 Start": {"assets:bank": 10_000, "equity:owner": -10_000}}, {}),
        ({"2024-12-01 Start": {"assets:bank": 10_000, "equity:opening": -10_000}}, {"opening_ledgers": []}),
    ):
        doubtful = open_entries(tmp_path, {**entries, "2025-01-09 Sale": ENTRIES["2025-01-09 Sale"]}, **options)
        assert doubtful.opening.equity == ()
        statement = aa.cash_flow_statement(doubtful, compare="average")
        assert any(one.startswith("Cash in from o") and "may have been there before" in one for one in statement.notes)
        assert statement.columns[-1].label == "Average of 2"
        assert statement["net_cash_flow", "2024-12"].exact() == Decimal(10_000)


def test_sections_cannot_name_the_ledger_of_openings(opened_books):
    with pytest.raises(
        InputError, match="'Opening Balance Retained Earnings' is a ledger of cash, of opening balances"
    ):
        aa.cash_flow_statement(opened_books, sections={"Opening Balance Retained Earnings": "financing"})


def test_a_pack_says_what_cash_is_besides_them(opened_books, tmp_path):
    pack = aa.monthly_pack(opened_books, "2025-01")
    assert (
        pack.explain().count("Cash rose by 2,500.00 to 12,650.00 in Jan 2025, besides opening balances of 150.00") == 1
    )
    assert pack["key_figures:opening_balances|2025-01"].exact() == Decimal(150)
    assert pack["key_figures:cash_in|2025-01"].exact() == pack["flows:2025-01|in"].exact() == Decimal(2500)
    assert pack["flows:2024-12|in"].exact() == 0
    pack.save(tmp_path / "january.html")
    checked = aa.verify_pack(tmp_path / "january.html")
    assert checked.verified


def test_a_chart_may_state_their_ledger(opened_books):
    chart = opened_books.ledgers
    (owner,) = chart.loc[chart["name"] == "owner", "id"]
    chart.attrs["required"] = {"opening balance retained earnings": owner}
    stated = aa.Books(opened_books.lines, chart, "2025-01/2025-02")
    assert stated.opening.equity == (owner,)
    statement = aa.cash_flow_statement(stated)
    assert row_units(statement, OPENING) == [0, 4000]
    assert row_units(statement, "net_cash_flow") == [265_000, -70_000]
