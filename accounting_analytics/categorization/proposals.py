"""Proposals: the category that the rules give each transaction of the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import RulesError
from accounting_analytics.schemas import Ledgers, Proposals, Queue

if TYPE_CHECKING:
    from accounting_analytics.categorization.rules import Rule, Rules

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
        :class:`~accounting_analytics.schemas.Ledgers`; categories are looked up here.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the queue's rows that a rule fits, with
        ``updated_category_ledger_id``, ``updated_category_ledger_name`` and ``rule``. ``attrs["notes"]`` says how many
        transactions no rule fits.

    Raises
    ------
    RulesError
        A rule's category is ambiguous or cannot be one, or the rule fits and its category was not discovered.
    """
    Queue.checked(queue)
    Ledgers.checked(ledgers)
    categories = _Categories(ledgers, set(queue["category_ledger_id"]))
    targets = {rule.name: categories.ledger_of(rule) for rule in rules}
    unknown = {rule.name: rule.category for rule in rules if targets[rule.name] is None}
    decided = [
        rules.first(description=description, amount=amount, direction=direction, ledger=(ledger_id, ledger_name))
        for description, amount, direction, ledger_id, ledger_name in zip(
            queue["description"],
            queue["amount"],
            queue["direction"],
            queue["ledger_id"],
            queue["ledger_name"],
            strict=True,
        )
    ]
    for name in unknown.keys() & set(decided):
        msg = (
            f"rule {name!r}: there is no ledger {unknown[name]!r} among those discovered; name one by id, unique name or "
            "path (a ledger without lines in the period is not discovered: take a longer period)"
        )
        raise RulesError(msg)
    rule_names = pd.Series(decided, index=queue.index, dtype="str")
    updated = rule_names.map(targets).astype("str")
    proposals = queue.assign(
        updated_category_ledger_id=updated,
        updated_category_ledger_name=updated.map(categories.names).astype("str"),
        rule=rule_names,
    )[rule_names.notna()].reset_index(drop=True)
    proposals = Proposals.checked(proposals)
    left = len(queue) - len(proposals)
    proposals.attrs["notes"] = (
        *([f"{left} of {len(queue)} transaction(s) fit no rule and stay uncategorized."] if left else []),
        *(
            f"Rule {name!r} names {category!r}, which was not discovered; it fitted nothing."
            for name, category in unknown.items()
        ),
    )
    return proposals


class _Categories:
    """Ledgers by id, unique name and path; and which of them can be a category."""

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
        self._not_categories = set(ledgers.loc[ledgers["report_cash_flow"], "id"]) | uncategorized

    def ledger_of(self, rule: Rule) -> str | None:
        """Find the ledger that a rule's category names; None where it was not discovered."""
        found = {rule.category} if rule.category in self.names else self._ids.get(rule.category.casefold(), set())
        if not found:
            return None
        if len(found) > 1:
            ids = ", ".join(sorted(found))
            msg = f"rule {rule.name!r}: several ledgers are named {rule.category!r}; give the path or one of: {ids}"
            raise RulesError(msg)
        (ledger_id,) = found
        if ledger_id in self._not_categories:
            msg = (
                f"rule {rule.name!r}: {rule.category!r} reports cash flow or is uncategorized itself; it is no category"
            )
            raise RulesError(msg)
        return ledger_id
