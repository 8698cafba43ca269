"""Step line of the cash balance by day."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import localcontext
from typing import TYPE_CHECKING

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.figure import (
    AXIS,
    BALANCE,
    LABEL_MARGIN,
    amount_label,
    hover_texts,
    local_dates,
    mark_sizes,
    new_figure,
    require_untagged,
    sum_by_key,
)
from accounting_analytics.money import EXACT

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from accounting_analytics.cash_flow_report import CashFlowReport


def running_balance(report: CashFlowReport) -> go.Figure:
    """Step line of the cash balance at the end of each day.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags. Days are local to its time zone.

    Raises
    ------
    InputError
        `report` is not a report, or is filtered by tags.
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    require_report(report, "report")
    require_untagged(report, "running balance")
    report = report.exact()
    days = [report.period.start_date + dt.timedelta(days=offset) for offset in range(report.period.days)]
    changes = sum_by_key(report.lines["amount"], local_dates(report), days)
    with localcontext(EXACT):
        balances = list(itertools.accumulate(changes, initial=report.starting_cash_balance))[1:]
    figure = new_figure(report, "Cash balance at the end of each day")
    figure.add_scatter(
        x=days,
        y=mark_sizes(balances),
        name="Cash balance",
        mode="lines",
        line={"color": BALANCE, "width": 2, "shape": "hv"},
        **hover_texts(balances),
    )
    lowest = min(range(len(days)), key=balances.__getitem__)
    figure.add_scatter(
        x=[days[lowest], days[-1]],
        y=mark_sizes([balances[lowest], balances[-1]]),
        mode="markers+text",
        marker={"color": BALANCE, "size": 9, "symbol": ["triangle-down", "circle"]},
        text=[f"lowest {amount_label(balances[lowest])}", f" end {amount_label(balances[-1])}"],
        textposition=[f"bottom {_side(lowest / len(days))}", "middle right"],
        cliponaxis=False,
        hoverinfo="skip",
    )
    figure.update_layout(showlegend=False, margin={"r": 130})
    bottom, top = mark_sizes([min(balances), max(balances)])
    figure.update_yaxes(autorangeoptions_include=[bottom - (top - bottom) * LABEL_MARGIN])
    figure.add_hline(y=0, line={"color": AXIS, "width": 1})
    return figure


def _side(position: float) -> str:
    """Side of a mark, placed between 0 and 1 on the axis, on which a label overlaps neither the axis nor the end."""
    if position < LABEL_MARGIN:
        return "right"
    return "left" if position > 1 - LABEL_MARGIN else "center"
