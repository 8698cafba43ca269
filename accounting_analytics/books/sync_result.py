"""Options and result of a sync."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.errors import InputError, PeriodError
from accounting_analytics.messages import count_of
from accounting_analytics.periods import Period, choose_zone, parse_date, zone
from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping

    from accounting_analytics.books.drift import Drift
    from accounting_analytics.books.storage import BooksRecord, Version
    from accounting_analytics.client import LedgerClient
    from accounting_analytics.periods import DateLike, ZoneLike


class SyncOptions(NamedTuple):
    """What a caller says of a sync."""

    start_date: DateLike | None = None
    end_date: DateLike | None = None
    time_zone: ZoneLike | None = None
    lookback_days: int = 10
    months_a_night: int = 1
    parents: Mapping[str, str | None] | None = None
    progress: bool | None = None

    def first_day(self) -> dt.date | None:
        """Return the first day that is asked for."""
        return None if self.start_date is None else parse_date(self.start_date, "start_date")

    def last_day(self, at: dt.datetime, time_zone: str) -> dt.date:
        """Return the last day that is asked for, or the last day of the month."""
        if self.end_date is not None:
            return parse_date(self.end_date, "end_date", last=True)
        today = at.astimezone(zone(time_zone)).date()
        return Period.relative("this-month", as_of=today, time_zone=time_zone).end_date

    def zone_of_days(self, client: LedgerClient, record: BooksRecord | None) -> tuple[str, tuple[str, ...]]:
        """Return the zone of the books, and notes on that of new ones; another zone than theirs is refused."""
        if record is None:
            chosen = choose_zone(self.time_zone, client.time_zone)
            return str(zone(chosen.name)), chosen.notes
        if self.time_zone is not None and choose_zone(self.time_zone).name != record.time_zone:
            raise PeriodError(
                f"the local books have days in {record.time_zone}; sync into a new folder for another zone"
            )
        return record.time_zone, ()


def require_same_books(client: LedgerClient, record: BooksRecord) -> tuple[str, ...]:
    """Refuse a client of another instance or scale than the books; note another address."""
    here = (client.instance_id, client.scale)
    if here != (record.instance_id, record.scale):
        raise InputError(
            f"the local books are of instance {record.instance_id} with scale {record.scale}, not of {here[0]} "
            f"with scale {here[1]}; sync into a new folder; nothing was changed"
        )
    if client.base_url != record.base_url:
        return (f"The service is at {client.base_url} now; it was at {record.base_url}.",)
    return ()


_COLUMNS = ("month", "lines", "ties", "complete", "read_at", "compared_at", "problem")


@dataclass(frozen=True, repr=False)
class SyncResult(Result):
    """Result of a sync of local books.

    Parameters
    ----------
    version : int
        The version that was written.
    months : DataFrame
        Every month: its lines, whether they agree with the service's report (``ties``) and every journal entry is
        complete, whether the sync read all its days again, and when all of them were last read and compared.
    ties : bool
        Whether every month agrees with the service's report.
    complete : bool
        Whether every journal entry is complete.
    changes : Drift or None
        Lines that changed since the version before; None for the first one.
    alarms : tuple of str
        Closed periods that have changed since they were closed.
    verdict : str
        What was proven, as a sentence.
    requests : int
        Requests that it sent to the service, repeated ones included.
    unread_months : tuple of str
        Months whose entries without cash were not all read again: no report shows a change of these.
    notes : tuple of str
        Remarks.
    """

    version: int
    months: pd.DataFrame
    ties: bool
    complete: bool
    changes: Drift | None
    alarms: tuple[str, ...]
    verdict: str
    requests: int
    unread_months: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, version: Version, *, read_again: frozenset[str], **more: Any) -> Self:  # noqa: ANN401 (attributes)
        """Describe a version that was just written."""
        record, months = version.record, month_table(version)
        position = list(months.columns).index("complete") + 1
        months.insert(position, "read_again", months["month"].isin(read_again))
        return cls(version.number, months, record.ties, record.complete, verdict=record.summary(), **more)

    @property
    def frame(self) -> pd.DataFrame:
        """The months."""
        return self.months

    def summary(self) -> str:
        """One line: the version, what was proven, and what changed."""
        lines = int(self.months["lines"].sum())
        changes = f"{lines:,} lines loaded" if self.changes is None else self._describe_changes(self.changes)
        alarms = f" {count_of(len(self.alarms), 'closed period')} changed." if self.alarms else ""
        return f"Version {self.version}: {self.verdict}. {changes.rstrip('.')}.{alarms} {self.requests:,} requests."

    def _describe_changes(self, changes: Drift) -> str:
        """Say what changed, and what was not read, so that a change there was not found."""
        found = changes.summary() if len(changes.frame) else "No changed line was found."
        unread = self.unread_months
        if not unread:
            return found
        months = unread[0] if len(unread) == 1 else f"{len(unread)} months, {unread[0]} to {unread[-1]},"
        return f"{found} Entries without cash of {months} were not all read again."

    def _parts(self) -> Iterator[ResultPart]:
        yield ResultPart([f"ALARM: {alarm}" for alarm in self.alarms])
        differing = self.months.loc[~(self.months["ties"] & self.months["complete"])]
        yield ResultPart([f"{row.month}: {row.problem}" for row in differing.itertuples()], self.months, max_rows=None)
        again = self.months.loc[self.months["read_again"], "month"]
        if len(again) and self.changes is not None:
            months = f"all {len(again)} months" if len(again) == len(self.months) else ", ".join(again)
            yield ResultPart([f"Read again whole: {months}"])
        if self.changes is not None and len(self.changes.frame):
            yield ResultPart(self.changes.explain().splitlines(), self.changes.frame)

    def _content(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "ties": self.ties,
            "complete": self.complete,
            "verdict": self.verdict,
            "requests": self.requests,
            "unread_months": self.unread_months,
            "alarms": self.alarms,
            "months": self.months,
            "changes": None if self.changes is None else self.changes.frame,
            "notes": self.notes,
        }


def month_table(version: Version) -> pd.DataFrame:
    """Every month of a version: its lines, what was proven, when it was read and compared, and why it differs."""
    parts = version.commit.parts
    rows = [
        (month, parts[month].rows, one.ties, one.complete, one.read_at, one.compared_at, one.problem)
        for month, one in sorted(version.record.months.items())
    ]
    months = pd.DataFrame(rows, columns=list(_COLUMNS))
    instants = {
        name: pd.to_datetime(months[name], utc=True).astype("datetime64[us, UTC]")
        for name in ("read_at", "compared_at")
    }
    return months.assign(**instants)
