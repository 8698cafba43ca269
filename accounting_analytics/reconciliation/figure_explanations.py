"""Explanations of figures that differ: balances, net cash flows and totals."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.money import format_amount
from accounting_analytics.reconciliation.differences import amount_or_zero, amounts_by_ledger

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.reconciliation.differences import Difference, Explain

CASH_ONLY_RECOMPUTED = "the given chart of accounts counts this ledger as cash, the report does not"
CASH_ONLY_REPORTED = "the report counts this ledger as cash, the given chart of accounts does not"
EXPLAINED = frozenset({CASH_ONLY_RECOMPUTED, CASH_ONLY_REPORTED})
"""Explanations of a figure that say why it differs."""


def explain_starting_balances(recomputed: CashFlowReport, *, has_opening_lines: bool) -> str:
    """Why starting balances of ledgers differ."""
    if recomputed.anchored:
        return "not the balance that was supplied"
    if has_opening_lines:
        return "the report counts entries of the first day in the starting balance"
    return "the lines before the period, if any, sum to a different balance; check that the history is complete"


def explain_ending_balances(reported: CashFlowReport, recomputed: CashFlowReport) -> Explain:
    """Return a function that explains the ending balance of a ledger by its starting balance, or the period's lines."""
    reported_starts, recomputed_starts = (
        amounts_by_ledger(report.starting_balances, "cash_balance") for report in (reported, recomputed)
    )

    def explain(ledger_id: str, difference: Decimal) -> str:
        if difference == amount_or_zero(reported_starts, ledger_id) - amount_or_zero(recomputed_starts, ledger_id):
            return "carried over from the starting balance"
        return "the lines of the period change this ledger by a different amount"

    return explain


def explain_net_cash_flows(line_differences: list[Difference], *, has_lines: bool) -> Explain:
    """Return a function that explains the net cash flow of a ledger by the differences of its lines."""
    counts = Counter(one.ledger_id for one in line_differences)
    sums: dict[str | None, Decimal] = defaultdict(Decimal)
    for one in line_differences:
        sums[one.ledger_id] += one.amount

    def explain(ledger_id: str, difference: Decimal) -> str:
        count = counts[ledger_id]
        if not has_lines:
            return "no lines were compared that could explain it"
        if not count:
            return "the lines of this ledger agree: the reported figure is not the sum of its own lines"
        if sums[ledger_id] == difference:
            return f"made up of {count} line difference(s)"
        rest = format_amount(difference - sums[ledger_id])
        return f"{count} line difference(s), and {rest} that the reported lines do not show"

    return explain


def explain_totals(own_differences: list[Difference], *, is_inferred: bool) -> Explain:
    """Return a function that explains a figure with descendants by the differences of figures without them."""
    own = {one.ledger_id: one.amount for one in own_differences}

    def explain(ledger_id: str, difference: Decimal) -> str:
        if own.get(ledger_id) == difference:
            return "follows from the ledger's own figure"
        if own:
            return "the figures of its descendants differ, or the report sums other descendants"
        if is_inferred:
            return (
                "all figures without descendants agree: the cause is the hierarchy, which is inferred (give the "
                "missing parents), or the report sums incorrectly"
            )
        return (
            "all figures without descendants agree: the cause is the hierarchy, the report sums other descendants, or "
            "sums them incorrectly"
        )

    return explain
