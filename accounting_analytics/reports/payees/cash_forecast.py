"""Weeks of cash ahead of a day, and how often such forecasts were right on the same books.

The weeks ahead move what the last 26 weeks moved on average, or what the same weeks of the year before moved, where
that was better on these books. Payments with a rhythm say in which of the weeks; what is left is the same in each. Each
past week is an origin: a forecast is made of what was known then, and compared with what came.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.money import rounded_quotient
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR
from accounting_analytics.reports.payees.recurring import PayeeRhythms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.reports.payees.recurring import Occurrence, RecurringPayment

AVERAGED = 26
"""Weeks whose average is the measure: with less history nothing is expected."""
AT_REST = 13
"""Weeks without movement after which past errors say nothing of those ahead, so that there is no range."""
LEAST_ORIGINS = 20
"""A range needs more past forecasts than these: 59 weeks of history for 13 weeks ahead."""
_MOST_ORIGINS = 104
_YEAR = 52
_LEAST_OF_A_YEAR = 39
"""Past forecasts that show whether the weeks of the year before are better: three quarters of a year."""
_MUCH_BETTER = 6, 10
"""Part of the other error that theirs may be, because forecasts of neighbouring weeks err together."""
COVERED_PERCENT = 80
_AFTER_OUTSIDE, _AFTER_INSIDE = 4, -1
"""What a past balance adds to that percentage: nothing together where 80 of 100 are inside."""
_MOST_TIMES = 10
"""How many times a past error counts at most where more cash moves now: books may have been at rest."""
RECURRING, LAST_YEAR, AVERAGE = "recurring", "last year", "average"
"""What weeks are measured by, or the average alone."""
SHOWN, NOTHING = "outlook", "no change"
_DAY, _WEEK = dt.timedelta(days=1), dt.timedelta(days=7)


class ExpectedPayment(NamedTuple):
    """A payment that its rhythm has on a day."""

    day: dt.date
    payment: RecurringPayment

    @property
    def units(self) -> int:
        """Signed units of cash."""
        return self.payment.next_units


class CashForecast(NamedTuple):
    """What is expected of the weeks after a day, from what was known then.

    Attributes
    ----------
    day : date
        The day before the first week.
    payments : list of list of ExpectedPayment
        What has a rhythm, by week.
    nets : mapping of str to list of int
        Units of cash that each week moves, by method.
    moved : int
        How much the weeks of the average moved, each without its sign: the measure of errors.
    is_at_rest : bool
        Whether nothing moved in the 13 weeks before.
    """

    day: dt.date
    payments: list[list[ExpectedPayment]]
    nets: Mapping[str, list[int]]
    moved: int
    is_at_rest: bool

    @property
    def sums(self) -> list[int]:
        """Units that recur in each week."""
        return [sum(one.units for one in week) for week in self.payments]


class ForecastScore(NamedTuple):
    """How forecasts of past weeks erred, each made and chosen of what was known then.

    Attributes
    ----------
    origins : int
        How many they are.
    weekly, balance : mapping of str to int
        Mean error of a week, and of the balance at the end of the last week, in units: of what was shown, of the
        average, and of no change.
    covered, ranges : int
        How many of the ranges at the ends of weeks had the balance in them.
    """

    origins: int
    weekly: Mapping[str, int]
    balance: Mapping[str, int]
    covered: int
    ranges: int


@dataclass(frozen=True, eq=False)
class CashHistory:
    """What moved cash until a last day, and forecasts of the weeks after any day of it.

    Attributes
    ----------
    first, last : date
        First and last day.
    moved : mapping of date to int
        Units of each day.
    payees : mapping
        Payments by counterparty and direction, oldest first.
    weeks : int
        How many weeks are forecast.
    """

    first: dt.date
    last: dt.date
    moved: Mapping[dt.date, int]
    payees: Mapping[tuple[str, str], Sequence[Occurrence]]
    weeks: int
    _rhythms: dict[tuple[str, str], tuple[int, PayeeRhythms]] = field(default_factory=dict)

    @cached_property
    def _sums(self) -> list[int]:
        """Units before each day, and after the last."""
        days = (self.first + number * _DAY for number in range((self.last - self.first).days + 1))
        return list(accumulate((self.moved.get(one, 0) for one in days), initial=0))

    @property
    def known_weeks(self) -> int:
        """Whole weeks of history."""
        return (len(self._sums) - 1) // 7

    def nets(self, day: dt.date, count: int) -> list[int]:
        """Units of the weeks after a day."""
        start = (day - self.first).days + 1
        sums = self._sums[start : start + 7 * count + 1 : 7]
        return [later - earlier for earlier, later in pairwise(sums)]

    def measured(self, day: dt.date, method: str) -> tuple[dt.date, list[int]]:
        """Day before the weeks that those after a day are measured by, and their units."""
        weeks, count = (_YEAR, self.weeks) if method == LAST_YEAR else (AVERAGED, AVERAGED)
        first = day - weeks * _WEEK
        return first, self.nets(first, count)

    def recurring(self, day: dt.date) -> list[RecurringPayment]:
        """Payments with a rhythm that have not stopped, as of a day."""
        found: list[RecurringPayment] = []
        for key, payments in self.payees.items():
            count = bisect_right(payments, day, key=lambda one: one.date)
            if key not in self._rhythms or self._rhythms[key][0] != count:
                made = PayeeRhythms.of_payments(KEY_SEPARATOR.join(key), key[0], payments[:count])
                self._rhythms[key] = count, made
            found += (one for one in self._rhythms[key][1].as_of(day) if one.status != "stopped")
        return found

    def forecast(self, day: dt.date) -> CashForecast:
        """Forecast the weeks after a day."""
        end = day + self.weeks * _WEEK
        due = [ExpectedPayment(on, one) for one in self.recurring(day) for on in one.due_days(day, end)]
        payments: list[list[ExpectedPayment]] = [[] for _ in range(self.weeks)]
        for one in sorted(due, key=lambda one: (one.day, one.units, one.payment.key)):
            payments[((one.day - day).days - 1) // 7].append(one)
        sums = [sum(one.units for one in week) for week in payments]
        _, before = self.measured(day, RECURRING)
        measures = {RECURRING: before}
        if day - _YEAR * _WEEK >= self.first - _DAY:
            _, measures[LAST_YEAR] = self.measured(day, LAST_YEAR)
        in_rhythm = rounded_quotient(sum(sums), self.weeks)
        nets = {
            name: [one + rounded_quotient(sum(of), len(of)) - in_rhythm for one in sums]
            for name, of in measures.items()
        }
        nets[AVERAGE] = [rounded_quotient(sum(before), AVERAGED)] * self.weeks
        is_at_rest = not any(self.nets(day - AT_REST * _WEEK, AT_REST))
        return CashForecast(day, payments, nets, max(sum(map(abs, before)), 1), is_at_rest)

    @cached_property
    def forecasts(self) -> Forecasts:
        """Forecasts of each past week, the oldest first, and of the last day."""
        count = min(self.known_weeks - AVERAGED, _MOST_ORIGINS + self.weeks)
        days = [self.last - number * _WEEK for number in range(count, -1, -1)]
        return Forecasts([(self.forecast(one), self.nets(one, self.weeks)) for one in days], self.weeks)


class _Error(NamedTuple):
    """Sum of the errors of weeks, and that of the balance at the end of the last, in units without sign."""

    weekly: int
    balance: int


class Forecasts:
    """Forecasts of past weeks, the oldest first, and of the last day, each chosen and with margins of what was known.

    Parameters
    ----------
    forecasts : sequence of tuple
        Each forecast and the units of its weeks, as far as they have come.
    weeks : int
        How many weeks are forecast.
    """

    def __init__(self, forecasts: Sequence[tuple[CashForecast, list[int]]], weeks: int) -> None:
        self._forecasts, self._weeks = forecasts, weeks
        self.latest = forecasts[-1][0]
        self._missed = [
            {
                name: list(accumulate(came - net for came, net in zip(nets, of_method, strict=False)))
                for name, of_method in forecast.nets.items()
            }
            for forecast, nets in forecasts
        ]
        self._errors = [
            {name: _error(of_method, nets) for name, of_method in (*forecast.nets.items(), (NOTHING, [0] * weeks))}
            for forecast, nets in forecasts
            if len(nets) == weeks
        ]
        self._methods = [self._choose(number) for number in range(len(forecasts))]
        self._margins = [self._margins_of(week) for week in range(weeks)]

    @property
    def method(self) -> str:
        """Method of the latest forecast."""
        return self._methods[-1]

    @property
    def margins(self) -> list[int] | None:
        """Units that the balance at the end of each week ahead may miss; None of too few past forecasts, or at rest."""
        found = [of_week[-1] for of_week in self._margins if of_week[-1] is not None]
        return found if len(found) == self._weeks else None

    def _choose(self, number: int) -> str:
        """Choose the method that erred least in the forecasts whose weeks had all come when one was made."""
        errors = self._errors[: max(number - self._weeks + 1, 0)]
        of_year = [one for one in errors if LAST_YEAR in one]
        if len(of_year) >= _LEAST_OF_A_YEAR:
            other, theirs = _total(of_year, RECURRING), _total(of_year, LAST_YEAR)
            part, whole = _MUCH_BETTER
            if theirs.weekly <= other.weekly and whole * theirs.balance <= part * other.balance:
                return LAST_YEAR
        return AVERAGE if _total(errors, RECURRING).weekly > _total(errors, AVERAGE).weekly else RECURRING

    def _margins_of(self, week: int) -> list[int | None]:
        """Margins of a week in each forecast: adaptive split-conformal, in proportion to how much cash moved.

        Of the past errors of that week, the margin is the one that 80 of 100 are not larger than, more after each
        balance outside of its range, and fewer after each inside, so that over time 80 of 100 are inside.
        """
        percent = COVERED_PERCENT
        made: list[int | None] = []
        for number, (forecast, _) in enumerate(self._forecasts):
            known = max(number - week, 0)
            was_inside = self._is_inside(known - 1, week, made[known - 1]) if known else None
            if was_inside is not None:
                percent = min(max(percent + (_AFTER_INSIDE if was_inside else _AFTER_OUTSIDE), 0), 100)
            method = self._methods[number]
            least = -(-forecast.moved // _MOST_TIMES)
            missed = sorted(
                rounded_quotient(abs(one[method][week]) * forecast.moved, max(of.moved, least))
                for one, (of, _) in zip(self._missed[:known], self._forecasts, strict=False)
                if method in one
            )
            place = -(-percent * (len(missed) + 1) // 100)
            is_known = len(missed) > LEAST_ORIGINS and not forecast.is_at_rest
            made.append(missed[min(max(place, 1), len(missed)) - 1] if is_known else None)
        return made

    def _is_inside(self, number: int, week: int, margin: int | None) -> bool | None:
        """Whether a balance was in its range; None without a range, or before the week has come."""
        missed = self._missed[number][self._methods[number]]
        return None if margin is None or week >= len(missed) else abs(missed[week]) <= margin

    def score(self) -> ForecastScore | None:
        """Mean errors of what would have been shown in the past; None without weeks that have all come."""
        if not self._errors:
            return None
        shown = [errors[method] for errors, method in zip(self._errors, self._methods, strict=False)]
        count = len(shown)
        totals = {
            SHOWN: _Error(sum(one.weekly for one in shown), sum(one.balance for one in shown)),
            **{name: _total(self._errors, name) for name in (AVERAGE, NOTHING)},
        }
        weekly = {name: rounded_quotient(one.weekly, count * self._weeks) for name, one in totals.items()}
        balance = {name: rounded_quotient(one.balance, count) for name, one in totals.items()}
        inside = [
            self._is_inside(number, week, margin)
            for week, margins in enumerate(self._margins)
            for number, margin in enumerate(margins)
        ]
        return ForecastScore(count, weekly, balance, inside.count(True), len(inside) - inside.count(None))


def _error(expected: Sequence[int], came: Sequence[int]) -> _Error:
    missed = [one - other for one, other in zip(came, expected, strict=True)]
    return _Error(sum(map(abs, missed)), abs(sum(missed)))


def _total(errors: Sequence[Mapping[str, _Error]], method: str) -> _Error:
    return _Error(sum(one[method].weekly for one in errors), sum(one[method].balance for one in errors))
