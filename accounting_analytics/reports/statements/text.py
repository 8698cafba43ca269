"""A statement as plain text: a tree of rows, ruled totals, and columns that fold into blocks of a width."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rich.cells import cell_len, set_cell_size

from accounting_analytics.core.messages import printable, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accounting_analytics.reports.statements.columns import StatementColumn
    from accounting_analytics.reports.statements.rows import Row

_INDENT = 2
_GAP = 2
_SHORTENED, _WIDEST, _NARROWEST = 36, 60, 16
"""Widths of labels: where columns fold, where there is room, and where an amount needs nearly all of it."""
_HEADING_WIDTH = 13
_RULE, _DOUBLE_RULE = "─", "═"


class ShownStatement(Protocol):
    """What the text of a statement needs of it."""

    @property
    def title(self) -> str:
        """What it is."""

    @property
    def company(self) -> str | None:
        """Whose it is."""

    @property
    def columns(self) -> Sequence[StatementColumn]:
        """Columns in order."""

    @property
    def rows(self) -> Sequence[Row]:
        """Rows in order."""

    @property
    def notes(self) -> Sequence[str]:
        """Remarks for the reader."""

    def subtitle(self) -> str:
        """Days and currency."""

    def text(self, row_key: str, column_key: str) -> str:
        """Text of a figure."""


class _Cells(NamedTuple):
    """A column as text: the lines of its heading, its figures by row key, and its width."""

    heading: list[str]
    figures: dict[str, str]
    width: int


def statement_text(statement: ShownStatement, width: int) -> str:
    """Text of a statement in lines of at most `width` columns, unless a figure needs more; no figure is cut."""
    cells = {column.key: _cells(statement, column) for column in statement.columns}
    longest = max((_indent(row) + cell_len(printable(row.label)) for row in statement.rows), default=0)
    label_width = _label_width(longest, [column.width for column in cells.values()], width)
    room = width - label_width
    groups = [[column.key for column in group] for group in _groups(statement.columns)]
    blocks = _fold(groups, {key: column.width + _GAP for key, column in cells.items()}, room)
    lines = _heading(statement, width)
    if len(blocks) > 1:
        count = f"{len(cells):,} columns in {len(blocks):,} blocks, to fit {width} characters"
        lines.extend(_wrap(f"({count})", width))
    for keys in blocks:
        lines.append("")
        lines.extend(_block(statement.rows, [cells[key] for key in keys], label_width))
    if statement.notes:
        lines.append("")
    for note in statement.notes:
        lines.extend(_wrap(f"Note: {printable(note)}", width))
    return "\n".join(lines)


def _heading(statement: ShownStatement, width: int) -> list[str]:
    texts = [statement.company or "", statement.title, statement.subtitle()]
    return [line for text in texts if text for line in _wrap(printable(text), width)]


def _cells(statement: ShownStatement, column: StatementColumn) -> _Cells:
    """Figures of a column; where one is in parentheses, the digits of the others are above its digits."""
    figures = {row.key: statement.text(row.key, column.key) for row in statement.rows if row.kind != "heading"}
    if any(text.endswith(")") for text in figures.values()):
        figures = {key: text if text.endswith(")") else f"{text} " for key, text in figures.items()}
    label = printable(column.label)
    widest = max((len(text) for text in figures.values()), default=0)
    choices = [_wrap_from_end(label, limit) for limit in range(widest, max(widest, _HEADING_WIDTH) + 1)]
    heading = min(choices, key=len)  # of the same number of lines, the narrowest
    return _Cells(heading, figures, max(widest, *map(cell_len, heading)))


def _groups(columns: Sequence[StatementColumn]) -> Iterator[list[StatementColumn]]:
    """Columns that stay together where they fit: a period and its comparisons, or its debits and its credits."""
    for _, group in groupby(columns, key=lambda column: column.of or column.key.removesuffix(f" {column.side}")):
        yield list(group)


def _label_width(longest: int, widths: Sequence[int], width: int) -> int:
    """Width of the labels: what they need, where all columns still fit; else little enough for the widest column."""
    beside_all = width - sum(widths) - _GAP * len(widths)
    beside_widest = width - max(widths, default=0) - _GAP
    limit = min(max(_SHORTENED, min(beside_all, _WIDEST)), max(beside_widest, _NARROWEST))
    return min(longest, limit)


def _fold(groups: Iterable[list[str]], widths: dict[str, int], room: int) -> list[list[str]]:
    """Blocks of columns that fit; a group that is wider than a block is split."""
    blocks: list[list[str]] = []
    left = 0
    for group in groups:
        needed = sum(widths[key] for key in group)
        parts = [group] if needed <= room else [[key] for key in group]
        for number, part in enumerate(parts):
            size = sum(widths[key] for key in part)
            starts_a_group = number == 0 and len(parts) > 1
            if not blocks or size > left or starts_a_group:
                blocks.append([])
                left = room
            blocks[-1].extend(part)
            left -= size
    return blocks


def _block(rows: Sequence[Row], columns: Sequence[_Cells], label_width: int) -> Iterator[str]:
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
        yield _line(_label(row, label_width), [column.figures[row.key] for column in columns], columns, label_width)
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


def _indent(row: Row) -> int:
    return _INDENT * row.level


def _label(row: Row, width: int) -> str:
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


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
