"""The record of a review: its rows in groups, what is proposed and chosen for each, and the effect of that."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.recategorization.choices import BY_HAND, KEY, Choice, proposals_of, proposed_choices
from accounting_analytics.recategorization.groups import Decidable, group_queue
from accounting_analytics.recategorization.queue import exact_queue, local_days, with_groups
from accounting_analytics.recategorization.rules import add_rule
from accounting_analytics.reports.category_ledgers import Categories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    Rows = npt.NDArray[np.int64]
    Chosen = npt.NDArray[np.int32]

OPEN, SKIPPED = -1, -2
"""In place of the number of a category: a row is not decided yet, or is left as it is."""
_STATES = {SKIPPED: "skipped", OPEN: "open"}


class Group(NamedTuple):
    """A group of the queue; its rows are those from `start` to before `end`."""

    group_id: str
    kind: str
    merchant: str
    start: int
    end: int

    @property
    def rows(self) -> Rows:
        """Numbers of its rows."""
        return np.arange(self.start, self.end)


class Decision(NamedTuple):
    """What one decision changed, and how people name it."""

    rows: Rows
    before: Chosen
    after: Chosen
    label: str


class StagedEffect(NamedTuple):
    """What the chosen categories change: how much is cleared, and the change of each ledger, the largest first.

    `ledgers` has for each ledger the change of its net cash flow in whole minor units, and how many transactions move.
    """

    row_count: int
    units: int
    ledgers: dict[str, tuple[int, int]]


class ReviewRecord:
    """The rows of a queue with what is proposed and chosen for each; an action returns a sentence about what it did.

    Attributes
    ----------
    rows : DataFrame
        The queue in the order of its groups, with exact amounts, local days and groups.
    units : list of int
        The uncategorized amount of each row in whole minor units.
    categories : list of str
        Ids of the ledgers that can be chosen; a category is its number in this list.
    proposed : dict of int to Choice
        What is proposed for rows, by their numbers; `proposed_numbers` has the categories of all rows, or ``OPEN``.
    chosen : array of int
        Number of the category of each row, ``OPEN`` or ``SKIPPED``.
    done, undone : list of Decision
        What :meth:`undo` takes back, and what :meth:`redo` makes again.
    listeners : list of callable
        Called after each change.
    """

    def __init__(self, queue: pd.DataFrame, ledgers: pd.DataFrame, proposals: Iterable[pd.DataFrame]) -> None:
        self._queue, self._exact, self.ledgers = queue, exact_queue(queue), Ledgers.checked(ledgers)
        self.scale = self._exact.scale
        self.rows = _in_order_of_groups(self._exact.frame, group_queue(queue))
        self.units = [to_minor_units(one, self.scale) for one in self.rows["uncategorized_amount"]]
        self.groups = list(_groups(self.rows))
        self.group_of_row = np.repeat(np.arange(len(self.groups)), [one.end - one.start for one in self.groups])
        self.is_split = (self.rows["kind"] == "split").to_numpy()
        self.decidable = Decidable(self.rows)
        self.chart = Categories(self.ledgers, set(self.rows["category_ledger_id"]))
        self.categories = self.chart.possible()
        self.numbers = {ledger_id: number for number, ledger_id in enumerate(self.categories)}
        self.notes, self.proposed = list(self._exact.notes), dict[int, Choice]()
        for frame in proposals:
            self._add_proposals(frame)
        self.proposed_numbers = np.full(len(self.rows), OPEN, dtype=np.int32)
        for row, choice in self.proposed.items():
            self.proposed_numbers[row] = self.numbers[choice.category]
        self.chosen: Chosen = np.full(len(self.rows), OPEN, dtype=np.int32)
        self.done: list[Decision] = []
        self.undone: list[Decision] = []
        self.listeners: list[Callable[[], None]] = []

    def _add_proposals(self, frame: pd.DataFrame) -> None:
        """Add proposals for rows that have none yet."""
        found, absent = proposed_choices(self.rows, frame, self.chart)
        self.proposed = found | self.proposed
        if absent:
            self.notes.append(
                f"{len(absent):,} of {count_of(len(frame), 'proposal')} found no transaction of the queue."
            )

    def choose(self, rows: Rows, categories: Chosen | int, label: str) -> int:
        """Choose categories for rows as one decision; return how many rows change."""
        after = np.broadcast_to(np.asarray(categories, dtype=np.int32), rows.shape)
        differs = self.chosen[rows] != after
        changed = rows[differs]
        if len(changed):
            self.done.append(Decision(changed, self.chosen[changed], after[differs], label))
            self.undone.clear()
            self._set(changed, after[differs])
        return len(changed)

    def _set(self, rows: Rows, categories: Chosen) -> None:
        self.chosen[rows] = categories
        for listener in self.listeners:
            listener()

    def undo(self) -> str:
        """Take back the last decision."""
        if not self.done:
            return "There is nothing to undo."
        decision = self.done.pop()
        self.undone.append(decision)
        self._set(decision.rows, decision.before)
        return f"Undone: {decision.label}."

    def redo(self) -> str:
        """Make the last decision again that was taken back."""
        if not self.undone:
            return "There is nothing to redo."
        decision = self.undone.pop()
        self.done.append(decision)
        self._set(decision.rows, decision.after)
        return f"Done again: {decision.label}."

    def assign(self, rows: Rows, text: str) -> str:
        """Choose one category, by its id, unique name or path, for rows; splits keep what is chosen for them."""
        category = self.numbers[self.chart.find_category(text)]
        is_split = self.is_split[rows]
        free, name = rows[~is_split], self.category_name(category)
        count = self.choose(free, category, f"{name} for {count_of(len(free), 'transaction')}")
        stay = count_of(int(is_split.sum()), "split transaction stays as it is", "split transactions stay as they are")
        kept = f" {stay}." if is_split.any() else ""
        if not count:
            return f"Nothing changed.{kept}"
        return " ".join([f"{self._described(free)} set to {name}.{kept}", *self._doubts(free, category)])

    def accept(self, rows: Rows) -> str:
        """Choose what is proposed for those rows that are not decided yet."""
        rows = rows[(self.proposed_numbers[rows] != OPEN) & (self.chosen[rows] == OPEN)]
        if not self.choose(rows, self.proposed_numbers[rows], count_of(len(rows), "accepted proposal")):
            return "Nothing changed: there are no open proposals among these."
        return f"{self._described(rows)} accepted."

    def skip(self, rows: Rows) -> str:
        """Leave rows as they are, whatever is proposed for them."""
        count = self.choose(rows, SKIPPED, count_of(len(rows), "skipped transaction"))
        return f"{count_of(count, 'transaction')} skipped: no plan changes them." if count else "Nothing changed."

    def clear(self, rows: Rows) -> str:
        """Make rows open again."""
        count = self.choose(rows, OPEN, count_of(len(rows), "cleared decision"))
        return f"{count_of(count, 'transaction')} open again." if count else "Nothing changed."

    def make_rule(self, rows: Rows, path: Path) -> str:
        """Append a rule for the group of the first row, with the category that is chosen for that, to a rules file."""
        row = int(rows[0])
        if self.chosen[row] < 0:
            raise InputError("a rule needs a category: set one or accept the proposal first")
        members = self.rows.iloc[self.groups[self.group_of_row[row]].rows].drop(columns=["kind", "merchant"])
        category = self.categories[self.chosen[row]]
        rule = add_rule(path, members, self.rows["transaction_id"][row], category, self.ledgers)
        return f"Added to {path}: {' '.join(rule.split())}"

    def may_choose(self, row: int, category: str) -> bool:
        """Whether a category, by its id, can be chosen for a row: for a split only the one that is proposed."""
        number = self.numbers.get(category)
        return number is not None and (not self.is_split[row] or number == self.proposed_numbers[row])

    def category_name(self, number: int) -> str:
        """Name of a category."""
        return self.chart.names.name(self.categories[number])

    def days(self) -> list[str]:
        """Local day of each row."""
        days: list[str] = local_days(self.rows).dt.strftime("%Y-%m-%d").tolist()
        return days

    def reason(self, row: int) -> str:
        """Why the category of a row is proposed, with the confidence of a suggestion; empty if there is none."""
        choice = self.proposed.get(row)
        if choice is None:
            return ""
        reason = choice.why if choice.reason is None or pd.isna(choice.reason) else choice.reason
        if choice.confidence is None or pd.isna(choice.confidence):
            return reason
        return f"{reason} ({int(1000 * choice.confidence) / 10:g} %)"  # rounded down: 100 % is certain

    def described_category(self, group: Group) -> str:
        """Describe what is chosen for a group, or else proposed."""
        chosen = set(self.chosen[group.rows].tolist())
        if chosen == {OPEN}:
            proposed = set(self.proposed_numbers[group.rows].tolist()) - {OPEN}
            return f"proposed: {' or '.join(sorted(map(self.category_name, proposed)))}" if proposed else ""
        names = sorted(self.category_name(one) for one in chosen if one >= 0)
        return ", ".join([*names, *(text for state, text in _STATES.items() if state in chosen)])

    def effect(self) -> StagedEffect:
        """Sum what is chosen; rows that are open or skipped stay where they are."""
        sums, counts = Counter[str](), Counter[str]()
        decided = np.flatnonzero(self.chosen >= 0).tolist()
        old, chosen = self.rows["category_ledger_id"].tolist(), self.chosen.tolist()
        for row in decided:
            for ledger_id, units in ((self.categories[chosen[row]], self.units[row]), (old[row], -self.units[row])):
                sums[ledger_id] += units
                counts[ledger_id] += 1
        order = sorted(sums, key=lambda one: (-abs(sums[one]), one))
        cleared = sum(abs(self.units[row]) for row in decided)
        return StagedEffect(len(decided), cleared, {one: (sums[one], counts[one]) for one in order})

    def cleared(self, effect: StagedEffect) -> tuple[str, str]:
        """Say how many transactions, and how much money, are decided."""
        every = sum(map(abs, self.units))
        percent = 100 * effect.units // every if every else 100
        rows = f"{effect.row_count:,} of {count_of(len(self.units), 'transaction')}"
        return rows, f"{self.amount(effect.units)} of {self.amount(every)} ({percent} %)"

    def decisions(self) -> pd.DataFrame:
        """Rows with a chosen category as proposals."""
        keys, chosen = self.rows["transaction_id"], self.chosen.tolist()
        choices = {
            row: Choice(keys[row], self.categories[number], self._why(row))
            for row, number in enumerate(chosen)
            if number >= 0
        }
        table, doubts = proposals_of(self.rows, choices, self.chart, self._exact, with_reasons=False)
        attach_notes(table, [*self.notes, *doubts], self._queue)
        return table

    def _why(self, row: int) -> str:
        """Text of the column ``rule`` of a decided row: the rule that was accepted, or who decided."""
        if self.chosen[row] == self.proposed_numbers[row]:
            return self.proposed[row].why
        group = self.groups[self.group_of_row[row]]
        is_whole = (self.chosen[group.rows] == self.chosen[row]).all()
        return f"{BY_HAND}: {group.group_id}" if is_whole else BY_HAND

    def amount(self, units: int) -> str:
        """Text of an amount in whole minor units."""
        return format_amount(from_minor_units(units, self.scale))

    def _described(self, rows: Rows) -> str:
        units = sum(self.units[row] for row in rows.tolist())
        return f"{count_of(len(rows), 'transaction')}, {self.amount(units)},"

    def _doubts(self, rows: Rows, category: int) -> Iterator[str]:
        """Yield why a category may be wrong: its type contradicts the direction, or ledgers are below it."""
        ledger_id = self.categories[category]
        yield from self.chart.direction_notes(self.rows.iloc[rows].assign(updated_category_ledger_id=ledger_id))
        if hint := self.chart.parent_hint(ledger_id):
            yield f"{quote(self.chart.names.path(ledger_id))} {hint}"


def _in_order_of_groups(rows: pd.DataFrame, groups: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by the places of their groups, and those of a group by their money."""
    grouped = with_groups(rows)
    places = {group_id: place for place, group_id in enumerate(groups["group_id"])}
    sizes = [amount.copy_abs().copy_negate() for amount in grouped["uncategorized_amount"]]
    ordered = grouped.assign(place=grouped["group_id"].map(places), size=pd.Series(sizes, grouped.index, dtype=object))
    ordered = ordered.sort_values(["place", "size", "datetime", *KEY], kind="stable")
    return ordered.drop(columns=["place", "size"]).reset_index(drop=True)


def _groups(rows: pd.DataFrame) -> Iterator[Group]:
    first = rows[~rows.duplicated("group_id")]
    starts = first.index.tolist()
    columns = (first[name] for name in ("group_id", "kind", "merchant"))
    for values in zip(*columns, starts, [*starts, len(rows)][1:], strict=True):
        yield Group._make(values)
