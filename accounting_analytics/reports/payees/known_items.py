"""Payments and receipts that a person states, and the amounts due that they replace."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.errors import AmountError, FrameError, InputError, PeriodError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import exact_amount, format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.name_keys import name_key
from accounting_analytics.core.periods import DAY, day_label, parse_date
from accounting_analytics.reports.books.merchants import merchants
from accounting_analytics.reports.payees.cash_forecast import ExpectedItem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.reports.payees.cash_forecast import CashForecast, CashHistory, Expected

_OPEN_TOLERANCE = 14 * DAY
"""Days by which a known item may differ from the expected day of an open item."""
_KNOWN_COLUMNS = ("date", "amount", "category", "note")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
"""Pattern of an amount whose point may separate thousands."""
_LEAST_GROUP = 3


class KnownItem(NamedTuple):
    """A payment or receipt that a person knows in advance."""

    day: dt.date
    units: int
    category: str
    note: str


class DueBefore:
    """Amounts due in the weeks ahead, and the known items that replace them."""

    def __init__(self, forecast: CashForecast, history: CashHistory, names: LedgerNames, scale: int) -> None:
        self._expected = [due for week in forecast.expected for due in week]
        self._payees = {name_key(counterparty) for counterparty, _ in history.payees}
        self._payees |= {name_key(item.party) for account in history.accounts for item in account.items}
        self._first, self._names, self._scale = forecast.day + DAY, names, scale
        self._replaced: list[Expected] = []
        self.notes: list[str] = []

    def replaced_by(self, item: KnownItem) -> list[Expected]:
        """Find the amounts due that a known item replaces, by counterparty, category or amount."""
        counterparty = self._payee(item)
        alike = [due for due in self._left(item) if self._is_alike(due, item, counterparty)]
        near = [due for due in alike if self._is_within(due, item.day)]
        near = [due for due in near if due.units == item.units] or near
        if counterparty and not near:
            near = [due for due in alike if due.units == item.units]
            if alike and not near:
                raise InputError(self._two_readings(item, min(alike, key=lambda due: abs(due.day - item.day))))
        if len({due.key for due in near}) > 1:
            several = " or ".join(sorted({self._text(due) for due in near}))
            raise InputError(
                f"known: {self._amount(item.units)} on {day_label(item.day)} may be {several}; name the "
                "counterparty in its note, with the amount of one of them, or give it another category, and no "
                "counterparty, if it is another payment"
            )
        if not near:
            return []
        found = min(near, key=lambda due: abs(due.day - item.day))
        self._replaced.append(found)
        self.notes.append(
            f"The known {self._amount(item.units)} on {day_label(item.day)} replaces {self._text(found)}."
        )
        return [found]

    def _left(self, item: KnownItem) -> Iterator[Expected]:
        """Yield expected amounts that no known item has replaced yet.

        The amounts have the direction of the item.
        """
        return (
            due
            for due in self._expected
            if due.units * item.units >= 0 and not any(due is other for other in self._replaced)
        )

    def _is_alike(self, due: Expected, item: KnownItem, counterparty: str) -> bool:
        """Return whether an item matches an expected amount.

        The first known of counterparty, category and amount decides.
        """
        if counterparty:
            return name_key(due.counterparty) == counterparty
        if item.category:
            return due.category in {self._names.name(ledger_id) for ledger_id in self._names.matches(item.category)}
        return due.units == item.units

    def _two_readings(self, item: KnownItem, due: Expected) -> str:
        """Write the note that an item can be read two ways.

        The item may be an amount due, or another payment.
        """
        tolerance = self._tolerance(due)
        first, last = day_label(due.day - tolerance), day_label(due.day + tolerance)
        return (
            f"known: {self._amount(item.units)} on {day_label(item.day)} may be {self._text(due)}, or another payment; "
            f"for the first give its amount, or a day from {first} to {last}, and for another name no counterparty"
        )

    def _payee(self, item: KnownItem) -> str:
        """Find the counterparty that an item's text names, or return "".

        Only counterparties of past payments count.
        """
        (counterparty,) = merchants([item.note])
        note = f" {name_key(item.note)} "
        named = [payee for payee in self._payees if f" {payee} " in note or payee == name_key(counterparty)]
        return max(named, key=len, default="")

    def _tolerance(self, due: Expected) -> dt.timedelta:
        """Return the days by which a payment may be early or late."""
        return _OPEN_TOLERANCE if isinstance(due, ExpectedItem) else due.payment.found.rhythm.tolerance * DAY

    def _is_within(self, due: Expected, day: dt.date) -> bool:
        """Return whether a day is near an expected amount's due day.

        Near are a few days around the due day. For a late payment, all days until the next one is near are near, too.
        """
        tolerance = self._tolerance(due)
        last = due.day + tolerance
        if not isinstance(due, ExpectedItem) and due.day == self._first > due.payment.due:
            later = [other.day for other in self._expected if other.key == due.key and other.day > due.day]
            last = max(last, min(later, default=dt.date.max) - tolerance - DAY)
        return due.day - tolerance <= day <= last

    def _text(self, due: Expected) -> str:
        return f"{due.counterparty}, {self._amount(due.units)} due on {day_label(due.day)}"

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


def read_known(
    known: pd.DataFrame | str | Path | None, last: dt.date, end: dt.date, scale: int
) -> tuple[tuple[KnownItem, ...], list[str]]:
    """Read known items of the weeks ahead, by day.

    A note says how many items are on other days.
    """
    if known is None:
        return (), []
    table = read_known_items(known)
    items = [
        _read_item(row, f"known, row {number}", scale) for number, row in enumerate(table.to_dict("records"), start=1)
    ]
    kept = [item for item in items if last < item.day <= end]
    others = len(items) - len(kept)
    notes = [f"{count_of(others, 'known item')} of days that are not in these weeks left out."] if others else []
    return tuple(sorted(kept)), notes


def _read_item(row: Mapping[Any, Any], name: str, scale: int) -> KnownItem:
    try:
        day = parse_date(row["date"], "date")
    except PeriodError as error:
        raise InputError(f"{name}: {error}") from None
    texts = ("" if pd.isna(row.get(name, "")) else str(row.get(name, "")) for name in ("category", "note"))
    return KnownItem(day, units_of(row["amount"], scale, name), *texts)


def units_of(value: Any, scale: int, name: str) -> int:  # noqa: ANN401 (any amount; others are refused)
    """Read an amount in units. Refuse a point that may be decimal or separate thousands."""
    try:
        units = to_minor_units(exact_amount(value, scale), scale)
    except (AmountError, TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}") from None
    if isinstance(value, str) and scale < _LEAST_GROUP and _THOUSANDS.fullmatch(value):
        exact = from_minor_units(units, scale)
        raise InputError(f"{name}: {quote(value)} may be {exact} or {value.replace('.', '')}; write one of these")
    return units
