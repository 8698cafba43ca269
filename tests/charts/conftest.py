"""Small cash flow reports to draw."""

import datetime as dt

import pytest
from small_reports import small_report


@pytest.fixture
def four_lines():
    """Return four lines as (ledger, amount, instant)."""
    return [
        ("Sales", "1000.10", dt.datetime(2025, 1, 20, 12, tzinfo=dt.UTC)),
        ("Rent", "-400.00", dt.datetime(2025, 2, 1, 4, 59, tzinfo=dt.UTC)),  # still 31 January in New York
        ("Sales", "0.20", dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)),
        ("Rent", "-0.30", dt.datetime(2025, 3, 1, 13, tzinfo=dt.UTC)),
    ]


@pytest.fixture
def make_report():
    """Return a function that makes a report of (ledger, amount, instant) lines."""

    def make(lines, *, start="0.00", zone="America/New_York", **options):
        numbered = [
            (f"line-{number}", ledger, f"entry{number}", amount, instant)
            for number, (ledger, amount, instant) in enumerate(lines)
        ]
        return small_report(numbered, days=("2025-01-15", "2025-03-31"), zone=zone, starting=start, **options)

    return make


@pytest.fixture
def hovers():
    """Return a function that gives the exact amounts of a trace's hover texts."""
    return lambda trace: [data[-1] for data in trace.customdata]
