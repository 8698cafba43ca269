"""Base of all results: their common members, and their JSON text."""

from __future__ import annotations

import datetime as dt
import json
from abc import ABC, abstractmethod
from decimal import Decimal
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.column_conversion import exact_floats
from accounting_analytics.core.messages import fit_terminal, printable, wrap_lines
from accounting_analytics.core.text_and_html_tables import TABLE_STYLE, html_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MAX_HTML_ROWS = 50
_DASH = "- "


class ResultPart(NamedTuple):
    """A part of what a result shows.

    Attributes
    ----------
    lines : sequence of str
        The part as plain text; those that begin with a dash are a list in HTML.
    table : DataFrame, optional
        The part in HTML; without it the lines are shown there too.
    max_rows : int or None
        Rows of the table that are shown; None shows all.
    rest : str
        Name of the rows of the table, where some are not shown.
    html : callable, optional
        Writes the part in HTML, where it is a table of figures.
    """

    lines: Sequence[str] = ()
    table: pd.DataFrame | None = None
    max_rows: int | None = MAX_HTML_ROWS
    rest: str = "rows; .frame has all"
    html: Callable[[], str] | None = None


class Result(ABC):
    """Base of the results.

    A subclass defines its frame, summary, parts and content, from which the other members follow. `notes` has remarks.
    """

    @property
    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """The main table."""

    @abstractmethod
    def summary(self) -> str:
        """Summarize the result in one line."""

    @abstractmethod
    def _parts(self) -> Iterable[ResultPart]:
        """Return the parts that the result shows below its summary."""

    @abstractmethod
    def _content(self) -> Mapping[str, Any]:
        """Return the content of the JSON text, without notes."""

    def explain(self) -> str:
        """Return the summary, the parts and the notes as plain text."""
        blocks = [[self.summary()], *(part.lines for part in self._parts()), self._notes()]
        return "\n\n".join("\n".join(map(printable, block)) for block in blocks if block)

    def to_json(self) -> str:
        """Return the result as JSON text, in which amounts are strings."""
        return to_json_text({**self._content(), **({"notes": self.notes} if hasattr(self, "notes") else {})})

    def _notes(self) -> list[str]:
        return [f"Note: {note}" for note in getattr(self, "notes", ())]

    def __repr__(self) -> str:
        return fit_terminal(self.explain())

    def __str__(self) -> str:
        return wrap_lines(self.explain())

    def _repr_html_(self) -> str:
        head = f"<p><strong>{escape(printable(self.summary()))}</strong></p>"
        notes = map(_paragraph, self._notes())
        return "".join([TABLE_STYLE, head, *map(_part_html, self._parts()), *notes])


def _part_html(part: ResultPart) -> str:
    if part.html is not None:
        return part.html()
    if part.table is None:
        return "".join(_lines_html(part.lines))
    return html_table(part.table, max_rows=part.max_rows, rest=part.rest) if len(part.table) else ""


def _lines_html(lines: Sequence[str]) -> Iterator[str]:
    """Write text lines as HTML paragraphs or lists.

    Lines that begin with a dash become lists.
    """
    for is_list, of_kind in groupby(lines, lambda line: line.startswith(_DASH)):
        if is_list:
            items = (f"<li>{escape(printable(line.removeprefix(_DASH)))}</li>" for line in of_kind)
            yield f"<ul>{''.join(items)}</ul>"
        else:
            yield from map(_paragraph, of_kind)


def _paragraph(line: str) -> str:
    return f"<p>{escape(printable(line))}</p>"


def to_json_text(content: Mapping[str, Any] | pd.DataFrame) -> str:
    """Write a mapping or table as JSON. Amounts are strings, which keep all digits."""
    return json.dumps(content, default=_to_json_value, ensure_ascii=False, indent=2, allow_nan=False)


def _to_json_value(value: object) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(value, pd.DataFrame):
        exact = exact_floats(value)
        return exact.astype(object).where(exact.notna(), None).to_dict("records")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.date):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)
