"""Tables as text and in HTML, for notebooks, exported pages and reports.

An HTML table has no fixed height and needs no library. Its header cells have a scope, so that a screen reader can read
them, and it takes the colours of the page, light or dark.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.core.column_conversion import exact_floats
from accounting_analytics.core.messages import printable
from accounting_analytics.core.money import format_amount

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE_STYLE = """<style>
table.accounting-analytics {
  border-collapse: collapse; color: inherit; font-variant-numeric: tabular-nums; margin: 0.5em 0 1em;
}
table.accounting-analytics :is(th, td) {
  background: transparent; border: 0; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent);
  padding: 0.25em 0.75em 0.25em 0; text-align: right; vertical-align: top;
}
table.accounting-analytics thead th { border-bottom-color: currentColor; font-weight: 600; }
table.accounting-analytics tbody th { font-weight: 400; }
table.accounting-analytics .text { text-align: left; }
table.accounting-analytics .short { white-space: nowrap; }
table.accounting-analytics .long { min-width: 20em; }
@media print { table.accounting-analytics thead { display: table-header-group; } }
</style>"""
"""Style of the tables, which is written before the first table. A notebook that is not trusted drops it."""


_SHORT_TEXT, _LONG_TEXT = 20, 80
NOT_TYPESET = "tex2jax_ignore mathjax_ignore"
"""Classes of texts in which JupyterLab and exported notebooks do not look for formulas."""


class PrintedColumn(NamedTuple):
    """A printed column: its heading, and whether its cells are numbers."""

    heading: str
    is_numeric: bool


class PrintedTable(NamedTuple):
    """A table of texts: amounts with every digit, missing values empty, no control characters."""

    columns: Sequence[PrintedColumn]
    rows: Sequence[Sequence[str]]

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Self:
        """Convert the cells of a frame to texts. Floats are amounts."""
        exact = exact_floats(frame)
        cells = [exact.iloc[:, position].tolist() for position in range(exact.shape[1])]
        columns = [
            PrintedColumn(printable(str(name)), bool(values) and all(map(_is_number, values)))
            for name, values in zip(exact.columns, cells, strict=True)
        ]
        return cls(columns, [tuple(map(cell_text, row)) for row in zip(*cells, strict=True)])


def html_table(frame: pd.DataFrame, *, max_rows: int | None = None, rest: str = "rows") -> str:
    """Write a frame as HTML. If rows are left out, a text counts the `rest`."""
    first = frame if max_rows is None else frame.head(max_rows)
    columns, rows = PrintedTable.from_frame(first)
    styles = ["" if column.is_numeric else ' class="text"' for column in columns]
    heads = (
        f'<th scope="col"{style}>{escape(column.heading)}</th>' for column, style in zip(columns, styles, strict=True)
    )
    body = "".join(f"<tr>{''.join(_html_cells(row, styles))}</tr>\n" for row in rows)
    more = f"<p>{len(first):,} of {len(frame):,} {escape(rest)}</p>" if len(first) < len(frame) else ""
    head = f"<thead><tr>{''.join(heads)}</tr></thead>"
    return f'<table class="accounting-analytics {NOT_TYPESET}">{head}<tbody>\n{body}</tbody></table>{more}'


def _html_cells(row: Sequence[str], styles: Sequence[str]) -> list[str]:
    """Write the cells of a row. Text in the first cell is a header."""
    styles = [style and _text_style(text) for text, style in zip(row, styles, strict=True)]
    cells = [f"<td{style}>{escape(text)}</td>" for text, style in zip(row, styles, strict=True)]
    if styles and styles[0]:
        cells[0] = f'<th scope="row"{styles[0]}>{escape(row[0])}</th>'
    return cells


def _text_style(text: str) -> str:
    """Return the class of a text, which sets its width and wrapping."""
    width = "short" if len(text) <= _SHORT_TEXT else "long" if len(text) > _LONG_TEXT else ""
    return f' class="{" ".join(filter(None, ["text", width]))}"'


def cell_text(value: Any) -> str:  # noqa: ANN401 (any cell)
    """Format a cell: numbers with separators, dates in ISO 8601, nulls empty."""
    if _is_missing(value):
        return ""
    if isinstance(value, Decimal):
        return format_amount(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, dt.datetime):
        return _day_or_instant(value)
    if hasattr(value, "tolist"):
        return printable(", ".join(map(str, value.tolist())))
    return printable(str(value))


def _day_or_instant(value: dt.datetime) -> str:
    """Format an instant, or a day if it is a naive midnight."""
    if value.tzinfo is None and value.time() == dt.time():
        return value.date().isoformat()
    return value.isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")


def _is_missing(value: Any) -> bool:  # noqa: ANN401 (any cell)
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)  # noqa: PLR0124 (NaN)


def _is_number(value: object) -> bool:
    return (isinstance(value, Decimal | int) and not isinstance(value, bool)) or _is_missing(value)
