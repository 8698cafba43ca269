"""The days that a command is about: its options ``--start-date`` and ``--end-date``, or ``--period``."""

from __future__ import annotations

from typing import NamedTuple

from accounting_analytics.errors import InputError, PeriodError
from accounting_analytics.periods import Period

_EXAMPLES = "such as last-month, 2026-Q1 or 2026-03"


class DayOptions(NamedTuple):
    """What the three options have: both dates, or a period instead of them."""

    start_date: str | None = None
    end_date: str | None = None
    period: str | None = None

    def require_days(self) -> None:
        """Refuse options that do not give one first and one last day, in whichever zone."""
        self._refuse_dates_beside_a_period()
        if self.period is not None:
            self._parse_period("UTC")
            return
        if self.start_date is None and self.end_date is None:
            raise InputError(f"no days are given: add --period ({_EXAMPLES}), or --start-date and --end-date")
        for option, given in (("--start-date", self.start_date), ("--end-date", self.end_date)):
            if given is None:
                raise InputError(f"{option} is missing: give both dates, or --period ({_EXAMPLES}) instead of them")
        Period(str(self.start_date), str(self.end_date), "UTC")

    def in_zone(self, time_zone: str) -> Period:
        """Days of the options; the day that a relative period is relative to is today in the zone."""
        self.require_days()
        if self.period is not None:
            return self._parse_period(time_zone)
        return Period(str(self.start_date), str(self.end_date), time_zone)

    def optional_dates(self, time_zone: str) -> tuple[str | None, str | None]:
        """First and last day, for a command that needs none or only one of them."""
        self._refuse_dates_beside_a_period()
        if self.period is None:
            return self.start_date, self.end_date
        days = self._parse_period(time_zone)
        return str(days.start_date), str(days.end_date)

    def _parse_period(self, time_zone: str) -> Period:
        try:
            return Period.parse(str(self.period), time_zone=time_zone)
        except PeriodError as error:
            raise PeriodError(f"--period: {error}") from None

    def _refuse_dates_beside_a_period(self) -> None:
        given = "--start-date" if self.start_date is not None else "--end-date"
        if self.period is not None and (self.start_date is not None or self.end_date is not None):
            raise InputError(f"--period and {given} are both given: leave one of them out")
