"""Choices of categories: by whom a row was decided, decisions by hand, and suggestions as proposals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.arguments import require_type, to_path
from accounting_analytics.categorization.category_ledgers import find_named
from accounting_analytics.categorization.decision_file import Decision, read_decisions
from accounting_analytics.categorization.transaction_groups import TRANSFER_DAYS, with_groups
from accounting_analytics.column_conversion import LIST_SEPARATOR, total
from accounting_analytics.errors import InputError
from accounting_analytics.messages import count_of, did_you_mean, join_ids, quote
from accounting_analytics.money import format_amount
from accounting_analytics.schemas import Proposals
from accounting_analytics.sheets.reader import SheetProblems

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from accounting_analytics.categorization.category_ledgers import Categories


class Choice(NamedTuple):
    """Category of a row of the queue, the rule or decision that gives it, and what a suggestion is based on."""

    ledger_id: str
    rule: str
    confidence: float | None = None
    reason: str | None = None


def left_note(rows: pd.DataFrame, chosen: Mapping[int, Choice], why: str) -> list[str]:
    """Count the transactions without a category; a transaction may have two rows."""
    transactions = rows["transaction_id"]
    left = transactions.drop(index=list(chosen)).nunique()
    return [f"{left:,} of {count_of(transactions.nunique(), 'transaction')} {why}."] if left else []


if TYPE_CHECKING:
    Decisions = Mapping[str, str] | str | Path

BY_HAND = "decided by hand"
"""The column ``rule`` of a transaction that was decided by its id; a group's id follows where that was decided."""
DECISIONS = (Mapping, str, Path)
DECISIONS_HINT = "pass {group_id or transaction_id: category}, or the path of a file with decisions"
_MAX_LISTED = 5


class DecidedByHand(NamedTuple):
    """Decisions of a mapping, or of a file, which may be about transactions that are not in the queue any more."""

    decisions: list[Decision]
    file: Path | None

    @classmethod
    def of(cls, given: Decisions) -> DecidedByHand:
        """Take the decisions of a mapping, or read those of a file."""
        require_type(given, DECISIONS, "decisions", DECISIONS_HINT)
        if isinstance(given, Mapping):
            return cls([Decision(key, category) for key, category in given.items()], None)
        file = to_path(given, "decisions")
        return cls(read_decisions(file), file)


class Decidable(NamedTuple):
    """Row numbers of each group and transaction, and which rows are split."""

    groups: Mapping[str, list[int]]
    transactions: Mapping[str, list[int]]
    split: frozenset[int]

    @classmethod
    def from_queue(cls, queue: pd.DataFrame) -> Decidable:
        """Index the rows of a queue, whose amounts are Arrow decimals, by group and transaction."""
        is_split = queue["opposing_ledger_ids"].str.contains(LIST_SEPARATOR, regex=False)
        split = frozenset(row for row, one in enumerate(is_split) if one)
        return cls(_positions(with_groups(queue)["group_id"]), _positions(queue["transaction_id"]), split)

    def has(self, key: str) -> bool:
        """Whether the queue has a group or a transaction of this id."""
        return key in self.groups or key in self.transactions

    def find(self, key: str) -> list[int]:
        """Rows of a group or a transaction."""
        found = self.transactions.get(key) or self.groups.get(key)
        if not found:
            known = [*self.groups, *self.transactions]
            hint = did_you_mean(key, known, most=3) or "group_queue(queue) lists the groups"
            raise InputError(f"{quote(key)} is neither a group nor a transaction of the queue; {hint}")
        return found

    def rows(self, key: str) -> list[int]:
        """Rows that a key of the decisions means."""
        found = self.find(key)
        if self.split.intersection(found):
            raise InputError(
                f"{quote(key)} is split: it has several categories, and the interface cannot divide them anew; it can "
                "move the uncategorized part as a whole: client.recategorize_transaction(..., category_ledger_id=...)"
            )
        return found


def _positions(ids: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(ids):
        found[text].append(position)
    return dict(found)


def chosen_by_hand(rows: pd.DataFrame, given: DecidedByHand, chart: Categories) -> tuple[dict[int, Choice], list[str]]:
    """Find the category of each decided row; a later decision replaces an earlier one."""
    decidable = Decidable.from_queue(rows)
    used = [one for one in given.decisions if given.file is None or decidable.has(one.key)]
    chosen: dict[int, Choice] = {}
    problems = SheetProblems(given.file or "the decisions")
    for one in used:
        try:
            found = decidable.rows(one.key)
            ledger_id = find_named(chart.find, one.category, f"decision {quote(one.key)}")
        except InputError as error:
            problems.add(str(error), *([] if one.row is None else [one.row]))
            continue
        reason = BY_HAND if one.key in decidable.transactions else f"{BY_HAND}: {one.key}"
        chosen |= dict.fromkeys(found, Choice(ledger_id, reason))
    problems.refuse()
    notes = [*left_note(rows, chosen, "not decided by hand"), *_parent_notes(used, chart)]
    return chosen, notes if given.file is None else [*notes, *_file_notes(given, decidable, rows)]


def _parent_notes(decisions: Iterable[Decision], chart: Categories) -> Iterator[str]:
    """Yield a sentence for each category that is a parent ledger, with its first decision."""
    first: dict[str, str] = {}
    for decision in decisions:
        first.setdefault(decision.category, decision.key)
    for category, key in first.items():
        if note := chart.parent_note(category):
            yield f"Decision {quote(key)}: {note}"


def _file_notes(given: DecidedByHand, decidable: Decidable, queue: pd.DataFrame) -> Iterator[str]:
    """Yield which decisions of a file fit nothing, and which groups have changed since it was written."""
    absent = [f"{quote(one.key)} (row {one.row})" for one in given.decisions if not decidable.has(one.key)]
    if absent:
        yield (
            f"{len(absent)} of {count_of(len(given.decisions), 'decision')} of {given.file} found no transaction of "
            "the queue, because theirs were categorized in the meantime, are of other days or accounts, or became "
            f"likely transfers or splits: {_first(absent)}."
        )
    if changed := list(_changed_groups(given.decisions, decidable, queue)):
        yield (
            f"{count_of(len(changed), 'decided group has', 'decided groups have')} other transactions than when "
            f"{given.file} was written, and the decision is that of all they have now: {_first(changed)}."
        )


def _changed_groups(decisions: Iterable[Decision], decidable: Decidable, queue: pd.DataFrame) -> Iterator[str]:
    parts = queue["category_amount"].fillna(queue["amount"])
    for one in decisions:
        rows = decidable.groups.get(one.key)
        if one.amount is None or rows is None:
            continue
        amount = total(parts.iloc[rows])
        if amount != one.amount:
            before = format_amount(one.amount)
            yield f"{quote(one.key)} ({count_of(len(rows), 'transaction')}, {format_amount(amount)}, was {before})"


def _first(texts: list[str]) -> str:
    """List the first texts, and count the others."""
    more = len(texts) - _MAX_LISTED
    return f"{', '.join(texts[:_MAX_LISTED])}{f' and {more:,} more' if more > 0 else ''}"


LIKELY_TRANSFER = "likely transfer"
"""The column ``rule`` of a likely transfer between own accounts."""
_KEY = ("transaction_id", "category_ledger_id")


def chosen_by_suggestions(
    rows: pd.DataFrame, suggestions: pd.DataFrame, chart: Categories, decided: Collection[int]
) -> tuple[dict[int, Choice], list[str]]:
    """Find the suggested category of each row that is not decided; suggestions for other rows are counted."""
    frame = Proposals.exact(suggestions).frame
    places = {key: row for row, key in enumerate(zip(*(rows[name] for name in _KEY), strict=True))}
    columns = [frame[name] for name in (*_KEY, "updated_category_ledger_id", "rule")]
    columns += [frame.get(name, pd.Series(None, frame.index, dtype=object)) for name in ("confidence", "reason")]
    chosen: dict[int, Choice] = {}
    absent: list[str] = []
    for transaction_id, suspense, category, rule, confidence, reason in zip(*columns, strict=True):
        row = places.get((transaction_id, suspense))
        if row is None:
            absent.append(transaction_id)
        elif row not in decided:
            chosen[row] = Choice(chart.find(category), rule, confidence, reason)
    suggested = count_of(len(chosen), "proposal is a suggestion", "proposals are suggestions")
    notes = [f"{suggested}: check before applying."] if chosen else []
    if absent:
        notes.append(
            f"{count_of(len(absent), 'suggestion')} for transactions that are not in the queue: {join_ids(absent)}."
        )
    return chosen, notes


def chosen_as_transfers(
    rows: pd.DataFrame, chart: Categories, decided: Collection[int]
) -> tuple[dict[int, Choice], list[str]]:
    """Give likely transfers between own accounts, where no rule or decision has them, their required ledger."""
    grouped = with_groups(rows)
    likely = grouped[(grouped["kind"] == "transfer") & ~grouped.index.isin(list(decided))]
    if likely.empty:
        return {}, []
    moved = format_amount(total(likely.loc[likely["direction"] == "inflow", "amount"]))
    what = f"{count_of(len(likely), 'likely transfer')} between own accounts, of {moved} in all"
    if chart.transfers is None:
        return {}, [f"{what}; the ledger of transfers is not among these ledgers, so none is proposed."]
    accounts = dict(zip(rows["ledger_id"], rows["ledger_name"].fillna("another account"), strict=True))
    chosen = {
        row: Choice(
            chart.transfers,
            LIKELY_TRANSFER,
            reason=f"equal and opposite amount on {accounts.get(other, other)} within {TRANSFER_DAYS} days",
        )
        for row, other in zip(likely.index.tolist(), likely["counterpart_ledger_id"], strict=True)
    }
    name = quote(chart.names.name(chart.transfers))
    return chosen, [f"{what}; they are proposed for {name}, apart from rules and suggestions."]
