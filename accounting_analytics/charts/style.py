"""The style of charts: colours on light and dark pages, patterns, lines, and sizes of pictures.

Colours are far enough apart for people with colour vision deficiencies; no meaning is shown by colour alone.
"""

from __future__ import annotations

import math

INK = "#1b1f24"
MUTED = "#5b6470"
RULE = "#d9dee4"
GROUND = "#ffffff"
INFLOW_COLOUR = "#0a7a55"
OUTFLOW_COLOUR = "#b4470f"
BALANCE_COLOUR = "#0b5fa5"
ACCOUNT_COLOURS = ("#845ad8", "#c67a2f", "#36a16b", "#c270c2", "#8a5c2e", "#267359")
OTHERS_COLOUR = "#8a939e"
BAND_ALPHA = 0.18
"""Opacity of the band between two lines."""
PATTERNS = ("", "/", "-", "x", "|", "\\")
"""Patterns beside the colours, in their order."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Dashes of lines beside the colours, in their order."""

ON_DARK = {
    INK: "#e8eaed",
    MUTED: "#9aa4b0",
    RULE: "#353b43",
    GROUND: "#14171a",
    INFLOW_COLOUR: "#4cc79a",
    OUTFLOW_COLOUR: "#f0935c",
    BALANCE_COLOUR: "#7db7f0",
}
"""Colour on a dark page of each colour that has another there."""
COLOUR_NAMES = dict(zip(ON_DARK, ("ink", "muted", "rule", "ground", "inflow", "outflow", "balance"), strict=True))
"""Names of these colours in the style of a page."""

THICK_LINE, THIN_LINE = 2, 1.25
"""Widths of lines."""

PICTURE_WIDTH, LEAST_WIDTH, MOST_WIDTH = 720, 240, 4000
"""Width of a picture where none is given, and its limits, in CSS pixels."""
SAVED_WIDTHS = {"wide": 860, "narrow": 360}
"""Widths of the pictures that are saved with a chart: for a page, and for a telephone."""
WIDE_FROM = 560
"""Width from which on names are beside their bars and cells instead of above them."""


def cell_opacity(part: float) -> float:
    """Return the opacity of a cell for its part of the full colour.

    Text in ink can be read on it, on light and dark pages. It grows with the root of the part, so that small amounts
    have a colour on dark pages too.
    """
    return round(0.12 + 0.48 * math.sqrt(min(max(part, 0.0), 1.0)), 2)
