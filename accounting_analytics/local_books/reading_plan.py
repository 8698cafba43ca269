"""Plan of a sync: days and ledgers to read again.

A sync reads entries without cash, a line of each ledger, and the days that differ from a report. One request returns up
to 1,000 lines of a ledger, from all days. So entries without cash, which no report shows, take about one request for
each ledger that is not cash. At most 100 requests are made for them.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.day_ranges import DayRange, merge_days
from accounting_analytics.core.periods import Period, local_date, zone
from accounting_analytics.loading.arrow_lines import lines_within, with_local_dates
from accounting_analytics.loading.request import PAGE_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.local_books.storage import WorkingCopy

MOST_REQUESTS = 100


class Reading(NamedTuple):
    """Ledgers and days whose entries without cash are read."""

    ledger_ids: list[str]
    days: Period
    of_all_days: bool


def touch_cash(lines: pa.Table, cash: Iterable[str]) -> pa.ChunkedArray:
    """Mark the lines whose journal entry has a line on a cash ledger."""
    on_cash = pc.is_in(lines["ledger_id"], value_set=pa.array(cash, pa.string()))
    entries = lines.filter(on_cash)["journal_entry_id"].combine_chunks()
    return pc.is_in(lines["journal_entry_id"], value_set=entries)


class LineSurvey(NamedTuple):
    """Months and instants of the lines of local books.

    `without_cash` counts the lines of entries without cash, with a row for each month and a column for each ledger.
    `ends` has the instants of each ledger's first and last line in each month with lines.
    """

    without_cash: pd.DataFrame
    ends: Mapping[str, Sequence[dt.datetime]]

    def days_with_a_line(self, ledger_ids: Iterable[str], month: Period) -> dict[str, Period]:
        """Return, for each ledger, days that have a line: the month, extended if necessary."""
        return {ledger_id: self._with_a_line(self.ends.get(ledger_id, ()), month) for ledger_id in ledger_ids}

    @staticmethod
    def _with_a_line(instants: Sequence[dt.datetime], month: Period) -> Period:
        """Extend a month to the nearest instant, if it contains none."""
        if not instants or any(month.contains(instant) for instant in instants):
            return month
        middle = month.instants()[0][0] + dt.timedelta(days=month.days / 2)
        day = local_date(min(instants, key=lambda instant: abs(instant - middle)), zone(month.time_zone))
        return Period(min(day, month.start_date), max(day, month.end_date), month.time_zone)


def survey_lines(copy: WorkingCopy, months: Iterable[Period], cash: Sequence[str]) -> LineSurvey:
    """Count lines of entries without cash, and find the first and last instants, by month and ledger."""
    counts, ends = {}, defaultdict[str, list[dt.datetime]](list)
    for month in months:
        lines = copy.read(month.month, ["ledger_id", "journal_entry_id", "datetime"])
        of_cash = touch_cash(lines, cash)
        counts[month.month] = lines.filter(pc.invert(of_cash))["ledger_id"].to_pandas().value_counts()
        found = lines.group_by("ledger_id").aggregate([("datetime", "min"), ("datetime", "max")])
        for ledger_id, first, last in zip(*(column.to_pylist() for column in found.columns), strict=True):
            ends[ledger_id] += [first, last]
    return LineSurvey(pd.DataFrame(counts).T, ends)


def places_of(lines: pa.Table, time_zone: str) -> frozenset[tuple[dt.date, str]]:
    """Return the local days and ledgers of lines, also with the opposing ledgers that lines state."""
    days = [instant.date() for instant in with_local_dates(lines, time_zone)["local_date"].to_pylist()]
    places = {*zip(days, lines["ledger_id"].to_pylist(), strict=True)}
    if "opposing_ledger_ids" in lines.column_names:
        texts = zip(days, lines["opposing_ledger_ids"].to_pylist(), strict=True)
        places |= {(day, ledger) for day, text in texts if text for ledger in text.split(LIST_SEPARATOR)}
    return frozenset(places)


def days_to_read(
    places: Iterable[tuple[dt.date, str]], cash: set[str], lines: pa.Table, zone_name: str
) -> list[Period]:
    """Return the days of places as ranges, or as one range if that takes fewer requests."""
    places = set(places)
    days = merge_days(DayRange(day, day) for day, _ in places)
    if not days:
        return []
    ranges = [Period(*day_range, zone_name) for day_range in days]
    hull = Period(days[0].first, days[-1].last, zone_name)

    def count_requests(periods: Iterable[Period]) -> int:
        count = 0
        for period in periods:
            ledgers = cash | {ledger for day, ledger in places if period.start_date <= day <= period.end_date}
            counted = dict(lines_within(lines, period)["ledger_id"].to_pandas().value_counts())
            count += sum(-(-counted.get(ledger, 1) // PAGE_SIZE) for ledger in ledgers)
        return count

    return min(([hull], ranges), key=count_requests)


def plan_reading(
    counts: pd.DataFrame, months: Sequence[Period], ledger_ids: list[str], closed: Iterable[Period], turn: int
) -> list[Reading]:
    """Plan readings with at most 100 requests.

    All months of all ledgers are read if possible, else closed months, else some ledgers of all months. `turn` is a
    number that grows with each sync, so that the ledgers take turns.
    """
    counts = counts.reindex(columns=ledger_ids).fillna(0)
    all_days = [DayRange(months[0].start_date, months[-1].end_date)]
    requests = _count_requests(all_days, months, counts)
    chosen, ids = all_days, ledger_ids
    if requests.sum() > MOST_REQUESTS:
        chosen = _choose_closed(months, counts, closed)
    if not chosen:
        groups = _group(requests)
        chosen, ids = all_days, groups[turn % len(groups)]
    return [Reading(ids, Period(*day_range, months[0].time_zone), chosen is all_days) for day_range in chosen if ids]


def _choose_closed(months: Sequence[Period], counts: pd.DataFrame, closed: Iterable[Period]) -> list[DayRange]:
    """Choose closed months, from the earliest, that 100 requests can read."""
    chosen: list[DayRange] = []
    days = [DayRange.of_period(period) for period in closed]
    for month in months:
        if any(first <= month.end_date and month.start_date <= last for first, last in days):
            more = merge_days([*chosen, DayRange.of_period(month)])
            if _count_requests(more, months, counts).sum() <= MOST_REQUESTS:
                chosen = more
    return chosen


def _group(requests: pd.Series[float]) -> list[list[str]]:
    """Group ledgers so that each group takes at most 100 requests. Leave out a ledger that alone needs more."""
    groups: list[list[str]] = [[]]
    for ledger_id, needed in requests[requests <= MOST_REQUESTS].items():
        if requests[groups[-1]].sum() + needed > MOST_REQUESTS:
            groups.append([])
        groups[-1].append(str(ledger_id))
    return groups


def _count_requests(ranges: Iterable[DayRange], months: Sequence[Period], counts: pd.DataFrame) -> pd.Series[float]:
    """Estimate the requests to read ranges of days, by ledger."""
    names = ([month.month for month in months if first <= month.start_date <= last] for first, last in ranges)
    pages = [np.ceil(counts.loc[of_range].sum() / PAGE_SIZE).clip(lower=1) for of_range in names]
    requests: pd.Series[float] = pd.concat(pages, axis="columns").sum(axis="columns")
    return requests
