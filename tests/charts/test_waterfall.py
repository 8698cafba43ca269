"""Waterfall from the starting to the ending cash balance."""

import dataclasses
from decimal import Decimal

import pytest

from accounting_analytics import charts
from accounting_analytics.core.errors import InputError


def steps_of(report, hovers, **options):
    """Trace of the waterfall, and its amounts."""
    (trace,) = charts.waterfall(report, **options).data
    return trace, [Decimal(text.replace(",", "")) for text in hovers(trace)]


def test_steps_lead_from_start_to_end(make_report, lines, hovers):
    """The steps sum exactly to the ending balance; small ledgers share one step."""
    many = [(f"Ledger {number}", f"-{number}.01", lines[0][2]) for number in range(1, 15)]
    trace, amounts = steps_of(make_report(many, start="500.00"), hovers, largest=10)
    assert len(amounts) == 1 + 10 + 1 + 1
    assert sum(amounts[:-1]) == amounts[-1] == Decimal("500.00") - Decimal("105.14")
    assert trace.customdata[-2][1] == "4 other ledgers"
    assert list(trace.measure) == ["absolute", *["relative"] * 11, "total"]


def test_unexplained_amount_is_a_step(make_report, lines, hovers):
    """In a report that does not tie, what the flows do not explain is a step of its own."""
    report = make_report(lines, start="10.00")
    wrong = dataclasses.replace(report, ending_cash_balance=report.exact_sums().ending_cash_balance + Decimal("0.07"))
    trace, amounts = steps_of(wrong, hovers)
    assert sum(amounts[:-1]) == amounts[-1] == wrong.exact_sums().ending_cash_balance
    assert list(trace.customdata[-2][1:]) == ["Not explained by the flows", "0.07"]


@pytest.mark.parametrize("largest", [0, -1, 2.5, "10"])
def test_largest_must_be_positive(make_report, lines, largest):
    """A chart without steps, or a count that is not a whole number, is refused."""
    with pytest.raises(InputError, match=f"largest must be a whole number of at least 1, not {largest!r}"):
        charts.waterfall(make_report(lines), largest=largest)
