"""A Plotly figure as HTML, without the button that sends its data to another service."""

from __future__ import annotations

from typing import Any

import plotly.io

WITHOUT_UPLOADS = {"showSendToCloud": False}
"""Configuration of a figure without that button."""


def figure_html(figure: Any) -> str:  # noqa: ANN401 (a plotly figure, or its JSON)
    """HTML of a figure, for a page that embeds Plotly; text of the figure cannot close the script element."""
    config = {"displaylogo": False, **WITHOUT_UPLOADS}
    return str(plotly.io.to_html(figure, include_plotlyjs=False, full_html=False, validate=False, config=config))
