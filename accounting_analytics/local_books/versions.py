"""The versions of local books: their contents, and how to find a version."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import DAY, Period, parse_date, zone
from accounting_analytics.reports.books.extent_of_load import MonthProof

if TYPE_CHECKING:
    from collections.abc import Sequence

When: TypeAlias = int | str | dt.date | dt.datetime
_AGREED = "The service's cash flow report agrees with the line entries to the last digit."
_DIFFERED = "The service's report does not agree with the line entries:"
_NOT_COMPLETE = "Journal entries are not complete:"


class StoredFile(NamedTuple):
    """A file of the books: its path, which ends in the SHA-256 of its bytes, its size and its rows."""

    path: str
    size: int
    rows: int


class MonthRecord(msgspec.Struct, frozen=True):
    """Record of a month: time of its reading, and agreement with the service's report.

    `problem` says why the lines differ from the report, or why journal entries are not complete. It is empty if the
    lines are complete and agree. `report` is the SHA-256 of the compared report, and `ending` are the balances of the
    cash ledgers at the end of the month. While report, lines, ledgers and starting balances are the same, so is the
    record.
    """

    read_at: dt.datetime
    complete: bool
    problem: str = ""
    report: str = ""
    ending: dict[str, Decimal] = {}

    @property
    def ties(self) -> bool:
        """True if the lines are complete and agree with the service's report."""
        return not self.problem

    def proof(self, compared_at: dt.datetime) -> MonthProof:
        """Return the proof of the month for exports."""
        if self.ties:
            return MonthProof(_AGREED, self.read_at, compared_at)
        what = _DIFFERED if self.complete else _NOT_COMPLETE
        return MonthProof(f"{what} {self.problem}.", self.read_at, None, self.complete)


class ClosedPeriod(msgspec.Struct, frozen=True):
    """Days whose lines must not change any more, and the version that closed them."""

    start_date: dt.date
    end_date: dt.date
    closed_at: dt.datetime
    version: int


class LineChanges(msgspec.Struct, frozen=True):
    """Numbers of lines that a sync added, removed and changed, and their months."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    months: tuple[str, ...] = ()


class Version(msgspec.Struct, frozen=True):
    """A version of the books, as stored in the log of its table.

    `files` are the files of lines by month, and `ledgers` is the file of the chart of accounts. `synced_at` is the
    start of the last sync, which compared every month. Closing a period also makes a version. `reaches_back` is true if
    no ledger has a line before the first day. `anchor` are the cash balances that the service reported at the start of
    the first day.
    """

    number: int
    action: str
    written_at: dt.datetime
    synced_at: dt.datetime
    base_url: str
    instance_id: str
    start_date: dt.date
    end_date: dt.date
    time_zone: str
    scale: int
    reaches_back: bool
    anchor: dict[str, Decimal]
    months: dict[str, MonthRecord]
    files: dict[str, StoredFile]
    ledgers: StoredFile
    changes: LineChanges = LineChanges()
    closed: tuple[ClosedPeriod, ...] = ()
    format: Literal[3] = 3

    @property
    def label(self) -> str:
        """Number and time of the version."""
        return f"version {self.number} ({self.written_at:%Y-%m-%d %H:%M} UTC)"

    @property
    def period(self) -> Period:
        """Days of the books."""
        return Period(self.start_date, self.end_date, self.time_zone)

    @property
    def lines(self) -> int:
        """Number of line entries."""
        return sum(file.rows for file in self.files.values())

    @property
    def ties(self) -> bool:
        """True if every month agrees with the service's report."""
        return all(record.ties for record in self.months.values())

    @property
    def complete(self) -> bool:
        """True if every journal entry of every month is complete."""
        return all(record.complete for record in self.months.values())

    def summary(self) -> str:
        """Summarize the proof of the last sync in one sentence."""
        count = len(self.months)
        differing = [month for month, record in self.months.items() if not record.ties]
        if not differing:
            filled = sum(self.files[month].rows > 0 for month in self.months)
            months = f"{count} months" if filled == count else f"{filled} months with lines"
            return f"all {months} agree with the service's cash flow reports"
        differ = any(self.months[month].complete for month in differing)
        what = "do not agree with the service's report" if differ else "have journal entries that are not complete"
        first = f"{differing[0]}: {self.months[differing[0]].problem}"
        return f"{len(differing)} of {count} months {what}; first {first}"

    def month_table(self) -> pd.DataFrame:
        """Return a table of months: lines, proof, times, and problem."""
        rows = [
            (
                month,
                self.files[month].rows,
                record.ties,
                record.complete,
                record.read_at,
                self.synced_at,
                record.problem,
            )
            for month, record in sorted(self.months.items())
        ]
        columns = ["month", "lines", "ties", "complete", "read_at", "compared_at", "problem"]
        instants = dict.fromkeys(("read_at", "compared_at"), "datetime64[us, UTC]")
        return pd.DataFrame(rows, columns=columns).astype(instants)

    def changed_months(self, later: Version) -> list[str]:
        """Return the months whose file is another one in a later version."""
        return sorted(month for month, file in later.files.items() if self.files.get(month) != file)

    def describe_held(self, period: Period) -> str:
        """Say which days of a period the books have, with advice for the missing days."""
        first, last = max(period.start_date, self.start_date), min(period.end_date, self.end_date)
        held = f"for the days that they have, use {first}/{last}; " if first <= last else ""
        earlier = [f"start_date='{period.start_date}'"] if period.start_date < self.start_date else []
        later = [f"end_date='{period.end_date}'"] if period.end_date > self.end_date else []
        return (
            f"the local books have {self.period}, which does not include all of {period}; {held}to extend them, sync "
            f"with {' and '.join(earlier + later)}"
        )


def find_version(versions: Sequence[Version], when: When) -> Version:
    """Find a version by number, or the newest version at a time.

    A local day means the end of the day.
    """
    if isinstance(when, np.integer) or (isinstance(when, str) and when.isdecimal()):
        when = int(when)  # also NumPy integers, from a cell of a frame
    if isinstance(when, int):
        found = [version for version in versions if version.number == when]
    else:
        until = _instant(when, versions[-1].time_zone)
        found = [version for version in versions if version.written_at <= until]
    if not found:
        first, last = versions[0].label, versions[-1].label
        raise InputError(f"no version of the local books is as of {quote(when)}; they have {first} to {last}")
    return found[-1]


def _instant(when: str | dt.date, time_zone: str) -> dt.datetime:
    """Convert a text or local time to an instant. A day means the end of the day."""
    if isinstance(when, str) and ("T" in when or ":" in when):
        try:
            when = dt.datetime.fromisoformat(when)
        except ValueError:
            raise InputError(
                f"{quote(when)} is not a version, a date or an instant such as 2026-04-14T06:00Z"
            ) from None
    if isinstance(when, dt.datetime):
        return when if when.tzinfo else when.replace(tzinfo=zone(time_zone))
    day = parse_date(when, "the day of a version")
    return dt.datetime.combine(day + DAY, dt.time.min, zone(time_zone)) - dt.timedelta(microseconds=1)
