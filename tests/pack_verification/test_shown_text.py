"""Texts of figures: what a page shows against what it has to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.pack_verification.page_data import FigureValue, agrees, divide, read_shown, value_text


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("1,234.50", FigureValue(123450, 2)),
        ("(1,234.50)", FigureValue(-123450, 2)),
        ("-0.05", FigureValue(-5, 2)),
        ("(0.05)", FigureValue(-5, 2)),
        ("+0.05\N{NO-BREAK SPACE}", FigureValue(5, 2)),
        ("\N{EN DASH}", FigureValue(0, 2)),
        ("0.00", FigureValue(0, 2)),
        ("12.5%", FigureValue(125, 1, is_percent=True)),
        ("(3.0%)", FigureValue(-30, 1, is_percent=True)),
        ("1,000", FigureValue(1000, 0)),
        ("not known", None),
    ],
)
def test_texts_that_agree(shown, value):
    """Signs, dashes and percentages are read as statements write them."""
    assert agrees(read_shown(shown), value_text(value))


@pytest.mark.parametrize(
    "shown",
    [
        *("1234.50", "1,234.5", "12,34.50", "1,234.500", "1.234,50", "\u0661,234.50", "", "\N{EN DASH}"),
        *("(-1,234.50)", "(1,234.50", "1,234.50)", "-1,234.50", "1,234.50 EUR", "EUR 1,234.50"),
    ],
)  # fmt: skip
def test_texts_that_do_not_agree(shown):
    """Other digits, separators and signs, and currencies, are not the amount."""
    assert not agrees(read_shown(shown), value_text(FigureValue(123450, 2)))


def test_a_size_has_no_sign():
    """A sentence that says that cash fell shows how much; what is not known has no size."""
    assert value_text(FigureValue(-123450, 2), form="magnitude") == "1,234.50"
    assert value_text(None) == "not known"


@given(st.integers(-(10**30), 10**30), st.integers(-(10**15), 10**15).filter(bool))
def test_quotients_are_rounded_half_to_even(units, divisor):
    """The distance to the exact quotient is a half at most, and of two equally near integers the even one is taken."""
    quotient = divide(units, divisor)
    distance = abs(2 * (units - quotient * divisor))
    assert distance <= abs(divisor)
    assert distance < abs(divisor) or quotient % 2 == 0
