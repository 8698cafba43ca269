"""The lines of one month compared with the service's own report of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.load_metadata import DayRange, merge_days
from accounting_analytics.loader.line_tables import with_local_dates
from accounting_analytics.messages import count_of
from accounting_analytics.reconciliation import compare_reports

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport

    Balances = pd.DataFrame | Mapping[str, Decimal]


class ComparedMonth(NamedTuple):
    """Whether the lines of a month agree with its report, the balances at its end, and the days that differ."""

    ties: bool
    problem: str
    ending_balances: pd.DataFrame
    days: tuple[DayRange, ...]


def compare_month(
    reported: CashFlowReport, lines: pa.Table, ledgers: pd.DataFrame, starting_balances: Balances | None
) -> ComparedMonth:
    """Recompute a month from its lines, rolled forward from the balances before it, and compare it with the report."""
    days = reported.period
    recomputed = recompute_cash_flow(
        lines,
        ledgers,
        days.start_date,
        days.end_date,
        time_zone=days.time_zone,
        starting_balances=starting_balances,
        amounts="decimal",
        allow_partial=True,
    )
    result = compare_reports(reported.exact(is_valid=True), recomputed)
    if result.ties:
        return ComparedMonth(ties=True, problem="", ending_balances=recomputed.ending_balances, days=())
    ids = pa.array(result.differences["line_id"].dropna().unique(), pa.string())
    problem = f"{count_of(len(result.differences), 'difference')}; {result.differences['explanation'].iloc[0]}"
    days_that_differ = tuple(_days_of(ids, reported, lines))
    return ComparedMonth(ties=False, problem=problem, ending_balances=reported.ending_balances, days=days_that_differ)


def _days_of(ids: pa.Array, reported: CashFlowReport, lines: pa.Table) -> list[DayRange]:
    """Local days of the lines with these ids, in the report and among the lines."""
    of_report = pa.table(
        {"id": pa.array(reported.lines["line_id"], pa.string()), "datetime": reported.lines["datetime"]}
    )
    tables = (of_report, lines.select(["id", "datetime"]))
    return find_days([one.filter(pc.is_in(one["id"], value_set=ids)) for one in tables], reported.period.time_zone)


def find_days(tables: Iterable[pa.Table], time_zone: str) -> list[DayRange]:
    """Local days of the lines of some tables."""
    dates = (pc.unique(with_local_dates(table, time_zone)["local_date"]).to_pylist() for table in tables)
    days = {instant.date() for column in dates for instant in column}
    return merge_days(DayRange(day, day) for day in days)
