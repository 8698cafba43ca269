"""Tables and diagnoses on stdout; control characters in text from the books are replaced."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from accounting_analytics.column_conversion import exact_floats
from accounting_analytics.html_tables import PrintedTable, cell_text
from accounting_analytics.messages import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from accounting_analytics.diagnosis import Diagnosis

_PIPED_WIDTH = 400
_READABLE_WIDTH = 120
_WIDEST = 10_000
_DESCRIPTION = "description"
_PLAIN_SIGNS = str.maketrans({"─": "-", "═": "=", "\N{EN DASH}": "-"})
_VERDICT_STYLES = {"ok": "green", "warning": "bold yellow", "failed": "bold red", "not checked": "dim"}


def print_table(frame: pd.DataFrame, *, title: str = "", optional: Sequence[str] = ()) -> list[str]:
    """Print a table for people: numbers right-aligned, missing values empty.

    Where the table is wider than the terminal, `optional` columns are left out, in their order, until it fits; then
    descriptions are cut so that a row is one line. Returns the columns that were left out.
    """
    console = Console(file=sys.stdout, highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, markup=False, width=_PIPED_WIDTH)
    frame = exact_floats(frame)
    left_out: list[str] = []
    while len(left_out) < len(optional) and _excess_width(frame.drop(columns=left_out), console, title) > 0:
        left_out.append(optional[len(left_out)])
    shown = frame.drop(columns=left_out)
    excess = _excess_width(shown, console, title)
    if excess > 0 and console.is_terminal and _DESCRIPTION in shown:
        shown = shown.assign(**{_DESCRIPTION: _cut(shown[_DESCRIPTION], excess)})
    console.print(_table(shown, title))
    return left_out


def terminal_width() -> int:
    """Width of the terminal; where stdout is a file or a pipe, one in which tables need not fold."""
    console = Console(file=sys.stdout)
    return console.width if console.is_terminal else _PIPED_WIDTH


def print_text(text: str) -> None:
    """Print a text; where the encoding of stdout has no lines and dashes, with signs that all encodings have."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = text.translate(_PLAIN_SIGNS)
    sys.stdout.write(f"{text}\n")


def _excess_width(frame: pd.DataFrame, console: Console, title: str) -> int:
    """Columns of the terminal that a table lacks for one line per row; negative if it fits."""
    options = console.options.update(max_width=_WIDEST)
    return console.measure(_table(frame, title), options=options).maximum - console.width


def _cut(texts: pd.Series[str], excess: int) -> pd.Series[str]:
    """Descriptions that need `excess` less width, but never less than their heading has."""
    cells = texts.map(cell_text)
    limit = max(len(_DESCRIPTION), int(cells.map(len).max()) - excess)
    return cells.map(lambda text: shorten(text, limit=limit))


def _table(frame: pd.DataFrame, title: str) -> Table:
    table = Table(title=printable(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    columns, rows = PrintedTable.from_frame(frame)
    for column in columns:
        table.add_column(column.heading, justify="right" if column.is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print a diagnosis in the width of the terminal, up to 120 columns; verdicts in colour on a terminal."""
    console = Console(file=sys.stdout, highlight=False, markup=False)
    for line in diagnosis.explain(min(console.width, _READABLE_WIDTH)).splitlines():
        text = Text(line)
        for verdict, style in _VERDICT_STYLES.items():
            text.highlight_regex(rf"^{verdict}\b", style)
        console.print(text, soft_wrap=True)
