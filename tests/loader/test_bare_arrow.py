"""Arrow values made and read without pandas are those that Arrow itself makes and reads."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.errors import ProtocolError
from accounting_analytics.loader.bare_arrow import extent, instant, moment, text_array
from accounting_analytics.loader.page_decoder import require_in_period
from accounting_analytics.periods import Period

INSTANT = pa.timestamp("us", "UTC")
instants = st.datetimes(timezones=st.just(dt.UTC))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_texts(texts):
    """Texts in any script."""
    array = text_array(texts)
    array.validate(full=True)
    assert array.equals(pa.array(texts, pa.string()))


@given(st.lists(instants, min_size=1, max_size=5))
def test_instants(moments):
    """Instants over the whole calendar, there and back."""
    scalars = [instant(one) for one in moments]
    assert scalars == [pa.scalar(one, INSTANT) for one in moments]
    assert [moment(scalar) for scalar in scalars] == moments
    assert extent(pa.array([*moments, None], INSTANT)) == (min(moments), max(moments))
    assert extent(pa.chunked_array([], INSTANT)) is None


@pytest.mark.parametrize("microseconds", [-62_135_596_800_000_001, 253_402_300_800_000_000])
def test_instants_outside_the_calendar(microseconds):
    """Before the year 1 and after the year 9999 is no instant of ours."""
    with pytest.raises(OverflowError):
        extent(pa.array([microseconds]).view(INSTANT))


@pytest.mark.parametrize(
    ("zone", "first", "last", "hole"),
    [
        ("UTC", "2025-03-10T00:00:00+00:00", "2025-03-10T23:59:59.999999+00:00", None),
        ("America/New_York", "2025-03-10T04:00:00+00:00", "2025-03-11T03:59:59.999999+00:00", None),
        # clocks went back across midnight there: for a minute it was the next day already
        ("America/Goose_Bay", "2010-11-06T03:00:00+00:00", "2010-11-07T03:59:59.999999+00:00", "2010-11-07T03:00:30Z"),
    ],
)
def test_lines_are_inside_to_the_microsecond(zone, first, last, hole):
    """A day holds its first and its last microsecond, and neither the one before nor the one after."""
    start, end = (dt.datetime.fromisoformat(text) for text in (first, last))
    day = Period.of(start.date(), start.date(), zone)

    def page(*moments):
        return pa.table({"id": [str(one) for one in moments], "datetime": pa.array(moments, INSTANT)})

    require_in_period(page(), day, "page 1")
    require_in_period(page(start, end), day, "page 1")
    beside = [start - dt.timedelta(microseconds=1), end + dt.timedelta(microseconds=1)]
    for outside in [*beside, *([dt.datetime.fromisoformat(hole)] if hole else [])]:
        with pytest.raises(ProtocolError, match="is outside"):
            require_in_period(page(start, outside, end), day, "page 1")
