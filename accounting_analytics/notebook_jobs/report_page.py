"""A self-contained HTML page of figures and tables."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pandas as pd
from plotly.offline import get_plotlyjs

from accounting_analytics.atomic_files import write_text
from accounting_analytics.frame_columns import exact_floats
from accounting_analytics.money import format_amount
from accounting_analytics.notebook_jobs.figure_html import figure_html

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    @cached_property
    def _exact_table(self) -> pd.DataFrame:
        """The table with decimals, whose text has every digit."""
        return pd.DataFrame() if self.table is None else exact_floats(self.table)

    @property
    def columns(self) -> list[tuple[str, bool]]:
        """Names of the table's columns, and whether they contain numbers."""
        return [(str(name), self._numeric(name)) for name in self._exact_table]

    @property
    def rows(self) -> list[list[tuple[str, bool]]]:
        """Texts of the table's cells, and whether they are numbers."""
        numeric = [self._numeric(name) for name in self._exact_table]
        rows = self._exact_table.itertuples(index=False, name=None)
        return [list(zip(map(_cell_text, row), numeric, strict=True)) for row in rows]

    def _numeric(self, name: Any) -> bool:  # noqa: ANN401 (a column label)
        return bool(self._exact_table[name].map(lambda value: isinstance(value, Decimal | int)).all())


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
        title=title, summary=summary, sections=sections, plotly_js=get_plotlyjs() if has_figures else ""
    )
    return write_text(Path(path), text, private=True)


def _cell_text(value: Any) -> str:  # noqa: ANN401 (any cell)
    if value is None or value is pd.NA or value is pd.NaT or value != value:  # noqa: PLR0124 (NaN)
        return ""
    if isinstance(value, Decimal):
        return format_amount(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="minutes")
    return str(value)
