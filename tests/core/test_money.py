"""Money: exact amounts, scales, rounding noise, refused text, signs."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.money import (
    EXACT,
    are_whole_units,
    arrow_type,
    check_scale,
    format_amount,
    fraction_digits,
    from_minor_units,
    pandas_dtype,
    parse_amount,
    read_floats,
    rounded_quotient,
    signed_amount,
    to_decimals,
    to_float,
    to_floats,
    to_minor_units,
    to_units,
    units_to_floats,
)

SCALES = st.integers(0, 10)
UNITS = st.integers(-(10**38) + 1, 10**38 - 1)


def written(units, scale):
    """Plain text of a number of minor units, written without Decimal."""
    digits = str(abs(units)).rjust(scale + 1, "0")
    whole, fraction = (digits[:-scale], digits[-scale:]) if scale else (digits, "")
    return f"{'-' if units < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"


@given(UNITS, SCALES)
def test_text_and_minor_units_round_trip(units, scale):
    parsed = parse_amount(written(units, scale), scale)
    assert not parsed.rounding_noise_removed
    assert to_minor_units(parsed.amount, scale) == units
    assert from_minor_units(units, scale) == parsed.amount
    assert parsed.amount.as_tuple().exponent == -scale
    assert parsed == parse_amount(parsed.amount, scale)
    assert pa.array([parsed.amount], arrow_type(scale))[0].as_py() == parsed.amount
    assert pd.Series([parsed.amount], dtype=pandas_dtype(scale))[0] == parsed.amount


@pytest.mark.parametrize(
    ("text", "amount"),
    [("1e3", "1000.00"), ("12.50000", "12.50"), ("12.5", "12.50"), ("-0", "0.00"), ("-0.00", "0.00"), ("7", "7.00")],
)
def test_json_numbers_are_exact_and_minus_zero_is_zero(text, amount):
    parsed = parse_amount(text)
    assert (str(parsed.amount), parsed.rounding_noise_removed) == (amount, False)
    assert parse_amount(Decimal(text)) == parsed


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("31282.27999999999883584678173065185546875", "31282.28"),
        ("0.30000000000000004", "0.30"),
        ("-0.30000000000000004", "-0.30"),
        ("0.0100000001", "0.01"),
        ("1e-30", "0.00"),
    ],
)
def test_float_dust_is_removed_and_told(text, amount):
    parsed = parse_amount(text)
    assert (str(parsed.amount), parsed.rounding_noise_removed) == (amount, True)


@pytest.mark.parametrize("text", ["0.01000001", "0.010001", "0.0100000100", "1.000001e-2", "-24.330000001"])
def test_fewer_than_ten_digits_are_no_dust(text):
    """Digits that no float prints are those of the currency, however near a cent the amount is."""
    digits = len(f"{Decimal(text):f}".rstrip("0").partition(".")[2])
    with pytest.raises(AmountError, match=rf"does not fit 2 fraction digits; .*scale={digits}$"):
        parse_amount(text)
    exact = parse_amount(text, digits)
    assert (exact.amount, exact.rounding_noise_removed) == (Decimal(text), False)


@given(st.integers(-(10**12), 10**12), st.integers(1, 9), st.integers(0, 9))
def test_short_text_is_read_exactly_or_refused(units, digits, scale):
    amount = Decimal(units).scaleb(-digits)
    try:
        parsed = parse_amount(f"{amount:f}", scale)
    except AmountError:
        assert amount != amount.quantize(Decimal(1).scaleb(-scale))
    else:
        assert parsed == (amount, False)


@given(UNITS.filter(lambda units: abs(units) < 10**30), SCALES, st.integers(1, 98), st.sampled_from([-1, 1]))
def test_real_digits_never_pass_for_dust(units, scale, hundredths, sign):
    with localcontext(EXACT):
        away = Decimal(hundredths) / 100 + Decimal("1e-9")
        amount = from_minor_units(units, scale) + sign * away.scaleb(-scale)
    with pytest.raises(AmountError, match="does not fit"):
        parse_amount(amount, scale)


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "Infinity",
        "1e400",
        "1,000.00",
        "",
        " 1",
        "1_000",
        "12.345",
        "0x10",
        "5-",
        "٣",
        None,
        True,
        1.5,
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
    with pytest.raises(AmountError) as caught:
        parse_amount(value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@given(st.text() | st.floats() | st.decimals() | st.integers() | st.booleans() | st.none(), SCALES)
def test_parsing_ends_in_an_amount_or_a_refusal(value, scale):
    try:
        parsed = parse_amount(value, scale)
    except AmountError:
        return
    with localcontext(EXACT):
        assert abs(parsed.amount - Decimal(value)) <= Decimal("1e-6")


@pytest.mark.parametrize("scale", [-1, 11, True, 2.0, "2", None])
def test_scales_outside_0_to_10_are_refused(scale):
    with pytest.raises(AmountError, match="scale"):
        check_scale(scale)


@given(UNITS, SCALES)
def test_debit_keeps_and_credit_inverts_the_sign(units, scale):
    amount = from_minor_units(units, scale)
    assert signed_amount(amount, "debit") == amount
    assert to_minor_units(signed_amount(amount, "credit"), scale) == -units
    assert not str(signed_amount(from_minor_units(0, scale), "credit")).startswith("-")


@pytest.mark.parametrize("side", ["Debit", "", "both", None])
def test_an_unknown_side_is_refused(side):
    with pytest.raises(AmountError, match="debit_credit"):
        signed_amount(Decimal(1), side)


def test_minor_units_refuse_what_does_not_fit():
    with pytest.raises(AmountError, match="does not fit"):
        to_minor_units(Decimal("0.005"))
    with pytest.raises(AmountError, match="does not fit"):
        to_minor_units(Decimal("Infinity"))


def test_amounts_for_people_have_separators_and_no_exponents():
    assert format_amount(Decimal("-1234567.50")) == "-1,234,567.50"
    assert format_amount(Decimal("0E-10")) == "0.0000000000"
    assert format_amount(Decimal("1E+3")) == "1,000"


FLOAT_UNITS = st.integers(-(10**15) + 1, 10**15 - 1) | st.integers(-1_000_000, 1_000_000)


@given(st.lists(FLOAT_UNITS, max_size=20), SCALES)
def test_units_survive_floats(units, scale):
    floats = units_to_floats(np.array(units, np.int64), scale)
    assert floats.tolist() == [float(from_minor_units(unit, scale)) for unit in units]
    assert floats.tolist() == [float(written(unit, scale)) for unit in units]
    assert are_whole_units(floats, scale)
    read = read_floats(floats, scale)
    assert read.units.tolist() == units
    assert not (read.absent | read.noisy | read.wrong).any()


@given(st.lists(FLOAT_UNITS | st.none(), max_size=20), SCALES)
def test_arrow_decimals_survive_floats(units, scale):
    amounts = [None if unit is None else from_minor_units(unit, scale) for unit in units]
    column = pa.array(amounts, arrow_type(scale))
    floats = to_floats(column)
    np.testing.assert_array_equal(floats, [to_float(amount, scale) for amount in amounts])
    np.testing.assert_array_equal(floats, [float("nan") if one is None else float(one) for one in amounts])
    assert to_units(column).to_pylist() == units
    read = read_floats(floats, scale)
    assert to_decimals(read.units, scale, absent=read.absent).equals(column)
    chunks = pa.chunked_array([column, column])
    np.testing.assert_array_equal(to_floats(chunks), np.concatenate([floats, floats]))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scale", range(11))
def test_floats_hold_15_digits(scale, sign):
    largest, refused = (from_minor_units(sign * units, scale) for units in (10**15 - 1, 10**15))
    assert to_float(largest, scale) == float(largest)
    assert to_floats(pa.array([largest], arrow_type(scale)))[0] == float(largest)
    with pytest.raises(AmountError, match=r"too large for a pandas frame.*local books on an engine and Parquet"):
        to_float(refused, scale)
    with pytest.raises(AmountError, match="is too large for a pandas frame") as caught:
        to_floats(pa.array([Decimal(1), None, refused], arrow_type(scale)))
    assert f"{refused:,f}" in str(caught.value)
    read = read_floats(np.array([float(largest), float(refused)]), scale)
    assert read.units.tolist() == [sign * (10**15 - 1), 0]
    assert read.wrong.tolist() == [False, True]
    assert are_whole_units(np.array([float(largest)]), scale)
    assert not are_whole_units(np.array([float(refused)]), scale)


@given(FLOAT_UNITS, SCALES, st.integers(-1, 1))
def test_neighbours_of_amounts_are_noise(units, scale, steps):
    nearest = float(from_minor_units(units, scale))
    given_float = np.nextafter(nearest, np.inf * steps) if steps else nearest
    read = read_floats(np.array([given_float]), scale)
    assert read.units.tolist() == [units]
    assert read.noisy.tolist() == [bool(steps)]
    assert not read.wrong.any()
    assert are_whole_units(np.array([given_float]), scale) == (not steps)


@given(FLOAT_UNITS.filter(lambda units: abs(units) < 10**11), SCALES, st.floats(0.001, 0.999))
def test_floats_between_two_units_are_wrong(units, scale, fraction):
    read = read_floats(np.array([(units + fraction) / 10.0**scale]), scale)
    assert (read.wrong.tolist(), read.noisy.tolist()) == ([True], [False])


def test_minus_zero_is_zero():
    floats = [*to_floats(pa.array([Decimal("-0.00")], arrow_type(2))), to_float(Decimal("-0.00"))]
    assert not np.signbit([*floats, *units_to_floats(np.array([0, -0]), 2)]).any()
    read = read_floats(np.array([-0.0]))
    assert (read.units.tolist(), read.noisy.tolist(), read.wrong.tolist()) == ([0], [False], [False])
    assert str(to_decimals(read.units, 2)[0].as_py()) == "0.00"


def test_nan_is_absent_and_other_non_amounts_are_wrong():
    read = read_floats(np.array([np.nan, np.inf, -np.inf, 1e300, 24.335, 24.33, 0.1 + 0.2]))
    assert read.absent.tolist() == [True, *[False] * 6]
    assert read.wrong.tolist() == [False, True, True, True, True, False, False]
    assert read.noisy.tolist() == [*[False] * 6, True]
    assert read.units.tolist() == [0, 0, 0, 0, 0, 2433, 30]
    assert are_whole_units(np.array([np.nan, 24.33]), 2)
    assert not any(are_whole_units(np.array([one]), 2) for one in (np.inf, 1e300, 24.335, 0.1 + 0.2))


def test_exact_amounts_become_floats():
    assert np.isnan(to_float(None))
    with pytest.raises(AmountError, match="does not fit 2 fraction digits"):
        to_float(Decimal("24.335"))


@pytest.mark.parametrize(("text", "digits"), [("12.30", 2), ("12", 0), ("1E+3", 0), ("-0.001", 3)])
def test_fraction_digits_count_final_zeros_not_exponents(text, digits):
    assert fraction_digits(Decimal(text)) == digits


@given(st.integers(-50, 50), st.integers(1, 6))
@example(5, 2)
@example(-7, 2)
def test_quotients_are_rounded_half_to_even(units, count):
    assert rounded_quotient(units, count) == round(Fraction(units, count))
