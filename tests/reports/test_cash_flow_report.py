"""The single amounts of a report: what its tables have, so that they calculate together, and exact text."""

import copy
import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal, localcontext

import pytest
from small_reports import small_report

from accounting_analytics.core.errors import AmountError, FrameError

FORMS = pytest.mark.parametrize("as_decimals", [False, True], ids=["floats", "decimals"])
SINGLE_AMOUNTS = ("starting_cash_balance", "net_cash_flow", "ending_cash_balance", "identity_gap")


def make_report(starting, flows, *, gap="0", ledger="Ledger", **form):
    """Return a report with a ledger for each flow; `gap` is added to the ending balance."""
    instant = dt.datetime(2025, 5, 2, tzinfo=dt.UTC)
    lines = [(f"l{at}", f"{ledger} {at}", f"e{at}", flow, instant) for at, flow in enumerate(flows)]
    ending = Decimal(starting) + sum(map(Decimal, flows)) + Decimal(gap)
    return small_report(lines, days=("2025-05-01", "2025-05-31"), starting=starting, ending=ending, **form)


def single_amounts(report):
    """Return the single amounts of a report."""
    return [getattr(report, name) for name in SINGLE_AMOUNTS]


@FORMS
def test_single_amounts_calculate_with_the_tables(as_decimals):
    """They are floats beside float64 and Decimals beside Arrow decimals; copies have the same."""
    report = make_report("1000.10", ["0.10", "-0.30"], as_decimals=as_decimals, gap="0.03")
    amounts = [Decimal("1000.10"), Decimal("-0.20"), Decimal("999.93"), Decimal("-0.03")]
    expected = amounts if as_decimals else list(map(float, amounts))
    for one in (report, replace(report), copy.deepcopy(report)):
        assert single_amounts(one) == expected
        assert {type(amount) for amount in single_amounts(one)} == {Decimal if as_decimals else float}
    rest = report.net_cash_flow - report.ledgers["net_cash_flow"].iloc[0]
    assert round(rest, 2) == type(expected[0])("-0.3")


@FORMS
def test_exact_has_decimals(as_decimals):
    """The exact report and its sums have Decimals of its scale, whatever the tables of the report are."""
    report = make_report("9999999999999.98", ["0.10", "-0.30"], as_decimals=as_decimals)
    expected = [Decimal("9999999999999.98"), Decimal("-0.20"), Decimal("9999999999999.78"), Decimal("0.00")]
    assert single_amounts(report.exact()) == expected
    assert [*report.exact_sums(), report.exact_sums().identity_gap] == expected
    for amount in (*single_amounts(report.exact()), *report.exact_sums()):
        assert (type(amount), amount.as_tuple().exponent) == (Decimal, -2)


@FORMS
@pytest.mark.parametrize("scale", [0, 2, 10])
def test_text_has_all_digits_of_the_scale(scale, as_decimals):
    """JSON, HTML and plain text are made from minor units: zeros at the end and the last of 15 digits are shown."""
    unit = Decimal(1).scaleb(-scale)
    largest, flow = (10**15 - 1) * unit, -10 * unit
    report = make_report(largest, [flow], scale=scale, as_decimals=as_decimals)
    shown = json.loads(report.to_json())
    assert shown["starting_cash_balance"] == f"{largest:f}"
    assert shown["ending_cash_balance"] == f"{largest + flow:f}"
    for text in (report.summary(), report.explain(), report._repr_html_()):
        for amount in (largest, flow, largest + flow):
            assert f"{amount:,f}" in text


def test_rounding_noise_is_removed_from_a_single_amount():
    """A sum of floats is the amount that it stands for; a float between two cents is refused by its name."""
    report = make_report("0", [])
    assert replace(report, starting_cash_balance=0.1 + 0.2).starting_cash_balance == 0.3
    for wrong in (0.305, float("nan"), float("inf"), 1e13):
        with pytest.raises(AmountError, match=r"starting_cash_balance: .* is not a whole number of minor units"):
            replace(report, starting_cash_balance=wrong)
    with pytest.raises(AmountError, match=r"ending_cash_balance: amount 0\.305 does not fit 2 fraction digits"):
        replace(report, ending_cash_balance=Decimal("0.305"))


def test_a_sum_that_no_float_holds_is_named():
    """Balances that fit floats may have a sum that does not: it is refused by name, and exact with decimals."""
    largest = "9999999999999.99"
    with pytest.raises(AmountError, match=r"ending_cash_balance: amount 10,000,000,000,000\.00 has too many digits"):
        replace(make_report("0", []), ending_cash_balance=Decimal(10**13))
    report = make_report("0", [largest, "0.01"], gap="-10000000000000")
    with pytest.raises(AmountError, match=r"net_cash_flow: amount 10,000,000,000,000\.00 has too many digits"):
        _ = report.net_cash_flow
    assert "10,000,000,000,000.00" in report.summary()
    assert report.exact().net_cash_flow == Decimal(10**13)


def test_the_identity_gap_is_exact():
    """A difference of a cent is found in balances of 36 digits, which Decimal's default context would round."""
    huge = "123456789012345678901234567890123456.78"
    with localcontext(prec=60):
        reports = [make_report(huge, ["0.01"], as_decimals=True, gap=gap) for gap in ("-0.01", "0")]
    assert [one.checked().identity_gap for one in reports] == [Decimal("0.01"), 0]


def test_a_report_checks_all_its_tables():
    """An invalid table anywhere in a report is found."""
    sound = make_report("1", ["0"]).checked()
    assert sound.scale == 2
    for name in ("ledgers", "lines", "starting_balances", "ending_balances"):
        with pytest.raises(FrameError, match="column is missing"):
            replace(sound, **{name: getattr(sound, name).drop(columns="ledger_id")}).checked()


def test_a_page_shows_names_as_text_and_given_balances():
    """Names from the books are escaped in the notebook, and it says that a starting balance was given."""
    report = make_report("0", ["1234.50"], ledger="<script>alert(1)</script>")
    assert "<script>alert" not in report._repr_html_()
    assert "1,234.50" in report._repr_html_()
    assert "anchored" not in report._repr_html_()
    assert "anchored" in replace(report, anchored=True)._repr_html_()
