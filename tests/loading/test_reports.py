"""Cash flow reports of the service as validated frames."""

import datetime as dt
import json
from decimal import Decimal

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import ProtocolError

MARCH = ("2025-03-01", "2025-03-31")


def nested_report(**changes):
    """Return a cash flow report of a deployment that nests ledgers and sends some amounts as text."""
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


def test_nested_reports_are_flattened(connected):
    loaded = aa.load_cash_flow_report(connected(lambda _: httpx.Response(200, json=nested_report())), *MARCH)
    assert loaded.origin == "loaded"
    assert loaded.ledgers["ledger_id"].tolist() == ["a", "b"]
    assert loaded.ledgers["total_net_cash_flow"].isna().tolist() == [False, True]
    assert (loaded.net_cash_flow, loaded.identity_gap) == (Decimal("-5.00"), Decimal("0.00"))


def test_a_report_states_when_it_was_read(connected):
    before, requested = dt.datetime.now(dt.UTC), []

    def answer(_request):
        requested.append(dt.datetime.now(dt.UTC))
        return httpx.Response(200, json=nested_report())

    loaded = aa.load_cash_flow_report(connected(answer), *MARCH)
    assert before <= loaded.read_at <= requested[0]


@pytest.mark.parametrize(
    "changes", [{"starting_cash_balance": "12.345"}, {"ending_cash_balance": None}, {"cash_flow_ledgers": None}]
)
def test_reports_that_break_the_interface_are_refused(connected, changes):
    client = connected(lambda _: httpx.Response(200, json=nested_report(**changes)))
    with pytest.raises(ProtocolError, match="cash flow report"):
        aa.load_cash_flow_report(client, *MARCH)


def test_report_zone_is_given_client_or_utc_with_a_note(connected):
    configured = connected(lambda _: httpx.Response(200, json=nested_report()), time_zone="Asia/Tokyo")
    loaded = aa.load_cash_flow_report(configured, *MARCH)
    assert (loaded.period.time_zone, loaded.notes) == ("Asia/Tokyo", ())
    assert aa.load_cash_flow_report(configured, *MARCH, time_zone="UTC").period.time_zone == "UTC"
    assert [request.url.params["time_zone"] for request in configured.requests] == ["Asia/Tokyo", "UTC"]
    assumed = aa.load_cash_flow_report(
        connected(lambda _: httpx.Response(200, json=nested_report()), time_zone=None), *MARCH
    )
    assert assumed.period.time_zone == "UTC"
    assert assumed.notes == ("No time zone was given, so the days are those of UTC.",)


def test_a_report_filtered_by_tags_says_so(connected):
    """Its flows do not lead from one balance to the other."""
    client = connected(lambda _: httpx.Response(200, json=nested_report()))
    loaded = aa.load_cash_flow_report(client, *MARCH, tag_ids=["<cafe>", "online"])
    assert "only lines tagged <cafe>, online, balances are not filtered: starting cash balance" in loaded.summary()
    assert "only lines tagged &lt;cafe&gt;, online, balances" in loaded._repr_html_()
    assert json.loads(loaded.to_json())["tag_ids"] == ["<cafe>", "online"]
    assert "tagged" not in aa.load_cash_flow_report(client, *MARCH).summary()


def test_one_tag_may_be_given_as_text(connected):
    client = connected(lambda _: httpx.Response(200, json=nested_report()))
    assert aa.load_cash_flow_report(client, *MARCH, tag_ids="cafe").tag_ids == ("cafe",)
    assert client.requests[-1].url.params["tag_ids"] == "cafe"


def with_line(instant):
    line = {"line_id": "lin_9", "amount": "-5.00", "datetime": instant, "journal_entry_id": "ent_9"}
    line |= {"cash_flow_ledger_name": "Bank"}
    return nested_report(
        cash_flow_ledgers=[{"ledger_id": "b", "name": "Rent", "net_cash_flow": "-5.00", "lines": [line]}]
    )


@pytest.mark.parametrize(
    ("instant", "time_zone", "day"),
    [
        ("2025-02-28T23:59:59.999999Z", "UTC", "2025-02-28"),
        ("2025-04-01T12:00:00", "UTC", "2025-04-01"),
        ("2025-03-31T15:00:00Z", "Asia/Tokyo", "2025-04-01"),
    ],
)
def test_lines_outside_the_period_are_refused(connected, instant, time_zone, day):
    client = connected(lambda _: httpx.Response(200, json=with_line(instant)))
    with pytest.raises(ProtocolError, match=rf"cash flow report.*lin_9 of {day}.*outside 2025-03-01 to 2025-03-31"):
        aa.load_cash_flow_report(client, *MARCH, time_zone=time_zone)


@pytest.mark.parametrize(
    ("instant", "time_zone"),
    [
        ("2025-03-01T00:00:00", "UTC"),
        ("2025-03-31T14:59:59Z", "Asia/Tokyo"),
    ],
)
def test_lines_within_the_local_days_are_loaded(connected, instant, time_zone):
    client = connected(lambda _: httpx.Response(200, json=with_line(instant)))
    assert aa.load_cash_flow_report(client, *MARCH, time_zone=time_zone).lines["line_id"].tolist() == ["lin_9"]


def answer_with(content):
    """Return a handler that sends a report as text."""
    return lambda _: httpx.Response(200, content=content, headers={"content-type": "application/json"})


def test_lone_surrogates_in_a_report_are_counted(connected):
    content = json.dumps(nested_report()).replace('"Rent"', r'"Rent \ud83d"')
    loaded = aa.load_cash_flow_report(connected(answer_with(content)), *MARCH)
    assert loaded.ledgers["name"].tolist() == ["Expenses", "Rent \ufffd"]
    assert loaded.notes[0].startswith("1 character replaced in texts: lone surrogates")
    assert len(loaded.notes) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"b"', '""', r"an id is empty.*children\[\d\].ledger_id"),
        ('"b"', r'"\udc00"', "ledger_id .*lone surrogate"),
        ('"-5.00"', "NaN", "'net_cash_flow' is NaN.*'b'"),
        ('"ending_cash_balance": 5', '"ending_cash_balance": -Infinity', "'ending_cash_balance' is -Infinity"),
    ],
)
def test_broken_values_of_a_report_are_refused_immediately(connected, old, new, message):
    client = connected(answer_with(json.dumps(nested_report()).replace(old, new)))
    with pytest.raises(ProtocolError, match=message):
        aa.load_cash_flow_report(client, *MARCH)
    assert len(client.requests) == 1


@pytest.mark.parametrize("field", ["starting_cash_balance", "net_cash_flow", "cash_balance"])
def test_the_digits_of_another_scale_are_refused(connected, field):
    content = json.loads(json.dumps(nested_report()))
    parts = {"net_cash_flow": content["cash_flow_ledgers"][0], "cash_balance": content["starting_balances"][0]}
    parts.get(field, content)[field] = "0.01000001"
    client = connected(lambda _: httpx.Response(200, json=content))
    record = {"net_cash_flow": " of a", "cash_balance": " of c"}.get(field, "")
    with pytest.raises(ProtocolError, match=rf"{field}.*{record}: amount 0.01000001 does not fit 2 .*scale=8"):
        aa.load_cash_flow_report(client, *MARCH)
    loaded = aa.load_cash_flow_report(connected(lambda _: httpx.Response(200, json=content), scale=8), *MARCH)
    assert loaded.scale == 8
    assert loaded.notes == ()
