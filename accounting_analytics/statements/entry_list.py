"""The line entries behind all figures of a statement as one list, in which each figure has a range."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import pandas as pd

from accounting_analytics.column_conversion import LIST_SEPARATOR, exact_amounts
from accounting_analytics.errors import IncompleteLoadError
from accounting_analytics.periods import LOCALTIME, UTC, zone
from accounting_analytics.statements.line_sums import LinePart, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from decimal import Decimal

    import numpy.typing as npt

    from accounting_analytics.statements.cells import Cells
    from accounting_analytics.statements.formulas import Key

    Days = npt.NDArray[np.datetime64]


_DAY = dt.timedelta(days=1)


class ListedEntry(NamedTuple):
    """A line entry with its amount as summed."""

    date: dt.date
    description: str
    ledger: str
    opposing_ledgers: str
    amount: Decimal
    id: str


class _Group(NamedTuple):
    """What the entries of some figures have in common: their ledgers, their sign, and whether they touch cash."""

    factor: int
    is_flow: bool
    ledger_ids: Collection[str]


class EntryList(NamedTuple):
    """Entries, and the first and last position of those behind each figure that is a sum of entries.

    A figure without entries has no range. Rows of the same ledgers share their entries.
    """

    entries: Sequence[ListedEntry]
    ranges: Mapping[Key, tuple[int, int]]
    missing: str = ""

    @classmethod
    def from_cells(cls, cells: Cells, time_zone: str) -> Self:
        """List the entries behind the rows that are not made of other rows, each once; or say why there are none."""
        try:
            return cls._listed(cells, time_zone)
        except IncompleteLoadError as error:
            return cls([], {}, str(error))

    @classmethod
    def _listed(cls, cells: Cells, time_zone: str) -> Self:
        groups = _groups(cells)
        entries: list[ListedEntry] = []
        ranges: dict[Key, tuple[int, int]] = {}
        for group, figures in groups.items():
            spans = _merged([span for _, span in figures])
            frame = cells.lines_of([LinePart(group.factor, span, group.ledger_ids) for span in spans])
            days = _days(frame, time_zone)
            frame = frame.iloc[np.argsort(days, kind="stable")]
            days = np.sort(days)
            for key, span in figures:
                first = 0 if span.first is None else int(np.searchsorted(days, np.datetime64(span.first)))
                after = int(np.searchsorted(days, np.datetime64(span.last), side="right"))
                if first < after:
                    ranges[key] = (len(entries) + first, len(entries) + after - 1)
            entries.extend(_listed(frame, days, cells))
        return cls(entries, ranges)


def _groups(cells: Cells) -> dict[_Group, list[tuple[Key, Span]]]:
    """Figures that are sums of entries of one period, by what their entries have in common."""
    groups: dict[_Group, list[tuple[Key, Span]]] = {}
    for row in cells.layout.shown:
        if row.kind == "heading" or row.children or row.terms:
            continue
        for column in cells.columns.shown:
            key = (row.key, column.key)
            if len(column.periods) != 1 or not cells.is_additive(*key) or cells.value(*key) is None:
                continue
            (part,) = cells.parts_of(row, column)
            if part.ledger_ids and not part.span.is_empty:
                group = _Group(part.factor, part.span.is_flow, tuple(part.ledger_ids))
                groups.setdefault(group, []).append((key, part.span))
    return groups


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Join the spans that overlap or touch."""
    merged: list[Span] = []
    for span in sorted(set(spans), key=lambda one: one.first or dt.date.min):
        if merged and (span.first is None or span.first - merged[-1].last <= _DAY):
            merged[-1] = merged[-1]._replace(last=max(merged[-1].last, span.last))
        else:
            merged.append(span)
    return merged


def _days(frame: pd.DataFrame, time_zone: str) -> Days:
    """Local day of each entry; where clocks go back across midnight, they are not in the order of time."""
    name = UTC if time_zone == LOCALTIME else time_zone
    days: Days = frame["datetime"].dt.tz_convert(zone(name)).dt.tz_localize(None).to_numpy().astype("datetime64[D]")
    return days


def _listed(frame: pd.DataFrame, days: Days, cells: Cells) -> Iterator[ListedEntry]:
    """Entries of a frame of line entries, or of the lines of a report."""
    of_report = "cash_flow_ledger_name" in frame
    if of_report:
        opposing = _texts(frame, "cash_flow_ledger_name")
    else:
        ids = (text.split(LIST_SEPARATOR) for text in _texts(frame, "opposing_ledger_ids"))
        opposing = [", ".join(cells.ledgers.name(one) for one in of_entry if one) for of_entry in ids]
    columns = (
        days.tolist(),
        _texts(frame, "journal_entry_description", "description"),
        map(cells.ledgers.name, frame["ledger_id"]),
        opposing,
        exact_amounts(frame["figure_amount"], cells.source.scale, frame["ledger_id"]).column,
        _texts(frame, "line_id" if of_report else "id"),
    )
    return map(ListedEntry._make, zip(*columns, strict=True))


def _texts(frame: pd.DataFrame, name: str, other: str = "") -> list[str]:
    """Texts of a column, of another one where they are null or empty, or of none where the frame has neither."""
    texts = pd.Series("", index=frame.index, dtype=object)
    for one in (other, name):
        if one in frame:
            column = frame[one].astype(object)
            texts = column.where(column.notna() & (column != ""), texts)
    return texts.tolist()
