"""Recurring payments: counterparties with a rhythm, and their next day and amount."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.messages import count_of, did_you_mean, quote
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.periods import DAY, day_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import PaymentRhythms
from accounting_analytics.reports.books.book_lines import entries_among
from accounting_analytics.reports.books.category_ledgers import Categories
from accounting_analytics.reports.books.payees import counterparties_of_entries
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, figure_of_entries
from accounting_analytics.reports.payees.rhythms import LEAST_PAYMENTS, RECENT, FoundRhythm, find_rhythm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.book_lines import LineSource
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.figure import Figure

_YEAR = dt.timedelta(days=366)
_SHOWN = ["counterparty", "category", "rhythm", "usual_day", "last_amount", "next_date", "next_amount", "status"]
_VARIED = f"Where amounts vary, the next one is estimated as the middle one of the last {RECENT}."


class Occurrence(NamedTuple):
    """The cash that a counterparty moved on a day, in units.

    The category is the one that has the largest part of the cash.
    """

    date: dt.date
    units: int
    category: str
    entry_ids: tuple[str, ...]

    def together_with(self, other: Occurrence) -> Occurrence:
        """Return both as one payment, with the category and day of `other`."""
        return other._replace(units=self.units + other.units, entry_ids=(*self.entry_ids, *other.entry_ids))


class RecurringPayment(NamedTuple):
    """A counterparty with a rhythm.

    Attributes
    ----------
    key : str
        Finds its figure in the result.
    counterparty, category : str
        The counterparty, in upper case, and the name of the category of the latest payment.
    occurrences : tuple of Occurrence
        Its payments, oldest first; those of a day are one.
    found : FoundRhythm
        How often and on which day, how many of its past days that met, and when the next is due.
    status : str
        ``expected``, ``late`` (the range has passed), or ``stopped`` (that of the payment after it, too).
    """

    key: str
    counterparty: str
    category: str
    occurrences: tuple[Occurrence, ...]
    found: FoundRhythm
    status: str = "expected"

    @property
    def rhythm(self) -> str:
        """Name of the rhythm: ``monthly``."""
        return self.found.name

    @property
    def due(self) -> dt.date:
        """The next day."""
        return self.found.due

    def as_of(self, last: dt.date) -> RecurringPayment:
        """Return the payment with its status on a day."""
        is_stopped, is_late = last > self.found.following, last > self.found.latest
        return self._replace(status="stopped" if is_stopped else "late" if is_late else "expected")

    def due_days(self, last: dt.date, until: dt.date) -> list[dt.date]:
        """List the days on which payments are due. A late payment is due on the first day.

        The days are after `last`, up to `until`.
        """
        days = [occurrence.date for occurrence in self.occurrences]
        found: list[dt.date] = []
        due = self.due
        while due <= until:
            days.append(due)
            following = self.found.rhythm.next_day(days)
            if following > last:
                found.append(max(due, last + DAY))
            due = following
        return found

    @property
    def expected(self) -> Occurrence:
        """Choose the past payment whose amount is expected next.

        It is the latest payment, if one of the two before had the same amount, else the median.
        """
        recent = self.occurrences[-RECENT:]
        if recent[-1].units in self.recent_units[-3:-1]:
            return recent[-1]
        return sorted(recent, key=lambda occurrence: occurrence.units)[(len(recent) - 1) // 2]

    @property
    def recent_units(self) -> list[int]:
        """Units of the latest payments, oldest first."""
        return [occurrence.units for occurrence in self.occurrences[-RECENT:]]

    @property
    def next_units(self) -> int:
        """Units that are expected next."""
        return self.expected.units

    @property
    def dearer(self) -> tuple[int, dt.date | None]:
        """By how many units payments exceed all payments of the year before, and since when.

        Only a rise within a year counts.
        """
        last = self.occurrences[-1]
        same = list(takewhile(lambda occurrence: occurrence.units == last.units, reversed(self.occurrences)))
        since = same[-1].date
        before = [
            abs(occurrence.units) for occurrence in self.occurrences[: -len(same)] if since - occurrence.date <= _YEAR
        ]
        more = abs(last.units) - max(before) if before else 0
        is_dearer = more > 0 > last.units and self.status != "stopped" and last.date - since <= _YEAR
        return (more, since) if is_dearer else (0, None)


@dataclass(frozen=True, repr=False, eq=False)
class RecurringPayments(Result):
    """Recurring payments, as :func:`recurring_payments` returns them; ``result[key]`` is a counterparty's figure.

    Parameters
    ----------
    end_date : date
        The day that ``late`` and ``stopped`` are about.
    payments : tuple of RecurringPayment
        Those with a rhythm: paid ones, the next first and what has stopped last, then received ones.
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

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.PaymentRhythms`: cash that comes in is positive."""
        rows = []
        for payment in self.payments:
            recent = sorted(payment.recent_units, key=abs)
            dearer, since = payment.dearer
            row = (
                payment.key,
                payment.counterparty,
                payment.category,
                "inflow" if recent[0] > 0 else "outflow",
                payment.rhythm,
                payment.found.usual_day,
                payment.status,
                pd.Timestamp(payment.occurrences[-1].date),
                self._amount(payment.occurrences[-1].units),
                *map(pd.Timestamp, (payment.due, payment.found.earliest, payment.found.latest)),
                *map(self._amount, (payment.next_units, recent[0], recent[-1], dearer)),
                pd.Timestamp(since) if since else pd.NaT,
                len(payment.occurrences),
                payment.found.met,
                payment.found.tried,
            )
            rows.append(row)
        frame = PaymentRhythms.from_rows(rows, self.scale)
        frame.attrs["notes"] = self.notes
        return frame

    def __getitem__(self, key: str) -> Figure:
        """Return the figure of a counterparty's payments, by key or counterparty."""
        found = [payment for payment in self.payments if key in {payment.key, payment.counterparty}]
        if len(found) != 1:
            similar = did_you_mean(str(key), [payment.counterparty for payment in self.payments])
            why = "is several" if found else "has no rhythm"
            raise InputError(f"{quote(key)} {why}; {similar if similar and not found else 'the keys are in .frame'}")
        return self._figure(found[0], found[0].key, found[0].occurrences)

    def last(self, payment: RecurringPayment) -> Figure:
        """Return the figure of a counterparty's latest payment, with its entries."""
        return self._figure(payment, f"{payment.key}{KEY_SEPARATOR}last", payment.occurrences[-1:])

    def _figure(self, payment: RecurringPayment, key: str, occurrences: Sequence[Occurrence]) -> Figure:
        entries = {entry for occurrence in occurrences for entry in occurrence.entry_ids}
        rows = entries_among(self._lines, self._lines["_entry"].isin(entries))
        label = f"{payment.counterparty}, {payment.category}"
        return figure_of_entries(key, label, rows, scale=self.scale, calculation="its cash lines")

    def summary(self) -> str:
        """Write one line of text: how many payments have a rhythm, and how many are late or stopped."""
        paid = sum(payment.next_units < 0 for payment in self.payments)
        counts = Counter(payment.status for payment in self.payments)
        text = f"{count_of(len(self.payments), 'recurring payment')} as of {day_label(self.end_date)}"
        states = ", ".join(f"{counts[status]:,} {status}" for status in ("late", "stopped") if counts[status])
        of_these = f"; of these {states}" if states else ""
        return f"{text}: {paid:,} paid, {len(self.payments) - paid:,} received{of_these}."

    def sentences(self) -> list[str]:
        """One sentence for each counterparty."""
        return [self._sentence(payment) for payment in self.payments]

    def _sentence(self, payment: RecurringPayment) -> str:
        last, due = payment.occurrences[-1], day_label(payment.due)
        expected = f"next {self._size(payment.next_units)} on {due}"
        if payment.found.earliest < payment.found.latest:
            expected += f" (from {day_label(payment.found.earliest)} to {day_label(payment.found.latest)})"
        if payment.status != "expected":
            expected = f"{payment.status}: {self._size(payment.next_units)} was due on {due}"
        more, since = payment.dearer
        dearer = f", {self._size(more)} dearer since {day_label(since)}" if since else ""
        who = f"{payment.counterparty}, {payment.category}"
        how = f"{'received' if last.units > 0 else 'paid'} {payment.rhythm} {payment.found.usual_day}"
        return (
            f"{who}: {how}, last {self._size(last.units)} on {day_label(last.date)}{dearer}; {expected}; "
            f"met {payment.found.met:,} of {payment.found.tried:,} past days."
        )

    def _size(self, units: int) -> str:
        return format_amount(from_minor_units(abs(units), self.scale))

    def _amount(self, units: int) -> Any:  # noqa: ANN401 (an amount as frames have it)
        return from_minor_units(units, self.scale)

    def _parts(self) -> Iterator[ResultPart]:
        yield ResultPart([f"- {sentence}" for sentence in self.sentences()], self.frame[_SHOWN], max_rows=None)

    def _content(self) -> Mapping[str, Any]:
        return {"end_date": self.end_date, "payments": self.frame, "sentences": self.sentences()}


def recurring_payments(books: Books, *, as_of: DateLike | None = None) -> RecurringPayments:
    """Find counterparties with a rhythm of payments, and what is due next, late, dearer or stopped.

    A payment is what a journal entry moved on the ledgers that report cash flow; payments of a counterparty on one day
    are one, and transfers between own accounts are none. Amounts of a counterparty that have a rhythm each, as several
    subscriptions, are separate, and so are categories where all of them together have none. Weekly, fortnightly, twice
    a month, every four weeks, monthly, every second month, quarterly and yearly rhythms are claimed of four payments or
    more, if the rhythm, from the days before each, would have met four of five of the latest 24 within a few days (2 of
    a week, 4 of a month, 7 of a year).

    Parameters
    ----------
    books : Books
        The books of two years or more.
    as_of : date-like, optional
        The last day that is looked at; by default that of the latest line of the period.

    Returns
    -------
    RecurringPayments
        ``.frame`` has a row for each, ``.sentences()`` a sentence, and ``result[key].entries`` the entries.

    Raises
    ------
    InputError
        An argument is of another type.
    IncompleteLoadError
        Days until `as_of` were not loaded, so that what is late or stopped is not known.

    Examples
    --------
    ::

        recurring = aa.recurring_payments(books, as_of="2026-06-30")
        recurring.frame.sort_values("next_date")
    """
    books = to_books(books)
    source, last = books.source, books.last_day(as_of)
    if missing := source.missing_until(last):
        raise IncompleteLoadError(f"what recurs until {day_label(last)} is not known: {missing}")
    names, rows = Categories(books.chart), source.until(last)
    by_counterparty = payments_by_counterparty(rows, source, names.transfers)
    payments = [
        found
        for (counterparty, direction), occurrences in sorted(by_counterparty.items())
        for found in PayeeRhythms.of_payments(
            f"{counterparty}{KEY_SEPARATOR}{direction}", counterparty, occurrences
        ).as_of(last)
    ]
    named = [payment._replace(category=names.names.name(payment.category)) for payment in payments]
    ordered = sorted(
        named, key=lambda payment: (payment.next_units > 0, payment.status == "stopped", payment.due, payment.key)
    )
    shown = source.listed(rows)
    varied = any(payment.next_units != payment.occurrences[-1].units for payment in ordered)
    notes = (*_chosen_note(books), *source.notes_until(last), *books.own_notes, *([_VARIED] if varied else []))
    return RecurringPayments(last, tuple(ordered), source.scale, notes, shown)


def _chosen_note(books: Books) -> tuple[str, ...]:
    """Write a note with the label of chosen lines."""
    return (f"Of lines {books.extent.label}.",) if books.extent.label else ()


def payments_by_counterparty(
    rows: pd.DataFrame, source: LineSource, transfers: str | None
) -> dict[tuple[str, str], list[Occurrence]]:
    """List payments by counterparty and direction, oldest first.

    Entries without a counterparty, and transfers, are left out.
    """
    cash, scale = set(source.cash), source.scale
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
    payees = counterparties_of_entries(rows, cash, source.open_items)
    found: dict[tuple[str, str], list[Occurrence]] = defaultdict(list)
    for entry, units in moved.items():
        category = max(sorted(parts[entry]), key=parts[entry].__getitem__, default=None)
        if units and payees.get(entry) and category not in {None, transfers}:
            direction = "inflow" if units > 0 else "outflow"
            found[payees[entry], direction].append(Occurrence(days[entry], units, str(category), (entry,)))
    return {key: sorted(payments) for key, payments in found.items()}


class PayeeRhythms(NamedTuple):
    """Rhythms of a counterparty's payments: of each amount, of all payments, and of each category.

    An amount or category without a rhythm has None.
    """

    amounts: list[RecurringPayment | None]
    whole: RecurringPayment | None
    categories: list[RecurringPayment | None]

    @classmethod
    def of_payments(cls, key: str, counterparty: str, payments: Sequence[Occurrence]) -> Self:
        """Find the rhythms of payments, which are sorted, oldest first."""
        amounts = _of_parts(key, counterparty, payments, lambda occurrence: f"{occurrence.units}")
        whole = _rhythm(key, counterparty, payments)
        return cls(
            amounts,
            whole,
            [] if whole else _of_parts(key, counterparty, payments, lambda occurrence: occurrence.category),
        )

    def as_of(self, last: dt.date) -> list[RecurringPayment]:
        """Choose the rhythms that count on a day.

        They are the rhythms of the amounts, if each amount has one and none has stopped, else the rhythm of all
        payments, else those of the categories, else those of some amounts.
        """
        amounts, whole, categories = (
            [rhythm.as_of(last) for rhythm in part if rhythm and last - rhythm.due <= _YEAR]
            for part in (self.amounts, [self.whole], self.categories)
        )
        if len(amounts) == len(self.amounts) > 1 and all(payment.status != "stopped" for payment in amounts):
            return amounts
        return whole or categories or amounts


def _of_parts(
    key: str, counterparty: str, payments: Iterable[Occurrence], name: Callable[[Occurrence], str]
) -> list[RecurringPayment | None]:
    """Find the rhythm of each part of the payments."""
    parts: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in payments:
        parts[name(occurrence)].append(occurrence)
    return [_rhythm(f"{key}{KEY_SEPARATOR}{text}", counterparty, part) for text, part in sorted(parts.items())]


def _by_day(payments: Iterable[Occurrence]) -> list[Occurrence]:
    """Join the payments of each day to one payment."""
    days: dict[dt.date, Occurrence] = {}
    for occurrence in payments:
        other = days.get(occurrence.date)
        days[occurrence.date] = occurrence if other is None else other.together_with(occurrence)
    return list(days.values())


def _rhythm(key: str, counterparty: str, payments: Sequence[Occurrence]) -> RecurringPayment | None:
    """Find the rhythm of payments.

    All payments of a day count as one payment.
    """
    if len(payments) < LEAST_PAYMENTS:
        return None
    payments = _by_day(payments)
    found = find_rhythm([occurrence.date for occurrence in payments])
    return None if found is None else RecurringPayment(key, counterparty, payments[-1].category, tuple(payments), found)
