"""The versions of local books: found by number or time, compared, and listed."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from accounting_analytics.books.drift import compare_lines
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.periods import parse_date, zone

if TYPE_CHECKING:
    from accounting_analytics.books.drift import Drift
    from accounting_analytics.books.storage import BooksFolder, Version
    from accounting_analytics.periods import Period

When: TypeAlias = int | str | dt.date | dt.datetime
_DAY = dt.timedelta(days=1)
_HISTORY = (
    "version", "at", "action", "lines", "added", "removed", "changed", "months_changed", "months_compared", "ties",
    "complete", "kept", "verdict",
)  # fmt: skip


def find_version(storage: BooksFolder, when: When) -> Version:
    """Version with a number, or the newest one at an instant or at the end of a local day, if its files are kept."""
    versions = storage.versions()
    if not versions:
        raise InputError(f"{storage.folder} has no local books yet: sync first")
    if isinstance(when, str) and when.isdecimal():
        when = int(when)
    if isinstance(when, int):
        found = [one for one in versions if one.number == when]
    else:
        until = _instant(when, versions[-1].record.time_zone)
        found = [one for one in versions if one.record.instant <= until]
    if not found:
        first, last = versions[0].label, versions[-1].label
        raise InputError(f"no version of the local books is as of {quote(when)}; they have {first} to {last}")
    if not storage.lines.has_files(found[-1].commit):
        raise InputError(f"{found[-1].label} is no longer kept; books.history() lists those that are")
    return found[-1]


def _instant(when: str | dt.date | dt.datetime, time_zone: str) -> dt.datetime:
    """Instant of a text or time, local where it has no zone; a day means its end."""
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
    return dt.datetime.combine(day + _DAY, dt.time.min, zone(time_zone)) - dt.timedelta(microseconds=1)


def changed_months(before: Version, after: Version) -> list[str]:
    """Months whose files differ between two versions."""
    old, new = before.commit.parts, after.commit.parts
    return sorted(month for month in old.keys() | new.keys() if old.get(month) != new.get(month))


def compare_versions(storage: BooksFolder, before: Version, after: Version, period: Period | None = None) -> Drift:
    """Lines that differ between two versions, of which only the months are read whose files differ."""
    months = changed_months(before, after)
    return compare_lines(
        storage.read_lines(before, months),
        storage.read_lines(after, months),
        storage.read_ledgers(after.record.ledgers_version),
        time_zone=after.record.time_zone,
        scale=after.record.scale,
        before_label=before.label,
        after_label=after.label,
        period=period,
    )


def list_versions(storage: BooksFolder) -> pd.DataFrame:
    """All versions, newest first: when, why, what changed, what was compared, and whether they are kept."""
    rows = [
        {
            "version": one.number,
            "at": one.record.instant,
            "action": one.record.action,
            "lines": sum(file.rows for file in one.commit.parts.values()),
            "added": one.record.changes.added,
            "removed": one.record.changes.removed,
            "changed": one.record.changes.changed,
            "months_changed": len(one.record.changes.months),
            "months_compared": sum(month.compared_at == one.record.written_at for month in one.record.months.values()),
            "ties": one.record.ties,
            "complete": one.record.complete,
            "kept": storage.lines.has_files(one.commit),
            "verdict": one.record.summary(),
        }
        for one in reversed(storage.versions())
    ]
    frame = pd.DataFrame(rows, columns=_HISTORY)
    return frame.assign(at=pd.to_datetime(frame["at"], utc=True).astype("datetime64[us, UTC]"))
