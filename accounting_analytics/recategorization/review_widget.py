"""The widget of a review: every browser that shows it has the record of the kernel, and asks for changes of it."""

from __future__ import annotations

from array import array
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anywidget
import msgspec
import traitlets

from accounting_analytics.core.errors import AccountingAnalyticsError, InputError
from accounting_analytics.core.messages import count_of, printable
from accounting_analytics.recategorization.review_record import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.recategorization.review_record import ReviewRecord

_SCRIPTS = ("rows.js", "elements.js", "review_grid.js")
"""Parts of the script, in this order; none imports anything."""


class Action(msgspec.Struct, frozen=True):
    """What a browser asks for: an action on groups and transactions by their ids.

    `request` is a number that the answer repeats.
    """

    action: Literal["assign", "accept", "skip", "clear", "undo", "redo", "rule"]
    request: int = 0
    ids: list[str] = []
    category: str = ""


class ReviewWidget(anywidget.AnyWidget):
    """Grid of a review in JupyterLab. All views, and a page that is loaded again, show the record of the kernel."""

    _columns = traitlets.Dict().tag(sync=True)
    _chosen = traitlets.Bytes().tag(sync=True)
    _state = traitlets.Dict().tag(sync=True)
    _view = traitlets.Unicode("{}").tag(sync=True)

    def __init__(self, review: ReviewRecord) -> None:
        self._review = review
        self._numbers = {one: number for number, one in enumerate(review.chart.possible())} | {SKIPPED: -2}
        self._esm, self._css = "\n".join(map(_file, _SCRIPTS)), _file("review_grid.css")
        proposed = {row: one.category for row, one in review.proposed.items()}
        columns = columns_of(review, self._in_numbers(proposed).tolist())
        super().__init__(_columns=columns, _chosen=self._in_numbers(review.chosen).tobytes(), _state=state_of(review))
        review.listeners.append(self._show_change)
        self.on_msg(self._receive)

    def _in_numbers(self, categories: dict[int, str]) -> array[int]:
        """Return the number of the category of each row; -1 where it has none, -2 where it is skipped."""
        rows = range(len(self._review.units))
        return array("i", [self._numbers[categories[row]] if row in categories else -1 for row in rows])

    def _show_change(self) -> None:
        with self.hold_sync():  # one message
            self._chosen = self._in_numbers(self._review.chosen).tobytes()
            self._state = state_of(self._review)

    def _receive(self, _: object, content: object, __: object) -> None:
        """Do what a browser asks for; an error of the package is the answer to it."""
        action = msgspec.convert(content, Action)
        try:
            text, is_error = self._act(action), False
        except AccountingAnalyticsError as error:
            text, is_error = str(error), True
        self.send({"request": action.request, "text": printable(text, " "), "error": is_error})

    def _act(self, action: Action) -> str:
        review = self._review
        if action.action in {"undo", "redo"}:
            return review.undo() if action.action == "undo" else review.redo()
        if not action.ids:
            raise InputError("no row is ticked")
        if action.action == "rule":
            return review.make_rule(action.ids[0])
        if action.action == "assign":
            return review.assign_but_splits(action.ids, action.category)
        return {"accept": review.accept, "skip": review.skip, "clear": review.clear}[action.action](action.ids)


def columns_of(review: ReviewRecord, proposed: list[int]) -> dict[str, Any]:
    """Return what never changes: categories, groups, transactions and proposals; amounts are exact minor units."""
    rows, names = review.rows, review.chart.names
    first = rows.iloc[[group[0] for group in review.groups.values()]]
    splits = zip(rows["kind"], rows["opposing_ledger_ids"], strict=True)
    return {
        "scale": review.scale,
        "categories": [
            [printable(names.name(one)), printable(names.path(one)), one] for one in review.chart.possible()
        ],
        "groups": {
            "id": list(review.groups),
            "kind": first["kind"].tolist(),
            "merchant": _texts(first["merchant"]),
            "start": [*first.index.tolist(), len(rows)],
        },
        "rows": {
            "id": rows["transaction_id"].tolist(),
            "account": _texts(rows["ledger_name"].fillna(rows["ledger_id"])),
            "other": _texts(map(names.name, rows["counterpart_ledger_id"].fillna(""))),
            "old": _texts(map(names.name, rows["category_ledger_id"])),
            "day": review.days(),
            "description": _texts(rows["description"]),
            "split": _texts(
                ", ".join(map(names.name, ids.split("|"))) if kind == "split" else "" for kind, ids in splits
            ),
            "units": list(map(str, review.units)),
            "proposed": proposed,
            "why": _texts(map(review.reason, range(len(rows)))),
        },
        "notes": _texts(review.notes),
    }


def _texts(texts: Iterable[str]) -> list[str]:
    """Texts without control characters."""
    return list(map(printable, texts))


def state_of(review: ReviewRecord) -> dict[str, Any]:
    """Return what is cleared, the effect on the report, and what can be undone."""
    return {
        "undo": printable(review.done[-1][0]) if review.done else "",
        "redo": printable(review.undone[-1][0]) if review.undone else "",
        "cleared": f"Cleared: {', '.join(review.cleared())}, {count_of(len(review.done), 'decision')}",
        "effect": [
            [printable(review.chart.names.path(ledger_id)), review.amount(units), f"{count:,}"]
            for ledger_id, (units, count) in review.effect().items()
        ],
    }


@cache
def _file(name: str) -> str:
    """Text of a file of this room."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
