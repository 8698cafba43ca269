"""Stored instants are selected by their local date, in every zone."""

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, Table, create_engine, insert, select

import accounting_analytics as aa
from accounting_analytics.periods import LOCALTIME, time_zone_names
from accounting_analytics.service.tables import Instant, is_within

ZONES = sorted(time_zone_names() - {LOCALTIME})
MOMENTS = Table("moments", MetaData(), Column("at", Instant))


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
