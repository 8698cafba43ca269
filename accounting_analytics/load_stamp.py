"""What a load says of itself, carried by its frame, and whether that is enough for the days of a report.

A frame has the stamp in ``attrs["load"]``, a Parquet file of a load in its metadata. A frame without one was not loaded
by this package, or came through an engine that does not carry it: nothing is known of it then.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOAD_METADATA = b"accounting_analytics.load"


def load_stamp(line_entries: Any) -> Mapping[str, Any] | None:  # noqa: ANN401 (any frame)
    """Stamp of a pandas frame or an Arrow table; None where there is none."""
    attrs = getattr(line_entries, "attrs", None)  # those of a pandas frame; an import of pandas takes a while
    if isinstance(attrs, dict):
        stamp = attrs.get("load")
        return stamp if isinstance(stamp, dict) else None
    if isinstance(line_entries, pa.Table) and LOAD_METADATA in (line_entries.schema.metadata or {}):
        stamp = json.loads(line_entries.schema.metadata[LOAD_METADATA])
        return stamp if isinstance(stamp, dict) else None
    return None


def loaded_period(stamp: Mapping[str, Any]) -> Period:
    """Days that were asked for."""
    return Period.of(stamp["start_date"], stamp["end_date"], stamp["time_zone"])


def lacks(line_entries: Any, period: Period) -> tuple[str, ...]:  # noqa: ANN401 (any frame)
    """Why lines of the period are surely missing, in words; nothing where none is known to be."""
    stamp = load_stamp(line_entries)
    if stamp is None:
        return ()
    taken = taken_out(line_entries)
    return (*_reasons(stamp, period), *([taken] if taken else []))


def taken_out(line_entries: Any) -> str:  # noqa: ANN401 (any frame)
    """Say how many of the lines that were loaded the frame does not have, or has more; empty for neither."""
    stamp = load_stamp(line_entries)
    if stamp is None or stamp["lines"] == (lines := len(line_entries)):
        return ""
    return f"{lines:,} lines are here and {stamp['lines']:,} were loaded: lines were taken out, or put in, since"


def _reasons(stamp: Mapping[str, Any], period: Period) -> Iterator[str]:
    if not stamp["complete"]:
        ledgers = stamp["missing"]
        first = next(iter(ledgers), "")
        yield f"days of {len(ledgers)} ledger(s) could not be loaded (ledger {first}: {ledgers.get(first, '')})"
    if stamp["tag_ids"]:
        yield "only lines with certain tags were loaded"
    if stamp["is_cashflow"] is False:
        yield "only lines of entries that do not touch cash were loaded"
    loaded = loaded_period(stamp)
    if not loaded.covers(period):
        yield f"{loaded} was loaded, which does not hold all of {period}"
