"""The dimension of days."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pandas as pd

from accounting_analytics.exports.star_schema.tables import DIM_DATE

if TYPE_CHECKING:
    import pyarrow as pa

    from accounting_analytics.periods import Period

_MONTHS = 12


def date_dimension(period: Period, fiscal_year_start_month: int) -> pa.Table:
    """``dim_date``: every day of the calendar and fiscal years that the period touches.

    A fiscal year has the number of the calendar year it ends in. Weeks are those of ISO 8601, weekday 1 is Monday.
    """
    days = pd.date_range(*_whole_years(period, fiscal_year_start_month), unit="us")
    iso = days.isocalendar()
    fiscal_month = (days.month - fiscal_year_start_month) % _MONTHS + 1
    columns = {
        "date": days.date,
        "year": days.year,
        "quarter": days.quarter,
        "month_number": days.month,
        "month_name": days.month_name(),
        "year_month": [day.isoformat()[:7] for day in days.date],
        "day": days.day,
        "weekday": iso["day"],
        "weekday_name": days.day_name(),
        "iso_year": iso["year"],
        "iso_week": iso["week"],
        "fiscal_year": days.year + ((days.month >= fiscal_year_start_month) & (fiscal_year_start_month > 1)),
        "fiscal_quarter": (fiscal_month - 1) // 3 + 1,
        "fiscal_month": fiscal_month,
    }
    return DIM_DATE.from_columns(columns, 0)


def _whole_years(period: Period, fiscal_year_start_month: int) -> tuple[dt.date, dt.date]:
    """First and last day of the calendar and fiscal years of a period, as far as dates go."""
    first, last = period.start_date, period.end_date
    if fiscal_year_start_month == 1:
        return dt.date(first.year, 1, 1), dt.date(last.year, _MONTHS, 31)
    starts_before = first.month < fiscal_year_start_month and first.year > dt.MINYEAR
    ends_after = last.month >= fiscal_year_start_month and last.year < dt.MAXYEAR
    start = dt.date(first.year - 1, fiscal_year_start_month, 1) if starts_before else dt.date(first.year, 1, 1)
    day_after = dt.date(last.year + 1, fiscal_year_start_month, 1) if ends_after else None
    return start, day_after - dt.timedelta(1) if day_after else dt.date(last.year, _MONTHS, 31)
