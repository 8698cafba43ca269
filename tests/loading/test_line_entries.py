"""Line entries as a frame: every value is exact, normalized and counted, or refused; columns and their fields."""

import math
from decimal import Decimal
from zoneinfo import ZoneInfo

import httpx
import msgspec
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.client.records import LineEntry
from accounting_analytics.core.errors import AmountError, InputError, NotFoundError, ProtocolError
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.loading.arrow_lines import columns, line_schema

MARCH = ("2025-03-01", "2025-03-31")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("12.50", "12.50"),
        (12.5, "12.50"),
        ("1e3", "1000.00"),
        ("12.50000", "12.50"),
        ("-7.00", "-7.00"),
        ("-0", "0.00"),
        ("9999999999999.99", "9999999999999.99"),
        ("-9999999999999.99", "-9999999999999.99"),
    ],
)
def test_amounts_are_exact(connected, pages, line, sent, read):
    floats = aa.load_line_entries(connected(pages([line(amount=sent)])), ["led_1"], *MARCH)
    assert floats["amount"].tolist() == floats["signed_amount"].tolist() == [float(read)]
    assert floats["amount"].dtype == floats["signed_amount"].dtype == "float64"
    assert math.copysign(1, floats["amount"][0]) == math.copysign(1, float(read))
    assert (floats.attrs["notes"], floats.attrs["scale"]) == ((), 2)


@pytest.mark.parametrize("sent", ["10000000000000.00", "-10000000000000.00", "9" * 36 + ".99"])
def test_amounts_too_large_for_floats_are_named(connected, pages, line, sent):
    lines = [line(1), line(2, amount=sent), line(3)]
    with pytest.raises(AmountError) as caught:
        aa.load_line_entries(connected(pages(lines)), ["led_1"], *MARCH)
    for part in ("line entry lin_2 of ledger led_1", f"{Decimal(sent):,f}", "local books on an engine and Parquet"):
        assert part in str(caught.value)


def test_a_nested_amount_too_large_for_floats_is_named(connected, pages, line):
    transaction = {"id": "txn_1", "amount": "10000000000000.00"}
    with pytest.raises(AmountError, match="line entry lin_1 of ledger led_1: transaction_amount: "):
        aa.load_line_entries(connected(pages([line(transaction=transaction)])), ["led_1"], *MARCH)


@pytest.mark.parametrize("scale", [0, 5, 10])
def test_the_scale_of_the_client_is_that_of_the_frame(connected, pages, line, scale):
    sent = Decimal(10**15 - 1).scaleb(-scale)
    client = connected(pages([line(amount=f"{sent:f}")]), scale=scale)
    frame = aa.load_line_entries(client, ["led_1"], *MARCH)
    assert frame["amount"].tolist() == [float(sent)]
    assert frame.attrs["scale"] == scale


@pytest.mark.parametrize(
    ("sent", "read"),
    [("0.30000000000000004", 0.3), ("31282.27999999999883584678173065185546875", 31282.28), (0.1 + 0.2, 0.3)],
)
def test_rounding_noise_is_removed_and_counted(connected, pages, line, sent, read):
    frame = aa.load_line_entries(connected(pages([line(amount=sent), line(2)])), ["led_1"], *MARCH)
    assert frame["amount"][0] == read
    assert frame.attrs["notes"] == (
        "1 amount had float rounding noise, within 1e-6 of the exact value, which was removed.",
    )


@pytest.mark.parametrize("field", ["amount", "transaction"])
@pytest.mark.parametrize("sent", ["0.01000001", 0.01000001, "1.000001e-2"])
def test_the_digits_of_another_scale_are_no_noise(connected, pages, line, sent, field):
    transaction = {"id": "txn_1", "amount": sent}
    sent_line = line(amount=sent) if field == "amount" else line(amount="1.00", transaction=transaction)
    message = r"page 1.*: .*amount of line lin_1: amount .* does not fit 2 fraction digits; .*scale=8"
    with pytest.raises(ProtocolError, match=message):
        aa.load_line_entries(connected(pages([sent_line])), ["led_1"], *MARCH)
    frame = aa.load_line_entries(connected(pages([sent_line]), scale=8), ["led_1"], *MARCH)
    assert frame["amount" if field == "amount" else "transaction_amount"].tolist() == [0.01000001]
    assert aa.notes(frame) == ()


@pytest.mark.parametrize(
    ("zone", "date"), [("UTC", "2025-03-10"), ("Pacific/Auckland", "2025-03-11"), ("America/Adak", "2025-03-10")]
)
def test_the_local_date_is_the_day_of_the_line(connected, pages, line, zone, date):
    sent = line(datetime="2025-03-10T12:00:00Z")
    frame = aa.load_line_entries(connected(pages([sent])), ["led_1"], *MARCH, time_zone=zone)
    assert frame["local_date"].tolist() == [pd.Timestamp(date)]
    assert frame["local_date"].dtype == "datetime64[us]"


@pytest.mark.parametrize(("zone", "noted"), [("America/New_York", True), ("Asia/Tokyo", True), ("UTC", False)])
def test_midnights_of_a_service_are_instants(connected, pages, line, zone, noted):
    client = connected(pages([line(datetime="2025-03-10T00:00:00Z")]))
    frame = aa.load_line_entries(client, ["led_1"], *MARCH, time_zone=zone)
    assert frame["local_date"].dt.day.tolist() == [9 if zone == "America/New_York" else 10]
    assert (
        any(
            f"midnights of UTC. They are read as instants, of which the day in {zone}" in one for one in aa.notes(frame)
        )
        == noted
    )


def test_lists_of_ids_are_joined_text(connected, pages, line):
    sent = [
        line(1, opposing_ledger_ids=["a", "b"], tags=[{"id": "t"}]),
        line(2, opposing_ledger_ids=[], tags=[]),
        line(3, opposing_ledger_ids=None, tags=None),
    ]
    frame = aa.load_line_entries(connected(pages(sent)), ["led_1"], *MARCH)
    assert frame[["opposing_ledger_ids", "tag_ids"]].fillna("null").to_numpy().tolist() == [
        ["a|b", "t"],
        ["", ""],
        ["null", "null"],
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"opposing_ledger_ids": ["a|b"]},
        {"tags": [{"id": "a|b"}]},
        {"journal_entry": {"id": "ent_1", "line_entry_ids": ["a", "a|b"]}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_ids_with_the_separator_are_refused(connected, pages, line, change):
    """An id in a list that has the separator would be read as two."""
    with pytest.raises(ProtocolError, match=r"ledger led_1.*page 1\): .*id 'a\|b' contains '\|'"):
        aa.load_line_entries(connected(pages([line(**change)])), ["led_1"], *MARCH)


@pytest.mark.parametrize(
    "sent", ["12.345", "1,000.00", "NaN", "Infinity", "1e400", "", " 1 000", None, True, [], "1e37"]
)
def test_other_amounts_are_refused_by_place(connected, pages, line, sent):
    with pytest.raises(ProtocolError) as caught:
        aa.load_line_entries(connected(pages([line(1)], [line(2), line(3, amount=sent)])), ["led_1"], *MARCH)
    for place in ("led_1", "page 2", "lin_3", "amount"):
        assert place in str(caught.value)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("2025-03-10T12:00:00Z", "2025-03-10T12:00:00"),
        ("2025-03-10T12:00:00", "2025-03-10T12:00:00"),
        ("2025-03-10 12:00:00+05:30", "2025-03-10T06:30:00"),
        ("2025-03-10T12:00:00.123456Z", "2025-03-10T12:00:00.123456"),
    ],
)
def test_instants_are_utc_microseconds(connected, pages, line, sent, read):
    frame = aa.load_line_entries(connected(pages([line(datetime=sent)])), ["led_1"], *MARCH)
    assert frame["datetime"].tolist() == [pd.Timestamp(read, tz="UTC")]
    assert str(frame["datetime"].dtype) == "datetime64[us, UTC]"


@pytest.mark.parametrize(
    "change",
    [
        {"datetime": "2025-03-10"},
        {"datetime": 1741608000},
        {"datetime": None},
        {"debit_credit": "DR"},
        {"debit_credit": None},
        {"ledger_id": None},
        {"journal_entry_id": None},
        {"id": 7},
    ],
)
def test_lines_that_break_the_interface_are_refused(connected, pages, line, change):
    with pytest.raises(ProtocolError, match="led_1"):
        aa.load_line_entries(connected(pages([line() | change])), ["led_1"], *MARCH)


def test_optional_fields_may_be_absent(connected, pages, line):
    sent = [line("00123", extra={"deep": [1]}), line("1e5", description=None, tags=None, transaction=None)]
    frame = aa.load_line_entries(connected(pages(sent)), ["led_1"], *MARCH)
    assert frame["id"].tolist() == ["lin_00123", "lin_1e5"]
    assert frame[["description", "transaction_id", "tag_ids", "transaction_amount"]].isna().all().all()


def test_columns_without_expansion_are_absent(connected, pages, line):
    frame = aa.load_line_entries(connected(pages([line()])), ["led_1"], *MARCH, expand=())
    assert {"opposing_ledger_ids", "transaction_amount", "journal_entry_line_entry_ids"} & set(frame) == set()


def test_lines_are_ordered_and_repeats_kept_once(connected, pages, line):
    late = line(1, datetime="2025-03-20T00:00:00Z")
    frame = aa.load_line_entries(connected(pages([late, line(3)], [line(2), late])), ["led_1"], *MARCH)
    assert frame["id"].tolist() == ["lin_2", "lin_3", "lin_1"]
    assert frame.attrs["notes"] == ("1 line sent more than once with the same content, and kept once.",)


def test_one_line_with_two_contents_is_refused(connected, pages, line):
    """An id with two contents means that the books changed during the load."""
    with pytest.raises(ProtocolError, match=r"lin_1 was sent twice.*load again"):
        aa.load_line_entries(connected(pages([line(1)], [line(1, amount="9.99")])), ["led_1"], *MARCH)


def test_instants_outside_the_calendar_are_refused(connected, pages, line):
    client = connected(pages([line(datetime="0001-01-01T00:00:00+05:00")]))
    with pytest.raises(ProtocolError, match="outside the calendar"):
        aa.load_line_entries(client, ["led_1"], "0001-01-01", "0001-01-02")


def test_an_empty_ledger_is_a_valid_frame(connected, pages):
    frame = LineEntries.checked(aa.load_line_entries(connected(pages([])), ["led_1"], *MARCH))
    assert len(frame) == 0
    assert "opposing_ledger_ids" in frame


@pytest.mark.parametrize("ids", [pd.DataFrame({"id": ["led_1"]}), None, 7])
def test_ledger_ids_are_a_column_not_a_frame(connected, pages, line, ids):
    with pytest.raises(
        InputError, match=rf"ledger_ids is a {type(ids).__name__}; give the ids, such as ledgers\['id'\]"
    ):
        aa.load_line_entries(connected(pages([line()])), ids, *MARCH)
    with pytest.raises(InputError, match="contains None, which is not an id"):
        aa.load_line_entries(connected(pages([line()])), [None], *MARCH)
    frame = aa.load_line_entries(connected(pages([line()])), pd.Series(["led_1"]), *MARCH)
    assert len(frame) == 1


def test_the_traceback_of_a_failed_load_is_short(connected):
    client = connected(lambda _: httpx.Response(404, json={"message": "no such ledger"}))
    with pytest.raises(NotFoundError, match="no such ledger") as caught:
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert [frame.name for frame in caught.traceback][1:] == [
        "load_line_entries",
        "load_windows",
        "read_windows",
        "run_in_parallel",
    ]


@pytest.fixture
def served_page(pages, line):
    return pages([line()])


ASSUMED = "No time zone was given, so the days are those of UTC."


@pytest.mark.parametrize(
    ("zones", "note"),
    [
        ((None, None, "UTC"), (ASSUMED,)),
        ((None, "Asia/Tokyo", "Asia/Tokyo"), ()),
        (("Asia/Tokyo", None, "Asia/Tokyo"), ()),
        ((ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Berlin"), "Europe/Berlin"), ()),
        (("HST", None, "HST"), ("HST does not follow summer time: it is UTC-10:00 all year.",)),
    ],
)
def test_load_zone_is_given_client_or_utc_with_a_note(connected, served_page, zones, note):
    configured, given, sent = zones
    client = connected(served_page, time_zone=configured)
    frame = aa.load_line_entries(client, ["led_1"], *MARCH, time_zone=given)
    assert frame.attrs["load"]["time_zone"] == sent
    assert frame.attrs["notes"] == note
    assert {request.url.params["time_zone"] for request in client.requests} == {sent}


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
    assert {column.path for column in columns()} - wire_fields(msgspec.inspect.type_info(LineEntry)) == {""}
    assert [column.name for column in columns() if not column.path] == ["signed_amount"]


def test_columns_are_those_of_frames():
    names = list(LineEntries.to_schema().columns)
    assert line_schema(EVERYTHING, 2).names == [name for name in names if name != "local_date"]
