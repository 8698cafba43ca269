"""Step line of the cash balance by day."""

import dataclasses
import datetime as dt
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.core.errors import InputError


def test_every_day_has_a_balance(make_report, lines, hovers):
    """The line has a value for each local day, from the starting balance to the ending one."""
    report = make_report(lines, start="10.00")
    line, marks = charts.running_balance(report).data
    assert len(line.x) == report.period.days
    assert hovers(line)[0] == "10.00"
    assert hovers(line)[-1] == f"{report.exact_sums().ending_cash_balance:,}"
    assert dict(zip(line.x, hovers(line), strict=True))[dt.date(2025, 1, 31)] == "610.10"
    assert len(marks.x) == 2


def test_axis_leaves_room_for_the_lowest_label(make_report, lines):
    """The axis extends below the lowest balance, so that its label does not overlap the dates."""
    figure = charts.running_balance(make_report(lines, start="10.00"))
    lowest, highest = min(figure.data[0].y), max(figure.data[0].y)
    bottom, top = figure.layout.yaxis.range
    assert bottom <= min(0, lowest) - (highest - min(0, lowest)) / 10
    assert top >= highest + (highest - min(0, lowest)) / 10


def test_label_of_an_early_low_is_beside_the_axis(make_report, lines):
    """The label of a lowest balance on one of the first days extends to the right, on the last days to the left."""
    first, last = [("Rent", "-5.00", lines[0][2])], [("Sales", "9.00", lines[0][2]), ("Rent", "-50.00", lines[3][2])]
    early = charts.running_balance(make_report([*first, ("Sales", "9.00", lines[3][2])]))
    late = charts.running_balance(make_report([*last, ("Rent", "-1.00", lines[3][2].replace(day=28))]))
    lows = [figure.layout.annotations[0] for figure in (early, late)]
    assert [(low.text, low.xanchor) for low in lows] == [
        ("lowest \N{MINUS SIGN}5.00", "left"),
        ("end, lowest \N{MINUS SIGN}42", "right"),
    ]


def test_labels_are_readable_where_the_zero_line_or_the_balance_crosses_them(make_report, lines):
    """Labels have a background."""
    labels = charts.running_balance(make_report(lines, start="10.00")).layout.annotations
    assert [label.text.split()[0] for label in labels] == ["lowest", "end"]
    assert {label.bgcolor for label in labels} == {"#ffffff"}


def test_hover_shows_the_day(make_report, lines):
    """The hover text starts with the day, wherever in the chart it is above or below the line."""
    layout = charts.running_balance(make_report(lines)).layout
    assert (layout.hovermode, layout.xaxis.hoverformat) == ("x unified", "%a %-d %b %Y")


def test_days_of_a_short_period_are_labelled_as_days(make_report, lines):
    """The axis of one day has one label, not fractions of a second."""
    one_day = dataclasses.replace(make_report(lines[2:]), period=aa.Period("2025-03-01", "2025-03-01", "UTC"))
    assert charts.running_balance(one_day).layout.xaxis.dtick == 24 * 60 * 60 * 1000
    assert charts.running_balance(make_report(lines)).layout.xaxis.dtick is None


def test_a_line_that_misses_the_ending_balance_is_stated(make_report, lines):
    """The subtitle of a report that does not tie names the balance at which the report ends."""
    report = make_report(lines, start="10.00")
    assert "the report ends" not in charts.running_balance(report).layout.title.subtitle.text
    wrong = dataclasses.replace(report, ending_cash_balance=Decimal("7.00"))
    assert "the report ends at 7.00" in charts.running_balance(wrong).layout.title.subtitle.text


@pytest.mark.parametrize("chart", [charts.running_balance, charts.inflow_outflow])
def test_a_report_without_its_lines_is_refused(make_report, lines, chart):
    """A report of totals alone, or one whose service sent no lines, would look as if no cash had moved."""
    report = make_report(lines)
    without = dataclasses.replace(report, lines=report.lines.head(0), origin="recomputed")
    with pytest.raises(InputError, match=r"needs the lines of the report.*lines=True"):
        chart(without)
    with pytest.raises(InputError, match="recompute it from line entries"):
        chart(dataclasses.replace(without, origin="loaded"))


def test_nothing_is_drawn_before_the_first_line_of_a_report_that_starts_at_zero(make_report, lines, hovers):
    """A period that begins before the books has no zeros of days without books; the remarks say so."""
    figure = charts.running_balance(make_report(lines))
    assert figure.data[0].x[0] == dt.date(2025, 1, 20)
    assert figure.layout.xaxis.range[0] == dt.date(2025, 1, 15)
    assert "nothing before 2025-01-20" in figure.layout.title.subtitle.text
    later = [(ledger, amount, instant + dt.timedelta(days=40)) for ledger, amount, instant in lines[:2]]
    bars = charts.inflow_outflow(make_report(later))
    assert [mark[1] for mark in bars.data[0].customdata] == ["Mar 2025"]
    assert hovers(charts.running_balance(make_report([])).data[0])[0] == "0.00"
