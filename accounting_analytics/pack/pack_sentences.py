"""The sentences of page one: changes and their reasons, with amounts that are figures of the pack."""

from __future__ import annotations

import re
import secrets
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.amount_units import AMOUNT_UNITS
from accounting_analytics.core.messages import count_of, printable
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.periods import day_label
from accounting_analytics.pack.pack_table import PackTable, make_table
from accounting_analytics.pack.section_tables import BRIDGE, KEY_FIGURES, SENTENCES, bridge_key
from accounting_analytics.reports.figures.figure import KEY_SEPARATOR, NOT_KNOWN
from accounting_analytics.reports.statements.rows import OPENING_BALANCES
from accounting_analytics.reports.statements.statement_figures import sides_of

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.pack.section_tables import CashLines
    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.payees.bridge import Bridge

_STEPS = 2


class Amount(NamedTuple):
    """An amount in a sentence: a figure's text, without its sign if words say the sign."""

    table: str
    key: str
    text: str
    is_size: bool


Sentence = tuple[str | Amount, ...]


def plain(sentence: Sentence) -> str:
    """Return a sentence as plain text."""
    return "".join(part.text if isinstance(part, Amount) else part for part in sentence)


class SentenceFacts(NamedTuple):
    """Figures and lines that the sentences are about."""

    periods: PackPeriods
    key_figures: PackTable
    bridge: Bridge | None
    lowest: dt.date | None
    cash: CashLines
    uncategorized_count: int
    suspense: Figure | None
    suspense_since: dt.date | None
    undecided: Sequence[tuple[str, Figure]]
    amounts_in: AmountsIn | None = None


class SentenceWriter:
    """Writer of at most five sentences.

    Marks stand for amounts while a sentence is written. Then figures replace the marks.
    """

    def __init__(self, facts: SentenceFacts) -> None:
        self._facts = facts
        self._mark = secrets.token_hex(8)
        self._amounts: list[Amount] = []
        self._own: dict[str, Figure] = {}

    def sentences(self) -> list[Sentence]:
        """Write about cash, reasons of its change, net income, and missing categories or lowest cash."""
        bridge = self._facts.bridge
        first = self._facts.periods.first_day
        reasons = [] if bridge is None else bridge.sentences(self._write_step, since=first)[1 : 1 + _STEPS]
        found = [self._cash(), *reasons, self._income(), self._uncategorized() or self._lowest()]
        return [self._split(sentence) for sentence in found if sentence]

    def undecided(self) -> Sentence | None:
        """Write about amounts without a category if they are large compared with net income, else return None."""
        net = self._key("net_income")
        if net is None or not self._facts.undecided:
            return None
        amounts = [f"{self._write(figure, 'income', is_size=True)} {text}" for text, figure in self._facts.undecided]
        return self._split(
            f"Undecided: {' and '.join(amounts)} in {self._label()} have no category yet, and are not in the "
            f"net income of {self._write(net)}."
        )

    def table(self) -> PackTable:
        """Make the table of figures that only the sentences name."""
        return make_table(SENTENCES, "", (), ())._replace(figures=self._own)

    def _cash(self) -> str:
        change, ending = self._key("net_cash_flow"), self._key("cash_at_end")
        if change is None:
            return ""
        to = " to" if change.exact() else ":"
        level = f"{to} {self._write(ending)}" if ending else ""
        size = f" by {self._write(change, is_size=True)}" if change.exact() else ""
        text = f"Cash {_moved(change, 'rose', 'fell')}{size}{level} in {self._label()}"
        openings = self._key(OPENING_BALANCES)
        if openings is not None and openings.exact():
            text = f"{text}, besides opening balances of {self._write(openings)}"
        before = self._key("net_cash_flow", " prior")
        if before is None:
            return f"{text}."
        direction = _moved(before, "a rise of", "a fall of", "no change")
        size = f" {self._write(before, is_size=True)}" if before.exact() else ""
        return f"{text}, after {direction}{size} in {self._label(' prior')}."

    def _income(self) -> str:
        this = self._key("net_income")
        if this is None:
            return ""
        others = {suffix: self._key("net_income", suffix) for suffix in (" prior", " prior_year")}
        compared = [f"{self._write(figure)} in {self._label(suffix)}" for suffix, figure in others.items() if figure]
        against = f", against {' and '.join(compared)}" if compared else ""
        open_amount = self._key("not_categorized")
        is_open = open_amount is not None and open_amount.exact()
        left = (
            f"; not in it, because not categorized (in less out): {self._write(open_amount)}"
            if open_amount and is_open
            else ""
        )
        return f"Net income was {self._write(this)} in {self._label()}{against}{left}."

    def _uncategorized(self) -> str:
        facts, key = self._facts, self._facts.periods.key
        if not facts.uncategorized_count:
            return ""
        amounts, lines = [], facts.cash.uncategorized(key)
        for name, sign in (("inflow", 1), ("outflow", -1)):
            of_side = None if lines is None else sides_of(lines, facts.cash.source.scale)[sign]
            figure_key = f"uncategorized_{name}{KEY_SEPARATOR}{key}"
            figure = facts.cash.figure(figure_key, f"Not categorized, {name}, {self._label()}", of_side)
            self._own[figure_key] = figure
            amounts.append(self._write(figure, SENTENCES, is_size=True))
        have = count_of(facts.uncategorized_count, "transaction has", "transactions have")
        in_all = ""
        if facts.suspense is not None and facts.suspense.exact():
            days = f"since {day_label(facts.suspense_since)}" if facts.suspense_since else "since the books began"
            in_all = f"; {self._write(facts.suspense, 'balance')} are in suspense {days}"
        return f"{have} no category: {amounts[0]} in and {amounts[1]} out{in_all}."

    def _lowest(self) -> str:
        lowest = self._key("lowest_cash", " lowest")
        if lowest is None or self._facts.lowest is None:
            return ""
        return f"Cash was lowest at the end of {day_label(self._facts.lowest)}: {self._write(lowest)}."

    def _label(self, suffix: str = "") -> str:
        """Return the heading of a period."""
        return self._facts.cash.column(f"{self._facts.periods.key}{suffix}").label

    def _key(self, row: str, suffix: str = "") -> Figure | None:
        """Return a key figure, or None if it is not known."""
        figure = self._facts.key_figures.figures.get(f"{row}{KEY_SEPARATOR}{self._facts.periods.key}{suffix}")
        return None if figure is None or figure.units is None else figure

    def _write(self, figure: Figure, table: str = KEY_FIGURES, *, is_size: bool = False) -> str:
        """Return the mark of an amount. An amount in thousands or millions has the letter of its unit."""
        exact, unit = figure.exact(), self._facts.amounts_in
        if exact is None:
            text = NOT_KNOWN
        else:
            amount = exact.copy_abs() if is_size else exact
            text = f"{AMOUNT_UNITS[unit].text(amount)}{unit}" if unit else format_amount(amount)
        self._amounts.append(Amount(table, figure.key, text, is_size))
        return f"<{self._mark}:{len(self._amounts) - 1}>"

    def _write_step(self, figure: Figure, *, is_size: bool) -> str:
        """Return the mark of an amount in the bridge."""
        mark = self._write(figure, BRIDGE, is_size=is_size)
        self._amounts[-1] = self._amounts[-1]._replace(key=bridge_key(figure.key))
        return mark

    def _split(self, text: str) -> Sentence:
        """Split a text, and replace each mark by its amount."""
        parts = re.split(f"<{self._mark}:([0-9]+)>", text)
        return tuple(
            self._amounts[int(part)] if number % 2 else printable(part) for number, part in enumerate(parts) if part
        )


def _moved(figure: Figure, up: str, down: str, still: str = "did not change") -> str:
    exact = figure.exact() or Decimal(0)
    if not exact:
        return still
    return up if exact > 0 else down
