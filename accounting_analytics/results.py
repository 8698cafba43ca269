"""What all results share: the same members, written once over the parts that each result shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.frame_columns import exact_floats
from accounting_analytics.json_text import to_json_text
from accounting_analytics.messages import fit_terminal, printable
from accounting_analytics.printed_tables import TABLE_STYLE, html_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_HTML_ROWS = 50


class ResultPart(NamedTuple):
    """A part of what a result shows.

    Attributes
    ----------
    lines : sequence of str
        The part as plain text.
    table : DataFrame, optional
        The part in HTML; without it the lines are shown there too.
    max_rows : int or None
        Rows of the table that are shown; None shows all.
    rest : str
        What the rows of the table are, where some are not shown.
    """

    lines: Sequence[str] = ()
    table: pd.DataFrame | None = None
    max_rows: int | None = MAX_HTML_ROWS
    rest: str = "rows; .frame has all"


class Result(ABC):
    """Base of the results. A result gives its `frame`, its summary, its parts and its content; all else follows.

    Its remarks are in `notes`, if it has any.
    """

    @property
    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """The main table."""

    @abstractmethod
    def summary(self) -> str:
        """One line."""

    @abstractmethod
    def _parts(self) -> Iterable[ResultPart]:
        """Return what the result shows below its summary."""

    @abstractmethod
    def _content(self) -> Mapping[str, Any]:
        """Return what the JSON text contains; floats of tables become exact amounts."""

    def explain(self) -> str:
        """Plain text: the summary, the parts of the result, the notes."""
        blocks = [[self.summary()], *(part.lines for part in self._parts()), self._notes()]
        return "\n\n".join("\n".join(map(printable, block)) for block in blocks if block)

    def to_json(self) -> str:
        """JSON text of the result; amounts are strings."""
        content = self._content()
        return to_json_text(
            {name: exact_floats(one) if isinstance(one, pd.DataFrame) else one for name, one in content.items()}
        )

    def _notes(self) -> list[str]:
        return [f"Note: {note}" for note in getattr(self, "notes", ())]

    def __repr__(self) -> str:
        return fit_terminal(self.explain())

    def _repr_html_(self) -> str:
        head = f"<p><strong>{escape(printable(self.summary()))}</strong></p>"
        notes = map(_paragraph, self._notes())
        return "".join([TABLE_STYLE, head, *map(_part_html, self._parts()), *notes])


def _part_html(part: ResultPart) -> str:
    if part.table is None:
        return "".join(map(_paragraph, part.lines))
    return html_table(part.table, max_rows=part.max_rows, rest=part.rest) if len(part.table) else ""


def _paragraph(line: str) -> str:
    return f"<p>{escape(printable(line))}</p>"
