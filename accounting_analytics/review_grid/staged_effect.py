"""Staged effect: what the staged decisions clear, and how they change the net cash flow of each ledger, exactly."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.review_grid.staged_decisions import StagedChange


class LedgerEffect(NamedTuple):
    """Change of the net cash flow of a ledger in whole minor units, and the transactions that move from or to it."""

    ledger_id: str
    units: int
    transaction_count: int


class StagedEffect:
    """Sums of the staged decisions, kept up to date with each change.

    `units` are the uncategorized parts of the rows, `old` their uncategorized ledgers, `categories` the ids of the
    categories by their numbers.
    """

    def __init__(self, units: Sequence[int], old: Sequence[str], categories: Sequence[str]) -> None:
        self._units, self._old, self._categories = units, old, categories
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self.cleared_rows = 0
        self.cleared_units = 0
        self.all_units = sum(map(abs, units))

    def add(self, change: StagedChange) -> None:
        """Move the rows of a change from their earlier to their new category."""
        columns = (change.rows.tolist(), change.before.tolist(), change.after.tolist())
        for row, before, after in zip(*columns, strict=True):
            self._move(row, before, -1)
            self._move(row, after, 1)

    def _move(self, row: int, category: int, sign: int) -> None:
        """Add a row to the sums of a category, or take it out; rows that are open or skipped stay where they are."""
        if category < 0:
            return
        units = sign * self._units[row]
        self.cleared_rows += sign
        self.cleared_units += sign * abs(self._units[row])
        new, old = self._categories[category], self._old[row]
        self._sums[new] += units
        self._sums[old] -= units
        self._counts[new] += sign
        self._counts[old] += sign

    def ledgers(self) -> Iterator[LedgerEffect]:
        """Yield the ledgers that transactions move from or to, the largest change first."""
        moved = [ledger_id for ledger_id, count in self._counts.items() if count]
        for ledger_id in sorted(moved, key=lambda one: (-abs(self._sums[one]), one)):
            yield LedgerEffect(ledger_id, self._sums[ledger_id], self._counts[ledger_id])

    @property
    def cleared_percent(self) -> int:
        """Part of the money that is cleared, in whole percent rounded down."""
        return 100 if self.all_units == 0 else 100 * self.cleared_units // self.all_units
