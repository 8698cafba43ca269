"""What commands print: results to stdout, as a table or as JSON; messages to stderr."""

from __future__ import annotations

import shlex
import sys
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from accounting_analytics.statements import Statement

MAX_ROWS = 10
"""Rows that a command prints by default: with heading and messages they fit a terminal of 24 lines."""


def print_frame(
    frame: pd.DataFrame,
    *,
    as_json: bool,
    title: str = "",
    columns: list[str] | None = None,
    optional: Sequence[str] = (),
) -> None:
    """Print a table with the given columns, or JSON with all of them.

    The `optional` columns are left out, in their order, where the terminal is too narrow.
    """
    if as_json:
        print_json(frame)
    else:
        _print_fitting(frame[columns] if columns else frame, optional, title)


def print_first_rows(
    frame: pd.DataFrame,
    columns: dict[str, str],
    limit: int | None,
    *,
    rest: str = "rows; --all prints every row",
    optional: Sequence[str] = (),
) -> None:
    """Print the first rows of a table, all of them without a `limit`, and how many of the `rest` were left out.

    Headings of ids, and then the `optional` ones, are left out where the terminal is too narrow.
    """
    if frame.empty:
        return
    first = frame[list(columns)] if limit is None else frame[list(columns)].head(limit)
    ids = [heading for heading in columns.values() if heading.endswith("_id")]
    _print_fitting(first.rename(columns=columns), [*ids, *optional])
    if len(first) < len(frame):
        typer.echo(f"{len(first):,} of {len(frame):,} {rest}")


def print_json(content: pd.DataFrame | Mapping[str, Any]) -> None:
    """Print a mapping or a table as JSON."""
    from accounting_analytics.results import to_json_text

    sys.stdout.write(f"{to_json_text(content)}\n")


def print_mapping(mapping: dict[str, Any], *, as_json: bool) -> None:
    """Print a mapping as JSON, or one line per name without empty tuples."""
    if as_json:
        print_json(mapping)
        return
    for name, value in mapping.items():
        if value != ():
            typer.echo(f"{name}: {', '.join(value) if isinstance(value, tuple) else value}")


def print_notes(frame: pd.DataFrame, *, without: str = "") -> None:
    """Print the notes of a table on stderr, but for one that stands on the result."""
    for note in frame.attrs.get("notes", ()):
        if note != without:
            print_note(note)


@cache
def print_note(note: str) -> None:
    """Print a note on stderr, once in a command: the age of local books is a note of each of their tables."""
    print_message(note)


def print_message(message: str) -> None:
    """Print a line on stderr, without control characters."""
    from accounting_analytics.messages import printable

    typer.echo(printable(message), err=True)


def command_line(*arguments: object, **options: object) -> str:
    """Text of a command to copy into a shell, with the options that have a value."""
    words = ["accounting-analytics", *map(str, arguments)]
    for name, value in options.items():
        if value:
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


def print_rows(rows: Sequence[Any], *, as_json: bool, optional: Sequence[str] = ()) -> None:
    """Print dataclasses as a table, without internal keys, and `optional` columns where there is width for them."""
    import pandas as pd

    public = [{field.name: getattr(row, field.name) for field in fields(row) if field.name != "pk"} for row in rows]
    frame = pd.DataFrame(public, dtype=object)
    if public or as_json:
        print_frame(frame, as_json=as_json, optional=optional)
    else:
        print_message("no entries")


def print_statement(statement: Statement, *, as_json: bool) -> None:
    """Print a statement in the width of the terminal, or as JSON."""
    from accounting_analytics.cli.terminal_tables import print_text, terminal_width
    from accounting_analytics.statements.terminal_text import statement_text

    if as_json:
        typer.echo(statement.to_json())
    else:
        print_text(statement_text(statement, terminal_width()))


def _print_fitting(frame: pd.DataFrame, optional: Sequence[str], title: str = "") -> None:
    """Print a table, and which optional columns were left out because the terminal is too narrow for them."""
    from accounting_analytics.cli.terminal_tables import print_table

    if left_out := print_table(frame, title=title, optional=optional):
        typer.echo(f"without {', '.join(left_out)}: the terminal is too narrow; --json prints every column")
