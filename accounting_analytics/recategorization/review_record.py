"""The record of a review: the rows of a queue in groups, what is proposed and chosen for each, and its effect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.recategorization.changes import net_moves
from accounting_analytics.recategorization.choices import Choice, proposed_choices
from accounting_analytics.recategorization.queue import KEY, Decidable, exact_queue, group_queue, local_days
from accounting_analytics.recategorization.rules import add_rule
from accounting_analytics.reports.category_ledgers import Categories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    Chosen = dict[int, str]

SKIPPED = ""
"""In place of the id of a category: a row stays as it is."""


class ReviewRecord:
    """What is proposed and chosen for the rows of a queue; an action returns a sentence about what it did.

    Attributes
    ----------
    rows : DataFrame
        The queue in the order of its groups, with exact amounts; `units` are its amounts in whole minor units.
    groups : dict of str to list of int
        Numbers of the rows of each group.
    proposed : dict of int to Choice
        What is proposed for rows, by their numbers.
    chosen : dict of int to str
        Id of the category of each decided row, or ``SKIPPED``.
    done, undone : list
        Labels of decisions and what was chosen before them: what :meth:`undo` takes back, and :meth:`redo` makes again.
    listeners : list of callable
        Called after each change.
    """

    def __init__(
        self,
        queue: pd.DataFrame,
        ledgers: pd.DataFrame,
        proposals: Iterable[pd.DataFrame],
        rules_file: Path,
        remarks: Iterable[str] = (),
    ) -> None:
        self._queue, self._exact, self._rules_file = queue, exact_queue(queue), rules_file
        self._ledgers = Ledgers.checked(ledgers)
        self.rows = _in_order_of_groups(self._exact.frame, group_queue(queue))
        self.units = [to_minor_units(one, self._exact.scale) for one in self.rows["uncategorized_amount"]]
        self._decidable = Decidable(self.rows)
        self.groups = self._decidable.groups
        self.chart = Categories(self._ledgers, set(self.rows["category_ledger_id"]))
        self.proposed, self._remarks = dict[int, Choice](), list(self._exact.notes)
        for frame in proposals:
            found, absent = proposed_choices(self.rows, frame, self.chart)
            self.proposed = found | self.proposed
            if absent:
                proposed = count_of(len(frame), "proposal")
                self._remarks.append(f"{len(absent):,} of {proposed} found no transaction of the queue.")
        self._remarks += remarks
        self.chosen: Chosen = {}
        self.done: list[tuple[str, Chosen]] = []
        self.undone: list[tuple[str, Chosen]] = []
        self.listeners: list[Callable[[], None]] = []

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out of the review; one sentence each."""
        return tuple(self._remarks)

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self._exact.scale

    def assign(self, ids: str | Iterable[str], category: str) -> str:
        """Give groups or transactions, by their ids, a category by its id, unique name or path; say what changed.

        Raises
        ------
        InputError
            An id is not in the queue or is that of a split, or the category is unknown, ambiguous, cash or
            uncategorized.
        """
        keys = [ids] if isinstance(ids, str) else list(ids)
        for key in keys:
            self._decidable.find_free(key)
        return self.assign_but_splits(keys, category)

    def assign_but_splits(self, ids: Iterable[str], category: str) -> str:
        """Assign a category as :meth:`assign`, but leave splits as they are."""
        ledger_id, rows = self.chart.find_category(category), self._rows(ids)
        free = [row for row in rows if self.rows["kind"][row] != "split"]
        name, split_count = self.chart.names.name(ledger_id), len(rows) - len(free)
        stay = count_of(split_count, "split transaction stays as it is", "split transactions stay as they are")
        kept = f" {stay}." if split_count else ""
        if not self._choose(dict.fromkeys(free, ledger_id), f"{name} for {count_of(len(free), 'transaction')}"):
            return f"Nothing changed.{kept}"
        doubtful = self.rows.iloc[free].assign(updated_category_ledger_id=ledger_id)
        doubts = [*self.chart.direction_notes(doubtful), *self.chart.parent_notes([ledger_id])]
        return " ".join([f"{self._described(free)} set to {name}.{kept}", *doubts])

    def accept(self, ids: str | Iterable[str] | None = None) -> str:
        """Accept what is proposed for groups or transactions, of all by default; say what changed."""
        rows = range(len(self.units)) if ids is None else self._rows(ids)
        accepted = {row: self.proposed[row].category for row in rows if row in self.proposed and row not in self.chosen}
        if not self._choose(accepted, count_of(len(accepted), "accepted proposal")):
            return "Nothing changed: there are no open proposals among these."
        return f"{self._described(accepted)} accepted."

    def skip(self, ids: str | Iterable[str]) -> str:
        """Leave groups or transactions uncategorized, whatever is proposed for them; say what changed."""
        rows = self._rows(ids)
        count = self._choose(dict.fromkeys(rows, SKIPPED), count_of(len(rows), "skipped transaction"))
        return f"{count_of(count, 'transaction')} skipped: no plan changes them." if count else "Nothing changed."

    def clear(self, ids: str | Iterable[str]) -> str:
        """Make groups or transactions open again; say what changed."""
        rows = self._rows(ids)
        count = self._choose(dict.fromkeys(rows), count_of(len(rows), "cleared decision"))
        return f"{count_of(count, 'transaction')} open again." if count else "Nothing changed."

    def undo(self) -> str:
        """Take back the last decision; say which."""
        return f"Undone: {self._go(self.done, self.undone)}." if self.done else "There is nothing to undo."

    def redo(self) -> str:
        """Make the last decision again that was taken back; say which."""
        return f"Done again: {self._go(self.undone, self.done)}." if self.undone else "There is nothing to redo."

    def make_rule(self, group_or_transaction_id: str) -> str:
        """Append a rule for a group, or that of a transaction, with the category decided for it, to the rules file.

        Raises
        ------
        InputError
            The id is not in the queue, or it is not decided.
        RulesError
            The file has a rule of the same name, or is not valid.
        """
        row = self._rows(group_or_transaction_id)[0]
        category = self.chosen.get(row, SKIPPED)
        if category == SKIPPED:
            raise InputError("a rule needs a category: set one or accept the proposal first")
        rule = add_rule(self._rules_file, self._queue, self.rows["transaction_id"][row], category, self._ledgers)
        return f"Added to {self._rules_file}: {' '.join(rule.split())}"

    def cleared(self) -> tuple[str, str]:
        """Say how many transactions, and how much money, are decided."""
        decided = [row for row, one in self.chosen.items() if one != SKIPPED]
        units, every = (sum(abs(self.units[row]) for row in rows) for rows in (decided, range(len(self.units))))
        percent = 100 * units // every if every else 100
        rows = f"{len(decided):,} of {count_of(len(self.units), 'transaction')}"
        return rows, f"{self.amount(units)} of {self.amount(every)} ({percent} %)"

    def effect(self) -> dict[str, tuple[int, int]]:
        """Predict the change of each ledger in whole minor units, and how many transactions move; the largest first."""
        old = self.rows["category_ledger_id"].tolist()
        decided = [(old[row], new, self.units[row]) for row, new in self.chosen.items() if new != SKIPPED]
        counts = Counter(one for before, after, _ in decided for one in (before, after))
        moved = sorted(net_moves(decided).items(), key=lambda one: (-abs(one[1]), one[0]))
        return {ledger_id: (units, counts[ledger_id]) for ledger_id, units in moved}

    def amount(self, units: int) -> str:
        """Text of an amount in whole minor units."""
        return format_amount(from_minor_units(units, self.scale))

    def days(self) -> list[str]:
        """Local day of each row."""
        days: list[str] = local_days(self.rows).dt.strftime("%Y-%m-%d").tolist()
        return days

    def reason(self, row: int) -> str:
        """Why the category of a row is proposed, with the confidence of a suggestion; empty if there is none."""
        choice = self.proposed.get(row)
        if choice is None:
            return ""
        reason = choice.why if pd.isna(choice.reason) else str(choice.reason)
        if choice.confidence is None or pd.isna(choice.confidence):
            return reason
        return f"{reason} ({int(1000 * choice.confidence) / 10:g} %)"  # rounded down: 100 % is certain

    def _rows(self, ids: str | Iterable[str]) -> list[int]:
        """Find the rows of groups and transactions by their ids, each once."""
        return sorted({row for one in ([ids] if isinstance(ids, str) else ids) for row in self._decidable.find(one)})

    def _choose(self, choices: Mapping[int, str | None], label: str) -> int:
        """Choose categories for rows as one decision, None to make them open again; return how many rows change."""
        count = sum(self.chosen.get(row) != one for row, one in choices.items())
        if count:
            self.done.append((label, self.chosen))
            self.undone.clear()
            self._set({row: one for row, one in {**self.chosen, **choices}.items() if one is not None})
        return count

    def _go(self, taken: list[tuple[str, Chosen]], given: list[tuple[str, Chosen]]) -> str:
        """Go one decision back or forward; return its label."""
        label, chosen = taken.pop()
        given.append((label, self.chosen))
        self._set(chosen)
        return label

    def _set(self, chosen: Chosen) -> None:
        self.chosen = chosen
        for listener in self.listeners:
            listener()

    def _sum(self, rows: Iterable[int]) -> int:
        return sum(self.units[row] for row in rows)

    def _described(self, rows: Iterable[int]) -> str:
        listed = list(rows)
        return f"{count_of(len(listed), 'transaction')}, {self.amount(self._sum(listed))},"


def _in_order_of_groups(rows: pd.DataFrame, groups: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by the places of their groups, and those of a group by their money."""
    places = {group_id: place for place, group_id in enumerate(groups["group_id"])}
    sizes = [amount.copy_abs().copy_negate() for amount in rows["uncategorized_amount"]]
    ordered = rows.assign(place=rows["group_id"].map(places), size=pd.Series(sizes, rows.index, dtype=object))
    ordered = ordered.sort_values(["place", "size", "datetime", *KEY], kind="stable")
    return ordered.drop(columns=["place", "size"]).reset_index(drop=True)
