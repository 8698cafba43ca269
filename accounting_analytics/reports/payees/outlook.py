"""Weeks of cash ahead: what is due, what the balance may be, and how often that was right on these books."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.chart_of_accounts import RequiredLedger
from accounting_analytics.core.errors import AmountError, FrameError, IncompleteLoadError, InputError, PeriodError
from accounting_analytics.core.messages import TERMINAL_WIDTH, count_of, did_you_mean, join_ids, quote
from accounting_analytics.core.money import (
    exact_amount,
    format_amount,
    from_minor_units,
    rounded_quotient,
    to_minor_units,
)
from accounting_analytics.core.name_keys import name_key
from accounting_analytics.core.periods import day_label, month_name, parse_date
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import CashWeeks, ExpectedPayments, Ledgers
from accounting_analytics.reports.books.book_lines import entries_among
from accounting_analytics.reports.books.category_ledgers import Categories, required_ledgers
from accounting_analytics.reports.books.merchants import merchants
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, Figure, figure_of_terms, renamed
from accounting_analytics.reports.figures.figure_table import entries_behind, figure_table_html, table_of_figures
from accounting_analytics.reports.figures.figure_text import TextColumn, figure_lines
from accounting_analytics.reports.payees.cash_forecast import (
    AT_REST,
    AVERAGE,
    AVERAGED,
    COVERED_PERCENT,
    LAST_YEAR,
    LEAST_ORIGINS,
    NOTHING,
    RECURRING,
    SHOWN,
    CashHistory,
)
from accounting_analytics.reports.payees.recurring import payments_by_counterparty
from accounting_analytics.reports.statements.kinds import cash_flow_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.figure_table import FigureTable
    from accounting_analytics.reports.payees.cash_forecast import CashForecast, ExpectedPayment, ForecastScore

_MOST_WEEKS = 26
_WEEK, _DAY = dt.timedelta(days=7), dt.timedelta(days=1)
_ROWS = {
    "recurring_receipts": "Recurring receipts",
    "recurring_payments": "Recurring payments",
    "known_items": "Known items",
    "other_cash": "Other cash",
    "net_cash_flow": "Net change",
    "cash": "Cash at end",
    "low": "Low",
    "high": "High",
}
"""Figures of a week by key, and their heads."""
_IN_TEXT = ("net_cash_flow", "cash", "low", "high")
"""Figures that fit a terminal."""
SIDES = (("low", "-"), ("high", "+"))
"""Ends of a range, and how they are made of the balance and its margin."""
_KNOWN = "known"
_KNOWN_COLUMNS = ("date", "amount", "category", "note")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
"""Text of an amount whose point may be a mark of thousands."""
_LEAST_GROUP = 3
NO_CASH = "load the books since their first entry, or give their opening"
_LISTED = 10
_MEASURES = {
    RECURRING: f"the average of the last {AVERAGED} weeks",
    LAST_YEAR: "the same weeks of last year",
    AVERAGE: f"the average of the last {AVERAGED} weeks",
}


class KnownItem(NamedTuple):
    """A payment or receipt that is known before."""

    day: dt.date
    units: int
    category: str
    note: str


@dataclass(frozen=True, repr=False, eq=False)
class Outlook(Result):
    """What :func:`outlook` returns; ``result["cash", 13]`` is the balance at the end of week 13, as a figure.

    Parameters
    ----------
    end_date : date
        The day before the first week.
    weeks : int
        How many weeks.
    method : {"recurring", "last year", "average"}
        What the weeks are measured by: the average of the last 26 weeks or the same weeks of last year, with payments
        that recur in their weeks; or the average alone.
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
    _replaced: tuple[ExpectedPayment, ...]
    _limit: int | None
    _lines: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.CashWeeks`: a row for each week."""
        columns: dict[str, list[Any]] = {name: [] for name in CashWeeks.dtypes()}
        for week, figures in enumerate(self._figures, start=1):
            days = (self.end_date + (week - 1) * _WEEK + _DAY, self.week_end(week))
            values = (week, *map(pd.Timestamp, days), *(figures[name].exact() for name in _ROWS))
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
        return CashWeeks.from_columns(columns, self.scale)

    @property
    def payments(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.ExpectedPayments`: what recurs and what is known, by day."""
        rows: list[tuple[Any, ...]] = []
        for one in self.expected:
            last = one.payment.occurrences[-1]
            texts = (one.payment.counterparty, one.payment.category, self._amount(one.units), one.payment.rhythm)
            rows.append((one.day, *texts, last.date, self._amount(last.units)))
        rows += [
            (one.day, one.note, one.category or None, self._amount(one.units), _KNOWN, None, None)
            for one in self._known
        ]
        rows.sort(key=lambda row: (row[0], row[3], row[1]))
        columns: dict[str, list[Any]] = {name: [] for name in ExpectedPayments.dtypes()}
        for row in rows:
            for name, value in zip(columns, row, strict=True):
                columns[name].append(pd.Timestamp(value) if name.endswith("date") else value)
        return ExpectedPayments.from_columns(columns, self.scale)

    @property
    def expected(self) -> list[ExpectedPayment]:
        """Payments with a rhythm, by day, but those that known items replace."""
        return [one for week in self._forecast.payments for one in self._not_replaced(week)]

    def _not_replaced(self, payments: Iterable[ExpectedPayment]) -> Iterator[ExpectedPayment]:
        return (one for one in payments if not any(one is other for other in self._replaced))

    def week_end(self, week: int) -> dt.date:
        """Last day of a week; that of week 0 is the day before the first."""
        return self.end_date + week * _WEEK

    def __getitem__(self, key: tuple[str, int]) -> Figure:
        """Figure of a row (``cash``, ``low``, ``high``, ``net_cash_flow``, ...) and the number of a week."""
        row, week = key if isinstance(key, tuple) and len(key) == 2 else (key, None)  # noqa: PLR2004 (a pair)
        if row not in _ROWS or week not in range(1, self.weeks + 1):
            similar = did_you_mean(str(row), _ROWS) if row not in _ROWS else ""
            raise InputError(
                f"{quote(key)} is not a figure: give one of {', '.join(_ROWS)} and a week from 1 to {self.weeks}"
                f"{f'; {similar}' if similar else ''}"
            )
        return self._figures[week - 1][row]

    @property
    def has_range(self) -> bool:
        """Whether past weeks say how far balances may be off: enough of them, and not long after the last line."""
        return self._margins is not None

    @property
    def cash(self) -> Figure:
        """Cash at the end of the last day: accounts less cards; unknown where lines do not reach back to the start."""
        return self._cash

    @cached_property
    def _figures(self) -> list[dict[str, Figure]]:
        """Figures of each week, whose balances follow from the one before."""
        found: list[dict[str, Figure]] = []
        balance = self._cash
        other = self._other()
        for week, payments in enumerate(self._forecast.payments, start=1):
            end = self.week_end(week)
            make = partial(_figure_of_week, end)
            moves = (
                [] if self.method == AVERAGE else [self.figure_of_payment(one) for one in self._not_replaced(payments)]
            )
            items = enumerate(self._known, start=1)
            known = [self._item(number, one) for number, one in items if end - _WEEK < one.day <= end]
            parts = {
                "recurring_receipts": [one for one in moves if (one.units or 0) > 0],
                "recurring_payments": [one for one in moves if (one.units or 0) < 0],
                "known_items": known,
            }
            figures = {name: self._sum(make(name), of) for name, of in parts.items()}
            figures["other_cash"] = _named(other, *make("other_cash"))
            net = figure_of_terms(*make("net_cash_flow"), [("+", one) for one in figures.values()])
            balance = figure_of_terms(*make("cash"), [("+", balance), ("+", net)])
            margin = self._margin(week)
            sides = {name: figure_of_terms(*make(name), [("+", balance), (sign, margin)]) for name, sign in SIDES}
            found.append({**figures, "net_cash_flow": net, "cash": balance, **sides})
        return found

    def _make(self, key: str, label: str, units: int | None, calculation: str, **options: Any) -> Figure:  # noqa: ANN401 (those of a figure)
        return Figure(key, label, units, calculation, scale=self.scale, **options)

    def _sum(self, named: tuple[str, str], parts: Sequence[Figure]) -> Figure:
        if not parts:
            return self._make(*named, 0, "nothing is expected")
        return figure_of_terms(*named, [("+", one) for one in parts])

    def figure_of_payment(self, one: ExpectedPayment) -> Figure:
        """Figure of an expected payment, which has the entries of the past payment of its amount."""
        payment, like = one.payment, one.payment.expected
        return self._make(
            f"{payment.key} {one.day}{KEY_SEPARATOR}expected",
            f"{payment.counterparty}, {day_label(one.day)}",
            one.units,
            f"expected {payment.rhythm} {payment.found.usual_day}, as it was on {day_label(like.date)}",
            _load_entries=partial(self._of_entries, like.entry_ids),
        )

    def _item(self, number: int, one: KnownItem) -> Figure:
        label = f"{one.note or one.category or 'known item'}, {day_label(one.day)}"
        return self._make(f"{_KNOWN} {number}{KEY_SEPARATOR}{one.day}", label, one.units, "as given")

    def _other(self) -> Figure:
        """Other cash of each week: the measure of a week, less what recurs in one on average."""
        first, nets = self._history.measured(self.end_date, self.method)
        moved = [
            self._make(
                f"moved{KEY_SEPARATOR}{first + (at + 1) * _WEEK}",
                f"Net change in cash, week to {day_label(first + (at + 1) * _WEEK)}",
                units,
                "the sum of the lines of cash, without opening balances",
                _load_entries=partial(self._of_days, first + at * _WEEK + _DAY, first + (at + 1) * _WEEK),
            )
            for at, units in enumerate(nets)
        ]
        measure = self._average("measure", f"A week of {_MEASURES[self.method]}", moved)
        if self.method == AVERAGE and not self._replaced:
            return measure
        sums = [
            sum(one.units for one in week if self.method != AVERAGE or any(one is other for other in self._replaced))
            for week in self._forecast.payments
        ]
        recurring = [
            self._make(f"recurring{KEY_SEPARATOR}{self.week_end(at)}", f"Recurring in week {at}", units, "what is due")
            for at, units in enumerate(sums, start=1)
        ]
        in_rhythm = self._average("recurring", f"What recurs in a week, of the {self.weeks} weeks ahead", recurring)
        return figure_of_terms("other_cash", "Other cash", [("+", measure), ("-", in_rhythm)])

    def _average(self, key: str, label: str, parts: Sequence[Figure]) -> Figure:
        units = rounded_quotient(sum(int(one.units or 0) for one in parts), len(parts))
        options = {"terms": tuple(parts), "signs": ("+",) * len(parts), "kind": "average"}
        return self._make(f"{key}{KEY_SEPARATOR}average", label, units, f"the average of {len(parts)} weeks", **options)

    def _margin(self, week: int) -> Figure:
        """How far the balance at the end of a week may be off."""
        key, label = f"margin{KEY_SEPARATOR}{self.week_end(week)}", f"Margin of week {week}"
        if self._margins is None:
            return self._make(key, label, None, f"it is not known: {self._why_no_range()}")
        what = f"of past errors of week {week}, so that {COVERED_PERCENT} of 100 balances are in their range"
        return self._make(key, label, self._margins[week - 1], what)

    def _of_entries(self, entry_ids: Iterable[str]) -> pd.DataFrame:
        return entries_among(self._lines, self._lines["_entry"].isin(list(entry_ids))).reset_index(drop=True)

    def _of_days(self, first: dt.date, last: dt.date) -> pd.DataFrame:
        days = self._lines["local_date"]
        is_within = (days >= pd.Timestamp(first)) & (days <= pd.Timestamp(last))
        return entries_among(self._lines, is_within).reset_index(drop=True)

    def summary(self) -> str:
        """One line: cash now, at the end of the weeks, and where it is lowest."""
        lowest, until = self.lowest_week, day_label(self.week_end(self.weeks))
        if lowest is None:
            moved = self._text(sum(int(one["net_cash_flow"].units or 0) for one in self._figures))
            return f"Cash is expected to change by {moved} until {until}; how much it is, is not known: {NO_CASH}."
        last, low, high = (self._text(int(self[name, self.weeks].units or 0)) for name in ("cash", "low", "high"))
        least, day = self._text(int(self["cash", lowest].units or 0)), day_label(self.week_end(lowest))
        now = f"{self._text(int(self._cash.units or 0))} on {day_label(self.end_date)}"
        return (
            f"Cash is {now} and expected {last} on {until}"
            f"{f' (80 % range {low} to {high})' if self.has_range else ''}; lowest at the end of a week {least}, on "
            f"{day}."
        )

    @property
    def lowest_week(self) -> int | None:
        """Week at whose end cash is expected to be lowest; None where cash is not known."""
        if self._cash.units is None:
            return None
        units = [int(one["cash"].units or 0) for one in self._figures]
        return units.index(min(units)) + 1

    def sentences(self) -> list[str]:
        """Say what to know: what is due before the lowest week, when a limit is reached, and how good outlooks were."""
        return [
            *self._due_sentence(),
            *self._limit_sentence(),
            self._measure_sentence(),
            *self._range_sentence(),
            *self._score_sentences(),
        ]

    def _measure_sentence(self) -> str:
        return f"The weeks are measured by {_MEASURES[self.method]}."

    def _due_sentence(self) -> Iterator[str]:
        until = self.week_end(self.lowest_week or self.weeks)
        due = sorted((one for one in self.expected if one.day <= until and one.units < 0), key=lambda one: one.units)
        if due:
            largest = ", ".join(
                f"{one.payment.counterparty} {self._text(-one.units)} on {day_label(one.day)}" for one in due[:3]
            )
            total = self._text(-sum(one.units for one in due))
            which = "before cash is lowest" if self.lowest_week else f"until {day_label(until)}"
            yield f"{count_of(len(due), 'recurring payment')}, {total} in all, {which}; the largest: {largest}."

    def _limit_sentence(self) -> Iterator[str]:
        if self._limit is None:
            return
        limit = self._text(self._limit)
        if self._cash.units is None:
            yield f"Whether cash falls below {limit} is not known, because cash is not known."
            return
        week = self._first_below("cash", self._limit)
        text = f"to be at or above {limit} at the end of each of {self.weeks} weeks"
        if week is not None:
            text = f"to be below {limit} at the end of week {week}, on {day_label(self.week_end(week))}"
        if self.has_range:
            low, high = (self._first_below(name, self._limit) for name, _ in SIDES)
            text += f"; at the low end of its range it is below at the end of {_named_week(low)}, at the high end of "
            text += _named_week(high)
        yield f"Cash is expected {text}. Days within a week may be lower."

    def _first_below(self, name: str, limit: int) -> int | None:
        weeks = enumerate(self._figures, start=1)
        return next((week for week, of_week in weeks if int(of_week[name].units or 0) < limit), None)

    def _range_sentence(self) -> Iterator[str]:
        if not self.has_range:
            yield f"There is no range: {self._why_no_range()}."

    def _why_no_range(self) -> str:
        """Say why there is no range: nothing moved before the weeks, or there are too few past weeks."""
        if self._forecast.is_at_rest:
            return f"nothing moved cash in the {AT_REST} weeks before {day_label(self.end_date + _DAY)}"
        return _no_range(self._history.known_weeks, self.weeks)

    def _score_sentences(self) -> Iterator[str]:
        if self.score is None:
            yield "How good such outlooks are is not known: no past one has come to its end."
            return
        week, end = (
            f"{self._text(of[SHOWN])} (plain average {self._text(of[AVERAGE])}, no change {self._text(of[NOTHING])})"
            for of in (self.score.weekly, self.score.balance)
        )
        yield (
            f"Made for {count_of(self.score.origins, 'past week')}, such outlooks missed a week by {week} on average, "
            f"and the balance of week {self.weeks} by {end}."
        )
        yield from self._quality_sentences()

    def notes_of_score(self) -> list[str]:
        """Say without amounts of how many past weeks the score is, and what was right of them."""
        if self.score is None:
            return []
        made = f"Of {count_of(self.score.origins, 'past week')}, each from what was known then."
        return [made, *self._quality_sentences()]

    def _quality_sentences(self) -> Iterator[str]:
        if self.score and self.score.balance[NOTHING] < self.score.balance[SHOWN]:
            yield f"For the balance of week {self.weeks}, no change from today was the better guess."
        if self.score and self.has_range:
            percent = rounded_quotient(100 * self.score.covered, self.score.ranges)
            yield f"{percent} % of {self.score.ranges:,} past balances were in their range, which is meant for 80 %."
        if self.method == AVERAGE:
            yield "Recurring payments did not make past weeks any better, so the plain average is shown."

    def notes_of_weeks(self) -> list[str]:
        """Say without amounts when cash is lowest, and what the weeks are measured by."""
        lowest = self.lowest_week
        found = [self._measure_sentence()]
        if lowest:
            found.insert(0, f"Cash is lowest at the end of week {lowest}, on {day_label(self.week_end(lowest))}.")
        return [*found, *self._range_sentence()]

    def estimates(self, week: int) -> tuple[Figure, Figure, Figure]:
        """Figures of a week that are estimates: what recurs and is known, other cash, and the margin of its balance."""
        figures = self._figures[week - 1]
        parts = [("+", figures[one]) for one in ("recurring_receipts", "recurring_payments", "known_items")]
        recurring = figure_of_terms(f"week {week}{KEY_SEPARATOR}recurring", "Recurring", parts)
        other = replace(figures["other_cash"], key=f"week {week}{KEY_SEPARATOR}other")
        return recurring, other, self._margin(week)

    def error(self, method: str, of: str) -> Figure:
        """Mean error of past outlooks of a method: of a week (``weekly``), or of the ``balance`` of the last."""
        units = None if self.score is None else getattr(self.score, of)[method]
        return self._make(f"{method}{KEY_SEPARATOR}{of}", f"{method}, {of}", units, "the mean of past errors")

    def _text(self, units: int) -> str:
        return format_amount(self._amount(units))

    def _amount(self, units: int) -> Any:  # noqa: ANN401 (an amount as frames have it)
        return from_minor_units(units, self.scale)

    def rows(self) -> list[tuple[str, list[Figure]]]:
        """Label and figures of each week."""
        return [
            (f"{week}, to {day_label(self.week_end(week))}", list(figures.values()))
            for week, figures in enumerate(self._figures, start=1)
        ]

    def table(self) -> FigureTable:
        """Make the table of all weeks, whose figures unfold."""
        rows = self.rows()
        return table_of_figures(
            f"Cash in the next {self.weeks} weeks",
            [f"after {day_label(self.end_date)}", f"measured by {_MEASURES[self.method]}"],
            list(_ROWS.values()),
            rows,
            entries_behind(rows),
            scale=self.scale,
            call="outlook[{row!r}, {column!r}]",
        )

    @property
    def limit(self) -> Figure | None:
        """The cash that it is not to fall below, if it was given."""
        if self._limit is None:
            return None
        return self._make(f"limit{KEY_SEPARATOR}given", "Limit", self._limit, "as given")

    def _parts(self) -> Iterator[ResultPart]:
        table = self.table()
        columns = [
            TextColumn(_ROWS[name], [row.cells[place].text for row in table.rows])
            for place, name in enumerate(_ROWS)
            if name in _IN_TEXT
        ]
        lines = [table.title, *figure_lines(table.rows, columns, TERMINAL_WIDTH)]
        yield ResultPart(lines, html=partial(figure_table_html, table))
        yield ResultPart([f"- {one}" for one in self.sentences()])
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
            "score": None if self.score is None else self._score_content(self.score),
            "sentences": self.sentences(),
            "notes": self.notes,
        }

    def _score_content(self, score: ForecastScore) -> Mapping[str, Any]:
        amounts = {
            name: {method: self._amount(units) for method, units in of.items()}
            for name, of in (("weekly_error", score.weekly), ("balance_error", score.balance))
        }
        return {"past_weeks": score.origins, **amounts, "covered": score.covered, "ranges": score.ranges}


def _named(figure: Figure, key: str, label: str) -> Figure:
    return replace(figure, key=key, label=label)


def _figure_of_week(end: dt.date, name: str) -> tuple[str, str]:
    """Key and label of a figure of a week."""
    return f"{name}{KEY_SEPARATOR}{end}", f"{_ROWS[name]}, week to {day_label(end)}"


def _no_range(known: int, weeks: int) -> str:
    parts = f"{AVERAGED} to average, {weeks} ahead, {LEAST_ORIGINS} to compare"
    return f"it takes {AVERAGED + weeks + LEAST_ORIGINS} weeks of history ({parts}), and there are {known}"


def _named_week(week: int | None) -> str:
    return "no week" if week is None else f"week {week}"


def outlook(
    books: Books,
    *,
    as_of: DateLike | None = None,
    weeks: int = 13,
    known: pd.DataFrame | str | Path | None = None,
    limit: object = None,
) -> Outlook:
    """Look ahead at the weeks of cash after a day: what is due, the balances, their range, and how good that was.

    The weeks together move what the last 26 weeks moved on average, or what the same weeks of the year before moved,
    where that was much better in past weeks. Payments with a rhythm (:func:`recurring_payments`) are in their weeks,
    and what is left is the same in each. Known items are added; one whose note names a counterparty, or else whose
    category is that of a payment with a rhythm, replaces the payment that is due within its days, and a note says so.
    Ranges are made for 80 of 100 balances, of the past errors of outlooks on these books, in proportion to how much
    cash moved: wider where more balances were outside of past ranges, narrower where fewer were. The score compares
    outlooks made in past weeks, of what was known then, with what came.

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
        Cash that you do not want to fall below: says at the end of which week it is expected to be, as a range.

    Returns
    -------
    Outlook
        ``.frame`` has a row for each week, ``.payments`` what is due, ``.score`` the errors of past outlooks.

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
    source, last, chart = books.source, books.last_day(as_of), Ledgers.checked(books.ledgers)
    if missing := source.missing_until(last):
        raise IncompleteLoadError(f"the weeks after {day_label(last)} are not known: {missing}")
    scale = source.scale
    limit_units = None if limit is None else _units(limit, scale, "limit")
    items, notes = _read_known(known, last, last + weeks * _WEEK, scale)
    rows = _without_opening(source.until(last), chart)
    names = Categories(chart)
    history = _read_history(rows, source, last, weeks, names)
    forecasts = history.forecasts
    recurring = _Recurring(forecasts.latest, history.payees, names.names, scale)
    replaced = [one for item in items for one in recurring.replaced_by(item)]
    return Outlook(
        last,
        weeks,
        forecasts.method,
        forecasts.score(),
        scale,
        books.currency,
        (*source.notes_until(last), *books.own_notes, *notes, *recurring.notes),
        _cash_now(books, last),
        forecasts.latest,
        history,
        forecasts.margins,
        items,
        tuple(replaced),
        limit_units,
        source.listed(rows),
    )


def _without_opening(lines: pd.DataFrame, chart: pd.DataFrame) -> pd.DataFrame:
    """Lines without entries of opening balances, which no week moves."""
    opening = required_ledgers(chart, {RequiredLedger.OPENING_BALANCE})
    entries = lines.loc[lines["ledger_id"].isin(opening), "_entry"]
    return lines[~lines["_entry"].isin(entries)]


def _read_history(rows: pd.DataFrame, source: LineSource, last: dt.date, weeks: int, names: Categories) -> CashHistory:
    """Read what moved cash, if it is of half a year."""
    moved, cash = Counter[dt.date](), set(source.cash)
    of_cash = rows[rows["ledger_id"].isin(cash)]
    for day, amount in zip(of_cash["local_date"].dt.date, of_cash["signed_amount"], strict=True):
        moved[day] += to_minor_units(amount, source.scale)
    payees = payments_by_counterparty(rows, source, names.transfers)
    named = {
        key: [one._replace(category=names.names.name(one.category)) for one in payments]
        for key, payments in payees.items()
    }
    history = CashHistory(min(moved, default=last), last, moved, named, weeks)
    if history.known_weeks < AVERAGED:
        raise IncompleteLoadError(
            f"an outlook takes {AVERAGED} weeks of lines that move cash, and there are {history.known_weeks} until "
            f"{day_label(last)}; load more days"
        )
    return history


def _cash_now(books: Books, last: dt.date) -> Figure:
    """Cash at the end of the last day, as the cash flow statement has it."""
    statement = cash_flow_statement(books, (last, last), columns=[(last, last)])
    key, label = f"cash{KEY_SEPARATOR}{last}", f"Cash at the end of {day_label(last)}"
    if "ending_cash_balance" in statement.figures.layout.by_key:
        found = statement.figures.figure("ending_cash_balance", statement.columns[0].key)
        return renamed(found, key, label)
    return Figure(key, label, None, NO_CASH, scale=books.scale)


def _units(value: Any, scale: int, name: str) -> int:  # noqa: ANN401 (any amount; others are refused)
    try:
        units = to_minor_units(exact_amount(value, scale), scale)
    except (AmountError, TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}") from None
    if isinstance(value, str) and scale < _LEAST_GROUP and _THOUSANDS.fullmatch(value):
        exact = from_minor_units(units, scale)
        raise InputError(f"{name}: {quote(value)} may be {exact} or {value.replace('.', '')}; write one of these")
    return units


class _Recurring:
    """Payments with a rhythm that are due in the weeks ahead, and the known items that are one of them."""

    def __init__(
        self,
        forecast: CashForecast,
        payees: Iterable[tuple[str, str]],
        names: LedgerNames,
        scale: int,
    ) -> None:
        self._expected = [one for week in forecast.payments for one in week]
        self._payees = {name_key(counterparty) for counterparty, _ in payees}
        self._first, self._names, self._scale = forecast.day + _DAY, names, scale
        self._replaced: list[ExpectedPayment] = []
        self.notes: list[str] = []

    def replaced_by(self, item: KnownItem) -> list[ExpectedPayment]:
        """Find the payment that a known item is: of the counterparty in its note, else of its category."""
        counterparty = self._payee(item)
        categories = {self._names.name(one) for one in self._names.matches(item.category)}
        alike = [
            one
            for one in self._expected
            if one.units * item.units >= 0 and not any(one is other for other in self._replaced)
            if (
                name_key(one.payment.counterparty) == counterparty
                if counterparty
                else one.payment.category in categories
            )
        ]
        near = [one for one in alike if self._is_within(one, item.day)]
        near = [one for one in near if one.units == item.units] or near
        if len({one.payment.key for one in near}) > 1:
            several = " or ".join(sorted({self._text(one) for one in near}))
            raise InputError(
                f"known: {self._amount(item.units)} on {day_label(item.day)} may be {several}; name the "
                "counterparty in its note, with the amount of one of them, or leave its category and counterparty "
                "out if it is another payment"
            )
        if near:
            found = min(near, key=lambda one: abs(one.day - item.day))
            self._replaced.append(found)
            self.notes.append(
                f"The known {self._amount(item.units)} on {day_label(item.day)} replaces {self._text(found)}."
            )
            return [found]
        if counterparty and alike:
            other = min(alike, key=lambda one: abs(one.day - item.day))
            self.notes.append(
                f"The known {self._amount(item.units)} on {day_label(item.day)} is added to {self._text(other)}, "
                "because it is not within its days."
            )
        return []

    def _payee(self, item: KnownItem) -> str:
        """Key of the counterparty of past payments that a note names; empty if it names none."""
        (counterparty,) = merchants([item.note])
        note = f" {name_key(item.note)} "
        named = [one for one in self._payees if f" {one} " in note or one == name_key(counterparty)]
        return max(named, key=len, default="")

    def _is_within(self, one: ExpectedPayment, day: dt.date) -> bool:
        """Whether a day is one of a payment: a few days around it; of a late one, those before the next."""
        tolerance = one.payment.found.rhythm.tolerance * _DAY
        last = one.day + tolerance
        if one.day == self._first > one.payment.due:
            later = [other.day for other in self._expected if other.payment is one.payment and other.day > one.day]
            last = max(last, min(later, default=dt.date.max) - tolerance - _DAY)
        return one.day - tolerance <= day <= last

    def _text(self, one: ExpectedPayment) -> str:
        return f"{one.payment.counterparty}, {self._amount(one.units)} due on {day_label(one.day)}"

    def _amount(self, units: int) -> str:
        return format_amount(from_minor_units(units, self._scale))


def read_known_items(known: Any) -> pd.DataFrame:  # noqa: ANN401 (a table or a path; others are refused)
    """Read a table or CSV file of known items, and check its columns."""
    if isinstance(known, str | Path):
        try:
            known = pd.read_csv(known, dtype=str, keep_default_na=False)
        except (OSError, ValueError) as error:
            raise InputError(f"known: {known} cannot be read: {error}") from None
    require_type(known, pd.DataFrame, "known", "a table or CSV file with date, amount, category and note")
    table: pd.DataFrame = known
    missing = [name for name in ("date", "amount") if name not in table]
    unknown = [str(name) for name in table.columns if name not in _KNOWN_COLUMNS]
    if missing or unknown:
        what = f"lacks {join_ids(missing)}" if missing else f"has {join_ids(unknown)}"
        raise FrameError(f"known {what}; its columns are {', '.join(_KNOWN_COLUMNS)}")
    return table


def _read_known(
    known: pd.DataFrame | str | Path | None, last: dt.date, end: dt.date, scale: int
) -> tuple[tuple[KnownItem, ...], list[str]]:
    """Read known items of the weeks ahead, in order of their days; those of other days are counted in a note."""
    if known is None:
        return (), []
    table = read_known_items(known)
    items = [
        _read_item(row, f"known, row {number}", scale) for number, row in enumerate(table.to_dict("records"), start=1)
    ]
    kept = [one for one in items if last < one.day <= end]
    others = len(items) - len(kept)
    notes = [f"{count_of(others, 'known item')} of days that are not in these weeks left out."] if others else []
    return tuple(sorted(kept)), notes


def _read_item(row: Mapping[Any, Any], name: str, scale: int) -> KnownItem:
    try:
        day = parse_date(row["date"], "date")
    except PeriodError as error:
        raise InputError(f"{name}: {error}") from None
    texts = ("" if pd.isna(row.get(one, "")) else str(row.get(one, "")) for one in ("category", "note"))
    return KnownItem(day, _units(row["amount"], scale, name), *texts)
