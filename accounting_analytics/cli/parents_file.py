"""The file of the option ``--parents``: parents of ledgers, where the service does not show them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    Parents = dict[str, str | None]

_MAX_PATH = 500
_COLUMNS = ["ledger_id", "parent_id"]
_EXPECTED = "a CSV file with the columns ledger_id,parent_id, or a JSON object of ledger id to parent id (null: a root)"


def read_parents(path: Path) -> Parents:
    """Parent id by ledger id, None for a root, from a CSV file, or a JSON object if the name ends in ``.json``.

    Raises
    ------
    InputError
        The file cannot be read, or has another form; the message names the row or the ledger.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        return _from_pairs(_read_json(text) if path.suffix.lower() == ".json" else _read_csv(text))
    except (OSError, ValueError) as error:  # an encoding other than UTF-8, JSON or a name that is not valid
        reason = getattr(error, "strerror", None) or str(error)
    except RecursionError:
        reason = "it is nested too deeply"
    msg = f"--parents {quote(str(path), limit=_MAX_PATH)}: {reason}; expected is {_EXPECTED}"
    raise InputError(msg)


def _from_pairs(pairs: Iterable[tuple[str, str, str | None]]) -> Parents:
    """Collect (place, ledger id, parent id); refuse what could mean two things."""
    parents: Parents = {}
    for place, ledger_id, parent_id in pairs:
        if ledger_id in parents:
            msg = f"{place}: ledger {quote(ledger_id)} occurs more than once"
            raise ValueError(msg)
        if ledger_id == parent_id:
            msg = f"{place}: ledger {quote(ledger_id)} is its own parent"
            raise ValueError(msg)
        parents[ledger_id] = parent_id
    return parents


def _read_csv(text: str) -> Iterator[tuple[str, str, str | None]]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if header != _COLUMNS:
            msg = f"the first row is {quote(','.join(header))}"
            raise ValueError(msg)
        for row in filter(any, rows):
            yield f"row {rows.line_num}", *_read_row([cell.strip() for cell in row], rows.line_num)
    except csv.Error as error:
        msg = f"row {rows.line_num}: {error}"
        raise ValueError(msg) from None


def _read_row(row: list[str], number: int) -> tuple[str, str | None]:
    if len(row) != len(_COLUMNS):
        msg = f"row {number}: it has {len(row)} column(s), not 2"
        raise ValueError(msg)
    ledger_id, parent_id = row
    if not ledger_id:
        msg = f"row {number}: ledger_id is empty"
        raise ValueError(msg)
    return ledger_id, parent_id or None


def _read_json(text: str) -> Iterator[tuple[str, str, str | None]]:
    pairs = json.loads(text, object_pairs_hook=tuple)
    if not isinstance(pairs, tuple):  # of pairs, unlike a JSON array
        msg = "it is not a JSON object"
        raise ValueError(msg)  # noqa: TRY004 (as of JSON that is not valid)
    for ledger_id, parent_id in pairs:
        yield f"ledger {quote(ledger_id)}", ledger_id, _require_id(ledger_id, parent_id)


def _require_id(ledger_id: str, parent_id: Any) -> str | None:  # noqa: ANN401 (any JSON value)
    """Return the parent; refuse an empty id and anything but text and null."""
    if not ledger_id or not (parent_id is None or (isinstance(parent_id, str) and parent_id)):
        msg = f"ledger {quote(ledger_id)}: its parent is {quote(parent_id)}, not an id or null"
        raise ValueError(msg)
    return parent_id
