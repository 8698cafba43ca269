"""Proposals: the category that the rules give each transaction of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.categories import Categories
from accounting_analytics.categorization.rules import Rules
from accounting_analytics.errors import InputError, RulesError
from accounting_analytics.schemas import Ledgers, Proposals, Queue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from accounting_analytics.categorization.rules import Rule


def propose(queue: pd.DataFrame, rules: Rules, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Propose a category for each transaction of the queue that matches a rule.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    rules : Rules
        The first matching rule decides.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; categories and accounts are looked up here.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the rows of the queue that match a rule, with
        ``updated_category_ledger_id``, ``updated_category_ledger_name`` and ``rule``. ``attrs["notes"]`` states how
        many transactions match no rule, which rules match nothing, and which name an unknown category or decide
        transactions with a parent ledger.

    Raises
    ------
    InputError
        An argument is of another type.
    RulesError
        A category or account is ambiguous or of the wrong kind, an account is unknown, or the category of a rule
        that matches a transaction is unknown.
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    require_type(rules, Rules, "rules", "load_rules(path) reads them")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    exact = Queue.exact(queue)
    queue, ledgers = exact.frame, Ledgers.checked(ledgers)
    chart = Categories(ledgers, set(queue["category_ledger_id"]))
    unknown = {rule.name: rule.category for rule in rules if rule.category not in chart.names}
    category_ids = {rule.name: _find(chart.find, rule, rule.category) for rule in rules if rule.name not in unknown}
    account_ids = find_accounts(rules, chart)
    matches = rules.match(queue, account_ids)
    category_ids |= {
        rule.name: _find(chart.find, rule, rule.category)
        for rule in rules
        if rule.name in unknown.keys() & set(matches)
    }
    rule_names = pd.Series(matches, index=queue.index, dtype="str")
    updated = rule_names.map(category_ids).astype("str")
    proposals = queue.assign(
        updated_category_ledger_id=updated,
        updated_category_ledger_name=updated.map(chart.names.name, na_action="ignore").astype("str"),
        rule=rule_names,
    )[rule_names.notna()].reset_index(drop=True)
    proposals = Proposals.from_exact(proposals, exact.scale, as_decimals=exact.as_decimals)
    proposals.attrs["notes"] = (*exact.notes, *_notes(queue, proposals, rules, unknown, chart))
    return proposals


def find_accounts(rules: Rules, chart: Categories) -> dict[str, str]:
    """Find the ledger id of each account that a rule names, by the text in the rule.

    Raises
    ------
    RulesError
        An account is unknown, ambiguous or does not report cash flow; the message names the rule.
    """
    return {rule.ledger: _find(chart.find_account, rule, rule.ledger) for rule in rules if rule.ledger is not None}


def _notes(
    queue: pd.DataFrame, proposals: pd.DataFrame, rules: Rules, unknown: Mapping[str, str], chart: Categories
) -> Iterator[str]:
    remaining = len(queue) - len(proposals)
    if remaining:
        yield f"{remaining:,} of {len(queue):,} transaction(s) match no rule."
    for name, category in unknown.items():
        suggestion = chart.names.suggestion(category)
        hint = f" ({suggestion})" if suggestion else ""
        yield (
            f"Rule {name!r} names the category {category!r}, which was not discovered{hint}; the rule matched nothing."
        )
    deciding = set(proposals["rule"])
    for rule in rules:
        if rule.name in deciding and (note := chart.parent_note(rule.category)):
            yield f"Rule {rule.name!r}: {note}"
    used = deciding | unknown.keys()
    unused = [repr(rule.name) for rule in rules if rule.name not in used]
    if unused:
        yield f"{len(unused)} of {len(rules)} rule(s) decide no transaction: {', '.join(unused)}."


def _find(find: Callable[[object], str], rule: Rule, text: str) -> str:
    """Find the ledger that a rule names; an error names the rule."""
    try:
        return find(text)
    except InputError as error:
        msg = f"rule {rule.name!r}: {error}"
        raise RulesError(msg) from None
