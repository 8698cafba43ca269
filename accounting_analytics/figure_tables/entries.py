"""The entries of figures as JSON inside a page: every text and day once, and only as much as a page can carry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.messages import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.figure_tables.line_table import Range

MAX_ENTRIES_BYTES = 300_000
"""Size of the JSON up to which entries are in the page; above it, a press shows the call that gives them."""
_EXACT_IN_JSON = 2**53
_HTML_IN_SCRIPT = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


class EntriesData(NamedTuple):
    """What is behind the figures of a table: sums of lines as ranges of their numbers, derived figures as terms.

    Attributes
    ----------
    scale : int
        Fraction digits of the amounts.
    ledgers : sequence of str
        Names of ledgers; lines refer to them by position.
    lines : sequence of tuple
        Ledger, ISO day, description, names of the opposing ledgers, and signed units with debits positive.
    figures : mapping
        By row and column, the ranges of lines that a figure adds (1) or subtracts (-1): sign, first and last number.
    terms : mapping
        Sign (``+``, ``-`` or ``/``), label and text of the terms of each derived figure's key.
    call : str
        The Python expression that gives the entries of a figure, with ``{row!r}`` and ``{column!r}``.
    """

    scale: int
    ledgers: Sequence[str]
    lines: Sequence[tuple[int, str, str, str, int]]
    figures: Mapping[str, Mapping[str, Sequence[Range]]]
    terms: Mapping[str, Sequence[tuple[str, str, str]]]
    call: str


def entries_json(entries: EntriesData) -> str:
    """JSON of the entries for a script element; of entries that are too large, the terms and the call, or the call."""
    call = {"call": entries.call}
    terms = {
        key: [(sign, printable(label), printable(text)) for sign, label, text in terms]
        for key, terms in entries.terms.items()
    }
    for content in ({**_interned_lines(entries), "terms": terms, **call}, {"terms": terms, **call}):
        text = _script_json(content)
        if len(text.encode()) <= MAX_ENTRIES_BYTES:
            return text
    return _script_json(call)


def _interned_lines(entries: EntriesData) -> dict[str, Any]:
    """Lines that refer to their texts and days by position."""
    texts: dict[str, int] = {}
    days: dict[str, int] = {}
    lines = []
    for ledger, day, description, opposing, units in entries.lines:
        text, names = (texts.setdefault(one, len(texts)) for one in (description, opposing))
        exact = units if abs(units) < _EXACT_IN_JSON else str(units)
        lines.append((ledger, days.setdefault(day, len(days)), text, names, exact))
    columns = list(dict.fromkeys(column for of_row in entries.figures.values() for column in of_row))
    return {
        "scale": entries.scale,
        "ledgers": _printable(entries.ledgers),
        "texts": _printable(texts),
        "dates": list(days),
        "lines": lines,
        "columns": columns,
        "figures": {row: [_flat(of_row.get(one)) for one in columns] for row, of_row in entries.figures.items()},
    }


def _flat(ranges: Iterable[Range] | None) -> list[int] | None:
    """Ranges as one list: sign, first and last number of each."""
    return None if ranges is None else [number for one in ranges for number in one]


def _printable(texts: Iterable[str]) -> list[str]:
    return [printable(text) for text in texts]


def _script_json(content: object) -> str:
    """JSON that nothing in it can end: no markup, and no separators that a script takes for the end of a line."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=dict).translate(_HTML_IN_SCRIPT)
