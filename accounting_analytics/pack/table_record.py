"""`TableRecord`: what is behind the figures of a table, as the page of a pack records it for those who check it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from accounting_analytics.messages import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

Spans = list[tuple[int, str, str]]
"""Factor, first ISO day (or "" for all days up to the last), last ISO day."""


@dataclass
class TableRecord:
    """What is behind the figures of a table, by key ``row|column``.

    Attributes
    ----------
    rows : dict
        Factor, measure and numbers of ledgers of each row.
    days : dict
        For each measure, the spans of each column.
    lines : dict
        Numbers of the lines that a figure sums, counted from 1; a negative number subtracts its line.
    terms : dict
        Sign and key of the figures of the table that a figure adds or subtracts.
    stated : dict
        Units of amounts that were stated by the service.
    unknown, empty : list
        Keys of figures that are not known, and of cells without a figure.
    labels, heads : dict
        Text of each row and column.
    shown : tuple of list, optional
        Rows and columns that are shown whole.
    """

    rows: dict[str, tuple[int, str, Sequence[int]]] = field(default_factory=dict)
    days: dict[str, dict[str, Spans]] = field(default_factory=dict)
    lines: dict[str, Sequence[int]] = field(default_factory=dict)
    terms: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    stated: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    shown: tuple[list[str], list[str]] | None = None

    def content(self) -> dict[str, Any]:
        """Return what the record of the page has."""
        content: dict[str, Any] = {"rows": self.rows, "days": self.days}
        content["lines"] = {key: _by_factor(numbers) for key, numbers in self.lines.items()}
        content |= {"terms": self.terms, "stated": self.stated, "unknown": self.unknown}
        if self.shown is not None:
            rows, columns = self.shown
            content["shown"] = {"rows": rows, "columns": columns, "empty": self.empty}
        return content

    def texts(self) -> dict[str, dict[str, str]]:
        """Return the texts that name what a figure is made of."""
        return {
            name: {key: printable(text) for key, text in texts.items()}
            for name, texts in (("labels", self.labels), ("heads", self.heads))
        }


def _by_factor(numbers: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Positions of lines by the factor that they are summed with."""
    found = {1: [one - 1 for one in numbers if one > 0], -1: [-one - 1 for one in numbers if one < 0]}
    return [(factor, positions) for factor, positions in found.items() if positions]
