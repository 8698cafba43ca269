"""Step lines of balances by day."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.charts.colours import GROUND, INK
from accounting_analytics.charts.figure import DAY, mark_data, mark_sizes
from accounting_analytics.charts.labels import amount_label
from accounting_analytics.charts.time_axis import draw_day_axis

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

    import plotly.graph_objects as go

    from accounting_analytics.periods import Period

LABEL_MARGIN = 0.14
"""Part of an axis that is left free for the label of its outermost mark."""
_NEAR_END = 0.25
_NOON = dt.time(12)


class DayLine(NamedTuple):
    """A balance by day: keys and exact amounts, which are None before the books; its colour, dash and width."""

    name: str
    keys: Sequence[str]
    amounts: Sequence[Decimal | None]
    colour: str
    dash: str = "solid"
    width: float = 2


def draw_day_lines(
    figure: go.Figure, period: Period, days: Sequence[dt.date], lines: Sequence[DayLine], *, unit: str
) -> None:
    """Draw lines whose level over the width of a day is the balance at its end, so that it is found anywhere there."""
    labels = [f"{day}" for day in days]
    for line in lines:
        is_point = sum(amount is not None for amount in line.amounts) == 1
        figure.add_scatter(
            x=days,
            xperiod=DAY,
            xperiodalignment="middle",
            y=mark_sizes(line.amounts),
            name=line.name,
            mode="markers" if is_point else "lines",
            line={"color": line.colour, "width": line.width, "shape": "hvh", "dash": line.dash},
            marker={"color": line.colour, "size": 9},
            connectgaps=False,
            **{**mark_data(line.keys, labels, line.amounts), "hovertemplate": "%{customdata[2]}"},
        )
    draw_day_axis(figure, period)
    known = [float(amount) for line in lines for amount in line.amounts if amount is not None]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = (high - low) * LABEL_MARGIN or 1.0
    figure.update_layout(hovermode="x unified")
    figure.update_yaxes(range=[low - room, high + room], title={"text": unit})


def mark_lowest_and_end(figure: go.Figure, days: Sequence[dt.date], line: DayLine) -> None:
    """Mark two days of a line, with labels on a ground, because the line may cross them."""
    known = [(at, amount) for at, amount in enumerate(line.amounts) if amount is not None]
    if not known:
        return
    end, at_end = known[-1]
    lowest, least = min(known, key=lambda one: one[1])
    marks = {lowest: f"lowest {amount_label(least)}"} if least < at_end else {}
    marks[end] = f"{'end' if marks or len(known) == 1 else 'end, lowest'} {amount_label(at_end)}"
    amounts = [line.amounts[at] for at in marks]
    figure.add_scatter(
        x=[days[at] for at in marks],
        xperiod=DAY,
        xperiodalignment="middle",
        y=mark_sizes(amounts),
        mode="markers",
        marker={"color": line.colour, "size": 9, "symbol": ["triangle-down", "circle"][-len(marks) :]},
        text=list(marks.values()),
        cliponaxis=False,
        showlegend=False,
        **{**mark_data([line.keys[at] for at in marks], [f"{days[at]}" for at in marks], amounts), "hovertemplate": ""},
        hoverinfo="skip",
    )
    for at, text in marks.items():
        figure.add_annotation(
            text=text,
            x=dt.datetime.combine(days[at], _NOON),
            y=float(line.amounts[at] or 0),
            xanchor=_anchor(at / len(days)) if len(days) > 1 else "center",
            yshift=16 if at == end else -16,
            showarrow=False,
            bgcolor=GROUND,
            borderpad=1,
            font={"size": 12, "color": INK},
        )


def _anchor(position: float) -> str:
    """Side of a label that is at its mark, between 0 and 1 on the axis, so that it does not leave the chart."""
    if position < _NEAR_END:
        return "left"
    return "right" if position > 1 - _NEAR_END else "center"
