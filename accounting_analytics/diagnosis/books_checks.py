"""Checks of the books: completeness, and equal answers to equivalent requests.

The right figures are not known. The reports of the last months with entries are compared with each other, to the last
digit.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.core.column_conversion import split_lists
from accounting_analytics.core.errors import InvalidRequestError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount, sum_by_key
from accounting_analytics.core.periods import DAY, Period, days_label, month_start
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.diagnosis import findings
from accounting_analytics.diagnosis.findings import Finding, NotCheckedError, passed
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loading.load import load_line_entries
from accounting_analytics.reconciliation.compared_report import compare_reports
from accounting_analytics.reconciliation.completeness import check_completeness
from accounting_analytics.reports.books.value import Books
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

    Sums = dict[str, Decimal]

MONTHS = 3
_MONTHS_BACK = 12
_ZERO = Decimal(0)
_EXPANSIONS = ("journal_entry", "opposing_ledger_ids")
_NO_CASH_FLOW = "because there is no cash flow in the period; give one with entries (--start-date, --end-date)"
_NO_RECENT_CASH_FLOW = (
    "because there is no cash flow in the last twelve months; give a period (--start-date, --end-date)"
)
_NO_LINES = "because no ledger of the report has a line entry in the period"
_REPORT_IT = "report this to the operator of the service, and do not use these figures until they agree"


class CheckedBooks:
    """The books to check: a period, its parts, and the lines of its last month.

    Each part is read when it is needed. Without a period, three full months before `today` are checked, of which the
    last is the latest month with cash flow. A check that lacks data ends.
    """

    def __init__(self, client: LedgerClient, given: Period | None, today: dt.date, time_zone: str) -> None:
        self.client, self.checked_days = client, given
        self._today, self._time_zone = today, time_zone
        self.report = cache(self._load_report)

    def _load_report(self, days: Period) -> CashFlowReport:
        return load_cash_flow_report(self.client, days.start_date, days.end_date, time_zone=days.time_zone)

    def lines_of(self, ledger_ids: tuple[str, ...]) -> pd.DataFrame:
        """Load the month's lines on some ledgers, of entries that touch cash."""
        lines = load_line_entries(
            self.client,
            ledger_ids,
            self.month.start_date,
            self.month.end_date,
            time_zone=self.month.time_zone,
            is_cashflow=True,
            expand=_EXPANSIONS,
            progress=False,
        )
        return LineEntries.exact(lines).frame

    @cached_property
    def period(self) -> Period:
        """The period to check."""
        if self.checked_days is None:
            self.checked_days = self._last_months()
        return self.checked_days

    def _last_months(self) -> Period:
        last = month_start(self._today) - DAY
        first = month_start(last)
        for _ in range(_MONTHS_BACK):
            try:
                if len(self.report(Period(first, last, self._time_zone)).exact().ledgers):
                    break
            except InvalidRequestError:  # some deployments refuse days before the start of the books
                raise NotCheckedError(_NO_RECENT_CASH_FLOW) from None
            first, last = month_start(first - DAY), first - DAY
        else:
            raise NotCheckedError(_NO_RECENT_CASH_FLOW)
        for _ in range(MONTHS - 1):
            before = first - DAY
            try:
                self.report(Period(month_start(before), before, self._time_zone))
            except InvalidRequestError:
                break
            first = month_start(before)
        return Period(first, last, self._time_zone)

    @cached_property
    def part_reports(self) -> list[CashFlowReport]:
        """Reports of the months, or of both halves of a single month."""
        months = self.period.months()
        parts = months if len(months) > 1 else self.period.windows(max(1, (self.period.days + 1) // 2))
        return [self.report(part) for part in parts]

    @cached_property
    def month(self) -> Period:
        """The last part that has cash flow."""
        for report in reversed(self.part_reports):
            if len(report.exact().ledgers):
                return report.period
        raise NotCheckedError(_NO_CASH_FLOW)

    @cached_property
    def day_reports(self) -> list[CashFlowReport]:
        """Report of each day of the month."""
        return [self.report(day) for day in self.month.windows(1)]

    @cached_property
    def cash_ledgers(self) -> tuple[str, ...]:
        """Ledgers that report cash flow, in the report's order."""
        report = self.report(self.month).exact()
        return tuple(dict.fromkeys(chain(report.starting_balances["ledger_id"], report.ending_balances["ledger_id"])))

    @cached_property
    def lines(self) -> pd.DataFrame:
        """All lines of the month's entries that touch cash, on cash ledgers and other ledgers."""
        cash_lines, report = self.lines_of(self.cash_ledgers), self.report(self.month).exact()
        reported = report.ledgers.loc[report.ledgers["net_cash_flow"] != 0, "ledger_id"]
        opposing = split_lists(cash_lines["opposing_ledger_ids"])
        categories = {*reported, *report.lines["ledger_id"], *opposing} - set(self.cash_ledgers)
        category_lines = [self.lines_of(tuple(sorted(categories)))] if categories else []
        lines = pd.concat([cash_lines, *category_lines], ignore_index=True)
        if lines.empty:
            raise NotCheckedError(_NO_LINES)
        return lines

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of ledgers in the report of the period."""
        report = self.report(self.period).exact()
        balances = pd.concat([report.starting_balances, report.ending_balances])
        return dict(zip(balances["ledger_id"], balances["ledger_name"], strict=True)) | dict(
            zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True)
        )

    def label(self, ledger_id: str) -> str:
        """Return the name and id of a ledger for messages."""
        name = self.names.get(ledger_id, "")
        return f"{name} (ledger {ledger_id})" if name else f"ledger {ledger_id}"

    def ledgers(self) -> pd.DataFrame:
        """Return the ledgers of the lines. Reports do not state parents or types."""
        ids = list(dict.fromkeys((*self.cash_ledgers, *self.lines["ledger_id"])))
        return pd.DataFrame(
            {
                "id": ids,
                "name": [self.names.get(ledger_id) or ledger_id for ledger_id in ids],
                "report_cash_flow": [ledger_id in self.cash_ledgers for ledger_id in ids],
                "parent_id": None,
                "parent_known": False,
                "sort_code": "",
            }
        )


def failed(message: str) -> Finding:
    """Return the finding of a check of the books that failed."""
    return findings.failed(message, _REPORT_IT)


def check_parts_sum(books: CheckedBooks) -> Finding:
    """Check that the flows of parts, such as months, sum to the whole."""
    if len(books.part_reports) == 1:
        raise NotCheckedError("because the period is one day long; give a longer one")
    return _check_sum(books, books.part_reports, books.report(books.period))


def check_days_sum(books: CheckedBooks) -> Finding:
    """Check that the flows of a month's days sum to the month."""
    return _check_sum(books, books.day_reports, books.report(books.month))


def _check_sum(books: CheckedBooks, reports: list[CashFlowReport], whole: CashFlowReport) -> Finding:
    days, mismatch = days_label(whole.period), _find_mismatch(_net_flows(*reports), _net_flows(whole))
    if mismatch:
        ledger_id, of_parts, of_whole = mismatch
        return failed(
            f"{books.label(ledger_id)}: the reports of {len(reports)} parts of {days} sum to {of_parts}, but the whole "
            f"report has {of_whole}"
        )
    if not len(whole.ledgers):
        raise NotCheckedError(_NO_CASH_FLOW)
    ledgers = count_of(len(whole.ledgers), "ledger")
    return passed(f"the reports of {len(reports)} parts of {days} sum to that of the whole, for {ledgers}")


def check_complete(books: CheckedBooks) -> Finding:
    """Check that entries that touch cash lack no line, and that no day is missing."""
    zone = books.month.time_zone
    loaded = Books(books.lines, books.ledgers(), books.month, time_zone=zone, reports=books.day_reports)
    certificate = check_completeness(loaded)
    if not certificate.problems.empty:
        return failed(certificate.summary())
    return passed(
        f"{certificate.lines:,} lines of {certificate.entries:,} entries: debits equal credits, every line that an "
        f"entry or one of {len(books.day_reports)} daily reports names is listed, and each day starts where the last "
        "one ended"
    )


def check_reconciliation(books: CheckedBooks) -> Finding:
    """Check that starting balances and line entries give the figures of the report."""
    report, lines, month = books.report(books.month), books.lines, books.month
    earlier = [part for part in books.part_reports if part.period.end_date + DAY == month.start_date]
    starting = earlier[0].exact().ending_balances if earlier else report.exact().starting_balances
    loaded = Books(lines, books.ledgers(), month, time_zone=month.time_zone, opening=(month.start_date, starting))
    recomputed = recompute_cash_flow(loaded, allow_partial=True)
    result = compare_reports(report, recomputed, lines, books.ledgers())
    if not result.ties:
        return failed("; first: ".join([f"report of {month}: {result.verdict}", *result.explanations[:1]]))
    return passed(f"the report of {days_label(month)} is that of its {len(lines):,} line entries: {result.verdict}")


def _find_mismatch(first: Sums, second: Sums) -> tuple[str, str, str] | None:
    """Find the first ledger with different sums. Reports may leave out rows of zero."""
    for ledger_id in dict.fromkeys((*first, *second)):
        sums = first.get(ledger_id, _ZERO), second.get(ledger_id, _ZERO)
        if sums[0] != sums[1]:
            return ledger_id, format_amount(sums[0]), format_amount(sums[1])
    return None


def _net_flows(*reports: CashFlowReport) -> Sums:
    """Sum the net cash flow of reports by ledger."""
    ledgers = pd.concat([report.exact().ledgers for report in reports])
    return sum_by_key(zip(ledgers["ledger_id"], ledgers["net_cash_flow"], strict=True))


BOOKS_CHECKS: dict[str, Callable[[CheckedBooks], Finding]] = {
    "months add up": check_parts_sum,
    "days add up": check_days_sum,
    "complete": check_complete,
    "reconciled": check_reconciliation,
}
"""Checks of the books by the names of their findings."""
