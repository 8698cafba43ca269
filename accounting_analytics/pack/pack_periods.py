"""The periods that a pack compares, and the columns of its statements."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.core.fiscal_years import year_name
from accounting_analytics.core.periods import DAY, Period, day_label, days_label, month_start
from accounting_analytics.reports.statements.columns import (
    ColumnKind,
    StatementColumn,
    compared_period,
    shifted,
    split_period,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

_MONTHS_SHOWN = 6
_YEAR = 12


class PackPeriods(NamedTuple):
    """The period of a pack and the periods that it is compared with.

    Attributes
    ----------
    this : Period
        The period of the pack.
    before, year_before : Period
        The period before, and the same days a year earlier.
    to_date, year_before_to_date : Period
        From the first day of the fiscal year to the last day of `this`, and the same days a year earlier.
    months : tuple of Period
        The last months up to the last day of `this`.
    first_month : int
        First month of the fiscal year.
    """

    this: Period
    before: Period
    year_before: Period
    to_date: Period
    year_before_to_date: Period
    months: tuple[Period, ...]
    first_month: int

    @classmethod
    def around(cls, this: Period, fiscal_year_start_month: int) -> Self:
        """Find the periods to compare with. A period of more than a year has no prior period."""
        end = this.end_date
        year = end.year if end.month >= fiscal_year_start_month else end.year - 1
        first = min(dt.date(year, fiscal_year_start_month, 1), this.start_date)
        to_date = Period(first, end, this.time_zone)
        return cls(
            this,
            compared_period(this, "prior"),
            compared_period(this, "prior_year"),
            to_date,
            shifted(to_date, _YEAR),
            tuple(_last_months(this)),
            fiscal_year_start_month,
        )

    @property
    def first_day(self) -> dt.date:
        """First day of all compared periods."""
        earliest = min(self.before, self.year_before, self.year_before_to_date, self.months[0])
        return earliest.start_date

    @property
    def key(self) -> str:
        """Key of the column of the period."""
        return split_period(self.this, [self.this], self.first_month)[0].key

    @property
    def label(self) -> str:
        """Heading of the period."""
        return split_period(self.this, [self.this], self.first_month)[0].label

    def compared(self) -> dict[str, Period]:
        """Periods that have their own column, by key, each once."""
        named = {"": self.this, " prior": self.before, " prior_year": self.year_before}
        named |= {" to_date": self.to_date} if self.to_date != self.this else {}
        return {f"{self.key}{suffix}": period for suffix, period in named.items()}

    def key_columns(self) -> list[StatementColumn]:
        """Return the columns of the key figures: period, prior, prior year, year to date."""
        compared = zip(self.compared().items(), _KINDS, strict=False)
        return [_column(key, period, kind, self.label_of(period)) for (key, period), kind in compared]

    def label_of(self, period: Period) -> str:
        """Return the heading of one of the periods."""
        if period in {self.to_date, self.year_before_to_date} and period not in {self.this, self.year_before}:
            return f"{year_name(period.end_date, self.first_month)} to date"
        return days_label(period)

    def income_columns(self) -> list[StatementColumn]:
        """Return the columns of the income statement: key columns, changes, and prior year to date."""
        this, before, year_before, *to_date = self.key_columns()
        shown = [this, before, _change(this, before), year_before, _change(this, year_before), *to_date]
        if to_date:
            period = self.year_before_to_date
            earlier = _column(f"{self.key} prior_year_to_date", period, "prior_year", self.label_of(period))
            shown += [earlier, _change(to_date[0], earlier)]
        return shown

    def month_columns(self) -> list[StatementColumn]:
        """Return the columns of the cash flow statement: last months, year to date."""
        months = [_column(split_period(month, [month], 1)[0].key, month, "period") for month in self.months]
        if self.to_date in self.months:
            return months
        return [*months, _column(f"{self.key} to_date", self.to_date, "period", self.label_of(self.to_date))]

    def twelve_months_columns(self) -> list[StatementColumn]:
        """Return the columns of twelve months and their total."""
        months = self.twelve_months
        shown = [_column(split_period(month, [month], 1)[0].key, month, "period") for month in months]
        return [*shown, StatementColumn("total", "Total", "total", periods=tuple((1, month) for month in months))]

    @property
    def twelve_months(self) -> tuple[Period, ...]:
        """Return the twelve months up to the last day. The last day may cut the last month."""
        return tuple(_last_months(self.this, _YEAR))

    def balance_columns(self) -> list[StatementColumn]:
        """Return the columns of the balance sheet: end, earlier ends, movements."""
        this, before, year_before, *_ = (
            column._replace(label=day_label(column.periods[0][1].end_date)) for column in self.key_columns()
        )
        movement = (_change(this, earlier, "Movement since") for earlier in (before, year_before))
        since_before, since_year_before = movement
        return [this, before, since_before, year_before, since_year_before]


_KINDS: tuple[ColumnKind, ...] = ("period", "prior", "prior_year", "period")


def _column(key: str, period: Period, kind: ColumnKind, label: str = "") -> StatementColumn:
    return StatementColumn(key, label or days_label(period), kind, periods=((1, period),))


def _change(this: StatementColumn, earlier: StatementColumn, text: str = "Change from") -> StatementColumn:
    ((_, old),) = earlier.periods
    key = f"{this.key} change{'_from_prior_year' if earlier.kind == 'prior_year' else ''}"
    return StatementColumn(key, f"{text} {earlier.label}", "change", this.key, (*this.periods, (-1, old)))


def _last_months(period: Period, count: int = _MONTHS_SHOWN) -> Iterable[Period]:
    """Return `count` calendar months up to the period's last month.

    The period may cut the last month.
    """
    first_of_month = month_start(period.end_date)
    found = [Period(first_of_month, period.end_date, period.time_zone)]
    while len(found) < count:
        last = found[-1].start_date - DAY
        found.append(Period(month_start(last), last, period.time_zone))
    return reversed(found)
