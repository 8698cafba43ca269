"""Schemas: valid and invalid tables, and messages that name column and rule but never a value."""

import dataclasses
import datetime as dt
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting_analytics.cash_flow_report import CashFlowReport
from accounting_analytics.errors import AmountError, FrameError
from accounting_analytics.money import from_minor_units, pandas_dtype, to_minor_units
from accounting_analytics.periods import Period
from accounting_analytics.schemas import (
    CashBalances,
    CashFlowLedgers,
    CashFlowLines,
    Differences,
    Ledgers,
    LineEntries,
    Table,
    scale_of,
    signed,
    total,
)

TABLES = Table.__subclasses__()
CANARY = "canary-4711"


def line_entries(scale=2, **columns):
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
        "opposing_ledger_ids": [["led_2"], ["led_1"], None],
        "tag_ids": [[], ["t"], None],
        **columns,
    }
    return LineEntries.from_columns(cells, scale)


def test_a_valid_table_passes_unchanged():
    """A valid table is returned unchanged; optional columns may be absent."""
    frame = line_entries()
    pd.testing.assert_frame_equal(LineEntries.checked(frame), frame)
    LineEntries.checked(frame.drop(columns="opposing_ledger_ids"))
    LineEntries.checked(line_entries(transaction_personal=[True, None, False]))
    LineEntries.checked(line_entries(scale=7))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
@pytest.mark.parametrize("scale", [0, 2, 10])
def test_tables_without_rows_are_valid(table, scale):
    """The empty table of every kind is valid at every scale, and keeps the scale."""
    frame = table.checked(table.without_rows(scale))
    assert frame.empty
    assert {scale_of(frame[name]) for name in table.amount_columns() if name in frame} <= {scale}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_dtypes_name_every_column(table):
    """Every column, required or not, has a dtype; amounts have the requested scale."""
    dtypes = table.dtypes(4)
    assert set(dtypes) == set(table.to_schema().columns)
    assert all(dtypes[name] == pandas_dtype(4) for name in table.amount_columns())


def test_amount_columns_are_those_of_the_interface():
    """The columns annotated ``Any`` are exactly the amounts."""
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
    """The message names the column and the rule, and contains no value."""
    with pytest.raises(FrameError, match=rule) as caught:
        LineEntries.checked(line_entries(**columns))
    assert column in str(caught.value)
    assert CANARY not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_column_is_refused():
    """An undeclared column is refused."""
    with pytest.raises(FrameError, match="memo: column is not part of this table"):
        LineEntries.checked(line_entries().assign(memo=CANARY))


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ("id", "category"),
        ("datetime", "datetime64[ns, UTC]"),
        ("datetime", "datetime64[us, Asia/Tokyo]"),
        ("editable", "object"),
        ("tag_ids", "object"),
    ],
)
def test_other_dtypes_are_refused(column, dtype):
    """Nothing is coerced: another dtype is refused, naming the column."""
    with pytest.raises(FrameError, match=f"{column}: dtype is not"):
        LineEntries.checked(line_entries().astype({column: dtype}))


def test_ids_are_text():
    """Ids that were parsed as numbers are refused, also inside a column of objects."""
    for ids in ([1, 2, 3], pd.Series(["led_1", 2, "led_3"], dtype="object")):
        with pytest.raises(FrameError, match="ledger_id: dtype is not"):
            LineEntries.checked(line_entries().assign(ledger_id=ids))


@pytest.mark.parametrize("dtype", ["float64", "object", pd.ArrowDtype(pa.decimal128(20, 2)), pd.ArrowDtype(pa.int64())])
def test_amounts_are_exact_decimals(dtype):
    """Floats, objects, integers and narrower decimals are refused as amounts."""
    frame = line_entries().astype({"amount": dtype})
    with pytest.raises(FrameError, match=r"'amount' holds .*not exact amounts"):
        LineEntries.checked(frame)


def test_a_missing_column_is_named():
    """A missing column is named."""
    with pytest.raises(FrameError, match="journal_entry_id: column is missing"):
        LineEntries.checked(line_entries().drop(columns="journal_entry_id"))


def test_one_table_has_one_scale():
    """Amounts of two scales in one table are refused."""
    frame = line_entries().astype({"signed_amount": pandas_dtype(3)})
    with pytest.raises(FrameError, match=r"different scales \[2, 3\]"):
        LineEntries.checked(frame)


def test_many_failures_stay_one_short_line():
    """Thousands of failing rows give one line of bounded length."""
    frame = pd.concat([line_entries(id=[CANARY] * 3, ledger_id=[None] * 3, debit_credit=[CANARY] * 3)] * 1000)
    with pytest.raises(FrameError) as caught:
        LineEntries.checked(frame.reset_index(drop=True))
    assert len(str(caught.value)) < 500
    assert CANARY not in str(caught.value)


UNITS = st.integers(-(10**38) + 1, 10**38 - 1)


@settings(deadline=None)
@given(st.lists(UNITS, max_size=20), st.integers(0, 10))
def test_totals_are_exact(units, scale):
    """A column's total is exact while it fits 38 digits (128-bit sums would wrap around silently), else refused."""
    column = pd.Series([from_minor_units(unit, scale) for unit in units], dtype=pandas_dtype(scale))
    if abs(sum(units)) < 10**38:
        assert to_minor_units(total(column), scale) == sum(units)
    else:
        with pytest.raises(AmountError, match="digits before the point"):
            total(column)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**37), 10**37), st.sampled_from(["debit", "credit"])), max_size=20))
def test_signed_columns_follow_the_sides(rows):
    """Each signed amount is plus or minus its amount, exactly, in the same dtype and index."""
    amounts = pd.Series([Decimal(units) for units, _ in rows], dtype=pandas_dtype(0), index=range(5, 5 + len(rows)))
    sides = pd.Series([side for _, side in rows], dtype="str", index=amounts.index)
    column = signed(amounts, sides)
    assert column.dtype == amounts.dtype
    assert column.index.equals(amounts.index)
    assert [int(amount) for amount in column] == [units if side == "debit" else -units for units, side in rows]


def report(net, start, end):
    """Return a report without lines: one ledger and its net flow, one cash ledger and its balances."""
    amounts = pandas_dtype(2)
    ledgers = pd.DataFrame(
        {
            "ledger_id": ["led_2"],
            "name": ["<script>alert(1)</script>"],
            "net_cash_flow": pd.Series([net], dtype=amounts),
            "total_net_cash_flow": pd.Series([None], dtype=amounts),
        }
    )
    starting, ending = (
        pd.DataFrame(
            {
                "ledger_id": ["led_1"],
                "ledger_name": ["Bank"],
                "sort_code": ["10"],
                "cash_balance": pd.Series([balance], dtype=amounts),
                "total_cash_balance": pd.Series([balance], dtype=amounts),
            }
        )
        for balance in (start, end)
    )
    return CashFlowReport(
        period=Period.of("2025-05-01", "2025-05-31"),
        ledgers=ledgers,
        lines=CashFlowLines.without_rows(2),
        starting_balances=starting,
        ending_balances=ending,
        starting_cash_balance=start,
        ending_cash_balance=end,
    )


def test_the_identity_gap_is_exact():
    """A difference of a cent is found in balances of 36 digits, which Decimal's default context would round."""
    huge = Decimal("123456789012345678901234567890123456.78")
    assert report(Decimal("0.01"), huge, huge).checked().identity_gap == Decimal("0.01")
    assert report(Decimal("0.00"), huge, huge).identity_gap == 0


def test_a_report_checks_all_its_tables():
    """An invalid table anywhere in a report is found."""
    sound = report(Decimal(0), Decimal(1), Decimal(1)).checked()
    assert sound.scale == 2
    for name in ("ledgers", "lines", "starting_balances", "ending_balances"):
        with pytest.raises(FrameError, match="column is missing"):
            dataclasses.replace(sound, **{name: getattr(sound, name).drop(columns="ledger_id")}).checked()


def test_a_report_shows_names_as_text():
    """Names from the books are escaped in the notebook, and the totals are above the table."""
    html = report(Decimal("1234.50"), Decimal(0), Decimal("1234.50"))._repr_html_()
    assert "<script>" not in html
    assert "1,234.50" in html


def test_an_anchored_report_says_so():
    """The HTML says that a starting balance was given."""
    assert "anchored" in dataclasses.replace(report(Decimal(0), Decimal(1), Decimal(1)), anchored=True)._repr_html_()
    assert total(pd.Series([], dtype=pandas_dtype(2))) == 0
