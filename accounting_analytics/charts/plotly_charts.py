"""Charts as Plotly figures: for notebooks and pages, on light and dark grounds, and as narrow as a telephone.

Text from the books is escaped. Axes have given ranges, because Plotly would widen them for labels.
"""

from __future__ import annotations

import datetime as dt
import html
import itertools
import textwrap
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go
import plotly.io

from accounting_analytics.charts.labels import (
    BALANCE_COLOUR,
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
from accounting_analytics.charts.marks import labelled_places
from accounting_analytics.core.messages import printable
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR
from accounting_analytics.reports.figures.figure_table import figure_table_html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accounting_analytics.charts.marks import ChartMarks, Series
    from accounting_analytics.reports.figures.figure import Figure

_DARK_LAB = '[data-jp-theme-light="false"]'
_BESIDE = ".jp-OutputArea:has(.accounting-analytics-chart) .js-plotly-plot"
"""Charts in the same output as a table of marks: no other chart of a notebook changes its colours."""
_REMOVED_BUTTONS = ("sendChartToCloud", "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "pan2d")
"""The first sends a figure to a server of Plotly's maker; the others cover the title on a telephone."""
_LINE_LENGTH = 40
"""Characters of a subtitle on a line of a telephone."""
_LINE_HEIGHT, _TITLE_HEIGHT, _LEGEND_HEIGHT, _LEGEND_ROW = 16, 44, 34, 20
_TRANSPARENT = "rgba(0,0,0,0)"
_MILLISECONDS_OF_A_DAY = 86_400_000


class Picture(go.Figure):  # type: ignore[misc]  # Plotly has no types
    """A chart whose marks are figures: what every function of ``charts`` returns.

    It is a Plotly figure, to be changed, saved and shown like any other. Below it JupyterLab shows a folded table of
    its marks, whose amounts unfold to their line entries; a press on a mark unfolds its amount there. A reader who
    cannot see the chart has everything in the table.
    """

    _chart: ChartMarks | None = None

    @classmethod
    def of(cls, chart: ChartMarks) -> Picture:
        """Draw a chart."""
        picture = cls()
        picture._chart = chart
        _draw_frame(picture, chart)
        if chart.message:
            at = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
            picture.add_annotation(text=_text(chart.message), font={"size": 14, "color": INK}, **at)
            picture.update_xaxes(visible=False)
            picture.update_yaxes(visible=False)
            picture.update_layout(height=picture.layout.margin.t + 130)
        else:
            _DRAW[chart.kind](picture, chart)
        return picture

    @property
    def chart(self) -> ChartMarks | None:
        """What is drawn; None for a figure that was not made by a function of charts."""
        return self._chart

    def mark(self, key: str, column: str = "") -> Figure:
        """Figure of a mark, by the key that is first in its ``customdata``, or by the parts of such a key."""
        if self._chart is None or self._chart.find is None:
            raise LookupError("the marks of this figure are not amounts of the books, so they have no figures")
        return self._chart.find(f"{key}{KEY_SEPARATOR}{column}" if column else key)

    @property
    def frame(self) -> pd.DataFrame:
        """Amounts of the marks, a row each by its label, a column per series; without columns if they are no amounts.

        They are float64; NaN where an amount is not known.
        """
        if self._chart is None or self._chart.table is None:
            return pd.DataFrame()
        table = self._chart.table()
        amounts = [[one.figure.amount if one.figure else None for one in row.cells] for row in table.rows]
        heads = [head.text for head in table.heads]
        return pd.DataFrame(amounts, [row.label for row in table.rows], heads)

    def table_html(self) -> str:
        """Write the table of the marks as HTML, folded; empty for a chart whose marks are no amounts of the books."""
        if self._chart is None or self._chart.table is None:
            return ""
        return (
            '<details class="accounting-analytics-marks"><summary>Figures of this chart, and what is behind them'
            f"</summary>\n{figure_table_html(self._chart.table())}</details>\n"
        )

    def _ipython_display_(self) -> None:
        if not (plotly.io.renderers.render_on_display and plotly.io.renderers.default):
            super()._ipython_display_()
            return
        plotly.io.show(self, config={"displaylogo": False})
        from IPython.display import HTML, display  # noqa: PLC0415 (slow to import, and only notebooks need it)

        display(HTML(f'<div class="accounting-analytics-chart"><style>{LAB_STYLE}</style>{self.table_html()}</div>'))

    def __reduce__(self) -> tuple[Any, ...]:
        made, arguments = super().__reduce__()
        return made, arguments, {"_chart": self._chart}


def _dark_style(charts: str, ground: str) -> str:
    """Style of the charts of a selector on a dark ground: each colour of a light page becomes that of a dark one."""
    rules = [f"{charts} .main-svg{{background:transparent!important}}"]
    for colour, dark in ON_DARK.items():
        for part in ("fill", "stroke"):
            at = f'{charts} [style*="{part}: rgb({", ".join(map(str, _channels(colour)))})"]'
            rules.append(f"{at}{{{part}:{ground if colour == GROUND else dark}!important}}")
    return "\n".join(rules)


def _channels(colour: str) -> tuple[int, ...]:
    """Red, green and blue."""
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


LAB_STYLE = _dark_style(f"{_DARK_LAB} {_BESIDE}", f"var(--jp-layout-color0,{ON_DARK[GROUND]})")
"""Style of the charts of a notebook."""


def _draw_frame(figure: Picture, chart: ChartMarks) -> None:
    """Title, remarks below it, and what all axes have."""
    lines = _subtitle_lines(chart.remarks)
    figure.update_layout(
        template="none",
        paper_bgcolor=GROUND,  # JupyterLab saves a picture of the chart, which may be opened in the other theme
        plot_bgcolor=_TRANSPARENT,
        title={
            "text": _text(chart.title),
            "font": {"size": 15, "color": INK},
            "subtitle": {"text": "<br>".join(map(_text, lines)), "font": {"size": 12, "color": MUTED}},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 14, "l": 12},
        },
        font={"family": "system-ui, sans-serif", "size": 12, "color": MUTED},
        margin={"l": 12, "r": 16, "t": _TITLE_HEIGHT + _LINE_HEIGHT * len(lines) + 14, "b": 40},
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


def _subtitle_lines(remarks: Sequence[str]) -> list[str]:
    """Remarks on lines that fit a telephone, each on one line where it fits."""
    lines: list[str] = []
    for remark in remarks:
        parts = textwrap.wrap(printable(remark, " "), _LINE_LENGTH, break_on_hyphens=False)
        if lines and len(parts) == 1 and len(lines[-1]) + len(parts[0]) <= _LINE_LENGTH:
            lines[-1] += f" \N{MIDDLE DOT} {parts[0]}"
        elif parts:
            lines[-1:] = [f"{lines[-1]} \N{MIDDLE DOT}"] if lines else []
            lines += parts
    return lines


def _text(text: str) -> str:
    """Text on one line, without markup."""
    return html.escape(printable(text, " "), quote=False)


def _data(series: Series, labels: Sequence[str]) -> dict[str, Any]:
    """Key, label and exact amount of each mark; hover texts have all digits."""
    rows = zip(series.keys, map(_text, labels), series.texts, strict=True)
    return {
        "customdata": [list(row) for row in rows],
        "hovertemplate": "%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
    }


def _draw_legend(figure: Picture, chart: ChartMarks) -> None:
    """Names of the series: above the chart where they have room on a telephone, else below it."""
    names = [_text(one.name) for one in chart.series]
    if len(names) == 1:
        return
    margin = figure.layout.margin
    if sum(map(len, names)) <= _LINE_LENGTH:
        place = {"orientation": "h", "y": 1, "yanchor": "bottom"}
        figure.update_layout(margin={"t": margin.t + _LEGEND_HEIGHT - 14})
    else:
        place = {"orientation": "v", "y": -0.16, "yanchor": "top", "traceorder": "normal"}
        figure.update_layout(height=figure.layout.height + _LEGEND_ROW * len(names))
    figure.update_layout(showlegend=True, legend={"x": 0, "xanchor": "left", "font": {"color": INK}, **place})


_WIDEST_BAR, _GAP = 0.1, 0.3
"""Parts of the chart that a bar takes at most, and of its period that are left free."""
_MAX_LABELLED = 7
_ROOM = 1.18


def _draw_columns(figure: Picture, chart: ChartMarks) -> None:
    """Draw bars of periods, stacked from zero, and lines over them."""
    labels = [place.label for place in chart.places]
    places = list(range(len(labels)))
    for series in chart.series:
        data = _data(series, labels)
        if series.is_line:
            line = {"color": series.colour, "width": series.width}
            marker = {"symbol": "diamond", "size": 7, "color": series.colour}
            drawn = {"mode": "lines+markers", "line": line, "marker": marker, "connectgaps": False}
            figure.add_scatter(x=places, y=series.sizes, name=_text(series.name), **drawn, **data)
        else:
            pattern = {
                "shape": PATTERNS[series.number],
                "fillmode": "overlay",
                "fgcolor": GROUND,
                "size": 7,
                "solidity": 0.2,
            }
            marker = {"color": series.colour, "pattern": pattern, "line": {"color": GROUND, "width": 0.5}}
            figure.add_bar(x=places, y=series.sizes, name=_text(series.name), marker=marker, **data)
            template = f"{_text(series.name)}, {data['hovertemplate']}"
            figure.data[-1].hovertemplate = template
        _draw_texts_at_points(figure, series)
    _draw_period_axis(figure, chart)
    figure.update_layout(barmode="relative", bargap=max(_GAP, 1 - len(places) * _WIDEST_BAR))
    figure.update_yaxes(title_text=_text(chart.unit))
    if all(series.suffix for series in chart.series):
        sizes = [0.0, *(size for series in chart.series for size in series.sizes if size is not None)]
        ends = [min(sizes) * _ROOM, (max(sizes) or float(not any(sizes))) * _ROOM]
        figure.update_yaxes(ticksuffix=chart.series[0].suffix, range=ends)
    _draw_legend(figure, chart)


def _draw_texts_at_points(figure: Picture, series: Series) -> None:
    """Write the texts of a line above its points."""
    for place, (text, size) in enumerate(zip(series.shown, series.sizes, strict=False)):
        if text:
            anchor = "right" if place > len(series.shown) / 2 else "left"
            at = {"x": place, "y": size, "xanchor": anchor, "yshift": 14, "showarrow": False}
            figure.add_annotation(text=_text(text), font={"size": 12, "color": INK}, **at)


def _draw_period_axis(figure: Picture, chart: ChartMarks) -> None:
    """Label as many periods as have room on a telephone; the year is below the first of each."""
    labels = labelled_places(chart.places, _MAX_LABELLED)
    figure.update_xaxes(
        tickvals=[at for at, _ in labels],
        ticktext=[
            _text(name) + "".join(f"<br>{_text(one)}" for one in year)
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
"""Labels with the year below where it changes, which have room beside each other on a telephone."""


def _draw_days(figure: Picture, chart: ChartMarks) -> None:
    """Draw lines whose level over the width of a day is the balance at its end, so that it is found anywhere there."""
    days = [dt.date.fromisoformat(place.label) for place in chart.places]
    wide = {"xperiod": _MILLISECONDS_OF_A_DAY, "xperiodalignment": "middle"}
    for series in chart.series:
        is_point = sum(size is not None for size in series.sizes) == 1
        figure.add_scatter(
            x=days,
            y=series.sizes,
            name=_text(series.name),
            mode="markers" if is_point else "lines",
            line={"color": series.colour, "width": series.width, "shape": "hvh", "dash": DASHES[series.number]},
            marker={"color": series.colour, "size": 9},
            connectgaps=False,
            **wide,
            **{**_data(series, [f"{day}" for day in days]), "hovertemplate": "%{customdata[2]}"},
        )
    last = chart.series[-1]
    labelled = last.labelled_days()
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
            xanchor=_anchor(at / len(days)) if len(days) > 1 else "center",
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
        shown = [period.start_date, period.end_date + dt.timedelta(days=1)]
        figure.update_xaxes(type="date", range=shown, nticks=6, hoverformat="%a %-d %b %Y", **_LEVEL_LABELS)
        if period.days <= _MAX_LABELLED_DAYS:  # Plotly would label hours
            each = {"dtick": _MILLISECONDS_OF_A_DAY, "tickformat": "%-d %b\n%Y", "ticklabelmode": "period"}
            figure.update_xaxes(**each, tickformatstops=[])
    _draw_legend(figure, chart)


def _anchor(position: float) -> str:
    """Side of a label that is at its mark, between 0 and 1 on the axis, so that it does not leave the chart."""
    if position < _NEAR_END:
        return "left"
    return "right" if position > 1 - _NEAR_END else "center"


_BAR_ROW, _STEP_MARGIN = 42, 0.02


def _draw_steps(figure: Picture, chart: ChartMarks) -> None:
    """Draw a waterfall in rows."""
    (series,) = chart.series
    figure.add_waterfall(
        orientation="h",
        y=list(range(len(chart.places))),
        x=series.sizes,
        measure=["absolute", *["relative"] * (len(chart.places) - 2), "total"],
        text=[_text(text) for text in series.shown],
        textposition="none",
        increasing={"marker": {"color": INFLOW_COLOUR}},
        decreasing={"marker": {"color": OUTFLOW_COLOUR}},
        totals={"marker": {"color": BALANCE_COLOUR}},
        connector={"line": {"color": MUTED, "width": 1, "dash": "dot"}},
        **_data(series, [place.label for place in chart.places]),
    )
    sums = [0.0, *itertools.accumulate(size or 0.0 for size in series.sizes[:-1])]
    margin = (max(sums) - min(sums)) * _STEP_MARGIN or 1.0
    figure.update_layout(waterfallgap=0.55)
    figure.update_xaxes(range=[min(sums) - margin, max(sums) + margin])
    _draw_row_texts(figure, chart)


def _draw_rows(figure: Picture, chart: ChartMarks) -> None:
    """Draw bars from zero in rows."""
    (series,) = chart.series
    figure.add_bar(
        orientation="h",
        y=list(range(len(chart.places))),
        x=series.sizes,
        text=[_text(text) for text in series.shown],
        textposition="none",
        name=_text(series.name),
        marker={"color": series.colour},
        **_data(series, [place.label for place in chart.places]),
    )
    figure.update_layout(bargap=0.55)
    figure.update_xaxes(rangemode="tozero")
    _draw_row_texts(figure, chart)


def _draw_row_texts(figure: Picture, chart: ChartMarks) -> None:
    """Write name and amount of a bar above it, where they have room on a telephone and cover no bar."""
    (series,) = chart.series
    for place, (row, text) in enumerate(zip(chart.places, series.shown, strict=True)):
        at = {"x": 0, "xref": "paper", "xanchor": "left", "y": place - 0.5, "yanchor": "middle"}
        box = {"showarrow": False, "font": {"size": 12, "color": INK}, "bgcolor": GROUND, "borderpad": 0}
        figure.add_annotation(text=f"{_text(row.label)}  <b>{_text(text)}</b>", **at, **box)
    count = len(chart.places)
    figure.update_layout(height=figure.layout.margin.t + 60 + _BAR_ROW * max(count, 2), margin={"b": 60})
    figure.update_yaxes(visible=False, range=[count - 0.5, -0.85], showgrid=False, zeroline=False, fixedrange=True)
    figure.update_xaxes(showgrid=True, zeroline=True, nticks=5, title={"text": _text(chart.unit)})


_MOST_LETTERS, _MAX_UPRIGHT = 54, 30
"""Letters that cells beside each other have room for, and columns up to which amounts are written upright."""
_CELL_LABEL, _CELL_ROW, _LETTER = 22, 24, 6


def _draw_cells(figure: Picture, chart: ChartMarks) -> None:
    """Draw a heat map, whose rows have their names above them, so that a narrow page is left to the cells."""
    count, full = len(chart.places), float(chart.full)
    labels = [place.label for place in chart.places]
    rows = [_data(series, [f"{series.name}, {label}" for label in labels]) for series in chart.series]
    figure.add_heatmap(
        x=list(range(count)),
        y=list(range(len(rows))),
        z=[series.sizes for series in chart.series],
        zmin=-full,
        zmax=full,
        colorscale=[
            [0, _cell_colour(GROUND, 0.0)],
            [0.5, _cell_colour(GROUND, 0.0)],
            [0.5, _cell_colour(chart.series[0].colour, 0.0)],
            [1, _cell_colour(chart.series[0].colour, 1.0)],
        ],
        showscale=False,
        xgap=1,
        ygap=_CELL_LABEL,
        customdata=[row["customdata"] for row in rows],
        hovertemplate=rows[0]["hovertemplate"],
    )
    longest = max(len(text) for series in chart.series for text in series.shown)
    is_level = count * (longest + 1) <= _MOST_LETTERS
    texts: list[dict[str, Any]] = []
    for y, series in enumerate(chart.series):
        at = {"x": 0, "xref": "paper", "xanchor": "left", "y": y - 0.5, "yanchor": "middle"}
        texts.append({"text": _text(series.name), "showarrow": False, "borderpad": 0, "font": {"color": INK}, **at})
        texts += [
            {
                "x": x,
                "y": y,
                "text": _text(text),
                "textangle": 0 if is_level else -90,
                "showarrow": False,
                "font": {"size": 11, "color": INK},
            }
            for x, text in enumerate(series.shown if count <= _MAX_UPRIGHT else ())
            if text
        ]
    figure.update_layout(annotations=texts)  # all together: Plotly copies those that are there for each that is added
    _draw_period_axis(figure, chart)
    figure.update_yaxes(visible=False, range=[len(rows) - 0.5, -0.8], fixedrange=True)
    height = _CELL_LABEL + (_CELL_ROW if is_level or count > _MAX_UPRIGHT else 12 + _LETTER * longest)
    figure.update_layout(height=figure.layout.margin.t + 60 + height * max(len(rows), 2))


def _cell_colour(colour: str, part: float) -> str:
    """Colour of a part of the full one, on any ground."""
    return f"rgba({','.join(map(str, _channels(colour)))},{cell_opacity(part) if part else 0})"


_DRAW: dict[str, Callable[[Picture, ChartMarks], None]] = {
    "columns": _draw_columns,
    "days": _draw_days,
    "steps": _draw_steps,
    "rows": _draw_rows,
    "cells": _draw_cells,
}
