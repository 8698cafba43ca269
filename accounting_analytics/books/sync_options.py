"""What a caller asks of a sync, and whether it fits the books: their zone, instance and scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.errors import InputError, PeriodError
from accounting_analytics.periods import Period, choose_zone, parse_date, zone

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from accounting_analytics.books.version_record import BooksRecord
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
