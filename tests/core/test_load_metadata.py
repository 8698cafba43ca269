"""Metadata of a load: read from frames and tables, and what it shows to be missing."""

import datetime as dt
import json
import re
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.core.day_ranges import DayRange, subtract_days
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.load_metadata import LOAD_METADATA_KEY, count_notes, loaded_period, read_load_metadata
from accounting_analytics.reports.books.extent_of_load import Extent, changed_row_count, reasons_of_frame

ENDS = st.one_of(
    st.dates(dt.date.max - dt.timedelta(8), dt.date.max), st.dates(dt.date.min, dt.date.min + dt.timedelta(8))
)
RANGES = st.lists(st.tuples(ENDS, ENDS).map(lambda ends: DayRange(*sorted(ends))), max_size=4)
MARCH = aa.Period.of("2025-03-01", "2025-03-31", "Europe/Berlin")
METADATA = {
    "start_date": "2025-03-01",
    "end_date": "2025-03-31",
    "time_zone": "Europe/Berlin",
    "filters": {},
    "complete": True,
    "ledgers": '{"led_1": "2025-03-01/2025-03-31"}',
    "missing": {},
    "lines": 2,
}


def frame(rows=2, **changes):
    lines = pd.DataFrame({"id": [f"lin_{number}" for number in range(rows)]})
    lines.attrs["load"] = METADATA | changes
    return lines


def test_metadata_is_read_from_frames_and_tables():
    table = pa.table({"id": ["lin_1"]}).replace_schema_metadata({LOAD_METADATA_KEY: json.dumps(METADATA)})
    assert read_load_metadata(frame()) == read_load_metadata(table) == METADATA
    assert loaded_period(METADATA) == MARCH


def missing_reasons(lines, period):
    """Return why lines of a period are not all there, by what their load states and by the frame."""
    metadata = read_load_metadata(lines)
    of_load = () if metadata is None else Extent.of_load(metadata).reasons(period)
    return (*of_load, *reasons_of_frame(lines))


@pytest.mark.parametrize(
    "lines",
    [
        pd.DataFrame({"id": ["lin_1"]}),
        pa.table({"id": ["lin_1"]}),
        pa.table({"id": ["lin_1"]}).replace_schema_metadata({LOAD_METADATA_KEY: "[]"}),
        [{"id": "lin_1"}],
    ],
    ids=["frame", "table", "other metadata", "list"],
)
def test_nothing_is_known_without_metadata(lines):
    assert read_load_metadata(lines) is None
    assert missing_reasons(lines, MARCH) == ()
    assert changed_row_count(lines) == 0


def test_notes_of_frames_and_results():
    noted = pd.DataFrame()
    noted.attrs["notes"] = ("One.", "Two.")
    assert aa.notes(noted) == ("One.", "Two.")
    assert aa.notes(SimpleNamespace(notes=("A note.",))) == ("A note.",)
    assert aa.notes(frame()) == aa.notes(pa.table({})) == aa.notes(None) == aa.notes("text") == ()


def test_a_complete_load_misses_nothing():
    assert missing_reasons(frame(), MARCH) == ()
    assert missing_reasons(frame(filters={"is_cashflow": True}), MARCH) == ()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            frame(complete=False, missing={"led_2": "2025-03-05/2025-03-06"}),
            "days of 1 ledger could not be loaded (ledger led_2: 2025-03-05/2025-03-06)",
        ),
        (frame(1), "1 lines were removed after the load of 2"),
        (frame(5), "there are 3 lines more than the 2 that were loaded: lines are there twice, or others were added"),
    ],
)
def test_reasons_are_stated(lines, reason):
    assert missing_reasons(lines, MARCH) == (reason,)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (frame(filters={"tag_ids": ["tag_1"]}), "only lines with tag_ids=['tag_1'] were loaded"),
        (frame(filters={"is_cashflow": False}), "only lines with is_cashflow=False were loaded"),
        (
            frame(filters={"is_cashflow": True, "review_status": "reviewed"}),
            "only lines with review_status='reviewed' were loaded",
        ),
    ],
)
def test_lines_of_some_filters_are_no_books(lines, reason):
    with pytest.raises(InputError, match=re.escape(reason)):
        missing_reasons(lines, MARCH)


def test_messages_name_what_is_wrong_with_the_lines(demo_company):
    client, days = demo_company.client, ("2026-01-01", "2026-01-31")
    ledgers = aa.discover_ledgers(client, *days, progress=False)
    lines = aa.load_line_entries(client, ledgers["id"], *days, progress=False)
    count = len(lines)
    twice = pd.concat([lines, lines[:100]], ignore_index=True)
    twice.attrs = lines.attrs
    others = twice.assign(id=[f"line-{number}" for number in range(len(twice))])
    more = f"there are 100 lines more than the {count} that were loaded: lines are there twice, or others were added"
    fewer = f"100 lines were removed after the load of {count}"
    for given_lines, reason in ((twice, more), (others, more), (lines[100:], fewer)):
        with pytest.raises(
            IncompleteLoadError, match=f"the lines are not those that were loaded: {reason}; lines that"
        ):
            aa.Books(given_lines, ledgers)
    books, until_february = aa.Books(lines, ledgers, opening=(days[0], {})), (days[0], "2026-02-28")
    uncovered = "the load covers Jan 2026.*, which does not include all of Jan 2026 to Feb 2026.*"
    expected = f"the line entries are not exactly those of Jan 2026 to Feb 2026.*: {uncovered}; load these days"
    with pytest.raises(IncompleteLoadError, match=expected):
        aa.recompute_cash_flow(books, until_february)
    with pytest.raises(IncompleteLoadError, match="the load covers Jan 2026"):
        aa.income_statement(books, until_february, columns=[until_february])


@pytest.mark.parametrize("lines", [frame(end_date="2025-03-30"), frame(time_zone="Asia/Tokyo")])
def test_days_outside_the_load_are_stated(lines):
    (reason,) = missing_reasons(lines, MARCH)
    assert reason.startswith("the load covers ")
    assert "which does not include all of Mar 2025" in reason


def test_notes_of_zero_are_left_out():
    assert count_notes((3, "line", "sent twice"), (0, "window", "missing")) == ("3 lines sent twice.",)


@given(days=RANGES, others=RANGES)
def test_days_that_are_in_none_of_the_others(days, others):
    def edges(ranges):
        return {one for first, last in ranges for one in days_near(first, last)}

    def days_near(first, last):
        ends = [dt.date.min + dt.timedelta(n) for n in range(9)] + [dt.date.max - dt.timedelta(n) for n in range(9)]
        return [one for one in ends if first <= one <= last]

    left = subtract_days(days, others)
    assert edges(left) == edges(days) - edges(others)
    assert left == sorted(left)
