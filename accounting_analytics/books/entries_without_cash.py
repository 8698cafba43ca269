"""Entries that touch no cash, which no report shows: read again at every sync, as far as 100 requests reach.

One request returns up to 1,000 lines of a ledger, of all days. So the entries without cash of all days take about one
request for each ledger that is not cash.
"""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.load_metadata import DayRange, merge_days
from accounting_analytics.loader.windows import PAGE_SIZE
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from accounting_analytics.books.storage import WorkingCopy

MOST_REQUESTS = 100


class Reading(NamedTuple):
    """Ledgers whose entries without cash are read in some days."""

    ledger_ids: tuple[str, ...]
    days: Period


def touch_cash(lines: pa.Table, cash: Iterable[str]) -> pa.ChunkedArray:
    """Whether the journal entry of each line has a line on a ledger that reports cash flow."""
    on_cash = pc.is_in(lines["ledger_id"], value_set=pa.array(cash, pa.string()))
    entries = lines.filter(on_cash)["journal_entry_id"].combine_chunks()
    return pc.is_in(lines["journal_entry_id"], value_set=entries)


def count_lines(copy: WorkingCopy, months: Iterable[Period], cash: Sequence[str]) -> dict[str, Counter[str]]:
    """Count the lines of entries without cash by month and ledger."""
    counts = {}
    for name in [month.month for month in months]:
        lines = copy.read(name).select(["ledger_id", "journal_entry_id"])
        counts[name] = Counter(lines.filter(pc.invert(touch_cash(lines, cash)))["ledger_id"].to_pylist())
    return counts


def plan_reading(
    counts: Mapping[str, Counter[str]],
    months: Sequence[Period],
    ledger_ids: Sequence[str],
    closed: Sequence[Period],
    turn: int,
) -> list[Reading]:
    """Choose what to read with 100 requests: all months of all ledgers, else closed months, else some of the ledgers.

    `turn` is a number that grows with each sync, so that the ledgers take turns.
    """
    days = DayRange(months[0].start_date, months[-1].end_date)
    requests = _count_requests([days], months, counts, ledger_ids)
    chosen, ids = [days], tuple(ledger_ids)
    if sum(requests.values()) > MOST_REQUESTS:
        chosen = _choose_closed(months, counts, ledger_ids, closed)
    if not chosen:
        chosen, groups = [days], _group(requests)
        ids = groups[turn % len(groups)] if groups else ()
    return [Reading(ids, Period(*one, months[0].time_zone)) for one in chosen if ids]


def _choose_closed(
    months: Sequence[Period], counts: Mapping[str, Counter[str]], ledger_ids: Sequence[str], closed: Sequence[Period]
) -> list[DayRange]:
    """Choose closed months, the first ones that can all be read."""
    chosen: list[DayRange] = []
    for month in months:
        if any(one.start_date <= month.end_date and month.start_date <= one.end_date for one in closed):
            more = merge_days([*chosen, DayRange.of_period(month)])
            if sum(_count_requests(more, months, counts, ledger_ids).values()) <= MOST_REQUESTS:
                chosen = more
    return chosen


def _group(requests: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Group ledgers so that a group takes at most 100 requests; a ledger that takes more alone is in none."""
    groups: list[tuple[str, ...]] = []
    left = 0
    for ledger_id, needed in requests.items():
        if needed > MOST_REQUESTS:
            continue
        if needed > left:
            groups.append(())
            left = MOST_REQUESTS
        groups[-1] += (ledger_id,)
        left -= needed
    return groups


def _count_requests(
    ranges: Iterable[DayRange], months: Sequence[Period], counts: Mapping[str, Counter[str]], ledger_ids: Iterable[str]
) -> dict[str, int]:
    """About how many requests it takes to read ranges of days of each ledger, if the books have changed little."""
    sums = []
    for first, last in ranges:
        lines: Counter[str] = Counter()
        for month in months:
            if first <= month.start_date <= last:
                lines.update(counts[month.month])
        sums.append(lines)
    return {one: sum(max(1, ceil(lines[one] / PAGE_SIZE)) for lines in sums) for one in ledger_ids}
