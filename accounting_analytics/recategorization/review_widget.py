"""The widget of a review: every browser that shows it has the record of the kernel, and asks for changes of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anywidget
import msgspec
import numpy as np
import traitlets

from accounting_analytics.core.errors import AccountingAnalyticsError, InputError
from accounting_analytics.core.messages import count_of, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.recategorization.review_record import ReviewRecord, Rows

_SCRIPTS = ("rows.js", "elements.js", "review_grid.js")
"""Parts of the script, in this order; none imports anything."""


class Action(msgspec.Struct, frozen=True):
    """What a browser asks for: an action on groups and single rows by their numbers.

    `request` is a number that the answer repeats.
    """

    action: Literal["assign", "accept", "skip", "clear", "undo", "redo", "rule"]
    request: int = 0
    groups: list[int] = []
    rows: list[int] = []
    category: str = ""


class ReviewWidget(anywidget.AnyWidget):
    """Grid of a review in JupyterLab. All views, and a page that is loaded again, show the record of the kernel."""

    _columns = traitlets.Dict().tag(sync=True)
    _chosen = traitlets.Bytes().tag(sync=True)
    _state = traitlets.Dict().tag(sync=True)
    _view = traitlets.Unicode("{}").tag(sync=True)

    def __init__(self, record: ReviewRecord, rules_file: Path) -> None:
        self._record, self._rules_file = record, rules_file
        self._esm, self._css = "\n".join(map(_file, _SCRIPTS)), _file("review_grid.css")
        super().__init__(_columns=columns_of(record), _chosen=self._chosen_bytes(), _state=state_of(record))
        record.listeners.append(self._show_change)
        self.on_msg(self._receive)

    def _chosen_bytes(self) -> bytes:
        return self._record.chosen.astype("<i4").tobytes()

    def _show_change(self) -> None:
        with self.hold_sync():  # one message
            self._chosen, self._state = self._chosen_bytes(), state_of(self._record)

    def _receive(self, _: object, content: object, __: object) -> None:
        """Do what a browser asks for; an error of the package is the answer to it."""
        action = msgspec.convert(content, Action)
        try:
            text, is_error = self._act(action), False
        except AccountingAnalyticsError as error:
            text, is_error = str(error), True
        self.send({"request": action.request, "text": printable(text, " "), "error": is_error})

    def _act(self, action: Action) -> str:
        record = self._record
        if action.action in {"undo", "redo"}:
            return record.undo() if action.action == "undo" else record.redo()
        rows = self._rows(action)
        if action.action == "rule":
            return record.make_rule(rows, self._rules_file)
        if action.action == "assign":
            return record.assign(rows, action.category)
        actions = {"accept": record.accept, "skip": record.skip, "clear": record.clear}
        return actions[action.action](rows)

    def _rows(self, action: Action) -> Rows:
        """Return the rows of the groups and the single rows of an action, each once."""
        groups, count = self._record.groups, len(self._record.rows)
        if not all(0 <= one < len(groups) for one in action.groups) or not all(0 <= one < count for one in action.rows):
            raise InputError("these rows are not of this review: load the page again")
        found = [groups[number].rows for number in action.groups]
        rows = np.unique(np.concatenate([*found, np.asarray(action.rows, dtype=np.int64)]))
        if not len(rows):
            raise InputError("no row is ticked")
        return rows


def columns_of(record: ReviewRecord) -> dict[str, Any]:
    """Return what never changes: categories, groups, transactions and proposals; amounts are exact minor units."""
    rows, names = record.rows, record.chart.names
    splits = zip(record.is_split.tolist(), rows["opposing_ledger_ids"], strict=True)
    return {
        "scale": record.scale,
        "categories": [[printable(names.name(one)), printable(names.path(one)), one] for one in record.categories],
        "groups": {
            "kind": [group.kind for group in record.groups],
            "merchant": _texts(group.merchant for group in record.groups),
            "start": [*(group.start for group in record.groups), len(rows)],
        },
        "rows": {
            "account": _texts(rows["ledger_name"].fillna(rows["ledger_id"])),
            "other": _texts(map(names.name, rows["counterpart_ledger_id"].fillna(""))),
            "old": _texts(map(names.name, rows["category_ledger_id"])),
            "day": record.days(),
            "description": _texts(rows["description"]),
            "split": _texts(", ".join(map(names.name, ids.split("|"))) if is_split else "" for is_split, ids in splits),
            "units": list(map(str, record.units)),
            "proposed": record.proposed_numbers.tolist(),
            "why": _texts(map(record.reason, range(len(rows)))),
        },
        "notes": _texts(record.notes),
    }


def _texts(texts: Iterable[str]) -> list[str]:
    """Texts without control characters."""
    return list(map(printable, texts))


def state_of(record: ReviewRecord) -> dict[str, Any]:
    """Return what is cleared, the effect on the report, and what can be undone."""
    effect = record.effect()
    return {
        "undo": printable(record.done[-1].label) if record.done else "",
        "redo": printable(record.undone[-1].label) if record.undone else "",
        "cleared": f"Cleared: {', '.join(record.cleared(effect))}, {count_of(len(record.done), 'decision')}",
        "effect": [
            [printable(record.chart.names.path(ledger_id)), record.amount(units), f"{count:,}"]
            for ledger_id, (units, count) in effect.ledgers.items()
        ],
    }


@cache
def _file(name: str) -> str:
    """Text of a file of this room."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
