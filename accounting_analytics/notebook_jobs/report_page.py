"""A self-contained HTML page of figures and tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from plotly.offline import get_plotlyjs

from accounting_analytics.atomic_files import write_text
from accounting_analytics.notebook_jobs.figure_html import figure_html
from accounting_analytics.printed_tables import TABLE_STYLE, html_table

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
    def table_html(self) -> str:
        """HTML of the table; empty without one."""
        return "" if self.table is None else html_table(self.table)


def write_page(path: str | Path, *, title: str, summary: Sequence[str], sections: Sequence[Section]) -> Path:
    """Write a self-contained HTML page that only its owner may read, completely or not at all.

    Parameters
    ----------
    path : path
        The file; its folder must exist.
    title : str
        Heading of the page.
    summary : sequence of str
        Sentences below it.
    sections : sequence of Section
        Sections of the page, in order. All text is escaped.

    Raises
    ------
    InputError
        The file cannot be written; the previous content is unchanged.
    """
    has_figures = any(section.figure is not None for section in sections)
    text = _TEMPLATES.get_template("report_page.html.j2").render(
        title=title,
        summary=summary,
        sections=sections,
        table_style=TABLE_STYLE,
        plotly_js=get_plotlyjs() if has_figures else "",
    )
    return write_text(Path(path), text, private=True)
