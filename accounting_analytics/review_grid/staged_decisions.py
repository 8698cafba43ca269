"""Staged decisions: the category that is chosen for each row, with undo and redo of every change."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]
    Choices = npt.NDArray[np.int32]

OPEN, SKIPPED = -1, -2
"""In place of the number of a category: a row is not decided yet, or is left as it is."""


class StagedChange(NamedTuple):
    """What one decision changed, and how people name it."""

    rows: Rows
    before: Choices
    after: Choices
    label: str


class StagedDecisions:
    """The chosen category of each row by its number, and the decisions that chose them.

    `changed` is called with each change, also with those of undo and redo.
    """

    def __init__(self, row_count: int, changed: Callable[[StagedChange], None]) -> None:
        self._chosen: Choices = np.full(row_count, OPEN, dtype=np.int32)
        self._done: list[StagedChange] = []
        self._undone: list[StagedChange] = []
        self._changed = changed

    @property
    def chosen(self) -> Choices:
        """Number of the category of each row, ``OPEN`` or ``SKIPPED``."""
        return self._chosen

    def __len__(self) -> int:
        """How many decisions were made, and not undone."""
        return len(self._done)

    @property
    def last_done(self) -> str:
        """Label of the decision that :meth:`undo` takes back; empty if there is none."""
        return self._done[-1].label if self._done else ""

    @property
    def last_undone(self) -> str:
        """Label of the decision that :meth:`redo` makes again; empty if there is none."""
        return self._undone[-1].label if self._undone else ""

    def choose(self, rows: Rows, categories: Choices | int, label: str) -> int:
        """Choose categories for rows as one decision; return how many rows change."""
        after = np.broadcast_to(np.asarray(categories, dtype=np.int32), rows.shape)
        differs = self._chosen[rows] != after
        if not differs.any():
            return 0
        change = StagedChange(rows[differs], self._chosen[rows[differs]], after[differs].copy(), label)
        self._done.append(change)
        self._undone.clear()
        self._apply(change)
        return len(change.rows)

    def undo(self) -> bool:
        """Take back the last decision, if there is one."""
        if not self._done:
            return False
        change = self._done.pop()
        self._undone.append(change)
        self._apply(change._replace(before=change.after, after=change.before))
        return True

    def redo(self) -> bool:
        """Make the decision again that was taken back last, if there is one."""
        if not self._undone:
            return False
        change = self._undone.pop()
        self._done.append(change)
        self._apply(change)
        return True

    def _apply(self, change: StagedChange) -> None:
        self._chosen[change.rows] = change.after
        self._changed(change)
