"""The rows of a bank's file in their order, and the balances that it states compared with them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount, from_minor_units

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from accounting_analytics.journals.file_books import FileErrors

_LEAST, _RUNNING = 2, "the balance"
_OPENING = re.compile(r"open|start|begin|previous|brought", re.IGNORECASE)
_CLOSING = re.compile(r"clos|end|new|final|carried", re.IGNORECASE)


class BankRow(NamedTuple):
    """A row with a day: an entry, or a statement of the balance alone.

    Attributes
    ----------
    place : str
        Its line.
    cell : str
        The cell of its day.
    moment : date or datetime
        What the cell says.
    day : date
        Its day in the zone of the books.
    text, payee : str
        All its texts, and the first of them.
    units : int
        What came into the account, negative for what left it.
    balance : int or None
        The balance that it states, as it is written.
    is_entry : bool
        Whether it is booked.
    entry_id : str
        Its id in the file, where that has ids.
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


class StatedBalance(NamedTuple):
    """A balance that the file or a person states beside the rows, as it is written."""

    place: str
    label: str
    units: int

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return "opening" if self.is_opening else "closing"

    @property
    def is_opening(self) -> bool:
        """Whether it is the balance before the first row."""
        return bool(_OPENING.search(self.label))

    @property
    def is_closing(self) -> bool:
        """Whether it is the balance after the last row."""
        return bool(_CLOSING.search(self.label)) and not self.is_opening


class CheckedRows(NamedTuple):
    """Rows from the first to the last, the units before them where these are known, and what was compared."""

    rows: Sequence[BankRow]
    opening: int | None
    note: str


class _Balance(NamedTuple):
    """A stated balance with what moved before it: the opening balance is the one less the other."""

    place: str
    name: str
    units: int
    moved: int


def check_balances(
    rows: Sequence[BankRow], stated: Iterable[StatedBalance], side: int, errors: FileErrors, scale: int
) -> CheckedRows:
    """Compare each stated balance with the rows; those that do not follow from each other are refused.

    A balance is that of the normal side of the account. Where every balance of a card fits only with the other sign,
    the file writes what is owed as negative.
    """
    beside = list(stated)
    signs = (1,) if side > 0 else (-1, 1)
    tried = [(ordered, _balances(ordered, beside, side, sign)) for sign in signs for ordered in _orders(rows)]
    ordered, found = next((one for one in tried if _first_wrong(one[1]) is None), tried[0])
    if wrong := _first_wrong(found):
        stated_text, expected = (
            format_amount(from_minor_units(side * units, scale))
            for units in (wrong.units, found[0].units - found[0].moved + wrong.moved)
        )
        errors.fail(
            f"{wrong.name} of {stated_text} is stated, and {expected} follows from the other rows and balances: a row "
            "is missing, doubled or not booked yet, or a direction, a decimal mark or an order is wrong",
            wrong.place,
        )
    return CheckedRows(ordered, found[0].units - found[0].moved if found else None, _note(found))


def _note(balances: Sequence[_Balance]) -> str:
    """Say what was compared."""
    if len(balances) < _LEAST:
        return (
            "nothing was compared: no two balances are stated (balance=, opening=, closing=), so a row that is missing "
            "or doubled would not be seen"
        )
    counts = Counter(one.name for one in balances)
    named = [f"{name} in {count_of(number, 'row')}" if name == _RUNNING else name for name, number in counts.items()]
    return f"compared with the rows, and equal: {', '.join(named)}"


def _first_wrong(balances: Sequence[_Balance]) -> _Balance | None:
    """Find the first balance that does not follow from the first of all."""
    return next((one for one in balances if one.units - one.moved != balances[0].units - balances[0].moved), None)


def _orders(rows: Sequence[BankRow]) -> list[Sequence[BankRow]]:
    """Rows as the file has them, from the last to the first, or both where their days do not tell."""
    days, backwards = [row.day for row in rows], list(reversed(rows))
    goes_up, goes_down = days == sorted(days), days == sorted(days, reverse=True)
    return [backwards] if goes_down and not goes_up else [rows] if goes_up and not goes_down else [rows, backwards]


def _balances(rows: Sequence[BankRow], beside: Sequence[StatedBalance], side: int, sign: int) -> list[_Balance]:
    """List all balances from the opening to the closing one; `sign` is that of the balances in the file."""
    moved = list(accumulate(row.units for row in rows))
    signed = [one._replace(units=one.units * (sign if one.place else side)) for one in beside]
    openings = [_Balance(one.place, f"the {one.name} balance", one.units, 0) for one in signed if one.is_opening]
    closings = [
        _Balance(one.place, f"the {one.name} balance", one.units, moved[-1]) for one in signed if one.is_closing
    ]
    running = [
        _Balance(row.place, _RUNNING, row.balance * sign, so_far)
        for row, so_far in zip(rows, moved, strict=True)
        if row.balance is not None
    ]
    return [*openings, *running, *closings]
