"""Bars of cash in and out by month."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.figure import (
    INFLOW,
    NET,
    OUTFLOW,
    exact_sum,
    hover_texts,
    local_dates,
    mark_sizes,
    new_figure,
    require_lines,
    sum_by_key,
)

if TYPE_CHECKING:
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
    inflow = sum_by_key(amounts[amounts > 0], month_of_line, months)
    outflow = sum_by_key(amounts[amounts < 0], month_of_line, months)
    net = [exact_sum(pair) for pair in zip(inflow, outflow, strict=True)]
    labels = [f"{month:%b %Y}" for month in months]
    figure = new_figure(report, "Cash in and out by month")
    figure.add_bar(x=labels, y=mark_sizes(inflow), name="Inflow", marker_color=INFLOW, **hover_texts(inflow))
    figure.add_bar(
        x=labels,
        y=mark_sizes(outflow),
        name="Outflow",
        marker={"color": OUTFLOW, "pattern": {"shape": "/", "fgcolor": "white", "size": 6, "solidity": 0.25}},
        **hover_texts(outflow),
    )
    figure.add_scatter(
        x=labels,
        y=mark_sizes(net),
        name="Net",
        mode="lines+markers",
        line={"color": NET, "width": 2},
        marker={"symbol": "diamond", "size": 8},
        **hover_texts(net),
    )
    gap = max(_GAP, 1 - len(months) * _WIDEST_BAR)
    figure.update_layout(barmode="relative", bargap=gap, hovermode="x unified")
    figure.update_xaxes(type="category", tickangle=-45 if len(months) > _MAX_HORIZONTAL_LABELS else 0)
    if report.lines.empty:
        text = "No cash moved in this period"
        figure.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, bgcolor="white")
        figure.update_yaxes(showticklabels=False)
    return figure
