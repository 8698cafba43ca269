"""Conversion of columns: amounts from float64 to exact amounts and back, and other dtypes.

An amount column of a frame is float64. Analysts may also pass decimals, of Arrow or as ``object``, or integers, which
are major units. Every calculation converts amounts once, by this module, to Arrow ``decimal128``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.duckdb_settings import WITHOUT_EXTENSIONS
from accounting_analytics.core.errors import AmountError, FrameError
from accounting_analytics.core.load_metadata import books_notes, noise_notes, stated_scales
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import (
    DEFAULT_SCALE,
    PRECISION,
    arrow_type,
    check_scale,
    parse_amount,
    read_floats,
    to_decimals,
    to_floats,
)
from accounting_analytics.core.periods import zone

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    import numpy.typing as npt

    from accounting_analytics.core.periods import ZoneLike

LIST_SEPARATOR = "|"
"""Separator of the ids of a list in a text column. Empty text is an empty list, and null is an unknown list."""

SEPARATOR_IN_NAME = "\u00a6"
"""Replacement of the separator in names. Ids must not contain the separator."""

_MANY_TEXTS = 1_000_000
TEXT = pd.StringDtype(na_value=float("nan"))
INSTANT = pd.DatetimeTZDtype(unit="us", tz="UTC")
LOCAL_DATE = np.dtype("datetime64[us]")
BOOLEAN = pd.BooleanDtype()


class Scale(NamedTuple):
    """Fraction digits of the amounts of a frame, with a note if they were assumed."""

    scale: int
    notes: tuple[str, ...] = ()


class ExactColumn(NamedTuple):
    """A column of Arrow decimals, and the number of its amounts that had float rounding noise."""

    column: pd.Series[Any]
    noise_removed: int = 0


class ExactFrame(NamedTuple):
    """A frame whose amounts are Arrow decimals, for calculations."""

    frame: pd.DataFrame
    scale: int
    notes: tuple[str, ...] = ()


def is_decimal(dtype: object) -> bool:
    """Return whether a dtype is an Arrow decimal."""
    return isinstance(dtype, pd.ArrowDtype) and pa.types.is_decimal(dtype.pyarrow_dtype)


def find_scale(stated: Iterable[int | None]) -> Scale:
    """Find the stated number of fraction digits, or assume 2 if none is stated."""
    scales = {check_scale(scale) for scale in stated if scale is not None}
    if len(scales) > 1:
        raise FrameError(
            f"the amounts have no single scale: dtypes, metadata of the frame and scale= state {sorted(scales)}"
        )
    if scales:
        return Scale(scales.pop())
    return Scale(DEFAULT_SCALE, (f"No scale is stated; amounts are assumed to have {DEFAULT_SCALE} fraction digits.",))


def decimal_scale(column: pd.Series[Any]) -> int | None:
    """Return the fraction digits of Arrow decimals, or None for another column."""
    return int(_arrow_type(column).scale) if is_decimal(column.dtype) else None


def exact_frame(frame: pd.DataFrame, amounts: Sequence[str], *, scale: int | None = None) -> ExactFrame:
    """Convert amount columns to Arrow decimals of one scale, and number the rows.

    Messages name rows by id. Index labels of the given frame may repeat, so nothing may be joined by label.
    """
    found = find_scale([scale, *stated_scales(frame), *(decimal_scale(frame[name]) for name in amounts)])
    frame = frame.reset_index(drop=True)
    ids = frame["id"] if "id" in frame else frame.iloc[:, 0] if len(frame.columns) else frame.index.to_series()
    exact = {name: exact_amounts(frame[name], found.scale, ids) for name in amounts}
    noise_removed = sum(exact_column.noise_removed for exact_column in exact.values())
    return ExactFrame(
        frame.assign(**{name: exact_column.column for name, exact_column in exact.items()}),
        found.scale,
        notes=(
            *found.notes,
            *noise_notes(noise_removed),
            *books_notes(frame),
        ),
    )


def exact_floats(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert all float64 columns, which are amounts, to exact decimals for text."""
    floats = [str(name) for name in frame.columns if frame[name].dtype == np.float64]
    return exact_frame(frame, floats).frame if floats else frame


def exact_amounts(column: pd.Series[Any], scale: int, ids: pd.Series[Any]) -> ExactColumn:
    """Convert an amount column to Arrow decimals at `scale`. Messages name rows by `ids`."""
    dtype = column.dtype
    if is_decimal(dtype):
        if _arrow_type(column) == arrow_type(scale):
            return ExactColumn(column)
        return ExactColumn(_decimal_series(_cast(arrow_column(column), column, scale), column))
    if pd.api.types.is_bool_dtype(dtype):
        raise FrameError(_not_amounts(column))
    if pd.api.types.is_integer_dtype(dtype):
        whole = pa.chunked_array([pa.array(column.astype(object), pa.int64(), from_pandas=True)])
        return ExactColumn(_decimal_series(_cast(whole, column, scale), column))
    if pd.api.types.is_float_dtype(dtype):
        if str(dtype).lower().startswith(("float32", "float16", "float[", "halffloat")):
            raise FrameError(_not_amounts(column))
        return _from_floats(column, scale, ids)
    if pd.api.types.infer_dtype(column, skipna=True) in {"decimal", "mixed-integer", "mixed", "empty"}:
        return parse_amounts(column, scale, ids)
    raise FrameError(_not_amounts(column))


def parse_amounts(column: pd.Series[Any], scale: int, ids: pd.Series[Any]) -> ExactColumn:
    """Convert number texts or Decimals to Arrow decimals. Messages name rows by `ids`."""
    exact: list[Decimal | None] = []
    noise_removed = 0
    for value, row_id in zip(column, ids, strict=True):
        if pd.api.types.is_scalar(value) and pd.isna(value):
            exact.append(None)
            continue
        try:
            parsed = parse_amount(value, scale)
        except AmountError as error:
            raise AmountError(f"column {column.name!r}, {ids.name} {row_id}: {error}") from None
        exact.append(parsed.amount)
        noise_removed += parsed.rounding_noise_removed
    return ExactColumn(_decimal_series(pa.array(exact, arrow_type(scale)), column), noise_removed)


def in_floats(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert a column of Arrow decimals to float64."""
    try:
        return pd.Series(to_floats(arrow_column(column)), index=column.index, name=column.name)
    except AmountError as error:
        raise AmountError(f"{column.name}: {error}") from None


def signed(amounts: pd.Series[Any], sides: pd.Series[Any]) -> pd.Series[Any]:
    """Give amounts their sign: plus on the debit side, minus on the credit side."""
    is_debit = (sides == DebitCredit.DEBIT).to_numpy(dtype=bool)
    if not is_decimal(amounts.dtype):
        return pd.Series(np.where(is_debit, amounts, 0.0 - amounts), index=amounts.index, name="signed_amount")
    values = arrow_column(amounts).combine_chunks()
    return _decimal_series(pc.if_else(pa.array(is_debit), values, pc.negate(values)), amounts.rename("signed_amount"))


def negated(amounts: pd.Series[Any]) -> pd.Series[Any]:
    """Negate Arrow decimals by Arrow, because pandas would round them to 28 digits."""
    return _decimal_series(pc.negate(arrow_column(amounts)), amounts)


def total(amounts: pd.Series[Any]) -> Decimal:
    """Sum Arrow decimals exactly. Without rows, return zero at their scale."""
    scale = _arrow_type(amounts).scale
    # 128-bit sums wrap around silently past 38 digits
    wide = arrow_column(amounts).cast(pa.decimal256(2 * PRECISION, scale))
    return parse_amount(pc.sum(wide).as_py() or 0, scale).amount


def split_lists(column: pd.Series[Any]) -> pd.Series[Any]:
    """Split joined lists into rows with one id each, which keep the index label of their list."""
    ids = column[column.notna() & (column != "")].str.split(LIST_SEPARATOR).explode()
    return ids.astype(TEXT)


def split_list(text: Any) -> set[str] | None:  # noqa: ANN401 (a cell)
    """Split a joined list into ids, or return None for an unknown list."""
    return None if pd.isna(text) else set(filter(None, text.split(LIST_SEPARATOR)))


def are_among(texts: pd.Series[Any], others: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    """Tell which texts are among others; ``isin`` of pandas takes 10 microseconds for each of these."""
    found: npt.NDArray[np.bool_] = pc.is_in(pa.array(texts), value_set=pa.array(others)).to_numpy(zero_copy_only=False)
    return found


def convert(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:  # noqa: ANN401 (any dtype)
    """Convert a column if the dtype can hold its values, else return it unchanged."""
    if column.dtype == dtype:
        return column
    if _holds_lists(column):
        raise FrameError(
            f"column {column.name!r} holds lists; it takes texts, the values of each list joined by {LIST_SEPARATOR!r}"
        )
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _convert_instants(column, dtype)
    if dtype == BOOLEAN and pd.api.types.is_numeric_dtype(column.dtype) and column.dropna().isin([0, 1]).all():
        return column.astype(BOOLEAN)  # booleans of a spreadsheet with empty cells are read as 1.0, 0.0 and NaN
    values = column.astype(object)
    wanted = "string" if dtype == TEXT else "boolean"
    if pd.api.types.infer_dtype(values, skipna=True) not in {wanted, "empty"} and not column.isna().all():
        return column
    if dtype == np.bool_ and column.isna().any():  # the conversion would turn null into False
        return column
    return values.where(column.notna(), None).astype(dtype)


def _holds_lists(column: pd.Series[Any]) -> bool:
    """Return whether any cell is a Python, Arrow or NumPy list."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return bool(pa.types.is_nested(_arrow_type(column)))
    return pd.api.types.is_object_dtype(column.dtype) and any(
        isinstance(cell, list | tuple | np.ndarray) for cell in column
    )


def _convert_instants(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:  # noqa: ANN401 (any dtype)
    """Convert instants to microseconds. A column that would lose digits is kept unchanged."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind not in {"datetime64", "datetime", "date", "string", "empty"} and not column.isna().all():
        return column
    if kind == "string":
        instants = _parse_instants(column, dtype)
    else:
        instants = pd.to_datetime(column.astype(object) if isinstance(column.dtype, pd.ArrowDtype) else column)
    if isinstance(dtype, pd.DatetimeTZDtype):
        instants = instants.dt.tz_localize("UTC") if instants.dt.tz is None else instants.dt.tz_convert("UTC")
    converted = instants.astype(dtype)
    return converted if converted.eq(instants).where(instants.notna(), other=True).all() else column


def _parse_instants(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:  # noqa: ANN401 (any dtype)
    """Parse instants or local dates from ISO 8601 text."""
    try:
        instants = pd.to_datetime(column, format="ISO8601", utc=True)
    except ValueError:
        raise FrameError(
            f"column {column.name!r} has a cell that is not ISO 8601, such as 2025-03-01T12:00:00Z"
        ) from None
    return instants if isinstance(dtype, pd.DatetimeTZDtype) else instants.dt.tz_localize(None)


def are_distinct(texts: pa.ChunkedArray) -> bool:
    """Return whether all texts differ. If there are many, hashes are compared first."""
    if len(texts) >= _MANY_TEXTS:
        import duckdb  # noqa: PLC0415 (slow to import, and few frames are that long)

        with duckdb.connect(config=WITHOUT_EXTENSIONS) as database:
            hashes = database.from_arrow(pa.table({"text": texts})).project("hash(text) as hash").fetchnumpy()["hash"]
        hashes.sort()
        if (hashes[1:] != hashes[:-1]).all():
            return True
    return bool(pc.count_distinct(texts).as_py() == len(texts))


def arrow_column(column: pd.Series[Any]) -> pa.ChunkedArray:
    """Return the values of an Arrow-backed column."""
    return cast("pd.arrays.ArrowExtensionArray", column.array).__arrow_array__()


def _arrow_type(column: pd.Series[Any]) -> pa.DataType:
    return cast("pd.ArrowDtype", column.dtype).pyarrow_dtype


def _from_floats(column: pd.Series[Any], scale: int, ids: pd.Series[Any]) -> ExactColumn:
    floats = read_floats(column.to_numpy(np.float64, na_value=np.nan), scale)
    if floats.wrong.any():
        wrong = ids.to_numpy()[floats.wrong]
        raise AmountError(
            f"column {column.name!r}: {count_of(len(wrong), 'amount')} not in whole minor units at scale {scale}, or "
            f"too large for float64: {ids.name} {join_ids(wrong, limit=3)}; call .round({scale}) after arithmetic"
        )
    decimals = to_decimals(floats.units, scale, absent=floats.absent)
    return ExactColumn(_decimal_series(decimals, column), int(floats.noisy.sum()))


def _cast(values: pa.ChunkedArray, column: pd.Series[Any], scale: int) -> pa.ChunkedArray:
    try:
        return values.cast(arrow_type(scale))
    except pa.ArrowInvalid as error:
        raise AmountError(
            f"column {column.name!r} has an amount of more than {PRECISION} digits at scale {scale}"
        ) from error


def _decimal_series(values: pa.Array | pa.ChunkedArray, like: pd.Series[Any]) -> pd.Series[Any]:
    return pd.Series(pd.arrays.ArrowExtensionArray(values), index=like.index, name=like.name)


def _not_amounts(column: pd.Series[Any]) -> str:
    return (
        f"column {column.name!r} holds {column.dtype}, not exact amounts: float64 of whole minor units, decimals, or "
        "integers (major units)"
    )


def local_midnights(instants: pd.Series[Any], time_zone: ZoneLike) -> pd.Series[Any]:
    """Return the local day of each instant as a naive midnight."""
    days: pd.Series[Any] = instants.dt.tz_convert(zone(time_zone)).dt.tz_localize(None).dt.normalize()
    return days.astype(LOCAL_DATE)


def are_midnights_elsewhere(instants: pd.Series[Any], time_zone: ZoneLike) -> bool:
    """Return whether all instants are midnights in UTC, and not all are midnights in the zone."""
    if not (instants.notna().any() and instants.dropna().eq(instants.dropna().dt.normalize()).all()):
        return False
    local = instants.dt.tz_convert(zone(time_zone)).dt.tz_localize(None)
    return bool(local.ne(instants.dt.tz_localize(None)).where(instants.notna(), other=False).any())


def midnight_notes(instants: pd.Series[Any], time_zone: ZoneLike) -> tuple[str, ...]:
    """Return a note if instants of a service may be meant as days."""
    if not are_midnights_elsewhere(instants, time_zone):
        return ()
    note = (
        f"All instants are midnights of UTC. They are read as instants, of which the day in {zone(time_zone)} may be "
        "another; if the service means days, count them in UTC."
    )
    return (note,)
