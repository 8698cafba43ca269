"""The lines of one month compared with the service's own report of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.column_conversion import exact_amounts
from accounting_analytics.load_metadata import DayRange, merge_days
from accounting_analytics.loader.line_tables import with_local_dates
from accounting_analytics.reconciliation import COMPARED_FIELDS, reconcile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport

    Balances = pd.DataFrame | Mapping[str, Decimal]


_BALANCES = ("ledger_id", "cash_balance", "total_cash_balance")
_COMPARED = {
    "ledgers": ("ledger_id", "net_cash_flow", "total_net_cash_flow"),
    "lines": (*COMPARED_FIELDS, "cash_flow_ledger_name"),
    "starting_balances": _BALANCES,
    "ending_balances": _BALANCES,
}
_AMOUNTS = frozenset(("net_cash_flow", "total_net_cash_flow", "amount", *_BALANCES[1:]))


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
    if _have_same_figures(reported, recomputed):
        return ComparedMonth(ties=True, problem="", ending_balances=recomputed.ending_balances, days=())
    result = reconcile(reported, recomputed)
    if result.ties:
        return ComparedMonth(ties=True, problem="", ending_balances=recomputed.ending_balances, days=())
    ids = pa.array(result.differences["line_id"].dropna().unique(), pa.string())
    problem = f"{len(result.differences)} difference(s); {result.differences['explanation'].iloc[0]}"
    days_that_differ = tuple(_days_of(ids, reported, lines))
    return ComparedMonth(ties=False, problem=problem, ending_balances=reported.ending_balances, days=days_that_differ)


def _have_same_figures(reported: CashFlowReport, recomputed: CashFlowReport) -> bool:
    """Whether all rows and sums are the same in the same order; reconcile() takes ten times as long, and finds less."""
    sums = reported.exact_sums()
    if reported.scale != recomputed.scale or sums.identity_gap or sums != recomputed.exact_sums():
        return False
    return all(
        _figures(getattr(reported, table), columns, reported.scale).equals(
            _figures(getattr(recomputed, table), columns, reported.scale)
        )
        for table, columns in _COMPARED.items()
    )


def _figures(table: pd.DataFrame, columns: Sequence[str], scale: int) -> pa.Table:
    """Return the compared columns of a table of a report, with exact amounts."""
    ids = table.iloc[:, 0]
    return pa.table(
        {
            name: pa.array(
                exact_amounts(table[name], scale, ids).column if name in _AMOUNTS else table[name], from_pandas=True
            )
            for name in columns
        }
    )


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
