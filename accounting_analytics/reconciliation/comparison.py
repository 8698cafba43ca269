"""Comparison of a reported cash flow report with a recomputed one, figure by figure and exactly.

Deployments interpret the interface in different ways (line ids of the cash side, no lines, no rows for zero). An
interpretation that fits the whole report is accepted and noted; anything else is reported as a difference.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import InputError
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.ledger_tree import LedgerTree
from accounting_analytics.local_books import LocalBooks, lines_of
from accounting_analytics.money import EXACT
from accounting_analytics.periods import LOCALTIME
from accounting_analytics.reconciliation.assumptions import find_assumptions
from accounting_analytics.reconciliation.causes import separate_causes
from accounting_analytics.reconciliation.differences import Compared, differences_frame
from accounting_analytics.reconciliation.figure_comparison import (
    compare_balances,
    compare_cash_balances,
    compare_figure,
    compare_ledgers,
    has_no_history,
)
from accounting_analytics.reconciliation.figure_explanations import explain_ending_balances, explain_starting_balances
from accounting_analytics.reconciliation.line_comparison import compare_lines
from accounting_analytics.reconciliation.line_explanations import find_opening_lines
from accounting_analytics.reconciliation.result import Reconciliation

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.chart_of_accounts import Hierarchy

_INCONSISTENT = "the report is inconsistent: its net cash flows do not sum to the change of its cash balance"


def reconcile(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    *,
    line_entries: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
) -> Reconciliation:
    """Compare a reported cash flow report with a recomputed one: lines, ledgers, balances, cash and identity.

    Parameters
    ----------
    reported : CashFlowReport
        As loaded from the service.
    recomputed : CashFlowReport
        As recomputed from the line entries, for the same days.
    line_entries : DataFrame or Books, optional
        The line entries of `recomputed` (of any engine, or local books), to explain lines that only the report has,
        and to look for a single assumption that explains the whole report.
    ledgers : DataFrame, optional
        The chart of accounts that `recomputed` was made with, of any engine (None: that of the local books): paths of
        categories, and what the report would be under such an assumption.

    Returns
    -------
    Reconciliation
        ``ties`` is True when every figure compared agrees exactly, ``compared_everything`` when none was left out.
        Where the starting balances are anchored or totals unknown, `comparisons` and `notes` say what the agreement
        does not prove.

    Raises
    ------
    InputError
        The two cannot be compared: different days or scales, a report filtered by tags, the same report twice, or two
        of the same origin.
    """
    if ledgers is None and isinstance(line_entries, LocalBooks):
        ledgers = line_entries.ledgers()
    line_entries = lines_of(line_entries)
    require_report(reported, "reported")
    require_report(recomputed, "recomputed")
    _require_origins(reported, recomputed)
    as_decimals = recomputed.as_decimals
    return compare_reports(reported.exact(), recomputed.exact(), line_entries, ledgers, as_decimals=as_decimals)


def compare_reports(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    line_entries: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    *,
    as_decimals: bool = False,
) -> Reconciliation:
    """Compare a loaded and a recomputed report whose tables are valid and exact."""
    notes = _require_comparable(reported, recomputed)
    names = _ledger_names(reported, recomputed)
    with localcontext(EXACT):
        lines = compare_lines(reported, recomputed, line_entries, names)
        opening_lines = find_opening_lines(reported, recomputed, lines.differences)
        starting = explain_starting_balances(recomputed, has_opening_lines=bool(opening_lines))
        without_history = not opening_lines and has_no_history(reported, recomputed)
        explain_ending = explain_ending_balances(reported, recomputed)
        compared = [
            *compare_cash_balances(reported, recomputed),
            compare_figure("identity", reported.exact_sums().identity_gap, Decimal(0), _INCONSISTENT),
            *compare_balances(reported, recomputed, "starting", lambda *_: starting),
            *compare_balances(reported, recomputed, "ending", explain_ending),
            *compare_ledgers(reported, recomputed, lines),
            _explain_opening_lines(lines, opening_lines),
        ]
        differences = [row for one in compared for row in one.differences]
        tree = None if ledgers is None or not differences else LedgerTree.from_frame(ledgers)
        differences = separate_causes(
            differences, reported, recomputed, _known_hierarchy(tree), opening_lines=opening_lines
        )
        assumptions = (
            ()
            if without_history or tree is None or line_entries is None
            else find_assumptions(reported, recomputed, differences, line_entries, ledgers)
        )
    return Reconciliation(
        period=recomputed.period,
        differences=differences_frame(differences, names, _paths(tree), recomputed.scale, as_decimals=as_decimals),
        comparisons=tuple(one.comparison for one in compared),
        partial=reported.partial or recomputed.partial,
        hierarchy_inferred=bool(recomputed.inferred_roots),
        without_history=without_history,
        assumptions=assumptions,
        notes=(
            *notes,
            *(note for one in compared for note in one.notes),
            *(f"Reported: {note}" for note in reported.notes),
            *(f"Recomputed: {note}" for note in recomputed.notes),
        ),
    )


def _require_origins(reported: CashFlowReport, recomputed: CashFlowReport) -> None:
    """Refuse a report that would be compared with itself or with one of its own kind: they agree, but prove nothing."""
    origins = (reported.origin, recomputed.origin)
    if reported is recomputed:
        mistake = "reported and recomputed are the same report"
    elif origins == ("recomputed", "loaded"):
        mistake = "reported and recomputed are swapped"
    elif origins[0] == "recomputed":
        mistake = "reported was recomputed from line entries, not loaded from the service"
    elif origins[1] == "loaded":
        mistake = "recomputed was loaded from the service, not recomputed from line entries"
    else:
        return
    raise InputError(
        f"{mistake}; pass the report of load_cash_flow_report(client, ...) as reported, and that of "
        "recompute_cash_flow(line_entries, ledgers, ...) as recomputed"
    )


def _require_comparable(reported: CashFlowReport, recomputed: CashFlowReport) -> list[str]:
    """Refuse two reports of different days, scales or tags; return the assumptions made."""
    if reported.tag_ids or recomputed.tag_ids:
        raise InputError(
            "a report filtered by tags cannot be reconciled: its balances are not filtered; load it without tag_ids"
        )
    if reported.scale != recomputed.scale:
        raise InputError(
            f"the reported amounts have {reported.scale} fraction digits, the recomputed ones {recomputed.scale}"
        )
    period, expected = reported.period, recomputed.period
    if (period.start_date, period.end_date) != (expected.start_date, expected.end_date):
        raise InputError(f"the reported period is {period}, the recomputed one {expected}; recompute for the same days")
    if period.time_zone == expected.time_zone:
        return []
    if period.time_zone == LOCALTIME:
        return [f"The report uses the service's local time, which is assumed to be {expected.time_zone}."]
    if period.instants() != expected.instants():
        raise InputError(
            f"the reported days are those of {period.time_zone}, the recomputed ones of {expected.time_zone}"
        )
    return [f"{period.time_zone} and {expected.time_zone} have the same days in this period."]


def _explain_opening_lines(lines: Compared, opening_lines: frozenset[str]) -> Compared:
    """Explain the missing lines that the report counts in its starting balance."""
    explanation = "the report counts this first-day entry in the starting balance, not as a flow"
    differences = [
        one._replace(explanation=explanation) if one.reported is None and one.line_id in opening_lines else one
        for one in lines.differences
    ]
    return lines._replace(differences=differences)


def _ledger_names(reported: CashFlowReport, recomputed: CashFlowReport) -> dict[str, str]:
    """Name of every ledger in either report; the recomputed name wins."""
    names: dict[str, str] = {}
    for report in (reported, recomputed):
        names.update(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
        for balances in (report.starting_balances, report.ending_balances):
            names.update(zip(balances["ledger_id"], balances["ledger_name"], strict=True))
    return names


def _known_hierarchy(tree: LedgerTree | None) -> Hierarchy | None:
    """Parents of ledgers, if all are known."""
    return None if tree is None or tree.without_known_parent else tree.hierarchy


def _paths(tree: LedgerTree | None) -> dict[str, str]:
    """Path of each ledger of the chart of accounts."""
    if tree is None:
        return {}
    names = LedgerNames(tree.names, tree.hierarchy)
    return {ledger_id: names.path(ledger_id) for ledger_id in tree.names}
