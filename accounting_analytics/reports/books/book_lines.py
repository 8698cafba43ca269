"""`LineSource`: line entries of any engine, their sums, and the rows behind the sums."""

from __future__ import annotations

from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from accounting_analytics.core.column_conversion import (
    INSTANT,
    LIST_SEPARATOR,
    TEXT,
    exact_amounts,
    exact_frame,
    local_midnights,
    negated,
)
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.exact_sums import (
    ExactLines,
    collect,
    in_microseconds_utc,
    is_on,
    is_within,
    lines_of_entries,
    require_columns,
    require_sides,
)
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import pandas_dtype, to_minor_units
from accounting_analytics.core.periods import Period, day_before, day_label, days_label, local_date, zone
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.reports.books.extent_of_load import Extent
from accounting_analytics.reports.books.payees import counterparties_of_entries, entry_ids
from accounting_analytics.reports.figures.figure import checked_entries
from accounting_analytics.reports.figures.numbered_lines import ShownLine, texts_of
from accounting_analytics.reports.figures.selections import Span, joined, simplified

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Mapping, Sequence

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.reports.figures.selections import Selection

_MOST_QUIET_DAYS = 7
_NO_LEDGERS: Mapping[str, str] = MappingProxyType({})
_NEEDED = ("id", "ledger_id", "journal_entry_id", "datetime", "signed_amount")


class LineSource:
    """Line entries of any engine, their sums and the rows behind them.

    Parameters
    ----------
    line_entries : frame
        Any frame that narwhals knows.
    cash : collection of str
        The ledgers that report cash flow.
    openings : collection of str
        The ledgers of opening balances, whose entries are no flows.
    open_items : mapping of str to str
        Receivables and payables, and the ledgers below them with their path from there.
    time_zone : str
        Zone that days are counted in.
    extent : Extent, optional
        The loaded days and ledgers; by default, of lines that state no load, the days from the first line to the last.
    scale : int or None
        Fraction digits, where nothing states them.
    asked : Period or None
        Days of lines that state no load, where there is no line.
    """

    is_report, is_tagged, _is_checked = False, False, False

    def __init__(
        self,
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        cash: Collection[str],
        time_zone: str,
        *,
        openings: Collection[str] = (),
        open_items: Mapping[str, str] = _NO_LEDGERS,
        extent: Extent | None = None,
        scale: int | None = None,
        asked: Period | None = None,
    ) -> None:
        # the index is not used, and may have the name of a column
        self.frame = line_entries.reset_index(drop=True) if isinstance(line_entries, pd.DataFrame) else line_entries
        self.cash, self.openings, self.open_items, self.time_zone = cash, openings, open_items, time_zone
        self.states_days = extent is not None
        self._stated, self._scale, self._asked = extent, scale, asked

    @cached_property
    def exact(self) -> ExactLines:
        """The lines with exact amounts."""
        return ExactLines.from_frame(self.frame, self._scale)

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self.exact.scale

    @cached_property
    def extent(self) -> Extent:
        """The stated extent of the load, else the days from the first line to the last."""
        if self._stated is not None:
            return self._stated
        instant = nw.col("datetime")
        (ends,) = collect(self.exact.lines.select(first=instant.min(), last=instant.max())).to_pylist()
        if ends["first"] is None and self._asked is not None:
            return Extent(self._asked)
        if ends["first"] is None:
            raise IncompleteLoadError(
                "the frame has no lines and states no load, so no days are known; pass a period to Books"
            )
        days = zone(self.time_zone)
        return Extent(Period(local_date(ends["first"], days), local_date(ends["last"], days), self.time_zone))

    @property
    def loaded(self) -> Period:
        """The days that were loaded."""
        days = self.extent.days
        return Period(days.start_date, days.end_date, self.time_zone)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on what was assumed, normalized or not checked."""
        if self.extent.is_stated:
            return self.exact.notes
        loaded = self.loaded
        unchecked = (
            "The frame does not state its load, so whether days are missing was not checked; its lines are of "
            f"{days_label(loaded)}."
        )
        return (unchecked, *self.exact.notes)

    @cached_property
    def counterparties(self) -> dict[str, str]:
        """Counterparty of each journal entry of the loaded days."""
        lines = self.lines(Span(self.loaded.start_date, self.loaded.end_date))
        return counterparties_of_entries(lines, self.cash, self.open_items)

    def in_pandas(self, what: str) -> pd.DataFrame:
        """Return the frame in pandas. Refuse a frame of another engine."""
        if not isinstance(self.frame, pd.DataFrame):
            raise InputError(
                f"{what} takes lines in pandas, and these are in a {type(self.frame).__name__}: load the books with "
                "engine='pandas'"
            )
        return self.frame

    @cached_property
    def dated(self) -> pd.DataFrame:
        """The lines in pandas, exact, with ``local_date`` and ``_entry``.

        ``_entry`` is the id of the journal entry, or of the line where it names no entry.
        """
        frame = self.in_pandas("this")
        require_columns(frame.columns, _NEEDED, "line_entries")
        rows = exact_frame(frame, ["signed_amount"], scale=self._scale).frame
        return rows.assign(local_date=local_midnights(rows["datetime"], self.time_zone), _entry=entry_ids(rows))

    def until(self, last: dt.date) -> pd.DataFrame:
        """Return the lines of :attr:`dated` up to a day."""
        return self.dated[self.dated["local_date"] <= pd.Timestamp(last)]

    def missing_until(self, last: dt.date) -> str:
        """Return why lines until a day are missing, else an empty text."""
        return "; ".join(self.extent.reasons(Period(last, last, self.time_zone)))

    def notes_until(self, last: dt.date) -> tuple[str, ...]:
        """Return the notes, with a warning if the last days have no line."""
        rows = self.until(last)
        latest = last if rows.empty else rows["local_date"].max().date()
        days = (last - latest).days
        quiet = (
            f"The latest line entry is of {day_label(latest)}, {days:,} days before {day_label(last)}: what is said of "
            "these days, and of those after them, rests on no entry."
        )
        return (*([quiet] if days > _MOST_QUIET_DAYS else []), *self.exact.notes)

    def listed(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Select the lines on cash ledgers, with their ``figure_amount``."""
        shown = rows[rows["ledger_id"].isin(self.cash)]
        return shown.assign(figure_amount=shown["signed_amount"])

    def require_each_once(self) -> None:
        """Refuse repeated lines and amounts on wrong sides, unless the lines state their load."""
        if not self.states_days and not self._is_checked:
            self.exact.require_distinct()
            require_sides(self.frame, self.scale)
            self._is_checked = True

    def require_whole_entries(self) -> None:
        """Also refuse entries that do not balance, unless the lines state their load."""
        self.require_each_once()
        if not self.states_days and self._unbalanced:
            raise IncompleteLoadError(_describe_unbalanced(self._unbalanced))

    @cached_property
    def _unbalanced(self) -> list[str]:
        return self.exact.unbalanced()

    @cached_property
    def _numbered(self) -> nw.LazyFrame[Any]:
        """Exact lines in memory with their positions in the frame."""
        held = collect(self.exact.lines)
        held = held.append_column("position", pa.array(np.arange(held.num_rows)))
        numbered: nw.LazyFrame[Any] = nw.from_native(held).lazy()
        return numbered

    def __getstate__(self) -> dict[str, Any]:
        """Leave cached values out of a pickle."""
        found = {name for name, attribute in vars(type(self)).items() if isinstance(attribute, cached_property)}
        return {name: value for name, value in vars(self).items() if name not in found}

    def require_all_entries(self) -> None:
        """Refuse lines that were loaded only for entries that touch cash."""
        if self.extent.entries == "cash":
            raise IncompleteLoadError(
                "only lines of entries that touch cash were loaded (is_cashflow=True), which suffices for a cash flow "
                "statement alone; load the lines without this filter"
            )

    def missing(self, span: Span, needed: Collection[str] = ()) -> str:
        """Return why needed lines of some days are missing, else nothing."""
        first = self.loaded.start_date if span.first is None else span.first
        if span.last < day_before(first) and (span.is_empty or self.states_days):
            return f"the days before {day_label(first)} were not loaded"
        if span.last < first:
            return ""
        return "; ".join(self.extent.reasons(Period(first, span.last, self.time_zone), needed))

    def sums(self, spans: Collection[Span]) -> dict[Span, dict[str, int]]:
        """Sum signed units by ledger, debits positive. Spans of flows leave out cash ledgers."""
        flows = [] if self.is_tagged else [span for span in spans if span.is_flow]
        lines = [span for span in spans if span not in flows]
        found: dict[Span, dict[str, int]] = {}
        if lines:
            summed = self.exact.sums(*(span.intervals(self.time_zone) for span in lines))
            found.update(zip(lines, summed.columns, strict=True))  # type: ignore[arg-type]  # no id is null
        if flows:
            days = (span.intervals(self.time_zone) for span in flows)
            moved = self.exact.flows(self.cash, *days, openings=self.openings)
            if moved.unbalanced:
                raise IncompleteLoadError(_describe_unbalanced(moved.unbalanced))
            for span, flow, opened in zip(flows, moved.columns, moved.openings, strict=True):
                of_entries = opened if span.is_opening else flow
                found[span] = {ledger_id: -units for ledger_id, units in of_entries.items()}
        return found

    def entries(self, parts: Sequence[Selection], units: int) -> pd.DataFrame:
        """Return the lines of `parts`, with signed amounts in ``figure_amount``."""
        frames = [self._lines_of(part) for part in simplified(parts)]
        entries = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0].reset_index(drop=True)
        return checked_entries(entries, units, self.scale)

    def flow_lines(self, span: Span) -> pd.DataFrame:
        """Return the lines of cash flows, without entries of opening balances."""
        within, is_cash = is_within(span.intervals(self.time_zone)), is_on(self.cash)
        return self._rows(within & ~is_cash, within & is_cash, opening=within & is_on(self.openings))

    def lines(self, span: Span) -> pd.DataFrame:
        """Return the lines of a span of days with all columns."""
        return self._rows(is_within(span.intervals(self.time_zone)))

    def shown_lines(
        self, spans: Collection[Span], ledger_ids: Collection[str], names: LedgerNames, limit: int
    ) -> list[ShownLine] | None:
        """Return the lines on some ledgers in `spans`, or None if they are more than `limit`."""
        within = is_within(tuple(interval for span in joined(spans) for interval in span.intervals(self.time_zone)))
        on_ledgers = within & is_on(ledger_ids)
        chosen = self.exact.lines.filter(on_ledgers)
        if collect(chosen.select(count=nw.len()))["count"][0].as_py() > limit:
            return None
        frame = self._rows(on_ledgers).sort_values(["datetime", "id"], kind="stable")
        amounts = exact_amounts(frame["signed_amount"], self.scale, frame["id"]).column
        ledgers_of_entry = self._ledgers_of_entries(within, on_ledgers)
        cash, openings = set(self.cash), set(self.openings)

        @cache
        def kind_and_opposing(ledger_id: str, in_entry: tuple[str, ...], stated: str) -> tuple[bool, bool, str]:
            moves_cash = ledger_id not in cash and (self.is_tagged or not cash.isdisjoint(in_entry))
            has_openings = not openings.isdisjoint(in_entry)
            others = [other_id for other_id in in_entry if other_id != ledger_id]
            opposing = stated.split(LIST_SEPARATOR) if stated else others
            opposing_names = ", ".join(map(names.name, opposing))
            return moves_cash and not has_openings, moves_cash and has_openings, opposing_names

        days = local_midnights(frame["datetime"], self.time_zone).to_numpy().astype("datetime64[D]")
        found = []
        for ledger_id, amount, day, text, stated, entry, line_id in zip(
            frame["ledger_id"].tolist(),
            amounts,
            np.datetime_as_string(days).tolist(),
            texts_of(frame, "journal_entry_description", "description"),
            texts_of(frame, "opposing_ledger_ids"),
            frame["journal_entry_id"].tolist(),
            frame["id"].tolist(),
            strict=True,
        ):
            is_flow, is_opening, opposing = kind_and_opposing(ledger_id, ledgers_of_entry[entry], stated)
            units = to_minor_units(amount, self.scale)
            found.append(ShownLine(ledger_id, day, text, opposing, units, line_id, entry, "", is_flow, is_opening))
        return found

    def _ledgers_of_entries(self, within: nw.Expr, on_ledgers: nw.Expr) -> dict[str, tuple[str, ...]]:
        """Find the ledgers of each entry with a line on `on_ledgers`."""
        found: dict[str, dict[str, None]] = {}
        lines = lines_of_entries(self.exact.lines, within, on_ledgers, "id", "ledger_id")
        for line in collect(lines).sort_by("id").to_pylist():
            found.setdefault(line["journal_entry_id"], {})[line["ledger_id"]] = None
        return {entry: tuple(ledger_ids) for entry, ledger_ids in found.items()}

    def _lines_of(self, part: Selection) -> pd.DataFrame:
        within = is_within(part.span.intervals(self.time_zone))
        touching = within & is_on(self.cash) if part.span.is_flow and not self.is_tagged else None
        opening, chosen = within & is_on(self.openings), within & is_on(part.ledger_ids)
        lines = self._rows(chosen, touching, opening=opening, is_opening=part.span.is_opening)
        amounts = exact_amounts(lines["signed_amount"], self.scale, lines["id"]).column
        lines["figure_amount"] = negated(amounts) if part.factor < 0 else amounts
        lines["local_date"] = local_midnights(lines["datetime"], self.time_zone)
        return lines.sort_values(["datetime", "id"], kind="stable")

    def _rows(
        self,
        chosen: nw.Expr,
        touching: nw.Expr | None = None,
        *,
        opening: nw.Expr | None = None,
        is_opening: bool = False,
    ) -> pd.DataFrame:
        """Select rows of the frame, with all its columns.

        With `touching`, only entries with a line that it selects are kept. Entries with a line that `opening` selects
        are left out, or with `is_opening` only these are kept.
        """

        def choose(lines: nw.LazyFrame[Any], *columns: str) -> nw.LazyFrame[Any]:
            if touching is None:
                return lines.filter(chosen).select(*columns)
            rows = lines_of_entries(lines, chosen, touching, *columns)
            if opening is not None and (self.openings or is_opening):
                ids = lines.filter(opening).select("journal_entry_id").unique()
                rows = rows.join(ids, on="journal_entry_id", how="semi" if is_opening else "anti")
            return rows.select(*columns)

        if self.exact.in_memory:
            found = np.sort(collect(choose(self._numbered, "position"))["position"].to_numpy())
            if isinstance(self.frame, pd.DataFrame):
                return pd.DataFrame(self.frame.iloc[found])
            rows = nw.from_native(self.frame, eager_only=True)[found.tolist(), :].to_arrow()
        else:
            lazy = nw.from_native(self.frame).lazy()
            schema = lazy.collect_schema()
            lazy = lazy.with_columns(in_microseconds_utc(lazy, schema["datetime"]))
            rows = collect(choose(lazy, *schema.names()))
        return to_pandas(rows)


def has_lines(lines: pd.DataFrame, period: Period) -> bool:
    """Test if any line is in the period."""
    instants = lines["datetime"]
    masks = [(instants >= interval.start) & (instants < interval.end) for interval in period.instants()]
    return any(mask.any() for mask in masks)


def entries_among(lines: pd.DataFrame, is_chosen: pd.Series[bool]) -> pd.DataFrame:
    """Select lines, with the columns of line entries and ``figure_amount``."""
    columns = [*(name for name in LineEntries.dtypes() if name in lines), "figure_amount"]
    return lines.loc[is_chosen, columns]


def _describe_unbalanced(entry_ids: Collection[str]) -> str:
    """Name entries that do not balance.

    Also say that lines of the entries are missing.
    """
    return (
        f"{count_of(len(entry_ids), 'journal entry does', 'journal entries do')} not balance in the given lines, so "
        f"lines are missing: {join_ids(entry_ids)}; load all lines of these days (every ledger)"
    )


def tag_notes(tag_ids: Collection[str]) -> tuple[str, ...]:
    """Say that only lines with these tags are counted."""
    return (f"Only lines with all these tags are counted: {join_ids(tag_ids)}.",) if tag_ids else ()


def to_pandas(rows: pa.Table) -> pd.DataFrame:
    """Convert rows to pandas, with the dtypes of line entries."""

    def dtype(kind: pa.DataType) -> Any:  # noqa: ANN401 (a dtype of pandas)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return TEXT
        if pa.types.is_timestamp(kind) and kind.tz:
            return INSTANT
        return pandas_dtype(kind.scale) if pa.types.is_decimal(kind) else None

    frame: pd.DataFrame = rows.to_pandas(types_mapper=dtype)
    return frame
