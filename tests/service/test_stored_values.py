"""Amounts as stored: exact, bounded, never overflowing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import BigInteger, Column, MetaData, Table, create_engine, func, select

from accounting_analytics.core.errors import AmountError
from accounting_analytics.service.values import SUMMED_APART, join_sums, number_text, to_units

UNITS = st.integers(-(10**18) + 1, 10**18 - 1)


@given(st.lists(UNITS, max_size=30))
def test_sums_of_parts_join_to_the_sum(amounts):
    """SQLite sums the two parts of units to their exact sum, whatever the sizes and signs."""
    table = Table("units", MetaData(), Column("units", BigInteger))
    parts = func.sum(table.c.units // SUMMED_APART), func.sum(table.c.units % SUMMED_APART)
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        if amounts:
            connection.execute(table.insert(), [{"units": units} for units in amounts])
        assert join_sums(*connection.execute(select(*parts)).one()) == sum(amounts)
    engine.dispose()


@given(UNITS, st.integers(0, 10))
def test_number_text_is_the_exact_decimal(units, scale):
    """The text has the scale's digits, no exponent, no minus zero, and is the amount."""
    text = number_text(units, scale)
    assert Decimal(text) == Decimal(units).scaleb(-scale)
    assert "E" not in text.upper()
    assert len(text.partition(".")[2]) == scale
    assert text != "-0"


def test_what_does_not_fit_is_refused():
    """Eighteen digits are kept at every scale; an amount that cannot be kept exactly is refused with the reason."""
    for amount, scale in (("9999999999999999.99", 2), ("99999999.9999999999", 10), ("0", 0)):
        assert Decimal(number_text(to_units(Decimal(amount), scale), scale)) == Decimal(amount)
    for amount, scale, message in (
        ("12.345", 2, "12.345 does not fit 2 fraction digits"),
        ("10000000000000000", 2, "this service keeps 16"),
        ("100000000", 10, "this service keeps 8"),
        ("1E+999999", 2, "too large"),
        ("NaN", 2, "not a finite amount"),
        ("-Infinity", 2, "not a finite amount"),
    ):
        with pytest.raises(AmountError, match=message):
            to_units(Decimal(amount), scale)
