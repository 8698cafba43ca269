"""Several loads of the same books as one frame: each line once, differences refused or stated, gaps kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import find_scale
from accounting_analytics.core.errors import ChangedWhileReadingError, FrameError, InputError
from accounting_analytics.core.exact_sums import require_columns
from accounting_analytics.core.load_metadata import (
    DayRange,
    attach_load_metadata,
    attach_notes,
    changed_row_count,
    days_to_text,
    describe_gaps,
    merge_days,
    notes,
    parse_days,
    read_load_metadata,
    stated_scales,
    subtract_days,
)
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.periods import LOCALTIME
from accounting_analytics.core.schemas import LineEntries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    Rows = npt.NDArray[np.bool_]

Changed: TypeAlias = Literal["refuse", "later"]
_SAME = ("base_url", "instance_id", "time_zone", "scale", "filters", "expand")
"""What all loads must state alike."""
_COMPARED = ("id", "ledger_id", "datetime")
"""Columns by which lines are compared and ordered."""


def combine_loads(
    loads: Iterable[pd.DataFrame], *, changed: Changed = "refuse", allow_unchecked: bool = False
) -> pd.DataFrame:
    """Combine several loads of the same books into one frame, with each line once.

    Use this instead of ``pd.concat``, which drops what the loads state, and keeps lines of overlapping loads twice.

    Parameters
    ----------
    loads : iterable of DataFrame
        :class:`~accounting_analytics.schemas.LineEntries` of the same service, instance, time zone, scale, filters and
        expansions, as they were loaded. Their days and ledgers may be different, touch or overlap. Days between them
        stay missing: ``attrs["load"]["gaps"]`` names them, and calculations that need them refuse the frame.
    changed : {"refuse", "later"}
        What to do if days that two loads have in common are not the same in both, because the books changed between
        the loads: raise an error, or take these days from the load that is later in `loads`.
    allow_unchecked : bool
        Accept frames that do not state what they hold, such as filtered ones. The result then states no load either,
        and its notes name what was not checked.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`, ordered by (datetime, id), with the notes and the metadata
        of all loads. Its lines are not checked to be those of one moment.

    Raises
    ------
    FrameError
        A frame does not state its load, the loads are of different books, or their columns differ.
    ChangedWhileReadingError
        The books changed between the loads; the message names the lines.
    """
    if changed not in ("refuse", "later"):  # a list cannot be in a set
        raise InputError(f"changed is {quote(changed)}; it must be 'refuse' or 'later'")
    frames = _require_frames(loads)
    unchecked = tuple(_find_unchecked(frames))
    if unchecked and not allow_unchecked:
        raise FrameError(f"{unchecked[0]}; load it again, or pass allow_unchecked=True for a frame that states no load")
    stated = [] if unchecked else [read_load_metadata(frame) or {} for frame in frames]
    _require_alike(frames, stated)
    scale = find_scale(one for frame in frames for one in stated_scales(frame)).scale
    overlap = _find_overlap(frames, stated)
    if overlap.changed_ids and changed == "refuse":
        raise ChangedWhileReadingError(
            f"{count_of(len(overlap.changed_ids), 'line')} changed between the loads: {join_ids(overlap.changed_ids)}; "
            'load these days again in one load, or pass changed="later" to take them from the later load'
        )
    lines = overlap.lines.sort_values(["datetime", "id"], ignore_index=True)
    lines.attrs = {"scale": scale, "notes": ()}
    combined = LineEntries.require_valid(lines[[name for name in LineEntries.dtypes() if name in lines]])
    own = [note for frame in frames for note in notes(frame)]
    own += overlap.notes()
    if stated:
        metadata = _combine_metadata(stated, len(combined))
        attach_load_metadata(combined, metadata)
        own += [f"{gaps}." for gaps in describe_gaps(metadata["gaps"])]
    own += [f"Not checked: {one}, so its days, filters and instance are not known." for one in unchecked]
    attach_notes(combined, own, *frames)
    return combined


def _require_frames(loads: Iterable[pd.DataFrame]) -> list[pd.DataFrame]:
    if isinstance(loads, pd.DataFrame) or not isinstance(loads, Iterable):
        raise InputError(f"loads is of type {type(loads).__name__}; give several loads in a list")
    frames = list(loads)
    for number, frame in enumerate(frames):
        require_type(frame, pd.DataFrame, f"loads[{number}]", "load_line_entries(client, ...) returns one")
    if not frames:
        raise InputError("no loads given; combine_loads([january, february])")
    return frames


def _find_unchecked(frames: Sequence[pd.DataFrame]) -> Iterator[str]:
    """Describe each frame that does not state what it holds."""
    for number, frame in enumerate(frames, start=1):
        metadata = read_load_metadata(frame)
        if metadata is None:
            yield f"load {number} states no load (attrs['load'])"
        elif absent := [name for name in _SAME if name not in metadata]:
            yield f"load {number} does not state its {absent[0]}"
        elif rows := changed_row_count(frame):
            more = "more" if rows > 0 else "fewer"
            yield f"load {number} has {count_of(abs(rows), 'line')} {more} than were loaded"


def _require_alike(frames: Sequence[pd.DataFrame], stated: Sequence[Mapping[str, Any]]) -> None:
    """Refuse loads of another instance, zone, scale, filters, expansions or columns than the first."""
    alike: list[dict[str, Any]] = []
    for number, frame in enumerate(frames, start=1):
        require_columns(frame.columns, _COMPARED, f"load {number}")
        if not frame.columns.is_unique:
            raise FrameError(f"load {number} has a column twice: {join_ids(frame.columns[frame.columns.duplicated()])}")
        metadata = {name: stated[number - 1][name] for name in _SAME} if stated else {}
        alike.append(metadata | {f"column {name}": str(dtype) for name, dtype in frame.dtypes.items()})
    first = alike[0]
    for number, other in enumerate(alike[1:], start=2):
        different = next((name for name in first | other if first.get(name) != other.get(name)), None)
        if different is not None:
            raise FrameError(
                f"loads 1 and {number} cannot be combined: their {different} differs, {quote(first.get(different))} "
                f"and {quote(other.get(different))}; load both with the same"
            )


class _Overlap(NamedTuple):
    """The lines of all loads, each once, how many are the same in several loads, and which are not."""

    lines: pd.DataFrame
    repeated: int
    changed_ids: set[str]

    def notes(self) -> Iterator[str]:
        """Note what was kept once, or taken from the later load."""
        if self.repeated:
            yield f"{count_of(self.repeated, 'line')} in more than one load, the same in each, kept once."
        if self.changed_ids:
            yield (
                f"{count_of(len(self.changed_ids), 'line')} changed between the loads, taken from the later one: "
                f"{join_ids(self.changed_ids)}."
            )


def _find_overlap(frames: Sequence[pd.DataFrame], stated: Sequence[Mapping[str, Any]]) -> _Overlap:
    """Compare the loads; where they differ, the lines are those of the later load."""
    rows = pd.concat(frames, ignore_index=True)
    is_replaced = rows["id"].duplicated(keep="last").to_numpy(copy=True)
    repeated = set(rows.loc[is_replaced, "id"])
    versions = rows[rows["id"].isin(repeated)].drop_duplicates()
    changed = set(versions.loc[versions["id"].duplicated(), "id"])
    starts = np.cumsum([0, *map(len, frames)])
    for one, other in permutations(range(len(stated)), 2):
        is_covered = _is_covered(frames[one], stated[one], stated[other])
        ids = frames[one].loc[is_covered, "id"]
        changed |= set(ids[~ids.isin(frames[other]["id"])])
        if one < other:
            is_replaced[starts[one] : starts[one + 1]] |= is_covered
    return _Overlap(rows[~is_replaced], len(repeated - changed), changed)


def _is_covered(frame: pd.DataFrame, stated: Mapping[str, Any], other: Mapping[str, Any]) -> Rows:
    """Rows of a load whose ledger and day another load has read."""
    covered = np.zeros(len(frame), np.bool_)
    if not (stated["start_date"] <= other["end_date"] and other["start_date"] <= stated["end_date"]):
        return covered
    if stated["time_zone"] == LOCALTIME:
        raise FrameError(
            f"loads of common days in the zone {LOCALTIME} cannot be compared, because only the service knows the day "
            "of a line; load them again in a named zone, or in one load"
        )
    require_columns(frame.columns, ["local_date"], "a load that overlaps another one")
    ledgers_by_days: dict[str, list[str]] = defaultdict(list)
    for ledger_id, text in other["ledgers"].items():
        ledgers_by_days[text].append(ledger_id)
    for text, ledger_ids in ledgers_by_days.items():
        is_of_ledgers = frame["ledger_id"].isin(ledger_ids).to_numpy()
        for days in merge_days(parse_days(text)):
            is_within = frame["local_date"].between(pd.Timestamp(days.first), pd.Timestamp(days.last))
            covered |= is_of_ledgers & is_within.to_numpy()
    return covered


def _combine_metadata(stated: Sequence[Mapping[str, Any]], line_count: int) -> dict[str, Any]:
    """Metadata of one load of all days and ledgers, with the days that no load has."""
    read: dict[str, list[DayRange]] = defaultdict(list)
    failed: dict[str, list[DayRange]] = defaultdict(list)
    for metadata in stated:
        for ledger_id, text in metadata["ledgers"].items():
            read[ledger_id] += parse_days(text)
        for ledger_id, text in metadata["missing"].items():
            failed[ledger_id] += parse_days(text)
    first, last = min(one["start_date"] for one in stated), max(one["end_date"] for one in stated)
    whole = parse_days(f"{first}/{last}")
    missing = {ledger_id: subtract_days(days, read[ledger_id]) for ledger_id, days in failed.items()}
    absent = {ledger_id: subtract_days(whole, [*read[ledger_id], *missing.get(ledger_id, ())]) for ledger_id in read}
    return {
        **{name: stated[0][name] for name in _SAME},
        "start_date": first,
        "end_date": last,
        "complete": not any(missing.values()) and not any(absent.values()),
        "ledgers": {ledger_id: days_to_text(merge_days(days)) for ledger_id, days in read.items()},
        "missing": {ledger_id: days_to_text(days) for ledger_id, days in missing.items() if days},
        "gaps": {ledger_id: days_to_text(days) for ledger_id, days in absent.items() if days},
        "consistency": "combined",
        "of_one_moment": "not checked",
        "read_at": min(one.get("read_at", "") for one in stated),  # empty where one does not state it
        "windows": sum(one["windows"] for one in stated),
        "pages": sum(one["pages"] for one in stated),
        "lines": line_count,
    }
