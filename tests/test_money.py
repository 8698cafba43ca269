"""Money: exact amounts, scales, rounding noise, refused text, signs."""

from decimal import Decimal, localcontext

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting_analytics.errors import AmountError
from accounting_analytics.money import (
    EXACT,
    arrow_type,
    check_scale,
    format_amount,
    from_minor_units,
    pandas_dtype,
    parse_amount,
    signed_amount,
    to_minor_units,
)

SCALES = st.integers(0, 10)
UNITS = st.integers(-(10**38) + 1, 10**38 - 1)


def written(units, scale):
    """Plain text of a number of minor units, written without Decimal."""
    digits = str(abs(units)).rjust(scale + 1, "0")
    whole, fraction = (digits[:-scale], digits[-scale:]) if scale else (digits, "")
    return f"{'-' if units < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"


@settings(deadline=None)
@given(UNITS, SCALES)
def test_text_and_minor_units_round_trip(units, scale):
    """Any amount of up to 38 digits at any scale survives text -> amount -> units -> amount without losing a digit."""
    parsed = parse_amount(written(units, scale), scale)
    assert not parsed.rounding_noise_removed
    assert to_minor_units(parsed.amount, scale) == units
    assert from_minor_units(units, scale) == parsed.amount
    assert parsed.amount.as_tuple().exponent == -scale
    assert parsed == parse_amount(parsed.amount, scale)


@settings(deadline=None)
@given(UNITS, SCALES)
def test_amounts_fit_the_arrow_type(units, scale):
    """A parsed amount can be stored in decimal128(38, scale) and read back unchanged."""
    amount = parse_amount(written(units, scale), scale).amount
    assert pa.array([amount], arrow_type(scale))[0].as_py() == amount
    assert pd.Series([amount], dtype=pandas_dtype(scale))[0] == amount


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1e3", "1000.00"), ("12.50000", "12.50"), ("12.5", "12.50"), ("-0", "0.00"), ("-0.00", "0.00"), ("7", "7.00")],
)
def test_json_spellings(text, amount):
    """Any JSON number becomes an amount at exactly the scale; minus zero becomes zero."""
    parsed = parse_amount(text)
    assert (str(parsed.amount), parsed.rounding_noise_removed) == (amount, False)
    assert parse_amount(Decimal(text)) == parsed


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("31282.27999999999883584678173065185546875", "31282.28"),
        ("0.30000000000000004", "0.30"),
        ("-0.30000000000000004", "-0.30"),
        ("0.010001", "0.01"),
        ("1e-30", "0.00"),
    ],
)
def test_float_dust_is_removed_and_told(text, amount):
    """A value within 1e-6 of an exact amount becomes that amount, which is reported."""
    parsed = parse_amount(text)
    assert (str(parsed.amount), parsed.rounding_noise_removed) == (amount, True)


@settings(deadline=None)
@given(UNITS.filter(lambda units: abs(units) < 10**30), SCALES, st.integers(1, 98), st.sampled_from([-1, 1]))
def test_real_digits_never_pass_for_dust(units, scale, hundredths, sign):
    """A difference of more than a hundredth of the smallest unit, or more than 1e-6, is refused at every scale."""
    with localcontext(EXACT):
        away = Decimal(hundredths) / 100 + Decimal("1e-9")
        amount = from_minor_units(units, scale) + sign * away.scaleb(-scale)
    with pytest.raises(AmountError, match="does not fit"):
        parse_amount(amount, scale)


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "1e400",
        "1e999999999",
        "1,000.00",
        "",
        " 1",
        "1 ",
        "1_000",
        "12.345",
        "0x10",
        "$5",
        "--5",
        "5-",
        "e5",
        "٣",
        "1.2.3",
        "null",
        "true",
        None,
        True,
        False,
        1.5,
        float("nan"),
        b"1",
        [],
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("1e400"),
        "9" * 37,
        10**36,
        "0.000002",
        "1e9999999999999999999999",
    ],
)
def test_what_is_no_amount_is_refused(value):
    """Anything that is not a finite exact number at scale 2 is refused in one short line."""
    with pytest.raises(AmountError) as caught:
        parse_amount(value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@settings(deadline=None)
@given(st.text() | st.floats() | st.decimals() | st.integers() | st.booleans() | st.none(), SCALES)
def test_parsing_ends_in_an_amount_or_a_refusal(value, scale):
    """No input raises anything but AmountError, and every parsed amount lies within 1e-6 of the input."""
    try:
        parsed = parse_amount(value, scale)
    except AmountError:
        return
    with localcontext(EXACT):
        assert abs(parsed.amount - Decimal(value)) <= Decimal("1e-6")


@pytest.mark.parametrize("scale", [-1, 11, True, 2.0, "2", None])
def test_scales_outside_0_to_10_are_refused(scale):
    """The scale is a whole number from 0 to 10."""
    with pytest.raises(AmountError, match="scale"):
        check_scale(scale)


@settings(deadline=None)
@given(UNITS, SCALES)
def test_signs(units, scale):
    """Debit keeps the sign and credit inverts it, exactly for all 38 digits; the two always cancel."""
    amount = from_minor_units(units, scale)
    assert signed_amount(amount, "debit") == amount
    assert to_minor_units(signed_amount(amount, "credit"), scale) == -units
    assert not str(signed_amount(from_minor_units(0, scale), "credit")).startswith("-")


@pytest.mark.parametrize("side", ["Debit", "", "both", None])
def test_an_unknown_side_is_refused(side):
    """A side is debit or credit, nothing else."""
    with pytest.raises(AmountError, match="debit_credit"):
        signed_amount(Decimal(1), side)


def test_minor_units_refuse_what_does_not_fit():
    """A fraction of a cent is refused."""
    with pytest.raises(AmountError, match="does not fit"):
        to_minor_units(Decimal("0.005"))
    with pytest.raises(AmountError, match="does not fit"):
        to_minor_units(Decimal("Infinity"))


def test_amounts_for_people():
    """Thousands are separated, and there are no exponents."""
    assert format_amount(Decimal("-1234567.50")) == "-1,234,567.50"
    assert format_amount(Decimal("0E-10")) == "0.0000000000"
    assert format_amount(Decimal("1E+3")) == "1,000"
