"""Places of rows of bars: names and amounts beside their bars, or above them on a narrow sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.charts.static_pictures.canvas import text_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.charts.static_pictures.canvas import Canvas

BAR = 14
"""Height of a bar."""
_WIDE = 560
"""From this width on, names and amounts are beside their bars instead of above."""
_WIDE_ROW, _NARROW_ROW = 27, 38
_ROW_GAP = 14
_NAMES = 0.36
"""Part of a sheet that names take at most."""


class RowPlaces(NamedTuple):
    """Where bars are, how much room a name has, and where the rows end."""

    is_wide: bool
    left: float
    right: float
    bar_tops: Sequence[float]
    label_room: float
    bottom: float

    def baseline(self, bar_top: float) -> float:
        """Baseline of the texts of a row."""
        return bar_top + 11 if self.is_wide else bar_top - 5


def row_places(canvas: Canvas, labels: Sequence[str], texts: Sequence[str], top: float) -> RowPlaces:
    """Place rows below each other."""
    is_wide = canvas.width >= _WIDE
    height = _WIDE_ROW if is_wide else _NARROW_ROW
    below = 6 if is_wide else 3
    tops = [top + height * (number + 1) - BAR - below for number in range(len(labels))]
    bottom = top + height * len(labels)
    if not is_wide:
        return RowPlaces(is_wide, 0.0, float(canvas.width), tops, canvas.width - _ROW_GAP, bottom)
    left = min(max(text_width(label) for label in labels), canvas.width * _NAMES) + _ROW_GAP
    right = canvas.width - max(text_width(text, bold=True) for text in texts) - _ROW_GAP
    return RowPlaces(is_wide, left, right, tops, left - _ROW_GAP + 1, bottom)
