"""Comparison of the figures of two reports: cash balances, and amounts by ledger alone and with descendants."""

from __future__ import annotations

from collections import Counter, defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING

from accounting_analytics.column_conversion import total
from accounting_analytics.messages import count_of, join_ids
from accounting_analytics.money import format_amount
from accounting_analytics.reconciliation.differences import (
    TITLES,
    Compared,
    Comparison,
    Difference,
    amount_or_zero,
    amounts_by_ledger,
)

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.reconciliation.differences import Amounts, Explain


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
            return f"made up of {count_of(count, 'line difference')}"
        rest = format_amount(difference - sums[ledger_id])
        return f"{count_of(count, 'line difference')}, and {rest} that the reported lines do not show"

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


def compare_cash_balances(reported: CashFlowReport, recomputed: CashFlowReport) -> list[Compared]:
    """Compare the two cash balances of the whole report."""
    compared = []
    for side, balances in (("starting", reported.starting_balances), ("ending", reported.ending_balances)):
        what = f"{side}_cash_balance"
        amount, expected = (getattr(report.exact_sums(), what) for report in (reported, recomputed))
        own = total(balances["cash_balance"])
        explanation = (
            "follows from the balances of the cash ledgers"
            if amount == own
            else f"the report's own balances sum to {format_amount(own)}, not to its total"
        )
        independent = _is_independent(recomputed, side)
        compared.append(compare_figure(what, amount, expected, explanation, independent=independent))
    return compared


def compare_figure(
    what: str, reported: Decimal, recomputed: Decimal, explanation: str, *, independent: bool = True
) -> Compared:
    """Compare a figure of the whole report."""
    differences = []
    if reported != recomputed:
        differences.append(Difference(what, None, None, None, reported, recomputed, explanation))
    return Compared(Comparison(what, 1, len(differences), independent), differences, [])


def _is_independent(recomputed: CashFlowReport, side: str) -> bool:
    """Whether the balances of a side were computed from lines: starting balances may have been supplied."""
    return side == "ending" or not recomputed.anchored


def has_no_history(reported: CashFlowReport, recomputed: CashFlowReport) -> bool:
    """Whether every recomputed starting balance is zero, but not every reported one."""
    if recomputed.anchored:
        return False
    starting = [
        set(amounts_by_ledger(one.starting_balances, "cash_balance").values()) for one in (reported, recomputed)
    ]
    return any(starting[0]) and not any(starting[1])


def compare_balances(
    reported: CashFlowReport, recomputed: CashFlowReport, side: str, explain_own: Explain
) -> list[Compared]:
    """Compare the balances of the cash ledgers at the start or the end, alone and with descendants."""
    balances, expected = getattr(reported, f"{side}_balances"), getattr(recomputed, f"{side}_balances")
    independent = _is_independent(recomputed, side)
    only_reported = set(balances["ledger_id"]) - set(expected["ledger_id"])
    only_recomputed = set(expected["ledger_id"]) - set(balances["ledger_id"])

    def explain(ledger_id: str, difference: Decimal) -> str:
        if ledger_id in only_reported:
            return CASH_ONLY_REPORTED
        if ledger_id in only_recomputed:
            return CASH_ONLY_RECOMPUTED
        return explain_own(ledger_id, difference)

    own = _compare_amounts(
        f"{side}_balance",
        amounts_by_ledger(balances, "cash_balance"),
        amounts_by_ledger(expected, "cash_balance"),
        explain,
        independent=independent,
        other_ledgers=_find_other_ledgers(only_reported, only_recomputed),
    )
    total = _compare_totals(
        f"{side}_total_balance",
        amounts_by_ledger(balances, "total_cash_balance"),
        amounts_by_ledger(expected, "total_cash_balance"),
        own,
        is_inferred=bool(recomputed.inferred_roots),
        independent=independent,
    )
    notes = _cash_ledger_notes(only_reported, only_recomputed) if side == "ending" else []
    return [own._replace(notes=notes), total]


def _cash_ledger_notes(only_reported: set[str], only_recomputed: set[str]) -> list[str]:
    notes = []
    if only_reported:
        notes.append(f"Ledgers that only the report counts as cash: {join_ids(only_reported)}.")
    if only_recomputed:
        notes.append(f"Ledgers that only the given chart of accounts counts as cash: {join_ids(only_recomputed)}.")
    return notes


def compare_ledgers(reported: CashFlowReport, recomputed: CashFlowReport, lines: Compared) -> list[Compared]:
    """Compare the net cash flow of each ledger, alone and with its descendants."""
    amounts, expected = reported.ledgers, recomputed.ledgers
    has_lines = bool(lines.comparison.compared or (recomputed.lines.empty and not recomputed.totals_only))
    flows, expected_flows = (amounts_by_ledger(one, "net_cash_flow") for one in (amounts, expected))
    own = _compare_amounts(
        "net_cash_flow",
        flows,
        expected_flows,
        explain_net_cash_flows(lines.differences, has_lines=has_lines),
        other_ledgers=_find_other_ledgers(set(flows) - set(expected_flows), set(expected_flows) - set(flows)),
    )
    totals = amounts_by_ledger(amounts, "total_net_cash_flow")
    expected_totals = amounts_by_ledger(expected, "total_net_cash_flow")
    parents = set(expected_totals) - _ledgers_with_lines(recomputed)
    notes = []
    if parents and parents.isdisjoint(totals):
        expected_totals = {key: amount for key, amount in expected_totals.items() if key not in parents}
        notes = [f"The report does not list ledgers without lines of their own, such as parents: {join_ids(parents)}."]
    is_inferred = not expected_totals.keys().isdisjoint(recomputed.inferred_roots)
    total = _compare_totals("total_net_cash_flow", totals, expected_totals, own, is_inferred=is_inferred)
    return [own, total._replace(notes=[*notes, *total.notes])]


def _compare_totals(
    what: str,
    reported: Amounts,
    recomputed: Amounts,
    own: Compared,
    *,
    is_inferred: bool,
    independent: bool = True,
) -> Compared:
    """Compare figures with descendants, unless the recomputed ones are unknown because parents are.

    Where the hierarchy is not certain, a ledger that only the report lists may be an ancestor of the others.
    """
    if is_inferred or None in recomputed.values():
        recomputed = {**dict.fromkeys(reported), **recomputed}
    explain = explain_totals(own.differences, is_inferred=is_inferred)
    compared = _compare_amounts(what, reported, recomputed, explain, independent=independent)
    return compared._replace(notes=_totals_notes(compared.comparison, recomputed))


def _totals_notes(comparison: Comparison, recomputed: Amounts) -> list[str]:
    """Say why totals were not compared."""
    without_parents = sum(amount is None for amount in recomputed.values())
    reasons = [
        (without_parents, "the parents of some ledgers are not known"),
        (comparison.not_compared - without_parents, "the report does not state them"),
    ]
    title = TITLES[comparison.what].capitalize()
    return [
        f"{title}: {count} of {comparison.total} not compared, because {reason}." for count, reason in reasons if count
    ]


def _find_other_ledgers(only_reported: set[str], only_recomputed: set[str]) -> frozenset[str]:
    """Find ledgers that the report lists instead of others: it may leave rows of zero out, or have more, not both."""
    return frozenset(only_reported if only_recomputed else ())


def _compare_amounts(
    what: str,
    reported: Amounts,
    recomputed: Amounts,
    explain: Explain,
    *,
    independent: bool = True,
    other_ledgers: frozenset[str] = frozenset(),
) -> Compared:
    """Compare amounts by ledger; an absent row counts as zero, unless the report lists other ledgers instead.

    An unknown amount is not compared.
    """
    listed = {**recomputed, **reported}
    ledger_ids = [
        ledger_id
        for ledger_id in listed
        if None not in (recomputed.get(ledger_id, Decimal(0)), reported.get(ledger_id, Decimal(0)))
    ]
    differences = []
    for ledger_id in ledger_ids:
        gap = amount_or_zero(reported, ledger_id) - amount_or_zero(recomputed, ledger_id)
        if gap or ledger_id in other_ledgers:
            amounts = (reported.get(ledger_id), recomputed.get(ledger_id))
            differences.append(Difference(what, ledger_id, None, None, *amounts, explain(ledger_id, gap)))
    left_out = len(listed) - len(ledger_ids)
    return Compared(Comparison(what, len(ledger_ids), len(differences), independent, left_out), differences, [])


def _ledgers_with_lines(report: CashFlowReport) -> set[str]:
    """Ledgers that have lines of their own; in a report without lines, those with a net cash flow of their own."""
    if report.totals_only:
        return {ledger_id for ledger_id, amount in amounts_by_ledger(report.ledgers, "net_cash_flow").items() if amount}
    return set(report.lines["ledger_id"].unique())
