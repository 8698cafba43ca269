"""Comparison of a reported cash flow report with a recomputed one, figure by figure and exactly; causes come first.

Deployments interpret the interface in different ways (line ids of the cash side, no lines, no rows for zero). An
interpretation that fits the whole report is accepted and noted; anything else is reported as a difference.
"""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import InputError
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.ledger_tree import LedgerTree
from accounting_analytics.local_books import LocalBooks, lines_of
from accounting_analytics.messages import count_of
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.periods import LOCALTIME
from accounting_analytics.reconciliation.assumptions import find_assumptions
from accounting_analytics.reconciliation.differences import CAUSE, Compared, amount_or_zero, amounts_by_ledger
from accounting_analytics.reconciliation.figure_comparison import (
    compare_balances,
    compare_cash_balances,
    compare_figure,
    compare_ledgers,
    explain_ending_balances,
    explain_starting_balances,
    has_no_history,
)
from accounting_analytics.reconciliation.line_comparison import (
    NOT_GIVEN,
    NOT_RECOMPUTED,
    OMITTED,
    compare_lines,
    find_opening_lines,
)
from accounting_analytics.reconciliation.result import Reconciliation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.chart_of_accounts import Hierarchy
    from accounting_analytics.reconciliation.differences import Difference


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
    paths = _paths(tree)
    return Reconciliation(
        period=recomputed.period,
        rows=tuple(
            one._replace(
                ledger_name=names.get(one.ledger_id), category=paths.get(one.ledger_id, names.get(one.ledger_id))
            )
            if one.ledger_id
            else one
            for one in differences
        ),
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
        scale=recomputed.scale,
        as_decimals=as_decimals,
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


def _named(one: Difference, names: Mapping[str, str], paths: Mapping[str, str]) -> Difference:
    """Add the name and the path of its ledger to a difference."""
    name = names.get(one.ledger_id or "")
    return one._replace(ledger_name=name, category=paths.get(one.ledger_id or "", name))


def _paths(tree: LedgerTree | None) -> dict[str, str]:
    """Path of each ledger of the chart of accounts."""
    if tree is None:
        return {}
    names = LedgerNames(tree.names, tree.hierarchy)
    return {ledger_id: names.path(ledger_id) for ledger_id in tree.names}


_PLAIN = frozenset({OMITTED, NOT_GIVEN, NOT_RECOMPUTED})
"""Explanations of a line that say no more than that its whole ledger is missing."""
_ORDER = ("net_cash_flow", "line", "starting_balance", "ending_balance")
"""What is shown first among causes; other figures come after these."""


class _Sides(NamedTuple):
    """The reported and the recomputed report."""

    reported: CashFlowReport
    recomputed: CashFlowReport

    def change(self, table: str, column: str) -> dict[str, Decimal]:
        """Subtract recomputed from reported amounts of a table by ledger; absent and unknown ones are zero."""
        sides = [amounts_by_ledger(getattr(report, table), column) for report in self]
        return {
            ledger_id: amount_or_zero(sides[0], ledger_id) - amount_or_zero(sides[1], ledger_id)
            for ledger_id in {**sides[0], **sides[1]}
        }


def separate_causes(
    differences: Sequence[Difference],
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    hierarchy: Hierarchy | None,
    *,
    opening_lines: frozenset[str],
) -> list[Difference]:
    """Mark what follows from other differences, and list causes first.

    Without a known hierarchy a total follows wherever a figure without descendants differs.
    """
    if not differences:
        return []
    by_what: defaultdict[str, list[Difference]] = defaultdict(list)
    for one in differences:
        by_what[one.what].append(one)
    sides = _Sides(reported, recomputed)
    missing = _mark_ledgers(by_what, sides)
    starting = sides.change("starting_balances", "cash_balance")
    ending = sides.change("ending_balances", "cash_balance")
    if opening_lines:
        by_what["starting_balance"] = [one.as_consequence() for one in by_what["starting_balance"]]
    _mark_ending(by_what, sides, starting, ending)
    own = {
        "total_net_cash_flow": sides.change("ledgers", "net_cash_flow"),
        "starting_total_balance": starting,
        "ending_total_balance": ending,
    }
    for what, changes in own.items():
        by_what[what] = [
            one.as_consequence() if one.ledger_id in missing or _follows(one, changes, hierarchy) else one
            for one in by_what[what]
        ]
    for side, changes in (("starting", starting), ("ending", ending)):
        what, gap = f"{side}_cash_balance", sum(changes.values(), Decimal(0))
        by_what[what] = [one.as_consequence() if one.amount == gap else one for one in by_what[what]]
    rows = [one for group in by_what.values() for one in group]
    has_cause = any(one.role == CAUSE and one.what != "identity" for one in rows)
    rows = [one.as_consequence() if one.what == "identity" and has_cause else one for one in rows]
    return sorted(rows, key=_rank)


def _rank(one: Difference) -> tuple[bool, int]:
    return one.role != CAUSE, _ORDER.index(one.what) if one.what in _ORDER else len(_ORDER)


def _mark_ledgers(by_what: dict[str, list[Difference]], sides: _Sides) -> set[str | None]:
    """Let the net cash flow of a ledger follow from its lines, or the lines from a ledger that one report lacks.

    Returns the ledgers that one report lacks.
    """
    by_ledger: defaultdict[str | None, list[Difference]] = defaultdict(list)
    for line in by_what["line"]:
        by_ledger[line.ledger_id].append(line)
    missing: set[str | None] = set()
    nets = []
    for net in by_what["net_cash_flow"]:
        lines = by_ledger[net.ledger_id]
        sums_up = bool(lines) and sum((one.amount for one in lines), Decimal(0)) == net.amount
        absent = net.reported is None or net.recomputed is None
        if absent and (not lines or (sums_up and len(lines) > 1 and all(one.explanation in _PLAIN for one in lines))):
            missing.add(net.ledger_id)
            nets.append(net._replace(explanation=_missing_ledger(net, len(lines), sides)))
        else:
            nets.append(net.as_consequence() if sums_up else net)
    by_what["net_cash_flow"] = nets
    by_what["line"] = [one.as_consequence() if one.ledger_id in missing else one for one in by_what["line"]]
    return missing


def _missing_ledger(net: Difference, count: int, sides: _Sides) -> str:
    """Say which report does not list a ledger, and how many lines the other has on it."""
    is_unreported = net.reported is None
    lines = (sides.recomputed if is_unreported else sides.reported).lines
    count = count or int((lines["ledger_id"] == net.ledger_id).sum())
    listed = net.recomputed if is_unreported else net.reported
    total = format_amount(Decimal(0) if listed is None else listed)
    which = "the report does not list this ledger" if is_unreported else "only the report lists this ledger"
    if not count:
        return f"{which}, with {total} and no lines"
    return f"{which}: its {count_of(count, 'line sums', 'lines sum')} to {total}"


def _mark_ending(
    by_what: dict[str, list[Difference]], sides: _Sides, starting: dict[str, Decimal], ending: dict[str, Decimal]
) -> None:
    """Let an ending balance follow from the balance before and from the lines that differ, where these account for it.

    The cash account of a line is known by its name; where that is not known, or shared by several, only the sum over
    all accounts tells whether the flows account for the balances.
    """
    rest = {ledger_id: amount - starting.get(ledger_id, Decimal(0)) for ledger_id, amount in ending.items()}
    ids: defaultdict[str | None, set[str]] = defaultdict(set)
    for report in sides:
        for ledger_id, name in zip(
            report.ending_balances["ledger_id"], report.ending_balances["ledger_name"], strict=True
        ):
            ids[name].add(ledger_id)
    without_account = sum(sides.change("ledgers", "net_cash_flow").values(), Decimal(0))
    for line in by_what["line"]:
        accounts = ids[line.facts.cash_account]
        if len(accounts) == 1:
            (account,) = accounts
            rest[account] = rest.get(account, Decimal(0)) - line.amount
            without_account -= line.amount
    if without_account and without_account == sum(rest.values()):
        rest = {}
    by_what["ending_balance"] = [
        one if rest.get(one.ledger_id or "") or not one.amount else _as_carried(one, starting)
        for one in by_what["ending_balance"]
    ]


def _as_carried(one: Difference, starting: dict[str, Decimal]) -> Difference:
    """Mark an ending balance as one that follows from the starting balance, or from flows that differ."""
    if one.amount == starting.get(one.ledger_id or ""):
        return one.as_consequence()
    return one.as_consequence()._replace(explanation="follows from the flows that differ")


def _follows(one: Difference, changes: dict[str, Decimal], hierarchy: Hierarchy | None) -> bool:
    """Whether a total differs by just what its own figure and those of its descendants differ by."""
    ledger_id = one.ledger_id or ""
    if not any(changes.values()):
        return False
    if hierarchy is None:
        return True
    return one.amount == sum(
        (change for other, change in changes.items() if other == ledger_id or ledger_id in hierarchy.ancestors(other)),
        Decimal(0),
    )
