"""The check after every run: the report changed by exactly what the plan predicted, and by nothing else."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.money import EXACT, format_amount

if TYPE_CHECKING:
    from accounting_analytics.recategorization.plan import Plan
    from accounting_analytics.schemas import CashFlowReport


def verify_report_change(plan: Plan, before: CashFlowReport, after: CashFlowReport) -> pd.DataFrame:
    """Compare the reports before and after a run with what the plan predicted.

    Parameters
    ----------
    plan : Plan
        The plan, or the part of it that was done.
    before, after : CashFlowReport
        The same period, untagged.

    Returns
    -------
    DataFrame
        ``ledger_id, name, before, predicted, after``, one row a ledger that changed or was to change.

    Raises
    ------
    InputError
        The reports are of different periods, or filtered by tags.
    BooksDoNotTieError
        A balance moved, or a ledger changed otherwise than predicted; the message names the first.
    """
    if before.period != after.period or before.tag_ids or after.tag_ids:
        msg = f"the reports must be of one period and untagged, not {before.period} and {after.period}"
        raise InputError(msg)
    for name in ("starting_cash_balance", "ending_cash_balance", "net_cash_flow"):
        if getattr(before, name) != getattr(after, name):
            msg = (
                f"the {name} of {before.period} moved from {format_amount(getattr(before, name))} to "
                f"{format_amount(getattr(after, name))}; recategorizing cannot do that, somebody else changed the books"
            )
            raise BooksDoNotTieError(msg)
    changes = plan.preview(before)
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
            f"{len(wrong)} ledger(s) changed otherwise than planned in {before.period}; first: {name}: planned "
            f"{format_amount(planned)}, is {format_amount(actual)}"
        )
        raise BooksDoNotTieError(msg)
    changed = [row for row in rows if row[2] != row[4]]
    amount = before.ledgers["net_cash_flow"].dtype
    dtypes = {"ledger_id": "str", "name": "str", "before": amount, "predicted": amount, "after": amount}
    return pd.DataFrame(changed, columns=list(dtypes)).astype(dtypes)


def _flows(report: CashFlowReport) -> dict[str, Decimal]:
    return dict(zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True))


def _names(report: CashFlowReport) -> dict[str, str]:
    return dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
