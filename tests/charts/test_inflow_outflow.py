"""Bars of cash in and out by month."""

from accounting_analytics import charts


def test_months_are_local_and_sums_exact(make_report, lines, hovers):
    """Each bar is the exact sum of a local month, including the partial first one."""
    inflow, outflow, net = charts.inflow_outflow(make_report(lines)).data
    assert [data[1] for data in inflow.customdata] == ["15 to 31 Jan 2025", "Feb 2025", "Mar 2025"]
    assert hovers(inflow) == ["1,000.10", "0", "0.20"]
    assert hovers(outflow) == ["-400.00", "0", "-0.30"]
    assert hovers(net) == ["600.10", "0", "-0.10"]
    assert outflow.marker.pattern.shape == "/"


def test_empty_bars_are_annotated(make_report):
    """Without lines the chart says that no cash moved."""
    figure = charts.inflow_outflow(make_report([]))
    assert "No cash moved" in figure.layout.annotations[0].text
    assert figure.layout.yaxis.showticklabels is False


def test_bars_of_few_months_are_narrow(make_report, lines):
    """A chart of one month is not one bar as wide as the page."""
    figure = charts.inflow_outflow(make_report(lines))
    assert (1 - figure.layout.bargap) / len(figure.data[0].x) <= 0.1 + 1e-9
