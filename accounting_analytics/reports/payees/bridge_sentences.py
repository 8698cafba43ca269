"""Sentences about a bridge: one template for each cause, whose amounts are figures."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.messages import count_of, plural
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.periods import day_label
from accounting_analytics.reports.payees.bridge_payments import (
    AGAIN,
    EARLIER,
    FEWER,
    GONE,
    LARGER,
    LATER,
    MISSED,
    MORE,
    NEW,
    NEW_CATEGORY,
    NEW_CUSTOMER,
    NO_PAYEE,
    NO_PAYMENT,
    NOT_DUE,
    SMALLER,
    TRANSFERRED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.payees.bridge_payments import BridgeStep, Payment

    AmountWriter = Callable[..., str]

_LISTED_DAYS = 3


def write_amount(figure: Figure, *, is_size: bool) -> str:
    """Write a figure's amount, or its size where words say its sign."""
    exact = figure.exact()
    amount = Decimal(0) if exact is None else exact
    return format_amount(amount.copy_abs() if is_size else amount)


class BridgeWords(NamedTuple):
    """Words that the sentences of a bridge use: the total, its sides, and what its steps are.

    `write` writes the amount of a figure, or its size.
    """

    total: str
    before: str
    after: str
    unit: str
    write: AmountWriter

    def amount(self, figure: Figure) -> str:
        """Amount of a figure."""
        return self.write(figure, is_size=False)

    def size(self, figure: Figure) -> str:
        """Write a figure's amount without its sign, which the words say."""
        return self.write(figure, is_size=True)


class StepSides(NamedTuple):
    """Figures of a step: two sides, their change, and the last payment before them."""

    before: Figure
    after: Figure
    change: Figure
    last: Figure | None = None


def total_sentence(words: BridgeWords, figures: StepSides) -> str:
    """Write the sentence about the whole change."""
    before, after, change = words.amount(figures.before), words.amount(figures.after), figures.change
    text = f"{words.size(change)} {_more(change)}" if change.exact() else "no change"
    return f"{words.total}: {after} {words.after} against {before} {words.before}, {text}."


def step_sentence(step: BridgeStep, words: BridgeWords, figures: StepSides) -> str:
    """Write the sentence about one step."""
    subject = f"{step.category}, {step.counterparty}" if step.counterparty else step.category
    change = f"{words.size(figures.change)} {_direction(step, words)}"
    return f"{subject}: {change} than {words.before}: {_clause(step, words, figures)}."


def others_sentence(count: int, words: BridgeWords, change: Figure) -> str:
    """Write the sentence about all changes that have no own sentence."""
    if not change.exact():
        return f"The other {count:,} changes cancel each other."
    noun = count_of(count, "other change makes", "other changes together make")
    return f"{noun[:1].upper()}{noun[1:]} {words.size(change)} {_more(change)} {words.unit}."


def _clause(step: BridgeStep, words: BridgeWords, figures: StepSides) -> str:
    """Write the reason of a step, without its end."""
    cause, before, after = step.cause, words.before, words.after
    noun = "payment" if step.kind == "cash" else "entry"
    old, new = len(step.before), len(step.after)
    if cause.name in {EARLIER, LATER}:
        there = [
            f"{count_of(count, noun) if count else 'none'} {side}" for count, side in ((old, before), (new, after))
        ]
        return f"made {cause.name}, {_days(cause.payments)}, so that there are {' and '.join(there)}"
    if cause.name in {MORE, FEWER}:
        parts = [f"{count_of(new, noun)} instead of {old:,}", _rhythm(step), _why_of_number(step)]
        return ", ".join(filter(None, parts))
    if cause.name == NO_PAYEE:
        return f"{count_of(new, noun)} without text instead of {old:,}"
    if cause.name == TRANSFERRED:
        sums = f"{words.amount(figures.after)} instead of {words.amount(figures.before)}"
        return f"transfers between own accounts whose two sides do not cancel, {sums}"
    if old and new:
        return _amounts_clause(step, words, figures, noun)
    return _one_sided_clause(step, words, figures, count_of(old or new, noun))


def _why_of_number(step: BridgeStep) -> str:
    """Name the additional payments that make most of the change.

    Otherwise, compare average amounts.
    """
    payments = step.cause.payments
    if payments and 2 * abs(sum(payment.units for payment in payments)) >= abs(step.units):
        unmatched = "additional" if step.cause.name == MORE else "no counterpart to that"
        return f"{unmatched} {_days(payments)}"
    before, after = (abs(step.before_units) * len(step.after), abs(step.after_units) * len(step.before))
    return "" if before == after else f"{'larger' if after > before else 'smaller'} ones on average"


def _one_sided_clause(step: BridgeStep, words: BridgeWords, figures: StepSides, count: str) -> str:
    """Say why a period has no payments."""
    cause, other, rhythm = step.cause, words.after if step.before else words.before, _rhythm(step)
    paid = f"{count} {_days(step.before or step.after)}"
    day, last = (day_label(day) if day else "" for day in (cause.day, cause.last and cause.last.date))
    amount = f" {words.size(figures.last)}" if figures.last else ""
    return {
        NEW: f"{NEW} (none since {day}), {paid}",
        NEW_CUSTOMER: f"{NEW_CUSTOMER} (none since {day}), {paid}",
        NEW_CATEGORY: f"new in this category (none since {day}), {paid}",
        AGAIN: f"{rhythm or 'paid before'} (last{amount} on {last}), {paid} and none {other}",
        GONE: f"{GONE}: {rhythm}, none {other} after {paid}",
        MISSED: f"{rhythm} and due about {day}, none {other} after {paid}",
        NOT_DUE: f"{rhythm} (next about {day}), none {other} after {paid}",
        NO_PAYMENT: f"none {other} after {paid}{f', the next on {day}' if day else ''}",
    }[cause.name]


def _rhythm(step: BridgeStep) -> str:
    """Write the rhythm of a counterparty's payments, or "" without a rhythm."""
    word = "booked" if step.kind != "cash" else "received" if step.before_units + step.after_units > 0 else "paid"
    return f"{word} {step.cause.rhythm}" if step.cause.rhythm else ""


def _amounts_clause(step: BridgeStep, words: BridgeWords, figures: StepSides, noun: str) -> str:
    """Explain a changed sum that the number of payments does not explain."""
    cause, count = step.cause, len(step.after)
    write = words.size if step.before_units * step.after_units > 0 else words.amount
    sums = f"{write(figures.after)} instead of {write(figures.before)}"
    if len(cause.payments) == 1 and cause.name in {LARGER, SMALLER}:
        size = cause.name.partition(" ")[0]
        of_all = f" in {count:,} {plural(noun)}" if count > 1 else ""
        return f"a {size} {noun} {_days(cause.payments)}, {sums}{of_all}"
    number = count_of(count, noun)
    if count != len(step.before):
        number += f" instead of {len(step.before):,}"
    return f"{cause.name.replace('payments', plural(noun))}, {sums} in {number}"


def _direction(step: BridgeStep, words: BridgeWords) -> str:
    """Write the direction of a change in words that need no sign."""
    is_more = step.units > 0
    if step.kind in {"expense", "revenue"}:
        return f"{'more' if is_more == (step.kind == 'revenue') else 'less'} {step.kind}"
    if step.counterparty and step.kind == "cash":
        if step.before_units <= 0 and step.after_units <= 0:
            return "less paid" if is_more else "more paid"
        if step.before_units >= 0 and step.after_units >= 0:
            return "more received" if is_more else "less received"
    return f"{'more' if is_more else 'less'} {words.unit}"


def _more(figure: Figure) -> str:
    exact = figure.exact()
    return "more" if exact is not None and exact > 0 else "less"


def _days(payments: Sequence[Payment]) -> str:
    """Write the days of payments.

    Of many days, write only the first and the last.
    """
    days = sorted({payment.date for payment in payments})
    texts = [day_label(day) for day in days]
    if len(days) == 1:
        return f"on {texts[0]}"
    if len(days) > _LISTED_DAYS:
        return f"from {texts[0]} to {texts[-1]}"
    return f"on {', '.join(texts[:-1])} and {texts[-1]}"
