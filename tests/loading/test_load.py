"""Whole loads: windows that fail, changes at the end of a ledger, partial loads, metadata, and the plan of a load."""

import datetime as dt
import itertools

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import (
    ChangedWhileReadingError,
    InputError,
    ServerFaultError,
    StatusError,
)

MARCH = ("2025-03-01", "2025-03-31")
DAYS = [f"2025-03-{day:02}" for day in range(1, 32)]


def test_a_failing_window_fails_the_load(connected, make_ledgers, spread):
    """One window that cannot be read fails the load, and no frame is returned."""
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
    """A line that is added, removed or changed at the end of a ledger during the load is named."""
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
    """Where no window could be read, not even a partial load returns a frame."""
    with pytest.raises(ServerFaultError):
        aa.load_line_entries(connected(lambda _: httpx.Response(500)), ["led_1"], *MARCH, allow_partial=True)


def test_a_load_states_when_it_was_read(connected, make_ledgers, spread):
    """The instant lies before every request, and a load that is repeated reads again."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 3)}))
    before = dt.datetime.now(dt.UTC)
    frame = aa.load_line_entries(connected(service), ["led_1"], *MARCH)
    after = dt.datetime.now(dt.UTC)
    read_at = frame.attrs["load"]["read_at"]
    assert before <= dt.datetime.fromisoformat(read_at) <= after
    later = aa.load_line_entries(connected(service), ["led_1"], *MARCH)
    assert dt.datetime.fromisoformat(later.attrs["load"]["read_at"]) >= after


def test_a_load_has_metadata(connected, make_ledgers, spread):
    """The frame carries ledgers, days, filters and windows, and the windows cover each day once."""
    service = make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 300), "led_2": {}}))
    client = connected(service)
    frame = aa.load_line_entries(client, ["led_1", "led_2"], *MARCH, time_zone="America/New_York", is_cashflow=True)
    load = frame.attrs["load"]
    assert (load["complete"], load["missing"], load["filters"]) == (True, {}, {"is_cashflow": True})
    assert (load["start_date"], load["end_date"], load["time_zone"]) == (*MARCH, "America/New_York")
    assert load["ledgers"]["led_2"] == "/".join(MARCH)
    windows = [tuple(map(dt.date.fromisoformat, one.split("/"))) for one in load["ledgers"]["led_1"].split()]
    assert windows[0][0] == dt.date(2025, 3, 1)
    assert windows[-1][1] == dt.date(2025, 3, 31)
    assert all(one[1] + dt.timedelta(days=1) == two[0] for one, two in itertools.pairwise(windows))


@pytest.mark.parametrize(("code", "helps"), [(400, False), (401, False), (403, False), (404, False), (503, True)])
def test_loading_again_is_advised_where_it_helps(connected, tmp_path, code, helps):
    """Only after a failure that may be temporary the error says to load again."""
    client = connected(lambda _: httpx.Response(code))
    with pytest.raises(StatusError, match="nothing was kept") as caught:
        aa.load_line_entries(client, ["led_1"], *MARCH)
    assert ("load again" in str(caught.value)) == helps
    file, kept = tmp_path / "lines.parquet", tmp_path / "kept"
    with pytest.raises(StatusError, match=r"safe in.*call again") as caught:
        aa.load_line_entries_to_parquet(client, ["led_1"], *MARCH, file, checkpoint=kept)
    assert ("once the cause is removed" in str(caught.value)) == (not helps)


YEAR = ("2025-01-01", "2025-12-31")
YEAR_DAYS = [f"2025-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]


@pytest.fixture
def service(make_ledgers, spread):
    """Return a dense, a sparse and an empty ledger."""
    return make_ledgers(
        spread({"led_1": dict.fromkeys(YEAR_DAYS, 150), "led_2": dict.fromkeys(YEAR_DAYS, 1), "led_3": {}})
    )


LEDGERS = ["led_1", "led_2", "led_3"]


def test_a_plan_is_close_to_the_load(connected, service):
    """Calls and lines are estimated within a tenth or two from one page per ledger; single pages are counted."""
    client = connected(service)
    plan = aa.plan_load(client, LEDGERS, *YEAR)
    assert (plan.probes, len(client.requests)) == (3, 3)
    client.requests.clear()
    frame = aa.load_line_entries(client, LEDGERS, *YEAR)
    assert plan.calls == pytest.approx(len(client.requests), rel=0.2)
    assert plan.lines == pytest.approx(len(frame), rel=0.15)
    assert plan.ledgers["exact"].tolist() == [False, True, True]
    assert plan.ledgers["lines"].tolist()[1:] == [336, 0]


@pytest.mark.long
def test_second_readings_are_planned(connected, service):
    """A load of one moment needs twice the requests, for some days their share."""
    client = connected(service)
    once = aa.plan_load(client, LEDGERS, *YEAR)
    plan = aa.plan_load(client, LEDGERS, *YEAR, consistency="all")
    december = aa.plan_load(client, LEDGERS, *YEAR, consistency=aa.Period("2025-12-01", "2025-12-31"))
    assert once.calls < december.calls < plan.calls
    assert "The lines of 2025-12-01 to 2025-12-31 (UTC) are read twice" in december.explain()
    client.requests.clear()
    aa.load_line_entries(client, LEDGERS, *YEAR, consistency="all")
    assert plan.calls == pytest.approx(len(client.requests), rel=0.2)


def test_minutes_are_at_the_rate(connected, service):
    """The given rate is used, else the one the service reports, else the documented one; the plan states which."""
    client = connected(service)
    plan = aa.plan_load(client, ["led_2"], *YEAR, requests_per_minute=2)
    assert (plan.calls, plan.minutes, plan.rate_is_known) == (1, 0.5, True)
    assert "documented 320" in aa.plan_load(client, ["led_2"], *YEAR).explain()

    def report_limit(request):
        response = service(request)
        response.headers.update({"x-ratelimit-limit": "60", "x-ratelimit-remaining": "50", "x-ratelimit-reset": "60"})
        return response

    assert aa.plan_load(connected(report_limit), ["led_2"], *YEAR).requests_per_minute == 60
    with pytest.raises(InputError, match="requests_per_minute"):
        aa.plan_load(client, ["led_2"], *YEAR, requests_per_minute=0)


def test_a_plan_is_displayed(connected, pages, line):
    """A plan is text, and HTML in which ids are escaped."""
    evil = "<script>"
    plan = aa.plan_load(connected(pages([line(ledger_id=evil)])), [evil], *YEAR)
    assert str(plan).startswith("1 request for about 1 line of 1 ledger: at least 0.0 minutes")
    assert "<script>" not in plan._repr_html_()
    assert "&lt;script&gt;" in plan._repr_html_()
