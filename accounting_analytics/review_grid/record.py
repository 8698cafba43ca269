"""The record of a review: what is proposed and staged for each row, and the actions that change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.decided_by_hand import BY_HAND
from accounting_analytics.categorization.new_rule import add_rule
from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.messages import quote
from accounting_analytics.money import format_amount, from_minor_units
from accounting_analytics.review_grid.rows import ReviewedProposals, ReviewedRows
from accounting_analytics.review_grid.staged_decisions import OPEN, SKIPPED, StagedDecisions
from accounting_analytics.review_grid.staged_effect import StagedEffect
from accounting_analytics.schemas import Ledgers, Proposals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.review_grid.rows import Group
    from accounting_analytics.review_grid.staged_decisions import Rows, StagedChange


class ReviewRecord:
    """The rows of a queue with what is proposed and staged for each; an action returns a sentence about what it did."""

    def __init__(self, queue: pd.DataFrame, ledgers: pd.DataFrame, proposals: Iterable[pd.DataFrame]) -> None:
        self._queue = queue
        self.rows = ReviewedRows.from_queue(queue)
        self.ledgers = Ledgers.checked(ledgers)
        self.chart = Categories(self.ledgers, set(self.rows.frame["category_ledger_id"]))
        self.categories = self.chart.possible()
        self.numbers = {ledger_id: number for number, ledger_id in enumerate(self.categories)}
        self.proposals, self.notes = ReviewedProposals.without_rows(len(self.rows)), list(self.rows.exact.notes)
        for frame in proposals:
            self._add_proposals(frame)
        self.staged = StagedDecisions(len(self.rows), self._changed)
        self.effect = StagedEffect(self.rows.units, self.rows.frame["category_ledger_id"].tolist(), self.categories)
        self.revision = 0
        self.listeners: list[Callable[[StagedChange], None]] = []

    def _add_proposals(self, frame: pd.DataFrame) -> None:
        self.proposals, absent = self.proposals.with_frame(frame, self.rows, self.ledgers, self.numbers)
        if absent:
            self.notes.append(f"{absent:,} of {len(frame):,} proposal(s) fit no transaction of the queue.")

    def _changed(self, change: StagedChange) -> None:
        self.revision += 1
        self.effect.add(change)
        for listener in self.listeners:
            listener(change)

    def assign(self, rows: Rows, category: int) -> str:
        """Choose one category for rows; splits keep the category that is proposed for them, or none."""
        is_split = self.rows.is_split[rows]
        free, name = rows[~is_split], self.category_name(category)
        count = self.staged.choose(free, category, f"{name} for {len(free):,} transaction(s)")
        kept = f" {int(is_split.sum()):,} split transaction(s) stay as they are." if is_split.any() else ""
        if not count:
            return f"Nothing changed.{kept}"
        return " ".join([f"{self._described(free)} set to {name}.{kept}", *self._doubts(free, category)])

    def accept(self, rows: Rows) -> str:
        """Choose what is proposed for those rows that are not decided yet."""
        proposed = self.proposals.categories[rows]
        accepted = (proposed >= 0) & (self.staged.chosen[rows] == OPEN)
        rows, proposed = rows[accepted], proposed[accepted]
        if not self.staged.choose(rows, proposed, f"{len(rows):,} accepted proposal(s)"):
            return "Nothing changed: there are no open proposals among these."
        return f"{self._described(rows)} accepted."

    def skip(self, rows: Rows) -> str:
        """Leave rows as they are, whatever is proposed for them."""
        count = self.staged.choose(rows, SKIPPED, f"{len(rows):,} skipped transaction(s)")
        return f"{count:,} transaction(s) are skipped: no plan changes them." if count else "Nothing changed."

    def clear(self, rows: Rows) -> str:
        """Make rows open again."""
        count = self.staged.choose(rows, OPEN, f"{len(rows):,} cleared decision(s)")
        return f"{count:,} transaction(s) are open again." if count else "Nothing changed."

    def undo(self) -> str:
        """Take back the last decision."""
        label = self.staged.last_done
        return f"Undone: {label}." if self.staged.undo() else "There is nothing to undo."

    def redo(self) -> str:
        """Make the last decision again that was taken back."""
        label = self.staged.last_undone
        return f"Done again: {label}." if self.staged.redo() else "There is nothing to redo."

    def may_choose(self, row: int, choice: int) -> bool:
        """Whether a row may have a choice: a split only the category that is proposed for it, or none."""
        return choice < 0 or not self.rows.is_split[row] or choice == self.proposals.categories[row]

    def make_rule(self, row: int, path: Path) -> str:
        """Append a rule for the group of a row to a rules file, with the category that is chosen for the row."""
        category = int(self.staged.chosen[row])
        if category < 0:
            raise InputError("a rule needs a category: set one or accept the proposal first")
        members = self.rows.frame.iloc[self.group_of(row).rows]
        transaction_id = self.rows.frame["transaction_id"].iloc[row]
        rule = add_rule(path, members, transaction_id, self.categories[category], self.ledgers)
        return f"Added to {path}: {' '.join(rule.split())}"

    def group_of(self, row: int) -> Group:
        """Return the group of a row."""
        return self.rows.groups[int(self.rows.group_numbers[row])]

    def category_name(self, number: int) -> str:
        """Name of a category."""
        return self.chart.names.name(self.categories[number])

    def reason(self, row: int) -> str:
        """Text of the column ``rule`` of a decided row: the rule that was accepted, or who decided."""
        chosen = self.staged.chosen
        if chosen[row] == self.proposals.categories[row]:
            return self.proposals.rules[row]
        group = self.group_of(row)
        is_whole = (chosen[group.start : group.end] == chosen[row]).all()
        return f"{BY_HAND}: {group.group_id}" if is_whole else BY_HAND

    def decisions(self) -> pd.DataFrame:
        """Rows with a chosen category as proposals."""
        exact, decided = self.rows.exact, np.flatnonzero(self.staged.chosen >= 0)
        ids = [self.categories[number] for number in self.staged.chosen[decided].tolist()]
        frame = exact.frame.iloc[decided].reset_index(drop=True)
        decisions = frame.drop(columns=["kind", "merchant"]).assign(
            updated_category_ledger_id=pd.Series(ids, dtype="str"),
            updated_category_ledger_name=pd.Series(map(self.chart.names.name, ids), dtype="str"),
            rule=pd.Series(map(self.reason, decided.tolist()), dtype="str"),
        )
        notes = [*self.notes, *self.chart.direction_notes(decisions)]
        table = Proposals.from_exact(decisions, exact.scale, as_decimals=exact.as_decimals)
        attach_notes(table, notes, self._queue)
        return table

    def amount(self, units: int) -> str:
        """Text of an amount in whole minor units."""
        return format_amount(from_minor_units(units, self.rows.exact.scale))

    def _described(self, rows: Rows) -> str:
        units = sum(self.rows.units[row] for row in rows.tolist())
        return f"{len(rows):,} transaction(s), {self.amount(units)},"

    def _doubts(self, rows: Rows, category: int) -> Iterator[str]:
        """Yield why a category may be wrong: its type contradicts the direction, or ledgers are below it."""
        ledger_id = self.categories[category]
        decided = self.rows.frame.iloc[rows].assign(updated_category_ledger_id=ledger_id)
        yield from self.chart.direction_notes(decided)
        if hint := self.chart.parent_hint(ledger_id):
            yield f"{quote(self.chart.names.path(ledger_id))} {hint}"

    def require_category(self, text: object) -> int:
        """Find the number of a category by the id, unique name or path of its ledger."""
        return self.numbers[self.chart.find(text)]
