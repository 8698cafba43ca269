"""Sentences about a bridge: one template for each cause, whose amounts are figures."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.messages import count_of, plural
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.periods import day_label
from accounting_analytics.reports.bridge_payments import (
    EARLIER,
    FEWER,
    GONE,
    LARGER,
    LATER,
    MORE,
    NEW,
    NO_PAYEE,
    SMALLER,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accounting_analytics.reports.bridge_payments import BridgeStep, Payment
    from accounting_analytics.reports.figures import Figure

    AmountWriter = Callable[..., str]

_LISTED_DAYS = 3


def write_amount(figure: Figure, *, is_size: bool) -> str:
    """Text of the amount of a figure, or of its size where words around it say its sign."""
    exact = figure.exact() or Decimal(0)
    return format_amount(exact.copy_abs() if is_size else exact)


class BridgeWords(NamedTuple):
    """What the sentences of a bridge name: the total, its sides (``in Feb 2025``), and what there is more or less of.

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
        """Amount of a figure without its sign, which the words around it say."""
        return self.write(figure, is_size=True)


class StepFigures(NamedTuple):
    """Figures of a step: its two sides, and its change."""

    before: Figure
    after: Figure
    change: Figure


def total_sentence(words: BridgeWords, figures: StepFigures) -> str:
    """Sentence about the whole change."""
    before, after, change = words.amount(figures.before), words.amount(figures.after), figures.change
    text = f"{words.size(change)} {_more(change)}" if change.exact() else "no change"
    return f"{words.total}: {after} {words.after} against {before} {words.before}, {text}."


def step_sentence(step: BridgeStep, words: BridgeWords, figures: StepFigures) -> str:
    """Sentence about one step."""
    subject = f"{step.category}, {step.payee}" if step.payee else step.category
    change = f"{words.size(figures.change)} {_direction(step, words)}"
    return f"{subject}: {change} than {words.before}: {_clause(step, words, figures)}."


def others_sentence(count: int, words: BridgeWords, change: Figure) -> str:
    """Sentence about the changes without a sentence of their own."""
    if not change.exact():
        return f"The other {count:,} changes cancel each other."
    noun = count_of(count, "other change makes", "other changes together make")
    return f"{noun[:1].upper()}{noun[1:]} {words.size(change)} {_more(change)} {words.unit}."


def _clause(step: BridgeStep, words: BridgeWords, figures: StepFigures) -> str:
    """Why, without its end."""
    cause, before, after = step.cause, words.before, words.after
    noun = "payment" if step.is_expense is None else "entry"
    old, new = len(step.before), len(step.after)
    if cause.name == NEW:
        return f"{NEW} (none {before}), {count_of(new, noun)} {_days(step.after)}"
    if cause.name == GONE:
        return f"{GONE}: none {after} after {count_of(old, noun)} {_days(step.before)}"
    if cause.name in {EARLIER, LATER}:
        there = [
            f"{count_of(count, noun) if count else 'none'} {side}" for count, side in ((old, before), (new, after))
        ]
        return f"made {cause.name}, {_days(cause.payments)}, so that there are {' and '.join(there)}"
    if cause.name in {MORE, FEWER}:
        unmatched = "additional" if cause.name == MORE else "no counterpart to that"
        return f"{count_of(new, noun)} instead of {old:,}" + (
            f", {unmatched} {_days(cause.payments)}" if cause.payments else ""
        )
    if cause.name == NO_PAYEE:
        return f"{count_of(new, noun)} without text instead of {old:,}"
    return _amounts_clause(step, words, figures, noun)


def _amounts_clause(step: BridgeStep, words: BridgeWords, figures: StepFigures, noun: str) -> str:
    """Why as many payments have another sum."""
    cause, count = step.cause, len(step.after)
    write = words.size if step.before_units * step.after_units > 0 else words.amount
    sums = f"{write(figures.after)} instead of {write(figures.before)}"
    if len(cause.payments) == 1 and cause.name in {LARGER, SMALLER}:
        size = cause.name.partition(" ")[0]
        of_all = f" in {count:,} {plural(noun)}" if count > 1 else ""
        return f"a {size} {noun} {_days(cause.payments)}, {sums}{of_all}"
    return f"{cause.name.replace('payments', plural(noun))}, {sums} in {count_of(count, noun)}"


def _direction(step: BridgeStep, words: BridgeWords) -> str:
    """Say what there is more or less of, in words that need no sign."""
    is_more = step.units > 0
    if step.is_expense is not None:
        return f"{'more' if is_more != step.is_expense else 'less'} {'expense' if step.is_expense else 'revenue'}"
    if step.is_deduction:
        return f"{'more' if is_more else 'less'} {words.unit}"
    if step.before_units <= 0 and step.after_units <= 0:
        return "less paid" if is_more else "more paid"
    if step.before_units >= 0 and step.after_units >= 0:
        return "more received" if is_more else "less received"
    return f"{'more' if is_more else 'less'} {words.unit}"


def _more(figure: Figure) -> str:
    exact = figure.exact()
    return "more" if exact is not None and exact > 0 else "less"


def _days(payments: Sequence[Payment]) -> str:
    """Days of payments: each of a few, else the first and the last."""
    days = sorted({one.date for one in payments})
    texts = [day_label(one) for one in days]
    if len(days) == 1:
        return f"on {texts[0]}"
    if len(days) > _LISTED_DAYS:
        return f"from {texts[0]} to {texts[-1]}"
    return f"on {', '.join(texts[:-1])} and {texts[-1]}"
