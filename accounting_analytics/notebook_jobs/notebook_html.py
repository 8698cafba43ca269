"""An executed notebook as one HTML file that includes its Plotly charts.

The standard template of nbconvert silently omits Plotly 7 charts, because it does not know their MIME type. Here every
chart is converted to HTML, and Plotly is embedded once, so that the page works offline.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbconvert import HTMLExporter
from plotly.offline import get_plotlyjs

from accounting_analytics.notebook_jobs.figure_html import WITHOUT_UPLOADS, figure_html

if TYPE_CHECKING:
    from collections.abc import Iterator

PLOTLY_MIME = "application/vnd.plotly.v1+json"
_TEMPLATES = Path(__file__).parent / "templates"


def notebook_html(notebook: Any, *, title: str) -> str:  # noqa: ANN401 (nbformat's NotebookNode)
    """HTML page of an executed notebook; it loads nothing from the network."""
    converted = copy.deepcopy(notebook)
    charts = 0
    for bundle in _output_bundles(converted):
        figure = bundle.pop(PLOTLY_MIME, None)
        if figure is not None:
            bundle["text/html"] = figure_html(figure)
            charts += 1
    exporter: Any = HTMLExporter(template_name="accounting_analytics", extra_template_basedirs=[str(_TEMPLATES)])
    resources = {"plotly_js": get_plotlyjs() if charts else "", "metadata": {"name": title}}
    page, _ = exporter.from_notebook_node(converted, resources=resources)
    return str(page)


def remove_upload_buttons(notebook: Any) -> None:  # noqa: ANN401 (nbformat's NotebookNode)
    """Remove the button that sends a figure to another service from every chart of a notebook, wherever it is shown."""
    for bundle in _output_bundles(notebook):
        if PLOTLY_MIME in bundle:
            figure = bundle[PLOTLY_MIME]
            figure["config"] = {**figure.get("config", {}), **WITHOUT_UPLOADS}


def _output_bundles(notebook: Any) -> Iterator[Any]:  # noqa: ANN401 (nbformat's NotebookNode)
    """Contents of each output of a notebook, by MIME type."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            yield output.get("data", {})
