"""`Picture`: a Plotly figure with the table of its marks, which JupyterLab and exported pages show below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import plotly.io

from accounting_analytics.charts.colours import GROUND, ON_DARK, rgb_text
from accounting_analytics.figure_tables import FigureTable, figure_table_html
from accounting_analytics.figures import KEY_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable

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
