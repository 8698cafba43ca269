"""Causes and consequences: which differences follow from others, so that a reader sees each cause once, and first."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.money import format_amount
from accounting_analytics.reconciliation.differences import CAUSE, amount_or_zero, amounts_by_ledger
from accounting_analytics.reconciliation.line_explanations import NOT_GIVEN, NOT_RECOMPUTED, OMITTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.chart_of_accounts import Hierarchy
    from accounting_analytics.reconciliation.differences import Difference

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
    return f"{which}: its {count} line(s) sum to {total}" if count else f"{which}, with {total} and no lines"


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
