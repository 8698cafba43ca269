"""Recurring payments: payees that are paid, or pay, in a rhythm, and the day and amount that are due next."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import takewhile
from statistics import median_low
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.column_conversion import in_floats
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.messages import count_of, did_you_mean, quote
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.periods import day_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import LineEntries, PaymentRhythms
from accounting_analytics.reports.bridge_payments import payees_of_entries
from accounting_analytics.reports.category_ledgers import Categories
from accounting_analytics.reports.dated_lines import DatedLines
from accounting_analytics.reports.figures import KEY_SEPARATOR, figure_of_entries
from accounting_analytics.reports.rhythms import RECENT, find_rhythm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.reports.figures import Figure
    from accounting_analytics.reports.local_books import LocalBooks

_YEAR = dt.timedelta(days=366)
_SHOWN = ["payee", "category", "rhythm", "usual_day", "last_amount", "next_date", "next_amount", "status"]


class Occurrence(NamedTuple):
    """What a payee moved on a day: signed units of cash, the category of most of it, and the journal entries."""

    date: dt.date
    units: int
    category: str
    entry_ids: tuple[str, ...]


class RecurringPayment(NamedTuple):
    """A payee with a rhythm.

    Attributes
    ----------
    key : str
        Finds its figure in the result.
    payee, category : str
        The payee, in upper case, and the name of the category of the latest payment.
    rhythm, usual_day : str
        How often, and on which day: ``monthly``, ``on day 1``.
    occurrences : tuple of Occurrence
        Its payments, oldest first; those of a day are one.
    met, tried : int
        How many of its past days the rhythm would have met, within a few days.
    due, earliest, latest : date
        The next day, and its range from how far past payments were from theirs.
    status : str
        ``expected``, ``late`` (the range has passed), or ``stopped`` (that of the payment after it, too).
    """

    key: str
    payee: str
    category: str
    rhythm: str
    usual_day: str
    occurrences: tuple[Occurrence, ...]
    met: int
    tried: int
    due: dt.date
    earliest: dt.date
    latest: dt.date
    status: str

    @property
    def recent_units(self) -> list[int]:
        """Units of the latest payments, oldest first."""
        return [one.units for one in self.occurrences[-RECENT:]]

    @property
    def next_units(self) -> int:
        """Units that are expected next: the latest, if the one before was the same or all are, else the middle one."""
        recent = self.recent_units
        return recent[-1] if recent[-1] in recent[-3:-1] else median_low(recent)

    @property
    def dearer(self) -> tuple[int, dt.date | None]:
        """By how much what is paid now is more than all payments of the year before, and since when: within a year."""
        last = self.occurrences[-1]
        same = list(takewhile(lambda one: one.units == last.units, reversed(self.occurrences)))
        since = same[-1].date
        before = [abs(one.units) for one in self.occurrences[: -len(same)] if since - one.date <= _YEAR]
        more = abs(last.units) - max(before) if before else 0
        is_dearer = more > 0 > last.units and self.status != "stopped" and last.date - since <= _YEAR
        return (more, since) if is_dearer else (0, None)


@dataclass(frozen=True, repr=False, eq=False)
class RecurringPayments(Result):
    """What :func:`recurring_payments` returns; ``result[key]`` is the figure of a payee's payments with their entries.

    Parameters
    ----------
    end_date : date
        The day that ``late`` and ``stopped`` are about.
    payments : tuple of RecurringPayment
        The payees with a rhythm: those that are paid, the next first and what has stopped last, then those that pay.
    scale : int
        Fraction digits of the amounts.
    notes : tuple of str
        Remarks for the reader.
    """

    end_date: dt.date
    payments: tuple[RecurringPayment, ...]
    scale: int
    notes: tuple[str, ...]
    _lines: pd.DataFrame
    _as_decimals: bool

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.PaymentRhythms`: cash that comes in is positive."""
        columns: dict[str, list[Any]] = {name: [] for name in PaymentRhythms.dtypes()}
        for one in self.payments:
            recent = sorted(one.recent_units, key=abs)
            dearer, since = one.dearer
            values = (
                one.key,
                one.payee,
                one.category,
                "inflow" if recent[0] > 0 else "outflow",
                one.rhythm,
                one.usual_day,
                one.status,
                pd.Timestamp(one.occurrences[-1].date),
                self._amount(one.occurrences[-1].units),
                *map(pd.Timestamp, (one.due, one.earliest, one.latest)),
                *map(self._amount, (one.next_units, recent[0], recent[-1], dearer)),
                pd.Timestamp(since) if since else pd.NaT,
                len(one.occurrences),
                one.met,
                one.tried,
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
        frame = PaymentRhythms.from_columns(columns, self.scale, as_decimals=self._as_decimals)
        frame.attrs["notes"] = self.notes
        return frame

    def __getitem__(self, key: str) -> Figure:
        """Figure of all payments of a payee with a rhythm, by its key or the payee."""
        found = [one for one in self.payments if key in {one.key, one.payee}]
        if len(found) != 1:
            similar = did_you_mean(str(key), [one.payee for one in self.payments])
            why = "is several" if found else "has no rhythm"
            raise InputError(f"{quote(key)} {why}; {similar if similar and not found else 'the keys are in .frame'}")
        return self._figure(found[0], found[0].key, found[0].occurrences)

    def last(self, payment: RecurringPayment) -> Figure:
        """Figure of the latest payment of a payee, with its entries."""
        return self._figure(payment, f"{payment.key}{KEY_SEPARATOR}last", payment.occurrences[-1:])

    def _figure(self, payment: RecurringPayment, key: str, occurrences: Sequence[Occurrence]) -> Figure:
        entries = {entry for one in occurrences for entry in one.entry_ids}
        columns = [*(name for name in LineEntries.dtypes() if name in self._lines), "figure_amount"]
        rows = self._lines.loc[self._lines["_entry"].isin(entries), columns]
        label = f"{payment.payee}, {payment.category}"
        return figure_of_entries(
            key, label, rows, scale=self.scale, as_decimals=self._as_decimals, calculation="its cash lines"
        )

    def summary(self) -> str:
        """One line: how many payees have a rhythm, and how many are late or stopped."""
        paid = sum(one.next_units < 0 for one in self.payments)
        counts = Counter(one.status for one in self.payments)
        text = f"{count_of(len(self.payments), 'recurring payment')} as of {day_label(self.end_date)}"
        states = [f"{counts[status]:,} {status}" for status in ("late", "stopped") if counts[status]]
        return f"{text}: {', '.join([f'{paid:,} paid, {len(self.payments) - paid:,} received', *states])}."

    def sentences(self) -> list[str]:
        """One sentence for each payee."""
        return [self._sentence(one) for one in self.payments]

    def _sentence(self, one: RecurringPayment) -> str:
        last, due = one.occurrences[-1], day_label(one.due)
        expected = f"next {self._size(one.next_units)} on {due}"
        if one.earliest < one.latest:
            expected += f" (from {day_label(one.earliest)} to {day_label(one.latest)})"
        if one.status != "expected":
            expected = f"{one.status}: {self._size(one.next_units)} was due on {due}"
        more, since = one.dearer
        dearer = f", {self._size(more)} dearer since {day_label(since)}" if since else ""
        return (
            f"{one.payee}, {one.category}: {'received' if last.units > 0 else 'paid'} {one.rhythm} {one.usual_day}, "
            f"last {self._size(last.units)} on {day_label(last.date)}{dearer}; {expected}; met {one.met:,} of "
            f"{one.tried:,} past days."
        )

    def _size(self, units: int) -> str:
        return format_amount(from_minor_units(abs(units), self.scale))

    def _amount(self, units: int) -> Any:  # noqa: ANN401 (an amount as frames have it)
        return from_minor_units(units, self.scale)

    def _parts(self) -> Iterator[ResultPart]:
        yield ResultPart([f"- {one}" for one in self.sentences()], self.frame[_SHOWN], max_rows=None)

    def _content(self) -> Mapping[str, Any]:
        return {"end_date": self.end_date, "payments": self.frame, "sentences": self.sentences(), "notes": self.notes}


def recurring_payments(
    line_entries: pd.DataFrame | LocalBooks,
    ledgers: pd.DataFrame | None = None,
    end_date: DateLike | None = None,
    *,
    time_zone: ZoneLike | None = None,
) -> RecurringPayments:
    """Find the payees that are paid, or pay, in a rhythm, and what is due next, late, dearer or stopped.

    A payment is what a journal entry moved on the ledgers that report cash flow; payments of a payee on one day are
    one, and transfers between own accounts are none. Amounts of a payee that have a rhythm each, as several
    subscriptions, are separate, and so are categories where all of them together have none. Weekly, fortnightly,
    twice a month, monthly, every second month, quarterly and yearly rhythms are claimed of four payments or more, if
    the rhythm, from the days before each, would have met four of five of the latest 24 within a few days (2 of a week,
    4 of a month, 7 of a year).

    Parameters
    ----------
    line_entries : DataFrame or Books
        :class:`~accounting_analytics.schemas.LineEntries` of all ledgers, two years or more, or local books.
    ledgers : DataFrame, optional
        :class:`~accounting_analytics.schemas.Ledgers`; local books have their own.
    end_date : date-like, optional
        The last day that is looked at; by default that of the latest line.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the load, else UTC.

    Returns
    -------
    RecurringPayments
        ``.frame`` has a row for each, ``.sentences()`` a sentence, and ``result[key].entries`` the entries.

    Raises
    ------
    InputError
        An argument is of another type.
    IncompleteLoadError
        Days until `end_date` were not loaded, so that what is late or stopped is not known.

    Examples
    --------
    ::

        recurring = aa.recurring_payments(lines, ledgers, "2026-06-30")
        recurring.frame.sort_values("next_date")
    """
    lines = DatedLines.read(line_entries, ledgers, end_date, time_zone)
    if lines.missing:
        raise IncompleteLoadError(f"what recurs until {lines.last} is not known: {'; '.join(lines.missing)}")
    names = Categories(lines.ledgers, set())
    by_payee = _by_payee(lines.rows, lines.cash, names.transfers, lines.scale)
    payments = [
        found
        for (payee, direction), occurrences in sorted(by_payee.items())
        for found in _rhythms(f"{payee}{KEY_SEPARATOR}{direction}", payee, occurrences, lines.last)
    ]
    named = [one._replace(category=names.names.name(one.category)) for one in payments]
    ordered = sorted(named, key=lambda one: (one.next_units > 0, one.status == "stopped", one.due, one.key))
    shown = lines.rows[lines.rows["ledger_id"].isin(lines.cash)]
    amounts = shown["signed_amount"] if lines.as_decimals else in_floats(shown["signed_amount"])
    shown = shown.assign(signed_amount=amounts, figure_amount=amounts)
    return RecurringPayments(lines.last, tuple(ordered), lines.scale, lines.notes, shown, lines.as_decimals)


def _by_payee(
    rows: pd.DataFrame, cash: set[str], transfers: str | None, scale: int
) -> dict[tuple[str, str], list[Occurrence]]:
    """Payments by payee and direction, oldest first; entries without text, and transfers, are none."""
    moved, days = Counter[str](), dict[str, dt.date]()
    parts: dict[str, Counter[str]] = defaultdict(Counter)
    columns = (rows["_entry"], rows["ledger_id"], rows["local_date"].dt.date, rows["signed_amount"])
    for entry, ledger_id, day, amount in zip(*columns, strict=True):
        units = to_minor_units(amount, scale)
        if ledger_id in cash:
            moved[entry] += units
            days[entry] = min(days.get(entry, day), day)
        else:
            parts[entry][ledger_id] += abs(units)
    payees = payees_of_entries(rows, cash)
    found: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
    for entry, units in moved.items():
        category = max(sorted(parts[entry]), key=parts[entry].__getitem__, default=None)
        if units and payees.get(entry) and category not in {None, transfers}:
            direction = "inflow" if units > 0 else "outflow"
            found[payees[entry], direction].append(Occurrence(days[entry], units, str(category), (entry,)))
    return {key: sorted(payments) for key, payments in found.items()}


def _rhythms(key: str, payee: str, payments: Sequence[Occurrence], last: dt.date) -> Iterator[RecurringPayment]:
    """Yield the rhythms of a payee: of several subscriptions, of all payments, of a category, or of an amount."""
    by_amount = list(_parts(key, payee, payments, last, lambda one: f"{one.units}"))
    rhythms = [one for one in by_amount if one is not None]
    if len(rhythms) == len(by_amount) > 1 and all(one.status != "stopped" for one in rhythms):
        yield from rhythms
    elif whole := _rhythm(key, payee, _by_day(payments), last):
        yield whole
    elif of_categories := [one for one in _parts(key, payee, payments, last, lambda one: one.category) if one]:
        yield from of_categories
    else:
        yield from rhythms


def _parts(
    key: str, payee: str, payments: Iterable[Occurrence], last: dt.date, name: Callable[[Occurrence], str]
) -> Iterator[RecurringPayment | None]:
    """Yield the rhythm of each part of the payments, or None."""
    parts: dict[str, list[Occurrence]] = defaultdict(list)
    for one in payments:
        parts[name(one)].append(one)
    for text, part in sorted(parts.items()):
        yield _rhythm(f"{key}{KEY_SEPARATOR}{text}", payee, _by_day(part), last)


def _by_day(payments: Iterable[Occurrence]) -> list[Occurrence]:
    """Payments with those of a day as one."""
    days: dict[dt.date, Occurrence] = {}
    for one in payments:
        other = days.get(one.date, one._replace(units=0, entry_ids=()))
        days[one.date] = one._replace(units=other.units + one.units, entry_ids=(*other.entry_ids, *one.entry_ids))
    return list(days.values())


def _rhythm(key: str, payee: str, payments: Sequence[Occurrence], last: dt.date) -> RecurringPayment | None:
    """Find the rhythm of payments, unless they ended more than a year before the last day."""
    found = find_rhythm([one.date for one in payments])
    if found is None or last - found.due > _YEAR:
        return None
    return RecurringPayment(
        key,
        payee,
        payments[-1].category,
        found.name,
        found.usual_day,
        tuple(payments),
        found.met,
        found.tried,
        found.due,
        found.earliest,
        found.latest,
        "stopped" if last > found.following else "late" if last > found.latest else "expected",
    )
