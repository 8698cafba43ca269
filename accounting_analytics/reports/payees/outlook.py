"""Weeks of cash ahead: amounts due, and balances where past forecasts were better than none."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.chart_of_accounts import RequiredLedger
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.messages import TERMINAL_WIDTH, count_of, did_you_mean, join_ids, quote
from accounting_analytics.core.money import (
    exact_amount,
    format_amount,
    from_minor_units,
    rounded_quotient,
    to_minor_units,
)
from accounting_analytics.core.periods import DAY, day_label, month_name
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import CashWeeks, ExpectedPayments
from accounting_analytics.reports.books.book_lines import entries_among
from accounting_analytics.reports.books.category_ledgers import Categories, required_ledgers
from accounting_analytics.reports.books.payees import OPEN_ITEMS
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure, figure_of_terms, renamed
from accounting_analytics.reports.figures.figure_table import entries_behind, figure_table_html, table_of_figures
from accounting_analytics.reports.figures.table_text import TextColumn, figure_lines
from accounting_analytics.reports.payees.cash_forecast import (
    AT_REST,
    AVERAGE,
    AVERAGED,
    COVERED_PERCENT,
    LAST_YEAR,
    LEAST_ORIGINS,
    NO_CHANGE,
    RANGED,
    SHOWN,
    CashHistory,
    ExpectedItem,
    ItemAccount,
)
from accounting_analytics.reports.payees.known_items import DueBefore, read_known, units_of
from accounting_analytics.reports.payees.open_items import (
    SIGNS,
    items_of_accounts,
    signs_of_ledgers,
    with_ledgers_below,
)
from accounting_analytics.reports.payees.recurring import payments_by_counterparty
from accounting_analytics.reports.statements.four_statements import cash_flow_statement

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.figure_table import FigureTable
    from accounting_analytics.reports.payees.cash_forecast import (
        CashForecast,
        Expected,
        ExpectedPayment,
        ForecastScore,
    )
    from accounting_analytics.reports.payees.known_items import KnownItem
    from accounting_analytics.reports.payees.recurring import Occurrence

_MOST_WEEKS = 26
_WEEK = dt.timedelta(days=7)
_ROWS = {
    "recurring_receipts": "Recurring receipts",
    "recurring_payments": "Recurring payments",
    "open_items": "Open invoices and bills",
    "known_items": "Known items",
    "other_cash": "Other cash",
    "net_cash_flow": "Net change",
    "cash": "Cash at end",
    "low": "Low",
    "high": "High",
}
"""Keys of the figures of a week, and the heads of their columns."""
_IN_TEXT = ("net_cash_flow", "cash", "low", "high")
"""Keys of the figures that fit a terminal."""
SIDES = (("low", "-"), ("high", "+"))
"""The two ends of a range: balance less margin, and balance plus margin."""
_KNOWN, _OPEN = "known", "open item"
NO_CASH = "load the books since their first entry, or give their opening"
_LISTED = 10
_MEASURES = {
    NO_CHANGE: "nothing",
    LAST_YEAR: "what the same weeks of last year moved",
    AVERAGE: f"what the last {AVERAGED} weeks moved on average",
}
"""Text for what the weeks together move, by method."""
_NOT_BETTER = "No forecast was nearer than today's balance or the plain average in past weeks, so none is shown"


class DueAmount(NamedTuple):
    """An amount due on a day: counterparty, category, rhythm, figure, latest payment."""

    day: dt.date
    counterparty: str
    category: str
    rhythm: str
    figure: Figure
    last: Occurrence | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Outlook(Result):
    """The weeks ahead, as :func:`outlook` returns them; ``result["cash", 13]`` is the balance at the end of week 13.

    Parameters
    ----------
    end_date : date
        The day before the first week.
    weeks : int
        How many weeks.
    method : {"no change", "average", "last year"}
        What the weeks together move: nothing, what the last 26 weeks moved on average, or what the same weeks of last
        year moved.
    score : ForecastScore or None
        How such outlooks erred on past weeks; None of too short a history.
    scale : int
        Fraction digits of the amounts.
    currency : str or None
        As the books state it.
    notes : tuple of str
        Remarks for the reader.
    """

    end_date: dt.date
    weeks: int
    method: str
    score: ForecastScore | None
    scale: int
    currency: str | None
    notes: tuple[str, ...]
    _cash: Figure
    _forecast: CashForecast
    _history: CashHistory
    _margins: list[int] | None
    _known: tuple[KnownItem, ...]
    _replaced: tuple[Expected, ...]
    _limit: int | None
    _lines: pd.DataFrame
    _item_lines: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.CashWeeks`: a row for each week."""
        rows = []
        for week, figures in enumerate(self._figures, start=1):
            days = (self.end_date + (week - 1) * _WEEK + DAY, self.week_end(week))
            rows.append((week, *map(pd.Timestamp, days), *(figures[name].exact() for name in _ROWS)))
        return CashWeeks.from_rows(rows, self.scale)

    @property
    def payments(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.ExpectedPayments`: what recurs, is open, and is known, by day."""
        rows = []
        for due in self.due:
            last = (pd.NaT, None) if due.last is None else (pd.Timestamp(due.last.date), self._amount(due.last.units))
            of_due = (due.counterparty, due.category or None, due.figure.exact(), due.rhythm)
            rows.append((pd.Timestamp(due.day), *of_due, *last))
        return ExpectedPayments.from_rows(rows, self.scale)

    @property
    def due(self) -> list[DueAmount]:
        """Amounts due, by day: recurring payments and open items that no known item replaces, and known items."""
        found = [self._due(expected) for week in self._forecast.expected for expected in self._not_replaced(week)]
        found += [
            DueAmount(item.day, item.note, item.category, _KNOWN, self._known_figure(number, item))
            for number, item in enumerate(self._known, start=1)
        ]
        return sorted(found, key=lambda due: (due.day, due.figure.units, due.counterparty))

    def _due(self, expected: Expected) -> DueAmount:
        who = (expected.day, expected.counterparty, expected.category)
        if isinstance(expected, ExpectedItem):
            return DueAmount(*who, _OPEN, self._open_figure(expected))
        payment = expected.payment
        return DueAmount(*who, payment.rhythm, self._payment_figure(expected), payment.occurrences[-1])

    def _not_replaced(self, expected: Iterable[Expected]) -> Iterator[Expected]:
        return (due for due in expected if not any(due is other for other in self._replaced))

    def week_end(self, week: int) -> dt.date:
        """Return the last day of a week. Week 0 ends on the day before the first week."""
        return self.end_date + week * _WEEK

    def __getitem__(self, key: tuple[str, int]) -> Figure:
        """Return the figure of a row (``cash``, ``low``, ``high``, ``net_cash_flow``, ...) and the number of a week."""
        row, week = key if isinstance(key, tuple) and len(key) == 2 else (key, None)  # noqa: PLR2004 (a pair)
        if row not in _ROWS or week not in range(1, self.weeks + 1):
            similar = did_you_mean(str(row), _ROWS) if row not in _ROWS else ""
            raise InputError(
                f"{quote(key)} is not a figure: give one of {', '.join(_ROWS)} and a week from 1 to {self.weeks}"
                f"{f'; {similar}' if similar else ''}"
            )
        return self._figures[week - 1][row]

    @property
    def is_better(self) -> bool:
        """True if past balances were nearer than today's balance and than the plain average."""
        return self.score is not None and self.score.is_better

    @property
    def has_range(self) -> bool:
        """True if enough recent past weeks say how far balances may be off."""
        return self._margins is not None

    @property
    def cash(self) -> Figure:
        """Cash at the end of the last day: accounts less cards.

        It is not known if the lines do not reach back to the first entry.
        """
        return self._cash

    @cached_property
    def _figures(self) -> list[dict[str, Figure]]:
        """Figures of each week. A balance is the balance of the week before plus the net change of the week."""
        found: list[dict[str, Figure]] = []
        balance = self._cash
        rest = self._rest()
        for week, expected in enumerate(self._forecast.expected, start=1):
            end = self.week_end(week)
            make = partial(_figure_of_week, end)
            due = [self._due(payment) for payment in self._not_replaced(expected)]
            recurring = [payment.figure for payment in due if payment.rhythm != _OPEN]
            items = enumerate(self._known, start=1)
            parts = {
                "recurring_receipts": [figure for figure in recurring if (figure.units or 0) > 0],
                "recurring_payments": [figure for figure in recurring if (figure.units or 0) < 0],
                "open_items": [payment.figure for payment in due if payment.rhythm == _OPEN],
                "known_items": [self._known_figure(at, item) for at, item in items if end - _WEEK < item.day <= end],
            }
            figures = {name: self._sum(make(name), of) for name, of in parts.items()}
            figures["other_cash"] = figure_of_terms(*make("other_cash"), [("+", self._later(week)), ("+", rest)])
            net = figure_of_terms(*make("net_cash_flow"), [("+", figure) for figure in figures.values()])
            balance = figure_of_terms(*make("cash"), [("+", balance), ("+", net)])
            sides = {name: self._side(week, name, sign, balance) for name, sign in SIDES}
            found.append({**figures, "net_cash_flow": net, "cash": balance, **sides})
        return found

    def _side(self, week: int, name: str, sign: str, balance: Figure) -> Figure:
        """Make the figure of one end of a week's range. It is not known for weeks without a range."""
        key, label = _figure_of_week(self.week_end(week), name)
        if week > RANGED:
            return self._make(key, label, None, f"ranges are of {RANGED} weeks", kind="none")
        return figure_of_terms(key, label, [("+", balance), (sign, self._margin(week))])

    def _make(self, key: str, label: str, units: int | None, calculation: str, **options: Any) -> Figure:  # noqa: ANN401 (those of a figure)
        return Figure(key, label, units, calculation, scale=self.scale, **options)

    def _sum(self, named: tuple[str, str], parts: Sequence[Figure]) -> Figure:
        if not parts:
            return self._make(*named, 0, "nothing is expected")
        return figure_of_terms(*named, [("+", figure) for figure in parts])

    def _payment_figure(self, due: ExpectedPayment) -> Figure:
        """Make the figure of an expected payment.

        The entries are of a past payment.
        """
        payment, like = due.payment, due.payment.expected
        return self._make(
            f"{payment.key} {due.day}{KEY_SEPARATOR}expected",
            f"{payment.counterparty}, {day_label(due.day)}",
            due.units,
            f"expected {payment.rhythm} {payment.found.usual_day}, as it was on {day_label(like.date)}",
            _load_entries=partial(self._of_entries, like.entry_ids),
        )

    def _open_figure(self, expected: ExpectedItem) -> Figure:
        """Make the figure of an open item. It has the item's line if no part was paid."""
        item, day = expected.entry.item, day_label(expected.day)
        number = f" {item.invoice}" if item.invoice else ""
        usually = f"its party usually pays after {expected.days} days, of {count_of(expected.paid_count, 'paid item')}"
        is_whole = expected.entry.open_units == item.units
        left = "" if is_whole else f"what is left of {format_amount(self._amount(item.units))}, "
        return self._make(
            f"{item.id} {expected.day}{KEY_SEPARATOR}expected",
            f"{item.party}{number}, {day}",
            expected.units,
            f"{left}open since {day_label(item.day)}; {usually}",
            _load_entries=partial(self._of_line, item.id) if is_whole else None,
        )

    def _known_figure(self, number: int, item: KnownItem) -> Figure:
        label = f"{item.note or item.category or 'known item'}, {day_label(item.day)}"
        return self._make(f"{_KNOWN} {number}{KEY_SEPARATOR}{item.day}", label, item.units, "as given")

    def _later(self, week: int) -> Figure:
        """Make the figure of a week's movement by later invoices and bills."""
        what = f"what such items moved in {AVERAGED} weeks on average, in the part that is paid within so many days"
        key, label = f"later{KEY_SEPARATOR}{self.week_end(week)}", f"Invoices and bills to come, week {week}"
        return self._make(key, label, self._forecast.later[week - 1], what)

    def _rest(self) -> Figure:
        """Subtract the average expected amount from a week's measure."""
        timed = [
            self._make(f"timed{KEY_SEPARATOR}{self.week_end(at)}", f"Expected in week {at}", units, "what is due")
            for at, units in enumerate(self._forecast.timed, start=1)
        ]
        in_weeks = self._average("timed", f"What is expected in a week, of the {self.weeks} weeks ahead", timed)
        return figure_of_terms(
            f"rest{KEY_SEPARATOR}average", "Rest of a week", [("+", self._measure()), ("-", in_weeks)]
        )

    def _measure(self) -> Figure:
        """Divide what the weeks of the measure moved by their number."""
        label = f"A week of {_MEASURES[self.method]}"
        if self.method == NO_CHANGE:
            return self._make(f"measure{KEY_SEPARATOR}average", "No change", 0, "what was nearest in past weeks")
        first, nets = self._history.measured(self.end_date, self.method)
        moved = [
            self._make(
                f"moved{KEY_SEPARATOR}{first + (at + 1) * _WEEK}",
                f"Net change in cash, week to {day_label(first + (at + 1) * _WEEK)}",
                units,
                "the sum of the lines of cash, without opening balances",
                _load_entries=partial(self._of_days, first + at * _WEEK + DAY, first + (at + 1) * _WEEK),
            )
            for at, units in enumerate(nets)
        ]
        return self._average("measure", label, moved)

    def _average(self, key: str, label: str, parts: Sequence[Figure]) -> Figure:
        units = rounded_quotient(sum(int(figure.units or 0) for figure in parts), len(parts))
        options = {"terms": tuple(parts), "signs": ("+",) * len(parts), "kind": "average"}
        return self._make(f"{key}{KEY_SEPARATOR}average", label, units, f"the average of {len(parts)} weeks", **options)

    def _margin(self, week: int) -> Figure:
        """Make the figure of a week's margin."""
        key, label = f"margin{KEY_SEPARATOR}{self.week_end(week)}", f"Margin of week {week}"
        if self._margins is None:
            return self._make(key, label, None, f"it is not known: {self._why_no_range()}")
        what = f"of past errors of week {week}, so that {COVERED_PERCENT} of 100 balances are in their range"
        return self._make(key, label, self._margins[week - 1], what)

    def _of_entries(self, entry_ids: Iterable[str]) -> pd.DataFrame:
        return entries_among(self._lines, self._lines["_entry"].isin(list(entry_ids))).reset_index(drop=True)

    def _of_line(self, line_id: str) -> pd.DataFrame:
        return entries_among(self._item_lines, self._item_lines["id"] == line_id).reset_index(drop=True)

    def _of_days(self, first: dt.date, last: dt.date) -> pd.DataFrame:
        days = self._lines["local_date"]
        is_within = (days >= pd.Timestamp(first)) & (days <= pd.Timestamp(last))
        return entries_among(self._lines, is_within).reset_index(drop=True)

    def summary(self) -> str:
        """Write one line of text: cash now, at the end and at its lowest, else what is due."""
        lowest, until = self.lowest_week, day_label(self.week_end(self.weeks))
        if self._cash.units is None:
            return f"How much cash there is, is not known: {NO_CASH}."
        now = f"Cash is {self._text(int(self._cash.units))} on {day_label(self.end_date)}"
        if lowest is None:
            net = self._text(sum(int(due.figure.units or 0) for due in self.due))
            return f"{now}; what is due until {until} comes to {net}. {self._why_not_shown()}."
        last, least = (self._text(int(self["cash", week].units or 0)) for week in (self.weeks, lowest))
        return (
            f"{now} and expected {last} on {until}; lowest at the end of a week {least}, on "
            f"{day_label(self.week_end(lowest))}."
        )

    def _why_not_shown(self) -> str:
        """Say why no forecast is shown."""
        if self.score is None:
            return "Whether a forecast is better than today's balance is not known: no past one has come to its end"
        return _NOT_BETTER

    @property
    def lowest_week(self) -> int | None:
        """Number of the week at whose end cash is expected to be lowest.

        It is None if cash is not known, or no forecast is shown.
        """
        if self._cash.units is None or not self.is_better:
            return None
        units = [int(week["cash"].units or 0) for week in self._figures]
        return units.index(min(units)) + 1

    def sentences(self) -> list[str]:
        """Say what is due before the lowest week, when a limit is reached, and how good outlooks were."""
        return [
            *self._due_sentence(),
            *self._limit_sentence(),
            *([self._measure_sentence(), *self._range_sentence()] if self.is_better else []),
            *self._score_sentences(),
        ]

    def _measure_sentence(self) -> str:
        if self.method == NO_CHANGE:
            return "The weeks together are expected to change nothing; what is due says in which of them cash moves."
        return f"The weeks together are expected to move {_MEASURES[self.method]}."

    def _due_sentence(self) -> Iterator[str]:
        until = self.week_end(self.lowest_week or self.weeks)
        due = [due for due in self.due if due.day <= until and due.rhythm != _KNOWN and (due.figure.units or 0) < 0]
        if due:
            due.sort(key=lambda due: due.figure.units or 0)
            largest = ", ".join(
                f"{payment.counterparty} {self._text(-int(payment.figure.units or 0))} on {day_label(payment.day)}"
                for payment in due[:3]
            )
            total = self._text(-sum(int(payment.figure.units or 0) for payment in due))
            which = "before cash is lowest" if self.lowest_week else f"until {day_label(until)}"
            yield f"{count_of(len(due), 'payment')}, {total} in all, {which}; the largest: {largest}."

    def _limit_sentence(self) -> Iterator[str]:
        if self._limit is None:
            return
        limit = self._text(self._limit)
        if self._cash.units is None:
            yield f"Whether cash falls below {limit} is not known, because cash is not known."
            return
        if not self.is_better:
            yield f"Whether cash falls below {limit} is not known, because no forecast is shown."
            return
        text = f"Cash is expected to stay at or above {limit} at the end of all {self.weeks} weeks"
        week = self._first_below("cash")
        if week is not None:
            text = f"Cash is expected to be below {limit} first at the end of {self._named_week(week)}"
        low = self._first_below("low") if self.has_range else None
        if low is not None and low != week:
            text += f", and may be below it at the end of {self._named_week(low)}"
        yield f"{text}. Days within a week may be lower."

    def _first_below(self, name: str) -> int | None:
        """Find the first week that is below the limit.

        `name` is the balance or its low end.
        """
        units = [of_week[name].units for of_week in self._figures]
        below = (week for week, of in enumerate(units, start=1) if of is not None and of < (self._limit or 0))
        return next(below, None)

    def _named_week(self, week: int) -> str:
        return f"week {week}, {day_label(self.week_end(week))}"

    def _range_sentence(self) -> Iterator[str]:
        if not self.has_range:
            yield f"There is no range: {self._why_no_range()}."

    def _why_no_range(self) -> str:
        """Say why a range is missing.

        Cash did not move, or past weeks are too few.
        """
        if self._forecast.is_at_rest:
            return f"nothing moved cash in the {AT_REST} weeks before {day_label(self.end_date + DAY)}"
        return _no_range(self._history.known_weeks, self.weeks)

    def _score_sentences(self) -> Iterator[str]:
        if self.score is None:
            yield f"{self._why_not_shown()}."
            return
        week, balance = (
            f"{self._text(of[SHOWN])} (plain average {self._text(of[AVERAGE])}, no change {self._text(of[NO_CHANGE])})"
            for of in (self.score.weekly, self.score.balance)
        )
        if not self.is_better:
            yield f"{_NOT_BETTER}."
        yield (
            f"Made for {count_of(self.score.origins, 'past week')}, such outlooks missed a week by {week} on average, "
            f"and the balance at its end, of weeks 1 to {self.weeks}, by {balance}."
        )
        if self.has_range:
            percent = rounded_quotient(100 * self.score.covered, self.score.ranges)
            yield f"{percent} % of {self.score.ranges:,} past balances were in their range, which is meant for 80 %."

    def notes_of_weeks(self) -> list[str]:
        """Describe the lowest week, the measure and past errors, without amounts."""
        if not self.is_better:
            return [f"{self._why_not_shown()}."]
        lowest = self.lowest_week
        when = [f"Cash is lowest at the end of {self._named_week(lowest)}."] if lowest else []
        count = count_of(self.score.origins if self.score else 0, "past week")
        better = f"In {count} such outlooks were nearer than today's balance and than the plain average."
        return [*when, self._measure_sentence(), better, *self._range_sentence()]

    def estimates(self, week: int) -> tuple[Figure, Figure, Figure | None]:
        """Return the estimates of a week: amounts due, other cash, and the margin of its balance."""
        figures = self._figures[week - 1]
        names = ("recurring_receipts", "recurring_payments", "open_items", "known_items")
        due = figure_of_terms(f"week {week}{KEY_SEPARATOR}due", "Due", [("+", figures[name]) for name in names])
        other = replace(figures["other_cash"], key=f"week {week}{KEY_SEPARATOR}other")
        return due, other, self._margin(week) if week <= RANGED else None

    def _text(self, units: int) -> str:
        return format_amount(self._amount(units))

    def _amount(self, units: int) -> Any:  # noqa: ANN401 (an amount as frames have it)
        return from_minor_units(units, self.scale)

    def rows(self) -> list[tuple[str, list[Figure]]]:
        """Return the label and the figures of each week."""
        return [
            (f"{week}, to {day_label(self.week_end(week))}", list(figures.values()))
            for week, figures in enumerate(self._figures, start=1)
        ]

    def table(self) -> FigureTable:
        """Make the table of all weeks, whose figures unfold."""
        rows = self.rows()
        return table_of_figures(
            f"Cash in the next {self.weeks} weeks",
            [f"after {day_label(self.end_date)}", f"together they move {_MEASURES[self.method]}"],
            list(_ROWS.values()),
            rows,
            entries_behind(rows),
            scale=self.scale,
            call="outlook[{row!r}, {column!r}]",
        )

    @property
    def limit(self) -> Figure | None:
        """The cash not to fall below, if given."""
        if self._limit is None:
            return None
        return self._make(f"limit{KEY_SEPARATOR}given", "Limit", self._limit, "as given")

    def _parts(self) -> Iterator[ResultPart]:
        if self.is_better:
            table = self.table()
            columns = [
                TextColumn(_ROWS[name], [row.cells[place].text for row in table.rows])
                for place, name in enumerate(_ROWS)
                if name in _IN_TEXT
            ]
            lines = [table.title, *figure_lines(table.rows, columns, TERMINAL_WIDTH)]
            yield ResultPart(lines, html=partial(figure_table_html, table))
        yield ResultPart([f"- {sentence}" for sentence in self.sentences()])
        due = self.payments[["date", "counterparty", "category", "amount", "rhythm"]].head(_LISTED)
        texts = [
            f"- {day:%d} {month_name(day)}  {format_amount(exact_amount(amount, self.scale)):>14}  {who} ({rhythm})"
            for day, who, _, amount, rhythm in due.itertuples(index=False)
        ]
        of_all = "" if len(texts) == len(self.payments) else f", {len(texts)} of {len(self.payments)} payments"
        yield ResultPart([f"Due next{of_all}:", *texts] if texts else [], due, rest="payments; .payments has all")

    def _content(self) -> Mapping[str, Any]:
        return {
            "end_date": self.end_date,
            "weeks": self.frame,
            "payments": self.payments,
            "method": self.method,
            "is_better": self.is_better,
            "score": None if self.score is None else self._score_content(self.score),
            "sentences": self.sentences(),
        }

    def _score_content(self, score: ForecastScore) -> Mapping[str, Any]:
        amounts = {
            name: {method: self._amount(units) for method, units in of.items()}
            for name, of in (("weekly_error", score.weekly), ("balance_error", score.balance))
        }
        return {"past_weeks": score.origins, **amounts, "covered": score.covered, "ranges": score.ranges}


def _figure_of_week(end: dt.date, name: str) -> tuple[str, str]:
    """Return the key and the label of a figure of a week."""
    return f"{name}{KEY_SEPARATOR}{end}", f"{_ROWS[name]}, week to {day_label(end)}"


def _no_range(known: int, weeks: int) -> str:
    ranged = min(weeks, RANGED)
    parts = f"{AVERAGED} to average, {ranged} ahead, {LEAST_ORIGINS} to compare"
    return f"it takes {AVERAGED + ranged + LEAST_ORIGINS} weeks of history ({parts}), and there are {known}"


def outlook(
    books: Books,
    *,
    as_of: DateLike | None = None,
    weeks: int = 13,
    known: pd.DataFrame | str | Path | None = None,
    limit: object = None,
) -> Outlook:
    """Look ahead at the weeks of cash after a day: what is due, and balances where such outlooks were better.

    Payments with a rhythm (:func:`recurring_payments`) come on their days, and open invoices and bills of accounts of
    type accounts receivable or payable on the day that their party usually pays (:func:`ageing`): the middle one of its
    paid items that took longer than an item is old. Later ones come as fast as those before. The rest is the same in
    each week, so that all together move nothing, or what the last 26 weeks moved on average, or what the same weeks of
    the year before moved: what was nearest in 26 past weeks or more. Known items are added; one that names the
    counterparty of what is due, or else its category within its days, or has just its amount, replaces it, and a note
    says so. The score compares outlooks made in past weeks, of what was known then, with what came; where their
    balances were not nearer than today's balance and than the plain average, no forecast is printed: only what is due.
    The first six weeks have ranges, made for 80 of 100 balances, of the past errors of outlooks on these books.

    Parameters
    ----------
    books : Books
        The books of half a year or more, better two years. Where their opening is not known, cash is not, and neither
        are balances.
    as_of : date-like, optional
        The day before the first week; by default that of the latest line of the period.
    weeks : int
        How many weeks, up to 26.
    known : DataFrame or path, optional
        What you know of: a table or CSV file with ``date`` and ``amount`` (negative goes out), and if you like
        ``category`` and ``note``.
    limit : amount, optional
        Cash that you do not want to fall below: says at the end of which week it is expected to, or may within its
        range.

    Returns
    -------
    Outlook
        ``.payments`` has what is due, ``.frame`` a row for each week, ``.score`` the errors of past outlooks, and
        ``.is_better`` whether these were better than no forecast.

    Raises
    ------
    InputError
        An argument is of another type, or an item of `known` cannot be read, or may be one of several payments.
    IncompleteLoadError
        Days until `as_of` were not loaded, or there are fewer than 26 weeks of lines.

    Examples
    --------
    ::

        ahead = aa.outlook(books, as_of="2026-06-30", limit=20_000)
        ahead.payments.head(10)
    """
    if isinstance(weeks, bool) or not isinstance(weeks, int) or not 1 <= weeks <= _MOST_WEEKS:
        raise InputError(f"weeks must be a whole number from 1 to {_MOST_WEEKS}, not {quote(weeks)}")
    books = to_books(books)
    books.require_loaded("an outlook")
    source, last, chart = books.source, books.last_day(as_of), books.chart
    if missing := source.missing_until(last):
        raise IncompleteLoadError(f"the weeks after {day_label(last)} are not known: {missing}")
    scale = source.scale
    limit_units = None if limit is None else units_of(limit, scale, "limit")
    items, notes = read_known(known, last, last + weeks * _WEEK, scale)
    every, names = source.until(last), Categories(chart)
    rows = _without_opening(every, chart)
    accounts = _accounts(chart, names.names, source.cash)
    of_items = every[every["ledger_id"].isin([below for account in accounts.values() for below in account])]
    moved, payees = _moved(rows, source), _payees(rows[~rows["_entry"].isin(of_items["_entry"])], source, names)
    signs = signs_of_ledgers(chart)
    read = [
        ItemAccount(names.names.name(ledger_id), signs[ledger_id], of_account)
        for ledger_id, of_account in items_of_accounts(every, source, signs, accounts).items()
    ]
    history = CashHistory(min(moved, default=last), last, moved, payees, read, weeks)
    _require_weeks(history)
    forecasts = history.forecasts
    due = DueBefore(forecasts.latest, history, names.names, scale)
    replaced = [expected for item in items for expected in due.replaced_by(item)]
    absent = [names.names.name(ledger_id) for ledger_id in source.extent.absent(accounts)]
    notes += [f"Open items of {join_ids(absent)} are not known: its lines were not loaded."] if absent else []
    return Outlook(
        last,
        weeks,
        forecasts.method,
        forecasts.score(),
        scale,
        books.currency,
        (*source.notes_until(last), *books.own_notes, *notes, *due.notes),
        _cash_now(books, last),
        forecasts.latest,
        history,
        forecasts.margins,
        items,
        tuple(replaced),
        limit_units,
        source.listed(rows),
        of_items.assign(figure_amount=of_items["signed_amount"]),
    )


def _accounts(chart: pd.DataFrame, names: LedgerNames, cash: Collection[str]) -> dict[str, dict[str, str]]:
    """Find receivables and payables that are not cash, with ledgers below."""
    is_aged = chart["financial_account_type"].isin(OPEN_ITEMS) & chart["type"].isin(SIGNS)
    found = with_ledgers_below(names, list(chart.loc[is_aged, "id"]))
    return {ledger_id: below for ledger_id, below in found.items() if not set(below).intersection(cash)}


def _without_opening(lines: pd.DataFrame, chart: pd.DataFrame) -> pd.DataFrame:
    """Leave out entries of opening balances.

    Opening balances are not cash movements of a week.
    """
    opening = required_ledgers(chart, {RequiredLedger.OPENING_BALANCE})
    entries = lines.loc[lines["ledger_id"].isin(opening), "_entry"]
    return lines[~lines["_entry"].isin(entries)]


def _moved(rows: pd.DataFrame, source: LineSource) -> Counter[dt.date]:
    """Sum the units that moved cash on each day."""
    moved = Counter[dt.date]()
    of_cash = rows[rows["ledger_id"].isin(source.cash)]
    for day, amount in zip(of_cash["local_date"].dt.date, of_cash["signed_amount"], strict=True):
        moved[day] += to_minor_units(amount, source.scale)
    return moved


def _payees(rows: pd.DataFrame, source: LineSource, names: Categories) -> dict[tuple[str, str], list[Occurrence]]:
    """Return payments by counterparty and direction, with the names of their categories."""
    return {
        key: [payment._replace(category=names.names.name(payment.category)) for payment in payments]
        for key, payments in payments_by_counterparty(rows, source, names.transfers).items()
    }


def _require_weeks(history: CashHistory) -> None:
    """Refuse a history of less than half a year."""
    if history.known_weeks < AVERAGED:
        raise IncompleteLoadError(
            f"an outlook takes {AVERAGED} weeks of lines that move cash, and there are {history.known_weeks} until "
            f"{day_label(history.last)}; load more days"
        )


def _cash_now(books: Books, last: dt.date) -> Figure:
    """Return the statement's cash at the end of the last day."""
    statement = cash_flow_statement(books, (last, last), columns=[(last, last)])
    key, label = f"cash{KEY_SEPARATOR}{last}", f"Cash at the end of {day_label(last)}"
    if "ending_cash_balance" in statement.figures.layout.by_key:
        found = statement.figures.figure("ending_cash_balance", statement.columns[0].key)
        return renamed(found, key, label)
    return Figure(key, label, None, NO_CASH, scale=books.scale)
