"""Columns of frames: amounts as floats and decimals, lists of ids, and other dtypes that hold the same values."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.core.column_conversion import (
    TEXT,
    exact_amounts,
    exact_floats,
    in_floats,
    negated,
    signed,
    split_list,
    split_lists,
    total,
)
from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.money import PRECISION, from_minor_units, pandas_dtype, to_minor_units

SCALES = st.integers(0, 10)
UNITS = st.integers(-(10**15) + 1, 10**15 - 1)
LONG_UNITS = st.integers(-(10**38) + 1, 10**38 - 1)
AMOUNTS = ["24.33", "-0.07", "1136.18", "0.29", "4503599627370.49"]


def ids_of(column):
    """Return ids for the rows of a column: a, b, c ..."""
    return pd.Series([chr(ord("a") + number) for number in range(len(column))], index=column.index, name="id")


def exact(column, scale=2):
    """Convert a column named amount."""
    column = column.rename("amount")
    return exact_amounts(column, scale, ids_of(column))


@given(st.lists(UNITS | st.none(), max_size=20), SCALES)
def test_decimals_survive_floats(units, scale):
    cells = [None if unit is None else from_minor_units(unit, scale) for unit in units]
    column = pd.Series(cells, dtype=pandas_dtype(scale), index=range(5, 5 + len(units)), name="amount")
    floats = in_floats(column)
    assert floats.dtype == np.float64
    assert floats.isna().tolist() == [unit is None for unit in units]
    back = exact(floats, scale)
    pd.testing.assert_series_equal(back.column, column)
    assert back.noise_removed == 0


def made_elsewhere():
    """Return floats of amounts as other tools make them, few of which are the nearest to the amount."""
    units = np.arange(-60_000, 60_000, 7)
    decimals = pa.array([from_minor_units(int(unit), 2) for unit in units], pa.decimal128(38, 2))
    whole = pl.Series(units, dtype=pl.Int64)
    return units, {
        "cast of Arrow": decimals.cast(pa.float64()).to_numpy(),
        "times 0.01": units * 0.01,
        "division of polars": (whole.cast(pl.Float64) / 100.0).to_numpy(),
        "cast of polars": whole.cast(pl.Decimal(38, 2)).__truediv__(100).cast(pl.Float64).to_numpy(),
        "cumulative sums": np.cumsum(np.diff(units / 100.0, prepend=0.0)),
    }


UNITS_MADE, MADE = made_elsewhere()


@pytest.mark.parametrize("maker", MADE)
def test_floats_made_elsewhere_are_amounts(maker):
    given = pd.Series(MADE[maker])
    column, noise_removed = exact(given)
    assert [to_minor_units(amount) for amount in column] == UNITS_MADE.tolist()
    assert noise_removed == int((given != UNITS_MADE / 100.0).sum())
    np.testing.assert_array_equal(in_floats(column), UNITS_MADE / 100.0)


@pytest.mark.parametrize(
    "dtype",
    [
        "float64",
        "Float64",
        pd.ArrowDtype(pa.float64()),
        pd.ArrowDtype(pa.decimal128(38, 2)),
        pd.ArrowDtype(pa.decimal128(15, 2)),
        pd.ArrowDtype(pa.decimal256(60, 2)),
        "object",
    ],
    ids=str,
)
def test_columns_of_exact_amounts_are_read(dtype):
    decimals = [*map(Decimal, AMOUNTS), None]
    floats = "float" in str(dtype).lower() or str(dtype).startswith("double")
    given = pd.Series([None if one is None else float(one) for one in decimals] if floats else decimals, dtype=dtype)
    column, noise_removed = exact(given)
    assert column.dtype == pandas_dtype(2)
    assert [None if pd.isna(one) else one for one in column] == decimals
    assert noise_removed == 0


@pytest.mark.parametrize("dtype", ["int64", "Int64", "uint8", pd.ArrowDtype(pa.int32())], ids=str)
@pytest.mark.parametrize("scale", [0, 2, 10])
def test_integers_are_major_units(dtype, scale):
    column = exact(pd.Series([5, 0, 120], dtype=dtype), scale).column
    assert column.dtype == pandas_dtype(scale)
    assert column.tolist() == [5, 0, 120]


def test_objects_may_mix_decimals_and_integers():
    given = pd.Series([Decimal("1.5"), 2, None, Decimal("0.30000000000000004")], dtype="object")
    column, noise_removed = exact(given)
    assert [None if pd.isna(one) else str(one) for one in column] == ["1.50", "2.00", None, "0.30"]
    assert noise_removed == 1


@pytest.mark.parametrize("wrong", [Decimal("24.335"), Decimal("Infinity"), 1.5, "1,000.00", Decimal("1e40")])
def test_objects_that_are_no_amounts_are_refused(wrong):
    with pytest.raises(AmountError, match="column 'amount', id b: "):
        exact(pd.Series([Decimal(1), wrong], dtype="object"))


@pytest.mark.parametrize("wrong", [24.335, np.inf, -np.inf, 1e13, -1e13, 1e300])
def test_other_floats_are_refused_with_the_first_ids(wrong):
    given = pd.Series([0.1, wrong, 0.2, wrong, wrong, wrong])
    with pytest.raises(AmountError) as caught:
        exact(given)
    message = str(caught.value)
    assert message.startswith("column 'amount': 4 amounts not in whole minor units at scale 2, or too large")
    assert "id b, d, e and 1 more; call .round(2)" in message


@pytest.mark.parametrize("scale", [0, 2, 5, 10])
def test_amounts_of_ten_to_the_fifteen_units_are_refused(scale):
    largest, refused = from_minor_units(10**15 - 1, scale), from_minor_units(10**15, scale)
    assert exact(pd.Series([float(largest)]), scale).column.tolist() == [largest]
    with pytest.raises(AmountError, match="too large for float64"):
        exact(pd.Series([float(refused)]), scale)
    decimals = pd.Series([largest, refused], dtype=pandas_dtype(scale), name="amount")
    assert in_floats(decimals[:1]).tolist() == [float(largest)]
    with pytest.raises(AmountError, match=r"amount: amount .* is too large for a pandas frame"):
        in_floats(decimals)
    pd.testing.assert_series_equal(exact(decimals, scale).column, decimals)


def test_decimals_of_more_digits_than_the_scale_are_refused():
    with pytest.raises(AmountError, match="column 'amount'"):
        exact(pd.Series([Decimal("24.335")], dtype=pandas_dtype(3)), 2)
    with pytest.raises(AmountError, match="more than 38 digits"):
        exact(pd.Series([Decimal("9" * 36)], dtype=pandas_dtype(0)), 3)


def test_every_float_column_of_a_table_becomes_decimal():
    frame = exact_floats(pd.DataFrame({"id": ["a"], "x": [1.5], "y": [np.nan], "n": [3]}))
    assert str(frame.dtypes["x"]) == str(frame.dtypes["y"]) == "decimal128(38, 2)[pyarrow]"
    assert frame["n"].dtype == np.int64
    plain = pd.DataFrame({"id": ["a"]})
    assert exact_floats(plain) is plain


@given(st.lists(LONG_UNITS, max_size=20), SCALES)
def test_totals_are_exact(units, scale):
    """A column's total is exact while it fits 38 digits (128-bit sums would wrap around silently), else refused."""
    column = pd.Series([from_minor_units(unit, scale) for unit in units], dtype=pandas_dtype(scale))
    if abs(sum(units)) < 10**38:
        assert to_minor_units(total(column), scale) == sum(units)
    else:
        with pytest.raises(AmountError, match="digits before the point"):
            total(column)


@pytest.mark.parametrize("count", [2, 3, 4, 7])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_total_past_38_digits_is_refused(count, sign):
    largest = from_minor_units(sign * (10**PRECISION - 1), 2)
    with pytest.raises(AmountError, match="more than 36 digits before the point"):
        total(pd.Series([largest] * count, dtype=pandas_dtype(2)))


def test_a_total_has_the_scale_of_its_column():
    assert str(total(pd.Series([], dtype=pandas_dtype(3)))) == "0.000"
    assert str(total(pd.Series([None], dtype=pandas_dtype(3)))) == "0.000"


@given(st.lists(st.tuples(st.integers(-(10**37), 10**37), st.sampled_from(["debit", "credit"])), max_size=20))
def test_signed_columns_follow_the_sides(rows):
    amounts = pd.Series([Decimal(units) for units, _ in rows], dtype=pandas_dtype(0), index=range(5, 5 + len(rows)))
    sides = pd.Series([side for _, side in rows], dtype="str", index=amounts.index)
    column = signed(amounts, sides)
    assert column.dtype == amounts.dtype
    assert column.index.equals(amounts.index)
    assert column.name == "signed_amount"
    assert [int(amount) for amount in column] == [units if side == "debit" else -units for units, side in rows]
    assert [int(amount) for amount in negated(amounts)] == [-units for units, _ in rows]


@given(st.lists(st.tuples(UNITS, st.sampled_from(["debit", "credit"])), max_size=20), SCALES)
def test_signed_floats_are_the_floats_of_signed_amounts(rows, scale):
    amounts = pd.Series([units / 10.0**scale for units, _ in rows], dtype="float64", index=range(5, 5 + len(rows)))
    column = signed(amounts, pd.Series([side for _, side in rows], dtype="str", index=amounts.index))
    expected = [float(from_minor_units(units if side == "debit" else -units, scale)) for units, side in rows]
    assert column.tolist() == expected
    assert column.index.equals(amounts.index)
    assert not np.signbit(column[column == 0]).any()


def test_lists_are_split_with_their_index():
    column = pd.Series(["a|b", "", None, "c"], dtype=TEXT, index=[4, 5, 6, 7])
    ids = split_lists(column)
    assert list(ids.items()) == [(4, "a"), (4, "b"), (7, "c")]
    assert ids.dtype == TEXT
    assert [split_list(one) for one in column] == [{"a", "b"}, set(), None, {"c"}]
    assert split_lists(column[1:3]).empty
