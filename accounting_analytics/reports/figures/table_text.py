"""A table of figures as plain text, in blocks of a given width."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rich.cells import cell_len, set_cell_size

from accounting_analytics.core.messages import printable, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_INDENT = 2
_GAP = 2
_SHORTENED, _WIDEST, _NARROWEST = 36, 60, 16
"""Widths of labels: beside columns that fold, the widest, and the narrowest."""
_HEADING_WIDTH = 13
_RULE, _DOUBLE_RULE = "─", "═"


class TextRow(Protocol):
    """A row of a text table: its label, level and kind."""

    @property
    def label(self) -> str:
        """Name of the row."""

    @property
    def level(self) -> int:
        """Level in the tree."""

    @property
    def kind(self) -> str:
        """Kind, as in a `FigureRow`."""


class TextColumn(NamedTuple):
    """A column as text. Columns of one group stay together if possible."""

    heading: str
    texts: Sequence[str]
    group: object = None


class _Cells(NamedTuple):
    """A column as it is written: heading lines, texts and width."""

    heading: list[str]
    texts: list[str]
    width: int


def figure_lines(rows: Sequence[TextRow], columns: Sequence[TextColumn], width: int) -> list[str]:
    """Write a table in text lines of `width` characters. Figures are never cut.

    A text line is longer only if a figure is longer. Columns that do not fit are in blocks below, and a text line in
    parentheses says so.
    """
    cells = [_cells(rows, column) for column in columns]
    longest = max((_indent(row) + cell_len(printable(row.label)) for row in rows), default=0)
    label_width = _label_width(longest, [column.width for column in cells], width)
    by_group = groupby(enumerate(columns), key=lambda numbered: numbered[1].group)
    groups = [[number for number, _ in group] for _, group in by_group]
    blocks = _fold(groups, [column.width + _GAP for column in cells], width - label_width)
    lines: list[str] = []
    if len(blocks) > 1:
        count = f"{len(cells):,} columns in {len(blocks):,} blocks, to fit {width} characters"
        lines.extend(wrap_words(f"({count})", width))
    for block in blocks:
        lines.append("")
        lines.extend(_block(rows, [cells[number] for number in block], label_width))
    return lines


def _cells(rows: Sequence[TextRow], column: TextColumn) -> _Cells:
    """Align the digits of a column, and wrap its heading."""
    texts = list(column.texts)
    if any(text.endswith(")") for text in texts):
        texts = [
            text if text.endswith(")") or row.kind == "heading" else f"{text} "
            for row, text in zip(rows, texts, strict=True)
        ]
    label = printable(column.heading)
    widest = max(map(len, texts), default=0)
    choices = [_wrap_from_end(label, limit) for limit in range(widest, max(widest, _HEADING_WIDTH) + 1)]
    heading = min(choices, key=len)  # of the widths with the same number of text lines, the narrowest
    return _Cells(heading, texts, max(widest, *map(cell_len, heading)))


def _label_width(longest: int, widths: Sequence[int], width: int) -> int:
    """Choose the width of labels that lets the columns fit."""
    beside_all = width - sum(widths) - _GAP * len(widths)
    beside_widest = width - max(widths, default=0) - _GAP
    limit = min(max(_SHORTENED, min(beside_all, _WIDEST)), max(beside_widest, _NARROWEST))
    return min(longest, limit)


def _fold(groups: Iterable[list[int]], widths: Sequence[int], room: int) -> list[list[int]]:
    """Fold columns into blocks, and split groups that are too wide."""
    blocks: list[list[int]] = []
    left = 0
    for group in groups:
        needed = sum(widths[number] for number in group)
        parts = [group] if needed <= room else [[number] for number in group]
        for part_number, part in enumerate(parts):
            size = sum(widths[number] for number in part)
            starts_a_group = part_number == 0 and len(parts) > 1
            if not blocks or size > left or starts_a_group:
                blocks.append([])
                left = room
            blocks[-1].extend(part)
            left -= size
    return blocks


def _block(rows: Sequence[TextRow], columns: Sequence[_Cells], label_width: int) -> Iterator[str]:
    """Yield the text lines of some columns, with all row labels."""
    height = max((len(column.heading) for column in columns), default=0)
    for number in range(height):
        texts = [([""] * (height - len(column.heading)) + column.heading)[number] for column in columns]
        yield _line("", texts, columns, label_width)
    yield _ruled(_RULE, columns, label_width)
    was_ruled = True
    for number, row in enumerate(rows):
        if row.kind == "heading":
            if number and not row.level:
                yield ""
            yield _label(row, label_width).rstrip()
            was_ruled = False
            continue
        if row.kind in {"subtotal", "total"} and not was_ruled:
            yield _ruled(_RULE, columns, label_width)
        yield _line(_label(row, label_width), [column.texts[number] for column in columns], columns, label_width)
        was_ruled = row.kind == "total"
        if was_ruled:
            yield _ruled(_DOUBLE_RULE, columns, label_width)


def _line(label: str, texts: Sequence[str], columns: Sequence[_Cells], label_width: int) -> str:
    parts = [set_cell_size(label, label_width)]
    for text, column in zip(texts, columns, strict=True):
        parts.append(" " * (_GAP + column.width - cell_len(text)) + text)
    return "".join(parts).rstrip()


def _ruled(rule: str, columns: Sequence[_Cells], label_width: int) -> str:
    return " " * label_width + "".join(" " * _GAP + rule * column.width for column in columns)


def _indent(row: TextRow) -> int:
    return _INDENT * row.level


def _label(row: TextRow, width: int) -> str:
    """Indent a label, and shorten it in the middle where needed."""
    indent = min(_indent(row), width // 2)
    return f"{' ' * indent}{shorten_middle(printable(row.label), width - indent)}"


def _wrap_from_end(text: str, width: int) -> list[str]:
    """Wrap a heading from its end, so that a date stays together.

    For example ``Change from``, ``Jan 2025``.
    """
    lines: list[str] = []
    for word in reversed(text.split()):
        if lines and cell_len(f"{word} {lines[0]}") <= width:
            lines[0] = f"{word} {lines[0]}"
        else:
            lines.insert(0, word)
    return lines or [""]


def wrap_words(text: str, width: int) -> list[str]:
    """Wrap a text without cutting long words."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
