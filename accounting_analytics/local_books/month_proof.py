"""What a month of local books shows: whether its lines agree with the service's report and its entries are complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.exact_sums import ExactLines
from accounting_analytics.core.load_metadata import DayRange, merge_days
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.loading.arrow_lines import with_local_dates
from accounting_analytics.local_books.storage import exact_lines
from accounting_analytics.reconciliation.compared_report import compare_reports
from accounting_analytics.reports.books.value import Books
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

    Balances = pd.DataFrame | Mapping[str, Decimal]


class ComparedMonth(NamedTuple):
    """The lines of a month compared with its report, and the balances at its end.

    `difference` is how they differ, `incompleteness` why journal entries are not complete, each empty where all is
    well; `days` are those of the lines in question.
    """

    difference: str
    incompleteness: str
    days: list[DayRange]
    ending_balances: pd.DataFrame

    @property
    def problem(self) -> str:
        """Why the month is not proven; empty where it is."""
        return self.difference or self.incompleteness


def compare_month(
    reported: CashFlowReport,
    lines: pa.Table,
    ledgers: pd.DataFrame,
    starting_balances: Balances | None,
    *,
    scale: int,
    is_complete: bool = False,
) -> ComparedMonth:
    """Recompute a month from its lines, rolled forward from the balances before it, and compare it with the report.

    The journal entries are checked too, if they are not known to be complete.
    """
    days = reported.period
    opening = None if starting_balances is None else (days.start_date, starting_balances)
    books = Books(lines, ledgers, days, time_zone=days.time_zone, opening=opening)
    recomputed = recompute_cash_flow(books, allow_partial=True)
    result = compare_reports(reported, recomputed)
    incomplete, entry_ids = ("", []) if is_complete else find_incompleteness(lines, days, scale)
    if result.ties:
        open_lines = lines.filter(pc.is_in(lines["journal_entry_id"], value_set=pa.array(entry_ids, pa.string())))
        return ComparedMonth("", incomplete, _days_of([open_lines], days.time_zone), recomputed.exact().ending_balances)
    ids = pa.array(result.differences["line_id"].dropna().unique(), pa.string())
    listed = reported.exact().lines
    of_report = pa.table({"id": pa.array(listed["line_id"], pa.string()), "datetime": listed["datetime"]})
    tables = [one.filter(pc.is_in(one["id"], value_set=ids)) for one in (of_report, lines.select(["id", "datetime"]))]
    difference = f"{count_of(len(result.differences), 'difference')}; {result.differences['explanation'].iloc[0]}"
    return ComparedMonth(difference, incomplete, _days_of(tables, days.time_zone), reported.exact().ending_balances)


def _days_of(tables: Iterable[pa.Table], time_zone: str) -> list[DayRange]:
    """Local days of the lines of some tables."""
    dates = (pc.unique(with_local_dates(table, time_zone)["local_date"]).to_pylist() for table in tables)
    days = {instant.date() for column in dates for instant in column}
    return merge_days(DayRange(day, day) for day in days)


def find_incompleteness(lines: pa.Table, month: Period, scale: int) -> tuple[str, list[str]]:
    """Why the journal entries of a month are not complete, and the ids of those; empty where they are."""
    counts = pc.value_counts(lines["id"])
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1)).to_pylist()
    if repeated:
        return f"{count_of(len(repeated), 'line is', 'lines are')} there more than once: {join_ids(repeated)}", []
    entry_ids = _find_open_entries(lines, month, scale)
    if entry_ids:
        lacking = count_of(len(entry_ids), "does not balance, or lacks", "do not balance, or lack")
        return f"{lacking} a line that is named: {join_ids(entry_ids)}", entry_ids
    return "", []


def _find_open_entries(lines: pa.Table, month: Period, scale: int) -> list[str]:
    """Ids of the journal entries of a month that do not balance, or name a line that is not there."""
    entries = ExactLines.from_frame(exact_lines(lines, month, scale=scale)).entries(month.instants())
    texts = lines["journal_entry_line_entry_ids"]  # the same in all lines of an entry
    distinct = pc.unique(texts)
    distinct = distinct.filter(pc.not_equal(distinct, ""))  # an entry that names no line
    named = pc.split_pattern(distinct, LIST_SEPARATOR)
    is_absent = pc.invert(pc.is_in(pc.list_flatten(named), value_set=lines["id"].combine_chunks()))
    with_absent = distinct.take(pc.unique(pc.list_parent_indices(named).filter(is_absent)))
    naming = lines["journal_entry_id"].filter(pc.is_in(texts, value_set=with_absent))
    return sorted({*naming.to_pylist(), *entries.unbalanced()})
