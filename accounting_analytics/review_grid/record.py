"""The record of a review: its rows in groups, the staged decisions with undo and redo, and their effect."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import pandas as pd

from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.choices import BY_HAND
from accounting_analytics.categorization.groups import KINDS
from accounting_analytics.categorization.queue import exact_queue, proposals_of, with_groups
from accounting_analytics.categorization.rules import add_rule
from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.messages import count_of, printable, quote
from accounting_analytics.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.recategorization.plan_sheet import resolve_proposals
from accounting_analytics.schemas import Ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from accounting_analytics.column_conversion import ExactFrame


if TYPE_CHECKING:
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


KEY = ["transaction_id", "category_ledger_id"]
"""Columns of which no two rows of a queue have the same values."""
NONE = -1
"""In place of the number of a category or a text: there is none."""


class Group(NamedTuple):
    """A group of the queue; its rows are those from `start` to before `end`."""

    group_id: str
    kind: str
    merchant: str
    direction: str
    start: int
    end: int

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """Numbers of its rows."""
        return np.arange(self.start, self.end)


class ReviewedRows(NamedTuple):
    """Rows of a queue in the order of their groups, with the uncategorized part of each in whole minor units."""

    exact: ExactFrame
    groups: tuple[Group, ...]
    units: tuple[int, ...]
    group_numbers: npt.NDArray[np.int64]
    is_split: npt.NDArray[np.bool_]

    @classmethod
    def from_queue(cls, queue: pd.DataFrame) -> Self:
        """Sort a queue by the money of its groups, merchants first, and by that of its transactions."""
        exact = exact_queue(queue)
        frame = with_groups(exact.frame).reset_index(drop=True)
        frame = frame.assign(units=[to_minor_units(one, exact.scale) for one in frame["uncategorized_amount"]])
        ids, numbers = pd.factorize(frame["group_id"]), frame["units"].tolist()
        sums = [0] * len(ids[1])
        for group, units in zip(ids[0].tolist(), numbers, strict=True):
            sums[group] += units
        first = frame.drop_duplicates("group_id")
        ranks = [KINDS.index(kind) for kind in first["kind"]]
        order = sorted(range(len(sums)), key=lambda one: (ranks[one], -abs(sums[one]), ids[1][one]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        frame = frame.assign(place=place[ids[0]], size=[-abs(one) for one in numbers])
        frame = frame.sort_values(["place", "size", "datetime", *KEY], kind="stable").reset_index(drop=True)
        places = frame["place"].to_numpy()
        return cls(
            exact._replace(frame=frame.drop(columns=["place", "size", "units"])),
            tuple(_groups(frame, np.searchsorted(places, np.arange(len(order) + 1)))),
            tuple(frame["units"].tolist()),
            places,
            (frame["kind"] == "split").to_numpy(),
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a table with exact amounts."""
        return self.exact.frame

    def __len__(self) -> int:
        return len(self.units)

    def total(self, group: Group) -> int:
        """Sum of the uncategorized parts of a group, in whole minor units."""
        return sum(self.units[group.start : group.end])


def _groups(frame: pd.DataFrame, bounds: npt.NDArray[np.int64]) -> Iterator[Group]:
    starts, ends = bounds[:-1].tolist(), bounds[1:].tolist()
    first = frame.iloc[starts]
    columns = (first[name] for name in ("group_id", "kind", "merchant", "direction"))
    for values in zip(*columns, starts, ends, strict=True):
        yield Group._make(values)


class ReviewedProposals(NamedTuple):
    """The proposed category of each row by its number, and why: the rule, and further reasons and confidence."""

    categories: npt.NDArray[np.int32]
    rules: Mapping[int, str]
    reasons: Mapping[int, str]

    @classmethod
    def without_rows(cls, count: int) -> Self:
        """Nothing is proposed for so many rows."""
        return cls(np.full(count, NONE, dtype=np.int32), {}, {})

    def with_frame(
        self, proposals: pd.DataFrame, rows: ReviewedRows, ledgers: pd.DataFrame, numbers: Mapping[str, int]
    ) -> tuple[Self, int]:
        """Add proposals for rows that have none yet; also return how many fit no row."""
        resolved = resolve_proposals(proposals, ledgers)
        keys = zip(*(rows.frame[name].tolist() for name in KEY), strict=True)
        row_of = {key: row for row, key in enumerate(keys)}
        categories, rules, reasons = self.categories.copy(), dict(self.rules), dict(self.reasons)
        absent = 0
        names = (*KEY, "updated_category_ledger_id", "rule")
        columns = [resolved[name].tolist() for name in names] + [_reasons(proposals)]
        for transaction_id, old, new, rule, reason in zip(*columns, strict=True):
            row = row_of.get((transaction_id, old))
            if row is None or new == old:
                absent += 1
            elif categories[row] == NONE:
                categories[row], rules[row], reasons[row] = numbers[new], rule, reason
        return type(self)(categories, rules, reasons), absent


def _reasons(proposals: pd.DataFrame) -> list[str]:
    """Why each row is proposed: its rule, the reason and the confidence where these are given."""
    texts = [printable(str(rule)) for rule in proposals["rule"]]
    if "reason" in proposals:
        given = proposals["reason"].fillna("")
        texts = [printable(str(one)) or text for one, text in zip(given, texts, strict=True)]
    if "confidence" in proposals:
        shares = proposals["confidence"]
        texts = [
            text if pd.isna(share) else f"{text} ({_percent(share)})" for text, share in zip(texts, shares, strict=True)
        ]
    return texts


def _percent(share: float) -> str:
    """Write a share of 1 in percent, rounded down, so that 100 % is certain."""
    return f"{int(1000 * share) / 10:g} %"


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
            self.notes.append(f"{absent:,} of {count_of(len(frame), 'proposal')} found no transaction of the queue.")

    def _changed(self, change: StagedChange) -> None:
        self.revision += 1
        self.effect.add(change)
        for listener in self.listeners:
            listener(change)

    def assign(self, rows: Rows, category: int) -> str:
        """Choose one category for rows; splits keep the category that is proposed for them, or none."""
        is_split = self.rows.is_split[rows]
        free, name = rows[~is_split], self.category_name(category)
        count = self.staged.choose(free, category, f"{name} for {count_of(len(free), 'transaction')}")
        stay = count_of(int(is_split.sum()), "split transaction stays as it is", "split transactions stay as they are")
        kept = f" {stay}." if is_split.any() else ""
        if not count:
            return f"Nothing changed.{kept}"
        return " ".join([f"{self._described(free)} set to {name}.{kept}", *self._doubts(free, category)])

    def accept(self, rows: Rows) -> str:
        """Choose what is proposed for those rows that are not decided yet."""
        proposed = self.proposals.categories[rows]
        accepted = (proposed >= 0) & (self.staged.chosen[rows] == OPEN)
        rows, proposed = rows[accepted], proposed[accepted]
        if not self.staged.choose(rows, proposed, count_of(len(rows), "accepted proposal")):
            return "Nothing changed: there are no open proposals among these."
        return f"{self._described(rows)} accepted."

    def skip(self, rows: Rows) -> str:
        """Leave rows as they are, whatever is proposed for them."""
        count = self.staged.choose(rows, SKIPPED, count_of(len(rows), "skipped transaction"))
        return f"{count_of(count, 'transaction')} skipped: no plan changes them." if count else "Nothing changed."

    def clear(self, rows: Rows) -> str:
        """Make rows open again."""
        count = self.staged.choose(rows, OPEN, count_of(len(rows), "cleared decision"))
        return f"{count_of(count, 'transaction')} open again." if count else "Nothing changed."

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
        table = proposals_of(decisions, exact)
        attach_notes(table, notes, self._queue)
        return table

    def amount(self, units: int) -> str:
        """Text of an amount in whole minor units."""
        return format_amount(from_minor_units(units, self.rows.exact.scale))

    def _described(self, rows: Rows) -> str:
        units = sum(self.rows.units[row] for row in rows.tolist())
        return f"{count_of(len(rows), 'transaction')}, {self.amount(units)},"

    def _doubts(self, rows: Rows, category: int) -> Iterator[str]:
        """Yield why a category may be wrong: its type contradicts the direction, or ledgers are below it."""
        ledger_id = self.categories[category]
        decided = self.rows.frame.iloc[rows].assign(updated_category_ledger_id=ledger_id)
        yield from self.chart.direction_notes(decided)
        if hint := self.chart.parent_hint(ledger_id):
            yield f"{quote(self.chart.names.path(ledger_id))} {hint}"

    def require_category(self, text: object) -> int:
        """Find the number of a category by the id, unique name or path of its ledger."""
        return self.numbers[self.chart.find_category(text)]
