"""Step line of the cash balance by day."""

import datetime as dt

from accounting_analytics import charts


def test_every_day_has_a_balance(make_report, lines, hovers):
    """The line has a value for each local day, from the starting balance to the ending one."""
    report = make_report(lines, start="10.00")
    line, marks = charts.running_balance(report).data
    assert len(line.x) == report.period.days
    assert hovers(line)[0] == "10.00"
    assert hovers(line)[-1] == f"{report.ending_cash_balance:,}"
    assert dict(zip(line.x, hovers(line), strict=True))[dt.date(2025, 1, 31)] == "610.10"
    assert len(marks.x) == 2


def test_axis_leaves_room_for_the_lowest_label(make_report, lines):
    """The axis extends below the lowest balance, so that its label does not overlap the dates."""
    figure = charts.running_balance(make_report(lines, start="10.00"))
    lowest, highest = min(figure.data[0].y), max(figure.data[0].y)
    (bottom,) = figure.layout.yaxis.autorangeoptions.include
    assert lowest - (highest - lowest) / 5 < bottom < lowest - (highest - lowest) / 10
