"""Line entries of a statement by tags: only some tags, or a part for each tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import FrameError, InputError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.reports.books.book_lines import LineSource, tag_notes
from accounting_analytics.reports.figures.selections import Span, units_of
from accounting_analytics.reports.statements.columns import StatementColumn

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.core.periods import Period
    from accounting_analytics.reports.figures.numbered_lines import ShownLine
    from accounting_analytics.reports.figures.selections import Selection

TAG = "tag"
"""Value of ``columns`` that makes a column for each tag."""
SEVERAL, WITHOUT = "several", "without"
_LISTED = 10
"""A message names at most this many tags."""


class TaggedLines:
    """Line entries of some days, in parts. The ``tag`` of a span names a part.

    Parameters
    ----------
    lines : LineSource
        All lines.
    parts : mapping
        The lines of each part by its name; a part of all lines has an empty name.
    notes : tuple of str
        Remarks on the lines that are counted.
    costs_without_tag : LineSource, optional
        Lines of expenses without a tag of the group, which may be costs of any part.
    is_split : bool
        Whether the parts are all lines of the statement.
    """

    is_report = False

    def __init__(
        self,
        lines: LineSource,
        parts: Mapping[str, LineSource],
        notes: tuple[str, ...],
        costs_without_tag: LineSource | None = None,
        *,
        is_split: bool = False,
    ) -> None:
        self._lines, self._parts, self._is_split = lines, parts, is_split
        self._costs_without_tag = costs_without_tag
        self.scale = lines.scale
        self.states_days, self.loaded = lines.states_days, lines.loaded
        self.time_zone, self.is_tagged = lines.time_zone, True
        self.notes = (*notes, *lines.notes)

    def missing(self, span: Span, needed: Collection[str] = ()) -> str:
        """Return why lines of some days are missing, or ""."""
        return self._lines.missing(span, needed)

    def sums(self, spans: Collection[Span]) -> dict[Span, dict[str, int]]:
        """Sum signed units by ledger, debits positive."""
        found: dict[Span, dict[str, int]] = {}
        for name, part in self._parts.items():
            found |= part.sums([span for span in spans if span.tag == name])
        return found

    def why_no_margin(self, spans: Collection[Span]) -> str:
        """Return why the costs of tags are not complete, else ""."""
        if self._costs_without_tag is None or (self._is_split and self._parts.keys() == {span.tag for span in spans}):
            return ""
        if any(span.tag == WITHOUT for span in spans):
            return "amounts without a tag have no costs of their own"
        found = self._costs_without_tag.sums({span._replace(tag="") for span in spans}).values()
        ledger_ids = {ledger_id for of_ledgers in found for ledger_id in of_ledgers}
        if not ledger_ids:
            return ""
        return f"lines of {count_of(len(ledger_ids), 'expense ledger')} have no tag of the group"

    def entries(self, parts: Sequence[Selection], units: int) -> pd.DataFrame:
        """Return the lines of `parts` with signed amounts in ``figure_amount``."""
        frames = []
        for name, part in self._parts.items():
            if chosen := [selection for selection in parts if selection.span.tag == name]:
                of_part = units_of(chosen, part.sums({selection.span for selection in chosen}))
                frames.append(part.entries(chosen, of_part))
                units -= of_part
        if units:
            raise InputError("the lines have changed since the statement was made; make it again")
        return pd.concat(frames, ignore_index=True)

    def shown_lines(
        self, spans: Collection[Span], ledger_ids: Collection[str], names: LedgerNames, limit: int
    ) -> list[ShownLine] | None:
        """Return the lines of ledgers and days, or None if they exceed `limit`."""
        found: list[ShownLine] = []
        for name, part in self._parts.items():
            of_part = [span for span in spans if span.tag == name]
            shown = part.shown_lines(of_part, ledger_ids, names, limit) if of_part else []
            if shown is None or len(found) + len(shown) > limit:
                return None
            found += [line._replace(tag=name) for line in shown]
        return found


class Tags(NamedTuple):
    """Requested tags: only lines with some tags, or a column for each tag of a group."""

    tag_ids: tuple[str, ...]
    tag_group: str | None
    are_columns: bool

    def choose(
        self, lines: LineSource, days: Period, counted: Collection[str], costs: Collection[str], *, of_flows: bool
    ) -> tuple[TaggedLines, list[StatementColumn]]:
        """Choose the counted lines by their tags, and the columns of parts.

        `costs` are the ledgers of expenses.
        """
        used = days if self.are_columns else lines.loaded  # comparisons also need these days
        frame = _lines_of_days(lines, used, counted, of_flows=of_flows)
        tags = _tags_of(frame)
        asked = _find_tags(self.tag_ids, lines)
        groups = {tag.group for of_line in tags for tag in of_line if tag.id in asked}
        of_costs = frame[frame["ledger_id"].isin(list(costs))]
        if asked:
            frame = _where(frame, [asked.keys() <= {tag.id for tag in of_line} for of_line in tags])
            tags = _tags_of(frame)
        notes = tag_notes(tuple(asked.values()))
        if self.are_columns:
            group = _group_of(tags, self.tag_group)
            groups.add(group)
        has_none = [not groups <= {tag.group for tag in of_line} for of_line in _tags_of(of_costs)]
        costs_without_tag = None if of_flows else _part(lines, _where(of_costs, has_none), days, of_flows=False)
        if not self.are_columns:
            part = _part(lines, frame, days, of_flows=of_flows)
            return TaggedLines(lines, {"": part}, notes, costs_without_tag), []
        labels = [_part_of(of_line, group) for of_line in tags]
        names = {tag.part: tag.name for of_line in tags for tag in of_line if tag.group == group}
        names = dict(sorted(names.items(), key=lambda part_and_name: (part_and_name[1].casefold(), part_and_name[0])))
        names |= {SEVERAL: "Several tags", WITHOUT: "Without a tag"}
        shown = {name: text for name, text in names.items() if name in set(labels)} or {WITHOUT: names[WITHOUT]}
        parts = {
            name: _part(lines, _where(frame, [label == name for label in labels]), days, of_flows=of_flows)
            for name in shown
        }
        periods = ((1, days),)
        columns = [StatementColumn(name, text, "period", None, periods, tags=(name,)) for name, text in shown.items()]
        total = StatementColumn("total", "Total", "total", None, periods, tags=tuple(shown))
        return TaggedLines(lines, parts, notes, costs_without_tag, is_split=not asked), [*columns, total]


class _Tag(NamedTuple):
    id: str
    name: str
    group: str

    @property
    def part(self) -> str:
        """Key of the part, and of the column, of lines that have only this tag."""
        return f"{TAG}:{self.id}"


def _where(frame: pd.DataFrame, is_kept: Sequence[bool]) -> pd.DataFrame:
    return frame[np.array(is_kept, dtype=bool)]


def _lines_of_days(lines: LineSource, days: Period, counted: Collection[str], *, of_flows: bool) -> pd.DataFrame:
    """Return the counted lines of some days, whose tags must be known."""
    span = Span(days.start_date, days.end_date)
    frame = lines.flow_lines(span) if of_flows else lines.lines(span)
    frame = frame[frame["ledger_id"].isin(list(counted))]
    if "tag_ids" not in frame:
        raise FrameError("line_entries lack the column tag_ids, so their tags are not known")
    if unknown := int(frame["tag_ids"].isna().sum()):
        raise InputError(f"the tags of {count_of(unknown, 'line')} are not known, so no statement by tags can be made")
    return frame


def _tags_of(frame: pd.DataFrame) -> list[list[_Tag]]:
    """Read the tags of each line, with known names and groups."""
    ids = _lists(frame, "tag_ids")
    names, groups = (
        _lists(frame, "tag_names", ids),
        _lists(frame, "tag_group_ids", [[""] * len(tag_ids) for tag_ids in ids]),
    )
    return [
        [_Tag(*fields) for fields in zip(*of_line, strict=True)] for of_line in zip(ids, names, groups, strict=True)
    ]


def _lists(frame: pd.DataFrame, name: str, default: list[list[str]] | None = None) -> list[list[str]]:
    if name not in frame:
        return default or [[] for _ in range(len(frame))]
    return [text.split(LIST_SEPARATOR) if text else [] for text in frame[name].astype(object)]


def _find_tags(asked: Collection[str], lines: LineSource) -> dict[str, str]:
    """Find tags by id or unique name. Refuse tags that no line has."""
    found: dict[str, str] = {}
    if not asked:
        return found
    every = _tags_of(lines.lines(Span(lines.loaded.start_date, lines.loaded.end_date)))
    known = {tag.id: tag.name for of_line in every for tag in of_line}
    for text in asked:
        ids = [text] if text in known else [tag_id for tag_id, name in known.items() if name == text]
        if len(ids) != 1:
            by_name = sorted(known.items(), key=lambda id_and_name: id_and_name[1])
            texts = [f"{name} ({tag_id})" for tag_id, name in by_name]
            rest = f" and {len(texts) - _LISTED:,} more" if len(texts) > _LISTED else ""
            listed = ", ".join(texts[:_LISTED]) + rest
            why = "is the name of several tags: give the id" if ids else "is not a tag of the loaded lines"
            raise InputError(f"tag_ids: {quote(text)} {why}; there are {listed or 'none'}")
        found[ids[0]] = known[ids[0]]
    return found


def _group_of(tags: Iterable[Iterable[_Tag]], asked: str | None) -> str:
    """Return the requested group of tags, or the only one."""
    groups: dict[str, set[str]] = {}
    for of_line in tags:
        for tag in of_line:
            groups.setdefault(tag.group, set()).add(tag.name)
    listed = ", ".join(f"{group} (tags {join_ids(names, limit=3)})" for group, names in sorted(groups.items()))
    if asked is not None:
        if asked not in groups:
            raise InputError(f"no line has a tag of the group {quote(asked)}; there are {listed or 'none'}")
        return asked
    if len(groups) > 1:
        how = "pass the id of one as tag_group (--tag-group in a shell)"
        raise InputError(f"the tags are of {len(groups)} groups; {how}: {listed}")
    return next(iter(groups), "")


def _part_of(tags: Iterable[_Tag], group: str) -> str:
    """Name the part of a line: its tag, several or none."""
    found = [tag.part for tag in tags if tag.group == group]
    return WITHOUT if not found else found[0] if len(found) == 1 else SEVERAL


def _part(lines: LineSource, frame: pd.DataFrame, days: Period, *, of_flows: bool) -> LineSource:
    """Make a source of the lines of a part. These lines state no load."""
    own = frame.reset_index(drop=True)
    own.attrs = {}
    part = LineSource(own, lines.cash, lines.time_zone, open_items=lines.open_items, scale=lines.scale, asked=days)
    part.is_tagged = of_flows
    return part
