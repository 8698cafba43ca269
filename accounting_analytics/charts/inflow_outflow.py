"""Bars of cash in and out by month."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.figure import (
    INFLOW_COLOUR,
    NET_COLOUR,
    OUTFLOW_COLOUR,
    local_dates,
    mark_data,
    mark_sizes,
    new_figure,
    require_lines,
)
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.money import exact_sum, sum_by_key
from accounting_analytics.report_figures import INFLOW, NET, OUTFLOW

if TYPE_CHECKING:
    from decimal import Decimal

    import plotly.graph_objects as go

    from accounting_analytics.cash_flow_report import CashFlowReport

_MAX_HORIZONTAL_LABELS = 12
_GAP = 0.3
"""Part of a month's place that is left free between bars."""
_WIDEST_BAR = 0.1
"""Part of the chart that a bar takes at most, where there are few months."""


def inflow_outflow(report: CashFlowReport) -> go.Figure:
    """Bars of cash in and cash out by calendar month, with a line for the net.

    Parameters
    ----------
    report : CashFlowReport
        Months are local to the report's time zone; the first and last may be parts of a month.

    Returns
    -------
    plotly.graph_objects.Figure
        Inflows point up, outflows point down and are hatched, the net is a line with markers.

    Raises
    ------
    InputError
        `report` is not a report, or has no lines although cash moved.
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    require_report(report, "report")
    require_lines(report, "chart of months")
    report = report.exact()
    months = [month.start_date for month in report.period.months()]
    month_of_line = local_dates(report).map(lambda day: max(day.replace(day=1), report.period.start_date))
    amounts = report.lines["amount"]
    inflows = sum_by_key(zip(month_of_line[amounts > 0], amounts[amounts > 0], strict=True))
    outflows = sum_by_key(zip(month_of_line[amounts < 0], amounts[amounts < 0], strict=True))
    inflow, outflow = [inflows[month] for month in months], [outflows[month] for month in months]
    net = [exact_sum(pair) for pair in zip(inflow, outflow, strict=True)]
    labels = [f"{month:%b %Y}" for month in months]

    def data(name: str, sums: list[Decimal]) -> dict[str, Any]:
        return mark_data([f"{name}{KEY_SEPARATOR}{month:%Y-%m}" for month in months], sums)

    figure = new_figure(report, "Cash in and out by month")
    figure.add_bar(x=labels, y=mark_sizes(inflow), name="Inflow", marker_color=INFLOW_COLOUR, **data(INFLOW, inflow))
    figure.add_bar(
        x=labels,
        y=mark_sizes(outflow),
        name="Outflow",
        marker={"color": OUTFLOW_COLOUR, "pattern": {"shape": "/", "fgcolor": "white", "size": 6, "solidity": 0.25}},
        **data(OUTFLOW, outflow),
    )
    figure.add_scatter(
        x=labels,
        y=mark_sizes(net),
        name="Net",
        mode="lines+markers",
        line={"color": NET_COLOUR, "width": 2},
        marker={"symbol": "diamond", "size": 8},
        **data(NET, net),
    )
    gap = max(_GAP, 1 - len(months) * _WIDEST_BAR)
    figure.update_layout(barmode="relative", bargap=gap, hovermode="x unified")
    figure.update_xaxes(type="category", tickangle=-45 if len(months) > _MAX_HORIZONTAL_LABELS else 0)
    if report.lines.empty:
        text = "No cash moved in this period"
        figure.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, bgcolor="white")
        figure.update_yaxes(showticklabels=False)
    return figure
