"""Stored instants are selected by their local date, in every zone."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, create_engine, insert, select

import accounting_analytics as aa
from accounting_analytics.periods import LOCALTIME, time_zone_names
from accounting_analytics.service.storage.tables import Instant, is_within

ZONES = sorted(time_zone_names() - {LOCALTIME})
MOMENTS = Table("moments", MetaData(), Column("at", Instant))

# clocks that go back over midnight, 30-minute changes, a skipped day, seconds in the offset
UNUSUAL_DAYS = [
    ("America/Havana", "2024-11-03"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("Atlantic/Azores", "2024-10-27"),
    ("Australia/Lord_Howe", "2024-04-07"),
    ("America/New_York", "2024-03-10"),
    ("America/New_York", "2024-11-03"),
    ("America/St_Johns", "2006-10-29"),
    ("America/Scoresbysund", "2024-03-31"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Kwajalein", "1993-08-21"),
    ("Asia/Manila", "1844-12-31"),
    ("Africa/Monrovia", "1972-01-07"),
    ("Europe/Amsterdam", "1937-07-01"),
    ("Europe/Paris", "1911-03-11"),
    ("Etc/GMT+12", "2024-02-29"),
    ("Etc/GMT-14", "2024-02-29"),
]


def selected(condition, moments):
    """Return the moments that SQL selects."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        MOMENTS.create(connection)
        connection.execute(insert(MOMENTS), [{"at": moment} for moment in moments])
        found = set(connection.execute(select(MOMENTS.c.at).where(condition)).scalars())
    engine.dispose()
    return found


def check_selection(first, last, zone, moments):
    """Check that SQL selects the moments by their local date."""
    tz, period = ZoneInfo(zone), aa.Period(first, last, zone)
    dates = {moment: moment.astimezone(tz).date() for moment in moments}
    expected = {moment for moment, date in dates.items() if first <= date <= last}
    assert selected(is_within(period.instants(), MOMENTS.c.at), moments) == expected
    before = {moment for moment, date in dates.items() if date < first}
    assert selected(is_within(period.instants_before(), MOMENTS.c.at), moments) == before


@pytest.mark.parametrize(("zone", "day"), UNUSUAL_DAYS, ids=[f"{zone} {day}" for zone, day in UNUSUAL_DAYS])
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_unusual_days_to_the_second(zone, day, offset):
    """Every second around the beginning of an unusual local date is selected correctly."""
    date = dt.date.fromisoformat(day) + dt.timedelta(days=offset)
    middle = dt.datetime.combine(date, dt.time(), dt.UTC)
    ends = [end for interval in aa.Period(date, date, zone).instants() for end in interval if end]
    near = {end + dt.timedelta(seconds=second) for end in ends for second in range(-90, 90)}
    around = {middle + dt.timedelta(minutes=5 * step) for step in range(-500, 500)}
    check_selection(date, date, zone, near | around | {end - dt.timedelta(microseconds=1) for end in ends})


@settings(max_examples=60, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    date=st.dates(dt.date(1840, 1, 1), dt.date(2100, 1, 1)),
    seconds=st.lists(st.integers(-190_000, 190_000), min_size=1, max_size=60, unique=True),
)
def test_any_day_of_any_zone(zone, date, seconds):
    """In any zone and year the selection agrees with the calendar."""
    midnight = dt.datetime.combine(date, dt.time(), dt.UTC)
    check_selection(date, date, zone, {midnight + dt.timedelta(seconds=second) for second in seconds})


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT+12", "Etc/GMT-14", "Asia/Manila"])
@pytest.mark.parametrize("date", [dt.date.min, dt.date(1, 1, 4), dt.date(9999, 12, 29), dt.date.max])
def test_ends_of_the_calendar(zone, date):
    """Periods at the ends of the calendar select correctly."""
    moments = {dt.datetime(year, 1, 4, tzinfo=dt.UTC) for year in (1, 2024)}
    moments |= {dt.datetime(9999, 12, 28, tzinfo=dt.UTC)}
    check_selection(date, date, zone, moments)
    check_selection(dt.date.min, date, zone, moments)
    check_selection(date, dt.date.max, zone, moments)
