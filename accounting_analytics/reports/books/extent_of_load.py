"""The extent of a load, and checks that a frame still has its lines.

A load states, for each ledger, how many lines it has, the sum of their signed units, and the sum of their instants.
If an amount, a day or a ledger is changed in the frame, one of these three values differs.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import INSTANT, arrow_column, convert, exact_amounts
from accounting_analytics.core.errors import AccountingAnalyticsError, InputError
from accounting_analytics.core.load_metadata import loaded_period, read_load_metadata
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import format_amount, from_minor_units, to_units
from accounting_analytics.core.periods import period_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import numpy.typing as npt

    from accounting_analytics.core.periods import Period

_HARMLESS_FILTER = ("is_cashflow", True)
"""Filter of a load that keeps every line that a cash flow report needs."""
_COLUMNS = ["id", "ledger_id", "datetime", "signed_amount"]


class LedgerSum(NamedTuple):
    """A ledger's number of lines, and sums of their units and instants.

    The sums wrap around like 64-bit integers.
    """

    lines: int
    units: int
    instants: int


class MonthProof(NamedTuple):
    """Result of comparing a month's lines with the service's report, with instants."""

    verdict: str
    read_at: dt.datetime | None = None
    proven_at: dt.datetime | None = None  # None unless lines and report agree
    is_complete: bool = True


class Extent(NamedTuple):
    """The loaded part of the books: days, ledgers, and what is missing.

    Attributes
    ----------
    days : Period
        The days that were loaded; of lines that state no load, those from the first line to the last.
    is_stated : bool
        Whether the lines state their load, so that days without lines are known to have none.
    windows : mapping of str to str, or None
        The days that were read of each ledger that was asked for; None where nothing states them.
    entries : {"all", "cash"}
        Whether lines of all entries were loaded, or only those of entries that touch cash.
    missing : mapping of str to str
        Ledgers with days that could not be loaded, and the reasons.
    rows : int or None
        Number of loaded lines; None where nothing states it.
    source : str
        Service and instance, or the file with its digest; empty where nothing states them.
    is_file : bool
        Whether the source is a file, which no service serves.
    read_at : datetime or None
        Instant from which on the lines were read.
    consistency, moment : str
        The days that were read a second time, and those whose lines are certainly of one moment.
    first_entry : date or None
        Day of the first entry of the books, as local books state it.
    label : str
        Name that a person gave to a choice of lines; empty for lines as they were loaded.
    changes : tuple of str
        Differences between a person's choice and the load.
    """

    days: Period
    is_stated: bool = False
    windows: Mapping[str, str] | None = None
    entries: Literal["all", "cash"] = "all"
    missing: Mapping[str, str] = {}
    rows: int | None = None
    source: str = ""
    is_file: bool = False
    read_at: dt.datetime | None = None
    consistency: str = ""
    moment: str = ""
    first_entry: dt.date | None = None
    label: str = ""
    changes: tuple[str, ...] = ()

    @classmethod
    def of_load(cls, metadata: Mapping[str, Any]) -> Self:
        """Read the metadata of a load. Refuse the metadata of selected lines."""
        filters = metadata["filters"]
        if others := {name: value for name, value in filters.items() if (name, value) != _HARMLESS_FILTER}:
            of_tags = "pass tag_ids= to a statement of all lines" if "tag_ids" in others else "load all lines"
            chosen = ", ".join(f"{name}={quote(value)}" for name, value in others.items())
            raise InputError(
                f"only lines with {chosen} were loaded, which are not the books: {of_tags}; the frame itself can be "
                "explored as it is"
            )
        read_at, first = metadata.get("read_at"), metadata.get("books_start")
        return cls(
            loaded_period(metadata),
            is_stated=True,
            windows=json.loads(metadata["ledgers"]),
            entries="cash" if filters else "all",
            missing={} if metadata["complete"] else dict(metadata["missing"]),
            rows=int(metadata["lines"]),
            source=metadata.get("file") or " ".join(filter(None, map(metadata.get, ("base_url", "instance_id")))),
            is_file="file" in metadata,
            read_at=dt.datetime.fromisoformat(read_at) if read_at else None,
            consistency=metadata.get("consistency", ""),
            moment=metadata.get("of_one_moment", ""),
            first_entry=dt.date.fromisoformat(first) if first else None,
        )

    def reasons(self, period: Period, needed: Collection[str] = ()) -> tuple[str, ...]:
        """Return why lines of needed ledgers are missing in a period, if the load states it."""
        return tuple(self._reasons(period, needed)) if self.is_stated else ()

    def _reasons(self, period: Period, needed: Collection[str]) -> Iterator[str]:
        if self.missing:
            ledger_id, why = next(iter(self.missing.items()))
            yield f"days of {count_of(len(self.missing), 'ledger')} could not be loaded (ledger {ledger_id}: {why})"
        if not self.days.covers(period):
            hint = "; opened with period=, a file has the days around its entries too" if self.is_file else ""
            covered = f"the load covers {period_label(self.days)}, which does not include all of {period_label(period)}"
            yield f"{covered}{hint}"
        if absent := self.absent(needed):
            yield f"{count_of(len(absent), 'ledger was', 'ledgers were')} not loaded: {join_ids(absent)}"

    def absent(self, needed: Collection[str]) -> list[str]:
        """Return the needed ledgers whose lines the load did not request."""
        return [] if self.windows is None else sorted(set(needed) - self.windows.keys())


def attach_load_metadata(frame: pd.DataFrame, metadata: Mapping[str, Any]) -> None:
    """Attach the metadata of a load, with sums that identify its lines."""
    frame.attrs["load"] = {**metadata, "sums": json.dumps(_sums(frame, metadata["scale"]))}


def changed_row_count(line_entries: Any) -> int:  # noqa: ANN401 (any frame)
    """Count rows added (positive) or removed (negative) since the load."""
    metadata = read_load_metadata(line_entries)
    return 0 if metadata is None else len(line_entries) - int(metadata["lines"])


def reasons_of_frame(line_entries: Any) -> tuple[str, ...]:  # noqa: ANN401 (any frame)
    """Return why a frame lacks the exact lines of its load."""
    metadata, changed = read_load_metadata(line_entries), changed_row_count(line_entries)
    if metadata is None:
        return ()
    if changed < 0:
        return (f"{-changed:,} lines were removed after the load of {metadata['lines']:,}",)
    if changed > 0:
        loaded = f"the {metadata['lines']:,} that were loaded"
        return (f"there are {changed:,} lines more than {loaded}: lines are there twice, or others were added",)
    change = _describe_change(line_entries, metadata["sums"], metadata["scale"]) if "sums" in metadata else ""
    return (change,) if change else ()


def _describe_change(line_entries: Any, stated: str, scale: int) -> str:  # noqa: ANN401 (any frame)
    """Say how lines differ from the loaded lines, or return ""."""
    lines = line_entries.select(_COLUMNS).to_pandas() if isinstance(line_entries, pa.Table) else line_entries
    if not isinstance(lines, pd.DataFrame) or any(name not in lines for name in _COLUMNS):
        return ""  # only pandas and Arrow frames are compared
    try:
        found = _sums(lines, scale)
    except (AccountingAnalyticsError, pa.ArrowInvalid):  # the calculation refuses such an amount, and says why
        return ""
    loaded = {ledger_id: LedgerSum(*numbers) for ledger_id, numbers in json.loads(stated).items()}
    none = LedgerSum(0, 0, 0)
    differing = [
        ledger_id for ledger_id in {**loaded, **found} if found.get(ledger_id, none) != loaded.get(ledger_id, none)
    ]
    if not differing:
        return ""
    ledger_id = differing[0]
    here, there = found.get(ledger_id, none), loaded.get(ledger_id, none)
    if here.lines != there.lines:
        what = f"ledger {ledger_id} has {count_of(here.lines, 'line')}, and was loaded with {there.lines:,}"
    elif here.units != there.units:
        amounts = (format_amount(from_minor_units(ledger_sum.units, scale)) for ledger_sum in (here, there))
        what = "ledger {} sums to {}, and was loaded with {}".format(ledger_id, *amounts)
    else:
        what = f"instants of ledger {ledger_id} are others"
    more = f"; {count_of(len(differing) - 1, 'more ledger differs', 'more ledgers differ')}" if differing[1:] else ""
    own = "lines of your own state no load: lines.attrs.pop('load')"
    return f"amounts, days or ledgers were changed after the load: {what}{more} ({own})"


def _sums(lines: pd.DataFrame, scale: int) -> dict[str, LedgerSum]:
    """Sum the lines of each ledger."""
    instants = convert(lines["datetime"], INSTANT)
    if instants.dtype != INSTANT:
        return {}
    codes, ledger_ids = pd.factorize(lines["ledger_id"])
    known = codes >= 0
    codes, counted = codes[known], len(ledger_ids)
    rows = np.bincount(codes, minlength=counted)
    units = _add(codes, _units(lines, scale)[known], counted)
    moments = _add(codes, instants.astype("int64").to_numpy(np.int64)[known], counted)
    return {
        ledger_id: LedgerSum(*map(int, row)) for ledger_id, *row in zip(ledger_ids, rows, units, moments, strict=True)
    }


def _units(lines: pd.DataFrame, scale: int) -> npt.NDArray[np.int64]:
    """Convert amounts to signed units, missing ones to 0."""
    exact = exact_amounts(lines["signed_amount"], scale, lines["id"]).column
    return np.asarray(pc.fill_null(to_units(arrow_column(exact)), 0))


def _add(codes: npt.NDArray[Any], values: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, codes, values)
    return sums
