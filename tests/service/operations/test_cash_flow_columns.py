"""Columns of JSON: every value reads back as the value it was made from."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.service.operations import cash_flow_lines
from accounting_analytics.service.wire.response_models import CashFlowLine, encode, number
from accounting_analytics.service.wire.stored_values import microseconds, number_text, split_units

AMOUNTS = st.integers(-(10**20) + 1, 10**20 - 1)
UNITS = st.lists(AMOUNTS, min_size=1, max_size=20)
INSTANTS = st.datetimes(timezones=st.just(dt.UTC))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\x00\x1f\x7f\u2028'), max_size=20)


@given(UNITS, st.integers(0, 10))
def test_numbers_are_the_exact_decimals(amounts, scale):
    """Amounts of any size and sign become the number text of each, and sum exactly."""
    column = cash_flow_lines.units(*zip(*map(split_units, amounts), strict=True))
    numbers = cash_flow_lines.numbers(column, scale).to_pylist()
    assert numbers == [number_text(units, scale) for units in amounts]
    assert [Decimal(number) for number in numbers] == [Decimal(units).scaleb(-scale) for units in amounts]
    assert int(pc.sum(column).as_py()) == sum(amounts)


@given(st.lists(INSTANTS | INSTANTS.map(lambda instant: instant.replace(microsecond=0)), min_size=1, max_size=10))
def test_timestamps_are_iso_8601_in_utc(instants):
    """Instants of all years have a zone, and a fraction only if it is not zero."""
    texts = cash_flow_lines.timestamps([microseconds(instant) for instant in instants]).to_pylist()
    assert texts == [instant.isoformat().replace("+00:00", "Z") for instant in instants]


@given(st.lists(TEXTS, min_size=1, max_size=10))
def test_texts_are_escaped(values):
    """Any text reads back as it was, beside texts that need no escape."""
    escaped = cash_flow_lines.texts(values).to_pylist()
    assert [json.loads(f'"{text}"') for text in escaped] == values


@given(st.lists(st.tuples(AMOUNTS, INSTANTS, TEXTS, TEXTS), min_size=1, max_size=10), st.integers(0, 10))
def test_columns_are_the_bytes_of_the_structs(lines, scale):
    """Lines rendered by column are, byte for byte, the encoded structs that the OpenAPI document describes."""
    amounts, instants, names, descriptions = zip(*lines, strict=True)
    ids = [f"lin_{index}" for index in range(len(lines))]
    signed = cash_flow_lines.units(*zip(*map(split_units, amounts), strict=True))
    rendered = cash_flow_lines.objects(
        CashFlowLine,
        {
            "line_id": cash_flow_lines.texts(ids),
            "amount": cash_flow_lines.numbers(signed, scale),
            "datetime": cash_flow_lines.timestamps([microseconds(instant) for instant in instants]),
            "cash_flow_ledger_name": cash_flow_lines.texts(names),
            "journal_entry_id": cash_flow_lines.texts(ids),
            "journal_entry_description": cash_flow_lines.texts(descriptions),
        },
    )
    structs = [
        CashFlowLine(
            line_id=line_id,
            amount=number(units, scale),
            datetime=instant,
            cash_flow_ledger_name=name,
            journal_entry_id=line_id,
            journal_entry_description=description,
        )
        for line_id, (units, instant, name, description) in zip(ids, lines, strict=True)
    ]
    assert rendered.to_pylist() == [f"{encode(line).decode()}," for line in structs]


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4), min_size=1, max_size=5), st.integers(0, 3))
def test_slices_are_separated_by_commas(groups, before):
    """Rows become the elements of JSON arrays, as many in each as its count, also if the rows are a slice."""
    rows = pa.array([*["before,"] * before, *(f"{number}," for group in groups for number in group), "after,"])
    texts = cash_flow_lines.slices(rows.slice(before), [len(group) for group in groups])
    assert [json.loads(b"[" + text.to_pybytes() + b"]") for text in texts] == groups
