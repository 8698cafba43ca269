"""Explain each figure that differs, or show that it follows from other figures that differ."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.column_conversion import total
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount
from accounting_analytics.reconciliation.compared_report_lines import (
    CASH_ONLY_RECOMPUTED,
    CASH_ONLY_REPORTED,
    NOT_GIVEN,
    NOT_RECOMPUTED,
    OMITTED,
)
from accounting_analytics.reconciliation.differences import CAUSE, CONSEQUENCE, KINDS, ZERO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from decimal import Decimal

    from accounting_analytics.core.chart_of_accounts import Hierarchy
    from accounting_analytics.reconciliation.differences import Compared, Difference
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

    Gaps = Mapping[str | None, Decimal]
    Lines = Mapping[str | None, list[Difference]]

_PLAIN = frozenset({OMITTED, NOT_GIVEN, NOT_RECOMPUTED})
"""Explanations of lines that say no more than that the ledger of the lines is missing."""


class _Known(NamedTuple):
    """The reports, the differences of their figures, and their lines.

    Figures are explained from the fields. `missing` are the ledgers that one report lacks. `rest` are the parts of
    differing ending balances that neither starting balances nor lines explain.
    """

    reported: CashFlowReport
    recomputed: CashFlowReport
    hierarchy: Hierarchy | None
    has_lines: bool
    gaps: Mapping[str, Gaps]
    lines: Lines
    missing: frozenset[str | None]
    rest: Gaps


def explain_differences(
    compared: Mapping[str, Compared],
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    hierarchy: Hierarchy | None,
) -> list[Difference]:
    """Explain the differences that do not follow from other differences, and list them first.

    Without a known hierarchy, a total follows from others if any figure without descendants differs.
    """
    found = {what: compared[what].differences for what in KINDS}
    gaps = {what: {row.ledger_id: row.amount for row in rows} for what, rows in found.items()}
    lines: defaultdict[str | None, list[Difference]] = defaultdict(list)
    for line in found["line"]:
        lines[line.ledger_id].append(line)
    has_none = recomputed.exact().lines.empty and not recomputed.totals_only
    known = _Known(
        reported,
        recomputed,
        hierarchy,
        has_lines=bool(compared["line"].comparison.compared or has_none),
        gaps=gaps,
        lines=lines,
        missing=frozenset(row.ledger_id for row in found["net_cash_flow"] if _is_missing(row, lines)),
        rest=_unexplained_endings(gaps, found["line"], (reported, recomputed)),
    )
    rows = []
    for what, explain in _EXPLAIN.items():
        for row in found[what]:
            explanation = explain(row, known)
            rows.append(row._replace(explanation=explanation or "", role=CAUSE if explanation else CONSEQUENCE))
    if any(row.role == CAUSE and row.what != "identity" for row in rows):
        rows = [row._replace(explanation="", role=CONSEQUENCE) if row.what == "identity" else row for row in rows]
    return sorted(rows, key=lambda row: row.role != CAUSE)


def _is_missing(net: Difference, lines: Lines) -> bool:
    """Return whether one report lacks a ledger and all its lines."""
    of_ledger = lines.get(net.ledger_id, [])
    if net.reported is not None and net.recomputed is not None:
        return False
    is_plain = all(line.explanation in _PLAIN for line in of_ledger)
    return not of_ledger or (is_plain and len(of_ledger) > 1 and _sum(of_ledger) == net.amount)


def _unexplained_endings(
    gaps: Mapping[str, Gaps], lines: Iterable[Difference], reports: Iterable[CashFlowReport]
) -> dict[str | None, Decimal]:
    """Subtract explained amounts from the differences of ending balances, by account.

    The cash account of a line is known by its name. If the name is not known, or several accounts have it, only the sum
    of all accounts can show that the flows explain the balances. If they do, nothing is left.
    """
    starts, ends = gaps["starting_balance"], gaps["ending_balance"]
    rest = {account: ends.get(account, ZERO) - starts.get(account, ZERO) for account in {**ends, **starts}}
    accounts: defaultdict[str | None, set[str]] = defaultdict(set)
    for report in reports:
        balances = report.exact().ending_balances
        for account, name in zip(balances["ledger_id"], balances["ledger_name"], strict=True):
            accounts[name].add(account)
    without_account = sum(gaps["net_cash_flow"].values(), ZERO)
    for line in lines:
        if len(accounts[line.cash_account]) == 1:
            (account,) = accounts[line.cash_account]
            rest[account] = rest.get(account, ZERO) - line.amount
            without_account -= line.amount
    return {} if without_account and without_account == sum(rest.values()) else rest


def _explain_line(line: Difference, known: _Known) -> str | None:
    return None if line.ledger_id in known.missing else line.explanation


def _explain_net(net: Difference, known: _Known) -> str | None:
    lines = known.lines.get(net.ledger_id, [])
    counted, rest = count_of(len(lines), "line difference"), net.amount - _sum(lines)
    if net.ledger_id in known.missing:
        return _describe_missing(net, len(lines), known)
    if not known.has_lines:
        return "no lines were compared that could explain it"
    if not lines:
        return "the lines of this ledger agree: the reported figure is not the sum of its own lines"
    return f"{counted}, and {format_amount(rest)} that the reported lines do not show" if rest else None


def _describe_missing(net: Difference, count: int, known: _Known) -> str:
    """Say which report lacks a ledger.

    State the amount and the lines that the other report has.
    """
    is_unreported = net.reported is None
    which = "the report does not list" if is_unreported else "only the report lists"
    amount = net.recomputed if is_unreported else net.reported
    lines = (known.recomputed if is_unreported else known.reported).lines
    count = count or int((lines["ledger_id"] == net.ledger_id).sum())
    summed = format_amount(ZERO if amount is None else amount)
    if not count:
        return f"{which} this ledger, with {summed} and no lines"
    return f"{which} this ledger: its {count_of(count, 'line sums', 'lines sum')} to {summed}"


def _explain_start(start: Difference, known: _Known) -> str:
    if known.recomputed.anchored:
        return _cash_in_one_report(start) or "not the balance that was supplied"
    history = "the lines before the period, if any, sum to a different balance; check that the history is complete"
    return _cash_in_one_report(start) or history


def _explain_end(end: Difference, known: _Known) -> str | None:
    if end.amount and not known.rest.get(end.ledger_id):
        return None
    if end.amount == known.gaps["starting_balance"].get(end.ledger_id, ZERO):
        return _cash_in_one_report(end) or "carried over from the starting balance"
    return _cash_in_one_report(end) or "the lines of the period change this ledger by a different amount"


def _cash_in_one_report(balance: Difference) -> str:
    """Say which report alone counts a ledger as cash, or return ""."""
    if balance.recomputed is None:
        return CASH_ONLY_REPORTED
    return CASH_ONLY_RECOMPUTED if balance.reported is None else ""


def _explain_total(difference: Difference, known: _Known) -> str | None:
    own = known.gaps[KINDS[difference.what].total_of]
    if difference.ledger_id in known.missing or _is_sum(difference, own, known.hierarchy):
        return None
    if own:
        return "the figures of its descendants differ, or the report sums other descendants"
    if known.recomputed.inferred_roots:
        cause = "which is inferred (give the missing parents), or the report sums incorrectly"
    else:
        cause = "the report sums other descendants, or sums them incorrectly"
    return f"all figures without descendants agree: the cause is the hierarchy, {cause}"


def _is_sum(difference: Difference, own: Gaps, hierarchy: Hierarchy | None) -> bool:
    """Return whether a total differs by the sum of its parts' differences."""
    if hierarchy is None or not any(own.values()):
        return any(own.values())
    tree = [gap for part, gap in own.items() if difference.ledger_id in (part, *hierarchy.ancestors(part or ""))]
    return difference.amount == sum(tree, ZERO)


def _explain_cash(cash: Difference, known: _Known) -> str | None:
    side = cash.what.removesuffix("_cash_balance")
    of_ledgers = total(getattr(known.reported.exact(), f"{side}_balances")["cash_balance"])
    if cash.amount == sum(known.gaps[f"{side}_balance"].values(), ZERO):
        return None
    if cash.reported == of_ledgers:
        return "the balances of the cash ledgers sum to it, and those that differ do not explain it"
    return f"the report's own balances sum to {format_amount(of_ledgers)}, not to its total"


def _explain_identity(_gap: Difference, _known: _Known) -> str:
    return "the report is inconsistent: its net cash flows do not sum to the change of its cash balance"


_EXPLAIN: dict[str, Callable[[Difference, _Known], str | None]] = {
    "net_cash_flow": _explain_net,
    "line": _explain_line,
    "starting_balance": _explain_start,
    "ending_balance": _explain_end,
    "starting_cash_balance": _explain_cash,
    "ending_cash_balance": _explain_cash,
    "identity": _explain_identity,
    "starting_total_balance": _explain_total,
    "ending_total_balance": _explain_total,
    "total_net_cash_flow": _explain_total,
}
"""Functions that say why a figure differs, or return None if this follows from others, by kind in its order."""


def _sum(differences: Iterable[Difference]) -> Decimal:
    return sum((difference.amount for difference in differences), ZERO)
