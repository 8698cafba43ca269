"""The table of columns: every column has its field on the wire and its column in frames."""

import msgspec
import pyarrow as pa
import pytest

from accounting_analytics.client.records import LineEntry
from accounting_analytics.loader.line_entry_schema import columns, line_schema
from accounting_analytics.schemas import LineEntries

EVERYTHING = frozenset({"transaction", "journal_entry", "opposing_ledger_ids"})


def wire_fields(kind, prefix=""):
    """Return the paths of all fields of a line, nested ones too, but for nested ledgers."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return {path for one in kind.types for path in wire_fields(one, prefix)}
    if isinstance(kind, msgspec.inspect.ListType):
        return wire_fields(kind.item_type, prefix)
    if not isinstance(kind, msgspec.inspect.StructType) or prefix == "ledger.":
        return set()
    paths = {f"{prefix}{field.name}" for field in kind.fields}
    return paths.union(*(wire_fields(field.type, f"{prefix}{field.name}.") for field in kind.fields))


def test_every_column_has_a_field_on_the_wire():
    """The path of a column leads to a field of the wire records; only signed_amount is calculated."""
    assert {column.path for column in columns()} - wire_fields(msgspec.inspect.type_info(LineEntry)) == {""}
    assert [column.name for column in columns() if not column.path] == ["signed_amount"]


def test_columns_are_those_of_frames():
    """Tables have the columns of LineEntries in the same order, but for the local date, which frames and files get."""
    names = list(LineEntries.to_schema().columns)
    assert line_schema(EVERYTHING, 2).names == [name for name in names if name != "local_date"]


@pytest.mark.parametrize("expansion", sorted(EVERYTHING))
def test_columns_need_their_expansion(expansion):
    """Without an expansion its columns are absent."""
    absent = {column.name for column in columns() if column.expansion == expansion}
    assert absent
    assert set(line_schema(EVERYTHING, 2).names) - set(line_schema(EVERYTHING - {expansion}, 2).names) == absent


@pytest.mark.parametrize("scale", [0, 2, 10])
def test_amounts_have_the_scale_of_the_load(scale):
    """Amounts are exact decimals of the scale."""
    schema = line_schema(EVERYTHING, scale)
    amounts = [field.type for field in schema if pa.types.is_decimal(field.type)]
    assert amounts == [pa.decimal128(38, scale)] * 3
