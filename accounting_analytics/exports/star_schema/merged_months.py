"""Dimensions of an export of which only some months are replaced."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.errors import InputError
from accounting_analytics.exports.star_schema.calendar import date_dimension
from accounting_analytics.exports.star_schema.dimensions import cash_ledger_dimension, display_positions
from accounting_analytics.exports.star_schema.exported_books import name_of_month
from accounting_analytics.exports.star_schema.tables import DIM_LEDGER, DIM_LOAD, DIM_TAG, DIM_TRANSACTION
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.exports.star_schema.tables import StarTable

Tables = dict[str, pa.Table]


def require_whole_months(old_loads: pa.Table, period: Period) -> None:
    """Refuse to replace a month by fewer of its days.

    Raises
    ------
    InputError
        A month of the period does not have all days of it that are exported.
    """
    old = {row["month"]: row for row in old_loads.to_pylist()}
    for month in period.months():
        before = old.get(name_of_month(month))
        if before and (month.start_date > before["start_date"] or month.end_date < before["end_date"]):
            msg = (
                f"{before['month']} is exported from {before['start_date']} to {before['end_date']}; replacing it with "
                f"{month.start_date} to {month.end_date} would lose days; export the whole month, nothing was written"
            )
            raise InputError(msg)


def merge_dimensions(old: Mapping[str, pa.Table], new: Mapping[str, pa.Table], fiscal_year_start_month: int) -> Tables:
    """Dimensions of `new`, and the rows of `old` that they lack; ages and positions are those of the whole."""
    loads = _merge(DIM_LOAD, old, new).sort_by("month")
    zone, scale = (loads[name][0].as_py() for name in ("time_zone", "scale"))
    start, end = pc.min(loads["start_date"]).as_py(), pc.max(loads["end_date"]).as_py()
    ledgers = _merge(DIM_LEDGER, old, new)
    positions = display_positions(ledgers["sort_code"].to_pylist(), ledgers["ledger_id"].to_pylist())
    ledgers = _replace(ledgers, "display_order", positions)
    return {
        DIM_LEDGER.name: ledgers,
        "dim_cash_ledger": cash_ledger_dimension(ledgers, scale),
        "dim_date": date_dimension(Period(start, end, zone), fiscal_year_start_month),
        DIM_TRANSACTION.name: _with_ages(_merge(DIM_TRANSACTION, old, new), end),
        DIM_TAG.name: _merge(DIM_TAG, old, new),
        DIM_LOAD.name: loads,
    }


def gaps_between_months(period_balances: pa.Table, names: Mapping[str, str]) -> Iterator[str]:
    """Describe each account whose balance at the start of a month is not the one at the end of the month before."""
    by_account = period_balances.sort_by([("cash_ledger_id", "ascending"), ("date", "ascending")]).to_pylist()
    for before, after in pairwise(by_account):
        follows = (after["start_date"] - before["date"]).days == 1
        same = before["cash_ledger_id"] == after["cash_ledger_id"]
        if same and follows and before["ending_balance"] != after["starting_balance"]:
            yield (
                f"{names.get(after['cash_ledger_id'], after['cash_ledger_id'])} has {before['ending_balance']:,f} at "
                f"the end of {before['date']} but {after['starting_balance']:,f} at the start of "
                f"{after['start_date']}: the books changed between the two exports; export both months again."
            )


def days_not_exported(loads: pa.Table) -> Iterator[str]:
    """Describe the days between two exported months that no month of the export has."""
    for before, after in pairwise(loads.to_pylist()):
        first, last = before["end_date"] + dt.timedelta(1), after["start_date"] - dt.timedelta(1)
        if first <= last:
            yield f"{first} to {last} are not exported; the export has days before and after them."


def _merge(table: StarTable, old: Mapping[str, pa.Table], new: Mapping[str, pa.Table]) -> pa.Table:
    (key,) = table.key
    added, before = new[table.name], old[table.name].cast(new[table.name].schema)
    absent = pc.invert(pc.is_in(before[key], value_set=added[key].combine_chunks()))
    return pa.concat_tables([added, before.filter(absent)])


def _with_ages(transactions: pa.Table, last_day: object) -> pa.Table:
    days = pc.days_between(transactions["transaction_date"], pa.scalar(last_day, pa.date32()))
    return _replace(transactions, "age_in_days", days)


def _replace(table: pa.Table, name: str, values: object) -> pa.Table:
    field = table.schema.field(name)
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    return table.set_column(table.column_names.index(name), field, column.cast(field.type))
