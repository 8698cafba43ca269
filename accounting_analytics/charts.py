"""One function a picture: a cash flow report in, a Plotly figure out.

Colours are Okabe and Ito's, which stay apart for every kind of colour vision; direction shows by more than colour.
Sums are exact decimals, hover texts show them to the last digit, and only the height of a mark is a float. Text from
the books is escaped.
"""

from __future__ import annotations

import datetime as dt
import html
import itertools
from collections import defaultdict
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from accounting_analytics.errors import InputError
from accounting_analytics.messages import printable
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.periods import zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from accounting_analytics.schemas import CashFlowReport

INFLOW = "#009E73"
OUTFLOW = "#D55E00"
BALANCE = "#0072B2"
NET = "#000000"
_LONGEST_LABEL = 28
_MANY_MONTHS = 12
_LABEL_ROOM = 0.12


def inflow_outflow(report: CashFlowReport) -> go.Figure:
    """Bars of cash in and cash out by calendar month, with a line for the net.

    Parameters
    ----------
    report : CashFlowReport
        Months are local to the report's time zone; the first and last may be parts of a month.

    Returns
    -------
    plotly.graph_objects.Figure
        Inflows stand up, outflows hang down hatched, the net is a line with markers.

    Raises
    ------
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    months = [month.start_date for month in report.period.months()]
    first_days = _local_dates(report).map(lambda day: max(day.replace(day=1), report.period.start_date))
    amounts = report.lines["amount"]
    inflow = _sums(amounts[amounts > 0], first_days, months)
    outflow = _sums(amounts[amounts < 0], first_days, months)
    net = [_sum(both) for both in zip(inflow, outflow, strict=True)]
    labels = [f"{month:%b %Y}" for month in months]
    figure = _figure(report, "Cash in and out by month")
    figure.add_bar(x=labels, y=_heights(inflow), name="Inflow", marker_color=INFLOW, **_hover(inflow))
    figure.add_bar(
        x=labels,
        y=_heights(outflow),
        name="Outflow",
        marker={"color": OUTFLOW, "pattern": {"shape": "/", "fgcolor": "white", "size": 6, "solidity": 0.25}},
        **_hover(outflow),
    )
    figure.add_scatter(
        x=labels,
        y=_heights(net),
        name="Net",
        mode="lines+markers",
        line={"color": NET, "width": 2},
        marker={"symbol": "diamond", "size": 8},
        **_hover(net),
    )
    figure.update_layout(barmode="relative", bargap=0.3, hovermode="x unified")
    figure.update_xaxes(type="category", tickangle=-45 if len(months) > _MANY_MONTHS else 0)
    return _finished(figure, report)


def waterfall(report: CashFlowReport, *, largest: int = 10) -> go.Figure:
    """Waterfall from the starting cash balance over the ledgers that moved cash to the ending one.

    Parameters
    ----------
    report : CashFlowReport
        An untagged report: the flows of a tagged one do not lead from one balance to the other. What the flows of a
        report that does not tie leave unexplained is a step of its own.
    largest : int
        How many ledgers get a step of their own, by absolute net cash flow; the rest are one step, exactly.

    Raises
    ------
    InputError
        The report is filtered by tags, or `largest` is not positive.
    """
    _require_untagged(report, "waterfall")
    if largest < 1:
        msg = f"largest must be at least 1, not {largest}"
        raise InputError(msg)
    moved = report.ledgers[report.ledgers["net_cash_flow"] != 0]
    ranked = moved.assign(size=moved["net_cash_flow"].abs()).sort_values("size", ascending=False, kind="stable")
    own, rest = ranked.head(largest), ranked.iloc[largest:]
    steps = sorted(zip(own["name"], own["net_cash_flow"], strict=True), key=lambda step: step[1], reverse=True)
    if len(rest):
        steps.append((f"{len(rest)} other ledgers", _sum(rest["net_cash_flow"])))
    if report.identity_gap:
        steps.append(("Not explained by the flows", -report.identity_gap))
    amounts = [report.starting_cash_balance, *(amount for _, amount in steps), report.ending_cash_balance]
    labels = [
        f"Start {report.period.start_date}",
        *(_wrapped(name) for name, _ in steps),
        f"End {report.period.end_date}",
    ]
    figure = _figure(report, "From starting to ending cash")
    figure.add_waterfall(
        orientation="h",
        y=list(range(len(labels))),
        x=_heights(amounts),
        measure=["absolute", *["relative"] * len(steps), "total"],
        text=[_short(amounts[0]), *(_short(amount, sign=True) for _, amount in steps), _short(amounts[-1])],
        textposition="outside",
        textfont={"size": 12},
        constraintext="none",
        cliponaxis=False,
        increasing={"marker": {"color": INFLOW}},
        decreasing={"marker": {"color": OUTFLOW}},
        totals={"marker": {"color": BALANCE}},
        connector={"line": {"color": "#999999", "width": 1, "dash": "dot"}},
        **_hover(amounts, labels=labels),
    )
    figure.update_layout(showlegend=False, waterfallgap=0.3, height=190 + 30 * len(labels), margin={"r": 90})
    figure.update_yaxes(
        tickvals=list(range(len(labels))), ticktext=labels, autorange="reversed", showgrid=False, zeroline=False
    )
    with localcontext(EXACT):
        reached = _heights([Decimal(0), *itertools.accumulate(amounts[:-1])])
    room = (max(reached) - min(reached)) * _LABEL_ROOM or 1.0
    figure.update_xaxes(
        tickformat=",",
        showgrid=True,
        zeroline=True,
        zerolinecolor="#555555",
        range=[min(reached) - room, max(reached) + room],
    )
    return _finished(figure, report, always=True)


def running_balance(report: CashFlowReport) -> go.Figure:
    """Step line of the cash balance at the end of each day.

    Parameters
    ----------
    report : CashFlowReport
        An untagged report. Days are local to its time zone.

    Raises
    ------
    InputError
        The report is filtered by tags.
    PeriodError
        The report is in the service's ``localtime``, which is not known here.
    """
    _require_untagged(report, "running balance")
    days = [report.period.start_date + dt.timedelta(days=offset) for offset in range(report.period.days)]
    changes = _sums(report.lines["amount"], _local_dates(report), days)
    with localcontext(EXACT):
        balances = list(itertools.accumulate(changes, initial=report.starting_cash_balance))[1:]
    figure = _figure(report, "Cash balance at the end of each day")
    figure.add_scatter(
        x=days,
        y=_heights(balances),
        name="Cash balance",
        mode="lines",
        line={"color": BALANCE, "width": 2, "shape": "hv"},
        **_hover(balances),
    )
    lowest = min(range(len(days)), key=balances.__getitem__)
    figure.add_scatter(
        x=[days[lowest], days[-1]],
        y=_heights([balances[lowest], balances[-1]]),
        mode="markers+text",
        marker={"color": BALANCE, "size": 9, "symbol": ["triangle-down", "circle"]},
        text=[f"lowest {_short(balances[lowest])}", f" end {_short(balances[-1])}"],
        textposition=["bottom center" if days[lowest] != days[-1] else "bottom left", "middle right"],
        cliponaxis=False,
        hoverinfo="skip",
    )
    figure.update_layout(showlegend=False, margin={"r": 130})
    bottom, top = _heights([min(balances), max(balances)])
    figure.update_yaxes(autorangeoptions_include=[bottom - (top - bottom) * _LABEL_ROOM])
    figure.add_hline(y=0, line={"color": "#555555", "width": 1})
    return _finished(figure, report, always=True)


def _require_untagged(report: CashFlowReport, picture: str) -> None:
    if report.tag_ids:
        msg = f"a report filtered by tags has no {picture}: its balances are not filtered; load it without tag_ids"
        raise InputError(msg)


def _local_dates(report: CashFlowReport) -> pd.Series[Any]:
    """Local calendar date of each line."""
    dates: pd.Series[Any] = report.lines["datetime"].dt.tz_convert(zone(report.period.time_zone)).dt.date
    return dates


def _sums(amounts: pd.Series[Any], keys: pd.Series[Any], wanted: Iterable[Any]) -> list[Decimal]:
    """Exact sum of the amounts of each wanted key."""
    parts: dict[Any, list[Decimal]] = defaultdict(list)
    for key, amount in zip(keys.loc[amounts.index], amounts, strict=True):
        parts[key].append(amount)
    return [_sum(parts.get(key, ())) for key in wanted]


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    with localcontext(EXACT):
        return sum(amounts, Decimal(0))


def _heights(amounts: Sequence[Decimal]) -> list[float]:
    """Heights of marks: the only floats made of money."""
    return [float(amount) for amount in amounts]


def _hover(amounts: Sequence[Decimal], *, labels: Sequence[str] | None = None) -> dict[str, Any]:
    """Hover texts with every digit."""
    if labels is None:
        return {"customdata": [format_amount(amount) for amount in amounts], "hovertemplate": "%{customdata}"}
    rows = [[label, format_amount(amount)] for label, amount in zip(labels, amounts, strict=True)]
    return {"customdata": rows, "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<extra></extra>"}


def _short(amount: Decimal, *, sign: bool = False) -> str:
    """Label of a mark, in whole units; hover has the digits."""
    whole = amount.quantize(Decimal(1))
    return (f"{whole:+,f}" if sign else f"{whole:,f}").replace("-", "\N{MINUS SIGN}")


def _plain(text: str) -> str:
    """Text from the books, escaped and on one line."""
    return html.escape(printable(text, " "), quote=False)


def _wrapped(name: str) -> str:
    """Name of a ledger as an axis label, shortened where it is long."""
    return _plain(name if len(name) <= _LONGEST_LABEL else f"{name[: _LONGEST_LABEL - 1]}…")


def _figure(report: CashFlowReport, title: str) -> go.Figure:
    subtitle = f"{report.period.start_date} to {report.period.end_date}, days in {report.period.time_zone}"
    stamps = [
        *(["PARTIAL: lines are missing"] if report.partial else []),
        "amounts in the currency of the books",
        *(["starting balance taken over, not summed"] if report.anchored else []),
        *([f"only lines tagged {_plain(', '.join(report.tag_ids))}"] if report.tag_ids else []),
    ]
    figure = go.Figure()
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "subtitle": {"text": " · ".join([subtitle, *stamps])}, "x": 0.01, "xanchor": "left"},
        font={"family": "system-ui, sans-serif", "size": 13},
        margin={"l": 80, "r": 40, "t": 110, "b": 60},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
        height=480,
    )
    figure.update_yaxes(tickformat=",", zeroline=True, zerolinecolor="#555555", automargin=True)
    figure.update_xaxes(automargin=True, showgrid=False)
    return figure


def _finished(figure: go.Figure, report: CashFlowReport, *, always: bool = False) -> go.Figure:
    """Say so where there is nothing to see."""
    if report.lines.empty and not always:
        figure.add_annotation(
            text="No cash moved in this period", x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False
        )
    return figure
