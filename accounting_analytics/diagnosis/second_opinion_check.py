"""The check of a report against what hledger sums from its line entries, where hledger is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.diagnosis.findings import CheckOutcome, failed, not_checked, passed
from accounting_analytics.errors import IncompleteLoadError
from accounting_analytics.hledger import INSTALL, is_hledger_installed, second_opinion
from accounting_analytics.messages import join_ids
from accounting_analytics.periods import LOCALTIME

if TYPE_CHECKING:
    from accounting_analytics.diagnosis.books_sample import BooksSample

_STEP = "print second_opinion(report, line_entries, ledgers) of these days, which has the amounts of both"


def check_second_opinion(books: BooksSample) -> CheckOutcome:
    """Check that hledger sums the flows and cash balances of the report from the line entries of its entries."""
    if not is_hledger_installed():
        return not_checked(f"because hledger is not installed; {INSTALL}")
    report = books.sample_report()
    if report.period.time_zone == LOCALTIME:
        return not_checked("because days are counted in the localtime of the service, which is not known here")
    try:
        opinion = second_opinion(report, books.complete_entry_lines(), books.ledgers())
    except IncompleteLoadError:
        return not_checked("because entries do not balance, which another check reports")
    days = f"{report.period.start_date} to {report.period.end_date}"
    if not opinion.agrees:
        names = join_ids(opinion.differing["ledger_name"].unique())
        return failed(f"{opinion.version} sums other figures than the report of {days} for {names}", _STEP)
    compared = int(opinion.figures["agrees"].notna().sum())
    return passed(f"{opinion.version} sums the same {compared} flows and cash balances from the lines of {days}")
