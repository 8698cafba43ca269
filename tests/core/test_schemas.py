"""Schemas: valid and invalid tables, and messages that name column and rule but never a value."""

import datetime as dt
import io
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from accounting_analytics.core.errors import AmountError, FrameError
from accounting_analytics.core.schemas import (
    CashBalances,
    CashFlowLedgers,
    CashFlowLines,
    Differences,
    Ledgers,
    LineEntries,
    Table,
)

TABLES = Table.__subclasses__()
CANARY = "canary-4711"


def line_entries(scale=2, *, exact=False, **columns):
    """Three valid line entries, some columns replaced."""
    cells = {
        "id": ["le_1", "le_2", "le_3"],
        "ledger_id": ["led_1", "led_2", "led_2"],
        "ledger_name": ["Bank", "Rent", None],
        "journal_entry_id": ["je_1", "je_1", "je_1"],
        "journal_entry_description": ["May", None, "May"],
        "datetime": [dt.datetime(2025, 5, 1, tzinfo=dt.UTC)] * 3,
        "amount": [Decimal(100), Decimal(60), Decimal(40)],
        "debit_credit": ["credit", "debit", "debit"],
        "signed_amount": [Decimal(-100), Decimal(60), Decimal(40)],
        "description": ["x", "y", None],
        "transaction_id": ["tx_1", None, None],
        "related_line_entry_id": [None] * 3,
        "editable": [True, False, None],
        "opposing_ledger_ids": ["led_2|led_3", "led_1", None],
        "tag_ids": ["", "t", None],
        **columns,
    }
    return (LineEntries.exact_from_columns if exact else LineEntries.from_columns)(cells, scale)


def test_a_valid_table_passes_unchanged():
    frame = line_entries()
    assert frame["amount"].dtype == np.float64
    exact = line_entries(exact=True)
    assert exact["amount"].dtype == pd.ArrowDtype(pa.decimal128(38, 2))
    pd.testing.assert_frame_equal(LineEntries.checked(exact), frame)
    pd.testing.assert_frame_equal(LineEntries.require_valid(exact), exact)
    pd.testing.assert_frame_equal(LineEntries.checked(frame), frame)
    pd.testing.assert_frame_equal(LineEntries.require_valid(frame), frame)
    LineEntries.checked(frame.drop(columns="opposing_ledger_ids"))
    LineEntries.checked(line_entries(transaction_personal=[True, None, False]))
    LineEntries.checked(line_entries(scale=7))


@pytest.mark.parametrize("scale", [0, 10])
def test_tables_without_rows_are_valid(scale):
    for table in TABLES:
        frame = table.checked(table.without_rows(scale))
        assert frame.empty
        assert frame.attrs["scale"] == scale
        assert {frame[name].dtype for name in table.amount_columns() if name in frame} <= {np.dtype(np.float64)}, table


def test_dtypes_name_every_column():
    for table in TABLES:
        dtypes = table.dtypes()
        assert set(dtypes) == set(table.to_schema().columns)
        assert {dtypes[name] for name in table.amount_columns()} <= {np.dtype(np.float64)}, table


def test_amount_columns_are_those_of_the_interface():
    assert LineEntries.amount_columns() == ["amount", "signed_amount", "transaction_amount"]
    assert Ledgers.amount_columns() == []
    assert CashFlowLines.amount_columns() == ["amount"]
    assert CashFlowLedgers.amount_columns() == ["net_cash_flow", "total_net_cash_flow"]
    assert CashBalances.amount_columns() == ["cash_balance", "total_cash_balance"]
    assert Differences.amount_columns() == ["reported", "recomputed", "difference"]


@pytest.mark.parametrize(
    ("columns", "column", "rule"),
    [
        ({"id": [CANARY, CANARY, "le_3"]}, "id", "more than once"),
        ({"ledger_id": ["led_1", None, CANARY]}, "ledger_id", "null"),
        ({"debit_credit": ["credit", CANARY, "debit"]}, "debit_credit", "isin"),
        ({"signed_amount": [Decimal(100), Decimal(60), Decimal(40)]}, "signed_amount", r"\+amount on the debit side"),
        ({"datetime": [None, None, dt.datetime(2025, 5, 1, tzinfo=dt.UTC)]}, "datetime", "null"),
    ],
)
def test_a_wrong_table_is_refused_by_column_and_rule(columns, column, rule):
    with pytest.raises(FrameError, match=rule) as caught:
        LineEntries.checked(line_entries(**columns))
    assert column in str(caught.value)
    assert CANARY not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (line_entries().assign(memo=CANARY), "memo: column is not part of this table"),
        (line_entries().drop(columns="journal_entry_id"), "journal_entry_id: column is missing"),
        (line_entries().assign(local_date=7), r"local_date: dtype is not datetime64\[us\]"),
    ],
)
def test_other_columns_are_named(frame, message):
    with pytest.raises(FrameError, match=message):
        LineEntries.checked(frame)


OTHER_DTYPES = [
    ("id", "category"),
    ("id", "object"),
    ("ledger_name", pd.ArrowDtype(pa.large_string())),
    ("datetime", "datetime64[ns, UTC]"),
    ("datetime", "datetime64[us, Asia/Tokyo]"),
    ("datetime", "object"),
    ("datetime", "str"),
    ("datetime", pd.ArrowDtype(pa.timestamp("ms", "UTC"))),
    ("editable", "object"),
    ("tag_ids", "object"),
    ("amount", pd.ArrowDtype(pa.decimal128(38, 2))),
    ("amount", pd.ArrowDtype(pa.decimal128(20, 2))),
    ("amount", "Float64"),
    ("amount", "int64"),
    ("amount", pd.ArrowDtype(pa.int32())),
]


@pytest.mark.parametrize(("column", "dtype"), OTHER_DTYPES)
def test_other_dtypes_of_the_same_values_are_accepted(column, dtype):
    frame, given = line_entries(), line_entries().astype({column: dtype})
    pd.testing.assert_frame_equal(LineEntries.checked(given), frame)
    if column != "amount" and not (dtype == "object" and column != "datetime"):  # Pandera takes objects that are text
        with pytest.raises(FrameError, match=f"{column}: dtype is not"):
            LineEntries.require_valid(given)


def test_instants_without_a_zone_are_utc():
    """What Excel and SQL return for an instant is read as UTC."""
    frame = line_entries()
    naive = frame.assign(datetime=frame["datetime"].dt.tz_localize(None))
    pd.testing.assert_frame_equal(LineEntries.checked(naive), frame)


def test_values_are_not_converted_where_they_would_change():
    frame = line_entries()
    instants = frame["datetime"].dt.as_unit("ns") + pd.Timedelta(1, "ns")
    for column in (instants, instants.astype("str"), frame["amount"]):
        with pytest.raises(FrameError, match="datetime: dtype is not"):
            LineEntries.checked(frame.assign(datetime=column))
    for text in ("3/4/2025", "1e5", "yesterday", "2025-02-30"):
        with pytest.raises(FrameError, match="'datetime' has a cell that is not ISO 8601"):
            LineEntries.checked(frame.assign(datetime=text))


@pytest.mark.parametrize("ids", [[1, 2, 3], [1.0, 2.0, 3.0], pd.Series(["led_1", 2, "led_3"], dtype="object")])
def test_ids_are_text(ids):
    with pytest.raises(FrameError, match="ledger_id: dtype is not"):
        LineEntries.checked(line_entries().assign(ledger_id=ids))


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", pd.ArrowDtype(pa.float32()), "bool", "str", "datetime64[us]", "complex128"], ids=str
)
def test_amounts_of_other_dtypes_are_refused(dtype):
    with pytest.raises(FrameError, match=r"'amount' holds .*not exact amounts: float64 of whole minor units"):
        LineEntries.checked(line_entries().astype({"amount": dtype}))


def test_a_float_between_two_units_is_not_valid():
    off = line_entries(amount=[Decimal(100), Decimal("60.1"), Decimal(40)], signed_amount=[-100, Decimal("60.1"), 40])
    LineEntries.require_valid(off)
    for wrong in (np.nextafter(60.1, 61), 60.105, np.inf, 1e13):
        broken = off.assign(amount=[100.0, wrong, 40.0], signed_amount=[-100.0, wrong, 40.0])
        with pytest.raises(FrameError, match="amounts are whole minor units"):
            LineEntries.require_valid(broken)
    off.attrs["scale"] = 0
    with pytest.raises(FrameError, match="amounts are whole minor units"):
        LineEntries.require_valid(off)


def test_noise_of_arithmetic_is_removed_and_counted():
    frame = line_entries(
        amount=[Decimal("0.30"), Decimal("0.10"), Decimal("0.20")],
        signed_amount=[Decimal("-0.30"), Decimal("0.10"), Decimal("0.20")],
    )
    noisy = frame.assign(amount=[0.1 + 0.2, 0.1, 0.2], signed_amount=[-0.1 - 0.2, 0.1, 0.2])
    table = LineEntries.checked(noisy)
    pd.testing.assert_frame_equal(table, frame)
    assert table.attrs["notes"] == ("2 amounts had float rounding noise, which was removed.",)
    with pytest.raises(AmountError, match=r"'amount': 1 amount .* scale 2, .*: id le_2; call \.round\(2\)"):
        LineEntries.checked(frame.assign(amount=[0.3, 24.335, 0.2]))
    with pytest.raises(AmountError, match="id le_1; call"):
        LineEntries.checked(frame.assign(amount=[np.inf, 0.1, 0.2]))
    with pytest.raises(FrameError, match="null"):
        LineEntries.checked(frame.assign(amount=[np.nan, 0.1, 0.2]))


def test_scale_is_of_dtype_argument_or_attrs_else_two():
    frame = line_entries(scale=3)
    assert LineEntries.checked(frame).attrs["scale"] == 3
    for attrs in ({"load": {"scale": 3}}, {"scale": 3, "load": {"scale": 3}}):
        frame.attrs = attrs
        assert LineEntries.checked(frame).attrs["scale"] == 3
    frame.attrs = {}
    assert LineEntries.checked(frame, scale=3).attrs["scale"] == 3
    assumed = LineEntries.checked(frame)
    assert assumed.attrs["scale"] == 2
    assert assumed.attrs["notes"] == ("No scale is stated; amounts are assumed to have 2 fraction digits.",)
    assert LineEntries.checked(line_entries(scale=3, exact=True)).attrs["scale"] == 3
    with pytest.raises(FrameError, match=r"no single scale: .* state \[2, 3\]"):
        LineEntries.checked(line_entries(scale=3), scale=2)
    with pytest.raises(FrameError, match=r"state \[2, 3\]"):
        LineEntries.checked(line_entries(scale=3, exact=True), scale=2)
    two = line_entries(exact=True).astype({"signed_amount": pd.ArrowDtype(pa.decimal128(38, 3))})
    with pytest.raises(FrameError, match=r"no single scale: .* state \[2, 3\]"):
        LineEntries.checked(two)
    mixed = line_entries(scale=3).astype({"amount": pd.ArrowDtype(pa.decimal128(38, 3))})
    pd.testing.assert_frame_equal(LineEntries.checked(mixed), line_entries(scale=3))


@pytest.mark.parametrize("wrong", [-1, 11, True, "2"])
def test_scales_outside_of_0_to_10_are_refused(wrong):
    with pytest.raises(AmountError, match="scale must be"):
        LineEntries.checked(line_entries(), scale=wrong)


def test_checking_changes_no_given_frame():
    frame = line_entries()
    frame.attrs |= {"notes": ("1 line sent twice.",), "load": {"lines": 3}}
    given = frame.astype({"id": "category"})
    table = LineEntries.checked(given)
    assert table.attrs == frame.attrs
    assert given["id"].dtype == "category"
    table.loc[0, "amount"] = 5.0
    assert given["amount"].tolist() == [100.0, 60.0, 40.0]


def through_a_file(frame, form):
    """Return the frame after it was written and read."""
    stream = io.BytesIO()
    getattr(frame, f"to_{form}")(stream)
    stream.seek(0)
    return getattr(pd, f"read_{form}")(stream)


OTHERS = {
    "parquet": lambda frame: through_a_file(frame, "parquet"),
    "feather": lambda frame: through_a_file(frame, "feather"),
    "pickle": lambda frame: through_a_file(frame, "pickle"),
    "polars": lambda frame: pl.from_pandas(frame).to_pandas(),
    "polars arrow": lambda frame: pl.from_pandas(frame).to_pandas(use_pyarrow_extension_array=True),
    "duckdb": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)).to_arrow_table().to_pandas(),
    "arrow": lambda frame: pa.Table.from_pandas(frame).replace_schema_metadata(None).to_pandas(),
}


@pytest.mark.parametrize("form", OTHERS)
@pytest.mark.parametrize("frame", [line_entries(), line_entries(exact=True)])  # most return decimals as objects
def test_a_saved_table_is_taken_back(form, frame):
    pd.testing.assert_frame_equal(LineEntries.checked(OTHERS[form](frame), scale=2), line_entries())


def test_many_failures_stay_one_short_line():
    frame = pd.concat([line_entries(id=[CANARY] * 3, ledger_id=[None] * 3, debit_credit=[CANARY] * 3)] * 1000)
    with pytest.raises(FrameError) as caught:
        LineEntries.checked(frame.reset_index(drop=True))
    assert len(str(caught.value)) < 500
    assert CANARY not in str(caught.value)
