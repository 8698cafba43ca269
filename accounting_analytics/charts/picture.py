"""`Picture`: a chart as a Plotly figure, and as a picture without a browser."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import pandas as pd
import plotly.graph_objects as go
import plotly.io

from accounting_analytics.charts.marks import by_name
from accounting_analytics.charts.matplotlib_charts import draw_picture
from accounting_analytics.charts.plotly_charts import DARK_LAB, LAB_STYLE, draw_chart
from accounting_analytics.charts.style import (
    COLOUR_NAMES,
    LEAST_WIDTH,
    MOST_WIDTH,
    ON_DARK,
    PICTURE_WIDTH,
    SAVED_WIDTHS,
)
from accounting_analytics.core.amount_units import check_amounts_in
from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR
from accounting_analytics.reports.figures.figure_table import figure_table_html

if TYPE_CHECKING:
    from accounting_analytics.charts.marks import ChartMarks
    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.reports.figures.figure import Figure

_DARK_COLOURS = ";".join(f"--{name}:{ON_DARK[colour]}" for colour, name in COLOUR_NAMES.items())
PICTURE_STYLE = f"@media screen and (prefers-color-scheme: dark){{.accounting-analytics-picture{{{_DARK_COLOURS}}}}}"
"""Style by which a page shows its SVG pictures in dark colours on a dark screen. On paper they stay light."""
SAVED_PICTURE = "accounting-analytics-saved"
"""Class of the pictures that are saved with a chart, for places where a saved chart is not drawn again."""
_OUTPUT, _REMARKS = ".jp-OutputArea-child", "accounting-analytics-remarks"
_SAVED_STYLE = f"""
.{SAVED_PICTURE} {{ display: none; container-type: inline-size }}
{_OUTPUT} .{SAVED_PICTURE} {{ display: block }}
{_OUTPUT}:has(.plot-container) + {_OUTPUT} .{SAVED_PICTURE} {{ display: none }}
{_OUTPUT}:has(.jp-RenderedPlotly):not(:has(.plot-container)):has(+ {_OUTPUT} .{SAVED_PICTURE}) {{ display: none }}
.{SAVED_PICTURE} .narrow {{ display: none }}
@container (max-width: 600px) {{
  .{SAVED_PICTURE} .narrow {{ display: block }}
  .{SAVED_PICTURE} .wide {{ display: none }}
}}
{DARK_LAB} .accounting-analytics-picture {{ {_DARK_COLOURS} }}
.{_REMARKS} {{ display: none }}
@media (max-width: 760px) {{
  {_OUTPUT}:has(.plot-container) + {_OUTPUT} .{_REMARKS} {{ display: block }}
  {_OUTPUT}:has(.plot-container):has(+ {_OUTPUT} .{_REMARKS}) .gtitle-subtitle {{ display: none }}
}}
"""
"""JupyterLab draws a chart when its cell runs, and shows a light picture when the notebook is opened again. These rules
then show the picture for the reader's theme and width instead. On a telephone the remarks are below the chart, on as
many text lines as they need."""
CHART_STYLE = f"<style>{LAB_STYLE}\n{_SAVED_STYLE}</style>"
"""Style that each chart in a notebook includes."""
_DRAW_AGAIN = (
    f"this.closest('{_OUTPUT}')?.previousElementSibling?.querySelector('img.plot-img')"
    "?.dispatchEvent(new MouseEvent('mouseenter'))"
)
"""Script that makes JupyterLab draw the chart again, which a pointer on the light picture also does."""


class Picture(go.Figure):  # type: ignore[misc]  # Plotly has no types
    """A chart whose marks are figures: what every function of ``charts`` returns.

    It is a Plotly figure, to be changed, saved and shown like any other. Below it JupyterLab shows a folded table of
    its marks, whose amounts unfold to their line entries. A press on a mark unfolds its amount in this table. A reader
    who cannot see the chart has everything in the table.
    """

    _chart: ChartMarks | None = None

    @classmethod
    def of(cls, chart: ChartMarks) -> Picture:
        """Draw a chart. A chart of a single period is drawn as bars with amounts."""
        if chart.kind == "columns" and len(chart.places) == 1:
            chart = by_name(chart)
        picture = cls()
        picture._chart = chart
        draw_chart(picture, chart)
        return picture

    @property
    def chart(self) -> ChartMarks | None:
        """The drawn marks, or None for a figure that no function of charts made."""
        return self._chart

    def shown_in(self, amounts_in: AmountsIn | None) -> Picture:
        """Return the chart with the amounts at its marks in thousands (``k``) or millions (``M``): 96.9k.

        Charts of a statement are in its unit. Amounts under the pointer and in the table have all digits.
        """
        if self._chart is None:
            raise InputError("figure was not made by a function of charts; pass what one returns")
        return Picture.of(replace(self._chart, amounts_in=check_amounts_in(amounts_in)))

    def mark(self, key: str, column: str = "") -> Figure:
        """Return the figure of a mark, by the first key in its ``customdata``, or by the parts of that key."""
        if self._chart is None or self._chart.find is None:
            raise LookupError("the marks of this figure are not amounts of the books, so they have no figures")
        return self._chart.find(f"{key}{KEY_SEPARATOR}{column}" if column else key)

    @property
    def frame(self) -> pd.DataFrame:
        """Amounts of the marks: a row for each label, a column for each series. Without amounts, it has no columns.

        The amounts are float64, and NaN if an amount is not known.
        """
        if self._chart is None or self._chart.table is None:
            return pd.DataFrame()
        table = self._chart.table()
        amounts = [[cell.figure.amount if cell.figure else None for cell in row.cells] for row in table.rows]
        heads = [head.text for head in table.heads]
        return pd.DataFrame(amounts, [row.label for row in table.rows], heads)

    def table_html(self) -> str:
        """Write the table of the marks as folded HTML, or "" for a chart whose marks are not amounts of the books."""
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

        remarks = escape(" \N{MIDDLE DOT} ".join(self._chart.remarks)) if self._chart else ""
        shown = f'{CHART_STYLE}<p class="{_REMARKS}">{remarks}</p>{self._saved_html()}{self.table_html()}'
        display(HTML(f'<div class="accounting-analytics-chart">{shown}</div>'))

    def _saved_html(self) -> str:
        """Draw two widths, or return "" if the chart was changed."""
        if self._chart is None or self != Picture.of(self._chart):
            return ""
        drawn = [
            f'<div class="{name}">{static_picture(self, width=width)}</div>' for name, width in SAVED_WIDTHS.items()
        ]
        return f'<div class="{SAVED_PICTURE}" onmouseenter="{_DRAW_AGAIN}">{"".join(drawn)}</div>'

    def __reduce__(self) -> tuple[Any, ...]:
        made, arguments = super().__reduce__()
        return made, arguments, {"_chart": self._chart}


@overload
def static_picture(
    figure: Picture, *, format: Literal["svg"] = ..., width: int = ..., dark: bool = ..., title: bool = ...
) -> str: ...
@overload
def static_picture(
    figure: Picture, *, format: Literal["png"], width: int = ..., dark: bool = ..., title: bool = ...
) -> bytes: ...
def static_picture(
    figure: Picture,
    *,
    format: Literal["svg", "png"] = "svg",  # noqa: A002 (as in matplotlib and pandas)
    width: int = PICTURE_WIDTH,
    dark: bool = False,
    title: bool = True,
) -> str | bytes:
    """Draw a chart of this package without a browser: the same data, the same bytes.

    Parameters
    ----------
    figure : Picture
        As one of the functions of ``charts`` returns it; what was changed in it since is not drawn.
    format : {"svg", "png"}
        An SVG element for a page, whose text is text, or the bytes of a PNG file with two dots per pixel.
    width : int
        In CSS pixels, 240 to 4000. Text keeps its size, so 360 is for a telephone and 720 for a page; an SVG element
        becomes narrower with its page, and its text smaller.
    dark : bool
        Colours of a dark page. An SVG element in light colours also becomes dark in a page that sets the colours
        ``--ink``, ``--muted``, ``--rule``, ``--ground``, ``--inflow``, ``--outflow`` and ``--balance``.
    title : bool
        Whether the title and its remarks are above the chart.

    Returns
    -------
    str or bytes
        The SVG element, or the PNG file.

    Raises
    ------
    InputError
        `figure` is not a chart of this package, or an argument is not as described.
    """
    require_type(figure, Picture, "figure", "pass what a function of charts returns")
    if format not in {"svg", "png"}:
        raise InputError(f"format must be svg or png, not {quote(format)}")
    if isinstance(width, bool) or not isinstance(width, int) or not LEAST_WIDTH <= width <= MOST_WIDTH:
        limits = f"{LEAST_WIDTH} to {MOST_WIDTH}"
        raise InputError(f"width must be a whole number of pixels from {limits}, not {quote(width)}")
    if figure.chart is None:
        raise InputError("figure was not made by a function of charts; pass what one returns")
    drawn = draw_picture(figure.chart, width, is_png=format == "png", is_dark=dark, with_title=title)
    return drawn if format == "png" else drawn.decode()
