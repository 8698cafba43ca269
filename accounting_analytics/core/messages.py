"""Text for messages: lists of ids, quoted or shortened values, printable characters."""

from __future__ import annotations

import textwrap
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_IDS = 5
_MAX_LENGTH = 60
TERMINAL_WIDTH = 80
_MAX_LINES = 30
_MAX_LISTED = 20
_MAX_HEADING = 200
HEADING = f"1 to {_MAX_HEADING} printable characters"
"""Text that says what the name of a company or currency must be."""


def join_ids(ids: Iterable[object], *, limit: int = _MAX_IDS) -> str:
    """List the first ids and count the others: ``a, b and 3 more``."""
    texts = sorted(map(str, ids))
    more = len(texts) - limit
    return ", ".join(texts[:limit]) + (f" and {more:,} more" if more > 0 else "")


def count_of(number: int, noun: str, many: str = "") -> str:
    """Write a count: ``1 entry``, ``3 entries``. `many` is an irregular plural."""
    return f"{number:,} {noun if number == 1 else many or plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun: ``lines``, ``entries``."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def first_lines(lines: Sequence[str], *, limit: int = _MAX_LISTED) -> list[str]:
    """Return the first text lines, and a last line that counts the others."""
    more = len(lines) - limit
    return [*lines[:limit], f"and {more:,} more"] if more > 0 else list(lines)


def is_heading(text: str) -> bool:
    """Return whether a text can be a heading, such as a company."""
    return bool(text.strip()) and text.isprintable() and len(text) <= _MAX_HEADING


def quote(value: object, *, limit: int = _MAX_LENGTH) -> str:
    """Write a value as Python does, on one text line and shortened."""
    return shorten(printable(repr(value), " "), limit=limit)


def shorten(text: str, *, limit: int = _MAX_LENGTH) -> str:
    """Shorten a text to `limit` characters. A shortened text ends with ``...``."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def shorten_middle(text: str, width: int) -> str:
    """Shorten a text in its middle, because names often differ only at the end."""
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 (the command line starts without it)

    if cell_len(text) <= width:
        return text
    end = (width - 1) // 2
    start = set_cell_size(text, width - 1 - end).rstrip()
    return f"{start}\N{HORIZONTAL ELLIPSIS}{set_cell_size(text[::-1], end)[::-1].lstrip()}"


def did_you_mean(text: object, known: Iterable[str], *, most: int = 2) -> str:
    """Ask ``did you mean 'Meals'?``, or return "" without a similar word."""
    close = get_close_matches(str(text), list(known), n=most)
    return f"did you mean {' or '.join(map(quote, close))}?" if close else ""


def printable(text: str, replacement: str = "\N{REPLACEMENT CHARACTER}") -> str:
    """Replace each control character, such as a line break, by `replacement`."""
    return "".join(character if character.isprintable() else replacement for character in text)


def wrap_lines(text: str) -> str:
    """Wrap text to the 80 columns of a plain terminal."""
    return "\n".join(part for line in text.splitlines() for part in _wrap(line))


def fit_terminal(text: str) -> str:
    """Wrap text for a plain terminal, cut to 30 lines."""
    lines = wrap_lines(text).splitlines()
    more = len(lines) - _MAX_LINES
    return "\n".join(
        lines if more <= 0 else [*lines[: _MAX_LINES - 1], f"... and {more + 1} more lines: see explain()"]
    )


def _wrap(line: str) -> list[str]:
    """Wrap a text line, and indent its further parts."""
    if len(line) <= TERMINAL_WIDTH:
        return [line]
    return textwrap.wrap(line, TERMINAL_WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
