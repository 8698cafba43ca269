"""A table of figures as plain text: a tree of rows, ruled totals, and columns that fold into blocks of a width."""

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
"""Widths of labels: where columns fold, where there is room, and where an amount needs nearly all of it."""
_HEADING_WIDTH = 13
_RULE, _DOUBLE_RULE = "─", "═"


class TextRow(Protocol):
    """What the text of a table needs of a row: its label, its level in the tree, and its kind as in a `FigureRow`."""

    @property
    def label(self) -> str:
        """Name of the row."""

    @property
    def level(self) -> int:
        """Level in the tree."""

    @property
    def kind(self) -> str:
        """What it is."""


class TextColumn(NamedTuple):
    """A column as text: its heading, the text of each row, and its group, whose columns stay together if they fit."""

    heading: str
    texts: Sequence[str]
    group: object = None


class _Cells(NamedTuple):
    """A column as it is written: the lines of its heading, the text of each row, and its width."""

    heading: list[str]
    texts: list[str]
    width: int


def figure_lines(rows: Sequence[TextRow], columns: Sequence[TextColumn], width: int) -> list[str]:
    """Write a table in lines of at most `width` columns, unless a figure needs more; no figure is cut.

    Columns that do not fit are in blocks below, and a line in parentheses says so.
    """
    cells = [_cells(rows, column) for column in columns]
    longest = max((_indent(row) + cell_len(printable(row.label)) for row in rows), default=0)
    label_width = _label_width(longest, [column.width for column in cells], width)
    groups = [[at for at, _ in group] for _, group in groupby(enumerate(columns), key=lambda column: column[1].group)]
    blocks = _fold(groups, [column.width + _GAP for column in cells], width - label_width)
    lines: list[str] = []
    if len(blocks) > 1:
        count = f"{len(cells):,} columns in {len(blocks):,} blocks, to fit {width} characters"
        lines.extend(wrap_words(f"({count})", width))
    for places in blocks:
        lines.append("")
        lines.extend(_block(rows, [cells[at] for at in places], label_width))
    return lines


def _cells(rows: Sequence[TextRow], column: TextColumn) -> _Cells:
    """Figures of a column; where one is in parentheses, the digits of the others are above its digits."""
    texts = list(column.texts)
    if any(text.endswith(")") for text in texts):
        texts = [
            text if text.endswith(")") or row.kind == "heading" else f"{text} "
            for row, text in zip(rows, texts, strict=True)
        ]
    label = printable(column.heading)
    widest = max(map(len, texts), default=0)
    choices = [_wrap_from_end(label, limit) for limit in range(widest, max(widest, _HEADING_WIDTH) + 1)]
    heading = min(choices, key=len)  # of the same number of lines, the narrowest
    return _Cells(heading, texts, max(widest, *map(cell_len, heading)))


def _label_width(longest: int, widths: Sequence[int], width: int) -> int:
    """Width of the labels: what they need, where all columns still fit; else little enough for the widest column."""
    beside_all = width - sum(widths) - _GAP * len(widths)
    beside_widest = width - max(widths, default=0) - _GAP
    limit = min(max(_SHORTENED, min(beside_all, _WIDEST)), max(beside_widest, _NARROWEST))
    return min(longest, limit)


def _fold(groups: Iterable[list[int]], widths: Sequence[int], room: int) -> list[list[int]]:
    """Blocks of columns that fit, by their places; a group that is wider than a block is split."""
    blocks: list[list[int]] = []
    left = 0
    for group in groups:
        needed = sum(widths[at] for at in group)
        parts = [group] if needed <= room else [[at] for at in group]
        for number, part in enumerate(parts):
            size = sum(widths[at] for at in part)
            starts_a_group = number == 0 and len(parts) > 1
            if not blocks or size > left or starts_a_group:
                blocks.append([])
                left = room
            blocks[-1].extend(part)
            left -= size
    return blocks


def _block(rows: Sequence[TextRow], columns: Sequence[_Cells], label_width: int) -> Iterator[str]:
    """Lines of some columns, each with the labels of all rows."""
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
    """Label of a row, indented, and shortened in the middle where it is too long."""
    indent = min(_indent(row), width // 2)
    return f"{' ' * indent}{shorten_middle(printable(row.label), width - indent)}"


def _wrap_from_end(text: str, width: int) -> list[str]:
    """Lines of a heading, filled from the last, so that a date stays together: ``Change from``, ``Jan 2025``."""
    lines: list[str] = []
    for word in reversed(text.split()):
        if lines and cell_len(f"{word} {lines[0]}") <= width:
            lines[0] = f"{word} {lines[0]}"
        else:
            lines.insert(0, word)
    return lines or [""]


def wrap_words(text: str, width: int) -> list[str]:
    """Lines of a text; a longer word is not cut."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
