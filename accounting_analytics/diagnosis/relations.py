"""Metamorphic checks of reports: two ways of asking for the same figures must give the same, to the last digit."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.diagnosis.finding import Finding, Part, Verdict
from accounting_analytics.money import EXACT, format_amount

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    import pandas as pd

    from accounting_analytics.diagnosis.cached_responses import Books
    from accounting_analytics.schemas import CashFlowReport

_ZERO = Decimal(0)
NOTHING_MOVED = "because no money moved in the period; give one with entries (--start-date, --end-date)"
ASK_THE_SERVICE = "show this to whoever runs the service, and do not build on these figures before they agree"


class Gap(NamedTuple):
    """The first key for which two ways give different amounts."""

    key: Hashable
    one: Decimal
    other: Decimal

    def __str__(self) -> str:
        return f"{format_amount(self.one)} one way, {format_amount(self.other)} the other"


def first_gap(one: Mapping[Hashable, Decimal], other: Mapping[Hashable, Decimal]) -> Gap | None:
    """First key with different amounts; an absent one is zero, as a report may leave zero rows out."""
    for key in dict.fromkeys((*one, *other)):
        amounts = one.get(key, _ZERO), other.get(key, _ZERO)
        if amounts[0] != amounts[1]:
            return Gap(key, *amounts)
    return None


def sums(amounts: Iterable[tuple[Hashable, Decimal]]) -> dict[Hashable, Decimal]:
    """Exact sum by key."""
    totals: defaultdict[Hashable, Decimal] = defaultdict(lambda: _ZERO)
    with localcontext(EXACT):
        for key, amount in amounts:
            totals[key] += amount
    return dict(totals)


def flows(*reports: CashFlowReport) -> dict[Hashable, Decimal]:
    """Net cash flow by ledger, over some reports."""
    return sums(
        pair
        for report in reports
        for pair in zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True)
    )


def balances(frame: pd.DataFrame) -> dict[Hashable, Decimal]:
    """Cash balance by ledger."""
    return dict(zip(frame["ledger_id"], frame["cash_balance"], strict=True))


def passed(check: str, said: str) -> Finding:
    """Find that a check of the books holds."""
    return Finding(Part.BOOKS, check, Verdict.OK, said)


def broken(check: str, said: str) -> Finding:
    """Find that a check of the books does not hold."""
    return Finding(Part.BOOKS, check, Verdict.FAILED, said, ASK_THE_SERVICE)


def not_checked(check: str, why: str) -> Finding:
    """Find that a check of the books could not be made; `why` begins with because."""
    return Finding(Part.BOOKS, check, Verdict.NOT_CHECKED, why)


def identity(books: Books) -> Finding:
    """Check that net cash flow is the change of cash in every report, and cash the sum of its ledgers."""
    check = "identity"
    books.pieces_reported()
    books.days_reported()
    books.evidence.report(books.period)
    reports = books.evidence.reports()
    for report in reports:
        if report.identity_gap:
            change = report.ending_cash_balance - report.starting_cash_balance
            return broken(
                check,
                f"report of {report.period}: all flows sum to {format_amount(report.net_cash_flow)}, but "
                f"cash changed by {format_amount(change)}",
            )
        for side in ("starting", "ending"):
            told: Decimal = getattr(report, f"{side}_cash_balance")
            summed = sums(("", one) for one in getattr(report, f"{side}_balances")["cash_balance"]).get("", _ZERO)
            if told != summed:
                return broken(
                    check,
                    f"report of {report.period}: {side}_cash_balance is {format_amount(told)}, but its ledgers sum to "
                    f"{format_amount(summed)}",
                )
    return passed(check, f"net cash flow is the change of cash in each of {len(reports)} reports")


def balances_chain(books: Books) -> Finding:
    """Check that where one piece of the period ends, the next one starts, ledger by ledger."""
    check = "balances chain"
    pieces = books.pieces_reported()
    if len(pieces) < 2:  # noqa: PLR2004 (a chain)
        return not_checked(check, "because the period is one day long; give a longer one")
    for before, after in pairwise(pieces):
        gap = first_gap(balances(before.ending_balances), balances(after.starting_balances))
        if gap:
            return broken(
                check,
                f"{books.evidence.named(str(gap.key))} ends {before.period} with {format_amount(gap.one)}, but starts "
                f"{after.period} with {format_amount(gap.other)}",
            )
    whole = books.evidence.report(books.period)
    for side, piece in (("starting", pieces[0]), ("ending", pieces[-1])):
        ours, theirs = (balances(getattr(report, f"{side}_balances")) for report in (whole, piece))
        gap = first_gap(ours, theirs)
        if gap:
            return broken(
                check,
                f"the {side} balance of {books.evidence.named(str(gap.key))} is {format_amount(gap.one)} in the report "
                f"of {whole.period}, but {format_amount(gap.other)} in that of {piece.period}",
            )
    count = len(pieces[-1].ending_balances)
    return passed(check, f"each of {count} ledger(s) starts where it ended, over {len(pieces)} pieces of the period")


def pieces_add_up(books: Books) -> Finding:
    """Check that flows of January + flows of February = flows of January to February, per category."""
    check = "months add up"
    pieces = books.pieces_reported()
    if len(pieces) < 2:  # noqa: PLR2004 (something to add)
        return not_checked(check, "because the period is one day long; give a longer one")
    whole = books.evidence.report(books.period)
    gap = first_gap(flows(*pieces), flows(whole))
    if gap:
        return broken(
            check,
            f"{books.evidence.named(str(gap.key))}: {len(pieces)} pieces from {books.period.start_date} to "
            f"{books.period.end_date} sum to {format_amount(gap.one)}, but the report of all of it says "
            f"{format_amount(gap.other)}",
        )
    if not len(whole.ledgers):
        return not_checked(check, NOTHING_MOVED)
    return passed(
        check,
        f"flows of {len(pieces)} pieces of the period sum to those of all of it, for {len(whole.ledgers)} ledger(s)",
    )


def days_add_up(books: Books) -> Finding:
    """Check that the flows of the days of a month sum to those of the month."""
    check = "days add up"
    month = books.month()
    if month is None:
        return not_checked(check, NOTHING_MOVED)
    days, whole = books.days_reported(), books.evidence.report(month)
    gap = first_gap(flows(*days), flows(whole))
    if gap:
        return broken(
            check,
            f"{books.evidence.named(str(gap.key))}: {len(days)} daily reports of {month} sum to "
            f"{format_amount(gap.one)}, but the report of all of it says {format_amount(gap.other)}",
        )
    return passed(check, f"{len(days)} daily reports sum to that of {month.start_date} to {month.end_date}")
