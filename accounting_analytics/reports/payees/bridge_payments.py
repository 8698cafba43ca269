"""Payments behind a bridge: lines by category and counterparty, and the cause of each difference."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np

from accounting_analytics.core.column_conversion import exact_amounts
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.periods import DAY
from accounting_analytics.reports.books.payees import entry_ids
from accounting_analytics.reports.payees.rhythms import find_rhythm

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import pandas as pd

    from accounting_analytics.core.periods import Period

    StepKey = tuple[str, str]
    StepKind = Literal["cash", "expense", "revenue", "net income"]


class PaidLines(NamedTuple):
    """Lines of a total, with exact units, category and counterparty of each."""

    frame: pd.DataFrame
    units: list[int]
    keys: list[StepKey]

    @classmethod
    def of_entries(
        cls, entries: pd.DataFrame, payees: Mapping[str, str], transfers: Collection[str], scale: int
    ) -> Self:
        """Read lines with their ``figure_amount``. Transfers have no counterparty."""
        exact = exact_amounts(entries["figure_amount"], scale, entries["id"]).column
        of_lines = zip(entry_ids(entries), entries["ledger_id"], strict=True)
        keys = [(ledger_id, "" if ledger_id in transfers else payees.get(entry, "")) for entry, ledger_id in of_lines]
        return cls(entries, [to_minor_units(amount, scale) for amount in exact], keys)

    def joined(self, categories: Mapping[StepKey, Sequence[str]]) -> PaidLines:
        """Replace each category by the first of the categories that share a step."""
        keys = [
            (categories[ledger_id, counterparty][0], counterparty)
            if (ledger_id, counterparty) in categories
            else (ledger_id, counterparty)
            for ledger_id, counterparty in self.keys
        ]
        return self._replace(keys=keys)

    def payments(self) -> dict[StepKey, list[Payment]]:
        """Sum the lines of each journal entry as payments, by category and counterparty."""
        found: dict[tuple[StepKey, str], Payment] = {}
        days = self.frame["local_date"].dt.date
        for key, entry_id, day, units in zip(self.keys, entry_ids(self.frame), days, self.units, strict=True):
            payment = found.get((key, entry_id), Payment(entry_id, day, 0))
            found[key, entry_id] = Payment(entry_id, min(payment.date, day), payment.units + units)
        payments: dict[StepKey, list[Payment]] = {}
        for (key, _), payment in sorted(
            found.items(), key=lambda item: (item[1].date, item[1].units, item[1].entry_id)
        ):
            payments.setdefault(key, []).append(payment)
        return payments

    def of_payment(self, key: StepKey, payment: Payment) -> pd.DataFrame:
        """Return the lines of a payment."""
        keys = zip(self.keys, entry_ids(self.frame), strict=True)
        return self.frame[np.array([of == (key, payment.entry_id) for of in keys], dtype=bool)]


def categories_of_steps(sides: Iterable[PaidLines]) -> dict[StepKey, tuple[str, ...]]:
    """Join categories that a counterparty's journal entries share, the largest first."""
    sizes: Counter[StepKey] = Counter()
    of_entry: defaultdict[str, dict[StepKey, None]] = defaultdict(dict)
    for side in sides:
        for key, entry_id, units in zip(side.keys, entry_ids(side.frame), side.units, strict=True):
            sizes[key] += abs(units)
            if key[1]:
                of_entry[entry_id][key] = None
    joined = {key: {key} for key in sizes}
    for first, *others in of_entry.values():
        for other in others:
            if joined[other] is not joined[first]:
                joined[first] |= joined[other]
                joined |= dict.fromkeys(joined[other], joined[first])
    return {
        key: tuple(ledger_id for ledger_id, _ in sorted(of, key=lambda key: (-sizes[key], key)))
        for key, of in joined.items()
    }


NEW, NEW_CUSTOMER, NEW_CATEGORY, AGAIN = "new counterparty", "new customer", "new category", "paid before"
GONE, MISSED, NOT_DUE, NO_PAYMENT = "gone", "missed", "not due", "no payment"
EARLIER, LATER = "earlier", "later"
MORE, FEWER, LARGER, SMALLER, OTHER_AMOUNTS = (
    "more payments",
    "fewer payments",
    "larger payments",
    "smaller payments",
    "other amounts",
)
NO_PAYEE, TRANSFERRED = "other", "transfers"
SMALLER_CHANGES = "smaller changes"
_SAME_DAYS = 3
"""Days by which gaps between regular payments may differ, because of weekends and short months."""
_MIN_SERIES = 3
"""Least number of payments whose gaps show whether they are regular."""
_MAX_CELLS = 40_000
"""Most pairs of payments that are compared to find additional payments."""


class Payment(NamedTuple):
    """The amount that a journal entry moved in a category, and its first day."""

    entry_id: str
    date: dt.date
    units: int


class Cause(NamedTuple):
    """The cause of a step, and its payments, as far as they are certain.

    Attributes
    ----------
    name : str
        The cause.
    payments : tuple of Payment
        The payments that it is about.
    rhythm : str
        How often there is a payment, where that is known.
    last : Payment, optional
        Of a counterparty that was paid before, the last payment before those of the period.
    day : date, optional
        Of a new counterparty the first loaded day, else the day of the next payment: expected, or after the later
        period.
    """

    name: str
    payments: tuple[Payment, ...] = ()
    rhythm: str = ""
    last: Payment | None = None
    day: dt.date | None = None


class History(NamedTuple):
    """Payments of all loaded days.

    Attributes
    ----------
    since : date
        The first loaded day.
    lines : PaidLines
        The lines of all loaded days.
    payments : mapping
        Their payments by step, oldest first.
    first_days : mapping
        First day of each counterparty, in any category.
    """

    since: dt.date
    lines: PaidLines
    payments: Mapping[StepKey, Sequence[Payment]]
    first_days: Mapping[str, dt.date]

    @classmethod
    def of_lines(cls, since: dt.date, lines: PaidLines) -> Self:
        """Find the payments and the first day of each counterparty."""
        payments = lines.payments()
        first_days: dict[str, dt.date] = {}
        for (_, counterparty), (first, *_) in payments.items():
            first_days[counterparty] = min(first_days.get(counterparty, first.date), first.date)
        return cls(since, lines, payments, first_days)


class PeriodEdge(NamedTuple):
    """The edge that two periods share, with the days beside it that count.

    Attributes
    ----------
    before, after : Period
        The two periods.
    days : int
        Days on either side of the edge, at most a quarter of a period; 0 where the periods do not follow each other.
    """

    before: Period
    after: Period
    days: int

    @classmethod
    def between(cls, before: Period, after: Period, days: int) -> PeriodEdge:
        """Find the edge of two periods. Periods with days between them have no edge."""
        earlier, later = sorted((before, after), key=lambda period: period.start_date)
        follows = earlier.end_date + DAY == later.start_date
        return cls(before, after, min(days, before.days // 4, after.days // 4) if follows else 0)

    @property
    def later(self) -> Period:
        """The later one of the periods."""
        return max(self.before, self.after, key=lambda period: period.start_date)

    @property
    def first_day(self) -> dt.date:
        """First day of the earlier period."""
        return min(self.before.start_date, self.after.start_date)


def find_cause(
    key: StepKey,
    before: Sequence[Payment],
    after: Sequence[Payment],
    edge: PeriodEdge,
    find_history: Callable[[], History],
) -> Cause:
    """Decide the first cause that fits the payments of a counterparty."""

    def was_paid_earlier() -> bool:
        return any(payment.date < edge.first_day for payment in find_history().payments.get(key, ()))

    if moved := _moved_payment(before, after, edge, was_paid_earlier):
        return moved
    if not before or not after:
        is_later = (edge.before if before else edge.after) is edge.later
        decide = _only_later if is_later else _only_earlier
        return decide(key, tuple(before or after), edge.later, find_history())
    old, new = (sum(payment.units for payment in payments) for payments in (before, after))
    is_more = abs(new) > abs(old)
    if len(after) == len(before) or old * new < 0 or (len(after) > len(before)) != is_more:
        return _other_amounts(before, after)
    found = find_rhythm(_days_like(after, find_history().payments.get(key, ())))
    rhythm = found.name if found else ""
    if is_more:
        return Cause(MORE, _additional(after, before, edge.after, edge.before), rhythm)
    return Cause(FEWER, _additional(before, after, edge.before, edge.after), rhythm)


def _is_received(payments: Sequence[Payment]) -> bool:
    return sum(payment.units for payment in payments) > 0


def _days_like(payments: Sequence[Payment], past: Iterable[Payment]) -> list[dt.date]:
    """List days of past payments in the direction of `payments`.

    Each day is listed once.
    """
    is_received = _is_received(payments)
    return sorted({payment.date for payment in past if (payment.units > 0) == is_received})


def _only_later(key: StepKey, payments: tuple[Payment, ...], later: Period, history: History) -> Cause:
    """Explain payments in the later period only: new, or paid before.

    A counterparty is new, or new in the category.
    """
    of_step = history.payments.get(key, payments)
    past = [payment for payment in of_step if payment.date < later.start_date]
    if not past:
        if history.first_days.get(key[1], later.start_date) < later.start_date:
            return Cause(NEW_CATEGORY, payments, day=history.since)
        return Cause(NEW_CUSTOMER if _is_received(payments) else NEW, payments, day=history.since)
    found = find_rhythm(_days_like(payments, (payment for payment in of_step if payment.date <= later.end_date)))
    return Cause(AGAIN, payments, found.name if found else "", past[-1])


def _only_earlier(key: StepKey, payments: tuple[Payment, ...], later: Period, history: History) -> Cause:
    """Explain payments in the earlier period only: gone, missed or not due.

    They are "missed" if the rhythm expects one payment in the later period, and "gone" if it expects two.
    """
    of_step = history.payments.get(key, payments)
    following = next((payment.date for payment in of_step if payment.date > later.end_date), None)
    found = find_rhythm(_days_like(payments, (payment for payment in of_step if payment.date < later.start_date)))
    if found and found.overdue_after > later.end_date:
        return Cause(NOT_DUE, payments, found.name, day=found.due)
    if found and not following:
        return Cause(GONE if found.following <= later.end_date else MISSED, payments, found.name, day=found.due)
    return Cause(NO_PAYMENT, payments, day=following)


def _other_amounts(before: Sequence[Payment], after: Sequence[Payment]) -> Cause:
    """Explain payments whose sum differs.

    If only one payment changed, name the payment.
    """
    old, new = (sum(payment.units for payment in payments) for payments in (before, after))
    pairs = zip(before, after, strict=True) if len(before) == len(after) else ()
    changed = tuple(this for earlier, this in pairs if earlier.units != this.units)
    name = LARGER if abs(new) > abs(old) else SMALLER
    if old * new < 0:
        name = OTHER_AMOUNTS
    return Cause(name, changed if len(changed) == 1 else ())


def _moved_payment(
    before: Sequence[Payment], after: Sequence[Payment], edge: PeriodEdge, was_paid_earlier: Callable[[], bool]
) -> Cause | None:
    """Find the payment that moved across the edge of two periods.

    Moved back, both periods have the same amounts. The payment is within `edge.days` of the edge, and a payment of its
    amount is as near to the other end of its period.
    """
    if not edge.days or abs(len(before) - len(after)) != 2:  # noqa: PLR2004 (one payment more, the other less)
        return None
    of_before = len(before) > len(after)
    many, few, period, other = (
        (before, after, edge.before, edge.after) if of_before else (after, before, edge.after, edge.before)
    )
    is_early = period.start_date < other.start_date
    if not few and not is_early and not was_paid_earlier():
        return None  # the payment may also be of a new counterparty
    near = dt.timedelta(days=edge.days)
    at_start = [payment for payment in many if payment.date - period.start_date < near]
    at_end = [payment for payment in many if period.end_date - payment.date < near]
    close, far = (at_end, at_start) if is_early else (at_start, at_end)
    amounts = Counter(payment.units for payment in many)
    others = Counter(payment.units for payment in few)
    found = [
        payment
        for payment in close
        if any(twin is not payment and twin.units == payment.units for twin in far)
        and amounts - Counter([payment.units]) == others + Counter([payment.units])
    ]
    return Cause(EARLIER if is_early else LATER, (found[0],)) if len(found) == 1 else None


def _additional(many: Sequence[Payment], few: Sequence[Payment], period: Period, other: Period) -> tuple[Payment, ...]:
    """Find payments without a counterpart in the other period, if certain.

    They are certain if the remaining payments have the same amounts in both periods, if the payments of the other
    period are at regular gaps and at least as many as show that, or if all payments of both periods are.
    """
    if len(many) * len(few) > _MAX_CELLS or len(many) > 2 * len(few):
        return ()
    places = [(payment.date - other.start_date).days for payment in few]
    days = [(payment.date - period.start_date).days for payment in many]
    amounts, other_amounts = [payment.units for payment in many], [payment.units for payment in few]
    first = _unmatched(days, places, amounts, other_amounts)
    last = _unmatched(
        [-day for day in reversed(days)], [-place for place in reversed(places)], amounts[::-1], other_amounts[::-1]
    )
    if (
        first is None
        or last is None
        or {days[place] for place in first} != {days[len(days) - 1 - place] for place in last}
    ):
        return ()
    others = [amount for position, amount in enumerate(amounts) if position not in first]
    of_both = sorted(payment.date.toordinal() for payment in (*many, *few))
    is_series = len(few) >= _MIN_SERIES and _are_regular(places)
    if others == other_amounts or is_series or _are_regular(of_both):
        return tuple(many[place] for place in first)
    return ()


def _are_regular(days: Sequence[int]) -> bool:
    """Return whether gaps between days are equal, up to a few days."""
    gaps = [later - earlier for earlier, later in pairwise(days)]
    return max(gaps) - min(gaps) <= _SAME_DAYS


def _unmatched(
    days: Sequence[int], places: Sequence[int], amounts: Sequence[int], other_amounts: Sequence[int]
) -> list[int] | None:
    """Return the positions of days that have no matching place.

    Places are matched to days in their order. Together the matched days are as near as possible. The result is None if
    one of them is too far from its place.
    """
    spare = len(days) - len(places)
    best: list[list[tuple[int, int]]] = [[(0, 0)] * (spare + 1)]
    for row, place in enumerate(places):
        costs: list[tuple[int, int]] = []
        for skipped in range(spare + 1):
            position = row + skipped
            above = best[-1][skipped]
            cost = (above[0] + abs(days[position] - place), above[1] + (amounts[position] != other_amounts[row]))
            costs.append(min(cost, costs[-1]) if costs else cost)
        best.append(costs)
    left: list[int] = []
    skipped, row = spare, len(places)
    while row:
        while skipped and best[row][skipped] == best[row][skipped - 1]:
            skipped -= 1
            left.append(row + skipped)
        if abs(days[row - 1 + skipped] - places[row - 1]) > _SAME_DAYS:
            return None
        row -= 1
    return sorted([*left, *range(skipped)])


class BridgeStep(NamedTuple):
    """The change of a counterparty in a category, or in several that share entries.

    Attributes
    ----------
    key : str
        Ledger id and counterparty, separated by ``|``: finds the figure in the bridge.
    ledger_ids : tuple of str
        The categories, the largest first.
    category : str
        Their names, or how many they are.
    counterparty : str
        The counterparty, in upper case; empty for entries without text, and for transfers between own accounts.
    cause : Cause
        Why it changed, and the payments that it is about.
    before, after : tuple of Payment
        The payments of each side.
    kind : str
        What changed: cash, or in an income statement an expense, a revenue, or both, which is net income.
    """

    key: str
    ledger_ids: tuple[str, ...]
    category: str
    counterparty: str
    cause: Cause
    before: tuple[Payment, ...]
    after: tuple[Payment, ...]
    kind: StepKind = "cash"

    @property
    def before_units(self) -> int:
        """Sum of the payments in the first period of the bridge."""
        return sum(payment.units for payment in self.before)

    @property
    def after_units(self) -> int:
        """Sum of the payments in the second period of the bridge."""
        return sum(payment.units for payment in self.after)

    @property
    def units(self) -> int:
        """The change."""
        return self.after_units - self.before_units

    @property
    def label(self) -> str:
        """The category and counterparty of the step. The step of all smaller changes says how many they are."""
        if not self.ledger_ids or self.cause.name == TRANSFERRED:
            return self.category
        return f"{self.category}: {self.counterparty or 'without text'}"
