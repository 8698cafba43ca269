"""The amounts of a report: floats in frames, which calculate together, and exact text."""

import copy
import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal, localcontext

import pandas as pd
import pytest
from small_reports import small_report

from accounting_analytics.core.errors import AmountError, FrameError

SINGLE_AMOUNTS = ("starting_cash_balance", "net_cash_flow", "ending_cash_balance", "identity_gap")


def make_report(starting, flows, *, gap="0", ledger="Ledger", **form):
    """Return a report with a ledger for each flow; `gap` is added to the ending balance."""
    instant = dt.datetime(2025, 5, 2, tzinfo=dt.UTC)
    lines = [(f"l{at}", f"{ledger} {at}", f"e{at}", flow, instant) for at, flow in enumerate(flows)]
    ending = Decimal(starting) + sum(map(Decimal, flows)) + Decimal(gap)
    return small_report(lines, days=("2025-05-01", "2025-05-31"), starting=starting, ending=ending, **form)


def single_amounts(report):
    return [getattr(report, name) for name in SINGLE_AMOUNTS]


def test_single_amounts_calculate_with_the_tables():
    report = make_report("1000.10", ["0.10", "-0.30"], gap="0.03")
    for one in (report, replace(report), copy.deepcopy(report)):
        assert single_amounts(one) == [1000.10, -0.20, 999.93, -0.03]
        assert {type(amount) for amount in single_amounts(one)} == {float}
    assert round(report.net_cash_flow - report.ledgers["net_cash_flow"].iloc[0], 2) == -0.3


def test_exact_has_decimals():
    report = make_report("9999999999999.98", ["0.10", "-0.30"])
    exact = report.exact()
    expected = [Decimal("9999999999999.98"), Decimal("-0.20"), Decimal("9999999999999.78"), Decimal("0.00")]
    assert [*exact.sums.values(), exact.identity_gap] == expected
    for amount in (*expected, *exact.sums.values(), exact.identity_gap, *exact.lines["amount"]):
        assert (type(amount), amount.as_tuple().exponent) == (Decimal, -2)


@pytest.mark.parametrize("name", ["ledgers", "lines", "starting_balances", "ending_balances"])
def test_a_report_is_not_edited_in_place(name):
    report = make_report("1", ["0.10"])
    table = getattr(report, name)
    before = table.copy()
    table.loc[0, "ledger_id"] = "other"
    table.loc[0, table.select_dtypes("float64").columns[0]] = 5.0
    pd.testing.assert_frame_equal(getattr(report, name), before)


@pytest.mark.parametrize("scale", [0, 2, 10])
def test_text_has_all_digits_of_the_scale(scale):
    unit = Decimal(1).scaleb(-scale)
    largest, flow = (10**15 - 1) * unit, -10 * unit
    report = make_report(largest, [flow], scale=scale)
    shown = json.loads(report.to_json())
    assert shown["starting_cash_balance"] == f"{largest:f}"
    assert shown["ending_cash_balance"] == f"{largest + flow:f}"
    for text in (report.summary(), report.explain(), report._repr_html_()):
        for amount in (largest, flow, largest + flow):
            assert f"{amount:,f}" in text


def test_an_amount_that_no_float_holds_is_named():
    largest = "9999999999999.99"
    report = make_report(largest, [largest, "0.01"])
    for name in ("net_cash_flow", "ending_cash_balance"):
        with pytest.raises(AmountError, match=rf"{name}: amount [\d,]+\.\d\d is too large for a pandas frame"):
            getattr(report, name)
    with pytest.raises(AmountError, match=r"cash_balance: amount 19,999,999,999,999\.99 is too large"):
        _ = report.ending_balances
    assert report.starting_cash_balance == float(largest)
    for text in (report.summary(), report.explain(), report._repr_html_()):
        assert "10,000,000,000,000.00" in text
        assert "19,999,999,999,999.99" in text
    assert json.loads(report.to_json())["ending_cash_balance"] == "19999999999999.99"
    assert report.exact().net_cash_flow == Decimal(10**13)


def test_a_figure_that_no_float_holds_is_named():
    figure = make_report("0", ["10000000000000.00"])["Net cash flow"]
    assert (figure.text, figure.exact()) == ("10,000,000,000,000.00", Decimal(10**13))
    assert "10,000,000,000,000.00" in figure.explain()
    with pytest.raises(AmountError, match=r"Net cash flow, .*: amount 10,000,000,000,000\.00 is too large"):
        _ = figure.amount
    with pytest.raises(AmountError, match=r"amount: amount 10,000,000,000,000\.00 is too large"):
        _ = figure.entries


def test_the_identity_gap_is_exact():
    """A difference of a cent is found in balances of 36 digits, which Decimal's default context would round."""
    huge = "123456789012345678901234567890123456.78"
    with localcontext(prec=60):
        reports = [make_report(huge, ["0.01"], gap=gap) for gap in ("-0.01", "0")]
    assert [one.identity_gap for one in reports] == [0.01, 0]


@pytest.mark.parametrize("name", ["ledgers", "lines", "starting_balances", "ending_balances"])
def test_tables_of_a_report_are_checked(name):
    tables = make_report("1", ["0"]).exact().checked()
    table = getattr(tables, name)
    with pytest.raises(FrameError, match="column is missing"):
        tables._replace(**{name: table.drop(columns="ledger_id")}).checked()


def test_a_page_shows_names_as_text_and_given_balances():
    report = make_report("0", ["1234.50"], ledger="<script>alert(1)</script>")
    assert "<script>alert" not in report._repr_html_()
    assert "1,234.50" in report._repr_html_()
    assert "anchored" not in report._repr_html_()
    assert "anchored" in replace(report, anchored=True)._repr_html_()
