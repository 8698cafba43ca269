"""Amounts shown in thousands or millions: only the text is rounded."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.money import EXACT, format_amount

AmountsIn = Literal["k", "M"]


class AmountUnit(NamedTuple):
    """A unit of shown amounts: its name, omitted zeros, and fraction digits."""

    name: str
    zeros: int
    digits: int

    def text(self, amount: Decimal) -> str:
        """Format an exact amount in this unit, rounded half to even."""
        return format_amount(EXACT.quantize(EXACT.scaleb(amount, -self.zeros), Decimal(1).scaleb(-self.digits)))


AMOUNT_UNITS: dict[str, AmountUnit] = {"k": AmountUnit("thousands", 3, 1), "M": AmountUnit("millions", 6, 2)}
"""Units of shown amounts by letter."""


def check_amounts_in(amounts_in: object) -> AmountsIn | None:
    """Return a unit of shown amounts. Refuse anything but ``k``, ``M`` and None."""
    match amounts_in:
        case None | "k" | "M":
            return amounts_in
    raise InputError(f"amounts_in must be 'k' (thousands) or 'M' (millions), not {quote(amounts_in)}")


def unit_notes(amounts_in: AmountsIn | None) -> tuple[str, ...]:
    """Return the note on amounts in a unit, or none without a unit."""
    return (f"Amounts in {AMOUNT_UNITS[amounts_in].name}; totals are rounded by themselves.",) if amounts_in else ()


def currency_label(currency: str | None, amounts_in: AmountsIn | None) -> str:
    """Name currency and unit: ``USD thousands``, or ``amounts in thousands`` without a currency."""
    if amounts_in is None:
        return currency or ""
    name = AMOUNT_UNITS[amounts_in].name
    return f"{currency} {name}" if currency else f"amounts in {name}"
