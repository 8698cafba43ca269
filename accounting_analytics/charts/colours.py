"""Colours of charts on light and dark pages.

They are far enough apart for people with colour vision deficiencies; no meaning is shown by colour alone.
"""

from __future__ import annotations

from typing import Any

INK = "#1b1f24"
MUTED = "#5b6470"
RULE = "#d9dee4"
GROUND = "#ffffff"
INFLOW_COLOUR = "#0a7a55"
OUTFLOW_COLOUR = "#b4470f"
BALANCE_COLOUR = "#0b5fa5"
ACCOUNT_COLOURS = ("#845ad8", "#c67a2f", "#36a16b", "#c270c2", "#8a5c2e", "#267359")
OTHERS_COLOUR = "#8a939e"
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
CLASSES = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    GROUND: "ground",
    INFLOW_COLOUR: "inflow",
    OUTFLOW_COLOUR: "outflow",
    BALANCE_COLOUR: "balance",
}
"""Class of the elements of a picture that have such a colour."""


def pattern(shape: str) -> dict[str, Any]:
    """Lines of the ground over the colour of a bar."""
    return {"shape": shape, "fillmode": "overlay", "fgcolor": GROUND, "fgopacity": 1, "size": 7, "solidity": 0.2}


def cell_opacity(part: float) -> float:
    """Opacity of a cell by its part of the largest; text in ink can be read on all, on light and dark pages."""
    return round(0.05 + 0.55 * part, 2)


def rgb_text(colour: str) -> str:
    """Colour as browsers write it in styles: ``rgb(27, 31, 36)``."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
