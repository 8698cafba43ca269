"""What pictures share: title, legend, axes of amounts and periods."""

from __future__ import annotations

import html
import math
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from matplotlib.ticker import MaxNLocator

from accounting_analytics.charts.labels import INK, MUTED, RULE
from accounting_analytics.charts.static_pictures.canvas import NORMAL, SMALL, Canvas, text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

_TITLE_SIZE = 15
_LINE = 17
_SWATCH = 12
_SEPARATOR = " · "
_CUT = re.compile(r"(?P<day>\d+)( (?P<month>\w+) (?P<year>\d+))?( to \d+ (?P<last_month>\w+) (?P<last_year>\d+))?")
"""Some days of a month, of two months, or one day."""
_MONTHS, _QUARTERS = (1, 2, 3, 4, 6, 12, 24, 60, 120), (1, 2, 4, 8, 20, 40)
"""Periods between labelled ones."""
_THOUSANDS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))
DASHES = {"solid": (), "dash": (6, 3), "dot": (2, 2), "dashdot": (6, 2, 2, 2), "longdash": (10, 3)}
HATCHES = {"": "", "/": "//", "-": "--", "x": "xx", "|": "||", "\\": "\\\\"}


class LegendEntry(NamedTuple):
    """A name of the legend, and the mark beside it."""

    name: str
    colour: str
    kind: Literal["bar", "line"]
    hatch: str = ""
    dash: Sequence[float] = ()


class AmountScale(NamedTuple):
    """Where amounts are on a sheet: the pixels of the smallest and the largest, and the amounts that are labelled."""

    least: float
    most: float
    at_least: float
    at_most: float
    ticks: Sequence[float]

    def at(self, amount: float) -> float:
        """Pixel of an amount."""
        return self.at_least + (amount - self.least) / (self.most - self.least) * (self.at_most - self.at_least)


def draw_head(canvas: Canvas, figure: go.Figure, *, with_title: bool) -> float:
    """Write the title, and its remarks below; return where they end."""
    bottom = 0.0
    if not with_title:
        return bottom
    for line in wrapped([plain(figure.layout.title.text)], canvas.width, _TITLE_SIZE):
        bottom += 20
        canvas.text(0, bottom, line, INK, size=_TITLE_SIZE, bold=True)
    remarks = plain((figure.layout.title.subtitle.text or "").replace("<br>", " ")).split(_SEPARATOR)
    for line in wrapped(remarks, canvas.width, SMALL):
        bottom += _LINE
        canvas.text(0, bottom, line, MUTED)
    return bottom + 8


def wrapped(parts: Sequence[str], width: float, size: float) -> list[str]:
    """Parts on lines of a width, broken between words."""
    lines: list[str] = []
    for number, part in enumerate(parts):
        for place, word in enumerate(part.split()):
            between = _SEPARATOR if number and not place else " "
            longer = f"{lines[-1]}{between}{word}" if lines else word
            if lines and text_width(longer, size) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
    return lines


def draw_legend(canvas: Canvas, entries: Sequence[LegendEntry], top: float) -> float:
    """Write the names of marks, on as many lines as they need; return where they end."""
    across, baseline = 0.0, top + 14
    for entry in entries:
        width = _SWATCH + 6 + text_width(entry.name)
        if across and across + width > canvas.width:
            across, baseline = 0.0, baseline + _LINE
        middle = baseline - 4
        if entry.kind == "bar":
            canvas.rectangle((across, across + _SWATCH), (middle - 5, middle + 5), entry.colour, entry.hatch)
        else:
            canvas.line([(across, middle), (across + _SWATCH, middle)], entry.colour, 2, entry.dash)
        canvas.text(across + _SWATCH + 6, baseline, entry.name, INK)
        across += width + 14
    return baseline + 8 if entries else top


def plot_height(canvas: Canvas) -> float:
    """Height of bars or lines on a sheet."""
    return min(max(190.0, canvas.width * 0.34), 320.0)


def amount_scale(
    amounts: Sequence[float], at_least: float, at_most: float, room: float = 0.0, *, below: bool = False
) -> AmountScale:
    """AmountScale from zero to the amounts, with a part of it left free where amounts end, or always `below` them."""
    least, most = min([0.0, *amounts]), max([0.0, *amounts])
    if least == most:
        return AmountScale(0.0, 1.0, at_least, at_most, [0.0])
    free = (most - least) * room
    least, most = least - free * (below or least < 0), most + free * (most > 0)
    count = max(2, int(abs(at_most - at_least) / 48))
    found = MaxNLocator(nbins=min(count, 6), steps=[1, 2, 2.5, 5, 10]).tick_values(least, most)
    ticks = [float(one) for one in found if least <= one <= most]
    return AmountScale(least, most, at_least, at_most, ticks)


def tick_text(amount: float) -> str:
    """Amount of an axis: 25k, 1.5M."""
    size = abs(amount)
    if size < 1e-9:  # noqa: PLR2004 (what is left of a zero)
        return "0"
    for unit, letter in _THOUSANDS:
        if size >= unit:
            return f"{amount / unit:,.10g}{letter}".replace("-", "\N{MINUS SIGN}")
    return f"{amount:,.10g}".replace("-", "\N{MINUS SIGN}")


def tick_width(scale: AmountScale, suffix: str = "") -> float:
    """Width of the widest amount of an axis."""
    return max(text_width(tick_text(one) + suffix) for one in scale.ticks)


def draw_amount_axis(
    canvas: Canvas, scale: AmountScale, sides: tuple[float, float], unit: str, suffix: str = ""
) -> None:
    """Draw a rule for each labelled amount, the amounts left of it, and the unit above."""
    for tick in scale.ticks:
        down = scale.at(tick)
        canvas.line([(sides[0], down), (sides[1], down)], RULE if tick else MUTED)
        canvas.text(sides[0] - 6, down + 4, tick_text(tick) + suffix, MUTED, anchor="end")
    if unit:
        canvas.text(0, min(scale.at_least, scale.at_most) - 10, unit, MUTED)


def draw_labels(canvas: Canvas, labels: Sequence[str], middles: Sequence[float], baseline: float) -> float:
    """Write labels of periods below their marks, as many as have room; the year on a second line, once."""
    pairs = [_two_lines(label) for label in _short_days(labels)]
    widest = max((max(text_width(one) for one in pair) for pair in pairs), default=0.0) + 12
    step = middles[1] - middles[0] if len(middles) > 1 else canvas.width
    needed = math.ceil(widest / step)
    are_quarters = labels[0].startswith("Q")
    every = next((one for one in (_QUARTERS if are_quarters else _MONTHS) if one >= needed), needed)
    starts = [at for at, (above, _) in enumerate(pairs) if above in {"Jan", "Q1"}]
    first = starts[0] % every if starts else 0
    shown_year = ""
    for at in range(first, len(labels), every):
        above, below = pairs[at]
        half = max(text_width(one) for one in pairs[at]) / 2
        middle = min(max(middles[at], half), canvas.width - half)
        canvas.text(middle, baseline, above, MUTED, anchor="middle")
        if below != shown_year:
            canvas.text(middle, baseline + 15, below, MUTED, anchor="middle")
        shown_year = below
    return baseline + (15 if any(below for _, below in pairs) else 0) + 8


def _short_days(labels: Sequence[str]) -> list[str]:
    """Labels of weeks by their first day, and of cut months by their name."""
    cut = [_CUT.fullmatch(label) for label in labels]
    are_weeks = sum(one is not None for one in cut) * 2 > len(labels)
    short = []
    for label, found in zip(labels, cut, strict=True):
        if found is None:
            short.append(label)
        else:
            day, month, year = found["day"], found["month"] or found["last_month"], found["year"] or found["last_year"]
            short.append(f"{day} {month} {year}" if are_weeks else f"{month} {year}")
    return short


def _two_lines(label: str) -> tuple[str, str]:
    """Label without the year at its end, and the year."""
    before, _, year = label.rpartition(" ")
    return (before, year) if year.isdecimal() else (label, "")


def plain(text: str | None) -> str:
    """Text of a figure without its markup."""
    return html.unescape((text or "").replace("<br>", " ").replace("<b>", "").replace("</b>", ""))


def unit_of(figure: go.Figure) -> str:
    """Text at the axis of amounts: what they are counted in."""
    return plain(figure.layout.yaxis.title.text or figure.layout.xaxis.title.text)


def labels_of(trace: Any) -> list[str]:  # noqa: ANN401 (a trace of Plotly)
    """Labels of the marks of a trace."""
    return [plain(mark[1]) for mark in trace.customdata]


def sizes(values: Sequence[Any]) -> list[float | None]:
    """Sizes of marks; None where there is none."""
    return [None if value is None or value != value else float(value) for value in values]  # noqa: PLR0124 (NaN)


def message_of(figure: go.Figure) -> str:
    """Sentence in the place of marks, if there is one."""
    found = [one.text for one in figure.layout.annotations if one.xref == one.yref == "paper" and not one.name]
    return plain(found[0]) if found else ""


def labels_at_end(figure: go.Figure) -> str:
    """Label of the last mark of a line."""
    return plain(figure.layout.annotations[0].text)


def draw_message(canvas: Canvas, text: str, top: float) -> float:
    """Write a sentence in the place of marks."""
    canvas.text(canvas.width / 2, top + 40, text, INK, anchor="middle", size=NORMAL)
    return top + 64
