"""Colours and texts of charts, on light and dark pages.

Colours are far enough apart for people with colour vision deficiencies; no meaning is shown by colour alone.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.core.amount_units import AMOUNT_UNITS
from accounting_analytics.core.messages import printable, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accounting_analytics.core.amount_units import AmountsIn


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
"""Opacity of the area between two lines."""
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


def cell_opacity(part: float) -> float:
    """Opacity of a cell by its part of the full colour; text in ink can be read on all, on light and dark pages.

    It grows with the root of the part, so that small amounts have a colour on dark pages too.
    """
    return round(0.12 + 0.48 * math.sqrt(min(max(part, 0.0), 1.0)), 2)


MAX_LABEL_LENGTH = 80
_SMALL = 10


def short_labels(names: Sequence[str], limit: int = MAX_LABEL_LENGTH) -> list[str]:
    """Names on one line of at most `limit` characters; different marks have different labels.

    A longer name loses its middle, because names of ledgers often begin or end alike. A label that another mark has too
    ends in a number.
    """
    texts = [shortened(name, limit) for name in names]
    counts, taken = Counter(texts), set(texts)
    labels, number = [], 1
    for name, text in zip(names, texts, strict=True):
        label = text
        while counts[text] > 1 and label in taken:
            label = f"{shortened(name, limit - len(f' ({number})'))} ({number})"
            number += 1
        taken.add(label)
        labels.append(label)
    return labels


def shortened(name: str, limit: int = MAX_LABEL_LENGTH) -> str:
    """Name on one line, without its middle where it is longer than `limit`."""
    return shorten_middle(" ".join(printable(name, " ").split()) or "without a name", limit)


def word_lines(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Text on lines that fit, broken between words; a longer word has a line of its own."""
    lines: list[str] = []
    for word in printable(text, " ").split():
        if lines and fits(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def amount_label(amount: Decimal, *, sign: bool = False, amounts_in: AmountsIn | None = None) -> str:
    """Amount to be written beside its mark: in whole units, with all digits where it is small, or in a unit: 96.9k."""
    if amounts_in:
        text = f"{AMOUNT_UNITS[amounts_in].text(amount)}{amounts_in}"
    else:
        text = f"{amount if 0 < abs(amount) < _SMALL else amount.quantize(Decimal(1)):,f}"
    return f"{'+' if sign and amount >= 0 else ''}{text}".replace("-", "\N{MINUS SIGN}")


_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def compact_amount(amount: Decimal) -> str:
    """Amount of at most five characters for a narrow cell: 950, 12k, 1.5M."""
    size = abs(amount)
    if size < _SMALL:
        return f"{amount:f}".replace("-", "\N{MINUS SIGN}")
    for unit, letter in _UNITS:
        if size >= unit:
            digits = Decimal("0.1") if size < 10 * unit else Decimal(1)
            shown = (amount / unit).quantize(digits)
            return f"{shown.normalize():f}{letter}".replace("-", "\N{MINUS SIGN}")
    return f"{amount.quantize(Decimal(1)):f}".replace("-", "\N{MINUS SIGN}")


def tick_text(amount: float, suffix: str = "") -> str:
    """Amount of an axis: 25k, 1.5M, or with all digits before a suffix: 1,500%."""
    unit, letter = next((one for one in _UNITS if abs(amount) >= one[0] and not suffix), (1, ""))
    return f"{amount / unit:,.10g}{letter}{suffix}".replace("-", "\N{MINUS SIGN}")
