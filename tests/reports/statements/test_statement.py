"""Statements of the demo books: figures, their entries and terms, rows by name, notes, registers."""

import json
import pickle
import re
from decimal import Decimal, localcontext

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import AmountError, IncompleteLoadError, InputError
from accounting_analytics.reports.statements.columns import StatementColumn


def test_a_figure_is_a_key_to_its_entries(demo_lines, ledgers):
    statement = aa.income_statement(aa.Books(demo_lines, ledgers), ("2026-01-01", "2026-05-31"))
    figure = statement["Rent", "2026-03"]
    for kept in (figure, pickle.loads(pickle.dumps(figure))):  # noqa: S301 (our own)
        assert kept.exact() == Decimal("7900.00")
        assert kept.entries["figure_amount"].tolist() == [kept.amount]
    for row in ("led_rent", "Expenses:Premises:Rent", "rent"):
        assert statement[row, "2026-03"] == figure
    assert statement[figure.key] == figure
    assert "debits less credits" in figure.explain()


def test_derived_figures_have_terms(demo_lines, ledgers):
    statement = aa.income_statement(
        aa.Books(demo_lines, ledgers), ("2026-03-01", "2026-03-31"), compare=["prior", "change_pct"]
    )
    net = statement["Net income", "2026-03"]
    assert [term.label for term in net.terms] == [
        "Operating income, Mar 2026",
        "Total other income, Mar 2026",
        "Total other expenses, Mar 2026",
    ]
    entries = net.entries
    assert net.is_additive
    assert entries["id"].is_unique
    assert Decimal(str(entries["figure_amount"].sum().round(2))) == net.exact()
    assert set(entries["id"]) > set(statement["Rent", "2026-03"].entries["id"])
    change = statement["Rent", "2026-03 change_pct"]
    assert [term.key for term in change.terms] == ["led_rent|2026-03", "led_rent|2026-03 prior"]
    with pytest.raises(InputError, match=r"Rent, % change .* has no line entries of its own.*Rent, Mar 2026"):
        change.entries  # noqa: B018 (it raises)


@pytest.mark.parametrize(
    ("make", "end"),
    [
        (aa.income_statement, "Net income 13,870.14."),
        (aa.cash_flow_statement, "Cash at the end 78,381.09."),
        (aa.balance_sheet, "Total liabilities and equity 259,162.18."),
    ],
)
def test_a_summary_is_of_the_whole(demo_lines, ledgers, make, end):
    assert make(aa.Books(demo_lines, ledgers), "2026-03").summary().endswith(f": {end}")


@pytest.mark.parametrize(
    ("make", "has_letters"), [(aa.income_statement, True), (aa.cash_flow_statement, True), (aa.balance_sheet, False)]
)
def test_favourable_changes_have_letters_but_those_of_balances(demo_lines, ledgers, make, has_letters):
    books = aa.Books(demo_lines, ledgers, "2026-03")
    page = make(books, compare=["prior", "change", "change_pct"])._repr_html_()
    assert ("F favourable, U unfavourable" in page, 'title="favourable"' in page) == (has_letters, has_letters)


def test_rows_are_never_guessed(demo_lines, ledgers):
    statement = aa.income_statement(aa.Books(demo_lines, ledgers), ("2026-03-01", "2026-04-30"))
    with pytest.raises(InputError, match="did you mean 'Rent'"):
        statement["Rnt", "2026-03"]
    with pytest.raises(InputError, match="'2026-03', '2026-04'"):
        statement["Rent", "2026-05"]
    with pytest.raises(InputError, match="needs a column too"):
        statement["Rent"]
    for swapped in ("2026-03", ("2026-03", "Rent")):
        with pytest.raises(InputError, match="'2026-03' is a column: name a row before it"):
            statement[swapped]
    with pytest.raises(InputError, match=r"Assets:.*Operating Account \(id led_operating\) is not in this statement"):
        statement["led_operating"]


def test_supplied_balances_are_terms(demo_lines, ledgers, may_report):
    statement = aa.cash_flow_statement(
        aa.Books(demo_lines, ledgers, opening=("2026-05-01", may_report.starting_balances)),
        ("2026-05-01", "2026-05-31"),
    )
    end = statement["Cash at the end"]
    assert end.exact() == may_report.exact().ending_cash_balance
    assert sum(term.exact() for term in end.terms) == end.exact()
    assert end.terms[1].entries["figure_amount"].sum() == pytest.approx(float(end.terms[1].exact()), abs=1e-6)


def test_terms_in_a_page_give_the_figure(demo_lines, ledgers):
    compare = ["prior", "change", "change_pct", "share", "average"]
    statement = aa.income_statement(aa.Books(demo_lines, ledgers), ("2026-04-01", "2026-05-31"), compare=compare)
    checked = set()
    page = re.search(r'<script type="application/json">(.*?)</script>', statement._repr_html_())[1]
    data = json.loads(page)
    made = {
        f"{row}|{data['columns'][int(column)]}": terms
        for row, of_row in data["terms"].items()
        for column, terms in of_row.items()
    }
    for key, terms in made.items():
        figure = statement[key]
        column = next(one for one in statement.columns if one.key == key.rpartition("|")[2])
        is_percent = column.is_percent or statement.figures.layout.by_key[key.rpartition("|")[0]].kind == "percent"
        value = Decimal(0)
        for sign, _, text in terms:
            amount = Decimal(
                0 if text in {"\N{EN DASH}", "not known"} else text.replace(",", "").replace("(", "-").rstrip(")")
            )
            value = value / amount if sign == "/" and amount else value - amount if sign == "-" else value + amount
        if figure.exact() is not None:
            unit = Decimal("0.1") if is_percent else Decimal("0.01")
            assert abs(value * (100 if is_percent else 1) - figure.exact()) <= unit / 2, key
            checked.add(column.kind)
    assert checked == {"period", "prior", "change", "change_pct", "share", "average"}


def test_the_register_runs_to_the_balance(demo_lines, ledgers, may_report):
    days = ("2026-05-01", "2026-05-31")
    register = aa.register(aa.Books(demo_lines, ledgers), "Operating Account")
    balances = may_report.ending_balances.set_index("ledger_id")["cash_balance"]
    assert register["running_total"].iloc[-1] == balances["led_operating"]
    assert register["opposing_ledgers"].str.len().gt(0).all()
    may, as_text, as_days = (
        aa.register(aa.Books(demo_lines, ledgers), "Operating Account", period)
        for period in (aa.Period(*days, time_zone="America/New_York"), "2026-05", days)
    )
    assert may["running_total"].iloc[-1] == balances["led_operating"]
    assert may["local_date"].between("2026-05-01", "2026-05-31").all()
    assert 0 < len(may) < len(register)
    pd.testing.assert_frame_equal(may, as_text)
    pd.testing.assert_frame_equal(may, as_days)
    with pytest.raises(InputError, match="period: 5 is not a period; pass '2026-01', a first and a last day"):
        aa.register(aa.Books(demo_lines, ledgers), "Rent", 5)
    own = demo_lines[demo_lines["ledger_id"] == "led_operating"].copy()
    own.attrs.clear()  # a load of this ledger alone
    alone = aa.register(aa.Books(own, ledgers), "led_operating")
    names = [register["opposing_ledgers"].str.split(", ").map(set), alone["opposing_ledgers"].str.split(", ").map(set)]
    assert all(stated <= loaded for loaded, stated in zip(*names, strict=True))  # those on the other side
    assert names[1].map(len).min() > 0


def test_a_report_has_figures(may_report):
    rent = may_report["Rent"]
    assert rent.exact() == Decimal("-7900.00")
    assert rent.entries["figure_amount"].tolist() == [-7900.0]
    assert may_report[rent.key] == rent
    assert len(may_report["Net cash flow"].entries) == len(may_report.lines)
    ending = may_report["Ending cash balance"]
    assert sum(term.exact() for term in ending.terms) == ending.exact()
    assert may_report["Sales"].exact() == Decimal("73272.53")
    with pytest.raises(InputError, match="cash_flow_statement"):
        may_report["Sales"].entries  # noqa: B018 (it raises)
    (own,) = may_report.row("Sales", own=True).values()
    assert own.exact() == 0
    assert own.entries.empty


def test_cash_has_a_total_but_no_average(demo_lines, ledgers):
    compare = ["total", "average", "share"]
    columns = ["2026-03", "2026-04"]
    statement = aa.cash_flow_statement(
        aa.Books(demo_lines, ledgers, opening="2025-01-01"), columns=columns, compare=compare
    )
    for row, column in (("starting_cash_balance", "2026-03"), ("ending_cash_balance", "2026-04")):
        assert statement[row, "total"].exact() == statement[row, column].exact()
    start, net, end = (
        statement[row, "total"].exact() for row in ("starting_cash_balance", "net_cash_flow", "ending_cash_balance")
    )
    assert start + net == end
    assert [statement.text("ending_cash_balance", column) for column in ("average", "2026-03 share")] == ["", ""]
    assert statement["ending_cash_balance", "average"].amount is None
    apart = aa.cash_flow_statement(
        aa.Books(demo_lines, ledgers, opening="2025-01-01"), columns=["2026-01", "2026-04"], compare="total"
    )
    assert not apart.text("ending_cash_balance", "total")


def test_balances_supplied_for_all_ledgers_equal_history(demo_lines, ledgers):
    whole = aa.trial_balance(aa.Books(demo_lines, ledgers, opening="2025-01-01"), ("2025-12-01", "2025-12-31"))
    supplied = {
        row.key: (whole.value(row.key, "2025-12 debit") or Decimal(0)) - (whole.value(row.key, "2025-12 credit") or 0)
        for row in whole.rows
        if row.kind == "ledger"
    }
    expected = aa.trial_balance(aa.Books(demo_lines, ledgers, opening="2025-01-01"), ("2026-03-01", "2026-03-31"))
    rolled = aa.trial_balance(
        aa.Books(demo_lines, ledgers, opening=("2026-01-01", supplied)),
        ("2026-01-01", "2026-03-31"),
        columns=["2026-03"],
    )
    for row in expected.rows:
        for column in expected.columns:
            assert rolled.value(row.key, column.key) == expected.value(row.key, column.key)
    sheet = aa.balance_sheet(
        aa.Books(demo_lines, ledgers, opening=("2026-01-01", supplied)),
        ("2026-01-01", "2026-03-31"),
        compare=["change"],
    )
    total = sheet["Total assets", "2026-03"]
    assert sum(term.exact() for term in total.terms) == total.exact()
    change = sheet["Operating Account", "2026-03 change"]
    assert change.entries["figure_amount"].sum() == pytest.approx(float(change.exact()), abs=1e-6)


def test_periods_are_named_as_they_were_asked_for(demo_lines, ledgers):
    days = ("2026-01-01", "2026-03-31")
    calendar = aa.income_statement(aa.Books(demo_lines, ledgers), days, columns="quarter", compare=["prior", "change"])
    assert [one.label for one in calendar.columns] == ["Q1 2026", "Q4 2025", "Change from Q4 2025"]
    fiscal = aa.income_statement(
        aa.Books(demo_lines, ledgers, fiscal_year_start_month=4), days, columns="quarter", compare="prior"
    )
    assert [one.label for one in fiscal.columns] == ["Q4 2025/26", "Q3 2025/26"]
    listed = aa.income_statement(aa.Books(demo_lines, ledgers), columns=["2026-Q1", ("2026-04-01", "2026-04-15")])
    assert [one.key for one in listed.columns] == ["2026-Q1", "2026-04-01/2026-04-15"]
    assert [one.label for one in listed.columns] == ["Q1 2026", "1 to 15 Apr 2026"]


def test_sections_name_what_exists(demo_lines, ledgers):
    books, columns = aa.Books(demo_lines, ledgers), ["2026-05"]
    statement = aa.cash_flow_statement(books, sections={"Rent": "premises", "loan": "financing"}, columns=columns)
    assert statement["premises"].exact() == statement["Rent"].exact() != 0
    with pytest.raises(InputError, match=r"sections: .*did you mean 'Rent'"):
        aa.cash_flow_statement(books, sections={"Rnt": "premises"}, columns=columns)
    with pytest.raises(InputError, match="'Operating Account' is a ledger of cash, of opening balances, or uncat"):
        aa.cash_flow_statement(books, sections={"Operating Account": "x"})
    statement = aa.cash_flow_statement(books, sections={"Premises": "premises"}, columns=columns)
    assert statement["Rent"].exact() + statement["Utilities"].exact() == statement["premises"].exact()


def test_earnings_before_the_books_began_are_zero(demo_company):
    days = ("2025-03-15", "2025-05-31")
    ledgers = aa.discover_ledgers(demo_company.client, *days)
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *days)
    del ledgers.attrs["discovery"]  # it states that the books begin in January
    sheet = aa.balance_sheet(aa.Books(lines, ledgers, opening="2025-03-15"), ("2025-05-01", "2025-05-31"))
    income = aa.income_statement(aa.Books(lines, ledgers), columns=[days])
    assert sheet.value("earnings_of_earlier_periods", "2025-05") == 0
    (column,) = income.columns
    assert sheet.value("earnings_of_the_period", "2025-05") == income.value("net_income", column.key) != 0


def test_a_change_of_balances_has_the_lines_between(demo_lines, ledgers):
    statement = aa.balance_sheet(
        aa.Books(demo_lines, ledgers, opening="2025-01-01"), columns=["2026-05"], compare=["prior", "change"]
    )
    change = statement["Operating Account", "2026-05 change"]
    assert change.entries["id"].is_unique
    assert change.entries["local_date"].between("2026-05-01", "2026-05-31").all()
    assert change.exact() == (
        statement["Operating Account", "2026-05"].exact() - statement["Operating Account", "2026-05 prior"].exact()
    )


def test_a_zero_of_some_lines_unfolds(demo_lines, ledgers):
    statement = aa.balance_sheet(aa.Books(demo_lines, ledgers, opening="2025-01-01"), columns=["2025-03", "2025-04"])
    page = statement._repr_html_()
    zeros = [
        figure
        for row in statement.rows
        if row.kind == "ledger"
        for figure in statement.row(row.key).values()
        if figure.exact() == 0
    ]
    assert any(not figure.entries.empty for figure in zeros)
    for figure in zeros:
        assert (f'data-key="{figure.key}"' in page) == (not figure.entries.empty)


def test_the_entries_of_a_total_are_read_once(demo_lines, ledgers):
    statement = aa.income_statement(aa.Books(demo_lines, ledgers), ("2025-01-01", "2026-05-31"), compare="total")
    rent = statement["Rent", "total"].entries
    assert (
        rent["id"].tolist()
        == [one for month in statement.row("Rent").values() for one in month.entries["id"]][: len(rent)]
    )
    apart = aa.income_statement(
        aa.Books(demo_lines, ledgers), columns=["2025-01", "2025-03", "2025-04"], compare="total"
    )
    assert set(apart["Rent", "total"].entries["local_date"].dt.month) == {1, 3, 4}


def test_comparisons_are_rows_of_their_kind(demo_lines, ledgers):
    books = aa.Books(demo_lines, ledgers)
    compared = aa.income_statement(books, "2026-Q1", compare=["prior_year", "change", "total"]).tidy()
    now, earlier = (aa.income_statement(books, days).tidy() for days in ("2026-Q1", "2025-Q1"))
    names = ["path", "start_date", "end_date", "amount"]
    for kind, alone in (("period", now), ("prior_year", earlier)):
        rows = compared[compared["kind"] == kind]
        known = rows[rows["amount"] != 0][names].reset_index(drop=True)
        pd.testing.assert_frame_equal(
            known, alone[alone["amount"] != 0][names].reset_index(drop=True), check_flags=False
        )
    assert len(compared) == 2 * compared["ledger_id"].nunique() * 3
    beside = compared.pivot_table(index=["path", "of_column"], columns="kind", values="amount", aggfunc="sum")
    rent = beside.loc[("Expenses:Premises:Rent", "2026-03")]
    assert (rent["period"], rent["prior_year"]) == (7900.00, earlier.query("name == 'Rent'")["amount"].iloc[-1])
    assert set(now["kind"]) == {"period"}
    assert now["of_column"].tolist() == now["column"].tolist()


def test_columns_may_be_given_with_their_changes(demo_lines, ledgers):
    may, april, year_before = (aa.Period.parse(text, time_zone="UTC") for text in ("2026-05", "2026-04", "2025-05"))
    columns = [
        StatementColumn("this", "May", "period", periods=((1, may),)),
        StatementColumn("change", "Change", "change", "this", ((1, may), (-1, april))),
        StatementColumn("year", "Change of the year", "change", "this", ((1, may), (-1, year_before))),
    ]
    income = aa.income_statement(aa.Books(demo_lines, ledgers, time_zone="UTC"), columns=columns)
    assert [column.label for column in income.columns] == ["May", "Change", "Change of the year"]
    months = aa.income_statement(aa.Books(demo_lines, ledgers, time_zone="UTC"), columns=[may, april, year_before])
    amounts = {key: months["Wages", key].exact() for key in ("2026-05", "2026-04", "2025-05")}
    assert income["Wages", "change"].exact() == amounts["2026-05"] - amounts["2026-04"]
    assert income["Wages", "year"].exact() == amounts["2026-05"] - amounts["2025-05"]
    assert (
        Decimal(str(income["Wages", "year"].entries["figure_amount"].sum().round(2))) == income["Wages", "year"].exact()
    )
    net = income["net_income", "change"]
    assert (net.signs[0], net.terms[0].key) == ("+", "operating_income|change")
    assert income["operating_expenses", "change"].terms == ()


def test_any_number_of_columns_sums_to_all(demo_lines, ledgers):
    apart = [aa.Period(day, day, "UTC") for day in pd.date_range("2025-01-15", periods=100, freq="2D")]
    page = aa.income_statement(aa.Books(demo_lines, ledgers, time_zone="UTC"), columns=apart)._repr_html_()
    assert json.loads(re.search(r'<script type="application/json">(.*?)</script>', page)[1])["figures"]
    days = [aa.Period(day, day, "UTC") for day in pd.date_range("2025-01-15", periods=200)]
    statement = aa.income_statement(aa.Books(demo_lines, ledgers, time_zone="UTC"), columns=days, compare="total")
    assert len(statement.columns) == 201
    whole = aa.income_statement(
        aa.Books(demo_lines, ledgers, time_zone="UTC"), columns=[(days[0].start_date, days[-1].end_date)]
    )
    for row in ("net_income", "led_rent"):
        assert statement[row, "total"].exact() == whole[row].exact()
        with localcontext(prec=40):
            assert sum(statement[row, one.key].exact() for one in statement.columns[:-1]) == whole[row].exact()


@pytest.mark.parametrize("engine", ["pandas", "pyarrow", "polars", "duckdb"])
def test_sums_beyond_a_float_are_exact_and_named(demo_lines, ledgers, engine):
    rent = demo_lines.loc[demo_lines["ledger_id"] == "led_rent", "journal_entry_id"].tail(2)
    large = demo_lines[demo_lines["journal_entry_id"].isin(rent)].copy()
    large["signed_amount"] = np.sign(large["signed_amount"]) * 9_999_999_999_999.99
    large["amount"] = 9_999_999_999_999.99
    large.attrs = {}
    frame = {
        "pandas": lambda: large,
        "pyarrow": lambda: pa.Table.from_pandas(large, preserve_index=False),
        "polars": lambda: pl.from_pandas(large).lazy(),
        "duckdb": lambda: duckdb.from_arrow(pa.Table.from_pandas(large, preserve_index=False)),
    }[engine]()
    books = aa.Books(frame, ledgers, time_zone="America/New_York")
    statement = aa.income_statement(books, "2026-04/2026-05", compare="total")
    expected = Decimal("19999999999999.98")
    assert statement["Rent", "total"].exact() == expected
    assert statement["Net income", "total"].entries["figure_amount"].to_list() == [-9_999_999_999_999.99] * 2
    assert "(19,999,999,999,999.98)" in statement.explain()
    assert "(19,999,999,999,999.98)" in statement._repr_html_()
    message = r"Rent, .*: amount -?19,999,999,999,999\.98 is too large for a pandas frame"
    with pytest.raises(AmountError, match=message):
        _ = statement["Rent", "total"].amount
    with pytest.raises(AmountError, match=message):
        _ = statement.frame


def test_a_part_of_a_tree_says_so(demo_lines, ledgers):
    sheet = aa.balance_sheet(aa.Books(demo_lines, ledgers, opening="2025-01-01"), columns=["2026-01"])
    assert sheet["Liabilities"].label.startswith("Liabilities (current liabilities), ")
    assert sheet["Liabilities"].exact() + sheet["Equipment Loan"].exact() == sheet["Total liabilities"].exact()
    assert sheet["Payables"].label.startswith("Payables, ")


def test_days_that_nothing_states_or_is_in_are_noted(demo_lines, ledgers):
    notes = " ".join(aa.income_statement(aa.Books(demo_lines, ledgers), columns=["2026-01"]).notes)
    assert "not checked" not in notes
    assert "no line entries" not in notes
    plain = demo_lines.copy()
    plain.attrs = {}
    statement = aa.income_statement(aa.Books(plain, ledgers, time_zone="America/New_York"), columns=["2026-01"])
    assert any("not checked; its lines are of Jan 2025 to May 2026" in note for note in statement.notes)


def test_days_without_entries_are_noted(demo_lines, ledgers):
    nothing = demo_lines.iloc[:0].copy()
    nothing.attrs = demo_lines.attrs | {
        "load": demo_lines.attrs["load"] | {"lines": 0, "sums": "{}", "end_date": "2026-12-31"}
    }
    statement = aa.income_statement(aa.Books(nothing, ledgers), columns=["2026-05"])
    assert statement.notes[0] == "There are no line entries in these days."
    until_december = demo_lines.copy()
    until_december.attrs = demo_lines.attrs | {"load": demo_lines.attrs["load"] | {"end_date": "2026-12-31"}}
    to_come = aa.income_statement(
        aa.Books(until_december, ledgers), columns=["2026-07", "2026-04", "2026-06", "2026-05"]
    )
    assert to_come.notes[0] == "There are no line entries in the columns from Jun 2026 on."
    flows = aa.cash_flow_statement(aa.Books(until_december, ledgers), columns=["2026-04", "2026-06"])
    assert flows.notes[0] == "There are no entries that touch cash in the columns from Jun 2026 on."


def test_entries_have_the_days_of_the_statement(demo_lines, ledgers):
    statement = aa.income_statement(aa.Books(demo_lines, ledgers, time_zone="Asia/Tokyo"), columns=["2026-02"])
    for row in statement.rows:
        if row.kind == "ledger":
            assert statement[row.key].entries["local_date"].between("2026-02-01", "2026-02-28").all()


def test_total_inflows_are_of_one_period(demo_lines, ledgers):
    statement = aa.cash_flow_statement(
        aa.Books(demo_lines, ledgers), columns=["2026-04", "2026-05"], compare=["prior", "change", "share", "total"]
    )
    assert sum(term.exact() for term in statement["total_inflows", "2026-05"].terms) == (
        statement["total_inflows", "2026-05"].exact()
    )
    for column in ("2026-05 change", "total"):
        with pytest.raises(InputError, match="total inflows are those of one period"):
            statement["total_inflows", column].entries  # noqa: B018 (it raises)


def test_a_register_of_lines_of_cash_flow_alone_is_refused(demo_lines, ledgers):
    cash = ledgers.loc[ledgers["report_cash_flow"], "id"]
    entries = demo_lines.loc[demo_lines["ledger_id"].isin(cash), "journal_entry_id"]
    loaded = demo_lines[demo_lines["journal_entry_id"].isin(entries)]

    def filtered(**filters):
        load = demo_lines.attrs["load"] | {"filters": filters, "lines": len(loaded)}
        del load["sums"]
        frame = loaded.copy()
        frame.attrs = demo_lines.attrs | {"load": load}
        return frame

    on_cash = filtered(is_cashflow=True)
    assert (
        len(aa.register(aa.Books(on_cash, ledgers), "led_operating"))
        == (demo_lines["ledger_id"] == "led_operating").sum()
    )
    with pytest.raises(IncompleteLoadError, match="only lines of entries that touch cash"):
        aa.register(aa.Books(on_cash, ledgers), "led_inventory")
    with pytest.raises(InputError, match=r"only lines with tag_ids=\['tag'\] were loaded, which are not the books"):
        aa.Books(filtered(is_cashflow=True, tag_ids=["tag"]), ledgers)


def test_a_running_total_that_lacks_lines_says_so(demo_company, demo_books):
    days = ("2025-02-01", "2025-04-30")
    lines = aa.load_line_entries(demo_company.client, ["led_operating"], *days, progress=False)
    books = aa.Books(lines, demo_books.ledgers, time_zone="Asia/Tokyo")
    found = aa.register(books, "led_operating", "2025-03")
    assert found.attrs["notes"][0].startswith("The running total lacks lines before 1 Mar 2025: the load covers")
