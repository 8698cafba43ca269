"""Verify after a run that the report changed by exactly the amounts the plan predicted."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.recategorization.outcomes import require_outcomes_of
from accounting_analytics.recategorization.plan import Plan, require_plan
from accounting_analytics.schemas import ReportChanges

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport

_IN_BOOKS = frozenset({"done", "already_done"})


def verify_report_change(
    plan: Plan, before: CashFlowReport, after: CashFlowReport, *, outcomes: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Compare the reports before and after a run with what the plan predicted.

    Parameters
    ----------
    plan : Plan
        The plan that was applied.
    before, after : CashFlowReport
        The same period, untagged.
    outcomes : DataFrame, optional
        Result of :func:`apply_plan`; items that are not done are then expected to be unchanged.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.ReportChanges`, one row per ledger that changed.

    Raises
    ------
    InputError
        An argument is of another type, the reports are of different periods or filtered by tags, or the outcomes
        belong to another plan.
    BooksDoNotTieError
        A balance changed, or a ledger changed by another amount than predicted; the message names the first.
    """
    require_plan(plan)
    require_report(before, "before")
    require_report(after, "after")
    if before.period != after.period or before.tag_ids or after.tag_ids:
        msg = f"both reports must cover one period and be untagged, not {before.period} and {after.period}"
        raise InputError(msg)
    as_decimals = before.as_decimals
    before, after = before.exact(), after.exact()
    _require_equal_balances(before, after)
    changes = _completed_part(plan, outcomes).preview(before)
    predicted = dict(zip(changes["ledger_id"], changes["change"], strict=True))
    was, now = _flows(before), _flows(after)
    zero = Decimal(0).scaleb(-before.scale)
    names = dict(zip(changes["ledger_id"], changes["name"], strict=True)) | _names(before) | _names(after)
    with localcontext(EXACT):
        rows = [
            (ledger_id, names[ledger_id], own, own + predicted.get(ledger_id, zero), now.get(ledger_id, zero))
            for ledger_id, own in ((ledger_id, was.get(ledger_id, zero)) for ledger_id in names)
        ]
    wrong = [row for row in rows if row[3] != row[4]]
    if wrong:
        _, name, _, planned, actual = wrong[0]
        msg = (
            f"{len(wrong)} ledger(s) did not change as planned in {before.period}; first: {name}: planned "
            f"{format_amount(planned)}, actual {format_amount(actual)}"
        )
        raise BooksDoNotTieError(msg)
    changed = [row for row in rows if row[2] != row[4]]
    columns = {name: [row[number] for row in changed] for number, name in enumerate(ReportChanges.dtypes())}
    return ReportChanges.from_columns(columns, before.scale, as_decimals=as_decimals)


def _completed_part(plan: Plan, outcomes: pd.DataFrame | None) -> Plan:
    """Part of a plan whose changes are in the books."""
    if outcomes is None:
        return plan
    in_books = require_outcomes_of(plan, outcomes)["outcome"].isin(_IN_BOOKS).to_numpy()
    return Plan(plan.frame[in_books], instance_id=plan.instance_id)


def _require_equal_balances(before: CashFlowReport, after: CashFlowReport) -> None:
    """Refuse a report whose balances or totals changed: recategorizing cannot change them."""
    pairs = {
        name: (getattr(before, name), getattr(after, name))
        for name in ("starting_cash_balance", "ending_cash_balance", "net_cash_flow")
    }
    for which in ("starting", "ending"):
        was, now = (_balances(getattr(report, f"{which}_balances")) for report in (before, after))
        pairs |= {
            f"{which} balance of {name}": (was.get((ledger_id, name)), now.get((ledger_id, name)))
            for ledger_id, name in was | now
        }
    for what, (old, new) in pairs.items():
        if old != new:
            msg = (
                f"the {what} in {before.period} changed from {_format(old)} to {_format(new)}; recategorizing cannot "
                "do that, so the books were also changed by another user"
            )
            raise BooksDoNotTieError(msg)


def _balances(balances: pd.DataFrame) -> dict[tuple[str, str], Decimal]:
    keys = zip(balances["ledger_id"], balances["ledger_name"], strict=True)
    return dict(zip(keys, balances["cash_balance"], strict=True))


def _format(amount: Decimal | None) -> str:
    return "no such ledger" if amount is None else format_amount(amount)


def _flows(report: CashFlowReport) -> dict[str, Decimal]:
    return dict(zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True))


def _names(report: CashFlowReport) -> dict[str, str]:
    return dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
