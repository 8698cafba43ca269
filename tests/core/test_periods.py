"""Periods: every zone against a naive date-by-date oracle, the ends of the calendar, texts, words of fiscal years."""

import datetime as dt
import os
import subprocess
import sys
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from long_cases import also_long

import accounting_analytics as aa
from accounting_analytics.core.errors import PeriodError
from accounting_analytics.core.fiscal_years import name_unit, parse_period
from accounting_analytics.core.periods import (
    LOCALTIME,
    RELATIVE_PERIODS,
    Interval,
    as_utc,
    choose_zone,
    days_label,
    local_date,
    parse_date,
    period_label,
    time_zone_names,
    zone,
)

DAY = dt.timedelta(days=1)
NAMED = sorted(time_zone_names() - {LOCALTIME})
ZONES = st.sampled_from(NAMED)
INSTANTS = st.datetimes(timezones=st.just(dt.UTC))
DATES = st.dates()
CHECKED_YEARS = (1994, 2010, 2011, 2024)


def within(intervals, instant):
    return any(start <= instant and (end is None or instant < end) for start, end in intervals)


def naive_date(instant, name):
    """Local calendar date as zoneinfo gives it."""
    return instant.astimezone(ZoneInfo(name)).date()


def days_with_a_change(name):
    """UTC days of the checked years on which the zone's offset changes."""
    tz = ZoneInfo(name)
    for year in CHECKED_YEARS:
        day = dt.datetime(year, 1, 1, tzinfo=dt.UTC)
        offset = day.astimezone(tz).utcoffset()
        while day.year == year:
            following = (day + DAY).astimezone(tz).utcoffset()
            if following != offset:
                yield day.date()
            day, offset = day + DAY, following


def assert_as_naive(period, step):
    """Every instant around the period's first and last day lies in, before or after it according to its local date."""
    intervals, before = period.instants(), period.instants_before()
    for middle in {period.start_date, period.end_date}:
        at = dt.datetime.combine(middle, dt.time(), dt.UTC) - 2 * DAY
        last = at + 5 * DAY
        while at < last:
            date = naive_date(at, period.time_zone)
            assert within(intervals, at) == (period.start_date <= date <= period.end_date), (period, at)
            assert within(before, at) == (date < period.start_date), (period, at)
            at += step


@pytest.mark.parametrize("part", [0, *also_long(1, 2, 3)])
def test_every_zone_on_the_days_its_clocks_change(part):
    for name in NAMED[part::4]:
        for day in [dt.date(2025, 6, 15), *days_with_a_change(name)]:
            assert_as_naive(aa.Period(day - DAY, day, name), dt.timedelta(minutes=90))
            assert_as_naive(aa.Period(day, day + DAY, name), dt.timedelta(minutes=90))


@given(ZONES, DATES, st.integers(0, 400), st.lists(INSTANTS, max_size=5), st.integers(-(10**11), 10**11))
def test_any_instant_in_any_period(name, start, days, instants, microseconds):
    period = aa.Period(start, start + min(dt.timedelta(days=days), dt.date.max - start), name)
    near = dt.datetime.combine(period.start_date, dt.time(), dt.UTC)
    if 2 <= near.year <= 9998:
        instants = [*instants, near + dt.timedelta(microseconds=microseconds)]
    intervals, before = period.instants(), period.instants_before()
    for instant in instants:
        if 2 <= instant.year <= 9998:
            date = naive_date(instant, name)
            assert within(intervals, instant) == period.contains(instant)
            assert period.contains(instant) == (period.start_date <= date <= period.end_date)
            assert within(before, instant) == (date < period.start_date)


@given(ZONES, st.sampled_from([dt.date.min, dt.date.min + DAY, dt.date.max - DAY, dt.date.max]), INSTANTS)
def test_calendar_ends_do_not_overflow(name, date, instant):
    first, last = dt.datetime.min.replace(tzinfo=dt.UTC), dt.datetime.max.replace(tzinfo=dt.UTC)
    period = aa.Period(date, date, name)
    for at in (instant, first, first + 1.5 * DAY, last - 1.5 * DAY, last):
        assert within(period.instants(), at) == period.contains(at)
        assert within(period.instants_before(), at) == (local_date(at, zone(name)) < date)
    assert aa.Period(dt.date.min, dt.date.max, name).contains(instant)
    assert len(aa.Period(dt.date.min, dt.date.max, name).instants()) == 1


def test_a_day_of_two_intervals():
    """In Goose Bay clocks went back across midnight, so 2010-11-06 has two intervals."""
    day = dt.date(2010, 11, 6)
    midnight, minute = dt.datetime(2010, 11, 7, 3, tzinfo=dt.UTC), dt.timedelta(minutes=1)
    assert aa.Period(day, day, "America/Goose_Bay").instants() == (
        Interval(midnight - DAY, midnight),
        Interval(midnight + minute, midnight + 60 * minute),
    )
    assert_as_naive(aa.Period(day, day, "America/Goose_Bay"), dt.timedelta(seconds=20))
    assert_as_naive(aa.Period(day + DAY, day + DAY, "America/Goose_Bay"), dt.timedelta(seconds=20))


def test_a_day_that_never_was():
    """Samoa skipped 2011-12-30: no instant has that date there, and the days around it adjoin."""
    missing = dt.date(2011, 12, 30)
    assert aa.Period(missing, missing, "Pacific/Apia").instants() == ()
    before, after = (aa.Period(day, day, "Pacific/Apia").instants() for day in (missing - DAY, missing + DAY))
    assert before[-1].end == after[0].start
    assert_as_naive(aa.Period(missing, missing, "Pacific/Apia"), dt.timedelta(minutes=10))


@pytest.mark.parametrize(
    "name", ["", "utc", "Mars/Olympus", "../etc/passwd", "/etc/localtime", "Factory", "GMT+25", None, 5]
)
def test_zone_names_outside_the_interface_are_refused(name):
    with pytest.raises(PeriodError, match="not a time zone"):
        zone(name)
    with pytest.raises(PeriodError, match="not a time zone"):
        aa.Period(dt.date(2025, 1, 1), dt.date(2025, 1, 2), name)


@pytest.mark.parametrize("use", [zone, choose_zone, lambda name: aa.Period("2025-01-01", "2025-01-31", name)])
def test_the_zone_of_the_service_is_refused(use):
    """``localtime`` is a zone that only the service knows; the message says who knows its name."""
    with pytest.raises(PeriodError, match=r"own time zone, .* give its name, such as .* service instances` lists it"):
        use(LOCALTIME)


def test_instants_do_not_depend_on_tz():
    program = (
        "from accounting_analytics.core.periods import Period;"
        "print(Period.of('2025-03-09', '2025-11-02', 'America/New_York').instants(),"
        "Period.of('2025-03-09', '2025-11-02', 'Etc/GMT-3').instants_before())"
    )
    answers = {
        subprocess.run(  # noqa: S603 (our own interpreter)
            [sys.executable, "-c", program], env={**os.environ, "TZ": tz}, check=True, capture_output=True, text=True
        ).stdout
        for tz in ("UTC", "Asia/Kolkata", "America/Los_Angeles", ":/nonsense")
    }
    assert len(answers) == 1


@given(DATES, DATES, st.integers(1, 500), ZONES)
def test_months_and_windows_tile_a_period(first, second, days, name):
    period = aa.Period(*sorted((first, second)), name)
    if period.days > 40_000:
        period = aa.Period(max(period.start_date, dt.date.max - 40_000 * DAY), dt.date.max, name)
    windows, months = period.windows(days), period.months()
    for parts in (windows, months):
        assert parts[0].start_date == period.start_date
        assert parts[-1].end_date == period.end_date
        assert all(one.end_date + DAY == two.start_date for one, two in pairwise(parts))
        assert all(part.time_zone == name for part in parts)
    assert all(window.days == days for window in windows[:-1])
    assert windows[-1].days <= days
    assert all(month.start_date.replace(day=1) == month.end_date.replace(day=1) for month in months)
    assert all(month.start_date.day == 1 for month in months[1:])


FEBRUARY_3 = [
    dt.date(2025, 2, 3),
    "2025-02-03",
    dt.datetime(2025, 2, 3),  # noqa: DTZ001 (a naive midnight is the case)
    pd.Timestamp("2025-02-03"),
    np.datetime64("2025-02-03"),
    np.datetime64("2025-02-03T00:00:00", "ns"),
    pd.Period("2025-02-03"),
]


@pytest.mark.parametrize("value", FEBRUARY_3, ids=repr)
def test_dates_of_other_libraries_are_the_same_date(value):
    assert type(parse_date(value)) is dt.date
    assert parse_date(value) == parse_date(value, last=True) == dt.date(2025, 2, 3)


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        (pd.Period("2025-02"), "2025-02-01", "2025-02-28"),
        (pd.Period("2024Q1"), "2024-01-01", "2024-03-31"),
        (pd.Period("2025-02-03", "W"), "2025-02-03", "2025-02-09"),
        (pd.Period("2025"), "2025-01-01", "2025-12-31"),
    ],
    ids=str,
)
def test_a_period_of_pandas_has_a_first_and_a_last_day(value, first, last):
    assert (str(parse_date(value)), str(parse_date(value, last=True))) == (first, last)
    assert str(aa.Period(value, value)) == f"{first} to {last} (UTC)"


@pytest.mark.parametrize(
    "value",
    [
        dt.datetime(2025, 1, 1, tzinfo=dt.UTC),
        pd.Timestamp("2025-01-01", tz="America/New_York"),
        pd.Timestamp("2025-01-01 10:00"),
        pd.Timestamp("2025-01-01 00:00:00.000000001"),
    ],
    ids=str,
)
def test_an_instant_is_not_a_date(value):
    """A datetime that is not midnight, or has a time zone, would silently lose a part, so it is refused."""
    with pytest.raises(PeriodError, match=r"start_date .* is not midnight without a time zone; give the calendar date"):
        aa.Period(value, "2025-01-31")


@pytest.mark.parametrize(
    "value",
    [
        *("2025-1-1", "20250101", "2025-02-30", "2025-W01-1", "01/02/2025", "", "today"),
        *(None, 20250101, ["2025-01-01"]),
        pd.NaT,
        np.datetime64("NaT", "D"),
        np.datetime64("2025-02"),
        np.datetime64("2025-01-01T10:00"),
        pd.Period("2025-01-01 00:00", "h"),
        pd.Period("2025-01-01 23:00", "h"),
        pd.Series(pd.to_datetime(["2025-01-01"])),
    ],
    ids=str,
)
def test_what_is_not_a_day_is_refused(value):
    with pytest.raises(PeriodError, match=r"^end_date .* is not a calendar date; write it like 2025-01-31$"):
        aa.Period("2025-01-01", value)


def test_a_period_is_not_a_day():
    with pytest.raises(PeriodError, match=r"^end_date '2025-02' has several days: from 2025-02-01 to 2025-02-28; name"):
        aa.Period("2025-01-01", "2025-02")
    with pytest.raises(PeriodError, match=r"^start_date is a Period; pass its start_date and its end_date$"):
        aa.Period(aa.Period.parse("2025-01"), "2025-01-31")


def test_zone_objects_are_names_or_utc():
    assert aa.Period("2025-01-01", "2025-01-01", ZoneInfo("Asia/Tokyo")).time_zone == "Asia/Tokyo"
    assert aa.Period("2025-01-01", "2025-01-01", dt.UTC) == aa.Period("2025-01-01", "2025-01-01")
    assert zone(ZoneInfo("Asia/Tokyo")) == ZoneInfo("Asia/Tokyo")


@pytest.mark.parametrize("unnamed", [dt.timezone(dt.timedelta(hours=1)), 5, None])
def test_unnamed_zone_objects_are_refused(unnamed):
    with pytest.raises(PeriodError, match="is not a time zone of the interface; use an IANA name"):
        zone(unnamed)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("America/New York", "America/New_York"),
        ("america/new_york", "America/New_York"),
        ("Amerika/New_York", "America/New_York"),
        ("New York", "America/New_York"),
        ("Europe/Brelin", "Europe/Berlin"),
        ("utc", "UTC"),
        ("Eastern", "US/Eastern"),
    ],
)
def test_a_misspelt_zone_gets_a_suggestion(text, meant):
    with pytest.raises(PeriodError, match=f"^'{text}' is not a time zone of the interface; did you mean '{meant}'\\?$"):
        zone(text)


@pytest.mark.parametrize("text", ["PST", "CST", "EDT", "Mars/Olympus"])
def test_other_texts_get_no_suggestion(text):
    """Where no name is similar, none is suggested: an abbreviation of summer time is not a standard time."""
    with pytest.raises(PeriodError, match="use an IANA name"):
        zone(text)


def test_only_est_mst_and_hst_are_noted_without_summer_time():
    noted = {name: choose_zone(name).notes for name in NAMED if choose_zone(name).notes}
    assert noted.keys() == {"EST", "MST", "HST"}
    assert noted["EST"] == (
        "EST does not follow summer time: it is UTC-05:00 all year; for the days of New York use America/New_York.",
    )
    assert noted["HST"] == ("HST does not follow summer time: it is UTC-10:00 all year.",)


def test_zone_is_given_default_or_utc_with_a_note():
    assert choose_zone("Asia/Tokyo", "EST") == ("Asia/Tokyo", ())
    assert choose_zone(None, ZoneInfo("Asia/Tokyo")) == ("Asia/Tokyo", ())
    assert choose_zone(None) == ("UTC", ("No time zone was given, so the days are those of UTC.",))
    with pytest.raises(PeriodError, match="did you mean"):
        choose_zone("Asia/Tokio")


def test_a_period_ends_on_or_after_its_start():
    assert aa.Period.of("2025-01-01", "2025-01-01").days == 1
    with pytest.raises(PeriodError, match="2024-12-31 is before start_date 2025-01-01"):
        aa.Period.of("2025-01-01", "2024-12-31")
    with pytest.raises(PeriodError, match="at least one day"):
        aa.Period.of("2025-01-01", "2025-01-01").windows(0)


@pytest.mark.parametrize("hours", [None, 0, 5])
def test_instants_without_a_zone_are_utc(hours):
    tz = None if hours is None else dt.timezone(dt.timedelta(hours=hours))
    instant = as_utc(dt.datetime(2025, 1, 1, 12, tzinfo=tz))
    assert instant.tzinfo is dt.UTC
    assert instant.hour == 12 - (hours or 0)


@pytest.mark.parametrize(("name", "day"), [("today", "2025-05-14"), ("yesterday", "2025-05-13")])
def test_today_and_yesterday_are_relative_to_a_day(name, day):
    assert aa.Period.relative(name, as_of="2025-05-14", time_zone="Asia/Tokyo") == aa.Period(day, day, "Asia/Tokyo")


@given(DATES, st.sampled_from(["month", "quarter", "year"]))
def test_relative_periods_adjoin(day, unit):
    this = aa.Period.relative(f"this-{unit}", as_of=day)
    assert this.start_date <= day <= this.end_date
    assert len(this.months()) == {"month": 1, "quarter": 3, "year": 12}[unit]
    assert aa.Period.relative(f"{unit}-to-date", as_of=day) == aa.Period(this.start_date, day)
    if this.start_date == dt.date.min:
        with pytest.raises(
            PeriodError, match=f"there is no last-{unit} as of {day}: the calendar starts on 0001-01-01"
        ):
            aa.Period.relative(f"last-{unit}", as_of=day)
        return
    last = aa.Period.relative(f"last-{unit}", as_of=day)
    assert last.end_date + DAY == this.start_date
    assert len(last.months()) == len(this.months())


def test_relative_periods_default_to_today_in_the_zone():
    tokyo = ZoneInfo("Asia/Tokyo")
    before = dt.datetime.now(tokyo).date()
    today = aa.Period.relative("today", time_zone=tokyo)
    assert before <= today.start_date == today.end_date <= dt.datetime.now(tokyo).date()


def test_unknown_relative_periods_get_suggestions():
    assert {aa.Period.relative(name, as_of="2025-05-14").time_zone for name in RELATIVE_PERIODS} == {"UTC"}
    with pytest.raises(PeriodError, match="'Last month' is not a relative period; did you mean 'last-month'"):
        aa.Period.relative("Last month")
    with pytest.raises(PeriodError, match="5 is not a relative period; the names are today, yesterday, this-month"):
        aa.Period.relative(5)
    with pytest.raises(PeriodError, match="as_of 'now' is not a calendar date"):
        aa.Period.relative("today", as_of="now")
    with pytest.raises(PeriodError, match="service's own time zone"):
        aa.Period.relative("today", time_zone=LOCALTIME)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-03-15", "2026-03-15", "2026-03-15"),
        ("2025-Q4/2026-02", "2025-10-01", "2026-02-28"),
        ("9999", "9999-01-01", "9999-12-31"),
        ("last-month", "2025-04-01", "2025-04-30"),
    ],
)
def test_periods_as_people_type_them(text, first, last):
    assert aa.Period.parse(text, as_of="2025-05-14", time_zone="Asia/Tokyo") == aa.Period(first, last, "Asia/Tokyo")


@given(DATES, DATES)
def test_two_days_are_a_period(one, other):
    first, last = sorted((one, other))
    assert aa.Period.parse(f"{first}/{last}") == aa.Period(first, last)
    if first < last:
        with pytest.raises(PeriodError, match="is before start_date"):
            aa.Period.parse(f"{last}/{first}")


@pytest.mark.parametrize(
    ("texts", "same"),
    [
        (("2026-H1", "2026H1", "H1 2026", "h1-2026"), "2026-01/2026-06"),
        (("H2 2026",), "2026-07/2026-12"),
        (("2026Q2", "Q2 2026", "2026 Q2", "q2-2026"), "2026-Q2"),
        (("June 2026", "Jun 2026", "2026-june", "JUN-2026"), "2026-06"),
        (("ytd",), "year-to-date"),
        (("qtd",), "quarter-to-date"),
        (("mtd",), "month-to-date"),
        (("Jan 2026/Q2 2026",), "2026-01/2026-06"),
    ],
)
def test_periods_as_finance_people_write_them(texts, same):
    expected = aa.Period.parse(same, as_of="2026-05-14")
    assert {aa.Period.parse(text, as_of="2026-05-14") for text in texts} == {expected}


@given(DATES)
def test_each_part_of_the_calendar_contains_its_days(day):
    year = f"{day.year:04}"
    texts = {"year": year, "quarter": f"{year}-Q{(day.month + 2) // 3}", "month": f"{year}-{day.month:02}"}
    for unit, text in texts.items():
        assert aa.Period.parse(text) == aa.Period.relative(f"this-{unit}", as_of=day)


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026-Q5", "2026-H3", "Q2", "Junius 2026", "June2026", "Q1 0000", "0000"),
        *("2026-02-30", "2026-3", "2026/", "/2026", "٢٠٢٦", "2026-01/2026-02/2026-03", 2026),
    ],
)
def test_texts_that_are_not_periods_are_refused_with_examples(text):
    with pytest.raises(PeriodError, match=r"is not a period; write it like 2026, 2026-H1, 2026-Q1, Q1 2026, 2026-03"):
        aa.Period.parse(text)


@pytest.mark.parametrize(("text", "month"), [("2026-13", "13"), ("2026-00", "00"), ("2026-13-01", "13")])
def test_months_that_do_not_exist_are_named(text, month):
    with pytest.raises(PeriodError, match=f"'{text}' is not a period; there is no month {month}$"):
        aa.Period.parse(text)


def test_misspelt_periods_get_a_suggestion():
    with pytest.raises(PeriodError, match="'last month' is not a period; did you mean 'last-month'"):
        aa.Period.parse("last month")
    with pytest.raises(PeriodError, match="'Mars' is not a time zone"):
        aa.Period.parse("2026", time_zone="Mars")


AS_OF = "2025-09-15"
MONTHS = st.integers(1, 12)
WITHIN = st.integers(2, 12)
YEARS = st.integers(1990, 2040)


def days_of(text, first_month):
    period = parse_period(text, first_month, as_of=AS_OF)
    return str(period.start_date), str(period.end_date)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024/25", "2024-07-01", "2025-06-30"),
        ("2024/25-Q1", "2024-07-01", "2024-09-30"),
        ("2024/25-Q3", "2025-01-01", "2025-03-31"),
        ("Q3 2024/25", "2025-01-01", "2025-03-31"),
        ("2024/25 h2", "2025-01-01", "2025-06-30"),
        ("1999/00", "1999-07-01", "2000-06-30"),
        ("this-year", "2025-07-01", "2026-06-30"),
        ("last-year", "2024-07-01", "2025-06-30"),
        ("ytd", "2025-07-01", "2025-09-15"),
        ("YTD", "2025-07-01", "2025-09-15"),
        ("last-quarter", "2025-04-01", "2025-06-30"),
        ("last-month", "2025-08-01", "2025-08-31"),
        ("2025-03", "2025-03-01", "2025-03-31"),
        ("March 2025", "2025-03-01", "2025-03-31"),
        ("2025-01/2025-03", "2025-01-01", "2025-03-31"),
        ("2025-01-15/2025-02-14", "2025-01-15", "2025-02-14"),
        (" 2025-03-15 ", "2025-03-15", "2025-03-15"),
    ],
)
def test_words_of_a_fiscal_year_from_july(text, first, last):
    assert days_of(text, 7) == (first, last)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        (
            "2025",
            "2025-01/2025-12 (Jan 2025 to Dec 2025), or of the fiscal year, 2024/25 (Jul 2024 to Jun 2025) or 2025/26",
        ),
        (
            "2025-H1",
            "2025-01/2025-06 (Jan 2025 to Jun 2025), or of the fiscal year, 2024/25-H1 (Jul 2024 to Dec 2024) or",
        ),
        (
            "2025-Q1",
            "2025-01/2025-03 (Jan 2025 to Mar 2025), or of the fiscal year, 2024/25-Q1 (Jul 2024 to Sep 2024) or",
        ),
        (
            "Q1 2025",
            "2025-01/2025-03 (Jan 2025 to Mar 2025), or of the fiscal year, 2024/25-Q1 (Jul 2024 to Sep 2024) or",
        ),
        (
            "2025q4",
            "2025-10/2025-12 (Oct 2025 to Dec 2025), or of the fiscal year, 2024/25-Q4 (Apr 2025 to Jun 2025) or",
        ),
        (
            "2024/2025",
            "'2024' has two readings, because the fiscal year begins in Jul: of the calendar, 2024-01/2024-12",
        ),
        ("2025-01/2025-Q2", "'2025-Q2' has two readings"),
    ],
)
def test_words_with_two_readings_are_refused_with_both(text, readings):
    with pytest.raises(PeriodError) as refused:
        parse_period(text, 7)
    assert readings in str(refused.value)
    assert parse_period(text, 1)


@given(YEARS, st.sampled_from(["", "H1", "H2", "Q1", "Q2", "Q3", "Q4"]), WITHIN)
def test_each_named_reading_is_accepted(year, part, first_month):
    with pytest.raises(PeriodError) as refused:
        parse_period(f"{year}-{part}" if part else f"{year}", first_month)
    message = str(refused.value).partition(": of the calendar, ")[2].removesuffix("; write one of these")
    words = [one.split(" (")[0] for one in message.replace(", or of the fiscal year,", " or").split(" or ")]
    assert len({parse_period(word, first_month) for word in words}) == 3


@given(YEARS, st.sampled_from([("", 12), ("-H", 6), ("-Q", 3)]), MONTHS)
def test_units_tile_the_fiscal_year(year, part, first_month):
    (suffix, months), name = part, f"{year}/{(year + 1) % 100:02}" if first_month > 1 else f"{year}"
    words = [f"{name}{suffix}{number}" for number in range(1, 12 // months + 1)] if suffix else [name]
    found = [parse_period(word, first_month) for word in words]
    assert found[0].start_date == dt.date(year, first_month, 1)
    assert found[-1].end_date == (pd.Timestamp(found[0].start_date) + pd.DateOffset(years=1, days=-1)).date()
    for one, following in pairwise(found):
        assert following.start_date == one.end_date + dt.timedelta(days=1)
    for word, one in zip(words, found, strict=True):
        assert suffix == "-H" or name_unit(one, first_month).key == word


@given(st.dates(dt.date(1990, 1, 1), dt.date(2040, 1, 1)), st.sampled_from(["month", "quarter", "year"]), MONTHS)
def test_relative_units_are_those_of_pandas(day, unit, first_month):
    frequency = {"month": "M", "quarter": "Q", "year": "Y"}[unit]
    if unit != "month":
        frequency += (
            "-" + ["DEC", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV"][first_month - 1]
        )
    this = pd.Timestamp(day).to_period(frequency)
    for name, expected in (("this", this), ("last", this - 1)):
        found = parse_period(f"{name}-{unit}", first_month, as_of=day)
        assert (found.start_date, found.end_date) == (expected.start_time.date(), expected.end_time.date())
    to_date = parse_period(f"{unit}-to-date", first_month, as_of=day)
    assert (to_date.start_date, to_date.end_date) == (this.start_time.date(), day)


@pytest.mark.parametrize(
    ("text", "first_month", "message"),
    [
        ("2024/25", 1, "but this one begins in January: write 2024, or set fiscal_year_start_month"),
        ("2024/26", 7, "the one that begins in 2024 is 2024/25$"),
        ("2024/12", 1, "a month is written 2024-12$"),
        ("2024/25-Q5", 7, "'2024/25-Q5' is not a period; write it like"),
        ("2024/25-H3", 7, "a year has H1, H2 and Q1 to Q4"),
        ("H3 2025", 7, "'H3 2025' is not a period; write it like"),
        ("06/2026", 7, "did you mean '2026-06'"),
        ("Q2 26", 1, "did you mean 'Q2 2026'"),
    ],
)
def test_words_that_are_no_fiscal_period_name_another(text, first_month, message):
    with pytest.raises(PeriodError, match=message):
        parse_period(text, first_month)


def test_headings_and_keys_name_the_fiscal_year(demo_company):
    client, days = demo_company.client, ("2025-01-01", "2025-06-30")
    ledgers = aa.discover_ledgers(client, *days)
    lines = aa.load_line_entries(client, ledgers["id"], *days)
    books = aa.Books(lines, ledgers, fiscal_year_start_month=7)
    by_unit = aa.income_statement(books, columns="quarter")
    listed = aa.income_statement(books, columns=["2024/25-Q3", "2024/25-Q4"])
    for statement in (by_unit, listed):
        assert [one.key for one in statement.columns] == ["2024/25-Q3", "2024/25-Q4"]
        assert [one.label for one in statement.columns] == ["Q3 2024/25", "Q4 2024/25"]
    assert listed["Net income", "2024/25-Q3"].exact() == by_unit["Net income", "2024/25-Q3"].exact()
    with pytest.raises(PeriodError, match="'2025-Q1' has two readings"):
        aa.income_statement(books, columns=["2025-Q1"])


@pytest.mark.parametrize(
    ("days", "text"),
    [
        ("2025-01/2026-06", "Jan 2025 to Jun 2026"),
        ("2024-02", "Feb 2024"),
        ("2026-06-03/2026-06-09", "3 to 9 Jun 2026"),
        ("2025-12-31/2026-01-01", "31 Dec 2025 to 1 Jan 2026"),
        ("2026-06-30", "30 Jun 2026"),
    ],
)
def test_sentences_name_months_or_days_and_zone(days, text):
    period = aa.Period.parse(days, time_zone="America/New_York")
    assert days_label(period) == text
    assert period_label(period) == f"{text} (America/New_York)"
