"""The style of charts: colours on light and dark pages, patterns, lines, and sizes of pictures.

Colours differ enough for people with colour vision deficiencies. No meaning is shown by colour alone.
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
"""Opacity of the band between two chart lines."""
PATTERNS = ("", "/", "-", "x", "|", "\\")
"""Patterns that are used in addition to the colours, in the order of the colours."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Dashes of chart lines that are used in addition to the colours, in the order of the colours."""

ON_DARK = {
    INK: "#e8eaed",
    MUTED: "#9aa4b0",
    RULE: "#353b43",
    GROUND: "#14171a",
    INFLOW_COLOUR: "#4cc79a",
    OUTFLOW_COLOUR: "#f0935c",
    BALANCE_COLOUR: "#7db7f0",
}
"""Map each colour that is different on a dark page to the colour on a dark page."""
COLOUR_NAMES = dict(zip(ON_DARK, ("ink", "muted", "rule", "ground", "inflow", "outflow", "balance"), strict=True))
"""Names of these colours as variables in the style of a page."""

THICK_LINE, THIN_LINE = 2, 1.25
"""Widths of chart lines."""

PICTURE_WIDTH, LEAST_WIDTH, MOST_WIDTH = 720, 240, 4000
"""Default width of a picture, and the smallest and largest width, in CSS pixels."""
SAVED_WIDTHS = {"wide": 860, "narrow": 360}
"""Widths of the pictures that are saved with a chart: for a page, and for a telephone."""
WIDE_FROM = 560
"""From this width on, names are beside their bars and cells, not above them."""


def cell_opacity(part: float) -> float:
    """Return the opacity of a cell that has a share of the full colour.

    Text in the colour of ink can be read on the cell, on light and dark pages. The opacity grows with the square root
    of the share, so that small amounts also have a colour on dark pages.
    """
    return round(0.12 + 0.48 * math.sqrt(min(max(part, 0.0), 1.0)), 2)
