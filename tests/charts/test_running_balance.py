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


def test_label_of_an_early_low_is_beside_the_axis(make_report, lines):
    """The label of a lowest balance on one of the first days extends to the right, on the last days to the left."""
    first, last = [("Rent", "-5.00", lines[0][2])], [("Sales", "9.00", lines[0][2]), ("Rent", "-50.00", lines[3][2])]
    early = charts.running_balance(make_report([*first, ("Sales", "9.00", lines[3][2])]))
    late = charts.running_balance(make_report([*last, ("Rent", "-1.00", lines[3][2].replace(day=28))]))
    assert [figure.data[1].textposition[0] for figure in (early, late)] == ["bottom right", "bottom left"]
