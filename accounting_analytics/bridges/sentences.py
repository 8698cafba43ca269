"""Sentences about a bridge: one template for each cause, with amounts that were summed again from their entries."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, Protocol

from accounting_analytics.bridges.payments import (
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
from accounting_analytics.figures import checked_entries
from accounting_analytics.messages import count_of, plural
from accounting_analytics.money import format_amount, to_minor_units
from accounting_analytics.periods import day_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accounting_analytics.bridges.payments import BridgeStep, Payment
    from accounting_analytics.figures import Figure

_LISTED_DAYS = 3


def write_amount(figure: Figure, *, is_size: bool) -> str:
    """Text of the amount of a figure, or of its size where words around it say its sign."""
    exact = figure.exact() or Decimal(0)
    return format_amount(exact.copy_abs() if is_size else exact)


class AmountWriter(Protocol):
    """Writes the amount of a figure in a sentence."""

    def __call__(self, figure: Figure, *, is_size: bool) -> str:
        """Text of the amount, or of its size."""


class BridgeWords(NamedTuple):
    """What the sentences of a bridge name.

    Attributes
    ----------
    total : str
        The bridged total.
    before, after : str
        Its two sides.
    unit : str
        What there is more or less of: cash, or net income.
    scale : int
        Fraction digits of the amounts.
    write : AmountWriter
        Writes the amounts.
    """

    total: str
    before: str
    after: str
    unit: str
    scale: int
    write: AmountWriter = write_amount

    @property
    def phrase_before(self) -> str:
        """Where the side before is."""
        return f"in {self.before}"

    @property
    def phrase_after(self) -> str:
        """Where the side after is."""
        return f"in {self.after}"


class StepFigures(NamedTuple):
    """Figures of a step: its change, and its two sides."""

    change: Figure
    before: Figure
    after: Figure


def total_sentence(words: BridgeWords, figures: StepFigures) -> str:
    """Sentence about the whole change."""
    before, after = (_amount(one, words) for one in (figures.before, figures.after))
    change = figures.change.exact()
    text = f"{_size(figures.change, words)} {'more' if change and change > 0 else 'less'}" if change else "no change"
    return f"{words.total}: {after} {words.phrase_after} against {before} {words.phrase_before}, {text}."


def step_sentence(step: BridgeStep, words: BridgeWords, figures: StepFigures) -> str:
    """Sentence about one step."""
    subject = f"{step.category}, {step.payee}" if step.payee else step.category
    change = f"{_size(figures.change, words)} {_direction(step, words)}"
    return f"{subject}: {change} than {words.phrase_before}: {_clause(step, words, figures)}."


def others_sentence(count: int, words: BridgeWords, change: Figure) -> str:
    """Sentence about the changes without a sentence of their own."""
    if not change.exact():
        return f"The other {count:,} changes cancel each other."
    noun = count_of(count, "other change makes", "other changes together make")
    return f"{noun[:1].upper()}{noun[1:]} {_size(change, words)} {_more(change)} {words.unit}."


def _clause(step: BridgeStep, words: BridgeWords, figures: StepFigures) -> str:
    """Why, without its end."""
    cause, before, after = step.cause, words.phrase_before, words.phrase_after
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
    write = _size if step.before_units * step.after_units > 0 else _amount
    sums = f"{write(figures.after, words)} instead of {write(figures.before, words)}"
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


def _amount(figure: Figure, words: BridgeWords) -> str:
    """Amount of a figure, as its entries sum to now."""
    return words.write(_checked(figure, words), is_size=False)


def _size(figure: Figure, words: BridgeWords) -> str:
    """Amount of a figure without its sign, which the words around it say."""
    return words.write(_checked(figure, words), is_size=True)


def _checked(figure: Figure, words: BridgeWords) -> Figure:
    """Figure whose entries were summed again."""
    exact = figure.exact() or Decimal(0)
    checked_entries(figure.entries, to_minor_units(exact, words.scale), words.scale)
    return figure


def _days(payments: Sequence[Payment]) -> str:
    """Days of payments: each of a few, else the first and the last."""
    days = sorted({one.date for one in payments})
    texts = [day_label(one) for one in days]
    if len(days) == 1:
        return f"on {texts[0]}"
    if len(days) > _LISTED_DAYS:
        return f"from {texts[0]} to {texts[-1]}"
    return f"on {', '.join(texts[:-1])} and {texts[-1]}"
