"""Tables of lines: every column has its field on the wire, and lines outside the requested days are refused."""

import datetime as dt

import msgspec
import pyarrow as pa
import pytest

import accounting_analytics as aa
from accounting_analytics.client.records import LineEntry
from accounting_analytics.core.errors import ProtocolError
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.loading.line_tables import INSTANT, columns, line_schema, require_in_period


@pytest.mark.parametrize(
    ("zone", "first", "last", "hole"),
    [
        ("UTC", "2025-03-10T00:00:00+00:00", "2025-03-10T23:59:59.999999+00:00", None),
        ("America/New_York", "2025-03-10T04:00:00+00:00", "2025-03-11T03:59:59.999999+00:00", None),
        # clocks were set back across midnight there, so one minute of the next day came before the end of this one
        ("America/Goose_Bay", "2010-11-06T03:00:00+00:00", "2010-11-07T03:59:59.999999+00:00", "2010-11-07T03:00:30Z"),
    ],
)
def test_days_are_exact_to_the_microsecond(zone, first, last, hole):
    """A day includes its first and its last microsecond, and neither the one before nor the one after."""
    start, end = (dt.datetime.fromisoformat(text) for text in (first, last))
    day = aa.Period.of(start.date(), start.date(), zone)

    def page(*moments):
        return pa.table({"id": [str(one) for one in moments], "datetime": pa.array(moments, INSTANT)})

    require_in_period(page(), day, "page 1")
    require_in_period(page(start, end), day, "page 1")
    outside = [start - dt.timedelta(microseconds=1), end + dt.timedelta(microseconds=1)]
    for instant in [*outside, *([dt.datetime.fromisoformat(hole)] if hole else [])]:
        with pytest.raises(ProtocolError, match="is outside"):
            require_in_period(page(start, instant, end), day, "page 1")


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
