"""What all charts share: title and layout, colours, exact sums, labels and hover texts.

The colours are those of Okabe and Ito, which people with colour vision deficiencies can distinguish; direction is never
shown by colour alone. Sums are exact decimals, hover texts have all their digits, and only the size of a mark is a
float. Text from the books is escaped.
"""

from __future__ import annotations

import html
import itertools
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import plotly.graph_objects as go

from accounting_analytics.errors import InputError
from accounting_analytics.messages import join_ids, printable
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.periods import zone

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport

INFLOW_COLOUR = "#009E73"
OUTFLOW_COLOUR = "#D55E00"
BALANCE_COLOUR = "#0072B2"
NET_COLOUR = "#000000"
AXIS = "#555555"
UPLOAD_BUTTON = "sendChartToCloud"
"""Button of Plotly that sends a figure with its figures to a server of its maker; removed wherever a chart is shown."""
LABEL_MARGIN = 0.12
"""Part of an axis that is left free for the label of its outermost mark."""
_STEP_MARGIN = 0.2
"""Part of the axis of a waterfall left free on each side, enough for an amount in a chart of the width of a sheet."""
_ZERO_LINE = "#BBBBBB"
"""Light enough that an amount which crosses it can be read."""
_MAX_LABEL_LENGTH = 28
_SMALL = 10


def new_figure(report: CashFlowReport, title: str, *remarks: str) -> go.Figure:
    """Empty figure whose subtitle states the period, the time zone, what limits the report, and remarks."""
    return titled_figure(
        title,
        f"{report.period.start_date} to {report.period.end_date}, days in {report.period.time_zone}",
        *(["PARTIAL: lines are missing"] if report.partial else []),
        "amounts in the currency of the books",
        *(["starting balance supplied, not summed"] if report.anchored else []),
        *([f"only lines tagged {_escape(join_ids(report.tag_ids, limit=1))}"] if report.tag_ids else []),
        *remarks,
    )


def titled_figure(title: str, *remarks: str) -> go.Figure:
    """Empty figure with a title, and remarks as its subtitle."""
    figure = go.Figure()
    figure.update_layout(
        template="plotly_white",
        title={"text": title, "subtitle": {"text": " · ".join(remarks)}, "x": 0.01, "xanchor": "left"},
        font={"family": "system-ui, sans-serif", "size": 13},
        margin={"l": 80, "r": 40, "t": 110, "b": 60},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"},
        height=480,
        modebar={"remove": [UPLOAD_BUTTON]},
    )
    figure.update_yaxes(tickformat=",", zeroline=True, zerolinecolor=AXIS, automargin=True)
    figure.update_xaxes(automargin=True, showgrid=False)
    return figure


def require_untagged(report: CashFlowReport, chart: str) -> None:
    """Refuse a report filtered by tags for a chart that needs balances."""
    if report.tag_ids:
        raise InputError(f"a {chart} needs balances, and tags do not filter those; load the report without tag_ids")


def require_lines(report: CashFlowReport, chart: str) -> None:
    """Refuse a report whose ledgers moved cash, but which has no lines, for a chart that draws them."""
    if report.totals_only or (report.lines.empty and (report.ledgers["net_cash_flow"] != 0).any()):
        raise InputError(
            f"a {chart} needs the lines of the report, and this one has none; "
            + ("recompute it with lines=True" if report.origin == "recomputed" else "recompute it from line entries")
        )


def local_dates(report: CashFlowReport) -> pd.Series[Any]:
    """Local calendar date of each line."""
    dates: pd.Series[Any] = report.lines["datetime"].dt.tz_convert(zone(report.period.time_zone)).dt.date
    return dates


def mark_sizes(amounts: Sequence[Decimal]) -> list[float]:
    """Amounts as the floats that Plotly draws; nothing is calculated with them."""
    return [float(amount) for amount in amounts]


def mark_data(
    keys: Sequence[str], amounts: Sequence[Decimal], *, labels: Sequence[str] | None = None
) -> dict[str, Any]:
    """Trace arguments for keys and hover texts: ``report[customdata[0]]`` is the figure of a mark.

    The texts have all digits, each below its label where there are labels.
    """
    texts = [format_amount(amount) for amount in amounts]
    if labels is None:
        rows = [[key, text] for key, text in zip(keys, texts, strict=True)]
        return {"customdata": rows, "hovertemplate": "%{customdata[1]}"}
    rows = [[key, label, text] for key, label, text in zip(keys, labels, texts, strict=True)]
    return {"customdata": rows, "hovertemplate": "%{customdata[1]}<br>%{customdata[2]}<extra></extra>"}


def amount_label(amount: Decimal, *, sign: bool = False) -> str:
    """Amount to be written beside its mark: in whole units, and with all digits where it is small."""
    shown = amount if 0 < abs(amount) < _SMALL else amount.quantize(Decimal(1))
    return (f"{shown:+,f}" if sign else f"{shown:,f}").replace("-", "\N{MINUS SIGN}")


class StepMark(NamedTuple):
    """A bar of a waterfall: the key of its figure, its label, and its amount."""

    key: str
    label: str
    amount: Decimal


def draw_waterfall(figure: go.Figure, marks: Sequence[StepMark], *, row_height: int) -> None:
    """Draw bars from the first mark, over those between, to the last one, which they sum to."""
    amounts = [mark.amount for mark in marks]
    labels = [mark.label for mark in marks]
    positions = list(range(len(marks)))
    figure.add_waterfall(
        orientation="h",
        y=positions,
        x=mark_sizes(amounts),
        measure=["absolute", *["relative"] * (len(marks) - 2), "total"],
        text=[
            amount_label(amounts[0]),
            *(amount_label(amount, sign=True) for amount in amounts[1:-1]),
            amount_label(amounts[-1]),
        ],
        textposition="outside",
        textfont={"size": 12},
        constraintext="none",
        cliponaxis=False,
        increasing={"marker": {"color": INFLOW_COLOUR}},
        decreasing={"marker": {"color": OUTFLOW_COLOUR}},
        totals={"marker": {"color": BALANCE_COLOUR}},
        connector={"line": {"color": "#999999", "width": 1, "dash": "dot"}},
        **mark_data([mark.key for mark in marks], amounts, labels=labels),
    )
    height = 190 + row_height * len(marks)
    figure.update_layout(showlegend=False, waterfallgap=0.3, height=height, margin={"r": 40})
    figure.update_yaxes(tickvals=positions, ticktext=labels, autorange="reversed", showgrid=False, zeroline=False)
    figure.update_xaxes(
        tickformat=",", showgrid=True, zeroline=True, zerolinecolor=_ZERO_LINE, range=_axis_range(amounts[:-1])
    )


def _axis_range(changes: Sequence[Decimal]) -> list[float]:
    """Range of all sums along the steps, with a margin for labels."""
    with localcontext(EXACT):
        sums = mark_sizes([Decimal(0), *itertools.accumulate(changes)])
    margin = (max(sums) - min(sums)) * _STEP_MARGIN or 1.0
    return [min(sums) - margin, max(sums) + margin]


def ledger_label(name: str) -> str:
    """Name of a ledger, escaped and shortened where it is long."""
    return _escape(name if len(name) <= _MAX_LABEL_LENGTH else f"{name[: _MAX_LABEL_LENGTH - 1]}…")


def _escape(text: str) -> str:
    """Text from the books on one line, without markup."""
    return html.escape(printable(text, " "), quote=False)
