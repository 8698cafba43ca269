"""`LineSource`: line entries of any engine, their sums by ledger and days, and the rows behind these."""

from __future__ import annotations

import datetime as dt
from functools import cache, cached_property
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
    local_midnights,
    negated,
)
from accounting_analytics.core.errors import IncompleteLoadError
from accounting_analytics.core.exact_sums import (
    ExactLines,
    collect,
    in_microseconds_utc,
    is_on,
    is_within,
    lines_of_entries,
    require_sides,
)
from accounting_analytics.core.load_metadata import loaded_period, native_frame, read_load_metadata
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import pandas_dtype, to_minor_units
from accounting_analytics.core.periods import Period, local_date, zone
from accounting_analytics.reports.books.extent import reasons_of_frame, reasons_of_load, states_all_lines
from accounting_analytics.reports.books.payees import payees_of_entries
from accounting_analytics.reports.figures.figure import checked_entries
from accounting_analytics.reports.figures.line_table import ShownLine, texts_of
from accounting_analytics.reports.figures.selections import Span, joined, simplified

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from accounting_analytics.core.ledger_names import LedgerNames
    from accounting_analytics.reports.figures.selections import Selection

_DAY = dt.timedelta(days=1)


class LineSource:
    """Line entries of any engine, from which statements are summed.

    Parameters
    ----------
    line_entries : frame
        Any frame that narwhals knows.
    cash : collection of str
        The ledgers that report cash flow.
    needed : collection of str
        The ledgers whose lines the statement sums; a load that did not ask for them has no sums.
    time_zone : str
        Zone that days are counted in.
    scale : int or None
        Fraction digits, where nothing states them.
    asked : Period or None
        Days that were asked for, of a frame without lines that states no load.
    """

    def __init__(
        self,
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        cash: Collection[str],
        needed: Collection[str],
        time_zone: str,
        *,
        scale: int | None = None,
        asked: Period | None = None,
    ) -> None:
        # a name of the index may be that of a column, and no label is used
        self.frame = line_entries.reset_index(drop=True) if isinstance(line_entries, pd.DataFrame) else line_entries
        self.exact = ExactLines.from_frame(self.frame, scale)
        self.cash, self.time_zone = cash, time_zone
        self.scale = self.exact.scale
        self._metadata, self._changes = read_load_metadata(line_entries), reasons_of_frame(line_entries)
        if not states_all_lines(line_entries):
            self.exact.require_distinct(~nw.col("ledger_id").is_null())
        requested = (self._metadata or {}).get("ledgers")
        absent = [] if requested is None else sorted(set(needed) - set(requested))
        were = count_of(len(absent), "ledger was", "ledgers were")
        self._absent = f"{were} not loaded: {join_ids(absent)}" if absent else ""
        filters = (self._metadata or {}).get("filters", {})
        self.is_cash_only = filters.get("is_cashflow") is True
        self.is_tagged = self.is_cash_only and bool(filters.get("tag_ids"))
        self.is_report, self.states_days = False, self._metadata is not None
        self._numbered: nw.LazyFrame[Any] | None = None
        self.loaded = self._loaded_days(asked)
        unchecked = (
            "The frame does not state its load, so whether days are missing was not checked; its lines are of "
            f"{self.loaded.start_date} to {self.loaded.end_date}."
        )
        tags = tag_notes(filters["tag_ids"] if self.is_tagged else ())
        self.notes = (*tags, *([] if self.states_days else [unchecked]), *self.exact.notes)

    @cached_property
    def payees(self) -> dict[str, str]:
        """Payee of each journal entry of the loaded days."""
        return payees_of_entries(self.lines(Span(self.loaded.start_date, self.loaded.end_date)), self.cash)

    def require_whole_entries(self) -> None:
        """Refuse a frame that states no load if its entries do not balance, or amounts are not on their sides."""
        if self.states_days:
            return
        require_sides(self.frame, self.scale)
        if unbalanced := self.exact.unbalanced():
            raise IncompleteLoadError(_describe_unbalanced(unbalanced))

    def require_all_entries(self) -> None:
        """Refuse a load of entries that touch cash, where all entries are needed."""
        if self.is_cash_only:
            raise IncompleteLoadError(
                "only lines of entries that touch cash were loaded (is_cashflow=True), which suffices for a cash flow "
                "statement alone; load the lines without this filter"
            )

    def _loaded_days(self, asked: Period | None) -> Period:
        """Days that were loaded; without load metadata those from the first line to the last."""
        if self._metadata is not None:
            loaded = loaded_period(self._metadata)
            return Period(loaded.start_date, loaded.end_date, self.time_zone)
        instant = nw.col("datetime")
        (ends,) = collect(self.exact.lines.select(first=instant.min(), last=instant.max())).to_pylist()
        if ends["first"] is None and asked is not None:
            return asked
        if ends["first"] is None:
            raise IncompleteLoadError("the frame has no lines and states no load, so no days are known; pass the dates")
        days = zone(self.time_zone)
        return Period(local_date(ends["first"], days), local_date(ends["last"], days), self.time_zone)

    def missing(self, span: Span) -> str:
        """Why the lines of some days are not all there; empty where nothing is known to be missing."""
        first = self.loaded.start_date if span.first is None else span.first
        if span.last < day_before(first) and (span.is_empty or self.states_days):
            return f"the days before {first} were not loaded"
        if span.last < first:
            return ""
        needed = Period(first, span.last, self.time_zone)
        reasons = [] if self._metadata is None else [*reasons_of_load(self._metadata, needed), *self._changes]
        if self.is_tagged:
            reasons = [one for one in reasons if "tag_ids=" not in one]
        return "; ".join([*reasons, *([self._absent] if self._absent else [])])

    def sums(self, spans: Collection[Span]) -> dict[Span, dict[str, int]]:
        """Signed units by ledger, debits positive; flows are those of the ledgers that are not cash."""
        flows = [] if self.is_tagged else [span for span in spans if span.is_flow]
        lines = [span for span in spans if span not in flows]
        found: dict[Span, dict[str, int]] = {}
        if lines:
            summed = self.exact.sums(*(span.intervals(self.time_zone) for span in lines))
            found.update(zip(lines, summed.columns, strict=True))  # type: ignore[arg-type]  # no id is null
        if flows:
            moved = self.exact.flows(self.cash, *(span.intervals(self.time_zone) for span in flows))
            if moved.unbalanced:
                raise IncompleteLoadError(_describe_unbalanced(moved.unbalanced))
            signed = [{ledger_id: -units for ledger_id, units in one.items()} for one in moved.columns]
            found.update(zip(flows, signed, strict=True))
        return found

    def entries(self, parts: Sequence[Selection], units: int) -> pd.DataFrame:
        """Return the lines of some parts, each with the sign it was summed with in ``figure_amount``."""
        frames = [self._lines_of(part) for part in simplified(parts)]
        entries = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0].reset_index(drop=True)
        return checked_entries(entries, units, self.scale)

    def flow_lines(self, span: Span) -> pd.DataFrame:
        """Return the lines of some days that are not of cash, of entries that touch it."""
        within, is_cash = is_within(span.intervals(self.time_zone)), is_on(self.cash)
        return self._rows(within & ~is_cash, within & is_cash)

    def lines(self, span: Span) -> pd.DataFrame:
        """Return the lines of some days, of every ledger, with all columns of the frame."""
        return self._rows(is_within(span.intervals(self.time_zone)))

    def shown_lines(
        self, spans: Collection[Span], ledger_ids: Collection[str], names: LedgerNames, limit: int
    ) -> list[ShownLine] | None:
        """Return the lines of some ledgers and days in the order of time, if they are not more than `limit`."""
        within = is_within(tuple(one for span in joined(spans) for one in span.intervals(self.time_zone)))
        on_ledgers = within & is_on(ledger_ids)
        chosen = self.exact.lines.filter(on_ledgers)
        if collect(chosen.select(count=nw.len()))["count"][0].as_py() > limit:
            return None
        frame = self._rows(on_ledgers).sort_values(["datetime", "id"], kind="stable")
        amounts = exact_amounts(frame["signed_amount"], self.scale, frame["id"]).column
        of_entry: dict[str, dict[str, None]] = {}
        whole = lines_of_entries(self.exact.lines, within, on_ledgers, "id", "ledger_id")
        for one in collect(whole).sort_by("id").to_pylist():
            of_entry.setdefault(one["journal_entry_id"], {})[one["ledger_id"]] = None
        cash = set(self.cash)

        @cache
        def others(ledger_id: str, ledger_ids: tuple[str, ...], stated: str) -> tuple[bool, str]:
            is_flow = ledger_id not in cash and (self.is_tagged or not cash.isdisjoint(ledger_ids))
            opposing = stated.split(LIST_SEPARATOR) if stated else [one for one in ledger_ids if one != ledger_id]
            return is_flow, ", ".join(map(names.name, opposing))

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
            is_flow, opposing = others(ledger_id, tuple(of_entry[entry]), stated)
            units = to_minor_units(amount, self.scale)
            found.append(ShownLine(ledger_id, day, text, opposing, units, line_id, entry, is_flow=is_flow))
        return found

    def _lines_of(self, part: Selection) -> pd.DataFrame:
        """Lines of one part."""
        within = is_within(part.span.intervals(self.time_zone))
        touching = within & is_on(self.cash) if part.span.is_flow and not self.is_tagged else None
        lines = self._rows(within & is_on(part.ledger_ids), touching)
        amounts = exact_amounts(lines["signed_amount"], self.scale, lines["id"]).column
        lines["figure_amount"] = negated(amounts) if part.factor < 0 else amounts
        lines["local_date"] = local_midnights(lines["datetime"], self.time_zone)
        return lines.sort_values(["datetime", "id"], kind="stable")

    def _rows(self, chosen: nw.Expr, touching: nw.Expr | None = None) -> pd.DataFrame:
        """Rows of the frame, with all its columns; only of entries that have a line of others, if these are given."""

        def choose(lines: nw.LazyFrame[Any], *columns: str) -> nw.LazyFrame[Any]:
            if touching is None:
                return lines.filter(chosen).select(*columns)
            return lines_of_entries(lines, chosen, touching, *columns).select(*columns)

        if self.exact.in_memory:
            if self._numbered is None:
                held = collect(self.exact.lines)
                positions = pa.array(np.arange(held.num_rows))
                self._numbered = nw.from_native(held.append_column("position", positions)).lazy()
            found = np.sort(collect(choose(self._numbered, "position"))["position"].to_numpy())
            if isinstance(self.frame, pd.DataFrame):
                return pd.DataFrame(self.frame.iloc[found])
            rows = nw.from_native(native_frame(self.frame), eager_only=True)[found.tolist(), :].to_arrow()
        else:
            lazy = nw.from_native(native_frame(self.frame)).lazy()
            schema = lazy.collect_schema()
            lazy = lazy.with_columns(in_microseconds_utc(lazy, schema["datetime"]))
            rows = collect(choose(lazy, *schema.names()))
        return _to_pandas(rows)


def day_before(day: dt.date) -> dt.date:
    """Day before one; the first day of the calendar has none, and is returned itself."""
    return day if day == dt.date.min else day - _DAY


def _describe_unbalanced(entry_ids: Collection[str]) -> str:
    """Say that lines are missing where journal entries do not balance."""
    return (
        f"{count_of(len(entry_ids), 'journal entry does', 'journal entries do')} not balance in the given lines, so "
        f"lines are missing: {join_ids(entry_ids)}; load all lines of these days (every ledger)"
    )


def tag_notes(tag_ids: Collection[str]) -> tuple[str, ...]:
    """Say that amounts are of some lines only."""
    return (f"Only lines with all these tags are counted: {join_ids(tag_ids)}.",) if tag_ids else ()


def _to_pandas(rows: pa.Table) -> pd.DataFrame:
    """Rows as pandas, with the dtypes of line entries."""

    def dtype(kind: pa.DataType) -> Any:  # noqa: ANN401 (a dtype of pandas)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return TEXT
        if pa.types.is_timestamp(kind) and kind.tz:
            return INSTANT
        return pandas_dtype(kind.scale) if pa.types.is_decimal(kind) else None

    frame: pd.DataFrame = rows.to_pandas(types_mapper=dtype)
    return frame
