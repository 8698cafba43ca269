"""What all charts share: title and axes, exact sums, and the keys and hover texts of marks.

Sums are exact decimals, hover texts have all their digits, and only the size of a mark is a float. Text from the books
is escaped. Axes have given ranges, because Plotly would widen them for labels, and margins that fit a telephone.
"""

from __future__ import annotations

import html
import textwrap
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import plotly.io

from accounting_analytics.charts.labels import GROUND, INK, MUTED, ON_DARK, RULE, escaped, rgb_text
from accounting_analytics.errors import InputError
from accounting_analytics.figure_tables import FigureTable, figure_table_html
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.messages import join_ids
from accounting_analytics.money import format_amount
from accounting_analytics.periods import zone

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Sequence
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.figures import Figure


_DARK_LAB = '[data-jp-theme-light="false"]'
_BESIDE = ".jp-OutputArea:has(.accounting-analytics-chart) .js-plotly-plot"
"""Charts in the same output as a table of marks: no other chart of a notebook changes its colours."""


class Picture(go.Figure):  # type: ignore[misc]  # Plotly has no types
    """A chart whose marks are figures: what every function of ``charts`` returns.

    It is a Plotly figure, to be changed, saved and shown like any other. Below it JupyterLab shows a folded table of
    its marks, whose amounts unfold to their line entries; a reader who cannot see the chart has everything there.
    """

    _table: FigureTable | None = None
    _find: Callable[[str], Figure] | None = None

    def mark(self, key: str, column: str = "") -> Figure:
        """Figure of a mark, by the key that is first in its ``customdata``, or by the parts of such a key."""
        if self._find is None:
            raise LookupError("this figure was not made by a function of charts, so its marks have no figures")
        return self._find(f"{key}{KEY_SEPARATOR}{column}" if column else key)

    def table_html(self) -> str:
        """Write the table of the marks as HTML, folded; empty for a chart whose marks are no amounts of the books."""
        if self._table is None:
            return ""
        return (
            "<details><summary>Figures of this chart, and what is behind them</summary>\n"
            f"{figure_table_html(self._table)}</details>\n"
        )

    def with_marks(self, table: FigureTable, find: Callable[[str], Figure]) -> Picture:
        """Give the figure its table, and what finds the figures of its marks."""
        self._table, self._find = table, find
        return self

    def _ipython_display_(self) -> None:
        if not (plotly.io.renderers.render_on_display and plotly.io.renderers.default):
            super()._ipython_display_()
            return
        plotly.io.show(self, config={"displaylogo": False})
        from IPython.display import HTML, display  # noqa: PLC0415 (slow to import, and only notebooks need it)

        display(HTML(f'<div class="accounting-analytics-chart"><style>{_LAB_STYLE}</style>{self.table_html()}</div>'))

    def __reduce__(self) -> tuple[Any, ...]:
        made, arguments = super().__reduce__()
        return made, arguments, {"_table": self._table, "_find": self._find}


def _dark_style(charts: str, ground: str) -> str:
    """Style of the charts of a selector on a dark ground: each colour of a light page becomes that of a dark one."""
    rules = [f"{charts} .main-svg{{background:transparent!important}}"]
    for colour, dark in ON_DARK.items():
        for part in ("fill", "stroke"):
            at = f'{charts} [style*="{part}: {rgb_text(colour)}"]'
            rules.append(f"{at}{{{part}:{ground if colour == GROUND else dark}!important}}")
    return "\n".join(rules)


_LAB_STYLE = _dark_style(f"{_DARK_LAB} {_BESIDE}", f"var(--jp-layout-color0,{ON_DARK[GROUND]})")


UPLOAD_BUTTON = "sendChartToCloud"
"""Button of Plotly that sends a figure with its figures to a server of its maker; removed wherever a chart is shown."""
_REMOVED_BUTTONS = (UPLOAD_BUTTON, "select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "pan2d")
"""The others cover the title on a telephone."""
DAY = 86_400_000
"""Milliseconds, as Plotly counts days."""
_LINE_LENGTH = 40
"""Characters of a subtitle on a line of a telephone."""
_LINE_HEIGHT, _TITLE_HEIGHT, _LEGEND_HEIGHT = 16, 44, 34
_TRANSPARENT = "rgba(0,0,0,0)"


def new_figure(report: CashFlowReport, title: str, *remarks: str) -> Picture:
    """Empty figure whose subtitle states the period, the time zone, what limits the report, and remarks."""
    return titled_figure(
        title,
        *day_remarks(report.period.start_date, report.period.end_date, report.period.time_zone),
        *(["PARTIAL: lines are missing"] if report.partial else []),
        *(["starting balance supplied, not summed"] if report.anchored else []),
        *remarks,
    )


def day_remarks(first: object, last: object, time_zone: str) -> list[str]:
    """Days of a chart, and their zone."""
    return [f"{first}" if first == last else f"{first} to {last}", f"days in {time_zone}"]


def tag_remarks(report: CashFlowReport, tag_names: dict[str, str]) -> list[str]:
    """Name the tags that a report was filtered by."""
    names = [tag_names.get(one, one) for one in report.tag_ids]
    return [f"only lines tagged {escaped(join_ids(names, limit=1))}"] if names else []


def unit_text(currency: str | None) -> str:
    """Text of an axis: the currency of its amounts."""
    return escaped(currency) if currency else "amounts in the currency of the books"


def titled_figure(title: str, *remarks: str) -> Picture:
    """Empty figure with a title, and remarks as its subtitle."""
    figure = Picture()
    lines = subtitle_lines(remarks)
    figure.update_layout(
        template="none",
        paper_bgcolor=GROUND,  # JupyterLab saves a picture of the chart, which may be opened in the other theme
        plot_bgcolor=_TRANSPARENT,
        title={
            "text": html.escape(title, quote=False),
            "font": {"size": 15, "color": INK},
            "subtitle": {"text": "<br>".join(lines), "font": {"size": 12, "color": MUTED}},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 14, "l": 12},
        },
        font={"family": "system-ui, sans-serif", "size": 12, "color": MUTED},
        margin={"l": 12, "r": 16, "t": _TITLE_HEIGHT + _LINE_HEIGHT * len(lines) + _LEGEND_HEIGHT, "b": 40},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "font": {"color": INK}},
        hoverlabel={"bgcolor": "#ffffff", "bordercolor": MUTED, "font": {"color": INK}},
        height=440,
        autosize=True,
        modebar={"remove": list(_REMOVED_BUTTONS), "color": MUTED, "bgcolor": _TRANSPARENT},
    )
    figure.update_yaxes(**_axis())
    figure.update_xaxes(**{**_axis(), "showgrid": False, "zeroline": False})
    return figure


def subtitle_lines(remarks: Sequence[str]) -> list[str]:
    """Remarks on lines that fit a telephone, each on one line where it fits; no escaped character is cut."""
    lines: list[str] = []
    for remark in remarks:
        parts = textwrap.wrap(html.unescape(remark), _LINE_LENGTH, break_on_hyphens=False)
        if lines and len(parts) == 1 and len(lines[-1]) + len(parts[0]) <= _LINE_LENGTH:
            lines[-1] += f" · {parts[0]}"
        elif parts:
            lines[-1:] = [f"{lines[-1]} ·"] if lines else []
            lines += parts
    return [html.escape(line, quote=False) for line in lines]


def _axis() -> dict[str, Any]:
    """Rules and labels of an axis of amounts: 25k, 1.5M."""
    return {
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


def table_subtitle(figure: go.Figure, unit: str) -> str:
    """Remarks of a figure and its unit, as its table has them."""
    remarks = figure.layout.title.subtitle.text.replace("<br>", " ")
    return html.unescape(f"{remarks} · {unit}")


def add_message(figure: go.Figure, text: str) -> None:
    """Write a sentence in the place of marks."""
    figure.add_annotation(
        text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False, font={"size": 14, "color": INK}
    )


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


def first_known_day(report: CashFlowReport) -> dt.date:
    """First day that a report has anything of: of one that starts at zero, the day of its first line."""
    if report.exact_sums().starting_cash_balance or report.lines.empty:
        return report.period.start_date
    first: dt.date = max(local_dates(report).min(), report.period.start_date)
    return first


def known_remarks(report: CashFlowReport) -> list[str]:
    """State that a report has nothing before a day, of which no zeros are drawn."""
    first = first_known_day(report)
    return [f"nothing before {first}"] if first > report.period.start_date else []


def mark_sizes(amounts: Sequence[Decimal | None]) -> list[float | None]:
    """Amounts as the floats that Plotly draws; nothing is calculated with them."""
    return [None if amount is None else float(amount) for amount in amounts]


def mark_data(keys: Sequence[str], labels: Sequence[str], amounts: Sequence[Decimal | None]) -> dict[str, Any]:
    """Trace arguments for keys, labels and exact amounts: ``report[customdata[0]]`` is the figure of a mark.

    The hover texts have all digits.
    """
    texts = ["not known" if amount is None else format_amount(amount) for amount in amounts]
    rows = [[key, label, text] for key, label, text in zip(keys, labels, texts, strict=True)]
    return {"customdata": rows, "hovertemplate": "%{customdata[1]}<br>%{customdata[2]}<extra></extra>"}
