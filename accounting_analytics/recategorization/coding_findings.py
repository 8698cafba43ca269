"""Rules that find transactions unlike the past of their counterparty.

Each rule reads transactions in the order of their days, and yields the transactions that differ. If the past is not
clear, a rule yields nothing.
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
"""Number of the latest transactions of a counterparty that are its past."""
LEAST_PAST = 5
ONE_OTHER = 8
"""With this number of past transactions, one of them may have another category. With twenty, two may."""
RARE = 0.03
"""A category is unusual for a counterparty up to this share of all its earlier transactions."""
FEW_DAYS = 3
"""Most days between a payment and an equal payment that counts as paid twice."""
HABIT = 0.03
"""If more than this share of payments is repeated after a few days, that is a habit of the counterparty."""
MOST_RECEIPTS = 8
"""If a counterparty has more receipts a month than this, equal receipts are not compared."""
LEAST_AMOUNTS = 10
FAR = 3
"""An amount is far above the past if it exceeds this multiple of the largest past amount."""
_DAYS_OF_MONTH = 30.44


class CodedTransaction(NamedTuple):
    """A transaction with its category, as the rules read it. `place` is the number of its row."""

    place: int
    day: dt.date
    counterparty: str
    direction: str
    account: str
    category: str
    units: int


class CodingFinding(NamedTuple):
    """A transaction that differs: the reason, the expected category, and the transactions that it was compared with."""

    transaction: CodedTransaction
    kind: str
    why: str
    expected: str = ""
    others: tuple[CodedTransaction, ...] = ()


class Pasts(NamedTuple):
    """How many transactions had a clear past, and how many of them followed that past."""

    clear: int
    followed: int

    @property
    def share(self) -> float | None:
        """Share of transactions with a clear past that followed it, or None if there are no such transactions."""
        return self.followed / self.clear if self.clear else None


def by_counterparty(rows: Iterable[CodedTransaction]) -> dict[tuple[str, str], list[CodedTransaction]]:
    """Group transactions by counterparty, if any, and direction, ordered by day."""
    found: dict[tuple[str, str], list[CodedTransaction]] = defaultdict(list)
    for transaction in sorted(rows, key=lambda row: (row.day, row.place)):
        if transaction.counterparty:
            found[transaction.counterparty, transaction.direction].append(transaction)
    return found


def other_categories(
    parties: Mapping[tuple[str, str], Sequence[CodedTransaction]], names: Mapping[str, str]
) -> tuple[list[CodingFinding], Pasts]:
    """Find transactions whose category differs from their counterparty's past, and count the clear pasts."""
    found, clear, followed = [], 0, 0
    for rows in parties.values():
        past: deque[str] = deque(maxlen=LAST)
        every: Counter[str] = Counter()
        for number, transaction in enumerate(rows):
            usual, count = Counter(past).most_common(1)[0] if past else ("", 0)
            others = len(past) - count
            if len(past) >= LEAST_PAST and others <= max(len(past) // 10, int(len(past) >= ONE_OTHER)):
                clear += 1
                followed += transaction.category == usual
                if transaction.category != usual and every[transaction.category] <= RARE * every.total():
                    later = sum(other.category == transaction.category for other in rows[number + 1 :])
                    more = f", and {later:,} later like this one" if later else ""
                    why = f"{names.get(usual, usual)} in {count} of its last {len(past)}{more}"
                    found.append(CodingFinding(transaction, "category", why, usual))
            past.append(transaction.category)
            every[transaction.category] += 1
    return found, Pasts(clear, followed)


def paid_twice(parties: Mapping[tuple[str, str], Sequence[CodedTransaction]]) -> Iterator[CodingFinding]:
    """Find equal payments a few days apart, unless such payments are a habit of the counterparty."""
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


def _equal_pairs(rows: Iterable[CodedTransaction]) -> Iterator[tuple[CodedTransaction, CodedTransaction]]:
    """Pair each payment with the latest earlier equal payment.

    Equal payments have the same account and amount.
    """
    latest: dict[tuple[str, int], CodedTransaction] = {}
    for transaction in rows:
        before = latest.get((transaction.account, transaction.units))
        if before is not None and transaction.units:
            yield before, transaction
        latest[transaction.account, transaction.units] = transaction


def far_amounts(parties: Mapping[tuple[str, str], Sequence[CodedTransaction]], scale: int) -> Iterator[CodingFinding]:
    """Find amounts far above the largest of at least ten earlier amounts."""
    for rows in parties.values():
        largest = 0
        for number, transaction in enumerate(rows):
            size = abs(transaction.units)
            if number >= LEAST_AMOUNTS and size > FAR * largest:
                most = format_amount(from_minor_units(largest, scale))
                yield CodingFinding(transaction, "amount", f"at most {most} in {number} before", others=())
            largest = max(largest, size)
