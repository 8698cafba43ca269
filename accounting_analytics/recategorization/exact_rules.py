"""Plan of what rules marked ``exact`` decide, for jobs without a person, and why each other transaction is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.categorization import propose
from accounting_analytics.errors import RulesError
from accounting_analytics.recategorization.changes import joining_changes
from accounting_analytics.recategorization.plan import Plan, plan_recategorization
from accounting_analytics.schemas import Proposals

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from accounting_analytics.categorization import Rules

NO_RULE = "no rule"
NOT_EXACT = "rule not exact"
ABOVE_LIMIT = "above the limit"
SHARED = "shared category"
"""Several transactions of one entry share the category line, so changing it changes all of them."""
JOINS_SPLIT = "joins a split"
NOT_PLANNED = "not in the plan"
"""Rules decide the transaction, but the plan that is resumed does not contain it."""

_KEY = ["transaction_id", "category_ledger_id"]


class ExactPlan(NamedTuple):
    """A plan for a job, and the queue that it was made from.

    `queue` has the columns ``rule``, the rule that decides the transaction, and ``reason``, why it is left for a
    person; null where the plan has it. `notes` are those of the proposals.
    """

    plan: Plan
    queue: pd.DataFrame
    notes: tuple[str, ...]

    def left_by(self, plan: Plan) -> pd.DataFrame:
        """Rows of the queue that a plan, this one or one that is resumed, leaves for a person."""
        planned = pd.MultiIndex.from_frame(plan.frame[_KEY])
        left = self.queue[~pd.MultiIndex.from_frame(self.queue[_KEY]).isin(planned)]
        return left.assign(reason=left["reason"].fillna(NOT_PLANNED)).reset_index(drop=True)


def plan_exact_rules(
    queue: pd.DataFrame, rules: Rules, ledgers: pd.DataFrame, *, max_amount: Decimal, instance_id: str | None = None
) -> ExactPlan:
    """Plan what may be changed without a person: decided by an exact rule, not above the limit, and reversible.

    The limit is that of a transaction, and of its uncategorized part, without signs.
    """
    exact_rules = {rule.name for rule in rules if rule.exact}
    if not exact_rules:
        raise RulesError(
            f"no rule of {rules.source} is marked `exact = true`; mark those that may be applied without a person"
        )
    proposals = propose(queue, rules, ledgers)
    reasons = _reasons(proposals, exact_rules, max_amount)
    plan = _plan(proposals[reasons.isna()], ledgers, instance_id)
    joining = {(item.transaction_id, item.category_ledger_id) for item in joining_changes(plan.items)}
    if joining:
        joins = pd.Series([key in joining for key in _keys(proposals)], proposals.index)
        reasons = reasons.mask(joins & reasons.isna(), JOINS_SPLIT)
        plan = _plan(proposals[reasons.isna()], ledgers, instance_id)
    decided = dict(zip(_keys(proposals), zip(proposals["rule"], reasons, strict=True), strict=True))
    return ExactPlan(plan, _with_reasons(queue, decided), proposals.attrs["notes"])


def _reasons(proposals: pd.DataFrame, exact_rules: set[str], max_amount: Decimal) -> pd.Series[str]:
    """Why each proposal is left for a person; null where it is not."""
    rows = Proposals.exact(proposals).frame
    amounts, parts = rows["amount"], rows["category_amount"]
    reasons = pd.Series(None, rows.index, dtype="str")
    reasons[_above(amounts, max_amount) | _above(parts.fillna(0), max_amount)] = ABOVE_LIMIT
    reasons[parts.isna()] = SHARED
    reasons[~rows["rule"].isin(exact_rules)] = NOT_EXACT
    return reasons


def _above(amounts: pd.Series[Any], limit: Decimal) -> pd.Series[bool]:
    """Whether each amount, which is an Arrow decimal, is above a limit without its sign."""
    return pd.Series([amount.copy_abs() > limit for amount in amounts], amounts.index, dtype="bool")


def _plan(proposals: pd.DataFrame, ledgers: pd.DataFrame, instance_id: str | None) -> Plan:
    return plan_recategorization(proposals, ledgers=ledgers, instance_id=instance_id)


def _keys(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(*(frame[name] for name in _KEY), strict=True))


def _with_reasons(queue: pd.DataFrame, decided: Mapping[tuple[str, str], tuple[str, str]]) -> pd.DataFrame:
    """Queue with the rule of each transaction, and the reason for which it is left."""
    found = [decided.get(key, (None, NO_RULE)) for key in _keys(queue)]
    columns = {name: [one[position] for one in found] for position, name in enumerate(("rule", "reason"))}
    return queue.assign(**{name: pd.Series(values, queue.index, dtype="str") for name, values in columns.items()})
