"""The lines of one month compared with the service's own report of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.load_metadata import DayRange, merge_days
from accounting_analytics.loader.line_tables import with_local_dates
from accounting_analytics.reconciliation import reconcile

if TYPE_CHECKING:
    from collections.abc import Mapping
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
        amounts="decimal" if reported.as_decimals else None,
        allow_partial=True,
    )
    result = reconcile(reported, recomputed)
    if result.ties:
        return ComparedMonth(ties=True, problem="", ending_balances=recomputed.ending_balances, days=())
    ids = pa.array(result.differences["line_id"].dropna().unique(), pa.string())
    problem = f"{len(result.differences)} difference(s); {result.differences['explanation'].iloc[0]}"
    days_that_differ = tuple(_days_of(ids, reported, lines))
    return ComparedMonth(ties=False, problem=problem, ending_balances=reported.ending_balances, days=days_that_differ)


def _days_of(ids: pa.Array, reported: CashFlowReport, lines: pa.Table) -> list[DayRange]:
    """Local days of the lines with these ids, in the report and among the lines."""
    of_report = pa.table(
        {"id": pa.array(reported.lines["line_id"], pa.string()), "datetime": reported.lines["datetime"]}
    )
    dates = [
        with_local_dates(table.filter(pc.is_in(table["id"], value_set=ids)), reported.period.time_zone)["local_date"]
        for table in (of_report, lines.select(["id", "datetime"]))
    ]
    days = {instant.date() for column in dates for instant in column.to_pylist()}
    return merge_days(DayRange(day, day) for day in days)
