"""The zone that the days of line entries are counted in."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import narwhals as nw

from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.exact_sums import collect, wrap
from accounting_analytics.core.load_metadata import stated_attrs
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import DayZone, Period, as_utc, choose_zone, local_date, zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.core.periods import ZoneLike

_COLUMNS = ("datetime", "local_date")


def zone_of_lines(
    line_entries: Any,  # noqa: ANN401 (any frame)
    ledgers: Any,  # noqa: ANN401 (any frame)
    time_zone: ZoneLike | None,
    metadata: Mapping[str, Any] | None,
) -> DayZone:
    """Find the time zone of days: first the argument, then the load, then the ledgers.

    The zone of the ledgers counts only if every ``local_date`` is a day of it.
    """
    if time_zone is not None:
        return choose_zone(time_zone)
    if metadata is not None:
        return choose_zone(metadata["time_zone"])
    why = "the line entries state no time zone and have no local_date"
    if "local_date" in wrap(line_entries, "line_entries", _COLUMNS).collect_schema():
        discovery = stated_attrs(ledgers).get("discovery")
        of_ledgers: str | None = discovery["accepted"][2] if discovery else None
        if of_ledgers is None:
            why = "neither the line entries nor the ledgers state a time zone"
        elif other := find_other_day(line_entries, of_ledgers):
            why = f"the line entries state no time zone, and that of the ledgers, {of_ledgers}, is another: {other}"
        else:
            note = f"No time zone was given; every local_date is the day in the zone of the ledgers: {of_ledgers}."
            return DayZone(of_ledgers, (note,))
    raise InputError(f"{why}; name the zone that days are counted in, such as time_zone='America/New_York'")


def refuse_other_days(line_entries: Any, time_zone: str) -> None:  # noqa: ANN401 (any frame)
    """Refuse a frame whose ``local_date`` has days of another zone."""
    if other := find_other_day(line_entries, time_zone):
        raise InputError(
            f"{other}: name the zone of these days as time_zone, or drop the column local_date to count other days"
        )


def find_other_day(line_entries: Any, time_zone: str) -> str:  # noqa: ANN401 (any frame)
    """Describe a line whose ``local_date`` is another day, if any."""
    lines = wrap(line_entries, "line_entries", _COLUMNS)
    schema = lines.collect_schema()
    if "local_date" not in schema or not isinstance(schema.get("datetime"), nw.Datetime):
        return ""
    lines = lines.filter(~nw.col("local_date").is_null())
    instant, tz = nw.col("datetime"), zone(time_zone)
    ends = lines.group_by("local_date").agg(first=instant.min(), last=instant.max())
    for row in sorted(collect(ends).to_pylist(), key=lambda row: (row["first"], row["last"])):
        day, moments = _to_date(row["local_date"]), [row["first"], row["last"]]
        if len(Period(day, day, time_zone).instants()) > 1:  # clocks went back across midnight: two parts
            rows = collect(lines.filter(instant >= row["first"], instant <= row["last"])).to_pylist()
            moments = [line["datetime"] for line in rows if _to_date(line["local_date"]) == day]
        for moment in map(as_utc, moments):
            if (there := local_date(moment, tz)) != day:
                return f"local_date of the line entry of {moment:%Y-%m-%d %H:%M} UTC is {day}, in {time_zone} {there}"
    return ""


def _to_date(value: object) -> dt.date:
    """Read a cell of ``local_date`` as a day.

    The cell is an instant at midnight, a date or a text.
    """
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            raise FrameError(f"line_entries: local_date {quote(value)} is not a day such as 2025-03-01") from None
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    raise FrameError(f"line_entries: local_date {quote(value)} is not a day such as 2025-03-01")
