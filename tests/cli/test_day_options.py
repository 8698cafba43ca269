"""The days of a command: both dates, or a period in the time zone of the command."""

import datetime as dt
import json
from zoneinfo import ZoneInfo

import pytest

import accounting_analytics as aa
from accounting_analytics.cli.options import GivenDays
from accounting_analytics.core.errors import InputError, PeriodError

TOKYO = "Asia/Tokyo"


def test_both_dates_or_a_period():
    """Dates and absolute periods are themselves; relative ones count from today in the zone."""
    assert GivenDays("2026-01-01", "2026-03-31").in_zone(TOKYO) == aa.Period("2026-01-01", "2026-03-31", TOKYO)
    assert GivenDays(period="2026-Q1").in_zone(TOKYO) == aa.Period("2026-01-01", "2026-03-31", TOKYO)
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # 25 hours apart: never the same day
        before = dt.datetime.now(ZoneInfo(zone)).date()
        today = GivenDays(period="today").in_zone(zone)
        assert before <= today.start_date == today.end_date <= dt.datetime.now(ZoneInfo(zone)).date()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (GivenDays(), "no days are given: add --period .such as last-month, 2026-Q1 or 2026-03., or --start-date and"),
        (GivenDays("2026-01-01"), "--end-date is missing: give both dates, or --period"),
        (GivenDays(end_date="2026-01-01"), "--start-date is missing: give both dates, or --period"),
        (GivenDays("2026-01-01", period="2026"), "--period and --start-date are both given: leave one of them out"),
        (GivenDays(None, "2026-01-01", "2026"), "--period and --end-date are both given"),
        (GivenDays(period="lastmonth"), "--period: 'lastmonth' is not a period; did you mean 'last-month'"),
        (GivenDays(period=""), "--period: '' is not a period; write it like 2026, 2026-H1"),
    ],
)
def test_days_that_cannot_be_used(given, message):
    """Each message names the option and what to give."""
    with pytest.raises((InputError, PeriodError), match=message):
        given.in_zone(TOKYO)


def test_dates_that_are_optional():
    """Without a period, each date may be absent; with one, both are its days."""
    assert GivenDays(None, "2026-01-01").optional_dates(TOKYO) == (None, "2026-01-01")
    assert GivenDays(period="2026-02").optional_dates(TOKYO) == ("2026-02-01", "2026-02-28")
    with pytest.raises(InputError, match="both given"):
        GivenDays(None, "2026-01-01", "2026").optional_dates(TOKYO)


def test_periods_of_commands(run, assert_refused, demo_company):
    """A report has the days of the period; without days a command is refused before it connects."""
    environment = demo_company.environment()
    shown = run("report", "--period", "2025-Q1", "--json", **environment)
    by_dates = run("report", "--start-date", "2025-01-01", "--end-date", "2025-03-31", "--json", **environment)
    assert (shown.returncode, json.loads(shown.stdout)) == (0, json.loads(by_dates.stdout))
    assert_refused(run("queue"), 2, "no days are given: add --period")


def test_the_next_command_has_the_days(run, demo_company):
    """A suggested command names dates, which are the same days tomorrow."""
    finished = run("queue", "--period", "2025-03", "--output", "d.csv", **demo_company.environment())
    assert "--start-date 2025-03-01 --end-date 2025-03-31" in finished.stderr


@pytest.mark.long
def test_periods_of_the_doctor_and_the_audit_log(run, run_on_books):
    """Both take a period instead of their optional dates."""
    run_on_books("instances", "create", "--instance", "i", "--token-file", "t")
    listed = run_on_books("audit", "list", "--period", "today", "--time-zone", "UTC", "--json")
    assert len(json.loads(listed.stdout)) == 1
    assert run_on_books("audit", "list", "--period", "2020").stderr == "no entries\n"
    assert "2026-05-01 to 2026-05-31 (America/New_York)" in run("doctor", "--demo", "--period", "2026-05").stdout
