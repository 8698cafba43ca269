"""Entries that touch no cash, which no report shows: read again at every sync, as far as 100 requests reach.

One request returns up to 1,000 lines of a ledger, of all days. So the entries without cash of all days take about one
request for each ledger that is not cash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.load_metadata import DayRange, merge_days
from accounting_analytics.core.periods import Period
from accounting_analytics.loading.request import PAGE_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.local_books.storage import WorkingCopy

MOST_REQUESTS = 100


class Reading(NamedTuple):
    """Ledgers whose entries without cash are read in some days."""

    ledger_ids: list[str]
    days: Period


def touch_cash(lines: pa.Table, cash: Iterable[str]) -> pa.ChunkedArray:
    """Whether the journal entry of each line has a line on a ledger that reports cash flow."""
    on_cash = pc.is_in(lines["ledger_id"], value_set=pa.array(cash, pa.string()))
    entries = lines.filter(on_cash)["journal_entry_id"].combine_chunks()
    return pc.is_in(lines["journal_entry_id"], value_set=entries)


def count_lines(copy: WorkingCopy, months: Iterable[Period], cash: Sequence[str]) -> pd.DataFrame:
    """Count the lines of entries without cash: a row for each month, a column for each ledger that has some."""
    counts = {}
    for name in [month.month for month in months]:
        lines = copy.read(name)
        counts[name] = lines.filter(pc.invert(touch_cash(lines, cash)))["ledger_id"].to_pandas().value_counts()
    return pd.DataFrame(counts).T


def plan_reading(
    counts: pd.DataFrame, months: Sequence[Period], ledger_ids: list[str], closed: Iterable[Period], turn: int
) -> list[Reading]:
    """Choose what to read with 100 requests: all months of all ledgers, else closed months, else some of the ledgers.

    `turn` is a number that grows with each sync, so that the ledgers take turns.
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
    return [Reading(ids, Period(*one, months[0].time_zone)) for one in chosen if ids]


def _choose_closed(months: Sequence[Period], counts: pd.DataFrame, closed: Iterable[Period]) -> list[DayRange]:
    """Choose closed months, the first ones that can all be read."""
    chosen: list[DayRange] = []
    days = [DayRange.of_period(one) for one in closed]
    for month in months:
        if any(first <= month.end_date and month.start_date <= last for first, last in days):
            more = merge_days([*chosen, DayRange.of_period(month)])
            if _count_requests(more, months, counts).sum() <= MOST_REQUESTS:
                chosen = more
    return chosen


def _group(requests: pd.Series[float]) -> list[list[str]]:
    """Group ledgers so that a group takes at most 100 requests; a ledger that takes more alone is in none."""
    groups: list[list[str]] = [[]]
    for ledger_id, needed in requests[requests <= MOST_REQUESTS].items():
        if requests[groups[-1]].sum() + needed > MOST_REQUESTS:
            groups.append([])
        groups[-1].append(str(ledger_id))
    return groups


def _count_requests(ranges: Iterable[DayRange], months: Sequence[Period], counts: pd.DataFrame) -> pd.Series[float]:
    """About how many requests it takes to read ranges of days of each ledger, if the books have changed little."""
    names = ([one.month for one in months if first <= one.start_date <= last] for first, last in ranges)
    pages = [np.ceil(counts.loc[of_range].sum() / PAGE_SIZE).clip(lower=1) for of_range in names]
    requests: pd.Series[float] = pd.concat(pages, axis="columns").sum(axis="columns")
    return requests
