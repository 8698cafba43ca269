"""The version that a sync writes: its ledgers, its lines, and the record of what was proven and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from accounting_analytics.books.drift import compare_lines
from accounting_analytics.books.storage import Version, table_schema
from accounting_analytics.books.version_record import FORMAT, BooksRecord, LineChanges

if TYPE_CHECKING:
    from accounting_analytics.books.drift import Drift
    from accounting_analytics.books.storage import BooksFolder
    from accounting_analytics.books.sync import BooksSync


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
