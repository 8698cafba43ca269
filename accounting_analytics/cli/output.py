"""What commands print: results to stdout, as a table or as JSON; messages to stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd


def print_frame(frame: pd.DataFrame, *, as_json: bool, title: str = "", columns: list[str] | None = None) -> None:
    """Print a table; JSON has all its columns, the one for humans those that matter most."""
    from accounting_analytics.cli.terminal import print_json, print_table

    if as_json:
        print_json(frame)
    else:
        print_table(frame[columns] if columns else frame, title=title)


def print_mapping(mapping: dict[str, Any], *, as_json: bool) -> None:
    """Print one thing with names: JSON, or a line each."""
    from accounting_analytics.cli.terminal import print_json

    if as_json:
        print_json(mapping)
    else:
        for name, value in mapping.items():
            if value == ():
                continue
            typer.echo(f"{name}: {', '.join(value) if isinstance(value, tuple) else value}")


def say_notes(frame: pd.DataFrame) -> None:
    """Say what a table says of itself."""
    for note in frame.attrs.get("notes", ()):
        say(note)


def say(message: str) -> None:
    """Say a line on stderr; text from the books never steers the terminal."""
    from accounting_analytics.messages import printable

    typer.echo(printable(message), err=True)
