"""What a version of local books states about itself: its days, what was proven when, and what changed."""

from __future__ import annotations

import datetime as dt
from typing import Any, Self

import msgspec

from accounting_analytics.errors import BooksError
from accounting_analytics.exports.books import MonthProof
from accounting_analytics.periods import Period

FORMAT = 1
_AGREED = "The service's cash flow report agrees with the line entries to the last digit."
_DIFFERED = "The service's report does not agree with the line entries:"
_NOT_COMPLETE = "Journal entries are not complete:"
_NOT_COMPARED = "Not compared with the service's report."


class MonthRecord(msgspec.Struct, frozen=True):
    """What is known of a month: when all its lines were read, and whether they agree with the service's report.

    A month with a journal entry that is not complete does not agree, whatever its report shows.
    `problem` is why the lines are not complete or differ from the report; empty where they are and agree.
    """

    read_at: str
    compared_at: str = ""
    ties: bool = False
    complete: bool = False
    problem: str = ""

    def proof(self) -> MonthProof:
        """Return what an export states of the month."""
        read_at, compared_at = (
            dt.datetime.fromisoformat(one) if one else None for one in (self.read_at, self.compared_at)
        )
        verdict = _AGREED if self.ties else _NOT_COMPARED if compared_at is None else self._difference()
        verdict += f" {self.problem}." if self.problem else ""
        return MonthProof(verdict, read_at, compared_at if self.ties else None, self.complete)

    def _difference(self) -> str:
        return _DIFFERED if self.complete else _NOT_COMPLETE


class ClosedPeriod(msgspec.Struct, frozen=True):
    """Days whose lines must not change any more, and the version that they were closed with."""

    start_date: str
    end_date: str
    closed_at: str
    version: int


class LineChanges(msgspec.Struct, frozen=True):
    """How many lines a sync added, removed and changed, and in which months."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    months: tuple[str, ...] = ()


class BooksRecord(msgspec.Struct, frozen=True):
    """The record of a version; instants are ISO texts in UTC, dates ISO texts.

    `reaches_back` is whether no ledger has a line before the first day. `anchor` are the cash balances, in minor units,
    that the service reported at the start of the first day.
    """

    format: int
    action: str
    written_at: str
    base_url: str
    instance_id: str
    start_date: str
    end_date: str
    time_zone: str
    scale: int
    reaches_back: bool
    ledgers_version: int
    months: dict[str, MonthRecord]
    anchor: dict[str, int] = msgspec.field(default_factory=dict)
    changes: LineChanges = LineChanges()
    closed: tuple[ClosedPeriod, ...] = ()

    @classmethod
    def of(cls, record: dict[str, Any]) -> Self:
        """Read a record; one of another format is refused."""
        if record.get("format") != FORMAT:
            raise BooksError("the local books were written by another version: sync into a new folder")
        return msgspec.convert(record, cls)

    @property
    def period(self) -> Period:
        """The days of the books."""
        return Period(self.start_date, self.end_date, self.time_zone)

    @property
    def ties(self) -> bool:
        """Whether every month agrees with the service's report."""
        return all(one.ties for one in self.months.values())

    @property
    def complete(self) -> bool:
        """Whether every journal entry of every month is complete."""
        return all(one.complete for one in self.months.values())

    @property
    def instant(self) -> dt.datetime:
        """When the version was written."""
        return dt.datetime.fromisoformat(self.written_at)

    @property
    def synced_at(self) -> dt.datetime:
        """When the last sync began, which compared every month; closing some days is a version too."""
        return dt.datetime.fromisoformat(max(one.compared_at for one in self.months.values()))

    def summary(self) -> str:
        """Write what the last sync proved, as one sentence."""
        count = len(self.months)
        differing = [month for month, one in self.months.items() if not one.ties]
        if differing:
            first = f"{differing[0]}: {self.months[differing[0]].problem}"
            differ = any(self.months[month].complete for month in differing)
            what = "do not agree with the service's report" if differ else "have journal entries that are not complete"
            return f"{len(differing)} of {count} months {what}; first {first}"
        return f"all {count} months agree with the service's cash flow reports"

    def describe_held(self, period: Period) -> str:
        """Say which days of a period the books have, and what to do."""
        first, last = max(period.start_date, self.period.start_date), min(period.end_date, self.period.end_date)
        held = f"for the days that they have, use {first}/{last}; " if first <= last else ""
        earlier = [f"start_date='{period.start_date}'"] if period.start_date < self.period.start_date else []
        later = [f"end_date='{period.end_date}'"] if period.end_date > self.period.end_date else []
        return (
            f"the local books have {self.period}, which does not include all of {period}; {held}to extend them, sync "
            f"with {' and '.join(earlier + later)}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON types."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found
