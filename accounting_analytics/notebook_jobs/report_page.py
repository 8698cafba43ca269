"""A self-contained HTML page of figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import plotly.io
from plotly.offline import get_plotlyjs

from accounting_analytics.atomic_files import write_text
from accounting_analytics.charts import Picture
from accounting_analytics.charts.picture import dark_style
from accounting_analytics.html_tables import TABLE_STYLE, html_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import plotly.graph_objects as go

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
WITHOUT_UPLOADS = {"showSendToCloud": False}
"""Configuration of a figure without the button that sends its data to another service."""


def figure_html(figure: Any) -> str:  # noqa: ANN401 (a plotly figure, or its JSON)
    """HTML of a figure, for a page that embeds Plotly; text of the figure cannot close the script element."""
    config = {"displaylogo": False, **WITHOUT_UPLOADS}
    return str(plotly.io.to_html(figure, include_plotlyjs=False, full_html=False, validate=False, config=config))


@dataclass(frozen=True)
class Section:
    """A section of the page: a heading, a sentence of explanation, and a figure or a table."""

    heading: str
    text: str = ""
    figure: go.Figure | None = None
    table: pd.DataFrame | None = None

    @property
    def figure_html(self) -> str:
        """HTML of the figure; empty without one."""
        return "" if self.figure is None else figure_html(self.figure)

    @property
    def is_picture(self) -> bool:
        """Whether the figure has colours for dark pages."""
        return isinstance(self.figure, Picture)

    @property
    def marks_html(self) -> str:
        """HTML of the table of the marks of the figure; empty without one."""
        return self.figure.table_html() if isinstance(self.figure, Picture) else ""

    @property
    def table_html(self) -> str:
        """HTML of the table; empty without one."""
        return "" if self.table is None else html_table(self.table)


def write_page(path: str | Path, *, title: str, summary: Sequence[str], sections: Sequence[Section]) -> Path:
    """Write a self-contained HTML page that only its owner may read, completely or not at all; all text is escaped."""
    has_figures = any(section.figure is not None for section in sections)
    text = _TEMPLATES.get_template("report_page.html.j2").render(
        title=title,
        summary=summary,
        sections=sections,
        table_style=TABLE_STYLE,
        dark_style=dark_style(".picture .js-plotly-plot", "var(--paper)"),
        plotly_js=get_plotlyjs() if has_figures else "",
    )
    return write_text(Path(path), text, private=True)
