"""Whole loads: windows that fail, changes at the end of a ledger, partial loads, metadata."""

import datetime as dt
import itertools
import json

import httpx
import pytest
from resumable_loads import load_resumable

import accounting_analytics as aa
from accounting_analytics.core.errors import (
    ChangedWhileReadingError,
    ServerFaultError,
    StatusError,
)

MARCH = ("2025-03-01", "2025-03-31")
DAYS = [f"2025-03-{day:02}" for day in range(1, 32)]


def test_a_failing_window_fails_the_load(connected, make_ledgers, spread):
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 900)}))

    def answer(request):
        if request.url.params["start_date"] > "2025-03-20":
            return httpx.Response(500)
        return service(request)

    with pytest.raises(ServerFaultError, match="nothing was kept"):
        aa.load_line_entries(connected(answer), ["led_1"], *MARCH)


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines.append(lines[-1] | {"id": "lin_new"}),
        lambda lines: lines.pop(),
        lambda lines: lines.append(lines.pop() | {"amount": "0.01"}),
    ],
    ids=["added", "removed", "changed"],
)
def test_changes_at_the_end_of_a_ledger_are_found(connected, make_ledgers, spread, change):
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 40)}), page_size=500)

    def answer(request):
        if service.requests == 3:
            service.change(change)
        return service(request)

    client = connected(answer)
    with pytest.raises(ChangedWhileReadingError, match=r"led_1 changed during the load: 1 line.*lin_.*load again"):
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert len(aa.load_line_entries(client, ["led_1"], *MARCH)) == len(service.lines)


def test_a_load_without_any_window_fails(connected):
    with pytest.raises(ServerFaultError):
        aa.load_line_entries(connected(lambda _: httpx.Response(500)), ["led_1"], *MARCH, allow_partial=True)


def test_a_load_states_when_it_was_read(connected, make_ledgers, spread):
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 3)}))
    before = dt.datetime.now(dt.UTC)
    frame = aa.load_line_entries(connected(service), ["led_1"], *MARCH)
    after = dt.datetime.now(dt.UTC)
    read_at = frame.attrs["load"]["read_at"]
    assert before <= dt.datetime.fromisoformat(read_at) <= after
    later = aa.load_line_entries(connected(service), ["led_1"], *MARCH)
    assert dt.datetime.fromisoformat(later.attrs["load"]["read_at"]) >= after


def test_load_metadata_has_ledgers_days_filters_and_windows(connected, make_ledgers, spread):
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 300), "led_2": {}}))
    client = connected(service)
    frame = aa.load_line_entries(client, ["led_1", "led_2"], *MARCH, time_zone="America/New_York", is_cashflow=True)
    load = frame.attrs["load"]
    days = json.loads(load["ledgers"])
    assert (load["complete"], load["missing"], load["filters"]) == (True, {}, {"is_cashflow": True})
    assert (load["start_date"], load["end_date"], load["time_zone"]) == (*MARCH, "America/New_York")
    assert days["led_2"] == "/".join(MARCH)
    windows = [tuple(map(dt.date.fromisoformat, one.split("/"))) for one in days["led_1"].split()]
    assert windows[0][0] == dt.date(2025, 3, 1)
    assert windows[-1][1] == dt.date(2025, 3, 31)
    assert all(one[1] + dt.timedelta(days=1) == two[0] for one, two in itertools.pairwise(windows))


def test_metadata_that_pandas_copies_at_each_step_does_not_grow_with_ledgers(connected, make_ledgers, spread):
    def count_values(count):
        ledgers = {f"led_{number}": {"2025-03-01": 1} for number in range(count)}
        frame = aa.load_line_entries(connected(make_ledgers(spread(ledgers))), [*ledgers], *MARCH)
        return sum(len(value) if isinstance(value, dict) else 1 for value in frame.attrs["load"].values())

    assert count_values(12) == count_values(1)


@pytest.mark.parametrize(("code", "helps"), [(400, False), (401, False), (403, False), (404, False), (503, True)])
def test_loading_again_is_advised_where_it_helps(connected, tmp_path, code, helps):
    client = connected(lambda _: httpx.Response(code))
    with pytest.raises(StatusError, match="nothing was kept") as caught:
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert ("load again" in str(caught.value)) == helps
    with pytest.raises(StatusError, match=r"safe in.*call again") as caught:
        load_resumable(client, ["led_1"], MARCH, tmp_path / "kept")
    assert ("once the cause is removed" in str(caught.value)) == (not helps)


def test_a_load_of_one_day_names_it(connected, make_ledgers, spread):
    service = make_ledgers(spread({"led_1": {"2025-03-01": 3}}))
    frame = aa.load_line_entries(connected(service), ["led_1"], "2025-03-01", "2025-03-01")
    assert json.loads(frame.attrs["load"]["ledgers"]) == {"led_1": "2025-03-01/2025-03-01"}
