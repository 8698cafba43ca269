"""Checks that reports agree with each other: two requests for the same figures return the same, to the last digit."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.diagnosis.finding import Finding, Part
from accounting_analytics.money import EXACT, format_amount

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.diagnosis.books_sample import BooksSample

_ZERO = Decimal(0)
NO_CASH_FLOW = "because there is no cash flow in the period; give one with entries (--start-date, --end-date)"
_ONE_DAY = "because the period is one day long; give a longer one"
_REPORT_IT = "report this to the operator of the service, and do not use these figures until they agree"


class Mismatch(NamedTuple):
    """The first key for which two results have different amounts."""

    key: Hashable
    first: Decimal
    second: Decimal


def find_mismatch(first: Mapping[Hashable, Decimal], second: Mapping[Hashable, Decimal]) -> Mismatch | None:
    """First key with different amounts; a missing one is zero, as a report may omit zero rows."""
    for key in dict.fromkeys((*first, *second)):
        amounts = first.get(key, _ZERO), second.get(key, _ZERO)
        if amounts[0] != amounts[1]:
            return Mismatch(key, *amounts)
    return None


def sum_by_key(amounts: Iterable[tuple[Hashable, Decimal]]) -> dict[Hashable, Decimal]:
    """Exact sum by key."""
    totals: defaultdict[Hashable, Decimal] = defaultdict(lambda: _ZERO)
    with localcontext(EXACT):
        for key, amount in amounts:
            totals[key] += amount
    return dict(totals)


def net_flows(*reports: CashFlowReport) -> dict[Hashable, Decimal]:
    """Net cash flow by ledger, summed over some reports."""
    return sum_by_key(
        pair
        for report in reports
        for pair in zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True)
    )


def passed(check: str, message: str) -> Finding:
    """Return the finding of a check of the books that passed."""
    return Finding.ok(Part.BOOKS, check, message)


def failed(check: str, message: str) -> Finding:
    """Return the finding of a check of the books that failed."""
    return Finding.failed(Part.BOOKS, check, message, _REPORT_IT)


def not_checked(check: str, reason: str) -> Finding:
    """Return the finding of a check of the books that could not be made; `reason` begins with because."""
    return Finding.not_checked(Part.BOOKS, check, reason)


def check_identity(books: BooksSample) -> Finding:
    """Check that net cash flow is the change of cash in every report, and cash the sum of its ledgers."""
    check = "identity"
    books.part_reports()
    books.day_reports()
    books.responses.report(books.period)
    reports = books.responses.reports()
    for report in reports:
        sums = report.exact_sums()
        if sums.identity_gap:
            change = sums.ending_cash_balance - sums.starting_cash_balance
            return failed(
                check,
                f"report of {report.period}: all flows sum to {format_amount(sums.net_cash_flow)}, but "
                f"cash changed by {format_amount(change)}",
            )
        for side in ("starting", "ending"):
            total: Decimal = getattr(sums, f"{side}_cash_balance")
            summed = sum_by_key(("", amount) for amount in getattr(report, f"{side}_balances")["cash_balance"])
            if total != summed.get("", _ZERO):
                return failed(
                    check,
                    f"report of {report.period}: {side}_cash_balance is {format_amount(total)}, but its ledgers sum to "
                    f"{format_amount(summed.get('', _ZERO))}",
                )
    return passed(check, f"net cash flow is the change of cash in each of {len(reports)} reports")


def check_balance_chain(books: BooksSample) -> Finding:
    """Check that each part of the period starts with the balances that the part before ends with."""
    check = "balances chain"
    reports = books.part_reports()
    if len(reports) < 2:  # noqa: PLR2004 (a chain)
        return not_checked(check, _ONE_DAY)
    for before, after in pairwise(reports):
        mismatch = find_mismatch(_balances(before.ending_balances), _balances(after.starting_balances))
        if mismatch:
            return failed(
                check,
                f"{books.responses.ledger_label(str(mismatch.key))} ends {before.period} with "
                f"{format_amount(mismatch.first)}, but starts {after.period} with {format_amount(mismatch.second)}",
            )
    whole = books.responses.report(books.period)
    for side, part in (("starting", reports[0]), ("ending", reports[-1])):
        mismatch = find_mismatch(*(_balances(getattr(report, f"{side}_balances")) for report in (whole, part)))
        if mismatch:
            return failed(
                check,
                f"the {side} balance of {books.responses.ledger_label(str(mismatch.key))} is "
                f"{format_amount(mismatch.first)} in the report of {whole.period}, but "
                f"{format_amount(mismatch.second)} in that of {part.period}",
            )
    count = len(reports[-1].ending_balances)
    return passed(check, f"each of {count} ledger(s) starts where it ended, over {len(reports)} parts of the period")


def check_parts_sum(books: BooksSample) -> Finding:
    """Check that flows of January + flows of February = flows of January to February, per category."""
    check = "months add up"
    reports = books.part_reports()
    if len(reports) < 2:  # noqa: PLR2004 (something to add)
        return not_checked(check, _ONE_DAY)
    whole = books.responses.report(books.period)
    mismatch = find_mismatch(net_flows(*reports), net_flows(whole))
    if mismatch:
        return failed(
            check,
            f"{books.responses.ledger_label(str(mismatch.key))}: {len(reports)} parts from {books.period.start_date} "
            f"to {books.period.end_date} sum to {format_amount(mismatch.first)}, but the whole report has "
            f"{format_amount(mismatch.second)}",
        )
    if not len(whole.ledgers):
        return not_checked(check, NO_CASH_FLOW)
    return passed(
        check,
        f"flows of {len(reports)} parts of the period sum to those of the whole, for {len(whole.ledgers)} ledger(s)",
    )


def check_days_sum(books: BooksSample) -> Finding:
    """Check that the flows of the days of a month sum to those of the month."""
    check = "days add up"
    month = books.active_month()
    if month is None:
        return not_checked(check, NO_CASH_FLOW)
    days, whole = books.day_reports(), books.responses.report(month)
    mismatch = find_mismatch(net_flows(*days), net_flows(whole))
    if mismatch:
        return failed(
            check,
            f"{books.responses.ledger_label(str(mismatch.key))}: {len(days)} daily reports of {month} sum to "
            f"{format_amount(mismatch.first)}, but the whole report has {format_amount(mismatch.second)}",
        )
    return passed(check, f"{len(days)} daily reports sum to that of {month.start_date} to {month.end_date}")


def _balances(frame: pd.DataFrame) -> dict[Hashable, Decimal]:
    """Cash balance by ledger."""
    return dict(zip(frame["ledger_id"], frame["cash_balance"], strict=True))
