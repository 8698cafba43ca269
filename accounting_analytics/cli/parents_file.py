"""The file of the option ``--parents``: parents of ledgers, where the service does not show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from accounting_analytics.arguments import to_path
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from pathlib import Path

    Parents = dict[str, str | None]

_EXPECTED = (
    "a CSV file or an Excel workbook with the columns ledger_id and parent_id (empty: a root), or a JSON object of "
    "ledger id to parent id (null: a root)"
)


def read_parents(path: Path) -> Parents:
    """Parent id by ledger id, None for a root, from a sheet, or a JSON object if the name ends in ``.json``."""
    file = to_path(path, "--parents")
    try:
        return _read_json(file) if file.suffix.lower() == ".json" else _read_sheet(file)
    except InputError as error:
        raise InputError(f"--parents: {error}; expected is {_EXPECTED}") from None


def _read_sheet(file: Path) -> Parents:
    """Read the two columns of a sheet; refuse what could mean two things."""
    from accounting_analytics.sheets.reader import Column, read_table

    columns = (Column("ledger_id"), Column("parent_id", may_be_empty=True))
    table = read_table(file, columns, what="a file of parents")
    parents: Parents = {}
    for number, row in table.rows():
        ledger_id, parent_id = row["ledger_id"].strip(), row["parent_id"].strip()
        if reason := _problem(ledger_id, parent_id, parents):
            table.problems.add(reason, number)
        parents[ledger_id] = parent_id or None
    table.problems.refuse()
    return parents


def _problem(ledger_id: str, parent_id: str | None, parents: Parents) -> str:
    """Why a ledger and its parent cannot be used; empty if they can."""
    if ledger_id in parents:
        return f"ledger {quote(ledger_id)} occurs more than once"
    return f"ledger {quote(ledger_id)} is its own parent" if ledger_id == parent_id else ""


def _read_json(file: Path) -> Parents:
    """Read a JSON object of ledger id to parent id."""
    try:
        pairs = json.loads(file.read_text(encoding="utf-8-sig"), object_pairs_hook=tuple)
    except (OSError, ValueError) as error:  # an encoding other than UTF-8, or JSON that is not valid
        raise InputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except RecursionError:
        raise InputError(f"{file} cannot be read: it is nested too deeply") from None
    if not isinstance(pairs, tuple):  # of pairs, unlike a JSON array
        raise InputError(f"{file} is not a JSON object")
    parents: Parents = {}
    for ledger_id, parent_id in pairs:
        reason = _value_problem(ledger_id, parent_id) or _problem(ledger_id, parent_id, parents)
        if reason:
            raise InputError(f"{file}: {reason}")
        parents[ledger_id] = parent_id
    return parents


def _value_problem(ledger_id: str, parent_id: Any) -> str:  # noqa: ANN401 (any JSON value)
    """Why the value of a ledger is not a parent; empty if it is one."""
    is_parent = parent_id is None or (isinstance(parent_id, str) and parent_id)
    return (
        ""
        if ledger_id and is_parent
        else f"ledger {quote(ledger_id)}: its parent is {quote(parent_id)}, not an id or null"
    )
