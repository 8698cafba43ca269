"""Line entries with what people group them by."""

import pandas as pd
import pytest

import accounting_analytics as aa

DAYS = ("2026-01-01", "2026-03-31")


@pytest.fixture(scope="module")
def loaded(demo_company):
    """Return line entries and ledgers of a quarter of the demo company."""
    ledgers = aa.discover_ledgers(demo_company.client, *DAYS)
    return aa.load_line_entries(demo_company.client, ledgers["id"], *DAYS), ledgers


def test_a_pivot_is_one_line(loaded):
    """Expenses by payee and month sum to the income statement, and rent is that of its one payee."""
    lines, ledgers = loaded
    frame = aa.analysis_frame(lines, ledgers)
    expenses = frame[frame["type"] == "expense"]
    table = expenses.pivot_table(index="payee", columns="month", values="signed_amount", aggfunc="sum")
    assert list(table.columns) == ["2026-01", "2026-02", "2026-03"]
    assert table.loc["KENT AVE PROPERTIES"].tolist() == [7900.0] * 3
    revenue = -frame.loc[frame["type"] == "revenue", "signed_amount"].sum()
    income = aa.income_statement(lines, ledgers, *DAYS)
    assert round(revenue - expenses["signed_amount"].sum(), 2) == round(
        sum(income["Net income", month].amount for month in table.columns), 2
    )


def test_the_added_columns(loaded):
    """Rows, order, values and metadata of the load stay; each line has its ledger's place and its direction."""
    lines, ledgers = loaded
    frame = aa.analysis_frame(lines, ledgers)
    pd.testing.assert_frame_equal(frame[list(lines.columns)], lines)
    assert frame.attrs["load"] == lines.attrs["load"]
    rent = frame[frame["ledger_name"] == "Rent"].iloc[0]
    assert (rent["type"], rent["path"], rent["parent"]) == ("expense", "Expenses:Premises:Rent", "Premises")
    assert (rent["is_cash"], rent["direction"], rent["month"]) == (False, "outflow", "2026-01")
    cash = frame[frame["is_cash"]]
    assert (cash["direction"] == cash["debit_credit"].map({"debit": "inflow", "credit": "outflow"})).all()
    roots = frame[frame["ledger_id"].isin(ledgers.loc[ledgers["parent_id"].isna(), "id"])]
    assert roots["parent"].isna().all()


def test_days_of_another_zone(loaded):
    """Months are those of the zone that is asked for."""
    lines, ledgers = loaded
    assert aa.analysis_frame(lines, ledgers, time_zone="Pacific/Kiritimati")["month"].max() == "2026-04"


def test_unknown_ledgers_are_refused(loaded):
    """A ledger that the chart does not have would have no type."""
    lines, ledgers = loaded
    with pytest.raises(aa.errors.FrameError, match="ledgers do not contain 1 ledger of the line entries"):
        aa.analysis_frame(lines, ledgers[ledgers["name"] != "Rent"])
