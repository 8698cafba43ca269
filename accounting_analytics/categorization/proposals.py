"""Proposals: the categories that rules, and decisions by hand, give the transactions of the queue."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.arguments import require_type, to_path
from accounting_analytics.categorization.category_ledgers import Categories, find_named
from accounting_analytics.categorization.decision_file import Decision, read_decisions
from accounting_analytics.categorization.rules import Rules
from accounting_analytics.categorization.transaction_groups import with_groups
from accounting_analytics.categorization.uncategorized_queue import exact_queue
from accounting_analytics.column_conversion import LIST_SEPARATOR, total
from accounting_analytics.errors import InputError, RulesError
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.messages import quote
from accounting_analytics.money import format_amount
from accounting_analytics.schemas import Ledgers, Proposals
from accounting_analytics.sheets.reader import SheetProblems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Decisions = Mapping[str, str] | str | Path

BY_HAND = "decided by hand"
"""The column ``rule`` of a transaction that was decided by its id; a group's id follows where that was decided."""
_MAX_LISTED = 5
_DECISIONS = (Mapping, str, Path)
_DECISIONS_HINT = "pass {group_id or transaction_id: category}, or the path of a file with decisions"


class Choice(NamedTuple):
    """Category of a row of the queue, and the rule or decision that gives it."""

    ledger_id: str
    reason: str


def propose(
    queue: pd.DataFrame,
    rules: Rules | None,
    ledgers: pd.DataFrame,
    *,
    decisions: Decisions | Sequence[Decisions] | None = None,
) -> pd.DataFrame:
    """Propose a category for each transaction of the queue that matches a rule or was decided by hand.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    rules : Rules or None
        The first matching rule decides; None leaves all to `decisions`.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; categories and accounts are looked up here.
    decisions : mapping, path, or sequence of these, optional
        What a person decided, as in :func:`decide`. It replaces what rules decide, and later ones earlier ones.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the rows of the queue that match a rule or were decided, with
        ``updated_category_ledger_id``, ``updated_category_ledger_name`` and ``rule``. ``attrs["notes"]`` states how
        many transactions match no rule, which rules match nothing, which name an unknown category or decide
        transactions with a parent ledger, how many proposals decisions replaced, and which receipts are proposed as
        expenses or payments as revenue; further what :func:`decide` notes.

    Raises
    ------
    InputError
        An argument is of another type, or decisions cannot be used.
    RulesError
        A category or account is ambiguous or of the wrong kind, an account is unknown, or the category of a rule
        that matches a transaction is unknown.

    Examples
    --------
    ::

        proposals = propose(queue, load_rules("rules.toml"), ledgers, decisions="decisions.xlsx")
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    if rules is not None or decisions is None:
        require_type(rules, Rules, "rules", "load_rules(path) reads them")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    by_hand = [_DecidedByHand.of(one) for one in _listed(decisions)]
    exact = exact_queue(queue)
    rows = exact.frame
    chart = Categories(Ledgers.checked(ledgers), set(rows["category_ledger_id"]))
    chosen: dict[int, Choice] = {}
    notes, replaced = list(exact.notes), 0
    if rules is not None:
        chosen, more = _chosen_by_rules(rows, rules, chart)
        notes += more
    for one in by_hand:
        decided, more = _chosen_by_hand(rows, one, chart)
        replaced += len(chosen.keys() & decided.keys())
        chosen |= decided
        notes += more
    if replaced:
        notes.append(f"{replaced:,} proposal(s) were replaced by later ones.")
    order = sorted(chosen)
    ids = pd.Series([chosen[row].ledger_id for row in order], order, dtype="str")
    proposals = rows.loc[order].assign(
        updated_category_ledger_id=ids,
        updated_category_ledger_name=ids.map(chart.names.name).astype("str"),
        rule=pd.Series([chosen[row].reason for row in order], order, dtype="str"),
    )
    notes += chart.direction_notes(proposals)
    proposals = Proposals.from_exact(proposals.reset_index(drop=True), exact.scale, as_decimals=exact.as_decimals)
    attach_notes(proposals, notes, queue)
    return proposals


def decide(queue: pd.DataFrame, decisions: Decisions, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Propose the categories that a person decided for groups and transactions.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    decisions : mapping of str to str, or path
        Category (id, unique name or path) of each ``group_id`` of :func:`group_queue` or ``transaction_id``; or the
        file that ``accounting-analytics queue --output`` wrote and a person filled in: CSV, or Excel with the extra
        ``excel``. Where a transaction is decided twice, such as by its group and by its id, the later entry of a
        mapping wins, and in a file the row of the transaction. The decision of a group is that of all transactions it
        has in `queue`, also of those that were added to the books since.
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
        The file cannot be read; a category is unknown, ambiguous, cash or uncategorized, a decided transaction is
        split, or a key that is not of a file is neither a group nor a transaction of the queue. The message names all
        unusable decisions.

    Examples
    --------
    ::

        decided = decide(queue, {"blue-bottle-245706": "Expenses:Meals", "txn_42": "Travel"}, ledgers)
        decided = decide(queue, "decisions.csv", ledgers)
    """
    require_type(decisions, _DECISIONS, "decisions", _DECISIONS_HINT)
    return propose(queue, None, ledgers, decisions=decisions)


def find_accounts(rules: Rules, chart: Categories) -> dict[str, str]:
    """Find the ledger id of each account that a rule names, by the text in the rule."""
    return {
        rule.ledger: find_named(chart.find_account, rule.ledger, f"rule {rule.name!r}", RulesError)
        for rule in rules
        if rule.ledger
    }


def _chosen_by_rules(rows: pd.DataFrame, rules: Rules, chart: Categories) -> tuple[dict[int, Choice], list[str]]:
    """Find the category of each row that a rule matches; an unknown category is refused where its rule decides."""
    matches = rules.match(rows, find_accounts(rules, chart))
    deciding = set(matches)
    ids = {
        rule.name: find_named(chart.find, rule.category, f"rule {rule.name!r}", RulesError)
        for rule in rules
        if rule.name in deciding or rule.category in chart.names
    }
    chosen = {row: Choice(ids[name], name) for row, name in enumerate(matches) if name is not None}
    return chosen, [*_left_note(rows, chosen, "match no rule"), *_rule_notes(rules, deciding, chart)]


def _left_note(rows: pd.DataFrame, chosen: Mapping[int, Choice], why: str) -> list[str]:
    """Count the transactions without a category; a transaction may have two rows."""
    transactions = rows["transaction_id"]
    left = transactions.drop(index=list(chosen)).nunique()
    return [f"{left:,} of {transactions.nunique():,} transaction(s) {why}."] if left else []


def _rule_notes(rules: Rules, deciding: set[str | None], chart: Categories) -> Iterator[str]:
    unknown = {rule.name: rule.category for rule in rules if rule.category not in chart.names}
    for name, category in unknown.items():
        suggestion = chart.names.suggestion(category)
        hint = f" ({suggestion})" if suggestion else ""
        yield (
            f"Rule {name!r} names the category {category!r}, which was not discovered{hint}; the rule matched nothing."
        )
    for rule in rules:
        if rule.name in deciding and (note := chart.parent_note(rule.category)):
            yield f"Rule {rule.name!r}: {note}"
    unused = [repr(rule.name) for rule in rules if rule.name not in deciding | unknown.keys()]
    if unused:
        yield f"{len(unused)} of {len(rules)} rule(s) decide no transaction: {', '.join(unused)}."


class _DecidedByHand(NamedTuple):
    """Decisions of a mapping, or of a file, which may be about transactions that are not in the queue any more."""

    decisions: list[Decision]
    file: Path | None

    @classmethod
    def of(cls, given: Decisions) -> _DecidedByHand:
        """Take the decisions of a mapping, or read those of a file."""
        require_type(given, _DECISIONS, "decisions", _DECISIONS_HINT)
        if isinstance(given, Mapping):
            return cls([Decision(key, category) for key, category in given.items()], None)
        file = to_path(given, "decisions")
        return cls(read_decisions(file), file)


def _listed(decisions: Decisions | Sequence[Decisions] | None) -> list[Decisions]:
    if decisions is None:
        return []
    return list(decisions) if isinstance(decisions, list | tuple) else [decisions]  # type: ignore[list-item]


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
            close = get_close_matches(str(key), [*self.groups, *self.transactions], n=3)
            hint = f"did you mean {' or '.join(map(quote, close))}?" if close else "group_queue(queue) lists the groups"
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


def _chosen_by_hand(
    rows: pd.DataFrame, given: _DecidedByHand, chart: Categories
) -> tuple[dict[int, Choice], list[str]]:
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
    notes = [*_left_note(rows, chosen, "are not decided by hand"), *_parent_notes(used, chart)]
    return chosen, notes if given.file is None else [*notes, *_file_notes(given, decidable, rows)]


def _parent_notes(decisions: Iterable[Decision], chart: Categories) -> Iterator[str]:
    """Yield a sentence for each category that is a parent ledger, with its first decision."""
    first: dict[str, str] = {}
    for decision in decisions:
        first.setdefault(decision.category, decision.key)
    for category, key in first.items():
        if note := chart.parent_note(category):
            yield f"Decision {quote(key)}: {note}"


def _file_notes(given: _DecidedByHand, decidable: Decidable, queue: pd.DataFrame) -> Iterator[str]:
    """Yield which decisions of a file fit nothing, and which groups have changed since it was written."""
    absent = [f"{quote(one.key)} (row {one.row})" for one in given.decisions if not decidable.has(one.key)]
    if absent:
        yield (
            f"{len(absent)} of {len(given.decisions)} decision(s) of {given.file} fit no transaction of the queue, "
            "because theirs were categorized in the meantime, are of other days or accounts, or became likely "
            f"transfers or splits: {_first(absent)}."
        )
    if changed := list(_changed_groups(given.decisions, decidable, queue)):
        yield (
            f"{len(changed)} decided group(s) have other transactions than when {given.file} was written, and "
            f"the decision is that of all they have now: {_first(changed)}."
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
            yield f"{quote(one.key)} ({len(rows):,} transaction(s), {format_amount(amount)}, was {before})"


def _first(texts: list[str]) -> str:
    """List the first texts, and count the others."""
    more = len(texts) - _MAX_LISTED
    return f"{', '.join(texts[:_MAX_LISTED])}{f' and {more:,} more' if more > 0 else ''}"
