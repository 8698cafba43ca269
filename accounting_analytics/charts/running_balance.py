"""Step line of the cash balance by day."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import localcontext
from typing import TYPE_CHECKING

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.charts.figure import (
    AXIS,
    BALANCE_COLOUR,
    LABEL_MARGIN,
    amount_label,
    local_dates,
    mark_data,
    mark_sizes,
    new_figure,
    require_lines,
    require_untagged,
)
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.money import EXACT, format_amount, sum_by_key
from accounting_analytics.report_figures import BALANCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    import plotly.graph_objects as go

    from accounting_analytics.cash_flow_report import CashFlowReport


_DAY_IN_MILLISECONDS = 86_400_000
_EVERY_DAY_LABELLED = 10


def running_balance(report: CashFlowReport) -> go.Figure:
    """Step line of the cash balance at the end of each day.

    Parameters
    ----------
    report : CashFlowReport
        A report without tags. Days are local to its time zone. The line of a report that does not tie need not end at
        its ending balance, which the subtitle then names.

    Raises
    ------
    InputError
        `report` is not a report, is filtered by tags, or has no lines although cash moved.
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    require_report(report, "report")
    require_untagged(report, "running balance")
    require_lines(report, "running balance")
    report = report.exact()
    days = [report.period.start_date + dt.timedelta(days=offset) for offset in range(report.period.days)]
    by_day = sum_by_key(zip(local_dates(report), report.lines["amount"], strict=True))
    sums = report.exact_sums()
    with localcontext(EXACT):
        balances = list(itertools.accumulate((by_day[day] for day in days), initial=sums.starting_cash_balance))[1:]
    keys = [f"{BALANCE}{KEY_SEPARATOR}{day}" for day in days]
    ending = format_amount(sums.ending_cash_balance)
    gap = [] if balances[-1] == sums.ending_cash_balance else [f"the report ends at {ending}"]
    figure = new_figure(report, "Cash balance at the end of each day", *gap)
    figure.add_scatter(
        x=days,
        y=mark_sizes(balances),
        name="Cash balance",
        mode="lines",
        line={"color": BALANCE_COLOUR, "width": 2, "shape": "hv"},
        **mark_data(keys, balances),
    )
    _mark_lowest_and_end(figure, days, balances, keys)
    figure.update_layout(showlegend=False, margin={"r": 130}, hovermode="x unified")
    figure.update_xaxes(hoverformat="%a %Y-%m-%d")
    if len(days) <= _EVERY_DAY_LABELLED:
        figure.update_xaxes(dtick=_DAY_IN_MILLISECONDS, tickformat="%b %-d<br>%Y")  # Plotly would label hours
    bottom, top = mark_sizes([min(balances), max(balances)])
    figure.update_yaxes(autorangeoptions_include=[bottom - (top - bottom) * LABEL_MARGIN])
    figure.add_hline(y=0, line={"color": AXIS, "width": 1})
    return figure


def _mark_lowest_and_end(
    figure: go.Figure, days: Sequence[dt.date], balances: Sequence[Decimal], keys: Sequence[str]
) -> None:
    """Mark two days, with labels on a background, because the zero line or the balance may cross them."""
    lowest = min(range(len(days)), key=balances.__getitem__)
    figure.add_scatter(
        x=[days[lowest], days[-1]],
        y=mark_sizes([balances[lowest], balances[-1]]),
        mode="markers",
        marker={"color": BALANCE_COLOUR, "size": 9, "symbol": ["triangle-down", "circle"]},
        cliponaxis=False,
        **mark_data([keys[lowest], keys[-1]], [balances[lowest], balances[-1]]) | {"hovertemplate": None},
        hoverinfo="skip",
    )
    lowest_label = {"text": f"lowest {amount_label(balances[lowest])}", "xanchor": _anchor(lowest / len(days))}
    end_label = {"text": f"end {amount_label(balances[-1])}", "xanchor": "left", "xshift": 8}
    for at, label in ((lowest, lowest_label | {"yshift": -15}), (-1, end_label)):
        figure.add_annotation(label, x=days[at], y=float(balances[at]), showarrow=False, bgcolor="white", borderpad=0)


def _anchor(position: float) -> str:
    """Side of a label that is at its mark, between 0 and 1 on the axis, so that it overlaps neither axis nor end."""
    if position < LABEL_MARGIN:
        return "left"
    return "right" if position > 1 - LABEL_MARGIN else "center"
