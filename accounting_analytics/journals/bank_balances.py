"""Order of the rows of a bank's file, and comparison with its stated balances."""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount, from_minor_units

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Sequence

    from accounting_analytics.journals.file_entries import FileErrors

_LEAST, _RUNNING = 2, "the balance"
_OPENING = re.compile(r"\b(open|start|begin|previous|brought)|balance forward", re.IGNORECASE)
_CLOSING = re.compile(r"\b(clos|end|new|final|carried)", re.IGNORECASE)


class BankRow(NamedTuple):
    """A row with a day: an entry, or only a stated balance.

    Attributes
    ----------
    place : str
        Line of the row.
    cell : str
        The cell of its day.
    moment : date or datetime
        Day or time in that cell.
    day : date
        Its day in the zone of the books.
    text, payee : str
        All its texts, and the first of them.
    units : int
        Money that came into the account, negative for money that left it.
    balance : int or None
        The stated balance, as written.
    is_entry : bool
        True for a booked row.
    entry_id : str
        Its id in the file; empty if the file has no ids.
    is_sum : bool
        True if its units are the sum of amounts in several columns.
    """

    place: str
    cell: str
    moment: dt.date
    day: dt.date
    text: str
    payee: str
    units: int
    balance: int | None
    is_entry: bool
    entry_id: str = ""
    is_sum: bool = False


class StatedBalance(NamedTuple):
    """A balance that the file or a person states outside of the rows, as it is written."""

    place: str
    label: str
    units: int

    @property
    def name(self) -> str:
        """Name of the balance in messages."""
        return "opening" if self.is_opening else "closing"

    @property
    def is_opening(self) -> bool:
        """True for the balance before the first row."""
        return bool(_OPENING.search(self.label))

    @property
    def is_closing(self) -> bool:
        """True for the balance after the last row."""
        return bool(_CLOSING.search(self.label)) and not self.is_opening


class CheckedRows(NamedTuple):
    """Rows in order of time, the units before the first row if known, and a note on the comparison."""

    rows: Sequence[BankRow]
    opening: int | None
    note: str


class _Attempt(NamedTuple):
    """An order of the rows to try, and its balances."""

    rows: Sequence[BankRow]
    balances: Sequence[_Balance]


class _Balance(NamedTuple):
    """A stated balance, and the units that moved before it. The difference is the opening balance."""

    place: str
    name: str
    units: int
    moved: int


def check_balances(
    rows: Sequence[BankRow], stated: Iterable[StatedBalance], side: int, errors: FileErrors, scale: int
) -> CheckedRows:
    """Compare each stated balance with the rows. Refuse contradictions.

    A balance is positive on the normal side of the account. If the balances of a card fit only with the other sign, the
    file writes debt as negative. Each sign fits one direction of money, so balances that put money on a card are
    refused, unless a person states a balance.
    """
    beside = list(stated)
    signs = (1,) if side > 0 else (-1, 1)
    first: _Attempt | None = None
    for orders in _orders(rows):
        attempts = [_Attempt(ordered, _balances(ordered, beside, side, sign)) for sign in signs for ordered in orders]
        first = first or attempts[0]
        if fitting := [attempt for attempt in attempts if _first_wrong(attempt.balances) is None]:
            break
    else:
        _refuse_wrong(first.balances if first else [], side, errors, scale)
    ordered, found = fitting[0]
    if any(_opening(balances) != _opening(found) for _, balances in fitting):
        _refuse_several(fitting, side, errors, scale)
    if found and found[0].name == _RUNNING:
        _refuse_unproved_sum(ordered, errors)
    if side < 0 and all(balance.place for balance in beside):
        _refuse_credit(found, errors, scale)
    return CheckedRows(ordered, _opening(found), _note(found))


def _opening(balances: Sequence[_Balance]) -> int | None:
    """Return the units before the first row, if a balance is stated."""
    return balances[0].units - balances[0].moved if balances else None


def _refuse_wrong(found: Sequence[_Balance], side: int, errors: FileErrors, scale: int) -> NoReturn:
    """Refuse the first contradiction. The message says if the other direction of money fits all balances."""
    wrong = next(balance for balance in found if _opening([balance]) != _opening(found))
    stated, expected = (
        _text(units, side, scale) for units in (wrong.units, found[0].units - found[0].moved + wrong.moved)
    )
    turned = [balance._replace(moved=-balance.moved) for balance in found]
    reason = (
        "all balances follow if money goes the other way, so direction= is wrong"
        if _first_wrong(turned) is None
        else "a row is missing, doubled or not booked yet, or a direction, a decimal mark or an order is wrong"
    )
    errors.fail(
        f"{wrong.name} of {stated} is stated, and {expected} follows from the other rows and balances: {reason}",
        wrong.place,
    )


def _refuse_several(fitting: Sequence[_Attempt], side: int, errors: FileErrors, scale: int) -> NoReturn:
    """Refuse balances that fit the rows in two ways."""
    openings = dict.fromkeys(_text(_opening(attempt.balances) or 0, side, scale) for attempt in fitting)
    reasons = ["whether the first row of a day is the earliest"] if len(fitting[0].rows) > 1 else []
    reasons += ["whether a balance with a minus is owed"] if side < 0 else []
    errors.fail(
        f"the balances fit an opening balance of {' or of '.join(openings)}, as nothing says {' and '.join(reasons)}: "
        "state opening= or closing=, as the statement prints it"
    )


def _refuse_unproved_sum(ordered: Sequence[BankRow], errors: FileErrors) -> None:
    """Refuse a sum of several amounts that no balance before proves."""
    for row in ordered:
        if row.is_sum:
            errors.fail("it has several amounts and no balance before it proves their sum: state opening=", row.place)
        if row.balance is not None:
            return


def _refuse_credit(found: Sequence[_Balance], errors: FileErrors, scale: int) -> None:
    """Refuse a card without debt.

    A wrong direction of money turns debt into credit.
    """
    if sum(balance.units for balance in found) > 0:
        first = found[0]
        errors.fail(
            f"{first.name} of {_text(abs(first.units), 1, scale)} would not be owed, but money on the card: direction= "
            "is wrong, or, if it is right, state opening= or closing=, negative for money on the card",
            first.place,
        )


def _text(units: int, side: int, scale: int) -> str:
    return format_amount(from_minor_units(side * units, scale))


def _note(balances: Sequence[_Balance]) -> str:
    """Say which balances were compared."""
    if len(balances) < _LEAST:
        return (
            "nothing was compared: no two balances are stated (balance=, opening=, closing=), so a row that is missing "
            "or doubled would not be seen"
        )
    counts = Counter(balance.name for balance in balances)
    named = [f"{name} in {count_of(number, 'row')}" if name == _RUNNING else name for name, number in counts.items()]
    return f"compared with the rows, and equal: {', '.join(named)}"


def _first_wrong(balances: Sequence[_Balance]) -> _Balance | None:
    """Find the first balance that contradicts the first stated balance."""
    return next(
        (balance for balance in balances if balance.units - balance.moved != balances[0].units - balances[0].moved),
        None,
    )


def _orders(rows: Sequence[BankRow]) -> Iterator[list[Sequence[BankRow]]]:
    """Yield groups of orders to try.

    First is the order of the file, then the reversed order within days.
    """
    days, backwards = [row.day for row in rows], list(reversed(rows))
    goes_up, goes_down = days == sorted(days), days == sorted(days, reverse=True)
    yield [backwards] if goes_down and not goes_up else [rows] if goes_up and not goes_down else [rows, backwards]
    if goes_up != goes_down:
        yield [sorted(rows if goes_down else backwards, key=lambda row: row.day)]


def _balances(rows: Sequence[BankRow], beside: Sequence[StatedBalance], side: int, sign: int) -> list[_Balance]:
    """List all balances in order. Balances of the file are multiplied by `sign`."""
    moved = list(accumulate(row.units for row in rows))
    signed = [balance._replace(units=balance.units * (sign if balance.place else side)) for balance in beside]
    openings = [
        _Balance(balance.place, f"the {balance.name} balance", balance.units, 0)
        for balance in signed
        if balance.is_opening
    ]
    closings = [
        _Balance(balance.place, f"the {balance.name} balance", balance.units, moved[-1])
        for balance in signed
        if balance.is_closing
    ]
    running = [
        _Balance(row.place, _RUNNING, row.balance * sign, so_far)
        for row, so_far in zip(rows, moved, strict=True)
        if row.balance is not None
    ]
    return [*openings, *running, *closings]
