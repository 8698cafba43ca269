"""Propose categories for the rows of a queue by rules, by hand, from suggestions, and for likely transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import total
from accounting_analytics.core.errors import RulesError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import format_amount
from accounting_analytics.recategorization.decisions import choose_by_hand, each_of, left_note, require_decisions
from accounting_analytics.recategorization.open_queue import OpenQueue
from accounting_analytics.recategorization.queue import TRANSFER_DAYS
from accounting_analytics.recategorization.rules import Rules
from accounting_analytics.reports.books.category_ledgers import Categories, find_named
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accounting_analytics.recategorization.changes import Change
    from accounting_analytics.recategorization.decisions import Decisions
    from accounting_analytics.reports.books.value import Books


def propose(
    queue: pd.DataFrame,
    rules: Rules | None,
    books: Books,
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
    books : Books
        The books; categories and accounts are looked up in their ledgers.
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
        ``updated_category_ledger_id``, ``updated_category_ledger_name``, ``rule``, and of suggestions and transfers
        ``confidence`` and ``reason``. ``attrs["notes"]`` states how many transactions match no rule, which rules match
        nothing or name an unknown category, how many proposals decisions replaced, which categories are parent ledgers,
        and which receipts are proposed as expenses or payments as revenue; further what :func:`decide` notes.

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

        proposals = propose(queue, load_rules("rules.toml"), books, decisions="decisions.xlsx")
    """
    if rules is not None or (decisions is None and suggestions is None and not transfers):
        require_type(rules, Rules, "rules", "load_rules(path) reads them")
    if suggestions is not None:
        require_type(suggestions, pd.DataFrame, "suggestions", "suggest(queue, books) returns them")
    asked = OpenQueue(queue, to_books(books).ledgers)
    notes = list(asked.exact.notes)
    chosen = {} if rules is None else choose_by_rules(asked, rules, notes)
    replaced = 0
    for source in each_of(decisions):
        decided = choose_by_hand(asked, source, notes)
        replaced += len(decided.keys() & chosen.keys())
        chosen |= decided
    if replaced:
        notes.append(f"{count_of(replaced, 'proposal was', 'proposals were')} replaced by later ones.")
    if suggestions is not None:
        chosen = _choose_suggested(asked, suggestions, notes, chosen)
    if transfers:
        chosen |= _choose_transfers(asked, notes, chosen)
    return asked.proposals(chosen, notes)


def decide(queue: pd.DataFrame, decisions: Decisions, books: Books) -> pd.DataFrame:
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
    books : Books
        The books; categories are looked up in their ledgers.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the decided rows of the queue. ``rule`` is ``decided by
        hand``, with the id of the group where that was decided. ``attrs["notes"]`` counts what is left, and lists
        categories that are parent ledgers, and decisions of a file that fit no transaction of the queue.

    Raises
    ------
    InputError
        The file cannot be read; a category is unknown, ambiguous, cash or uncategorized, a decided transaction is
        split, or a key that is not of a file is neither a group nor a transaction of the queue. The message names all
        unusable decisions.

    Examples
    --------
    ::

        decided = decide(queue, {"blue-bottle-82e039": "Expenses:Meals", "txn_42": "Travel"}, books)
        decided = decide(queue, "decisions.csv", books)
    """
    require_decisions(decisions)
    return propose(queue, None, books, decisions=decisions)


def choose_by_rules(asked: OpenQueue, rules: Rules, notes: list[str]) -> dict[int, Change]:
    """Choose the category of each row that a rule matches.

    A rule whose category is unknown is refused only if the rule decides a row.
    """
    chart = asked.chart
    matches = rules.match(asked.rows, chart).deciding.tolist()
    deciding = set(matches)
    categories = {
        rule.name: find_named(chart.find_category, rule.category, f"rule {rule.name!r}", RulesError)
        for rule in rules
        if rule.name in deciding or rule.category in chart.names
    }
    chosen = {
        row: asked.changes[row].decided(categories[name], chart, name)
        for row, name in enumerate(matches)
        if name is not None
    }
    notes += [*left_note(asked, chosen, "matched no rule"), *_rule_notes(rules, deciding, chart)]
    return chosen


def _rule_notes(rules: Rules, deciding: set[str | None], chart: Categories) -> Iterator[str]:
    unknown = {rule.name: rule.category for rule in rules if rule.category not in chart.names}
    for name, category in unknown.items():
        suggestion = chart.names.suggestion(category)
        hint = f" ({suggestion})" if suggestion else ""
        yield (
            f"Rule {name!r} names the category {category!r}, which was not discovered{hint}; the rule matched nothing."
        )
    unused = [repr(rule.name) for rule in rules if rule.name not in deciding | unknown.keys()]
    if unused:
        yield f"{len(unused)} of {count_of(len(rules), 'rule')} decided no transaction: {', '.join(unused)}."


def _choose_suggested(
    asked: OpenQueue, suggestions: pd.DataFrame, notes: list[str], chosen: dict[int, Change]
) -> dict[int, Change]:
    """Add suggestions for rows that are not decided.

    Write a note on suggestions for transactions outside the queue.
    """
    found, absent = asked.read_proposals(suggestions)
    if more := len(found.keys() - chosen.keys()):
        suggested = count_of(more, "proposal is a suggestion", "proposals are suggestions")
        notes.append(f"{suggested}: check before applying.")
    if absent:
        notes.append(
            f"{count_of(len(absent), 'suggestion')} for transactions that are not in the queue: {join_ids(absent)}."
        )
    return found | chosen


def _choose_transfers(asked: OpenQueue, notes: list[str], chosen: Mapping[int, Change]) -> dict[int, Change]:
    """Choose the transfer ledger for likely transfers that are not decided yet."""
    left, chart = asked.rows.drop(index=list(chosen)), asked.chart
    likely = left[left["kind"] == "transfer"]
    if likely.empty:
        return {}
    moved = format_amount(total(likely.loc[likely["direction"] == "inflow", "transaction_amount"]))
    what = f"{count_of(len(likely), 'likely transfer')} between own accounts, of {moved} in all"
    if chart.transfers is None:
        notes.append(f"{what}; the ledger of transfers is not among these ledgers, so none is proposed.")
        return {}
    name = quote(chart.names.name(chart.transfers))
    notes.append(f"{what}; they are proposed for {name}, apart from rules and suggestions.")
    reason = f"equal and opposite amount on {{}} within {TRANSFER_DAYS} days"
    others = map(chart.names.name, likely["counterpart_ledger_id"])
    return {
        row: asked.changes[row].decided(chart.transfers, chart, "likely transfer", reason=reason.format(other))
        for row, other in zip(likely.index.tolist(), others, strict=True)
    }
