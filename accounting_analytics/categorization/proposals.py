"""Proposals: the category that the rules give each transaction of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.categorization.uncategorized import uncategorized_ledgers
from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import RulesError
from accounting_analytics.schemas import Ledgers, Proposals, Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.categorization.rules import Rules

PATH_SEPARATOR = ":"


def propose(queue: pd.DataFrame, rules: Rules, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Propose a category for each transaction of the queue that a rule fits.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    rules : Rules
        The first rule that fits decides.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; categories and accounts are looked up here.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the queue's rows that a rule fits, with
        ``updated_category_ledger_id``, ``updated_category_ledger_name`` and ``rule``. ``attrs["notes"]`` says how many
        transactions no rule fits, and which rules decide none or name what was not discovered.

    Raises
    ------
    RulesError
        A rule's category or account is ambiguous or cannot be one, an account is unknown, or a rule fits and its
        category was not discovered.
    """
    Queue.checked(queue)
    Ledgers.checked(ledgers)
    named = _NamedLedgers(ledgers, set(queue["category_ledger_id"]))
    targets = {rule.name: named.category(rule.name, rule.category) for rule in rules}
    accounts = {rule.name: named.account(rule.name, rule.ledger) for rule in rules if rule.ledger is not None}
    unknown = {rule.name: rule.category for rule in rules if targets[rule.name] is None}
    decided = rules.first_fitting(queue, accounts)
    _require_known(unknown, decided)
    rule_names = pd.Series(decided, index=queue.index, dtype="str")
    updated = rule_names.map(targets).astype("str")
    proposals = queue.assign(
        updated_category_ledger_id=updated,
        updated_category_ledger_name=updated.map(named.names).astype("str"),
        rule=rule_names,
    )[rule_names.notna()].reset_index(drop=True)
    proposals = Proposals.checked(proposals)
    proposals.attrs["notes"] = tuple(_notes(queue, proposals, rules, unknown))
    return proposals


def _require_known(unknown: Mapping[str, str], decided: Iterable[str | None]) -> None:
    """Refuse a rule that fits a transaction though its category was not discovered."""
    for name in sorted(unknown.keys() & set(decided)):
        msg = f"rule {name!r}: {_absent(unknown[name])}"
        raise RulesError(msg)


def _absent(text: str) -> str:
    return (
        f"there is no ledger {text!r} among those discovered; name one by id, unique name or path (a ledger without "
        "lines in the period is not discovered: take a longer period)"
    )


def _notes(queue: pd.DataFrame, proposals: pd.DataFrame, rules: Rules, unknown: Mapping[str, str]) -> Iterator[str]:
    left = len(queue) - len(proposals)
    if left:
        yield f"{left} of {len(queue)} transaction(s) fit no rule and stay uncategorized."
    for name, category in unknown.items():
        yield f"Rule {name!r} names {category!r}, which was not discovered; it fitted nothing."
    used = set(proposals["rule"]) | unknown.keys()
    idle = [repr(rule.name) for rule in rules if rule.name not in used]
    if idle:
        yield f"{len(idle)} of {len(rules)} rule(s) decide no transaction: {', '.join(idle)}."


class _NamedLedgers:
    """Ledgers by id, unique name and path; and what each can be used for."""

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

    def category(self, rule: str, text: str) -> str | None:
        """Ledger that a rule gives, None where it was not discovered; some ledgers can be no category."""
        ledger_id = self._ledger(rule, text)
        if ledger_id in self._accounts:
            msg = f"rule {rule!r}: {text!r} is a financial account, which is no category"
            raise RulesError(msg)
        if ledger_id in self._uncategorized:
            msg = f"rule {rule!r}: {text!r} is an uncategorized ledger itself, which is no category"
            raise RulesError(msg)
        return ledger_id

    def account(self, rule: str, text: str) -> str:
        """Ledger that a rule is for; only those that report cash flow have a queue."""
        ledger_id = self._ledger(rule, text)
        if ledger_id is None:
            msg = f"rule {rule!r}: {_absent(text)}"
            raise RulesError(msg)
        if ledger_id not in self._cash:
            msg = f"rule {rule!r}: {text!r} does not report cash flow, so none of its transactions is in the queue"
            raise RulesError(msg)
        return ledger_id

    def _ledger(self, rule: str, text: str) -> str | None:
        found = {text} if text in self.names else self._ids.get(text.casefold(), set())
        if not found:
            return None
        if len(found) > 1:
            ids = ", ".join(sorted(found))
            msg = f"rule {rule!r}: several ledgers are named {text!r}; give the path or one of: {ids}"
            raise RulesError(msg)
        (ledger_id,) = found
        return ledger_id
