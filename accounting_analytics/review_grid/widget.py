"""The widget of a review: it sends the record to every browser that shows it, and does what these ask for."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anywidget
import msgspec
import numpy as np
import traitlets

from accounting_analytics.errors import AccountingAnalyticsError, InputError
from accounting_analytics.messages import printable
from accounting_analytics.review_grid.columns import columns_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.review_grid.record import ReviewRecord, Rows, StagedChange

_SCRIPTS = ("staged_rows.js", "shown_rows.js", "category_box.js", "row_elements.js", "grid_parts.js", "review_grid.js")
"""Parts of the script, in this order; none imports anything."""


class Action(msgspec.Struct, frozen=True):
    """What a browser asks for: an action on groups and single rows by their numbers.

    `request` is a number that the answer repeats.
    """

    action: Literal["assign", "accept", "skip", "clear", "undo", "redo", "rule", "state"]
    request: int = 0
    groups: list[int] = []
    rows: list[int] = []
    category: int = -1


class ReviewWidget(anywidget.AnyWidget):
    """Grid of a review in JupyterLab. All views, and a page that is loaded again, read the record of the kernel."""

    _columns = traitlets.Bytes().tag(sync=True)
    _staged = traitlets.Bytes().tag(sync=True, to_json=lambda _, widget: widget.staged_bytes())
    _state = traitlets.Dict().tag(sync=True, to_json=lambda _, widget: widget.state())
    _view = traitlets.Unicode("{}").tag(sync=True)

    def __init__(self, record: ReviewRecord, rules_file: Path) -> None:
        self._record, self._rules_file = record, rules_file
        self._esm, self._css = "\n".join(map(_file, _SCRIPTS)), _file("review_grid.css")
        super().__init__(_columns=columns_json(record))
        record.listeners.append(self._send_change)
        self.on_msg(self._receive)

    def staged_bytes(self) -> bytes:
        """Return what is chosen for each row, as 32-bit numbers."""
        return self._record.staged.chosen.astype("<i4").tobytes()

    def state(self) -> dict[str, Any]:
        """Return what is cleared, the effect on the report, and what can be undone."""
        record, effect = self._record, self._record.effect
        return {
            "revision": record.revision,
            "undo": printable(record.staged.last_done),
            "redo": printable(record.staged.last_undone),
            "decisions": len(record.staged),
            "cleared": f"{effect.cleared_rows:,}",
            "rows": f"{len(record.rows):,}",
            "cleared_amount": record.amount(effect.cleared_units),
            "amount": record.amount(effect.all_units),
            "percent": effect.cleared_percent,
            "effect": [
                [
                    printable(record.chart.names.path(one.ledger_id)),
                    record.amount(one.units),
                    f"{one.transaction_count:,}",
                ]
                for one in effect.ledgers()
            ],
        }

    def _send_change(self, change: StagedChange) -> None:
        buffers = [change.rows.astype("<i4").tobytes(), change.after.astype("<i4").tobytes()]
        self.send({"kind": "changed", "state": self.state()}, buffers)

    def _receive(self, _: object, content: object, buffers: Sequence[object]) -> None:  # noqa: ARG002 (of ipywidgets)
        """Do what a browser asks for; an error of the package is the answer to it."""
        action = msgspec.convert(content, Action)
        try:
            text, is_error = self._act(action), False
        except AccountingAnalyticsError as error:
            text, is_error = str(error), True
        self.send({"kind": "answer", "request": action.request, "text": printable(text, " "), "error": is_error})

    def _act(self, action: Action) -> str:
        record = self._record
        if action.action == "state":
            self.send({"kind": "all", "state": self.state()}, [self.staged_bytes()])
            return ""
        if action.action in {"undo", "redo"}:
            return record.undo() if action.action == "undo" else record.redo()
        rows = self._rows(action)
        if action.action == "rule":
            return record.make_rule(int(rows[0]), self._rules_file)
        if action.action == "assign":
            if not 0 <= action.category < len(record.categories):
                raise InputError("this category is not in the ledgers of the review")
            return record.assign(rows, action.category)
        actions = {"accept": record.accept, "skip": record.skip, "clear": record.clear}
        return actions[action.action](rows)

    def _rows(self, action: Action) -> Rows:
        """Return the rows of the groups and the single rows of an action, each once."""
        groups, count = self._record.rows.groups, len(self._record.rows)
        if not all(0 <= one < len(groups) for one in action.groups) or not all(0 <= one < count for one in action.rows):
            raise InputError("these rows are not of this review: load the page again")
        found = [groups[number].rows for number in action.groups]
        rows = np.unique(np.concatenate([*found, np.asarray(action.rows, dtype=np.int64)]))
        if not len(rows):
            raise InputError("no row is ticked")
        return rows


@cache
def _file(name: str) -> str:
    """Text of a file of this room."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
