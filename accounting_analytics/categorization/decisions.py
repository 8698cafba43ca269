"""Decisions: categories that a person gives groups and transactions, combined with the proposals of rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.categories import Categories
from accounting_analytics.categorization.decision_file import Decisions, refuse
from accounting_analytics.categorization.groups import with_groups
from accounting_analytics.categorization.uncategorized_queue import largest_first
from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.frame_columns import LIST_SEPARATOR, total
from accounting_analytics.load_metadata import notes
from accounting_analytics.messages import quote
from accounting_analytics.money import format_amount
from accounting_analytics.schemas import Ledgers, Proposals, Queue

if TYPE_CHECKING:
    from collections.abc import Iterator

BY_HAND = "decided by hand"
"""The column ``rule`` of a transaction that was decided by its id; a group's id follows where that was decided."""
_MAX_LISTED = 5


def decide(queue: pd.DataFrame, decisions: Mapping[str, str], ledgers: pd.DataFrame) -> pd.DataFrame:
    """Propose the categories that a person decided for groups and transactions.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    decisions : mapping of str to str
        Category (id, unique name or path) of each ``group_id`` of :func:`group_queue` or ``transaction_id``, such as
        :func:`load_decisions` reads. Where a transaction is decided twice, such as by its group and by its id, the
        later entry wins. The decision of a group is that of all transactions it has in `queue`, also of those that
        were added to the books since.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; categories are looked up here.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the decided rows of the queue. ``rule`` is ``decided by
        hand``, with the id of the group where that was decided. ``attrs["notes"]`` counts what is left, and lists
        categories that are parent ledgers, decisions of a file that fit no transaction of the queue, and groups that
        have changed since it was written.

    Raises
    ------
    InputError
        A category is unknown, ambiguous, cash or uncategorized, a decided transaction is split, or a key that is not
        of a file is neither a group nor a transaction of the queue. The message names all unusable decisions.

    Examples
    --------
    ::

        decided = decide(queue, {"blue-bottle-245706": "Expenses:Meals", "txn_42": "Travel"}, ledgers)
        proposals = combine_proposals(propose(queue, rules, ledgers), decided)
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    require_type(decisions, Mapping, "decisions", "pass {group_id or transaction_id: category} or load_decisions(path)")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    exact = Queue.exact(queue)
    rows = exact.frame.reset_index(drop=True)
    chart = Categories(Ledgers.checked(ledgers), set(rows["category_ledger_id"]))
    decidable = Decidable.from_queue(rows)
    chosen = _chosen(decidable, decisions, chart)
    decided = rows.loc[sorted(chosen)]
    ids = pd.Series([chosen[row].ledger_id for row in decided.index], decided.index, dtype="str")
    proposals = decided.assign(
        updated_category_ledger_id=ids,
        updated_category_ledger_name=ids.map(chart.names.name).astype("str"),
        rule=pd.Series([chosen[row].reason for row in decided.index], decided.index, dtype="str"),
    ).reset_index(drop=True)
    proposals = Proposals.from_exact(proposals, exact.scale, as_decimals=exact.as_decimals)
    changes = _file_notes(decisions, decidable, rows) if isinstance(decisions, Decisions) else ()
    proposals.attrs["notes"] = (
        *exact.notes,
        *_notes(len(rows), len(proposals)),
        *_parent_notes(decisions, decidable, chart),
        *changes,
    )
    return proposals


def combine_proposals(*proposals: pd.DataFrame) -> pd.DataFrame:
    """Combine proposals of rules and decisions; where a transaction is in several, the last one wins.

    Parameters
    ----------
    *proposals : DataFrame
        :class:`~accounting_analytics.schemas.Proposals` of the same queue, such as ``propose(...), decide(...)``.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`, largest first; each row keeps its ``rule``.
        ``attrs["notes"]`` has the notes of all, and counts the proposals that a later one replaced.

    Raises
    ------
    InputError
        There are no proposals, or one is not a DataFrame.
    FrameError
        They have different scales.
    """
    if not proposals:
        msg = "there are no proposals to combine; pass those of propose(...) and decide(...)"
        raise InputError(msg)
    for position, one in enumerate(proposals, start=1):
        require_type(one, pd.DataFrame, f"proposals number {position}", "propose and decide return them")
    exacts = [Proposals.exact(one) for one in proposals]
    scales = {exact.scale for exact in exacts}
    if len(scales) > 1:
        msg = f"the proposals have amounts of several scales, {sorted(scales)}; combine proposals of one queue"
        raise FrameError(msg)
    rows = pd.concat([exact.frame for exact in exacts], ignore_index=True)
    kept = rows.drop_duplicates(["transaction_id", "category_ledger_id"], keep="last")
    combined = Proposals.from_exact(
        largest_first(kept), exacts[0].scale, as_decimals=any(exact.as_decimals for exact in exacts)
    )
    replaced = len(rows) - len(kept)
    earlier = dict.fromkeys(note for one in proposals for note in notes(one))
    combined.attrs["notes"] = (
        *earlier,
        *([f"{replaced:,} proposal(s) were replaced by later ones."] if replaced else []),
    )
    return combined


class _Choice(NamedTuple):
    """Category of a row, and why."""

    ledger_id: str
    reason: str


class Decidable(NamedTuple):
    """Row labels of each group and transaction, and which rows are split."""

    groups: Mapping[str, list[int]]
    transactions: Mapping[str, list[int]]
    split: frozenset[int]

    @classmethod
    def from_queue(cls, queue: pd.DataFrame) -> Decidable:
        """Index the rows of a queue, whose amounts are Arrow decimals, by group and transaction."""
        is_split = queue["opposing_ledger_ids"].str.contains(LIST_SEPARATOR, regex=False)
        return cls(
            _labels(with_groups(queue)["group_id"]), _labels(queue["transaction_id"]), frozenset(queue.index[is_split])
        )

    def has(self, key: str) -> bool:
        """Whether the queue has a group or a transaction of this id."""
        return key in self.groups or key in self.transactions

    def rows(self, key: str) -> list[int]:
        """Rows that a key of the decisions means."""
        found = self.transactions.get(key) or self.groups.get(key)
        if not found:
            close = get_close_matches(str(key), [*self.groups, *self.transactions], n=3)
            hint = f"did you mean {' or '.join(map(quote, close))}?" if close else "group_queue(queue) lists the groups"
            msg = f"{quote(key)} is neither a group nor a transaction of the queue; {hint}"
            raise InputError(msg)
        if self.split.intersection(found):
            msg = (
                f"{quote(key)} is split: it has several categories, and the interface cannot divide them anew; it can "
                "move the uncategorized part as a whole: client.recategorize_transaction(..., category_ledger_id=...)"
            )
            raise InputError(msg)
        return found


def _labels(column: pd.Series[Any]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for label, text in column.items():
        found[text].append(label)  # type: ignore[arg-type]
    return dict(found)


def _chosen(decidable: Decidable, decisions: Mapping[str, str], chart: Categories) -> dict[int, _Choice]:
    """Find the category of each decided row; a later decision replaces an earlier one."""
    chosen: dict[int, _Choice] = {}
    problems = []
    file = decisions if isinstance(decisions, Decisions) else None
    for key, category in decisions.items():
        if file is not None and not decidable.has(key):
            continue
        try:
            rows, ledger_id = decidable.rows(key), _find(chart, category, key)
        except InputError as error:
            problems.append(str(error) if file is None else f"row {file.row(key)}: {error}")
            continue
        reason = BY_HAND if key in decidable.transactions else f"{BY_HAND}: {key}"
        chosen |= dict.fromkeys(rows, _Choice(ledger_id, reason))
    refuse(problems, "" if file is None else file.source)
    return chosen


def _find(chart: Categories, category: str, key: str) -> str:
    """Id of the category of a decision; an error names the decision."""
    try:
        return chart.find(category)
    except InputError as error:
        msg = f"decision {quote(key)}: {error}"
        raise InputError(msg) from None


def _notes(count: int, decided: int) -> Iterator[str]:
    if count > decided:
        yield f"{count - decided:,} of {count:,} transaction(s) are not decided by hand."


def _parent_notes(decisions: Mapping[str, str], decidable: Decidable, chart: Categories) -> Iterator[str]:
    """Yield a sentence for each category that is a parent ledger, with its first decision."""
    first: dict[str, str] = {}
    for key in filter(decidable.has, decisions):
        first.setdefault(decisions[key], key)
    for category, key in first.items():
        if note := chart.parent_note(category):
            yield f"Decision {quote(key)}: {note}"


def _file_notes(decisions: Decisions, decidable: Decidable, queue: pd.DataFrame) -> Iterator[str]:
    """Yield which decisions of a file fit nothing, and which groups have changed since it was written."""
    absent = [f"{quote(key)} (row {decisions.row(key)})" for key in decisions if not decidable.has(key)]
    if absent:
        yield (
            f"{len(absent)} of {len(decisions)} decision(s) of {decisions.source} fit no transaction of the queue, "
            "because theirs were categorized in the meantime, are of other days or accounts, or became likely "
            f"transfers or splits: {_first(absent)}."
        )
    if changed := list(_changed_groups(decisions, decidable, queue)):
        yield (
            f"{len(changed)} decided group(s) have other transactions than when {decisions.source} was written, and "
            f"the decision is that of all they have now: {_first(changed)}."
        )


def _changed_groups(decisions: Decisions, decidable: Decidable, queue: pd.DataFrame) -> Iterator[str]:
    parts = queue["category_amount"].fillna(queue["amount"])
    for key in decisions:
        before = decisions.amount(key)
        if before is None or key not in decidable.groups:
            continue
        rows = decidable.groups[key]
        amount = total(parts.loc[rows])
        if amount != before:
            yield f"{quote(key)} ({len(rows):,} transaction(s), {format_amount(amount)}, was {format_amount(before)})"


def _first(texts: list[str]) -> str:
    """List the first texts, and count the others."""
    more = len(texts) - _MAX_LISTED
    return f"{', '.join(texts[:_MAX_LISTED])}{f' and {more:,} more' if more > 0 else ''}"
