"""A draft of a budget: last year's months, with recurring payments at their latest amounts."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.edited_files import write_table
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.fiscal_years import shift_months
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import format_amount, from_minor_units, to_float, to_minor_units
from accounting_analytics.core.periods import (
    DAY,
    Period,
    day_label,
    days_label,
    local_date,
    month_end,
    month_start,
    zone,
)
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import OWN
from accounting_analytics.reports.payees.recurring import recurring_payments
from accounting_analytics.reports.statements.budget import COLUMNS
from accounting_analytics.reports.statements.columns import whole_months
from accounting_analytics.reports.statements.four_statements import income_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.core.periods import DateLike
    from accounting_analytics.reports.books.value import Books, PeriodLike
    from accounting_analytics.reports.payees.recurring import Occurrence, RecurringPayment
    from accounting_analytics.reports.statements.rows import Row

_YEAR = 12
_SUFFIXES = (".csv", ".xlsx")


def draft_budget(
    books: Books, period: PeriodLike, *, as_of: DateLike | None = None, path: str | Path | None = None
) -> pd.DataFrame:
    """Draft a budget to edit: the last twelve months by ledger and month, recurring payments at their latest amount.

    A month has what was booked in the same month of the last twelve. Payments with a rhythm
    (:func:`recurring_payments`) whose amount is settled, because the latest is that of one of the two before or all
    recent ones before it were the same, are on the days on which they are due, at their latest amount; those that have
    stopped are left out. Receipts are treated alike.

    Parameters
    ----------
    books : Books
        The books of a year or more.
    period : period-like
        The months of the budget, such as ``"2027"``.
    as_of : date-like, optional
        The last day of the twelve months, which ends a month; by default that of the latest month with lines that was
        over when they were read.
    path : path, optional
        A new file, CSV or Excel by its name, to edit and to pass as ``budget=``.

    Returns
    -------
    DataFrame
        ``ledger`` (path, after ``own:`` of a parent's own amounts), ``month`` (``2027-01``), ``amount`` (positive on
        the normal side of the ledger's type; null where nothing was booked: no budget is stated, not zero) and ``note``
        (what recurs in it); a row for each month of each ledger with an amount.

    Raises
    ------
    IncompleteLoadError
        The books have less than twelve whole months before the period.
    InputError
        The file exists, or cannot be written.
    PeriodError
        The period, or the twelve months, begin or end within a month.

    Examples
    --------
    ::

        aa.draft_budget(books, "2027", path="budget.csv")
        aa.income_statement(books, "2027-01", budget="budget.csv")
    """
    books = to_books(books)
    books.require_loaded("a draft of a budget")
    file = None if path is None else require_new_file(to_path(path, "path"))
    months = [month.start_date for month in whole_months(books.days_of(period))]
    history = _last_twelve_months(books, months[0], as_of)
    income = income_statement(books, history)
    own = (row for row in income.figures.layout.by_key.values() if row.kind == "own")
    rows = {row.ledger_ids[0]: row for row in own if row.section != "not_categorized"}
    payments = recurring_payments(books, as_of=history.end_date).payments
    settled = [payment for payment in payments if payment.status != "stopped" and _is_settled(payment)]
    stopped = [payment for payment in payments if payment.status == "stopped"]
    lines = _lines_of_payments(books, rows, [*settled, *stopped])
    booked = Counter(
        {
            (ledger_id, column.months[0].month): income.figures.units(row, column)
            for ledger_id, row in rows.items()
            for column in income.columns
        }
    )
    for payment in (*settled, *stopped):
        for line in lines.of(payment.occurrences, history):
            booked[line.ledger_id, line.month] -= line.units
    due = _due_lines(settled, lines, history.end_date, months)
    return _frame_of(booked, due, _Shown(books, list(rows), months, _notes(history, settled, stopped)), file)


def require_new_file(file: Path) -> Path:
    """Refuse other formats and existing files, which a person may have edited."""
    if file.suffix.lower() not in _SUFFIXES:
        raise InputError(f"path: {file} must end in {' or '.join(_SUFFIXES)}; nothing was written")
    if file.exists():
        raise InputError(f"path: {file} exists, and may have been edited: name another file; nothing was written")
    return file


def _last_twelve_months(books: Books, first: dt.date, as_of: DateLike | None) -> Period:
    """Find the twelve whole months before a budget.

    They end on `as_of`, else with the latest finished month that has lines.
    """
    last = books.last_day(as_of)
    if as_of is None:
        month, read_at = month_start(last), books.extent.read_at
        end = month_end(month)
        is_over = read_at is None or local_date(read_at, zone(books.time_zone)) > end
        last = end if is_over and end <= books.period.end_date else month - DAY
    last = min(last, first - DAY)
    start = shift_months(month_start(last), 1 - _YEAR)
    history = Period(start or dt.date.min, last, books.time_zone)
    whole_months(history)
    begins = books.opening.first_entry or books.extent.days.start_date
    if start is None or month_start(begins) > start or books.extent.reasons(history):
        reasons = "; ".join(books.extent.reasons(history)) or f"the books begin on {day_label(begins)}"
        raise IncompleteLoadError(f"a draft of a budget takes {days_label(history)}, and {reasons}; load these months")
    return history


def _is_settled(payment: RecurringPayment) -> bool:
    """Return whether a payment's amount is settled.

    Either the latest amount repeats, or all recent payments before it had one amount. The latest amount repeats if one
    of the two payments before it had the same amount.
    """
    *before, latest = payment.recent_units
    return latest in before[-2:] or len(set(before)) == 1


class _PaymentLine(NamedTuple):
    """A payment's line: ledger, month, and units signed as its row."""

    ledger_id: str
    month: int
    units: int


class _PaymentLines(NamedTuple):
    """Lines of revenues and expenses by journal entry."""

    by_entry: Mapping[str, list[_PaymentLine]]

    def of(self, occurrences: Iterable[Occurrence], days: Period | None = None) -> Iterator[_PaymentLine]:
        """Yield the lines of payments, or only of payments within `days`."""
        for occurrence in occurrences:
            if days is None or days.start_date <= occurrence.date <= days.end_date:
                for entry in occurrence.entry_ids:
                    yield from self.by_entry.get(entry, ())


def _lines_of_payments(books: Books, rows: Mapping[str, Row], payments: Iterable[RecurringPayment]) -> _PaymentLines:
    """Read the lines of payments on ledgers of revenues and expenses."""
    entries = {entry for payment in payments for occurrence in payment.occurrences for entry in occurrence.entry_ids}
    dated = books.source.dated
    dated = dated[dated["_entry"].isin(entries) & dated["ledger_id"].isin(list(rows))]
    found: dict[str, list[_PaymentLine]] = defaultdict(list)
    columns = (dated["_entry"], dated["ledger_id"], dated["local_date"], dated["signed_amount"])
    for entry, ledger_id, day, amount in zip(*columns, strict=True):
        units = rows[ledger_id].factor * to_minor_units(amount, books.scale)
        found[entry].append(_PaymentLine(ledger_id, day.month, units))
    return _PaymentLines(found)


Due = dict[tuple[str, dt.date], list[tuple[str, int]]]
"""Counterparty and units of the payments that are due, by ledger and month."""


def _due_lines(
    payments: Iterable[RecurringPayment], lines: _PaymentLines, last: dt.date, months: Sequence[dt.date]
) -> Due:
    """Find the lines that are due in some months.

    The lines of the latest payment repeat on each due day.
    """
    until = month_end(months[-1])
    found: Due = defaultdict(list)
    for payment in payments:
        latest = list(lines.of(payment.occurrences[-1:]))
        for day in payment.due_days(last, until):
            for line in latest:
                found[line.ledger_id, month_start(day)].append((payment.counterparty, line.units))
    return found


class _Shown(NamedTuple):
    """The shown parts of a draft: books, ledgers, months and remarks."""

    books: Books
    ledger_ids: Sequence[str]
    months: Sequence[dt.date]
    notes: tuple[str, ...]


def _frame_of(booked: Counter[tuple[str, int]], due: Due, shown: _Shown, file: Path | None) -> pd.DataFrame:
    """Make the table of a draft.

    If a file is given, write the table to the file.
    """
    scale, names = shown.books.scale, shown.books.names
    rows: list[tuple[str, str, int | None, str]] = []
    ancestors = names.hierarchy.ancestors
    parents = {above for ledger_id in shown.ledger_ids for above in ancestors(ledger_id)}
    for ledger_id in shown.ledger_ids:
        of_ledger = []
        text = f"{OWN if ledger_id in parents else ''}{names.unique_path(ledger_id)}"
        for month in shown.months:
            payments = due.get((ledger_id, month), [])
            units = booked[ledger_id, month.month] + sum(units for _, units in payments)
            texts = (f"{who} {format_amount(from_minor_units(units, scale))}" for who, units in payments)
            of_ledger.append((text, f"{month:%Y-%m}", units or None, "; ".join(texts)))
        rows += of_ledger if any(units for _, _, units, _ in of_ledger) else []
    frame = pd.DataFrame(rows, columns=[*COLUMNS, "note"])
    exact = [None if units is None else from_minor_units(units, scale) for _, _, units, _ in rows]
    if file is not None:
        table = frame.assign(amount=pd.Series(exact, dtype=object))
        write_table(table, file, name="budget", ids=("ledger", "month"), editable=("amount",))
    frame["amount"] = pd.Series([to_float(amount, scale) for amount in exact], dtype="float64")
    frame = frame.astype(dict.fromkeys(("ledger", "month", "note"), "str"))
    frame.attrs |= {"scale": scale, "notes": shown.notes}
    return frame


def _notes(
    history: Period, settled: Sequence[RecurringPayment], stopped: Sequence[RecurringPayment]
) -> tuple[str, ...]:
    """Say what a draft was made of."""
    names = {payment.counterparty for payment in settled}
    remarks = [f"Of {days_label(history)}, with {count_of(len(names), 'counterparty')} at their latest amount."]
    if stopped:
        remarks.append(
            f"Left out, because they have stopped: {join_ids({payment.counterparty for payment in stopped})}."
        )
    return tuple(remarks)
