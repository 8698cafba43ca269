"""Axes of a chart: days, weeks, months and quarters, and the columns of a statement."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from accounting_analytics.charts.figure import DAY
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.periods import Period
from accounting_analytics.statements.columns import split_period

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from accounting_analytics.statements.columns import StatementColumn


PeriodUnit = Literal["week", "month", "quarter"]
_UNITS = ("week", "month", "quarter")
_MAX_DAYS_OF_WEEKS, _MAX_DAYS_OF_MONTHS = 62, 1_100
_BAR, _WIDEST_BAR = 0.7, 0.1
"""Parts of a period, and of the chart, that a bar takes at most."""
_MAX_LABELLED = 5
"""Periods up to which each has its label on a telephone."""
_MAX_LABELLED_DAYS = 6
_PERIODS = {"week": 7 * DAY, "month": "M1", "quarter": "M3"}
_LEVEL_LABELS: dict[str, Any] = {
    "tickangle": 0,
    "tickformatstops": [
        {"dtickrange": [None, 27 * DAY], "value": "%-d %b\n%Y"},
        {"dtickrange": ["M1", "M11"], "value": "%b\n%Y"},
        {"dtickrange": ["M12", None], "value": "%Y"},
    ],
}
"""Labels with the year below where it changes, which have room beside each other on a telephone."""
_MONDAY = dt.date(1969, 12, 29)
_DAY = dt.timedelta(days=1)


class TimeStep(NamedTuple):
    """A period that has a mark: the last part of its key, its label, and its days."""

    key: str
    label: str
    period: Period


class TimeSteps(NamedTuple):
    """The periods of a chart, and what each is."""

    unit: PeriodUnit
    steps: Sequence[TimeStep]


def time_steps(period: Period, unit: PeriodUnit | None) -> TimeSteps:
    """Split a period: as asked, or into weeks, months or quarters by its length; the first and last may be cut."""
    if unit is not None and unit not in _UNITS:
        raise InputError(f"by must be week, month or quarter, or None to choose by the length, not {quote(unit)}")
    if unit is None:
        unit = "week" if period.days <= _MAX_DAYS_OF_WEEKS else "month"
        unit = "quarter" if period.days > _MAX_DAYS_OF_MONTHS else unit
    columns = split_period(period, _weeks(period) if unit == "week" else unit, 1)
    return TimeSteps(unit, [TimeStep(one.key, one.label, one.periods[0][1]) for one in columns])


def _weeks(period: Period) -> list[Period]:
    """Weeks from Monday to Sunday, cut at the ends of the period."""
    weeks, first = [], period.start_date
    while first <= period.end_date:
        days_left = min(6 - first.weekday(), (period.end_date - first).days)
        weeks.append(Period(first, first + days_left * _DAY, period.time_zone))
        if weeks[-1].end_date == period.end_date:
            break
        first = weeks[-1].end_date + _DAY
    return weeks


def trace_days(steps: TimeSteps) -> dict[str, Any]:
    """Trace arguments that put a mark in the middle of its period, and find it anywhere in the period."""
    start = {"xperiod0": _MONDAY} if steps.unit == "week" else {}
    return {
        "x": [step.period.start_date for step in steps.steps],
        "xperiod": _PERIODS[steps.unit],
        "xperiodalignment": "middle",
        **start,
    }


def draw_time_axis(figure: go.Figure, unit: PeriodUnit, period: Period) -> None:
    """Axis from the first to the last period, labelled where labels have room."""
    first, last = (_whole(unit, day) for day in (period.start_date, period.end_date))
    is_short = (last[1] - first[0]).days <= _MAX_LABELLED * (last[1] - last[0]).days
    hover = {"week": "week of %-d %b %Y", "month": "%b %Y", "quarter": "Q%q %Y"}
    figure.update_xaxes(
        type="date",
        range=[first[0], last[1]],
        ticklabelmode="period",
        nticks=6,
        hoverformat=hover[unit],
        **_LEVEL_LABELS,
    )
    if is_short:
        formats = {"week": "%-d %b\n%Y", "month": "%b\n%Y", "quarter": "Q%q\n%Y"}
        each = {"tickformat": formats[unit], "dtick": _PERIODS[unit], "tick0": first[0]}
        figure.update_xaxes(**each, tickformatstops=[])


def bar_width(unit: PeriodUnit, period: Period) -> float:
    """Width of a bar in milliseconds: a part of its period, and of the chart where there are few periods."""
    first, last = (_whole(unit, day) for day in (period.start_date, period.end_date))
    shown, each = (last[1] - first[0]).days, (first[1] - first[0]).days
    return DAY * min(each * _BAR, shown * _WIDEST_BAR)


def draw_day_axis(figure: go.Figure, period: Period) -> None:
    """Axis of days, each as wide as a day, from the first to the last of a period."""
    figure.update_xaxes(
        type="date",
        range=[period.start_date, period.end_date + _DAY],
        nticks=6,
        hoverformat="%a %-d %b %Y",
        **_LEVEL_LABELS,
    )
    if period.days <= _MAX_LABELLED_DAYS:  # Plotly would label hours
        figure.update_xaxes(dtick=DAY, tickformat="%-d %b\n%Y", tickformatstops=[], ticklabelmode="period")


def _whole(unit: PeriodUnit, day: dt.date) -> tuple[dt.date, dt.date]:
    """First day of the week, month or quarter of a day, and the day after its last."""
    if unit == "week":
        first = day - day.weekday() * _DAY
        return first, first + 7 * _DAY
    months = 1 if unit == "month" else 3
    first = day.replace(month=(day.month - 1) // months * months + 1, day=1)
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return first, dt.date(year, month + 1, 1)


_MAX_LABELLED_COLUMNS = 7


def draw_column_axis(figure: go.Figure, columns: Sequence[StatementColumn]) -> None:
    """Label as many columns as have room on a telephone; the year is below the first column of each."""
    every = math.ceil(len(columns) / _MAX_LABELLED_COLUMNS)
    shown_year, places, texts = "", [], []
    for place in range(0, len(columns), every):
        name, year = _label_and_year(columns[place])
        places.append(place)
        texts.append(f"{name}<br>{year}" if year != shown_year else name)
        shown_year = year
    figure.update_xaxes(
        tickvals=places, ticktext=texts, tickangle=0, range=[-0.5, len(columns) - 0.5], zeroline=False, fixedrange=True
    )


def _label_and_year(column: StatementColumn) -> tuple[str, str]:
    """Month, quarter or days of a column without its year, and the year."""
    ((_, period),) = column.periods
    first, last = period.start_date, period.end_date
    if (first.year, first.month) == (last.year, last.month):
        return f"{first:%b}", f"{first.year}"
    before, _, year = column.label.rpartition(" ")
    if before.startswith("Q") and year:
        return before, year
    return (f"{first:%b}", f"{first.year}") if before else (column.label, "")
