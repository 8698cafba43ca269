"""Forecasts of cash in the weeks after a day, and the errors of past forecasts on the same books.

Three things are expected of the weeks ahead: payments with a rhythm on their days, open invoices and bills on the day
that their party usually pays, and payments of later invoices and bills as fast as those of past ones. Together the
weeks move nothing, or what the last 26 weeks moved on average, or what the same weeks of the year before moved: the
method that was nearest on these books. Each past week is an origin: a forecast is made of what was known then, and
compared with what happened.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.money import rounded_quotient
from accounting_analytics.core.periods import DAY
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR
from accounting_analytics.reports.payees.open_items import Matching, why_not_known
from accounting_analytics.reports.payees.recurring import PayeeRhythms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.reports.payees.open_items import LedgerItem, OpenItem
    from accounting_analytics.reports.payees.recurring import Occurrence, RecurringPayment

AVERAGED = 26
"""Number of weeks whose average is a measure. With fewer weeks of history, nothing is expected."""
AT_REST = 13
"""Number of weeks without movement after which past errors say nothing about later weeks, so that there is no range."""
RANGED = 6
"""Number of weeks whose balances have a range. Ranges of later weeks are too wide to plan with."""
LEAST_ORIGINS = 20
"""A range needs more past forecasts than this number: 52 weeks of history for six weeks."""
LEAST_CHOSEN = 26
"""Number of past forecasts that choose the measure. With fewer, the weeks together move nothing."""
_LEAST_OF_A_YEAR = 39
"""Past forecasts that show whether the weeks of the year before are nearer: three quarters of a year."""
_MOST_ORIGINS = 104
_YEAR = 52
COVERED_PERCENT = 80
_AFTER_OUTSIDE, _AFTER_INSIDE = 4, -1
"""Added to the percentage after each past balance. Where 80 of 100 balances are inside, all additions sum to zero."""
_MOST_TIMES = 10
"""Largest factor by which a past error grows if more cash moves now, because the books may have been at rest."""
NO_CHANGE, AVERAGE, LAST_YEAR = "no change", "average", "last year"
"""Methods: what the weeks together move. Forecasts are also compared with the first two methods, each alone."""
SHOWN = "outlook"
_WEEK = dt.timedelta(days=7)


class ExpectedPayment(NamedTuple):
    """A payment that a rhythm expects on a day."""

    day: dt.date
    payment: RecurringPayment

    @property
    def units(self) -> int:
        """Signed units of cash."""
        return self.payment.next_units

    @property
    def key(self) -> str:
        """Key of the rhythm."""
        return self.payment.key

    @property
    def counterparty(self) -> str:
        """Who is paid, or pays."""
        return self.payment.counterparty

    @property
    def category(self) -> str:
        """Name of its category."""
        return self.payment.category


class ExpectedItem(NamedTuple):
    """An open invoice or bill, and the day on which its party usually pays.

    `days` are the days from its entry until then, and `paid_count` is the number of paid items that this is based on.
    """

    day: dt.date
    units: int
    category: str
    entry: OpenItem
    days: int
    paid_count: int

    @property
    def key(self) -> str:
        """Id of the item's line entry."""
        return self.entry.item.id

    @property
    def counterparty(self) -> str:
        """Who owes it, or is owed."""
        return self.entry.item.party


Expected = ExpectedPayment | ExpectedItem


class KnownAccount(NamedTuple):
    """Expected open items of an account, and weekly movements of later items."""

    expected: list[ExpectedItem]
    later: list[int]


@dataclass(frozen=True)
class ItemAccount:
    """A receivable or payable: name, sign in cash, and lines, oldest first."""

    name: str
    sign: int
    items: Sequence[LedgerItem]

    def known(self, day: dt.date, weeks: int) -> KnownAccount:
        """Expect open items, from what was known on a day. None are expected if too many payments match no item."""
        matched = Matching(self.items[: bisect_right(self.items, day, key=lambda item: item.day)])
        if why_not_known(matched.entries):
            return KnownAccount([], [0] * weeks)
        parties, usual = matched.days_to_pay(day)
        expected = []
        for entry in matched.entries:
            if entry.open_units > 0:
                own = parties.get(entry.item.party)
                days = usual if own is None or own.late_after is None else own
                took = days.expected_days((day - entry.item.day).days)
                if took is not None:
                    due = entry.item.day + took * DAY
                    units = self.sign * entry.open_units
                    expected.append(ExpectedItem(due, units, self.name, entry, took, len(days.paid)))
        return KnownAccount(expected, self._later(matched.entries, day, weeks))

    def _later(self, entries: Sequence[OpenItem], day: dt.date, weeks: int) -> list[int]:
        """Estimate the cash that items not entered yet move each week.

        It is the average of 26 weeks, times the share of items that parties paid within the week's distance.
        """
        first = day - AVERAGED * _WEEK
        moved = sum(-entry.item.units for entry in entries if entry.item.is_paid and entry.item.day > first)
        settled = [
            ((paid - entry.item.day).days, units)
            for entry in entries
            for paid, units in entry.payments.values()
            if paid > first
        ]
        every = sum(units for _, units in settled)
        if not every:
            return [0] * weeks
        soon = [sum(units for days, units in settled if days <= 7 * week + 3) for week in range(weeks)]
        return [rounded_quotient(self.sign * moved * units, AVERAGED * every) for units in soon]


class CashForecast(NamedTuple):
    """A forecast of the weeks after a day, from what was known on that day.

    Attributes
    ----------
    day : date
        The day before the first week.
    expected : list of list of ExpectedPayment or ExpectedItem
        What is due, by week and day.
    later : list of int
        Units of cash that invoices and bills to come move in each week.
    measures : mapping of str to list of int
        Units of the weeks whose average each week moves, by method.
    moved : int
        How much the weeks of the average moved, each without its sign: the measure of errors.
    is_at_rest : bool
        Whether nothing moved in the 13 weeks before.
    """

    day: dt.date
    expected: list[list[Expected]]
    later: list[int]
    measures: Mapping[str, list[int]]
    moved: int
    is_at_rest: bool

    @property
    def timed(self) -> list[int]:
        """Units of each week whose payments and items are expected on a day."""
        return [sum(due.units for due in week) + later for week, later in zip(self.expected, self.later, strict=True)]

    @property
    def nets(self) -> dict[str, list[int]]:
        """Units of cash that each week moves, by method."""
        timed = self.timed
        mean = rounded_quotient(sum(timed), len(timed))
        return {
            name: [units - mean + rounded_quotient(sum(weeks), len(weeks)) for units in timed]
            for name, weeks in self.measures.items()
        }

    def alone(self, method: str) -> list[int]:
        """Return the units of each week if only the average of a method's measure is expected."""
        weeks = self.measures[method]
        return [rounded_quotient(sum(weeks), len(weeks))] * len(self.expected)


class ForecastScore(NamedTuple):
    """Errors of past forecasts, each made of what was known on its day.

    Attributes
    ----------
    origins : int
        How many they are.
    weekly, balance : mapping of str to int
        Mean error of the movement of a week, and of the balance at its end, over all weeks, in units: of what was
        shown, of the average, and of no change.
    covered, ranges : int
        How many of the ranges at the ends of weeks had the balance in them.
    """

    origins: int
    weekly: Mapping[str, int]
    balance: Mapping[str, int]
    covered: int
    ranges: int

    @property
    def is_better(self) -> bool:
        """True if forecast balances were nearer than balances without change and balances by the average."""
        return self.balance[SHOWN] < min(self.balance[AVERAGE], self.balance[NO_CHANGE])


@dataclass(frozen=True, eq=False)
class CashHistory:
    """Movements of cash until a last day, and forecasts of later weeks.

    Attributes
    ----------
    first, last : date
        First and last day.
    moved : mapping of date to int
        Units of each day.
    payees : mapping
        Payments by counterparty and direction, oldest first, without those of invoices and bills.
    accounts : sequence of ItemAccount
        Receivables and payables.
    weeks : int
        How many weeks are forecast.
    """

    first: dt.date
    last: dt.date
    moved: Mapping[dt.date, int]
    payees: Mapping[tuple[str, str], Sequence[Occurrence]]
    accounts: Sequence[ItemAccount]
    weeks: int
    _rhythms: dict[tuple[str, str], tuple[int, PayeeRhythms]] = field(default_factory=dict)

    @cached_property
    def _sums(self) -> list[int]:
        """Units before each day, and after the last."""
        days = (self.first + number * DAY for number in range((self.last - self.first).days + 1))
        return list(accumulate((self.moved.get(day, 0) for day in days), initial=0))

    @property
    def known_weeks(self) -> int:
        """Whole weeks of history."""
        return (len(self._sums) - 1) // 7

    def nets(self, day: dt.date, count: int) -> list[int]:
        """Return the units of each week after a day."""
        start = (day - self.first).days + 1
        sums = self._sums[start : start + 7 * count + 1 : 7]
        return [later - earlier for earlier, later in pairwise(sums)]

    def measured(self, day: dt.date, method: str) -> tuple[dt.date, list[int]]:
        """Return the day before the weeks of a method's measure, and the units that each week moved."""
        weeks, count = (_YEAR, self.weeks) if method == LAST_YEAR else (AVERAGED, AVERAGED)
        first = day - weeks * _WEEK
        return first, self.nets(first, count)

    def recurring(self, day: dt.date) -> list[RecurringPayment]:
        """Payments with a rhythm that have not stopped, as of a day."""
        found: list[RecurringPayment] = []
        for key, payments in self.payees.items():
            count = bisect_right(payments, day, key=lambda payment: payment.date)
            if key not in self._rhythms or self._rhythms[key][0] != count:
                made = PayeeRhythms.of_payments(KEY_SEPARATOR.join(key), key[0], payments[:count])
                self._rhythms[key] = count, made
            found += (payment for payment in self._rhythms[key][1].as_of(day) if payment.status != "stopped")
        return found

    def forecast(self, day: dt.date) -> CashForecast:
        """Forecast the weeks after a day."""
        end = day + self.weeks * _WEEK
        known = [account.known(day, self.weeks) for account in self.accounts]
        due: list[Expected] = [
            ExpectedPayment(on, payment) for payment in self.recurring(day) for on in payment.due_days(day, end)
        ]
        due += (item for account in known for item in account.expected if item.day <= end)
        expected: list[list[Expected]] = [[] for _ in range(self.weeks)]
        for payment in sorted(due, key=lambda payment: (payment.day, payment.units, payment.key)):
            expected[((payment.day - day).days - 1) // 7].append(payment)
        later = [sum(units) for units in zip([0] * self.weeks, *(account.later for account in known), strict=True)]
        _, before = self.measured(day, AVERAGE)
        measures = {NO_CHANGE: [0], AVERAGE: before}
        if day - _YEAR * _WEEK >= self.first - DAY:
            _, measures[LAST_YEAR] = self.measured(day, LAST_YEAR)
        is_at_rest = not any(self.nets(day - AT_REST * _WEEK, AT_REST))
        return CashForecast(day, expected, later, measures, max(sum(map(abs, before)), 1), is_at_rest)

    @cached_property
    def forecasts(self) -> Forecasts:
        """Forecasts of each past week, the oldest first, and of the last day."""
        count = min(self.known_weeks - AVERAGED, _MOST_ORIGINS + self.weeks)
        days = [self.last - number * _WEEK for number in range(count, -1, -1)]
        return Forecasts([(self.forecast(day), self.nets(day, self.weeks)) for day in days], self.weeks)


class _Error(NamedTuple):
    """Sums of absolute errors of weeks and balances, in minor units."""

    weekly: int
    balance: int


class Forecasts:
    """Forecasts of past weeks and of the last day, each with its method and margins.

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
        made = [(forecast, forecast.nets, came) for forecast, came in forecasts]
        self._missed = [
            {name: list(accumulate(there - net for there, net in zip(came, of_method, strict=False)))
             for name, of_method in nets.items()}
            for _, nets, came in made
        ]  # fmt: skip
        whole = [(forecast, nets, came) for forecast, nets, came in made if len(came) == weeks]
        self._errors = [{name: _error(of, came) for name, of in nets.items()} for _, nets, came in whole]
        self._alone = [
            {name: _error(forecast.alone(name), came) for name in (AVERAGE, NO_CHANGE)} for forecast, _, came in whole
        ]
        self._methods = [self._choose(number) for number in range(len(forecasts))]
        self._margins = [self._margins_of(week) for week in range(min(weeks, RANGED))]

    @property
    def method(self) -> str:
        """Method of the latest forecast."""
        return self._methods[-1]

    @property
    def margins(self) -> list[int] | None:
        """Margins of the balances of the first weeks, in units.

        Margins are None if past forecasts are too few, or cash did not move.
        """
        found = [of_week[-1] for of_week in self._margins if of_week[-1] is not None]
        return found if len(found) == len(self._margins) else None

    def _choose(self, number: int) -> str:
        """Choose the method whose past balances erred least.

        Only past forecasts whose weeks were all complete count.
        """
        errors = self._errors[: max(number - self._weeks + 1, 0)]
        if len(errors) < LEAST_CHOSEN:
            return NO_CHANGE
        methods = [NO_CHANGE, AVERAGE]
        of_year = [error for error in errors if LAST_YEAR in error]
        if len(of_year) >= _LEAST_OF_A_YEAR:
            methods, errors = [*methods, LAST_YEAR], of_year
        return min(methods, key=lambda method: _total(errors, method).balance)

    def _margins_of(self, week: int) -> list[int | None]:
        """Find a week's margin in each forecast.

        Margins are adaptive split-conformal, in proportion to moved cash. The margin is the past error of that week
        that 80 of 100 past errors do not exceed. Each past balance outside of its range raises this percentage, and
        each inside lowers it, so that over time 80 of 100 balances are inside.
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
                rounded_quotient(abs(errors[method][week]) * forecast.moved, max(past.moved, least))
                for errors, (past, _) in zip(self._missed[:known], self._forecasts, strict=False)
                if method in errors
            )
            place = -(-percent * (len(missed) + 1) // 100)
            is_known = len(missed) > LEAST_ORIGINS and not forecast.is_at_rest
            made.append(missed[min(max(place, 1), len(missed)) - 1] if is_known else None)
        return made

    def _is_inside(self, number: int, week: int, margin: int | None) -> bool | None:
        """Return whether a balance was in its range, or None.

        It is None without a range, or if the week is not complete.
        """
        missed = self._missed[number][self._methods[number]]
        return None if margin is None or week >= len(missed) else abs(missed[week]) <= margin

    def score(self) -> ForecastScore | None:
        """Average the errors of past forecasts. It is None without complete weeks."""
        if not self._errors:
            return None
        count = len(self._errors) * self._weeks
        shown = [{SHOWN: errors[method]} for errors, method in zip(self._errors, self._methods, strict=False)]
        totals = {
            SHOWN: _total(shown, SHOWN),
            **{name: _total(self._alone, name) for name in (AVERAGE, NO_CHANGE)},
        }
        inside = [
            self._is_inside(number, week, margin)
            for week, margins in enumerate(self._margins)
            for number, margin in enumerate(margins)
        ]
        return ForecastScore(
            len(self._errors),
            {name: rounded_quotient(error.weekly, count) for name, error in totals.items()},
            {name: rounded_quotient(error.balance, count) for name, error in totals.items()},
            inside.count(True),
            len(inside) - inside.count(None),
        )


def _error(expected: Sequence[int], came: Sequence[int]) -> _Error:
    missed = [there - net for there, net in zip(came, expected, strict=True)]
    return _Error(sum(map(abs, missed)), sum(map(abs, accumulate(missed))))


def _total(errors: Sequence[Mapping[str, _Error]], method: str) -> _Error:
    return _Error(
        sum(error[method].weekly for error in errors),
        sum(error[method].balance for error in errors),
    )
