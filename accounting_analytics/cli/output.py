"""Output of commands: results to stdout, as a table or as JSON; messages to stderr."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

import accounting_analytics as aa
from accounting_analytics.core.messages import count_of, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from accounting_analytics.core.results import Result
    from accounting_analytics.reports.statements.statement import Statement

_PIPED_WIDTH = 400
_DESCRIPTION = "description"
_TIME_FORMAT = "%Y-%m-%d %H:%M"
_MAX_NAMES = 5


def print_result(result: Result, *, as_json: bool) -> None:
    """Print the text or the JSON of a result."""
    print(result.to_json() if as_json else result.explain())


def print_statement(statement: Statement, *, as_json: bool) -> None:
    """Print a statement in the width of the terminal, or as JSON."""
    from accounting_analytics.reports.statements.text import statement_text

    print(statement.to_json() if as_json else statement_text(statement, console().width))


def print_json(content: pd.DataFrame | Mapping[str, Any]) -> None:
    """Print a mapping or a table as JSON."""
    from accounting_analytics.core.results import to_json_text

    print(to_json_text(content))


def print_mapping(mapping: dict[str, Any], *, as_json: bool) -> None:
    """Print a mapping as JSON, or as one text line for each name, without empty tuples."""
    if as_json:
        print_json(mapping)
        return
    for name, value in mapping.items():
        if value != ():
            print(f"{name}: {', '.join(value) if isinstance(value, tuple) else value}")


def print_records(records: Sequence[Any], *, as_json: bool, optional: Sequence[str] = ()) -> None:
    """Print dataclasses as a table. `optional` columns are left out if the table is too wide."""
    import pandas as pd

    frame = pd.DataFrame([asdict(record) for record in records], dtype=object).drop(columns="pk", errors="ignore")
    print_table(frame, as_json=as_json, optional=optional)
    if not (records or as_json):
        print_message("no entries")


def print_table(
    frame: pd.DataFrame,
    columns: Mapping[str, str] | None = None,
    *,
    as_json: bool = False,
    limit: int | None = None,
    rest: str = "rows; --all prints every row",
    optional: Sequence[str] = (),
    piped_width: int = _PIPED_WIDTH,
) -> None:
    """Print the first rows of a table, or all of it as JSON.

    A last text line counts rows that were left out, and names them `rest`. Numbers are right-aligned, missing values
    are empty, and control characters are replaced. If the table is wider than the terminal, columns of ids and then the
    `optional` columns are left out, in their order, until it fits. Then descriptions are cut, so that a row is one text
    line.
    """
    if as_json:
        print_json(frame)
    if as_json or frame.empty:
        return
    headings = {str(name): str(name) for name in frame} if columns is None else columns
    present = [name for name in headings if name in frame]
    shown = frame[present].iloc[:limit].rename(columns=headings)
    ids = [name for name in map(str, shown) if name.endswith("_id") and name not in optional]
    left_out: list[str] = []
    terminal = console(piped_width)
    unlimited = terminal.options.update(max_width=10_000)
    for name in [*ids, *optional]:
        if terminal.measure(_rich_table(shown), options=unlimited).maximum <= terminal.width:
            break
        left_out.append(name)
        shown = shown.drop(columns=name)
    terminal.print(_rich_table(shown))
    if left_out:
        print(f"without {', '.join(left_out)}: wider than {terminal.width} columns; --json prints every column")
    if len(shown) < len(frame):
        print(f"{len(shown):,} of {len(frame):,} {rest}")


def _rich_table(frame: pd.DataFrame) -> Table:
    """Lay out a table with one text line for each row. Only descriptions are cut."""
    from rich import box
    from rich.table import Column, Table
    from rich.text import Text

    from accounting_analytics.core.text_and_html_tables import PrintedTable

    printed = PrintedTable.from_frame(frame)
    columns = [
        Column(
            column.heading,
            justify="right" if column.is_numeric else "left",
            no_wrap=column.heading != _DESCRIPTION,
            min_width=len(column.heading),
        )
        for column in printed.columns
    ]
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in printed.rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    return table


def console(piped_width: int = _PIPED_WIDTH) -> Console:
    """Return a console as wide as the terminal, or a wide console for files and pipes."""
    from rich.console import Console

    terminal = Console(highlight=False, markup=False)
    return terminal if terminal.is_terminal else Console(highlight=False, markup=False, width=piped_width)


def print_transactions(
    frame: pd.DataFrame,
    columns: dict[str, str],
    *,
    summary: str,
    time_zone: str,
    limit: int | None,
    piped_width: int = _PIPED_WIDTH,
) -> None:
    """Print a summary and the first rows, in local time."""
    from accounting_analytics.core.periods import zone

    times = frame["datetime"].dt.tz_convert(zone(time_zone)).dt.strftime(_TIME_FORMAT)
    print(f"{summary}; times are {time_zone}" if len(frame) else summary)
    print_table(frame.assign(datetime=times), {"datetime": "time", **columns}, limit=limit, piped_width=piped_width)


def count_names(names: Iterable[str]) -> str:
    """Count names, the most frequent first: ``12 Meals, 3 Rent and 4 in 2 more``."""
    counts = Counter(names).most_common()
    listed = ", ".join(f"{count:,} {shorten(printable(name), limit=30)}" for name, count in counts[:_MAX_NAMES])
    others = counts[_MAX_NAMES:]
    return f"{listed} and {sum(count for _, count in others):,} in {len(others)} more" if others else listed


def count_uncategorized(rows: pd.DataFrame) -> str:
    """Count the transactions of a queue, in which a transaction with two uncategorized parts has two rows."""
    return count_of(rows["transaction_id"].nunique(), "uncategorized transaction")


def print_notes(frame_or_result: object, *, without: str = "") -> None:
    """Print notes on stderr, except the note `without`, which the result already shows."""
    for note in aa.notes(frame_or_result):
        if note != without:
            print_note(note)


@cache
def print_note(note: str) -> None:
    """Print a note on stderr once, although several tables may have the note."""
    print_message(note)


def print_message(message: str) -> None:
    """Print a text line on stderr, without control characters."""
    print(printable(message), file=sys.stderr)


def command_line(*arguments: object, **options: object) -> str:
    """Write a command for a shell, with all options that have a value."""
    words = ["accounting-analytics", *map(str, arguments)]
    for name, value in options.items():
        if value or type(value) is int:  # zero is a value
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)
