"""Texts of charts: names that fit, and amounts at marks and axes."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.core.amount_units import AMOUNT_UNITS
from accounting_analytics.core.messages import printable, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accounting_analytics.core.amount_units import AmountsIn

MAX_LABEL_LENGTH = 80
_SMALL = 10


def short_labels(names: Sequence[str], limit: int = MAX_LABEL_LENGTH) -> list[str]:
    """Shorten names to different texts of at most `limit` characters.

    A longer name loses its middle, because names of ledgers often differ only there. If two labels are the same, a
    number is added at the end.
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
    """Write a name on one text line, without its middle if it is too long."""
    return shorten_middle(" ".join(printable(name, " ").split()) or "without a name", limit)


def word_lines(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Break a text between words into text lines that fit, if possible."""
    lines: list[str] = []
    for word in printable(text, " ").split():
        if lines and fits(f"{lines[-1]} {word}"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def amount_label(amount: Decimal, *, sign: bool = False, amounts_in: AmountsIn | None = None) -> str:
    """Write an amount with few characters: in whole units, with all digits if it is small, or as 96.9k."""
    if amounts_in:
        text = f"{AMOUNT_UNITS[amounts_in].text(amount)}{amounts_in}"
    else:
        text = f"{amount if 0 < abs(amount) < _SMALL else amount.quantize(Decimal(1)):,f}"
    return f"{'+' if sign and amount >= 0 else ''}{text}".replace("-", "\N{MINUS SIGN}")


_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def compact_amount(amount: Decimal) -> str:
    """Write an amount in at most five characters: 950, 12k, 1.5M."""
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
    """Write an amount at an axis: 25k, 1.5M, or 1,500%."""
    fitting = ((unit, letter) for unit, letter in _UNITS if abs(amount) >= unit and not suffix)
    unit, letter = next(fitting, (1, ""))
    return f"{amount / unit:,.10g}{letter}{suffix}".replace("-", "\N{MINUS SIGN}")
