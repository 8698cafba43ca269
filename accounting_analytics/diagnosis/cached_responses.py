"""Answers of the service about one period, each asked for once, when a check needs it."""

from __future__ import annotations

import datetime as dt
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import pandas as pd

from accounting_analytics.errors import AccountingAnalyticsError, InvalidRequestError
from accounting_analytics.loader import load_cash_flow_report, load_line_entries
from accounting_analytics.periods import Period
from accounting_analytics.schemas import CashFlowReport

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from accounting_analytics.client import LedgerClient

Answer = TypeVar("Answer")

MONTHS = 3
_MONTHS_BACK = 12
_MOST_LINES = 20_000
_MOST_LEDGERS = 60
_EXPANSIONS = ("journal_entry", "opposing_ledger_ids")
_DAY = dt.timedelta(days=1)


class Evidence:
    """What the service says of its books; the same question is never asked twice, and a failure is remembered."""

    def __init__(self, client: LedgerClient) -> None:
        self.client = client
        self._known: dict[Hashable, object] = {}
        self._names: dict[str, str] = {}

    def report(self, period: Period) -> CashFlowReport:
        """Cash flow report of a period."""
        days = (period.start_date, period.end_date)
        report = self._once(period, lambda: load_cash_flow_report(self.client, *days, time_zone=period.time_zone))
        for frame, column in (
            (report.ledgers, "name"),
            (report.starting_balances, "ledger_name"),
            (report.ending_balances, "ledger_name"),
        ):
            self._names.update(zip(frame["ledger_id"], frame[column], strict=True))
        return report

    def lines(
        self,
        ledger_ids: Iterable[str],
        period: Period,
        *,
        is_cashflow: bool | None = True,
    ) -> pd.DataFrame:
        """Line entries of some ledgers."""
        asked = tuple(ledger_ids)
        return self._once(
            (asked, period, is_cashflow),
            lambda: load_line_entries(
                self.client,
                asked,
                period.start_date,
                period.end_date,
                time_zone=period.time_zone,
                is_cashflow=is_cashflow,
                expand=_EXPANSIONS,
                progress=False,
            ),
        )

    def reports(self) -> list[CashFlowReport]:
        """All reports that were read so far."""
        return [known for known in self._known.values() if isinstance(known, CashFlowReport)]

    def named(self, ledger_id: str) -> str:
        """Name and id of a ledger, for a message."""
        name = self._names.get(ledger_id, "")
        return f"{name} (ledger {ledger_id})" if name else f"ledger {ledger_id}"

    def _once(self, question: Hashable, ask: Callable[[], Answer]) -> Answer:
        if question not in self._known:
            try:
                self._known[question] = ask()
            except AccountingAnalyticsError as error:
                self._known[question] = error
        known = self._known[question]
        if isinstance(known, AccountingAnalyticsError):
            raise known.with_traceback(None)
        return known  # type: ignore[return-value]  # what was asked for under this question


class Books:
    """The part of the books that is examined: a period, its pieces, and one stretch whose lines are read.

    Parameters
    ----------
    evidence : Evidence
        Where answers come from.
    period : Period
        Days to look at.
    """

    def __init__(self, evidence: Evidence, period: Period) -> None:
        self.evidence = evidence
        self.period = period
        months = period.months()
        # a period within one month is cut in two, so that there are pieces to put together
        self.pieces = months if len(months) > 1 else period.windows(max(1, (period.days + 1) // 2))

    def pieces_reported(self) -> list[CashFlowReport]:
        """Report of each piece."""
        return [self.evidence.report(piece) for piece in self.pieces]

    def month(self) -> Period | None:
        """Last piece in which money moved."""
        return next((one.period for one in reversed(self.pieces_reported()) if len(one.ledgers)), None)

    def days_reported(self) -> list[CashFlowReport]:
        """Report of each day of the month."""
        month = self.month()
        return [] if month is None else [self.evidence.report(day) for day in month.windows(1)]

    def stretch(self) -> Period | None:
        """Days whose lines are read: the month, or the last day of it where it is very long."""
        month = self.month()
        if month is None or len(self.evidence.report(month).lines) <= _MOST_LINES:
            return month
        return next((one.period for one in reversed(self.days_reported()) if len(one.ledgers)), month)

    def stretch_reported(self) -> CashFlowReport | None:
        """Report of the stretch."""
        stretch = self.stretch()
        return None if stretch is None else self.evidence.report(stretch)

    def cash_ledgers(self) -> tuple[str, ...]:
        """Ledgers that report cash flow, in the report's order."""
        report = self.stretch_reported()
        if report is None:
            return ()
        return tuple(dict.fromkeys(chain(report.starting_balances["ledger_id"], report.ending_balances["ledger_id"])))

    def cash_lines(self) -> pd.DataFrame:
        """Lines of the stretch on the cash ledgers."""
        return self._lines(self.cash_ledgers())

    def categories(self) -> tuple[str, ...]:
        """Ledgers on the other side of cash, as report and lines name them; of very many those with most lines."""
        report = self.stretch_reported()
        if report is None:
            return ()
        opposite = chain.from_iterable(ids for ids in self.cash_lines()["opposing_ledger_ids"] if ids is not pd.NA)
        flows = [
            ledger_id
            for ledger_id, flow in zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True)
            if flow or ledger_id in set(report.lines["ledger_id"])
        ]
        sizes = report.lines["ledger_id"].value_counts()
        found = set(chain(flows, opposite)) - set(self.cash_ledgers())
        return tuple(sorted(found, key=lambda ledger_id: (-sizes.get(ledger_id, 0), ledger_id))[:_MOST_LEDGERS])

    def category_lines(self) -> pd.DataFrame:
        """Lines of the stretch on the categories, of entries that touch cash."""
        return self._lines(self.categories())

    def entry_lines(self) -> pd.DataFrame:
        """All lines of the entries of the stretch that touch cash."""
        return pd.concat([self.cash_lines(), self.category_lines()], ignore_index=True)

    @property
    def all_categories_read(self) -> bool:
        """Whether the lines are those of every category, not of the largest only."""
        return len(self.categories()) < _MOST_LEDGERS

    def _lines(self, ledger_ids: tuple[str, ...]) -> pd.DataFrame:
        stretch = self.stretch()
        return self.evidence.lines(ledger_ids, self.period if stretch is None else stretch)


def last_months(evidence: Evidence, today: dt.date, time_zone: str) -> Period | None:
    """Last three full months, the third of which has flows; None where nothing moved for a year."""
    last = today.replace(day=1) - _DAY
    for _ in range(_MONTHS_BACK):
        month = Period(last.replace(day=1), last, time_zone)
        try:
            report = evidence.report(month)
        except InvalidRequestError:  # before the start of the books, some deployments refuse to look
            return None
        if len(report.ledgers):
            return Period(_first_of(evidence, month), last, time_zone)
        last = month.start_date - _DAY
    return None


def _first_of(evidence: Evidence, month: Period) -> dt.date:
    """First day of three months that end with `month`, or of as many as the service lets us see."""
    first = month.start_date
    for _ in range(MONTHS - 1):
        last = first - _DAY
        try:
            evidence.report(Period(last.replace(day=1), last, month.time_zone))
        except InvalidRequestError:
            break
        first = last.replace(day=1)
    return first
