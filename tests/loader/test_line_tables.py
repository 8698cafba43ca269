"""Tables of lines: lines outside the requested days are refused."""

import datetime as dt

import pyarrow as pa
import pytest

from accounting_analytics.errors import ProtocolError
from accounting_analytics.loader.line_entry_schema import INSTANT
from accounting_analytics.loader.line_tables import require_in_period
from accounting_analytics.periods import Period


@pytest.mark.parametrize(
    ("zone", "first", "last", "hole"),
    [
        ("UTC", "2025-03-10T00:00:00+00:00", "2025-03-10T23:59:59.999999+00:00", None),
        ("America/New_York", "2025-03-10T04:00:00+00:00", "2025-03-11T03:59:59.999999+00:00", None),
        # clocks were set back across midnight there, so one minute of the next day came before the end of this one
        ("America/Goose_Bay", "2010-11-06T03:00:00+00:00", "2010-11-07T03:59:59.999999+00:00", "2010-11-07T03:00:30Z"),
    ],
)
def test_days_are_exact_to_the_microsecond(zone, first, last, hole):
    """A day includes its first and its last microsecond, and neither the one before nor the one after."""
    start, end = (dt.datetime.fromisoformat(text) for text in (first, last))
    day = Period.of(start.date(), start.date(), zone)

    def page(*moments):
        return pa.table({"id": [str(one) for one in moments], "datetime": pa.array(moments, INSTANT)})

    require_in_period(page(), day, "page 1")
    require_in_period(page(start, end), day, "page 1")
    outside = [start - dt.timedelta(microseconds=1), end + dt.timedelta(microseconds=1)]
    for instant in [*outside, *([dt.datetime.fromisoformat(hole)] if hole else [])]:
        with pytest.raises(ProtocolError, match="is outside"):
            require_in_period(page(start, instant, end), day, "page 1")
