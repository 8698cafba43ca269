"""Comparison of a month's lines with the service's report, and completeness of its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.exact_sums import ExactLines
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.local_books.reading_plan import places_of
from accounting_analytics.local_books.storage import exact_lines
from accounting_analytics.reconciliation.compared_report import compare_reports
from accounting_analytics.reports.books.value import Books
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

    Balances = Mapping[str, Decimal]


class ComparedMonth(NamedTuple):
    """Comparison of a month's lines with its report, and the balances at its end.

    `difference` and `incompleteness` describe problems, and are empty without a problem. `places` are the days and
    ledgers of the entries in question, and `ledger_ids` are the ledgers whose sums differ.
    """

    difference: str
    incompleteness: str
    places: frozenset[tuple[dt.date, str]]
    ledger_ids: frozenset[str]
    ending_balances: dict[str, Decimal]

    @property
    def problem(self) -> str:
        """Why the month is not proven, or "" for a proven month."""
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
    """Recompute a month from its lines, and compare it with the report.

    Ending balances are the starting balances and the movement. The journal entries are also checked, unless they are
    known to be complete.
    """
    days = reported.period
    opening = None if starting_balances is None else (days.start_date, starting_balances)
    books = Books(lines, ledgers, days, time_zone=days.time_zone, opening=opening)
    recomputed = recompute_cash_flow(books, allow_partial=True)
    result = compare_reports(reported, recomputed)
    incomplete, entry_ids = ("", []) if is_complete else find_incompleteness(lines, days, scale)
    if result.ties:
        places = places_of(_lines_of_entries(lines, entry_ids), days.time_zone)
        return ComparedMonth("", incomplete, places, frozenset(), _balances(recomputed))
    differing, exact = result.differences, reported.exact()
    entries = _lines_of_entries(lines, [*entry_ids, *differing["journal_entry_id"].dropna()])
    listed = exact.lines[exact.lines["line_id"].isin(differing["line_id"].dropna())]
    of_report = pa.table({"ledger_id": pa.array(listed["ledger_id"], pa.string()), "datetime": listed["datetime"]})
    places = places_of(entries, days.time_zone) | places_of(of_report, days.time_zone)
    ledger_ids = frozenset(differing.loc[differing["what"] == "net_cash_flow", "ledger_id"])
    difference = f"{count_of(len(differing), 'difference')}; {differing['explanation'].iloc[0]}"
    return ComparedMonth(difference, incomplete, places, ledger_ids, _balances(reported))


def _balances(report: CashFlowReport) -> dict[str, Decimal]:
    """Return the cash balances at the end of a report."""
    ending = report.exact().ending_balances
    return dict(zip(ending["ledger_id"], ending["cash_balance"], strict=True))


def _lines_of_entries(lines: pa.Table, entry_ids: Iterable[str]) -> pa.Table:
    return lines.filter(pc.is_in(lines["journal_entry_id"], value_set=pa.array(entry_ids, pa.string())))


def find_incompleteness(lines: pa.Table, month: Period, scale: int) -> tuple[str, list[str]]:
    """Describe incomplete journal entries of a month, with their ids."""
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
    """Return ids of entries that do not balance or lack a line."""
    entries = ExactLines.from_frame(exact_lines(lines, month, scale=scale)).entries(month.instants())
    texts = lines["journal_entry_line_entry_ids"]  # all lines of an entry have the same ids here
    distinct = pc.unique(texts)
    distinct = distinct.filter(pc.not_equal(distinct, ""))  # the entry names none of its lines
    named = pc.split_pattern(distinct, LIST_SEPARATOR)
    is_absent = pc.invert(pc.is_in(pc.list_flatten(named), value_set=lines["id"].combine_chunks()))
    with_absent = distinct.take(pc.unique(pc.list_parent_indices(named).filter(is_absent)))
    naming = lines["journal_entry_id"].filter(pc.is_in(texts, value_set=with_absent))
    return sorted({*naming.to_pylist(), *entries.unbalanced()})
