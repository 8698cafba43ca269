"""The entries of figures as JSON inside a page: every text and day once, and only as much as a page can carry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.messages import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_ENTRIES_BYTES = 300_000
"""Size of the JSON up to which entries are in the page; above it, a press shows the call that gives them."""
_EXACT_IN_JSON = 2**53
_HTML_IN_SCRIPT = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


class EntriesData(NamedTuple):
    """What is behind the figures of a table: additive figures as sums of lines, derived figures as their terms.

    The figure ``row|column`` is the factor of its row times a sum: over the spans of days of its column, the factor of
    the span times the lines of the row's ledgers in those days.

    Attributes
    ----------
    scale : int
        Fraction digits of the amounts.
    ledgers : sequence of str
        Names of ledgers; lines and rows refer to them by position.
    lines : sequence of tuple
        Ledger, ISO day, 1 if the line is cash flow and 0 if not, description, names of the opposing ledgers, and signed
        units with debits positive.
    rows : mapping
        Factor, measure and ledgers of each row key.
    days : mapping
        For each measure, the spans of each column key: factor, first ISO day (or ""), last ISO day. The measure
        ``flow`` is of cash flow lines only.
    terms : mapping
        Sign (``+``, ``-`` or ``/``), label and text of the terms of each derived figure's key.
    call : str
        The Python expression that gives the entries of a figure, with ``{row!r}`` and ``{column!r}``.
    """

    scale: int
    ledgers: Sequence[str]
    lines: Sequence[tuple[int, str, int, str, str, int]]
    rows: Mapping[str, tuple[int, str, Sequence[int]]]
    days: Mapping[str, Mapping[str, Sequence[tuple[int, str, str]]]]
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
    """Lines, in the order of their days, that refer to their texts and days by position."""
    texts: dict[str, int] = {}
    days: dict[str, int] = {}
    lines = []
    for ledger, day, is_flow, description, opposing, units in sorted(entries.lines, key=lambda line: line[1]):
        text, names = (texts.setdefault(one, len(texts)) for one in (description, opposing))
        exact = units if abs(units) < _EXACT_IN_JSON else str(units)
        lines.append((ledger, days.setdefault(day, len(days)), is_flow, text, names, exact))
    return {
        "scale": entries.scale,
        "ledgers": _printable(entries.ledgers),
        "texts": _printable(texts),
        "dates": list(days),
        "lines": lines,
        "rows": entries.rows,
        "days": entries.days,
    }


def _printable(texts: Iterable[str]) -> list[str]:
    return [printable(text) for text in texts]


def _script_json(content: object) -> str:
    """JSON that nothing in it can end: no markup, and no separators that a script takes for the end of a line."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=dict).translate(_HTML_IN_SCRIPT)
