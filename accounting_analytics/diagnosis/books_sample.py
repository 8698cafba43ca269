"""The part of the books that the doctor examines: the last months with entries, and sampled days of lines."""

from __future__ import annotations

import datetime as dt
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.column_conversion import split_lists
from accounting_analytics.diagnosis.findings import NotCheckedError
from accounting_analytics.errors import InvalidRequestError
from accounting_analytics.loader import load_cash_flow_report, load_line_entries
from accounting_analytics.periods import Period
from accounting_analytics.schemas import LineEntries

if TYPE_CHECKING:
    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.client import LedgerClient

NO_CASH_FLOW = "because there is no cash flow in the period; give one with entries (--start-date, --end-date)"
NO_LINES = "because no ledger of the report has a line entry in the period"
MONTHS = 3
_MONTHS_BACK = 12
_MAX_LINES = 20_000
_MAX_CATEGORIES = 60
_DAY = dt.timedelta(days=1)
_EXPANSIONS = ("journal_entry", "opposing_ledger_ids")


class BooksReader:
    """Reports and lines of the service, with decimals; a repeated request returns the first response."""

    def __init__(self, client: LedgerClient) -> None:
        self.client = client
        self._names: dict[str, str] = {}
        self.report = cache(self._load_report)
        self.lines = cache(self._load_lines)

    def _load_report(self, period: Period) -> CashFlowReport:
        """Load the cash flow report of a period."""
        days = (period.start_date, period.end_date)
        report = load_cash_flow_report(self.client, *days, time_zone=period.time_zone).exact()
        for frame, column in (
            (report.ledgers, "name"),
            (report.starting_balances, "ledger_name"),
            (report.ending_balances, "ledger_name"),
        ):
            self._names.update(zip(frame["ledger_id"], frame[column], strict=True))
        return report

    def _load_lines(
        self, ledger_ids: tuple[str, ...], period: Period, *, is_cashflow: bool | None = True
    ) -> pd.DataFrame:
        """Load line entries of some ledgers."""
        lines = load_line_entries(
            self.client,
            ledger_ids,
            period.start_date,
            period.end_date,
            time_zone=period.time_zone,
            is_cashflow=is_cashflow,
            expand=_EXPANSIONS,
            progress=False,
        )
        return LineEntries.exact(lines).frame

    def ledger_label(self, ledger_id: str) -> str:
        """Name and id of a ledger, for messages."""
        name = self._names.get(ledger_id, "")
        return f"{name} (ledger {ledger_id})" if name else f"ledger {ledger_id}"

    def ledger_name(self, ledger_id: str) -> str:
        """Name of a ledger in the reports; its id if it is in none."""
        return self._names.get(ledger_id) or ledger_id


class BooksSample:
    """The part of the books to check: a period, its parts, and the sample period whose lines are read.

    What needs cash flow ends the check where the period has none.
    """

    def __init__(self, reader: BooksReader, period: Period) -> None:
        self.reader = reader
        self.period = period
        months = period.months()
        # a period within one month is split in two, so that there are parts to add up
        self.parts = months if len(months) > 1 else period.windows(max(1, (period.days + 1) // 2))

    def part_reports(self) -> list[CashFlowReport]:
        """Report of each part."""
        return [self.reader.report(part) for part in self.parts]

    def active_month(self) -> Period:
        """Last part with cash flow."""
        for report in reversed(self.part_reports()):
            if len(report.ledgers):
                return report.period
        raise NotCheckedError(NO_CASH_FLOW)

    def day_reports(self) -> list[CashFlowReport]:
        """Report of each day of the active month."""
        return [self.reader.report(day) for day in self.active_month().windows(1)]

    def sample_period(self) -> Period:
        """Days whose lines are read: the active month, or its last day with cash flow if it has very many lines."""
        month = self.active_month()
        if len(self.reader.report(month).lines) <= _MAX_LINES:
            return month
        return next((report.period for report in reversed(self.day_reports()) if len(report.ledgers)), month)

    def sample_report(self) -> CashFlowReport:
        """Report of the sample period."""
        return self.reader.report(self.sample_period())

    def sample_days(self) -> list[CashFlowReport]:
        """Report of each day of the sample period."""
        return [self.reader.report(day) for day in self.sample_period().windows(1)]

    def balances_before(self) -> pd.DataFrame:
        """Balances at the end of the part before the sample period; those of its own start if there is none."""
        start = self.sample_period().start_date
        before = [report for report in self.part_reports() if report.period.end_date + _DAY == start]
        return before[0].ending_balances if before else self.sample_report().starting_balances

    def cash_ledgers(self) -> tuple[str, ...]:
        """Ledgers that report cash flow, in the report's order."""
        report = self.sample_report()
        return tuple(dict.fromkeys(chain(report.starting_balances["ledger_id"], report.ending_balances["ledger_id"])))

    def cash_lines(self) -> pd.DataFrame:
        """Lines of the sample period on the cash ledgers."""
        return self.reader.lines(self.cash_ledgers(), self.sample_period())

    def categories(self) -> tuple[str, ...]:
        """Opposing ledgers of cash, as named by report and lines; if there are very many, those with most lines."""
        report = self.sample_report()
        opposing = split_lists(self.cash_lines()["opposing_ledger_ids"])
        sizes = report.lines["ledger_id"].value_counts()
        flows = zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True)
        reported = [ledger_id for ledger_id, flow in flows if flow or ledger_id in sizes]
        found = set(chain(reported, opposing)) - set(self.cash_ledgers())
        return tuple(sorted(found, key=lambda ledger_id: (-sizes.get(ledger_id, 0), ledger_id))[:_MAX_CATEGORIES])

    def category_lines(self) -> pd.DataFrame:
        """Lines of the sample period on the categories, of entries that touch cash."""
        return self.reader.lines(self.categories(), self.sample_period())

    def entry_lines(self) -> pd.DataFrame:
        """All lines of the entries of the sample period that touch cash."""
        return pd.concat([self.cash_lines(), self.category_lines()], ignore_index=True)

    def complete_entry_lines(self) -> pd.DataFrame:
        """All lines of the entries of the sample period that touch cash, if every category was read."""
        if not self.has_all_categories:
            raise NotCheckedError(
                f"because only the lines of the {len(self.categories())} largest categories were read"
            )
        lines = self.entry_lines()
        if lines.empty:
            raise NotCheckedError(NO_LINES)
        return lines

    def ledgers(self) -> pd.DataFrame:
        """Ledgers of the sample period, whose parents and types reports do not state."""
        cash = self.cash_ledgers()
        ids = [*cash, *self.categories()]
        return pd.DataFrame(
            {
                "id": ids,
                "name": [self.reader.ledger_name(one) for one in ids],
                "report_cash_flow": [one in cash for one in ids],
                "parent_id": None,
                "parent_known": False,
                "sort_code": "",
            }
        )

    @property
    def has_all_categories(self) -> bool:
        """Whether the lines of every category are read, not of the largest only."""
        return len(self.categories()) < _MAX_CATEGORIES


def find_last_months(reader: BooksReader, today: dt.date, time_zone: str) -> Period | None:
    """Last three full months that end with a month with cash flow; None without cash flow for a year."""
    last = today.replace(day=1) - _DAY
    for _ in range(_MONTHS_BACK):
        month = Period(last.replace(day=1), last, time_zone)
        try:
            report = reader.report(month)
        except InvalidRequestError:  # some deployments refuse days before the start of the books
            return None
        if len(report.ledgers):
            return Period(_first_day(reader, month), last, time_zone)
        last = month.start_date - _DAY
    return None


def _first_day(reader: BooksReader, month: Period) -> dt.date:
    """First day of three months that end with `month`, or of as many as the service shows."""
    first = month.start_date
    for _ in range(MONTHS - 1):
        last = first - _DAY
        try:
            reader.report(Period(last.replace(day=1), last, month.time_zone))
        except InvalidRequestError:
            break
        first = last.replace(day=1)
    return first
