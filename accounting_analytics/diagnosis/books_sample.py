"""The part of the books that the doctor examines: the last months with entries, and sampled days of lines."""

from __future__ import annotations

import datetime as dt
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.errors import InvalidRequestError
from accounting_analytics.frame_columns import split_lists
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.diagnosis.cached_responses import CachedResponses

MONTHS = 3
_MONTHS_BACK = 12
_MAX_LINES = 20_000
_MAX_CATEGORIES = 60
_DAY = dt.timedelta(days=1)


class BooksSample:
    """The part of the books to check: a period, its parts, and the sample period whose lines are read.

    Parameters
    ----------
    responses : CachedResponses
        Source of reports and lines.
    period : Period
        Days to check.
    """

    def __init__(self, responses: CachedResponses, period: Period) -> None:
        self.responses = responses
        self.period = period
        months = period.months()
        # a period within one month is split in two, so that there are parts to add up
        self.parts = months if len(months) > 1 else period.windows(max(1, (period.days + 1) // 2))

    def part_reports(self) -> list[CashFlowReport]:
        """Report of each part."""
        return [self.responses.report(part) for part in self.parts]

    def active_month(self) -> Period | None:
        """Last part with cash flow."""
        return next((report.period for report in reversed(self.part_reports()) if len(report.ledgers)), None)

    def day_reports(self) -> list[CashFlowReport]:
        """Report of each day of the active month."""
        month = self.active_month()
        return [] if month is None else [self.responses.report(day) for day in month.windows(1)]

    def sample_period(self) -> Period | None:
        """Days whose lines are read: the active month, or its last day with cash flow if it has very many lines."""
        month = self.active_month()
        if month is None or len(self.responses.report(month).lines) <= _MAX_LINES:
            return month
        return next((report.period for report in reversed(self.day_reports()) if len(report.ledgers)), month)

    def sample_report(self) -> CashFlowReport | None:
        """Report of the sample period."""
        sample = self.sample_period()
        return None if sample is None else self.responses.report(sample)

    def cash_ledgers(self) -> tuple[str, ...]:
        """Ledgers that report cash flow, in the report's order."""
        report = self.sample_report()
        if report is None:
            return ()
        return tuple(dict.fromkeys(chain(report.starting_balances["ledger_id"], report.ending_balances["ledger_id"])))

    def cash_lines(self) -> pd.DataFrame:
        """Lines of the sample period on the cash ledgers."""
        return self._lines(self.cash_ledgers())

    def categories(self) -> tuple[str, ...]:
        """Opposing ledgers of cash, as named by report and lines; if there are very many, those with most lines."""
        report = self.sample_report()
        if report is None:
            return ()
        opposing = split_lists(self.cash_lines()["opposing_ledger_ids"])
        reported = [
            ledger_id
            for ledger_id, flow in zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True)
            if flow or ledger_id in set(report.lines["ledger_id"])
        ]
        sizes = report.lines["ledger_id"].value_counts()
        found = set(chain(reported, opposing)) - set(self.cash_ledgers())
        return tuple(sorted(found, key=lambda ledger_id: (-sizes.get(ledger_id, 0), ledger_id))[:_MAX_CATEGORIES])

    def category_lines(self) -> pd.DataFrame:
        """Lines of the sample period on the categories, of entries that touch cash."""
        return self._lines(self.categories())

    def entry_lines(self) -> pd.DataFrame:
        """All lines of the entries of the sample period that touch cash."""
        return pd.concat([self.cash_lines(), self.category_lines()], ignore_index=True)

    @property
    def has_all_categories(self) -> bool:
        """Whether the lines of every category are read, not of the largest only."""
        return len(self.categories()) < _MAX_CATEGORIES

    def _lines(self, ledger_ids: tuple[str, ...]) -> pd.DataFrame:
        sample = self.sample_period()
        return self.responses.lines(ledger_ids, self.period if sample is None else sample)


def find_last_months(responses: CachedResponses, today: dt.date, time_zone: str) -> Period | None:
    """Last three full months that end with a month with cash flow; None without cash flow for a year."""
    last = today.replace(day=1) - _DAY
    for _ in range(_MONTHS_BACK):
        month = Period(last.replace(day=1), last, time_zone)
        try:
            report = responses.report(month)
        except InvalidRequestError:  # some deployments refuse days before the start of the books
            return None
        if len(report.ledgers):
            return Period(_first_day(responses, month), last, time_zone)
        last = month.start_date - _DAY
    return None


def _first_day(responses: CachedResponses, month: Period) -> dt.date:
    """First day of three months that end with `month`, or of as many as the service shows."""
    first = month.start_date
    for _ in range(MONTHS - 1):
        last = first - _DAY
        try:
            responses.report(Period(last.replace(day=1), last, month.time_zone))
        except InvalidRequestError:
            break
        first = last.replace(day=1)
    return first
