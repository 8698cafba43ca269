"""Line entries with what people group them by."""

import pandas as pd
import pytest

import accounting_analytics as aa

DAYS = ("2026-01-01", "2026-03-31")


@pytest.fixture(scope="module")
def ledgers(demo_company):
    return aa.discover_ledgers(demo_company.client, *DAYS)


@pytest.fixture(scope="module")
def quarter_lines(demo_company, ledgers):
    return aa.load_line_entries(demo_company.client, ledgers["id"], *DAYS)


def test_a_pivot_is_one_line(quarter_lines, ledgers):
    frame = aa.analysis_frame(aa.Books(quarter_lines, ledgers))
    expenses = frame[frame["type"] == "expense"]
    table = expenses.pivot_table(index="counterparty", columns="month", values="signed_amount", aggfunc="sum")
    assert list(table.columns) == ["2026-01", "2026-02", "2026-03"]
    assert table.loc["KENT AVE PROPERTIES"].tolist() == [7900.0] * 3
    revenue = -frame.loc[frame["type"] == "revenue", "signed_amount"].sum()
    income = aa.income_statement(aa.Books(quarter_lines, ledgers), DAYS)
    assert round(revenue - expenses["signed_amount"].sum(), 2) == round(
        sum(income["Net income", month].amount for month in table.columns), 2
    )


def test_added_columns_are_ledger_place_direction_and_month(quarter_lines, ledgers):
    frame = aa.analysis_frame(aa.Books(quarter_lines, ledgers))
    pd.testing.assert_frame_equal(frame[list(quarter_lines.columns)], quarter_lines)
    assert frame.attrs["load"] == quarter_lines.attrs["load"]
    rent = frame[frame["ledger_name"] == "Rent"].iloc[0]
    assert (rent["type"], rent["path"], rent["parent"]) == ("expense", "Expenses:Premises:Rent", "Premises")
    assert (rent["is_cash"], rent["direction"], rent["month"]) == (False, "outflow", "2026-01")
    cash = frame[frame["is_cash"]]
    assert (cash["direction"] == cash["debit_credit"].map({"debit": "inflow", "credit": "outflow"})).all()
    roots = frame[frame["ledger_id"].isin(ledgers.loc[ledgers["parent_id"].isna(), "id"])]
    assert roots["parent"].isna().all()
    with pytest.raises(aa.errors.InputError, match="is 2026-01-01, in Pacific/Kiritimati 2026-01-02: name the zone"):
        aa.analysis_frame(aa.Books(quarter_lines, ledgers, time_zone="Pacific/Kiritimati"))
    without_days = quarter_lines.drop(columns="local_date")
    assert (
        aa.analysis_frame(aa.Books(without_days, ledgers, time_zone="Pacific/Kiritimati"))["month"].max() == "2026-04"
    )
    with pytest.raises(aa.errors.FrameError, match="ledgers do not contain 1 ledger of the line entries"):
        aa.analysis_frame(aa.Books(quarter_lines, ledgers[ledgers["name"] != "Rent"]))
