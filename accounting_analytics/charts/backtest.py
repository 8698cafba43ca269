"""Precision and coverage of the suggestions for past months."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.categorization import Backtest
from accounting_analytics.charts.colours import BALANCE_COLOUR, INFLOW_COLOUR, MUTED, OUTFLOW_COLOUR
from accounting_analytics.charts.figure import titled_figure
from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_LOWEST = 0.9
"""Precision at which the axis begins, unless a bound is lower."""
_MARGIN = 0.02
_PRECISION, _COVERAGE = [0.42, 1.0], [0.0, 0.3]


def backtest(backtest: Backtest) -> go.Figure:
    """Precision of the suggestions for past months with its bounds, and what they cover.

    Above, a dot is the share of the suggestions that was right, with one-sided bounds of 95 % confidence, beside the
    last category of the same payee; the line is the wanted precision. A month without a dot had no suggestions. Below,
    the share of the transactions and of the money with a suggestion.

    Parameters
    ----------
    backtest : Backtest
        As :func:`~accounting_analytics.backtest` returns it.

    Returns
    -------
    plotly.graph_objects.Figure
        The first ``customdata`` of a mark is its month, as in the column ``month`` of ``backtest.frame``.

    Raises
    ------
    InputError
        `backtest` is something else, or has no months.
    """
    if not isinstance(backtest, Backtest):
        raise InputError(f"backtest must be a Backtest, as backtest() returns it, not {type(backtest).__name__}")
    months = backtest.frame
    if months.empty:
        raise InputError("the backtest has no months to draw; its history has transactions of one month at most")
    silent = int((months["suggested_count"] == 0).sum())
    figure = titled_figure(
        "Suggestions for past months",
        f"{months['month'].iloc[0]} to {months['month'].iloc[-1]}, {backtest.precision:.1%} wanted",
        *([f"{silent} month(s) without suggestions"] if silent else []),
        f"calibration error {backtest.calibration_error:.3f}",
    )
    margin = figure.layout.margin.t
    _draw_precision(figure, months, backtest.precision)
    _draw_coverage(figure, months)
    figure.update_layout(
        height=560,
        margin={"t": margin, "l": 12, "r": 16, "b": 120},
        legend={"y": -0.25, "yanchor": "top"},
        xaxis={
            "type": "category",
            "tickangle": -90,
            "anchor": "y2",
            "categoryorder": "array",
            "categoryarray": months["month"].tolist(),
        },
        yaxis2={
            **figure.layout.yaxis.to_plotly_json(),
            "domain": _COVERAGE,
            "range": [0, 1.05],
            "title": {"text": "covered", "font": {"size": 12}},
        },
        hovermode="closest",
    )
    return figure


def _draw_precision(figure: go.Figure, months: pd.DataFrame, wanted: float) -> None:
    """Draw what was right, with its bounds, beside the last category of the payee, and the line of what is wanted."""
    spoken = months[months["suggested_count"] > 0]
    known = months[months["last_count"] > 0]
    last = known["last_right_count"] / known["last_count"]
    figure.add_scatter(
        x=known["month"],
        y=last,
        mode="markers",
        name="last category of the payee",
        marker={"symbol": "x-thin", "size": 8, "line": {"width": 2, "color": OUTFLOW_COLOUR}},
        **_marks(
            known,
            [
                f"{right:,} of {count:,} right ({share:.1%})"
                for right, count, share in zip(known["last_right_count"], known["last_count"], last, strict=True)
            ],
        ),
    )
    figure.add_scatter(
        x=spoken["month"],
        y=spoken["precision"],
        mode="markers",
        name="suggestions, 95 % bounds",
        marker={"size": 9, "color": BALANCE_COLOUR},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": (spoken["precision_high"] - spoken["precision"]).tolist(),
            "arrayminus": (spoken["precision"] - spoken["precision_low"]).tolist(),
            "thickness": 1.5,
            "width": 3,
            "color": BALANCE_COLOUR,
        },
        **_marks(
            spoken,
            [
                f"{right:,} of {count:,} right ({share:.1%})"
                for right, count, share in zip(
                    spoken["right_count"], spoken["suggested_count"], spoken["precision"], strict=True
                )
            ],
        ),
    )
    figure.add_hline(y=wanted, line={"color": MUTED, "width": 1, "dash": "dash"})
    lowest = min([_LOWEST, *spoken["precision_low"], *last]) - _MARGIN
    figure.update_yaxes(
        domain=_PRECISION, range=[lowest, 1 + _MARGIN / 2], tickformat=".0%", zeroline=False, title={"text": "right"}
    )


def _draw_coverage(figure: go.Figure, months: pd.DataFrame) -> None:
    """Draw the shares of the transactions and of the money with a suggestion."""
    for name, column, colour, dash in (
        ("of transactions", "coverage", BALANCE_COLOUR, "solid"),
        ("of money", "amount_coverage", INFLOW_COLOUR, "dot"),
    ):
        figure.add_scatter(
            x=months["month"],
            y=months[column],
            yaxis="y2",
            mode="lines+markers",
            name=name,
            line={"color": colour, "dash": dash},
            marker={"size": 5},
            **_marks(months, [f"{share:.1%} {name}" for share in months[column]]),
        )


def _marks(months: pd.DataFrame, texts: list[str]) -> dict[str, Any]:
    """Trace arguments for the month of each mark, and its hover text."""
    return {
        "customdata": list(zip(months["month"], texts, strict=True)),
        "hovertemplate": "%{customdata[0]}<br>%{customdata[1]}<extra></extra>",
    }
