"""What should be looked at before a month is closed: how transactions differ from the past of their counterparty.

Each rule reads rows of transactions in the order of their days and yields what differs. It says nothing where the past
is not clear.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import day_label

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LAST = 20
"""So many of the latest transactions of a counterparty are its past."""
LEAST_PAST = 5
ONE_OTHER = 8
"""From so many on, one of them may have another category; of twenty, two may."""
RARE = 0.03
"""Share of all its past above which a category is one of its own."""
FEW_DAYS = 3
"""The same payment twice is so many days apart at most."""
HABIT = 0.03
"""Share of payments with the same distance above which it is a habit."""
MOST_RECEIPTS = 8
"""Receipts a month above which equal ones are none of the same."""
LEAST_AMOUNTS = 10
FAR = 3
"""How many times the largest of the past an amount must be."""
_DAYS_OF_MONTH = 30.44


class Coded(NamedTuple):
    """A transaction with its category, as the rules read it; `place` finds its row."""

    place: int
    day: dt.date
    counterparty: str
    direction: str
    account: str
    category: str
    units: int


class CodingFinding(NamedTuple):
    """What differs: the transaction, why, what was expected instead, and the transactions that it rests on."""

    one: Coded
    kind: str
    why: str
    expected: str = ""
    others: tuple[Coded, ...] = ()


class Pasts(NamedTuple):
    """How many transactions had a clear past, and how many of these followed it."""

    clear: int
    followed: int

    @property
    def share(self) -> float | None:
        """Share that followed; None without any."""
        return self.followed / self.clear if self.clear else None


def by_counterparty(rows: Iterable[Coded]) -> dict[tuple[str, str], list[Coded]]:
    """Transactions of each counterparty and direction in the order of their days; without a counterparty none."""
    found: dict[tuple[str, str], list[Coded]] = defaultdict(list)
    for one in sorted(rows, key=lambda row: (row.day, row.place)):
        if one.counterparty:
            found[one.counterparty, one.direction].append(one)
    return found


def other_categories(
    parties: Mapping[tuple[str, str], Sequence[Coded]], names: Mapping[str, str]
) -> tuple[list[CodingFinding], Pasts]:
    """Find transactions of another category than the past of their counterparty has, and say how clear pasts held."""
    found, clear, followed = [], 0, 0
    for rows in parties.values():
        past: deque[str] = deque(maxlen=LAST)
        every: Counter[str] = Counter()
        for number, one in enumerate(rows):
            usual, count = Counter(past).most_common(1)[0] if past else ("", 0)
            others = len(past) - count
            if len(past) >= LEAST_PAST and others <= max(len(past) // 10, int(len(past) >= ONE_OTHER)):
                clear += 1
                followed += one.category == usual
                if one.category != usual and every[one.category] <= RARE * every.total():
                    later = sum(other.category == one.category for other in rows[number + 1 :])
                    more = f", and {later:,} later like this one" if later else ""
                    why = f"{names.get(usual, usual)} in {count} of its last {len(past)}{more}"
                    found.append(CodingFinding(one, "category", why, usual))
            past.append(one.category)
            every[one.category] += 1
    return found, Pasts(clear, followed)


def paid_twice(parties: Mapping[tuple[str, str], Sequence[Coded]]) -> Iterator[CodingFinding]:
    """Find payments that are likely the same one: account, amount and counterparty, few days apart, and no habit."""
    for (_, direction), rows in parties.items():
        months = max((rows[-1].day - rows[0].day).days / _DAYS_OF_MONTH, 1)
        if direction == "inflow" and len(rows) / months > MOST_RECEIPTS:
            continue
        pairs = list(_equal_pairs(rows))
        distances = Counter((second.day - first.day).days for first, second in pairs)
        for first, second in pairs:
            days = (second.day - first.day).days
            if days <= FEW_DAYS and distances[days] - 1 <= HABIT * len(rows):
                when = (
                    "on the same day"
                    if days == 0
                    else f"{count_of(days, 'day', 'days')} after that of {day_label(first.day)}"
                )
                yield CodingFinding(second, "twice", f"the same amount and account {when}", others=(first,))


def _equal_pairs(rows: Iterable[Coded]) -> Iterator[tuple[Coded, Coded]]:
    """Yield each payment with the one before of the same account and amount."""
    latest: dict[tuple[str, int], Coded] = {}
    for one in rows:
        before = latest.get((one.account, one.units))
        if before is not None and one.units:
            yield before, one
        latest[one.account, one.units] = one


def far_amounts(parties: Mapping[tuple[str, str], Sequence[Coded]], scale: int) -> Iterator[CodingFinding]:
    """Find amounts that are more than three times the largest of at least ten before."""
    for rows in parties.values():
        largest = 0
        for number, one in enumerate(rows):
            size = abs(one.units)
            if number >= LEAST_AMOUNTS and size > FAR * largest:
                most = format_amount(from_minor_units(largest, scale))
                yield CodingFinding(one, "amount", f"at most {most} in {number} before", others=())
            largest = max(largest, size)
