"""The state of a review: rows, proposals, choices and their effect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from accounting_analytics.core.arguments import to_path, to_texts
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.load_metadata import refuse_file, stated_attrs
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.recategorization.changes import Change, net_moves
from accounting_analytics.recategorization.decisions import choose_by_hand, write_decided
from accounting_analytics.recategorization.open_queue import OpenQueue
from accounting_analytics.recategorization.plan import plan_changes
from accounting_analytics.recategorization.queue import KEY, by_size, exact_groups, local_days
from accounting_analytics.recategorization.rules import add_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.recategorization.plan import Plan

    Chosen = dict[int, Change]


class ReviewState:
    """Proposals and choices for the rows of a queue. Each action returns a sentence that says what it did.

    Attributes
    ----------
    rows : DataFrame
        The queue in the order of its groups, with exact amounts; `units` are its amounts in whole minor units.
    groups : dict of str to list of int
        Numbers of the rows of each group.
    proposed : dict of int to Change
        What is proposed for rows, by their numbers.
    chosen : dict of int to Change
        What is chosen for each decided row; a change without a new category leaves it as it is.
    done, undone : list
        Labels of decisions and what was chosen before them: what :meth:`undo` takes back, and :meth:`redo` makes again.
    notes : tuple of str
        What was left out of the review; one sentence each.
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
        self._queue = OpenQueue(_in_order_of_groups(queue), ledgers)
        self._rules_file, self._file = rules_file, stated_attrs(ledgers).get("file", "")
        self.rows, self.groups, self.chart = self._queue.rows, self._queue.groups, self._queue.chart
        self.scale = self._queue.exact.scale
        self.units = [to_minor_units(change.uncategorized_amount, self.scale) for change in self._queue.changes]
        self.proposed, notes = dict[int, Change](), list(self._queue.exact.notes)
        for frame in proposals:
            found, absent = self._queue.read_proposals(frame)
            self.proposed = found | self.proposed
            if absent:
                notes.append(
                    f"{len(absent):,} of {count_of(len(frame), 'proposal')} found no transaction of the queue."
                )
        self.notes = (*notes, *remarks)
        self.chosen: Chosen = {}
        self.done: list[tuple[str, Chosen]] = []
        self.undone: list[tuple[str, Chosen]] = []
        self.listeners: list[Callable[[], None]] = []

    @property
    def decisions(self) -> pd.DataFrame:
        """The decided transactions as :class:`~accounting_analytics.schemas.Proposals`; skipped ones are left out."""
        return self._queue.proposals(self._decided(), self.notes)

    def plan(self, *, instance_id: str | None = None) -> Plan:
        """Plan the decided transactions, as :func:`plan_recategorization`; what is only proposed is not planned.

        Parameters
        ----------
        instance_id : str, optional
            Service instance of the books (``client.instance_id``); the plan is then refused for any other instance.
        """
        if self._file:
            kept = "save(path) keeps what was decided, for decisions= of open_bank_file and propose; or "
            refuse_file(self._file, "a plan", "changes the books of a service", kept)
        changed = {row: change for row, change in self._decided().items() if not change.is_right}
        return plan_changes(self._queue, changed, instance_id)

    def save(self, path: str | Path) -> None:
        """Write a sheet of decisions, CSV or ``.xlsx``, with the category of each decided transaction.

        :func:`decide` and :meth:`load` read the sheet, also after a person wrote further categories. Skipped and split
        transactions have no category in the sheet.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        write_decided(self._queue, to_path(path, "path"), self._decided())

    def load(self, path: str | Path) -> str:
        """Stage the decisions of a sheet; say how many, and which no longer fit the queue. It can be undone.

        Raises
        ------
        InputError
            The file cannot be read, has no decisions, or has some that cannot be used, as for :func:`decide`.
        """
        remarks: list[str] = []
        decided = choose_by_hand(self._queue, to_path(path, "path"), remarks)
        chosen = {
            row: self._change(row, change.updated_category_ledger_id, change.rule) for row, change in decided.items()
        }
        count = count_of(len(chosen), "transaction")
        self._choose(chosen, f"{path} for {count}")
        return " ".join([f"{count} decided by {path}.", *remarks])

    def assign(self, ids: str | Iterable[str], category: str) -> str:
        """Give groups or transactions, by their ids, a category by its id, unique name or path; say what changed.

        Split transactions stay as they are.

        Raises
        ------
        InputError
            An id is not in the queue, or only those of splits are given, or the category is unknown, ambiguous, cash or
            uncategorized.
        """
        ledger_id, keys = self.chart.find_category(category), to_texts(ids)
        rules = {row: self._queue.by_hand(key) for key in keys for row in self._queue.find(key)}
        free = {row: self._change(row, ledger_id, rule) for row, rule in rules.items() if not self._queue.is_split(row)}
        if rules and not free:
            self._queue.find_free(self._queue.changes[min(rules)].transaction_id)
        name, split_count = self.chart.names.name(ledger_id), len(rules) - len(free)
        stay = count_of(split_count, "split transaction stays as it is", "split transactions stay as they are")
        kept = f" {stay}." if split_count else ""
        if not self._choose(free, f"{name} for {count_of(len(free), 'transaction')}"):
            return f"Nothing changed.{kept}"
        doubtful = self.rows.iloc[list(free)].assign(updated_category_ledger_id=ledger_id)
        doubts = [*self.chart.direction_notes(doubtful), *self.chart.parent_notes([ledger_id])]
        return " ".join([f"{self._described(free)} set to {name}.{kept}", *doubts])

    def accept(self, ids: str | Iterable[str] | None = None) -> str:
        """Accept what is proposed for groups or transactions, of all by default; say what changed."""
        rows = self.proposed if ids is None else self._rows(ids)
        accepted = {row: self.proposed[row] for row in rows if row in self.proposed and row not in self.chosen}
        if not self._choose(accepted, count_of(len(accepted), "accepted proposal")):
            return "Nothing changed: there are no open proposals among these."
        return f"{self._described(accepted)} accepted."

    def skip(self, ids: str | Iterable[str]) -> str:
        """Leave groups or transactions uncategorized, whatever is proposed for them; say what changed."""
        skipped = {row: self._queue.changes[row] for row in self._rows(ids)}
        count = self._choose(skipped, count_of(len(skipped), "skipped transaction"))
        return f"{count_of(count, 'transaction')} skipped: no plan changes them." if count else "Nothing changed."

    def clear(self, ids: str | Iterable[str]) -> str:
        """Remove the decisions on groups or transactions, and say what changed."""
        rows = self._rows(ids)
        count = self._choose(dict.fromkeys(rows), count_of(len(rows), "cleared decision"))
        return f"{count_of(count, 'transaction')} open again." if count else "Nothing changed."

    def undo(self) -> str:
        """Take back the last decision, and say which it was."""
        return f"Undone: {self._step(self.done, self.undone)}." if self.done else "There is nothing to undo."

    def redo(self) -> str:
        """Repeat the last decision that was taken back, and say which it was."""
        return f"Done again: {self._step(self.undone, self.done)}." if self.undone else "There is nothing to redo."

    def make_rule(self, group_or_transaction_id: str) -> str:
        """Append a rule for a group, or the group of a transaction, with its decided category, to the rules file.

        Raises
        ------
        InputError
            The id is not in the queue, or it is not decided.
        RulesError
            The file has a rule of the same name, or is not valid.
        """
        row = self._rows(group_or_transaction_id)[0]
        decided = self._decided().get(row)
        if decided is None:
            raise InputError("a rule needs a category: set one or accept the proposal first")
        category = decided.updated_category_ledger_id
        rule = add_rule(self._rules_file, self._queue, decided.transaction_id, category)
        return f"Added to {self._rules_file}: {' '.join(rule.split())}"

    def cleared(self) -> tuple[str, str]:
        """Return two texts: how many transactions, and how much money, are decided."""
        decided = self._decided()
        units, every = (sum(abs(self.units[row]) for row in rows) for rows in (decided, range(len(self.units))))
        percent = 100 * units // every if every else 100
        rows = f"{len(decided):,} of {count_of(len(self.units), 'transaction')}"
        return rows, f"{self.amount(units)} of {self.amount(every)} ({percent} %)"

    def effect(self) -> dict[str, tuple[int, int]]:
        """Predict the change of each ledger in whole minor units, and how many transactions move, the largest first."""
        moves = [
            (change.category_ledger_id, change.updated_category_ledger_id, self.units[row])
            for row, change in self._decided().items()
        ]
        counts = Counter(ledger_id for *ledger_ids, _ in moves for ledger_id in ledger_ids)
        moved = sorted(net_moves(moves).items(), key=lambda move: (-abs(move[1]), move[0]))
        return {ledger_id: (units, counts[ledger_id]) for ledger_id, units in moved}

    def amount(self, units: int) -> str:
        """Format an amount of whole minor units."""
        return format_amount(from_minor_units(units, self.scale))

    def days(self) -> list[str]:
        """Return the local day of each row."""
        return list(local_days(self.rows).dt.strftime("%Y-%m-%d"))

    def reason(self, row: int) -> str:
        """Say why the category of a row is proposed, and how surely."""
        proposed = self.proposed.get(row)
        if proposed is None:
            return ""
        reason = proposed.reason or proposed.rule
        if proposed.confidence is None:
            return reason
        return f"{reason} ({int(1000 * proposed.confidence) / 10:g} %)"  # rounded down: 100 % is certain

    def sum(self, rows: Iterable[int]) -> int:
        """Sum rows exactly, in whole minor units."""
        return sum(self.units[row] for row in rows)

    def _rows(self, ids: str | Iterable[str]) -> list[int]:
        """Find the rows of groups and transactions by their ids, each once."""
        return sorted({row for key in to_texts(ids) for row in self._queue.find(key)})

    def _decided(self) -> Chosen:
        """Return the choices that change the books, without skipped rows."""
        return {row: change for row, change in self.chosen.items() if change.updated_category_ledger_id}

    def _change(self, row: int, category: str, rule: str) -> Change:
        """Return the change of a row to a category.

        If the proposed change has this category, return the proposed change.
        """
        proposed = self.proposed.get(row)
        if proposed is not None and proposed.updated_category_ledger_id == category:
            return proposed
        return self._queue.changes[row].decided(category, self.chart, rule)

    def _choose(self, choices: Mapping[int, Change | None], label: str) -> int:
        """Choose categories as one decision, and count the rows that changed. None makes a row open again."""
        count = sum(self.chosen.get(row) != change for row, change in choices.items())
        if count:
            self.done.append((label, self.chosen))
            self.undone.clear()
            self._set({row: change for row, change in {**self.chosen, **choices}.items() if change is not None})
        return count

    def _step(self, taken: list[tuple[str, Chosen]], given: list[tuple[str, Chosen]]) -> str:
        """Go one decision back or forward, and return its label."""
        label, chosen = taken.pop()
        given.append((label, self.chosen))
        self._set(chosen)
        return label

    def _set(self, chosen: Chosen) -> None:
        self.chosen = chosen
        for listener in self.listeners:
            listener()

    def _described(self, rows: Iterable[int]) -> str:
        listed = list(rows)
        return f"{count_of(len(listed), 'transaction')}, {self.amount(self.sum(listed))},"


def _in_order_of_groups(queue: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by the place of their group, then by money."""
    places = {group_id: place for place, group_id in enumerate(exact_groups(queue).frame["group_id"])}
    order = ["place", "uncategorized_amount", "datetime", *KEY]
    rows = queue.reset_index(drop=True)  # the name of the index may also be the name of a column
    ordered = rows.assign(place=rows["group_id"].map(places)).sort_values(
        order, ascending=[True, False, True, True, True], key=by_size, ignore_index=True
    )
    return ordered.drop(columns="place")
