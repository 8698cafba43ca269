"""Proposals: the categories that rules, and decisions by hand, give the transactions of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.category_ledgers import Categories, find_named
from accounting_analytics.categorization.choices import (
    DECISIONS,
    DECISIONS_HINT,
    Choice,
    DecidedByHand,
    chosen_as_transfers,
    chosen_by_hand,
    chosen_by_suggestions,
    left_note,
)
from accounting_analytics.categorization.rules import Rules
from accounting_analytics.categorization.uncategorized_queue import exact_queue
from accounting_analytics.errors import RulesError
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.messages import count_of
from accounting_analytics.schemas import Ledgers, Proposals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.categorization.choices import Decisions


def propose(
    queue: pd.DataFrame,
    rules: Rules | None,
    ledgers: pd.DataFrame,
    *,
    decisions: Decisions | Sequence[Decisions] | None = None,
    suggestions: pd.DataFrame | None = None,
    transfers: bool = False,
) -> pd.DataFrame:
    """Propose a category for each transaction of the queue that matches a rule, was decided by hand, or is suggested.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    rules : Rules or None
        The first matching rule decides; None leaves all to the others.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; categories and accounts are looked up here.
    decisions : mapping, path, or sequence of these, optional
        What a person decided, as in :func:`decide`. It replaces what rules decide, and later ones earlier ones.
    suggestions : DataFrame, optional
        What :func:`suggest` returns, or a part of it, for what rules and decisions leave.
    transfers : bool, default False
        Propose the ledger of transfers between accounts for likely transfers that rules and decisions leave: equal and
        opposite amounts on two accounts within 7 days. Their ``rule`` is ``likely transfer``.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the rows of the queue that match a rule or were decided, with
        ``updated_category_ledger_id``, ``updated_category_ledger_name`` and ``rule``, and with `suggestions` or
        `transfers` their ``confidence`` and ``reason``. ``attrs["notes"]`` states how
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
    if rules is not None or (decisions is None and suggestions is None and not transfers):
        require_type(rules, Rules, "rules", "load_rules(path) reads them")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    if suggestions is not None:
        require_type(suggestions, pd.DataFrame, "suggestions", "suggest(queue, history, ledgers) returns them")
    by_hand = [DecidedByHand.of(one) for one in _listed(decisions)]
    exact = exact_queue(queue)
    rows = exact.frame
    chart = Categories(Ledgers.checked(ledgers), set(rows["category_ledger_id"]))
    chosen: dict[int, Choice] = {}
    notes, replaced = list(exact.notes), 0
    if rules is not None:
        chosen, more = _chosen_by_rules(rows, rules, chart)
        notes += more
    for one in by_hand:
        decided, more = chosen_by_hand(rows, one, chart)
        replaced += len(chosen.keys() & decided.keys())
        chosen |= decided
        notes += more
    if replaced:
        notes.append(f"{count_of(replaced, 'proposal was', 'proposals were')} replaced by later ones.")
    if suggestions is not None:
        suggested, more = chosen_by_suggestions(rows, suggestions, chart, chosen)
        chosen |= suggested
        notes += more
    if transfers:
        moved, more = chosen_as_transfers(rows, chart, chosen)
        chosen |= moved
        notes += more
    proposals = _with_choices(rows, chosen, chart, with_reasons=transfers or suggestions is not None)
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
    require_type(decisions, DECISIONS, "decisions", DECISIONS_HINT)
    return propose(queue, None, ledgers, decisions=decisions)


def _with_choices(
    rows: pd.DataFrame, chosen: dict[int, Choice], chart: Categories, *, with_reasons: bool
) -> pd.DataFrame:
    """Rows of the queue that have a choice, with its columns."""
    order = sorted(chosen)
    ids = pd.Series([chosen[row].ledger_id for row in order], order, dtype="str")
    proposals = rows.loc[order].assign(
        updated_category_ledger_id=ids,
        updated_category_ledger_name=ids.map(chart.names.name).astype("str"),
        rule=pd.Series([chosen[row].rule for row in order], order, dtype="str"),
    )
    if not with_reasons:
        return proposals
    return proposals.assign(
        confidence=pd.Series([chosen[row].confidence for row in order], order, dtype="float64"),
        reason=pd.Series([chosen[row].reason for row in order], order, dtype="str"),
    )


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
    return chosen, [*left_note(rows, chosen, "matched no rule"), *_rule_notes(rules, deciding, chart)]


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
        yield f"{len(unused)} of {count_of(len(rules), 'rule')} decided no transaction: {', '.join(unused)}."


def _listed(decisions: Decisions | Sequence[Decisions] | None) -> list[Decisions]:
    if decisions is None:
        return []
    return list(decisions) if isinstance(decisions, list | tuple) else [decisions]  # type: ignore[list-item]
