"""Proposals: the category that the rules give each transaction of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.categorization.uncategorized_ledgers import uncategorized_ledgers
from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import RulesError
from accounting_analytics.schemas import Ledgers, Proposals, Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.categorization.rules import Rules

PATH_SEPARATOR = ":"


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
        many transactions match no rule, which rules match nothing, and which name an unknown category.

    Raises
    ------
    RulesError
        A category or account is ambiguous or of the wrong kind, an account is unknown, or the category of a rule
        that matches a transaction is unknown.
    """
    Queue.checked(queue)
    Ledgers.checked(ledgers)
    lookup = _LedgerLookup(ledgers, set(queue["category_ledger_id"]))
    category_ids = {rule.name: lookup.find_category(rule.name, rule.category) for rule in rules}
    account_ids = {
        rule.ledger: lookup.find_account(rule.name, rule.ledger) for rule in rules if rule.ledger is not None
    }
    unknown = {rule.name: rule.category for rule in rules if category_ids[rule.name] is None}
    matches = rules.match(queue, account_ids)
    _require_known(unknown, matches)
    rule_names = pd.Series(matches, index=queue.index, dtype="str")
    updated = rule_names.map(category_ids).astype("str")
    proposals = queue.assign(
        updated_category_ledger_id=updated,
        updated_category_ledger_name=updated.map(lookup.names).astype("str"),
        rule=rule_names,
    )[rule_names.notna()].reset_index(drop=True)
    proposals = Proposals.checked(proposals)
    proposals.attrs["notes"] = tuple(_notes(queue, proposals, rules, unknown))
    return proposals


def _require_known(unknown: Mapping[str, str], matches: Iterable[str | None]) -> None:
    """Refuse a rule that matches a transaction although its category is unknown."""
    for name in sorted(unknown.keys() & set(matches)):
        raise _unknown_ledger(name, unknown[name])


def _unknown_ledger(rule: str, text: str) -> RulesError:
    return RulesError(
        f"rule {rule!r}: no discovered ledger matches {text!r}; give its id, unique name or path (a ledger without "
        "lines in the period is not discovered: use a longer period)"
    )


def _notes(queue: pd.DataFrame, proposals: pd.DataFrame, rules: Rules, unknown: Mapping[str, str]) -> Iterator[str]:
    remaining = len(queue) - len(proposals)
    if remaining:
        yield f"{remaining} of {len(queue)} transaction(s) match no rule and stay uncategorized."
    for name, category in unknown.items():
        yield f"Rule {name!r} names the category {category!r}, which was not discovered; the rule matched nothing."
    used = set(proposals["rule"]) | unknown.keys()
    unused = [repr(rule.name) for rule in rules if rule.name not in used]
    if unused:
        yield f"{len(unused)} of {len(rules)} rule(s) decide no transaction: {', '.join(unused)}."


class _LedgerLookup:
    """Find ledgers by id, unique name or path, and check what they are used for."""

    def __init__(self, ledgers: pd.DataFrame, uncategorized: set[str]) -> None:
        self.names = dict(zip(ledgers["id"], ledgers["name"], strict=True))
        parents = {
            ledger_id: parent if isinstance(parent, str) else None
            for ledger_id, parent in zip(ledgers["id"], ledgers["parent_id"], strict=True)
        }
        hierarchy = Hierarchy(parents)
        self._ids: dict[str, set[str]] = {}
        for ledger_id, name in self.names.items():
            path = [self.names.get(one, one) for one in (ledger_id, *hierarchy.ancestors(ledger_id))]
            for key in {name, PATH_SEPARATOR.join(reversed(path))}:
                self._ids.setdefault(key.casefold(), set()).add(ledger_id)
        self._cash = set(ledgers.loc[ledgers["report_cash_flow"], "id"])
        self._accounts = self._cash | set(ledgers.loc[ledgers["financial_account_type"].notna(), "id"])
        self._uncategorized = uncategorized | uncategorized_ledgers(ledgers)

    def find_category(self, rule: str, text: str) -> str | None:
        """Id of the category of a rule; None where it was not discovered."""
        ledger_id = self._find(rule, text)
        if ledger_id in self._accounts:
            msg = f"rule {rule!r}: {text!r} is a financial account and cannot be a category"
            raise RulesError(msg)
        if ledger_id in self._uncategorized:
            msg = f"rule {rule!r}: {text!r} is an uncategorized ledger and cannot be a category"
            raise RulesError(msg)
        return ledger_id

    def find_account(self, rule: str, text: str) -> str:
        """Id of the account of a rule; it must report cash flow, because only such accounts are in the queue."""
        ledger_id = self._find(rule, text)
        if ledger_id is None:
            raise _unknown_ledger(rule, text)
        if ledger_id not in self._cash:
            msg = f"rule {rule!r}: {text!r} does not report cash flow, so none of its transactions is in the queue"
            raise RulesError(msg)
        return ledger_id

    def _find(self, rule: str, text: str) -> str | None:
        found = {text} if text in self.names else self._ids.get(text.casefold(), set())
        if len(found) > 1:
            ids = ", ".join(sorted(found))
            msg = f"rule {rule!r}: several ledgers are named {text!r}; give the path or one of: {ids}"
            raise RulesError(msg)
        return next(iter(found), None)
