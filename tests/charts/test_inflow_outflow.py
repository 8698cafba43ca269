"""Bars of cash in and out by week, month or quarter."""

import dataclasses
from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.core.errors import InputError


def test_months_are_local_and_sums_exact(make_report, lines, hovers):
    """Each bar is the exact sum of a local month, including the partial first one."""
    inflow, outflow, net = charts.inflow_outflow(make_report(lines)).data
    assert [data[1] for data in inflow.customdata] == ["15 to 31 Jan 2025", "Feb 2025", "Mar 2025"]
    assert hovers(inflow) == ["1,000.10", "0.00", "0.20"]
    assert hovers(outflow) == ["-400.00", "0.00", "-0.30"]
    assert hovers(net) == ["600.10", "0.00", "-0.10"]
    assert outflow.marker.pattern.shape == "/"


def test_an_entry_is_in_or_out_as_a_whole(make_report, lines, hovers):
    """What is withheld from wages is in neither sum: the lines of a journal entry count together."""
    report = make_report([*lines, ("Wages", "-600.00", lines[0][2]), ("Taxes", "100.00", lines[0][2])])
    entries = [*report.lines["journal_entry_id"][:-2], "pay", "pay"]
    report = dataclasses.replace(report, lines=report.lines.assign(journal_entry_id=entries))
    inflow, outflow, net = charts.inflow_outflow(report).data
    assert [hovers(one)[0] for one in (inflow, outflow, net)] == ["1,000.10", "-900.00", "100.10"]


def test_empty_bars_are_annotated(make_report):
    """Without lines the chart says that no cash moved."""
    figure = charts.inflow_outflow(make_report([]))
    assert "No cash moved" in figure.layout.annotations[0].text
    assert figure.layout.yaxis.visible is False
    assert not figure.data


def test_bars_of_few_months_are_narrow(make_report, lines):
    """A chart of one month is not one bar as wide as the page."""
    assert charts.inflow_outflow(make_report(lines)).layout.bargap == pytest.approx(0.7)
    one_day = dataclasses.replace(make_report(lines[2:]), period=aa.Period("2025-03-01", "2025-03-01", "UTC"))
    assert charts.inflow_outflow(one_day).layout.bargap == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("end", "unit", "labels"),
    [
        ("2025-01-15", "week", ("15 Jan 2025", "15 Jan 2025")),
        ("2025-03-17", "week", ("15 to 19 Jan 2025", "17 Mar 2025")),
        ("2025-03-31", "month", ("15 to 31 Jan 2025", "Mar 2025")),
        ("2034-12-31", "quarter", ("15 Jan 2025 to 31 Mar 2025", "Q4 2034")),
    ],
)
def test_bars_are_weeks_months_or_quarters(end, unit, labels, make_report, lines):
    """The length of the period decides what a bar is, if it is not given."""
    report = make_report(lines)
    report = dataclasses.replace(report, period=aa.Period("2025-01-15", end, "America/New_York"))
    report = dataclasses.replace(report, lines=report.lines.head(0), ledgers=report.ledgers.head(0))
    for figure in (charts.inflow_outflow(report), charts.inflow_outflow(report, by=unit)):
        assert figure.layout.title.text == f"Cash in and out by {unit}"
        places = figure.chart.places
        assert (places[0].label, places[-1].label) == labels
    with pytest.raises(InputError, match="by must be week, month or quarter"):
        charts.inflow_outflow(report, by="day")


def test_transfers_between_own_accounts_are_left_out(make_report, lines, hovers):
    """What goes through the ledger of transfers is neither in nor out; keys and remarks say so."""
    report = make_report([*lines, ("Moved", "500.00", lines[0][2]), ("Moved", "-500.00", lines[2][2])])
    ledgers = pd.DataFrame(
        {"id": ["Moved"], "is_required": [True], "sub_type": ["transfers_between_accounts"], "debit_credit": ["debit"]}
    )
    figure = charts.inflow_outflow(report, ledgers=ledgers)
    assert hovers(figure.data[0]) == ["1,000.10", "0.00", "0.20"]
    assert "transfers between own accounts" in figure.layout.title.subtitle.text.replace("<br>", " ")
    key = figure.data[0].customdata[0][0]
    assert key == "inflow|2025-01-15/2025-01-31|without:Moved"  # the report begins within the month
    with pytest.raises(InputError, match="'2025-01' is not within the report's period"):
        report["inflow|2025-01|without:Moved"]
    assert report[key].exact() == Decimal("1000.10")
    assert len(report[key].entries) == 1
    counted = charts.inflow_outflow(report)
    assert hovers(counted.data[0])[0] == "1,500.10"
    assert "are counted" in counted.layout.title.subtitle.text.replace("<br>", " ")


def test_the_sums_of_the_bars_are_the_net_cash_flow(make_report, lines, hovers):
    """By week, month and quarter alike."""
    report = make_report(lines)
    for unit in ("week", "month", "quarter"):
        traces = charts.inflow_outflow(report, by=unit).data
        inflow, outflow, net = ([Decimal(one.replace(",", "")) for one in hovers(trace)] for trace in traces)
        assert sum(inflow) + sum(outflow) == sum(net) == report.exact_sums().net_cash_flow
