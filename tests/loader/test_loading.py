"""Pages and reports into frames: every value exact, counted or refused; nothing in between."""

from decimal import Decimal

import httpx
import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import InputError, NotFoundError, ProtocolError
from accounting_analytics.schemas import LineEntries

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
        ("999999999999999999999999999999999999.99", "999999999999999999999999999999999999.99"),
    ],
)
def test_amounts_are_exact(connected, pages, line, sent, read):
    """Numbers and number texts come in at the scale; a negative amount is kept, and means the other side."""
    frame = aa.load_line_entries(connected(pages([line(amount=sent)])), ["led_1"], *MARCH)
    assert frame["amount"].tolist() == frame["signed_amount"].tolist() == [Decimal(read)]
    assert frame.attrs["notes"] == ()


@pytest.mark.parametrize("sent", ["0.30000000000000004", "31282.27999999999883584678173065185546875", 0.1 + 0.2])
def test_float_dust_is_removed_and_counted(connected, pages, line, sent):
    """A value within 1e-6 of an exact one is that one, and the load says how many there were."""
    frame = aa.load_line_entries(connected(pages([line(amount=sent), line(2)])), ["led_1"], *MARCH)
    assert frame["amount"][0] in {Decimal("0.30"), Decimal("31282.28")}
    assert frame.attrs["notes"] == (
        "1 amount(s) had float rounding noise, within 1e-6 of the exact value, which was removed.",
    )


@pytest.mark.parametrize(
    "sent", ["12.345", "1,000.00", "NaN", "Infinity", "1e400", "", " 1 000", None, True, [], "1e37"]
)
def test_other_amounts_are_refused_by_place(connected, pages, line, sent):
    """Whatever is no exact amount is refused, naming ledger, page, line and field."""
    with pytest.raises(ProtocolError) as caught:
        aa.load_line_entries(connected(pages([line(1)], [line(2), line(3, amount=sent)])), ["led_1"], *MARCH)
    for said in ("led_1", "page 2", "lin_3", "amount"):
        assert said in str(caught.value)


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
    """Offsets are applied, no designator is UTC, microseconds stay."""
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
        {"ledger_id": "led_2"},
        {"datetime": "2025-04-01T12:00:00Z"},
    ],
)
def test_lines_that_break_the_interface_are_refused(connected, pages, line, change):
    """A missing or wrong required field, a foreign ledger's line and a line outside the period are errors."""
    with pytest.raises(ProtocolError, match="led_1"):
        aa.load_line_entries(connected(pages([line() | change])), ["led_1"], *MARCH)


def test_optional_fields_may_be_absent_or_null_and_others_extra(connected, pages, line):
    """Absent and null are both null; what the interface does not know is passed over; ids are never numbers."""
    sent = [line("00123", extra={"deep": [1]}), line("1e5", description=None, tags=None, transaction=None)]
    frame = aa.load_line_entries(connected(pages(sent)), ["led_1"], *MARCH)
    assert frame["id"].tolist() == ["lin_00123", "lin_1e5"]
    assert frame[["description", "transaction_id", "tag_ids", "transaction_amount"]].isna().all().all()


def test_unexpanded_is_no_column(connected, pages, line):
    """What was not asked for is not a column of nulls."""
    frame = aa.load_line_entries(connected(pages([line()])), ["led_1"], *MARCH, expand=())
    assert {"opposing_ledger_ids", "transaction_amount", "journal_entry_line_entry_ids"} & set(frame) == set()


def test_order_and_repeats(connected, pages, line):
    """Lines come out by (datetime, id) whatever the order of the pages; the same line twice counts once."""
    late = line(1, datetime="2025-03-20T00:00:00Z")
    frame = aa.load_line_entries(connected(pages([late, line(3)], [line(2), late])), ["led_1"], *MARCH)
    assert frame["id"].tolist() == ["lin_2", "lin_3", "lin_1"]
    assert frame.attrs["notes"] == ("1 line(s) were sent more than once with the same content and kept once.",)


def test_one_line_with_two_contents_is_refused(connected, pages, line):
    """The same id with other content means that the books changed while they were read."""
    with pytest.raises(ProtocolError, match=r"lin_1 was sent twice.*load again"):
        aa.load_line_entries(connected(pages([line(1)], [line(1, amount="9.99")])), ["led_1"], *MARCH)


def test_instants_outside_the_calendar_are_refused(connected, pages, line):
    """An instant that has no UTC date is an error, not a crash."""
    client = connected(pages([line(datetime="0001-01-01T00:00:00+05:00")]))
    with pytest.raises(ProtocolError, match="outside the calendar"):
        aa.load_line_entries(client, ["led_1"], "0001-01-01", "0001-01-02")


def test_no_lines_are_a_valid_frame(connected, pages):
    """An empty ledger gives an empty table with all its columns."""
    frame = LineEntries.checked(aa.load_line_entries(connected(pages([])), ["led_1"], *MARCH))
    assert len(frame) == 0
    assert "opposing_ledger_ids" in frame


@pytest.mark.parametrize("ids", [pd.DataFrame({"id": ["led_1"]}), None, 7])
def test_what_holds_no_ids_is_refused(connected, pages, line, ids):
    """A table of ledgers iterates over the names of its columns: it is told how to give the ids instead."""
    with pytest.raises(
        InputError, match=rf"ledger_ids is a {type(ids).__name__}; give the ids, such as ledgers\['id'\]"
    ):
        aa.load_line_entries(connected(pages([line()])), ids, *MARCH)
    frame = aa.load_line_entries(connected(pages([line()])), pd.Series(["led_1"]), *MARCH)
    assert len(frame) == 1


def test_failure_is_never_an_empty_frame(connected, pages, line):
    """One ledger that fails fails the load."""
    ours = pages([line()])

    def answer(request):
        return ours(request) if "led_1" in request.url.path else httpx.Response(404)

    with pytest.raises(NotFoundError, match="led_2"):
        aa.load_line_entries(connected(answer), ["led_1", "led_2"], *MARCH)


def report(**changes):
    """Return a cash flow report as a deployment with nested children and text amounts sends it."""
    child = {"ledger_id": "b", "name": "Rent", "net_cash_flow": "-5.00", "lines": []}
    return {
        "cash_flow_ledgers": [
            {
                "ledger_id": "a",
                "name": "Expenses",
                "net_cash_flow": 0,
                "total_net_cash_flow": "-5.00",
                "children": [child],
            }
        ],
        "starting_balances": [{"ledger_id": "c", "ledger_name": "Bank", "sort_code": "1", "cash_balance": "10.00"}],
        "ending_balances": [{"ledger_id": "c", "ledger_name": "Bank", "sort_code": "1", "cash_balance": 5}],
        "starting_cash_balance": "10.00",
        "ending_cash_balance": 5,
    } | changes


def test_reports_of_other_shapes_are_read(connected):
    """Nested ledgers, totals as text and missing totals are read; the identity holds."""
    loaded = aa.load_cash_flow_report(connected(lambda _: httpx.Response(200, json=report())), *MARCH)
    assert loaded.ledgers["ledger_id"].tolist() == ["a", "b"]
    assert loaded.ledgers["total_net_cash_flow"].isna().tolist() == [False, True]
    assert (loaded.net_cash_flow, loaded.identity_gap) == (Decimal("-5.00"), Decimal("0.00"))


@pytest.mark.parametrize(
    "changes", [{"starting_cash_balance": "12.345"}, {"ending_cash_balance": None}, {"cash_flow_ledgers": None}]
)
def test_reports_that_break_the_interface_are_refused(connected, changes):
    """No report is guessed."""
    client = connected(lambda _: httpx.Response(200, json=report(**changes)))
    with pytest.raises(ProtocolError, match="cash flow report"):
        aa.load_cash_flow_report(client, *MARCH)
