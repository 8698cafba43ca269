"""Items of receivables and payables, their payments, and the days that parties take to pay.

An entry that increases the balance is an item. An entry that decreases the balance is set against items of its party:
items whose invoice numbers it names, else an item of exactly its amount, else the oldest item.
"""

from __future__ import annotations

import datetime as dt
import re
import statistics
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.core.chart_of_accounts import LedgerType
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.name_keys import name_key
from accounting_analytics.core.periods import DAY
from accounting_analytics.reports.books.party_texts import NOT_NAMED, read_party_texts
from accounting_analytics.reports.books.payees import path_below, texts_of_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import pandas as pd

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.reports.books.book_lines import LineSource

BETWEEN_NUMBERS = ", "
SIGNS: Mapping[str, int] = {LedgerType.ASSET: 1, LedgerType.LIABILITY: -1}
"""Sign of a debit on assets and liabilities, as in statements. The own side of a ledger does not matter."""
YEAR = dt.timedelta(days=365)
LEAST_PAID = 5
"""Least number of paid items that show how long a party usually takes."""
MOST_NOT_MATCHED = 0.1
"""Ages are not known if payments without an item are more than this share of what is open."""
_OPENING = re.compile(r"\bopening\b|\bbrought forward\b", re.IGNORECASE)


class LedgerItem(NamedTuple):
    """A line entry of a receivable or payable. Positive units increase the open balance.

    `party` and `invoice` are the party and the invoice numbers that its text names. `is_paid` says whether its entry
    touches cash, `is_named` whether the text or the ledger certainly names the party, and `is_opening` whether the text
    names opening balances, so that the item is older than its entry.
    """

    id: str
    day: dt.date
    units: int
    text: str
    party: str
    invoice: str
    is_paid: bool
    is_named: bool = False
    is_opening: bool = False

    @property
    def numbers(self) -> list[str]:
        """Invoice numbers."""
        return self.invoice.split(BETWEEN_NUMBERS) if self.invoice else []


@dataclass
class OpenItem:
    """An item and its open units.

    For a payment without an item, the open units are negative: the part that no item uses.
    """

    item: LedgerItem
    open_units: int
    payments: dict[str, tuple[dt.date, int]]


class PaidItem(NamedTuple):
    """An item that payments of cash settled in whole.

    `day` is the day of the last payment, and `payment_ids` are the lines of all of them.
    """

    item: LedgerItem
    day: dt.date
    payment_ids: tuple[str, ...]

    @property
    def days(self) -> int:
        """Days from the item to its last payment."""
        return (self.day - self.item.day).days


@dataclass(frozen=True)
class DaysToPay:
    """Days that a party took to pay, in each of two years."""

    paid: tuple[PaidItem, ...]
    before: tuple[PaidItem, ...]

    @classmethod
    def as_of(cls, paid: Iterable[PaidItem], last: dt.date) -> Self:
        """Choose the items that were paid in the two years before a day.

        `paid` is ordered by day of payment.
        """
        recent = [item for item in paid if last - item.day < 2 * YEAR]
        recent.sort(key=lambda item: (item.day, item.item.day, item.item.id))
        of_year = bisect_left(recent, last - YEAR + DAY, key=lambda item: item.day)
        return cls(tuple(recent[of_year:]), tuple(recent[:of_year]))

    @cached_property
    def days(self) -> list[int]:
        """Days of each item of the year, the shortest first."""
        return sorted(item.days for item in self.paid)

    @property
    def median(self) -> float | None:
        """Median of the days, or None without items."""
        return statistics.median(self.days) if self.paid else None

    @property
    def average(self) -> float | None:
        """Mean of the days, or None without items."""
        return statistics.mean(self.days) if self.paid else None

    @property
    def last(self) -> int | None:
        """Days of the item that was paid last, or None without items."""
        return self.paid[-1].days if self.paid else None

    @property
    def change(self) -> float | None:
        """Days by which the median grew since the year before, or None."""
        if not self.paid or not self.before:
            return None
        return statistics.median(self.days) - statistics.median(item.days for item in self.before)

    @property
    def late_after(self) -> float | None:
        """Days within which 9 of 10 items were paid, or None with fewer than five items."""
        if len(self.paid) < LEAST_PAID:
            return None
        return statistics.quantiles(self.days, n=10, method="inclusive")[-1]

    def expected_days(self, age: int) -> int | None:
        """Expect how many days an open item of this age will take in all.

        This is the median of paid items that took longer, or None without such items.
        """
        longer = self.days[bisect_right(self.days, age) :]
        return longer[len(longer) // 2] if longer else None


def with_ledgers_below(names: LedgerNames, ledger_ids: Collection[str]) -> dict[str, dict[str, str]]:
    """Map each ledger to the ledgers below it. Leave out ledgers that are below another given ledger."""
    chosen = set(ledger_ids)
    return {
        ledger_id: {
            below: path_below(names, ledger_id, below) for below in sorted(names.hierarchy.with_descendants(ledger_id))
        }
        for ledger_id in ledger_ids
        if not chosen.intersection(names.hierarchy.ancestors(ledger_id))
    }


def items_of_accounts(
    lines: pd.DataFrame, source: LineSource, signs: Mapping[str, int], accounts: Mapping[str, Mapping[str, str]]
) -> dict[str, list[LedgerItem]]:
    """Read the items of each account. `signs` has the sign of a debit on each ledger."""
    paid = set(lines.loc[lines["ledger_id"].isin(source.cash), "_entry"])
    return {
        ledger_id: _read_items(lines, source.scale, below, paid, signs[ledger_id])
        for ledger_id, below in accounts.items()
    }


def signs_of_ledgers(chart: pd.DataFrame) -> dict[str, int]:
    """Map each asset and liability to the sign of a debit."""
    types = zip(chart["id"], chart["type"], strict=True)
    return {ledger_id: SIGNS[ledger_type] for ledger_id, ledger_type in types if ledger_type in SIGNS}


def _read_items(
    lines: pd.DataFrame, scale: int, below: Mapping[str, str], paid: set[str], sign: int
) -> list[LedgerItem]:
    """Read an account's lines, with names and numbers in their texts.

    On each day, lines that increase the balance are first.
    """
    rows = lines[lines["ledger_id"].isin(list(below))]
    texts = texts_of_lines(rows)
    columns = (rows["id"], rows["local_date"].dt.date, rows["signed_amount"], rows["_entry"], rows["ledger_id"])
    found = [
        LedgerItem(
            line_id,
            day,
            sign * to_minor_units(amount, scale),
            read.text,
            below[ledger_id].upper() or read.party,
            BETWEEN_NUMBERS.join(read.numbers),
            is_paid=entry in paid,
            is_named=read.is_named or bool(below[ledger_id]),
            is_opening=bool(_OPENING.search(read.text)),
        )
        for line_id, day, amount, entry, ledger_id, read in zip(*columns, read_party_texts(texts), strict=True)
    ]
    ordered = sorted(found, key=lambda item: (item.day, -item.units, item.id))
    spelling: dict[str, str] = {}
    return [item._replace(party=spelling.setdefault(name_key(item.party), item.party)) for item in ordered]


class Matching:
    """Payments of a ledger set against its items: by the numbers that they name, by exact amounts, then the oldest.

    Parameters
    ----------
    items : sequence of LedgerItem
        Lines of the ledger by day, increases of a day first.
    """

    def __init__(self, items: Sequence[LedgerItem]) -> None:
        self.entries = [OpenItem(item, item.units, {}) for item in items]
        self._payers = {item.party for item in items if item.units < 0}
        self._named = {item.party for item in items if item.is_named}
        self._by_number: dict[str, list[OpenItem]] = defaultdict(list)
        for entry in self.entries:
            for number in entry.item.numbers if entry.item.units > 0 else ():
                self._by_number[number].append(entry)
        payments = [entry for entry in self.entries if entry.item.units < 0]
        of_numbers = {payment.item.id: self._of_numbers(payment.item) for payment in payments}
        for payment in payments:
            self._settle(payment, of_numbers[payment.item.id])
        found = {line_id for line_id, items in of_numbers.items() if items}
        self._settle_exact(found)
        self._settle_by_party(found)

    def days_to_pay(self, last: dt.date) -> tuple[dict[str, DaysToPay], DaysToPay]:
        """Return the days of each party until a day, and of all.

        Opening balances have no days of their own.
        """
        paid = [
            PaidItem(entry.item, max(day for day, _ in entry.payments.values()), tuple(sorted(entry.payments)))
            for entry in self.entries
            if entry.payments and sum(units for _, units in entry.payments.values()) == entry.item.units
            if not entry.item.is_opening
        ]
        of_party: dict[str, list[PaidItem]] = defaultdict(list)
        for item in paid:
            of_party[item.item.party].append(item)
        return {party: DaysToPay.as_of(items, last) for party, items in of_party.items()}, DaysToPay.as_of(paid, last)

    def _of_numbers(self, payment: LedgerItem) -> list[OpenItem]:
        """Find items by the numbers and the party that a payment names.

        If the payment names no party with the number, items are found if only one party has the number. But a payment
        that names its own party does not find items whose text certainly names another party.
        """
        found = [self._by_number[number] for number in payment.numbers if number in self._by_number]
        own = [entry for items in found for entry in items if entry.item.party == payment.party != NOT_NAMED]
        if own or not found:
            return own
        found = [[entry for entry in items if entry.item.day <= payment.day] or items for items in found]
        parties = [{entry.item.party for entry in items} for items in found]
        of_all = set.intersection(*parties)
        is_other = payment.is_named or payment.party in self._named
        return [
            entry
            for items, of_number in zip(found, parties, strict=True)
            if len(of_all or of_number) == 1
            for entry in items
            if entry.item.party in (of_all or of_number) and not (is_other and entry.item.is_named)
        ]

    def _left(self) -> list[OpenItem]:
        """Return the entries that still have open units."""
        return [entry for entry in self.entries if entry.open_units]

    def _claims(self, payment: OpenItem, of_party: Sequence[OpenItem], found: Collection[str]) -> list[OpenItem]:
        """Find the items of a payment's party that it may settle."""
        item = payment.item
        if item.numbers and item.party == NOT_NAMED:
            return []
        return [other for other in of_party if item.id in found or not (item.numbers and other.item.numbers)]

    def _settle_exact(self, found: Collection[str]) -> None:
        """Set payments against whole items of exactly their amount, the oldest first."""
        claims: dict[str, list[OpenItem]] = defaultdict(list)
        for entry in self._left():
            of_party = claims[entry.item.party]
            if entry.item.units > 0:
                of_party.append(entry)
                continue
            known = self._claims(entry, of_party, found)
            exact = [other for other in known if other.open_units == -entry.open_units == other.item.units]
            self._settle(entry, exact[:1])
            claims[entry.item.party] = [other for other in of_party if other.open_units]

    def _settle_by_party(self, found: Collection[str]) -> None:
        """Set the rest of payments against items of their party."""
        claims: dict[str, list[OpenItem]] = defaultdict(list)
        early: dict[str, list[OpenItem]] = defaultdict(list)
        opening: list[OpenItem] = []
        for entry in self._left():
            item, of_party = entry.item, claims[entry.item.party]
            if item.units > 0:
                for payment in early[item.party]:
                    if not (payment.item.numbers and item.numbers):
                        self._settle(payment, [entry])
                of_party.append(entry)
                if item.is_opening and not item.is_named:
                    opening.append(entry)
            else:
                known = self._claims(entry, of_party, found)
                exact = [other for other in known if other.open_units == -entry.open_units]
                unpaid = [other for other in opening if other.open_units == -entry.open_units]
                unpaid = [other for other in unpaid if other.item.party not in self._payers]
                sole = unpaid if len(unpaid) == 1 and item.id not in found else []
                self._settle(entry, exact[:1] or sole or known)
                early[item.party].append(entry)
            for of_side in (claims, early):
                of_side[item.party] = [other for other in of_side[item.party] if other.open_units]

    def _settle(self, payment: OpenItem, items: Iterable[OpenItem]) -> None:
        """Set a payment against items in their order.

        When the whole payment is used, further items stay open.
        """
        for entry in items:
            units = min(-payment.open_units, entry.open_units)
            payment.open_units += units
            entry.open_units -= units
            if units and payment.item.is_paid and entry.item.day <= payment.item.day:
                entry.payments[payment.item.id] = payment.item.day, units


def why_not_known(entries: Sequence[OpenItem]) -> str:
    """Say why ages are unknown, or return "".

    They are not known if payments without an item are more than a tenth of what is open.
    """
    early = [entry.open_units for entry in entries if entry.open_units < 0]
    if -sum(early) <= MOST_NOT_MATCHED * sum(entry.open_units for entry in entries if entry.open_units > 0):
        return ""
    payments = count_of(len(early), "payment")
    return f"{payments} of {len(entries):,} entries match no item, which is more than a tenth of what is open"
