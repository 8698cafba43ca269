"""Amounts as stored: exact, bounded, never overflowing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.errors import AmountError
from accounting_analytics.service.wire.stored_values import BASE, join_units, number_text, split_units, to_units

UNITS = st.integers(-(10**20) + 1, 10**20 - 1)


@given(UNITS)
def test_parts_are_bounded_and_join_again(units):
    """Both parts carry the sign, stay below the base, and give the amount back."""
    high, low = split_units(units)
    assert abs(high) < BASE
    assert abs(low) < BASE
    assert high * units >= 0 <= low * units
    assert join_units(high, low) == units


@given(st.lists(UNITS, max_size=30))
def test_sums_of_parts_join_to_the_sum(amounts):
    """Summing the parts and joining the sums is summing the amounts, whatever the sizes and signs."""
    parts = [split_units(units) for units in amounts]
    assert join_units(sum(high for high, _ in parts), sum(low for _, low in parts)) == sum(amounts)


@given(UNITS, st.integers(0, 10))
def test_number_text_is_the_exact_decimal(units, scale):
    """The text has the scale's digits, no exponent, no minus zero, and is the amount."""
    text = number_text(units, scale)
    assert Decimal(text) == Decimal(units).scaleb(-scale)
    assert "E" not in text.upper()
    assert len(text.partition(".")[2]) == scale
    assert text != "-0"


@pytest.mark.parametrize(
    ("amount", "scale", "said"),
    [
        ("12.345", 2, "12.345 does not fit 2 fraction digits"),
        ("1000000000000000000", 2, "this service keeps 18"),
        ("10000000000", 10, "this service keeps 10"),
        ("1E+999999", 2, "too large"),
        ("NaN", 2, "not a finite amount"),
        ("sNaN", 2, "not a finite amount"),
        ("-Infinity", 2, "not a finite amount"),
    ],
)
def test_what_does_not_fit_is_refused(amount, scale, said):
    """An amount that cannot be kept exactly is refused with the reason, at any size."""
    with pytest.raises(AmountError, match=said):
        to_units(Decimal(amount), scale)


@pytest.mark.parametrize(("amount", "scale"), [("999999999999999999.99", 2), ("9999999999.9999999999", 10), ("0", 0)])
def test_twenty_digits_fit(amount, scale):
    """Twenty digits are kept at every scale."""
    assert Decimal(number_text(to_units(Decimal(amount), scale), scale)) == Decimal(amount)
