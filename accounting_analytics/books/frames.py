"""Frames of local books: line entries that state what they hold, as those of a load do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.load_metadata import DayRange, attach_load_metadata, days_to_text, to_file_metadata
from accounting_analytics.loader.line_entries import to_line_frame
from accounting_analytics.loader.load_request import DEFAULT_EXPANSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    import pyarrow as pa

    from accounting_analytics.periods import Period


def line_frame(
    lines: pa.Table,
    days: Period,
    ledger_ids: Iterable[str],
    *,
    scale: int,
    source: Mapping[str, Any],
    as_decimals: bool = False,
    notes: tuple[str, ...] = (),
) -> pd.DataFrame:
    """Make a frame of all lines of some ledgers in some days; `source` adds to its metadata, or replaces some."""
    frame = to_line_frame(lines, scale, days.time_zone, as_decimals=as_decimals)
    frame.attrs["notes"] = notes
    attach_load_metadata(frame, load_metadata(lines.num_rows, days, ledger_ids, scale) | dict(source))
    return frame


def exact_lines(lines: pa.Table, days: Period, *, scale: int) -> pa.Table:
    """Make a table for calculations of the lines of all ledgers in some days, which states what it holds."""
    metadata = load_metadata(lines.num_rows, days, (), scale)
    return lines.replace_schema_metadata(to_file_metadata(metadata))


def load_metadata(count: int, days: Period, ledger_ids: Iterable[str], scale: int) -> dict[str, Any]:
    """Return the metadata of a complete load of so many lines."""
    covered = days_to_text([DayRange.of_period(days)])
    return {
        "start_date": days.start_date.isoformat(),
        "end_date": days.end_date.isoformat(),
        "time_zone": days.time_zone,
        "expand": sorted(DEFAULT_EXPANSIONS),
        "scale": scale,
        "filters": {},
        "complete": True,
        "ledgers": dict.fromkeys(ledger_ids, covered),
        "missing": {},
        "consistency": "combined",
        "of_one_moment": "not checked",
        "windows": 0,
        "pages": 0,
        "lines": count,
    }
