"""What a sync makes of a version: closed periods that changed, and the version that is written."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import msgspec
import pandas as pd
import pyarrow as pa

from accounting_analytics.books.drift import compare_lines
from accounting_analytics.books.storage import FORMAT, BooksRecord, ClosedPeriod, LineChanges, Version, table_schema
from accounting_analytics.books.versions import compare_versions, find_version
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from accounting_analytics.books.drift import Drift
    from accounting_analytics.books.storage import BooksFolder
    from accounting_analytics.books.sync import BooksSync


def close_days(storage: BooksFolder, days: Period) -> Version:
    """Write a version in which some days are closed, as they are in the one before."""
    with storage.locked():
        last = storage.versions()[-1]
        at = dt.datetime.now(dt.UTC).isoformat()
        start, end = str(days.start_date), str(days.end_date)
        others = [one for one in last.record.closed if (one.start_date, one.end_date) != (start, end)]
        closed = ClosedPeriod(start, end, at, last.number + 1)
        record = msgspec.structs.replace(
            last.record,
            action="close",
            written_at=at,
            changes=LineChanges(),
            closed=tuple(sorted([*others, closed], key=_days)),
        )
        commit = storage.lines.commit(table_schema(record.scale), last.commit.parts, record.as_json(), last.commit)
    return Version(commit, record)


def list_closed(storage: BooksFolder, version: Version) -> pd.DataFrame:
    """Return closed days: when and with which version they were closed, and how many lines changed since."""
    rows = [
        (
            one.start_date,
            one.end_date,
            one.closed_at,
            one.version,
            sum(_changed_since(storage, one, version).line_counts.values()),
        )
        for one in version.record.closed
    ]
    frame = pd.DataFrame(rows, columns=["start_date", "end_date", "closed_at", "version", "changed_lines"])
    instants = pd.to_datetime(frame["closed_at"], utc=True).astype("datetime64[us, UTC]")
    days = {name: pd.to_datetime(frame[name]).astype("datetime64[us]") for name in ("start_date", "end_date")}
    return frame.assign(closed_at=instants, **days)


def find_alarms(storage: BooksFolder, version: Version) -> tuple[str, ...]:
    """Write a sentence for each closed period whose lines have changed since."""
    found = ((one, _changed_since(storage, one, version)) for one in version.record.closed)
    return tuple(
        f"{one.start_date} to {one.end_date} changed since it was closed on {one.closed_at[:10]}. {drift.summary()}"
        for one, drift in found
        if len(drift.frame)
    )


def _changed_since(storage: BooksFolder, closed: ClosedPeriod, version: Version) -> Drift:
    days = Period(closed.start_date, closed.end_date, version.record.time_zone)
    return compare_versions(storage, find_version(storage, closed.version), version, days)


def _days(closed: ClosedPeriod) -> tuple[str, str]:
    return closed.start_date, closed.end_date


def changed_lines(storage: BooksFolder, work: BooksSync, last: Version) -> Drift:
    """Lines that a sync changed."""
    months = sorted(work.changed_months())
    empty = table_schema(last.record.scale).empty_table()
    after = pa.concat_tables([empty, *map(work.copy.read, months)])
    return compare_lines(
        storage.read_lines(last, months),
        after,
        work.ledgers,
        time_zone=last.record.time_zone,
        scale=last.record.scale,
        before_label=last.label,
        after_label="now",
    )


def write_version(storage: BooksFolder, work: BooksSync, last: Version | None, changes: Drift | None) -> Version:
    """Write the version: first the ledgers, then the lines, whose record names the version of the ledgers."""
    at = work.at.isoformat()
    record = BooksRecord(
        format=FORMAT,
        action="sync",
        written_at=at,
        base_url=work.client.base_url,
        instance_id=work.client.instance_id,
        start_date=str(work.period.start_date),
        end_date=str(work.period.end_date),
        time_zone=work.period.time_zone,
        scale=work.scale,
        reaches_back=work.reaches_back,
        ledgers_version=storage.write_ledgers(work.ledgers, at),
        months=work.months,
        anchor=work.anchor,
        changes=_count_lines(changes),
        closed=() if last is None else last.record.closed,
    )
    commit = storage.lines.commit(
        table_schema(work.scale), work.copy.parts, record.as_json(), None if last is None else last.commit
    )
    return Version(commit, record)


def _count_lines(changes: Drift | None) -> LineChanges:
    """Count the lines of each kind of change."""
    if changes is None:
        return LineChanges()
    lines = changes.line_counts
    changed = lines["recategorized"] + lines["amended"]
    return LineChanges(lines["added"], lines["removed"], changed, tuple(sorted(changes.frame["month"].unique())))
