"""Tables, diagnoses and JSON on stdout; control characters in text from the books are replaced."""

from __future__ import annotations

import datetime as dt
import json
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from accounting_analytics.messages import printable
from accounting_analytics.money import format_amount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.diagnosis import Diagnosis

_PIPED_WIDTH = 400
_READABLE_WIDTH = 120
_VERDICT_STYLES = {"ok": "green", "warning": "bold yellow", "failed": "bold red", "not checked": "dim"}


def print_table(frame: pd.DataFrame, *, title: str = "") -> None:
    """Print a table for people: numbers right-aligned, missing values empty."""
    table = Table(title=printable(title) if title else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in frame.columns:
        numeric = len(frame) > 0 and frame[name].map(_is_number).all()
        table.add_column(printable(str(name)), justify="right" if numeric else "left", overflow="fold")
    for row in frame.itertuples(index=False, name=None):
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console(file=sys.stdout, highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, markup=False, width=_PIPED_WIDTH)
    console.print(table)


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print a diagnosis in the width of the terminal, up to 120 columns; verdicts in colour on a terminal."""
    console = Console(file=sys.stdout, highlight=False, markup=False)
    for line in diagnosis.explain(min(console.width, _READABLE_WIDTH)).splitlines():
        text = Text(line)
        for verdict, style in _VERDICT_STYLES.items():
            text.highlight_regex(rf"^{verdict}\b", style)
        console.print(text, soft_wrap=True)


def print_json(content: pd.DataFrame | Mapping[str, Any]) -> None:
    """Print a table (a list of objects) or a mapping as JSON; amounts are text, so that no digit is lost."""
    json_value = _objects(content) if isinstance(content, pd.DataFrame) else content
    json.dump(json_value, sys.stdout, default=_json_value, ensure_ascii=False, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def _objects(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(name): None if _is_missing(value) else value for name, value in zip(frame.columns, row, strict=True)}
        for row in frame.itertuples(index=False, name=None)
    ]


def _json_value(value: object) -> Any:  # noqa: ANN401 (any JSON value)
    if isinstance(value, pd.DataFrame):
        return _objects(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.date):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _is_missing(value: Any) -> bool:  # noqa: ANN401 (any cell)
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)  # noqa: PLR0124 (NaN)


def _is_number(value: object) -> bool:
    return isinstance(value, Decimal | int) or _is_missing(value)


def _cell(value: object) -> str:
    if _is_missing(value):
        return ""
    if isinstance(value, Decimal):
        return format_amount(value)
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if hasattr(value, "tolist"):
        return printable(", ".join(map(str, value.tolist())))
    return printable(str(value))
