"""The plan of a load: close to what the load costs, and without side effects."""

import httpx
import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import CheckpointError, InputError

YEAR = ("2025-01-01", "2025-12-31")
DAYS = [f"2025-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]


@pytest.fixture
def service(make_ledgers, spread):
    """Return a dense, a sparse and an empty ledger."""
    return make_ledgers(spread({"led_1": dict.fromkeys(DAYS, 150), "led_2": dict.fromkeys(DAYS, 1), "led_3": {}}))


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
def test_second_readings_are_planned(connected, service, tmp_path):
    """A load of one moment needs twice the requests, for some days their share; a verified one needs none."""
    client = connected(service)
    once = aa.plan_load(client, LEDGERS, *YEAR)
    plan = aa.plan_load(client, LEDGERS, *YEAR, consistency="all")
    december = aa.plan_load(client, LEDGERS, *YEAR, consistency=aa.Period("2025-12-01", "2025-12-31"))
    assert once.calls < december.calls < plan.calls
    assert "The lines of 2025-12-01 to 2025-12-31 (UTC) are read twice" in december.explain()
    client.requests.clear()
    aa.load_line_entries(client, LEDGERS, *YEAR, consistency="all", checkpoint=tmp_path / "kept")
    assert plan.calls == pytest.approx(len(client.requests), rel=0.2)
    assert aa.plan_load(client, LEDGERS, *YEAR, consistency="all", checkpoint=tmp_path / "kept").calls == 0


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


def test_finished_windows_are_not_planned_again(connected, service, tmp_path):
    """A missing folder is not created; a finished load costs nothing; half of one costs half."""
    client = connected(service)
    whole = aa.plan_load(client, LEDGERS, *YEAR, checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    frame = aa.load_line_entries(client, LEDGERS, *YEAR, checkpoint=tmp_path / "kept")
    client.requests.clear()
    done = aa.plan_load(client, LEDGERS, *YEAR, checkpoint=tmp_path / "kept")
    assert (done.calls, done.lines, done.kept_lines, client.requests) == (0, 0, len(frame), [])
    assert "they are not read again" in done.explain()
    windows = sorted((tmp_path / "kept").glob("window-*"), key=lambda path: path.stat().st_size)
    for path in windows[len(windows) // 2 :]:
        path.unlink()
    half = aa.plan_load(client, LEDGERS, *YEAR, checkpoint=tmp_path / "kept")
    assert 0.3 < half.calls / whole.calls < 0.8
    with pytest.raises(CheckpointError):
        aa.plan_load(client, ["led_1"], *YEAR, checkpoint=tmp_path / "kept")


def test_a_plan_is_displayed(connected, line):
    """A plan is text, and HTML in which ids are escaped."""
    evil = "<script>"

    def answer(_):
        body = {"records": [line(ledger_id=evil)], "next_page_token": None, "prev_page_token": None}
        return httpx.Response(200, json=body)

    plan = aa.plan_load(connected(answer), [evil], *YEAR)
    assert str(plan).startswith("1 request for about 1 line of 1 ledger: at least 0.0 minutes")
    assert "<script>" not in plan._repr_html_()
    assert "&lt;script&gt;" in plan._repr_html_()
