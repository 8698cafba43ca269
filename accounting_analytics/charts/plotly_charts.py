"""Draw charts as Plotly figures, for light and dark pages and telephones.

Text from the books is escaped. Axes have given ranges, because Plotly would widen them for labels.
"""

from __future__ import annotations

import datetime as dt
import html
import itertools
from typing import TYPE_CHECKING, Any

from accounting_analytics.charts.labels import shortened, word_lines
from accounting_analytics.charts.marks import labelled_places
from accounting_analytics.charts.style import (
    BALANCE_COLOUR,
    BAND_ALPHA,
    DASHES,
    GROUND,
    INFLOW_COLOUR,
    INK,
    MUTED,
    ON_DARK,
    OUTFLOW_COLOUR,
    PATTERNS,
    RULE,
    cell_opacity,
)
from accounting_analytics.core.messages import printable
from accounting_analytics.core.periods import DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import plotly.graph_objects as go

    from accounting_analytics.charts.marks import ChartMarks, Series

DARK_LAB = '[data-jp-theme-light="false"]'
_BESIDE = ".jp-OutputArea:has(.accounting-analytics-chart) .js-plotly-plot"
"""CSS selector of charts in the same output as a table of marks, so that other charts keep their colours."""
_REMOVED_BUTTONS = ("sendChartToCloud", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "pan2d")
"""Removed buttons: the first sends a figure to a server of Plotly's maker, the others cover a telephone's title."""
_LINE_LENGTH = 46
"""Characters of a name that fit a text line on a telephone."""
_LINE_HEIGHT, _TITLE_HEIGHT, _LEGEND_HEIGHT, _LEGEND_ROW = 16, 44, 34, 20
_TRANSPARENT = "rgba(0,0,0,0)"
_MILLISECONDS_OF_A_DAY = 86_400_000


def draw_chart(figure: go.Figure, chart: ChartMarks) -> None:
    """Draw a chart on an empty Plotly figure."""
    _draw_frame(figure, chart)
    if chart.message:
        at = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
        figure.add_annotation(text=_text(chart.message), font={"size": 14, "color": INK}, **at)
        figure.update_xaxes(visible=False)
        figure.update_yaxes(visible=False)
        figure.update_layout(height=figure.layout.margin.t + 130)
    else:
        _DRAW[chart.kind](figure, chart)


def _dark_style(charts: str, ground: str) -> str:
    """Write the style that replaces light colours by dark colours."""
    rules = [f"{charts} .main-svg{{background:transparent!important}}"]
    for colour, dark in ON_DARK.items():
        for part in ("fill", "stroke"):
            at = f'{charts} [style*="{part}: rgb({", ".join(map(str, _channels(colour)))})"]'
            rules.append(f"{at}{{{part}:{ground if colour == GROUND else dark}!important}}")
    return "\n".join(rules)


def _channels(colour: str) -> tuple[int, ...]:
    """Return the red, green and blue parts of a colour."""
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


LAB_STYLE = _dark_style(f"{DARK_LAB} {_BESIDE}", f"var(--jp-layout-color0,{ON_DARK[GROUND]})")
"""Style of the charts of a notebook."""


def _draw_frame(figure: go.Figure, chart: ChartMarks) -> None:
    """Draw title and remarks, and style all axes."""
    figure.update_layout(
        template="none",
        paper_bgcolor=GROUND,  # JupyterLab saves a picture of the chart, which a reader may open in the other theme
        plot_bgcolor=_TRANSPARENT,
        title={
            "text": _text(chart.title),
            "font": {"size": 15, "color": INK},
            "subtitle": {"text": _text(" \N{MIDDLE DOT} ".join(chart.remarks)), "font": {"size": 12, "color": MUTED}},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 14, "l": 12},
        },
        font={"family": "system-ui, sans-serif", "size": 12, "color": MUTED},
        margin={"l": 12, "r": 16, "t": _TITLE_HEIGHT + _LINE_HEIGHT + 14, "b": 40},
        hoverlabel={"bgcolor": GROUND, "bordercolor": MUTED, "font": {"color": INK}},
        height=440,
        autosize=True,
        showlegend=False,
        modebar={"remove": list(_REMOVED_BUTTONS), "color": MUTED, "bgcolor": _TRANSPARENT},
    )
    axis = {
        "automargin": True,
        "gridcolor": RULE,
        "linecolor": RULE,
        "zeroline": True,
        "zerolinecolor": MUTED,
        "zerolinewidth": 1,
        "exponentformat": "B",
        "separatethousands": True,
        "title": {"font": {"size": 12}, "standoff": 8},
    }
    figure.update_yaxes(**axis)
    figure.update_xaxes(**{**axis, "showgrid": False, "zeroline": False})


def _name(name: str) -> str:
    """Escape a name, and break it into at most two lines.

    A line fits on a telephone.
    """
    lines = word_lines(shortened(name, 2 * _LINE_LENGTH - 10), lambda line: len(line) <= _LINE_LENGTH)
    return "<br>".join(map(_text, lines))


def _text(text: str) -> str:
    """Escape a text, and write it on one text line."""
    return html.escape(printable(text, " "), quote=False)


def _hover_data(series: Series, labels: Sequence[str]) -> dict[str, Any]:
    """Return the key, the label and the exact amount of each mark."""
    rows = zip(series.keys, map(_text, labels), series.texts, strict=True)
    return {
        "customdata": [list(row) for row in rows],
        "hovertemplate": "%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
    }


def _draw_legend(figure: go.Figure, chart: ChartMarks) -> None:
    """Write the names of the series above the chart, or below it."""
    names = [_name(series.name) for series in chart.series]
    if len(names) == 1:
        return
    margin = figure.layout.margin
    if sum(len(name) + _SWATCH for name in names) <= _LINE_LENGTH:
        place = {"orientation": "h", "y": 1, "yanchor": "bottom"}
        figure.update_layout(margin={"t": margin.t + _LEGEND_HEIGHT - 14})
    else:
        place = {"orientation": "v", "y": -0.16, "yanchor": "top", "traceorder": "normal"}
        rows = len(names) + sum(name.count("<br>") for name in names)
        figure.update_layout(height=figure.layout.height + _LEGEND_ROW * rows)
    figure.update_layout(showlegend=True, legend={"x": 0, "xanchor": "left", "font": {"color": INK}, **place})


_SWATCH = 6
"""Width, in characters, of the sign beside a name in the legend."""
_WIDEST_BAR, _GAP = 0.1, 0.3
"""Largest share of the chart that a bar uses, and the share of its period that stays free."""
_MOST_LABEL_LETTERS, _MOST_LABELLED = 44, 7
"""How many letters in all labels of periods, and how many labels, a telephone has room for."""
_ROOM = 1.18


def _band_colour(colour: str) -> str:
    """Return the transparent colour of a band."""
    return f"rgba{(*bytes.fromhex(colour.removeprefix('#')), BAND_ALPHA)}"


def _draw_columns(figure: go.Figure, chart: ChartMarks) -> None:
    """Draw bars stacked from zero, and chart lines over the bars."""
    labels = [place.label for place in chart.places]
    places = list(range(len(labels)))
    for series in chart.series:
        data = _hover_data(series, labels)
        if series.is_line:
            line = {"color": series.colour, "width": series.width, "dash": DASHES[series.number]}
            marker = {"symbol": "diamond", "size": 7, "color": series.colour}
            drawn = {"mode": "lines+markers", "line": line, "marker": marker, "connectgaps": False}
            if series.is_band:
                drawn |= {"fill": "tonexty", "fillcolor": _band_colour(series.colour)}
            figure.add_scatter(x=places, y=series.sizes, name=_name(series.name), **drawn, **data)
        else:
            pattern = {
                "shape": PATTERNS[series.number],
                "fillmode": "overlay",
                "fgcolor": GROUND,
                "size": 7,
                "solidity": 0.2,
            }
            marker = {"color": series.colour, "pattern": pattern, "line": {"color": GROUND, "width": 0.5}}
            figure.add_bar(x=places, y=series.sizes, name=_name(series.name), marker=marker, **data)
            template = f"{_text(series.name)}, {data['hovertemplate']}"
            figure.data[-1].hovertemplate = template
    _draw_period_axis(figure, chart)
    figure.update_layout(barmode="relative", bargap=max(_GAP, 1 - len(places) * _WIDEST_BAR))
    figure.update_yaxes(title_text=_text(chart.unit))
    if all(series.suffix for series in chart.series):
        sizes = [0.0, *(size for series in chart.series for size in series.sizes if size is not None)]
        ends = [min(sizes) * _ROOM, (max(sizes) or float(not any(sizes))) * _ROOM]
        figure.update_yaxes(ticksuffix=chart.series[0].suffix, exponentformat="none", range=ends)
    _draw_legend(figure, chart)


def _draw_period_axis(figure: go.Figure, chart: ChartMarks) -> None:
    """Label as many periods as a telephone has room for."""
    longest = max(len(place.name) for place in chart.places)
    labels = labelled_places(chart.places, min(_MOST_LABELLED, _MOST_LABEL_LETTERS // (longest + 2)))
    figure.update_xaxes(
        tickvals=[at for at, _ in labels],
        ticktext=[
            _text(name) + "".join(f"<br>{_text(line)}" for line in year)
            for name, *year in (text.split("\n") for _, text in labels)
        ],
        tickangle=0,
        range=[-0.5, len(chart.places) - 0.5],
        zeroline=False,
        fixedrange=True,
    )


_LABEL_MARGIN, _NEAR_END, _MAX_LABELLED_DAYS = 0.14, 0.25, 6
_NOON = dt.time(12)
_LEVEL_LABELS: dict[str, Any] = {
    "tickangle": 0,
    "tickformatstops": [
        {"dtickrange": [None, 27 * _MILLISECONDS_OF_A_DAY], "value": "%-d %b\n%Y"},
        {"dtickrange": ["M1", "M11"], "value": "%b\n%Y"},
        {"dtickrange": ["M12", None], "value": "%Y"},
    ],
}
"""Options of an axis of days: level labels that fit a telephone, with the year below where it changes."""


def _draw_days(figure: go.Figure, chart: ChartMarks) -> None:
    """Draw chart lines that are level over the width of a day.

    A pointer then finds the balance anywhere within the day.
    """
    days = [dt.date.fromisoformat(place.label) for place in chart.places]
    wide = {"xperiod": _MILLISECONDS_OF_A_DAY, "xperiodalignment": "middle"}
    for series in chart.series:
        is_point = sum(size is not None for size in series.sizes) == 1
        figure.add_scatter(
            x=days,
            y=series.sizes,
            name=_name(series.name),
            mode="markers" if is_point else "lines",
            line={"color": series.colour, "width": series.width, "shape": "hvh", "dash": DASHES[series.number]},
            marker={"color": series.colour, "size": 9},
            connectgaps=False,
            **wide,
            **{**_hover_data(series, [f"{day}" for day in days]), "hovertemplate": "%{customdata[2]}"},
        )
    last = chart.series[-1]
    labelled = chart.labelled_days()
    symbols = ["triangle-down" if is_low else "circle" for _, _, is_low in labelled]
    figure.add_scatter(
        x=[days[at] for at, _, _ in labelled],
        y=[last.sizes[at] for at, _, _ in labelled],
        customdata=[[last.keys[at], f"{days[at]}", last.texts[at]] for at, _, _ in labelled],
        mode="markers",
        marker={"color": last.colour, "size": 9, "symbol": symbols},
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
        **wide,
    )
    for at, text, is_low in labelled:
        figure.add_annotation(
            text=_text(text),
            x=dt.datetime.combine(days[at], _NOON),
            y=last.sizes[at],
            xanchor=_label_side(at / len(days)) if len(days) > 1 else "center",
            yshift=-16 if is_low else 16,
            showarrow=False,
            bgcolor=GROUND,
            borderpad=1,
            font={"size": 12, "color": INK},
        )
    sizes = [size for series in chart.series for size in series.sizes if size is not None]
    low, high = min([0.0, *sizes]), max([0.0, *sizes])
    room = (high - low) * _LABEL_MARGIN or 1.0
    figure.update_layout(hovermode="x unified")
    figure.update_yaxes(range=[low - room, high + room], title={"text": _text(chart.unit)})
    period = chart.period
    if period is not None:
        shown = [period.start_date, period.end_date + DAY]
        figure.update_xaxes(type="date", range=shown, nticks=6, hoverformat="%a %-d %b %Y", **_LEVEL_LABELS)
        if period.days <= _MAX_LABELLED_DAYS:  # without this, Plotly would label hours
            each = {"dtick": _MILLISECONDS_OF_A_DAY, "tickformat": "%-d %b\n%Y", "ticklabelmode": "period"}
            figure.update_xaxes(**each, tickformatstops=[])
    _draw_legend(figure, chart)


def _label_side(position: float) -> str:
    """Choose the side of a point on which its label fits."""
    if position < _NEAR_END:
        return "left"
    return "right" if position > 1 - _NEAR_END else "center"


_BAR_ROW, _STEP_MARGIN = 42, 0.02


def _draw_steps(figure: go.Figure, chart: ChartMarks) -> None:
    """Draw a waterfall in rows."""
    (series,) = chart.series
    figure.add_waterfall(
        orientation="h",
        y=list(range(len(chart.places))),
        x=series.sizes,
        measure=["absolute", *["relative"] * (len(chart.places) - 2), "total"],
        text=[_text(text) for text in chart.labels(series)],
        textposition="none",
        increasing={"marker": {"color": INFLOW_COLOUR}},
        decreasing={"marker": {"color": OUTFLOW_COLOUR}},
        totals={"marker": {"color": BALANCE_COLOUR}},
        connector={"line": {"color": MUTED, "width": 1, "dash": "dot"}},
        **_hover_data(series, [place.label for place in chart.places]),
    )
    sums = [0.0, *itertools.accumulate(size or 0.0 for size in series.sizes[:-1])]
    margin = (max(sums) - min(sums)) * _STEP_MARGIN or 1.0
    figure.update_layout(waterfallgap=0.55)
    figure.update_xaxes(range=[min(sums) - margin, max(sums) + margin])
    _draw_row_texts(figure, chart)


def _draw_rows(figure: go.Figure, chart: ChartMarks) -> None:
    """Draw bars from zero in rows."""
    (series,) = chart.series
    sizes = [0.0, *(size for size in series.sizes if size is not None)]
    margin = (max(sizes) - min(sizes)) * _STEP_MARGIN or 1.0
    figure.add_bar(
        orientation="h",
        y=list(range(len(chart.places))),
        x=series.sizes,
        text=[_text(text) for text in chart.labels(series)],
        textposition="none",
        name=_name(series.name),
        marker={"color": list(series.bar_colours)},
        **_hover_data(series, [place.label for place in chart.places]),
    )
    figure.update_layout(bargap=0.55)
    ends = [min(sizes) - margin * (min(sizes) < 0), max(sizes) + margin]
    figure.update_xaxes(range=ends, ticksuffix=series.suffix, exponentformat="none" if series.suffix else "B")
    _draw_row_texts(figure, chart)


def _draw_row_texts(figure: go.Figure, chart: ChartMarks) -> None:
    """Write the name and the amount of each bar above the bar."""
    (series,) = chart.series
    for place, (row, text) in enumerate(zip(chart.places, chart.labels(series), strict=True)):
        at = {"x": 0, "xref": "paper", "xanchor": "left", "y": place - 0.5, "yanchor": "middle"}
        box = {"showarrow": False, "font": {"size": 12, "color": INK}, "bgcolor": GROUND, "borderpad": 0}
        figure.add_annotation(text=f"{_name(row.label)}  <b>{_text(text)}</b>", align="left", **at, **box)
    count, most = len(chart.places), max(_name(row.label).count("<br>") for row in chart.places)
    height = _BAR_ROW + _LINE_HEIGHT * most
    figure.update_layout(height=figure.layout.margin.t + 60 + height * max(count, 2), margin={"b": 60})
    figure.update_yaxes(visible=False, range=[count - 0.5, -0.85], showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(showgrid=True, zeroline=True, nticks=5, title={"text": _text(chart.unit)})


_MOST_LETTERS, _MAX_UPRIGHT = 54, 30
"""How many letters a row of cells has room for, and most columns whose amounts are written upright."""
_CELL_LABEL, _CELL_ROW, _LETTER = 22, 24, 6
_PARTS = (0, 0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1)
"""Shares of the full colour. Between two of them, colours are mixed."""


def _draw_cells(figure: go.Figure, chart: ChartMarks) -> None:
    """Draw a heat map with the names above its rows."""
    count, full = len(chart.places), float(chart.full)
    labels = [place.label for place in chart.places]
    rows = [_hover_data(series, [f"{series.name}, {label}" for label in labels]) for series in chart.series]
    figure.add_heatmap(
        x=list(range(count)),
        y=list(range(len(rows))),
        z=[series.sizes for series in chart.series],
        zmin=-full,
        zmax=full,
        colorscale=[
            [0, _cell_colour(GROUND, 0.0)],
            [0.5, _cell_colour(GROUND, 0.0)],
            *([0.5 + part / 2, _cell_colour(chart.series[0].colour, part)] for part in _PARTS),
        ],
        showscale=False,
        xgap=1,
        ygap=_CELL_LABEL,
        customdata=[row["customdata"] for row in rows],
        hovertemplate=rows[0]["hovertemplate"],
    )
    longest = max(len(text) for series in chart.series for text in chart.labels(series))
    is_level = count * (longest + 1) <= _MOST_LETTERS
    texts: list[dict[str, Any]] = []
    for y, series in enumerate(chart.series):
        at = {"x": 0, "xref": "paper", "xanchor": "left", "y": y - 0.5, "yanchor": "middle"}
        texts.append(
            {
                "text": _text(shortened(series.name, _LINE_LENGTH)),
                "showarrow": False,
                "borderpad": 0,
                "font": {"color": INK},
                **at,
            }
        )
        texts += [
            {
                "x": x,
                "y": y,
                "text": _text(text),
                "textangle": 0 if is_level else -90,
                "showarrow": False,
                "font": {"size": 11, "color": INK},
            }
            for x, text in enumerate(chart.labels(series) if count <= _MAX_UPRIGHT else ())
            if text
        ]
    figure.update_layout(annotations=texts)  # once: Plotly copies all for each that is added
    _draw_period_axis(figure, chart)
    figure.update_yaxes(visible=False, range=[len(rows) - 0.5, -0.8], fixedrange=True)
    height = _CELL_LABEL + (_CELL_ROW if is_level or count > _MAX_UPRIGHT else 12 + _LETTER * longest)
    figure.update_layout(height=figure.layout.margin.t + 60 + height * max(len(rows), 2))


def _cell_colour(colour: str, part: float) -> str:
    """Return the colour for a share of the full colour."""
    return f"rgba({','.join(map(str, _channels(colour)))},{cell_opacity(part) if part else 0})"


_DRAW: dict[str, Callable[[go.Figure, ChartMarks], None]] = {
    "columns": _draw_columns,
    "days": _draw_days,
    "steps": _draw_steps,
    "rows": _draw_rows,
    "cells": _draw_cells,
}
