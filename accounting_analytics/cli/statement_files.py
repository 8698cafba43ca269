"""Files of a statement: a workbook, a CSV file, or a page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from accounting_analytics.atomic_files import write_text
from accounting_analytics.errors import InputError
from accounting_analytics.messages import printable

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.statements import Statement

_SUFFIXES = (".xlsx", ".csv", ".html")
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}</style>
</head>
<body>
{body}
</body>
</html>
"""


def require_writable(path: Path) -> None:
    """Refuse a file whose format or folder does not exist, before anything is loaded."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"--output {path} must end in .xlsx, .csv or .html; nothing was loaded")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--output: the folder {path.absolute().parent} does not exist; nothing was loaded")


def write_statement(statement: Statement, path: Path) -> None:
    """Write a statement in the format of the file's name."""
    match path.suffix.lower():
        case ".xlsx":
            statement.to_excel(path)
        case ".csv":
            statement.to_csv(path)
        case _:
            page = _PAGE.format(title=escape(printable(statement.heading())), body=statement._repr_html_())
            write_text(path, page)
