"""Columns of JSON: every value reads back as what it was made of."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.service.operations.transaction_columns import (
    TransactionLine,
    line_columns,
    transaction_columns,
    transaction_fields,
)
from accounting_analytics.service.wire import json_columns
from accounting_analytics.service.wire.rendering import encode, timestamp
from accounting_analytics.service.wire.stored_records import microseconds
from accounting_analytics.service.wire.units import number_text, split

UNITS = st.lists(st.integers(-(10**20) + 1, 10**20 - 1), min_size=1, max_size=20)
INSTANTS = st.datetimes(timezones=st.just(dt.UTC))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\x00\x1f\x7f\u2028'), max_size=20)


@given(UNITS, st.integers(0, 10))
def test_numbers_are_the_exact_decimals(amounts, scale):
    """Amounts of any size and sign come out as the one number text of each, and sum exactly."""
    column = json_columns.units(*zip(*map(split, amounts), strict=True))
    numbers = json_columns.numbers(column, scale).to_pylist()
    assert numbers == [number_text(units, scale) for units in amounts]
    assert [Decimal(number) for number in numbers] == [Decimal(units).scaleb(-scale) for units in amounts]
    assert int(pc.sum(column).as_py()) == sum(amounts)


@given(st.lists(INSTANTS | INSTANTS.map(lambda instant: instant.replace(microsecond=0)), min_size=1, max_size=10))
def test_timestamps_are_iso_8601_in_utc(instants):
    """Instants of all years come out with the zone, and with a fraction only where there is one."""
    shown = json_columns.timestamps([microseconds(instant) for instant in instants]).to_pylist()
    assert shown == [instant.isoformat().replace("+00:00", "Z") for instant in instants]
    assert shown == [timestamp(microseconds(instant)) for instant in instants]


@given(st.lists(TEXTS | st.none(), min_size=1, max_size=10))
def test_texts_are_escaped_where_they_must_be(values):
    """Any text reads back as it was, beside texts that need no escape and texts that are not there."""
    inside = json_columns.texts(values).to_pylist()
    assert [None if text is None else json.loads(f'"{text}"') for text in inside] == values


@given(UNITS, TEXTS, TEXTS | st.none(), st.booleans())
def test_one_transaction_is_shown_like_thousands(amounts, said, source, personal):
    """The form for one transaction and the one for columns of them say the same."""
    rows = [
        TransactionLine(
            1, "lin_1", 2, 1_735_689_600_500_000, "debit", *split(units), "", "ent_1", "", "txn_1", said, personal,
            "posted", "reviewed", source, "user",
        )
        for units in amounts
    ]  # fmt: skip
    columns = transaction_columns(line_columns(rows), '"led_1"', 2).to_pylist()
    alone = [encode(transaction_fields(row, "led_1", 2)) for row in rows]
    exact = {"parse_float": Decimal, "parse_int": Decimal}
    assert [json.loads(f"{{{text}}}", **exact) for text in columns] == [json.loads(text, **exact) for text in alone]


def test_joined_texts_are_null_where_a_part_is():
    """What is not there takes all that is put together with it along."""
    assert json_columns.joined("a", pa.array(["b", None]), "c").to_pylist() == ["abc", None]


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4), min_size=1, max_size=5), st.integers(0, 3))
def test_elements_stand_between_commas(groups, before):
    """Rows become the insides of JSON arrays, as many to each as asked, whatever they were cut from."""
    rows = pa.array([*["before,"] * before, *(f"{number}," for group in groups for number in group), "after,"])
    texts = json_columns.elements(rows.slice(before), [len(group) for group in groups])
    assert [json.loads(b"[" + text.to_pybytes() + b"]") for text in texts] == groups
