"""Mask the secrets of an executed notebook, and write its HTML page.

Charts of this package are shown by the pictures that were saved with them. The standard template of nbconvert silently
omits other Plotly 7 charts, because it does not know their MIME type: they are converted to HTML, and Plotly is
embedded once.
"""

from __future__ import annotations

import copy
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.io
from nbconvert import HTMLExporter
from nbformat.v4 import new_markdown_cell
from plotly.offline import get_plotlyjs

from accounting_analytics.charts.picture import CHART_STYLE, PICTURE_STYLE, SAVED_PICTURE
from accounting_analytics.client.secret import masked
from accounting_analytics.reports.figures.figure_table import figure_table_script, figure_table_style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.client.secret import Secret

PLOTLY_MIME = "application/vnd.plotly.v1+json"
_WITHOUT_UPLOADS = {"showSendToCloud": False}
"""Configuration of a figure without the button that sends its data to another service."""
_TEMPLATES = Path(__file__).parent / "templates"
_FORMAT_METADATA = frozenset({"kernelspec", "language_info"})
_FORMAT_FIELDS = frozenset({"cell_type", "id", "output_type"})
_BASE64_TYPES = re.compile(r"image/(?!svg)|application/pdf")


def notebook_html(
    notebook: Any,  # noqa: ANN401 (nbformat's NotebookNode)
    *,
    title: str,
    heading: str = "",
    has_code: bool = False,
) -> str:
    """Write the HTML page of an executed notebook. The page loads nothing from the network."""
    converted = copy.deepcopy(notebook)
    if heading:
        converted.cells.insert(0, new_markdown_cell(f"# {heading}"))
    _prefer_saved_pictures(converted)
    charts = 0
    for bundle in _output_bundles(converted):
        figure = bundle.pop(PLOTLY_MIME, None)
        if figure is not None:
            bundle["text/html"] = _figure_html(figure)
            charts += 1
    exporter: Any = HTMLExporter(template_name="accounting_analytics", extra_template_basedirs=[str(_TEMPLATES)])
    exporter.exclude_input, exporter.exclude_output_prompt = not has_code, not has_code
    resources = {
        "plotly_js": get_plotlyjs() if charts else "",
        "picture_style": PICTURE_STYLE,
        "metadata": {"name": title},
    }
    page, _ = exporter.from_notebook_node(converted, resources=resources)
    return _with_shared_parts_once(page)


def _with_shared_parts_once(page: str) -> str:
    """Keep each style and script that tables and charts repeat only once."""
    for style in (figure_table_style(), CHART_STYLE):
        before, first, after = page.partition(style)
        page = f"{before}{first}{after.replace(style, '')}"
    script = f"<script>\n{figure_table_script()}</script>"
    before, last, after = page.rpartition(script)
    return f"{before.replace(script, '')}{last}{after}"


def _prefer_saved_pictures(notebook: Any) -> None:  # noqa: ANN401 (nbformat's NotebookNode)
    """Remove the Plotly figures of charts whose pictures were saved."""
    mark = f'class="{SAVED_PICTURE}"'
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        replaced = [
            at
            for at, (output, after) in enumerate(pairwise(outputs))
            if PLOTLY_MIME in output.get("data", {}) and mark in after.get("data", {}).get("text/html", "")
        ]
        for at in reversed(replaced):
            del outputs[at]


def _figure_html(figure: Any) -> str:  # noqa: ANN401 (JSON of a plotly figure)
    """Write a figure as HTML.

    No text of the figure can close the script element.
    """
    config = {"displaylogo": False, **_WITHOUT_UPLOADS}
    return str(plotly.io.to_html(figure, include_plotlyjs=False, full_html=False, validate=False, config=config))


def remove_upload_buttons(notebook: Any) -> None:  # noqa: ANN401 (nbformat's NotebookNode)
    """Remove from charts the button that sends figures to another service."""
    for bundle in _output_bundles(notebook):
        if PLOTLY_MIME in bundle:
            figure = bundle[PLOTLY_MIME]
            figure["config"] = {**figure.get("config", {}), **_WITHOUT_UPLOADS}


def _output_bundles(notebook: Any) -> Iterator[Any]:  # noqa: ANN401 (nbformat's NotebookNode)
    """Yield the contents of each output of a notebook, by MIME type."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            yield output.get("data", {})


def mask_notebook(notebook: Any, secrets: list[Secret]) -> None:  # noqa: ANN401 (nbformat's NotebookNode)
    """Mask secrets in the values of a notebook.

    Names and marks of the file format stay, although they may be the same words as a secret.
    """
    notebook.metadata = _mask_fields(notebook.metadata, secrets, _FORMAT_METADATA)
    for cell in notebook.cells:
        outputs = cell.pop("outputs", None)
        cell.update(_mask_fields(cell, secrets, _FORMAT_FIELDS))
        if outputs is not None:
            cell.outputs = [_mask_output(output, secrets) for output in outputs]


def _mask_output(output: Any, secrets: list[Secret]) -> Any:  # noqa: ANN401 (nbformat's NotebookNode)
    is_stream = output.output_type == "stream"  # the name is stdout or stderr
    return _mask_fields(output, secrets, _FORMAT_FIELDS | {"name"} if is_stream else _FORMAT_FIELDS)


def _mask_fields(fields: Any, secrets: list[Secret], kept: frozenset[str]) -> Any:  # noqa: ANN401 (a node)
    return type(fields)({name: value if name in kept else _mask(value, secrets) for name, value in fields.items()})


def _mask(value: Any, secrets: list[Secret]) -> Any:  # noqa: ANN401 (any JSON)
    """Mask secrets in texts, but not in names of fields and base64."""
    if isinstance(value, str):
        return masked(value, secrets)
    if isinstance(value, list):
        return [_mask(part, secrets) for part in value]
    if isinstance(value, dict):
        return type(value)(
            {name: part if _BASE64_TYPES.match(name) else _mask(part, secrets) for name, part in value.items()}
        )
    return value
