"""Columns of a statement: periods, comparisons beside each period, and columns after all periods."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from accounting_analytics.core.arguments import to_texts
from accounting_analytics.core.errors import InputError, PeriodError
from accounting_analytics.core.fiscal_years import UnitName, name_unit, require_month, shift_months, to_period
from accounting_analytics.core.messages import count_of, did_you_mean, quote
from accounting_analytics.core.periods import DAY, Period, days_label, month_end, month_label, month_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Unit = Literal["month", "quarter", "year"]
TaggedUnit = Literal["month", "quarter", "year", "tag"]
Comparison = Literal["total", "average", "prior", "prior_year", "change", "change_pct", "share", "budget"]
ColumnKind = Literal[
    "period", "total", "average", "prior", "prior_year", "change", "change_pct", "share",
    "budget", "difference", "difference_pct",
]  # fmt: skip
UNITS: dict[str, int] = {"month": 1, "quarter": 3, "year": 12}
BUDGET = "budget"
COMPARISONS = ("total", "average", "prior", "prior_year", "change", "change_pct", "share", BUDGET)
_YEAR = 12


class StatementColumn(NamedTuple):
    """A column of a statement.

    Attributes
    ----------
    key : str
        ``2026-03``, ``2026-Q1``, ``2026``, two dates with ``/`` between; with a comparison: ``2026-03 change``,
        ``total``.
    label : str
        The heading.
    kind : str
        Kind of its figures.
    of : str or None
        Key of the column that a comparison stands beside.
    periods : tuple of (int, Period)
        The periods whose sums are added (1) or subtracted (-1); empty for a column made of other columns.
    terms : tuple of str
        Keys of the columns that it is made of.
    side : {"debit", "credit", ""}
        Side of a trial balance.
    tags : tuple of str
        Parts of the lines that it sums, of a statement that is split by tags.
    """

    key: str
    label: str
    kind: ColumnKind
    of: str | None = None
    periods: tuple[tuple[int, Period], ...] = ()
    terms: tuple[str, ...] = ()
    side: str = ""
    tags: tuple[str, ...] = ()

    def since(self, day: dt.date) -> StatementColumn:
        """Return the column as a column of movements since a day.

        Its key states the day, because a movement is not a balance.
        """
        suffix = f" since {day}"
        terms = tuple(f"{key}{suffix}" for key in self.terms)
        return self._replace(key=f"{self.key}{suffix}", of=self.of and f"{self.of}{suffix}", terms=terms)

    @property
    def is_percent(self) -> bool:
        """True if its figures are percentages."""
        return self.kind in {"change_pct", "share", "difference_pct"}

    @property
    def is_of_days(self) -> bool:
        """True if its figures are amounts of a period, or of an earlier period."""
        return self.kind in {"period", "prior", "prior_year"}

    @property
    def months(self) -> tuple[dt.date, ...]:
        """First days of its months. A period with a part of a month is refused."""
        return tuple(month.start_date for _, period in self.periods for month in whole_months(period))


class Columns(NamedTuple):
    """The columns that are shown, and all columns by key."""

    shown: tuple[StatementColumn, ...]
    by_key: dict[str, StatementColumn]


def check_comparisons(compare: str | Iterable[str], *, of_flows: bool) -> tuple[str, ...]:
    """Read the names of comparisons. Refuse unknown names.

    Hyphens become underscores, so that a command line can pass the words of its options.
    """
    asked = tuple(
        comparison.replace("-", "_") if isinstance(comparison, str) else comparison for comparison in to_texts(compare)
    )
    for comparison in asked:
        if comparison not in COMPARISONS:
            word = str(comparison).replace("last", "prior").replace("previous", "prior")
            hint = did_you_mean(word, COMPARISONS) or f"choose from {', '.join(COMPARISONS)}"
            raise InputError(f"compare: {quote(comparison)} is unknown; {hint}")
        if not of_flows and comparison == BUDGET:
            raise InputError(
                "compare: a budget is of what is booked in a month, and balances are not; compare it in an income "
                "statement or a cash flow statement"
            )
        if not of_flows and comparison in {"total", "average"}:
            raise InputError(f"compare: balances have no {comparison}; it is for statements of a period's flows")
    return asked


def split_period(period: Period, columns: Unit | Iterable[object] | None, first_month: int) -> list[StatementColumn]:
    """Make the columns of a period: units, or a list of periods.

    A unit that the ends of the period cut is named by its days, because a key always means the same days.
    """
    require_month(first_month)
    if columns is None or isinstance(columns, str):
        unit = columns or "month"
        if unit not in UNITS:
            raise InputError(f"columns must be month, quarter, year or a list of periods, not {quote(columns)}")
        return _unit_columns(period, UNITS[unit], first_month)
    periods = [to_period(column, "columns", first_month, time_zone=period.time_zone) for column in columns]
    if not periods:
        raise InputError("columns is an empty list; pass month, quarter, year or at least one period")
    made = [
        StatementColumn(*_names_of(column_period, first_month), "period", periods=((1, column_period),))
        for column_period in periods
    ]
    if len({column.key for column in made}) < len(made):
        raise InputError("columns: a period occurs more than once")
    return made


def _unit_columns(period: Period, months: int, first_month: int) -> list[StatementColumn]:
    made = []
    first: dt.date | None = period.start_date
    while first is not None and first <= period.end_date:
        month = month_start(first)
        unit_start = shift_months(month, -((first.month - first_month) % months)) or month
        after = shift_months(unit_start, months)
        unit_end = dt.date.max if after is None else after - DAY
        unit = Period(first, min(unit_end, period.end_date), period.time_zone)
        made.append(StatementColumn(*_names_of(unit, first_month), "period", periods=((1, unit),)))
        first = after
    return made


def _names_of(period: Period, first_month: int) -> UnitName:
    """Name a period by its unit, else by its days."""
    return name_unit(period, first_month) or UnitName(f"{period.start_date}/{period.end_date}", days_label(period))


def label(period: Period, first_month: int) -> str:
    """Write the heading of a period: its unit, else its days."""
    return _names_of(period, first_month).heading


def with_comparisons(
    base: Sequence[StatementColumn],
    compare: Sequence[str],
    unit: object,
    heading: Callable[[Period], str],
    averaged_from: dt.date = dt.date.min,
) -> Columns:
    """Add comparisons beside columns, then the total and the average."""
    shown: list[StatementColumn] = []
    hidden: list[StatementColumn] = []
    for column in base:
        shown.append(column)
        beside = _beside(column, compare, unit, heading)
        shown.extend(comparison for comparison in beside if comparison.kind in compare)
        shown.extend(budget_columns(column) if BUDGET in compare else ())
        hidden.extend(comparison for comparison in beside if comparison.kind not in compare)
    if "total" in compare:
        periods = [period for column in base for _, period in column.periods]
        _refuse_overlaps(periods)
        total = StatementColumn("total", "Total", "total", periods=tuple((1, period) for period in periods))
        shown += [total, *(budget_columns(total) if BUDGET in compare else ())]
    if "average" in compare:
        whole = tuple(
            column.key
            for column in base
            if _is_whole(column, unit) and column.periods[0][1].start_date >= averaged_from
        )
        text = f"Average of {len(whole)}" if len(whole) < len(base) else "Average"
        shown.append(StatementColumn("average", text, "average", terms=whole))
    return Columns(tuple(shown), {column.key: column for column in (*shown, *hidden)})


def budget_columns(column: StatementColumn) -> tuple[StatementColumn, StatementColumn, StatementColumn]:
    """Make the columns beside a column for its budget, the difference and the percentage."""
    budget, difference, percent = (f"{column.key} {kind}" for kind in ("budget", "difference", "difference_pct"))
    return (
        StatementColumn(budget, "Budget", "budget", column.key, column.periods),
        StatementColumn(difference, "Difference", "difference", column.key, terms=(column.key, budget)),
        StatementColumn(percent, "% difference", "difference_pct", column.key, terms=(difference, budget)),
    )


def whole_months(period: Period) -> list[Period]:
    """Return the months of a period. Refuse a part of a month.

    It is unclear what the budget of a part of a month is.
    """
    months = period.months()
    for month in months:
        first = month_start(month.start_date)
        if month.start_date != first or month.end_date != month_end(first):
            raise PeriodError(
                f"compare: {days_label(month)} is a part of a month, whose budget may be that of {month_label(first)} "
                f"or {month.days} of its {month_end(first).day} days; choose whole months, such as {month.month}"
            )
    return months


def compared_period(period: Period, comparison: Literal["prior", "prior_year"]) -> Period:
    """Return the period before, or the same days a year earlier."""
    base = split_period(period, [period], 1)
    ((_, earlier),) = with_comparisons(base, (comparison,), [period], days_label).shown[1].periods
    return earlier


def _beside(
    column: StatementColumn, compare: Sequence[str], unit: object, heading: Callable[[Period], str]
) -> list[StatementColumn]:
    """Make the comparisons of a column, in the order shown."""
    ((_, period),) = column.periods
    asked = set(compare)
    against = "prior_year" if "prior_year" in asked else "prior"
    needed = asked | ({against} if asked & {"change", "change_pct"} else set())
    made: list[StatementColumn] = []
    for kind in ("prior", "prior_year"):
        if kind in needed:
            earlier = shifted(period, _YEAR if kind == "prior_year" else _months_of(period, unit))
            made.append(StatementColumn(f"{column.key} {kind}", heading(earlier), kind, column.key, ((1, earlier),)))
    compared = next((comparison for comparison in made if comparison.kind == against), None)
    if "change" in asked and compared:
        periods = ((1, period), *((-1, earlier_period) for _, earlier_period in compared.periods))
        made.append(
            StatementColumn(f"{column.key} change", f"Change from {compared.label}", "change", column.key, periods)
        )
    if "change_pct" in asked and compared:
        terms = (column.key, compared.key)
        made.append(
            StatementColumn(
                f"{column.key} change_pct", f"% change from {compared.label}", "change_pct", column.key, terms=terms
            )
        )
    if "share" in asked:
        made.append(StatementColumn(f"{column.key} share", "Share", "share", column.key, terms=(column.key,)))
    return made


def shifted(period: Period, months: int) -> Period:
    """Shift a period some months earlier. Ends of months remain ends of months."""
    return Period(_earlier(period.start_date, months), _earlier(period.end_date, months), period.time_zone)


def _earlier(day: dt.date, months: int) -> dt.date:
    month = shift_months(month_start(day), -months)
    if month is None:
        raise PeriodError(f"there is no day {count_of(months, 'month')} before {day}: the calendar starts in year 1")
    last = month_end(month)
    return last if day == month_end(day) else month.replace(day=min(day.day, last.day))


def _months_of(period: Period, unit: object) -> int:
    """Return how many months earlier the prior period is.

    The result is 1, 3 or 12.
    """
    if unit is None or isinstance(unit, str):
        return UNITS[unit or "month"]
    for months in (1, 3, _YEAR):
        if shifted(period, months).end_date < period.start_date:
            return months
    raise InputError(f"compare: {period} is longer than a year, so there is no prior period to compare it with")


def _is_whole(column: StatementColumn, unit: object) -> bool:
    """Test if a column has a whole unit. Listed periods count as whole."""
    if not (unit is None or isinstance(unit, str)):
        return True
    ((_, period),) = column.periods
    first, last = period.start_date, period.end_date
    months = (last.year - first.year) * _YEAR + last.month - first.month + 1
    return first.day == 1 and last == month_end(last) and months == UNITS[unit or "month"]


def _refuse_overlaps(periods: Sequence[Period]) -> None:
    ordered = sorted(periods, key=lambda period: period.start_date)
    for period, following in pairwise(ordered):
        if following.start_date <= period.end_date:
            raise InputError(f"compare: periods that overlap have no total: {period} and {following}")
