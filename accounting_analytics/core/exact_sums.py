"""Exact sums of line entries on any DataFrame engine, in whole minor units.

Amounts are converted to exact amounts once. Frames in memory (pandas, pyarrow, polars) become Arrow tables of int64
minor units. On lazy engines (polars, DuckDB, PySpark) the amounts stay in the engine, as decimals or whole units. One
query sums by ledger for any days. Where whole entries are needed, the lines of the period are collected.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.column_conversion import are_distinct, find_scale
from accounting_analytics.core.errors import AmountError, FrameError
from accounting_analytics.core.load_metadata import books_notes, noise_notes, stated_scales
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import (
    MAX_INT64_SUM,
    MAX_NOISE_IN_UNITS,
    MAX_UNITS,
    PRECISION,
    arrow_type,
    from_minor_units,
    read_floats,
    to_decimals,
    to_minor_units,
)

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from accounting_analytics.core.periods import Interval

    Lines = nw.LazyFrame[Any]
    Days = tuple[Interval, ...]
    Units = npt.NDArray[Any]

_Ledger = TypeVar("_Ledger", str, str | None)
INSTANT_TYPE = pa.timestamp("us", "UTC")
_MAX_IDS = 3
_ROWS_PER_BATCH = 1 << 17
_TEXT_COLUMNS = ("id", "ledger_id", "journal_entry_id", "journal_entry_description")
_COLUMNS = (*_TEXT_COLUMNS, "datetime", "signed_amount")
_ENTRY_COLUMNS = ("journal_entry_id", "ledger_id", "units")
_ENTRY, _LEDGER, _UNITS = nw.col("journal_entry_id"), nw.col("ledger_id"), nw.col("units")


class LedgerSums(NamedTuple):
    """Sums of signed units by ledger, with a mapping for each column of days, and the earliest instant."""

    columns: tuple[dict[str | None, int], ...]
    earliest: dt.datetime | None


class LedgerFlows(NamedTuple):
    """Cash flows in units by ledger, with a mapping for each column of days, and entries that do not balance.

    `openings` are the flows of the opening entries, which are summed separately.
    """

    columns: tuple[dict[str, int], ...]
    unbalanced: list[str]
    openings: tuple[dict[str, int], ...] = ()


class _Intervals(NamedTuple):
    """Numbered intervals between all ends of columns.

    `columns` has the columns that each interval is part of.
    """

    ends: list[dt.datetime]
    columns: dict[int, list[int]]
    column_count: int

    @classmethod
    def of_columns(cls, columns: Sequence[Days]) -> Self:
        """Split columns of days into the intervals that they consist of."""
        ends = sorted({end for days in columns for interval in days for end in interval if end is not None})
        inside: dict[int, list[int]] = {}
        for column, days in enumerate(columns):
            for start, end in days:
                last = len(ends) if end is None else ends.index(end)
                for number in range(ends.index(start) + 1, last + 1):
                    inside.setdefault(number, []).append(column)
        return cls(ends, inside, len(columns))

    def within_all(self) -> nw.Expr:
        """Select lines between the first and last end, so that engines skip files with other lines."""
        instant = nw.col("datetime")
        if not self.columns:
            return _no_row("datetime")
        since = instant >= self.ends[0]
        return since if len(self.ends) in self.columns else since & (instant < self.ends[-1])

    def number(self) -> nw.Expr:
        """Return the interval number of a line."""
        instant = nw.col("datetime")
        passed = [(instant >= end).cast(nw.Int32) for end in self.ends] or [instant.is_null().cast(nw.Int32)]
        return _combined(operator.add, passed)

    def by_column(self, rows: Iterable[tuple[_Ledger, int, int]]) -> tuple[dict[_Ledger, int], ...]:
        """Add the units of each interval and ledger to all columns that have the interval."""
        found: list[dict[_Ledger, int]] = [{} for _ in range(self.column_count)]
        for ledger_id, interval, units in rows:
            for column in self.columns.get(interval, ()):
                found[column][ledger_id] = found[column].get(ledger_id, 0) + units
        return tuple(found)


class ExactLines(NamedTuple):
    """Line entries with exact amounts, ready to be summed.

    Attributes
    ----------
    lines : LazyFrame
        The text columns, ``datetime`` and ``units``: whole minor units, or decimals of the currency unit.
    scale : int
        Fraction digits of the amounts.
    in_units : bool
        Whether ``units`` are whole minor units.
    notes : tuple of str
        Assumptions and normalized values.
    """

    lines: Lines
    scale: int
    in_units: bool
    notes: tuple[str, ...]

    @classmethod
    def from_frame(cls, line_entries: Any, scale: int | None = None) -> Self:  # noqa: ANN401 (any frame narwhals knows)
        """Check the columns of a frame and make its amounts exact."""
        frame = wrap(line_entries, "line_entries", _COLUMNS)
        schema = frame.collect_schema()
        require_columns(schema, _COLUMNS, "line_entries")
        _require_types(schema)
        texts = [nw.col(name) if schema[name] == nw.String else nw.col(name).cast(nw.String) for name in _TEXT_COLUMNS]
        lines = frame.select(*texts, in_microseconds_utc(frame, schema["datetime"]), units="signed_amount")
        dtype = schema["signed_amount"]
        found = find_scale([getattr(dtype, "scale", None), scale, *stated_scales(line_entries)])
        noise_removed, in_units = 0, True
        if lines.implementation.is_pyarrow():
            lines, in_units, noise_removed = _units_in_memory(lines, found.scale)
        elif not isinstance(dtype, nw.Decimal):
            lines, noise_removed = _units_on_engine(lines, found.scale, is_float=dtype == nw.Float64)
        else:
            in_units = False
        if not in_units:
            _require_exact_sums(lines, found.scale)
        return cls(
            lines,
            found.scale,
            in_units,
            (*found.notes, *noise_notes(noise_removed), *books_notes(line_entries)),
        )

    @property
    def in_memory(self) -> bool:
        """True if the lines are in this process, not in a lazy engine."""
        return self.lines.implementation.is_pyarrow()

    def sums(self, *columns: Days) -> LedgerSums:
        """Sum the lines of each ledger and column in one query. Columns may overlap."""
        intervals = _Intervals.of_columns(columns)
        grouped = self.lines.select("ledger_id", "datetime", "units", interval=intervals.number())
        sums = grouped.group_by("ledger_id", "interval").agg(_UNITS.sum(), nw.col("datetime").min())
        rows = collect(sums).to_pylist()
        if any(row["interval"] is None or row["datetime"] is None for row in rows):
            raise FrameError(null_message("line_entries", "datetime"))
        found = intervals.by_column((row["ledger_id"], row["interval"], self.to_units(row["units"])) for row in rows)
        earliest = min((row["datetime"] for row in rows if row["interval"] in intervals.columns), default=None)
        return LedgerSums(found, earliest)

    def flows(self, cash: Collection[str], *columns: Days, openings: Collection[str] = ()) -> LedgerFlows:
        """Sum the other lines of entries that touch cash, by ledger and column.

        Entries with a line on one of the ledgers of `openings` are summed separately. Entries that do not balance are
        listed. Only sums are collected from lazy engines. Lines in memory are summed as :class:`EntryLines`.
        """
        intervals = _Intervals.of_columns(columns)
        lines = self.lines if self.in_memory else self.lines.filter(intervals.within_all())
        lines = lines.select(*_ENTRY_COLUMNS, interval=intervals.number())
        lines = lines.filter(nw.col("interval").is_in(list(intervals.columns)))
        if self.in_memory:
            entries = EntryLines(collect(lines), self)
            on_cash = entries.on(cash)
            chosen = entries.of_entries_with(on_cash) & ~on_cash
            is_opening = entries.of_entries_with(entries.on(openings))
            flows, opened = (_moved(entries, chosen & group, intervals) for group in (~is_opening, is_opening))
            return LedgerFlows(intervals.by_column(flows), entries.unbalanced(), intervals.by_column(opened))
        touched = {"cash": is_on(cash).cast(nw.Int32), "opening": is_on(openings).cast(nw.Int32)}
        per_entry = (
            lines.select("journal_entry_id", "units", **touched)
            .group_by("journal_entry_id")
            .agg(gap=_UNITS.sum(), **{name: nw.col(name).max() for name in touched})
        )
        of_entries = lines.join(per_entry, on="journal_entry_id", how="left")  # includes lines that name no entry
        is_open = nw.col("gap").is_null() | (nw.col("gap") != 0)
        grouped = of_entries.group_by("ledger_id", "interval", *touched)
        rows = collect(grouped.agg(_UNITS.sum(), open=is_open.cast(nw.Int32).sum())).to_pylist()
        unbalanced: list[str] = []
        if any(row["open"] for row in rows):
            ids = collect(per_entry.filter((nw.col("gap") != 0) | _ENTRY.is_null()))["journal_entry_id"]
            if ids.null_count:
                raise FrameError(null_message("line_entries", "journal_entry_id"))
            unbalanced = ids.to_pylist()
        flows, opened = (
            [
                (row["ledger_id"], row["interval"], -self.to_units(row["units"]))
                for row in rows
                if row["cash"] and row["opening"] == of_opening and row["ledger_id"] not in cash
            ]
            for of_opening in (0, 1)
        )
        return LedgerFlows(intervals.by_column(flows), unbalanced, intervals.by_column(opened))

    def entries(self, days: Days) -> EntryLines:
        """Collect the lines of some days into memory."""
        more = ("id", "journal_entry_description", "datetime")
        return EntryLines(collect(self._within(days, *_ENTRY_COLUMNS, *more)), self)

    def to_units(self, value: Any) -> int:  # noqa: ANN401 (an int or a Decimal of the engine)
        """Convert a sum to whole minor units."""
        return int(value) if self.in_units else to_minor_units(value, self.scale)

    def require_ids(self, days: Days) -> None:
        """Refuse lines of some days that have no id."""
        if collect(self._within(days, "id").filter(nw.col("id").is_null()).head(1)).num_rows:
            raise FrameError(null_message("line_entries", "id"))

    def require_distinct(self, chosen: nw.Expr | None = None) -> None:
        """Refuse lines whose id occurs more than once. This is slower than the sums."""
        lines = self.lines if chosen is None else self.lines.select("id", "ledger_id", "datetime").filter(chosen)
        ids = lines.select("id")
        line_id = nw.col("id")
        if self.in_memory:
            values = ids.collect("pyarrow").to_arrow()["id"]
            absent, distinct = values.null_count, are_distinct(values)
        else:
            counted = ids.select(distinct=line_id.n_unique(), present=line_id.count(), all=nw.len())
            (counts,) = collect(counted).to_pylist()
            absent = counts["all"] - counts["present"]
            distinct = not counts["all"] or counts["distinct"] == counts["all"]
        if absent:
            raise FrameError(null_message("line_entries", "id"))
        if not distinct:
            repeated = ids.group_by("id").agg(count=nw.len()).filter(nw.col("count") > 1).select("id")
            raise FrameError(repeated_message(collect(repeated)["id"].to_pylist()))

    def unbalanced(self) -> list[str]:
        """Return the journal entries whose debits and credits differ in these lines."""
        lines = self.lines.select(*_ENTRY_COLUMNS)
        if self.in_memory:
            return EntryLines(collect(lines), self).unbalanced()
        gaps = lines.group_by("journal_entry_id").agg(gap=_UNITS.sum()).filter(nw.col("gap") != 0)
        ids: list[str] = collect(gaps.select("journal_entry_id"))["journal_entry_id"].to_pylist()
        return ids

    def _within(self, days: Days, *columns: str) -> Lines:
        """Select columns of the lines of some days.

        Columns are selected before rows, because engines in memory copy each column that they filter.
        """
        return self.lines.select(*dict.fromkeys((*columns, "datetime"))).filter(is_within(days)).select(*columns)


class EntryLines:
    """Lines of journal entries in memory, with numbered entries and ledgers and exact units.

    Parameters
    ----------
    table : pyarrow.Table
        ``journal_entry_id, ledger_id, units`` and any other columns.
    lines : ExactLines
        Source of the table.

    Attributes
    ----------
    entry_ids, ledger_ids : list of str
        Ids by number.
    entries, ledgers : array of int
        Number of the entry and of the ledger of each line.
    units : array of int64, or of int where 64 bits do not hold their sums
        Signed minor units of each line.
    """

    def __init__(self, table: pa.Table, lines: ExactLines) -> None:
        for name in ("journal_entry_id", "ledger_id"):
            if table[name].null_count:
                raise FrameError(null_message("line_entries", name))
        self.table = table
        self.entry_ids, self.entries = _numbered(table["journal_entry_id"])
        ledger_ids, self.ledgers = _numbered(table["ledger_id"])
        self.ledger_ids: list[str] = ledger_ids.to_pylist()
        self.units = _units_array(table["units"], 0 if lines.in_units else lines.scale)

    def unbalanced(self) -> list[str]:
        """Return the ids of entries whose debits and credits differ."""
        gaps = add_units(self.entries, self.units, len(self.entry_ids))
        ids: list[str] = self.entry_ids.filter(pa.array(gaps != 0, pa.bool_())).to_pylist()
        return ids

    def on(self, ledger_ids: Collection[str]) -> npt.NDArray[np.bool_]:
        """Mark the lines that are on one of the ledgers."""
        wanted = np.array([ledger_id in ledger_ids for ledger_id in self.ledger_ids], np.bool_)
        return np.take(wanted, self.ledgers)

    def of_entries_with(self, lines: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Mark the lines whose entry has one of the given lines."""
        touched = np.zeros(len(self.entry_ids), np.bool_)
        touched[self.entries[lines]] = True
        return np.take(touched, self.entries)

    def sums(self, lines: npt.NDArray[np.bool_]) -> dict[str, int]:
        """Sum some of the lines by ledger."""
        ledgers = self.ledgers[lines]
        sums = add_units(ledgers, self.units[lines], len(self.ledger_ids))
        return {self.ledger_ids[number]: int(sums[number]) for number in np.unique(ledgers)}

    def most_moved(self, lines: npt.NDArray[np.bool_], order: Mapping[str, int]) -> npt.NDArray[np.int64]:
        """Find for each entry the ledger that the lines move most, or -1 if they move none."""
        entries, ledgers = self.entries[lines].astype(np.int64), self.ledgers[lines].astype(np.int64)
        moved = np.full(len(self.entry_ids), -1, np.int64)
        moved[entries] = ledgers
        several = np.zeros(len(self.entry_ids), np.bool_)
        several[entries[ledgers != moved[entries]]] = True
        chosen = several[entries]
        pairs, numbers = np.unique(entries[chosen] * len(self.ledger_ids) + ledgers[chosen], return_inverse=True)
        movements = add_units(numbers, self.units[lines][chosen], len(pairs))
        largest: dict[int, tuple[int, int, int]] = {}
        for pair, movement in zip(pairs.tolist(), movements.tolist(), strict=True):
            entry, ledger = divmod(pair, len(self.ledger_ids))
            rank = (-abs(movement), order[self.ledger_ids[ledger]], ledger)
            largest[entry] = min(rank, largest.get(entry, rank))
        for entry, (_, _, ledger) in largest.items():
            moved[entry] = ledger
        return moved


def _moved(entries: EntryLines, chosen: npt.NDArray[np.bool_], intervals: _Intervals) -> list[tuple[str, int, int]]:
    """Return the units that lines move, by ledger and interval. Inflows of cash are positive."""
    numbers, count = entries.table["interval"].to_numpy()[chosen], len(intervals.ends) + 1
    pairs, positions = np.unique(entries.ledgers[chosen].astype(np.int64) * count + numbers, return_inverse=True)
    sums = add_units(positions, entries.units[chosen], len(pairs))
    return [
        (entries.ledger_ids[pair // count], pair % count, -int(units))
        for pair, units in zip(pairs.tolist(), sums, strict=True)
    ]


def add_units(numbers: npt.NDArray[Any], units: Units, count: int) -> Units:
    """Sum units by number. All numbers are smaller than `count`."""
    sums = np.zeros(count, units.dtype)
    np.add.at(sums, numbers, units)
    return sums


def amount_column(units: Units, scale: int) -> pa.Array:
    """Return an Arrow column of exact amounts."""
    if units.dtype == np.int64:
        return to_decimals(units, scale)
    return pa.array([from_minor_units(amount, scale) for amount in units], arrow_type(scale))


def wrap(frame: Any, name: str, columns: Collection[str]) -> Lines:  # noqa: ANN401 (any frame narwhals knows)
    """Wrap columns of a frame lazily. Frames in memory become Arrow tables."""
    if isinstance(frame, pd.DataFrame):
        if not frame.columns.is_unique:
            repeated = frame.columns[frame.columns.duplicated()][0]
            raise FrameError(f"{name} has the column {repeated!r} more than once: keep one of them")
        frame = pa.table({column: _to_arrow(frame[column], name) for column in columns if column in frame.columns})
    try:
        wrapped = nw.from_native(frame)
    except TypeError as error:
        raise FrameError(
            f"{name} is of type {type(frame).__name__}; it must be a pandas, pyarrow, polars, DuckDB or PySpark "
            "frame, such as load_line_entries and discover_ledgers return"
        ) from error
    if isinstance(wrapped, nw.DataFrame):
        held = wrapped.select(*(column for column in columns if column in wrapped.columns)).to_arrow()
        wrapped = nw.from_native(_with_32_bit_text(held))
    lazy: Lines = wrapped.lazy()
    return lazy


def _to_arrow(column: pd.Series[Any], name: str) -> pa.Array:
    """Convert a column. Refuse values of several kinds."""
    try:
        return pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FrameError(f"{name} cannot be read as a table: column {column.name!r}: {error}") from error


def require_sides(line_entries: Any, scale: int) -> None:  # noqa: ANN401 (any frame narwhals knows)
    """Refuse lines whose ``signed_amount`` is not their ``amount`` on the side of ``debit_credit``."""
    columns = ("id", "amount", "debit_credit", "signed_amount")
    lines = wrap(line_entries, "line_entries", columns)
    schema = lines.collect_schema()
    if any(name not in schema for name in columns):
        return
    signed, amount, is_debit = nw.col("signed_amount"), nw.col("amount"), nw.col("debit_credit") == DebitCredit.DEBIT
    if isinstance(schema["amount"], nw.Decimal) and schema["amount"] == schema["signed_amount"]:
        is_other_size = signed.abs() != amount.abs()
    else:  # half a unit is more than rounding noise, and less than any difference of whole units
        sizes = [column.cast(nw.Float64).abs() * 10.0**scale for column in (signed, amount)]
        is_other_size = (sizes[0] - sizes[1]).abs() >= 0.5  # noqa: PLR2004
    is_other_side = (amount != 0) & ((signed > 0) != ((amount > 0) == is_debit))
    found = collect(lines.filter(is_other_size | is_other_side).select("id").head(_MAX_IDS))["id"].to_pylist()
    if found:
        raise FrameError(
            "line_entries: signed_amount is not +amount on the debit side and -amount on the credit side: id "
            f"{join_ids(found)}; change amount, debit_credit and signed_amount together"
        )


def collect(lines: Lines) -> pa.Table:
    """Run a query, and return a table with one Arrow text type, and instants in microseconds and UTC."""
    engine = (
        {"engine": "streaming"} if lines.implementation.is_polars() else {}
    )  # by default, the engine holds all lines in memory
    table = _with_32_bit_text(lines.collect("pyarrow", **engine).to_arrow())
    fields = [field.with_type(INSTANT_TYPE) if pa.types.is_timestamp(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))


def is_within(days: Days) -> nw.Expr:
    """Select lines whose instant is in one of the intervals."""
    instant = nw.col("datetime")
    inside = [(instant >= start) if end is None else (instant >= start) & (instant < end) for start, end in days]
    return _combined(operator.or_, inside) if inside else _no_row("datetime")


def _combined(combine: Callable[[nw.Expr, nw.Expr], nw.Expr], expressions: list[nw.Expr]) -> nw.Expr:
    """Combine expressions in pairs, because engines and Python limit the nesting depth."""
    while len(expressions) > 1:
        last = expressions[-1:] if len(expressions) % 2 else []
        pairs = zip(expressions[::2], expressions[1::2], strict=False)
        expressions = [*(combine(left, right) for left, right in pairs), *last]
    return expressions[0]


def is_on(ledger_ids: Collection[str]) -> nw.Expr:
    """Select lines on one of the ledgers."""
    return _LEDGER.is_in(list(ledger_ids)) if ledger_ids else _no_row("ledger_id")


def lines_of_entries(lines: Lines, chosen: nw.Expr, touching: nw.Expr, *columns: str) -> Lines:
    """Select chosen lines of entries that have a `touching` line, by a join."""
    rows = lines.filter(chosen).select(*dict.fromkeys((*columns, "journal_entry_id")))
    return rows.join(lines.filter(touching).select("journal_entry_id").unique(), on="journal_entry_id")


def require_columns(schema: Collection[str], names: Iterable[str], frame_name: str) -> None:
    """Refuse a frame without some columns."""
    absent = [name for name in names if name not in schema]
    if absent:
        raise FrameError(f"{frame_name}: column is missing: {', '.join(absent)}")


def null_message(frame_name: str, column: str) -> str:
    """Return the message for a null in a required column."""
    return f"{frame_name}: column {column!r} is null where a value is required"


def repeated_message(ids: Collection[str]) -> str:
    """Return the message for line ids that occur more than once."""
    return (
        f"line_entries: a line entry id occurs more than once: {join_ids(ids)}; load these days once, in one "
        "load, or read them from local books"
    )


def _no_row(column: str) -> nw.Expr:
    """Return a condition that no row meets. On some engines a literal False does not work."""
    return nw.col(column).is_null() & ~nw.col(column).is_null()


def _require_types(schema: nw.Schema) -> None:
    """Refuse ids, times and amounts of types that are not exact."""
    for name in _TEXT_COLUMNS:
        if schema[name] not in (nw.String, nw.Categorical, nw.Enum):
            raise FrameError(f"line_entries: column {name!r} holds {schema[name]}, not text")
    instant = schema["datetime"]
    if not isinstance(instant, nw.Datetime) or instant.time_zone is None:
        raise FrameError(
            f"line_entries: column 'datetime' holds {instant}, not instants with a time zone (UTC); in pandas "
            "schemas.LineEntries.checked(frame) converts them"
        )
    dtype = schema["signed_amount"]
    if not isinstance(dtype, nw.Decimal) and dtype != nw.Float64 and not dtype.is_integer():
        raise FrameError(
            f"line_entries: column 'signed_amount' holds {dtype}, not exact amounts: float64 of whole minor units, "
            "decimals, or integers (major units)"
        )


def in_microseconds_utc(frame: Lines, kind: Any) -> nw.Expr:  # noqa: ANN401 (a dtype)
    """Convert instants to microseconds in UTC, if the engine needs it.

    The bounds of intervals have this type. SQL engines can compare instants of any zone.
    """
    instant = nw.col("datetime")
    if kind == nw.Datetime("us", "UTC") or not (frame.implementation.is_pyarrow() or frame.implementation.is_polars()):
        return instant
    return instant.cast(nw.Datetime("us", "UTC"))


def _units_in_memory(lines: Lines, scale: int) -> tuple[Lines, bool, int]:
    """Convert lines in memory to minor units, and count amounts with noise.

    Units that are too large become decimals.
    """
    table = lines.collect("pyarrow").to_arrow()
    amounts, noise_removed = table["units"], 0
    if pa.types.is_floating(amounts.type):
        floats = read_floats(amounts.to_numpy(), scale)
        if floats.absent.any():
            raise FrameError(null_message("line_entries", "signed_amount"))
        if floats.wrong.any():
            _refuse_floats(int(floats.wrong.sum()), table["id"].filter(pa.array(floats.wrong))[:_MAX_IDS], scale)
        noise_removed = int(floats.noisy.sum())
        units: Units | None = floats.units
    else:
        if amounts.null_count:
            raise FrameError(null_message("line_entries", "signed_amount"))
        amounts = amounts.cast(arrow_type(scale))
        units = _small_units(amounts)
    in_units = units is not None and _sums_fit(units)
    if in_units:
        amounts = pa.array(units)
    elif units is not None:
        amounts = to_decimals(units, scale)
    table = table.set_column(table.column_names.index("units"), "units", amounts)
    return nw.from_native(table).lazy(), in_units, noise_removed


def _units_array(amounts: pa.ChunkedArray, scale: int) -> Units:
    """Convert non-null amounts to minor units, in int64 if their sums fit."""
    units = amounts.to_numpy() if pa.types.is_integer(amounts.type) else _small_units(amounts)
    if units is None:
        return np.array([to_minor_units(amount, scale) for amount in amounts.to_pylist()], object)
    return units if _sums_fit(units) else units.astype(object)


def _sums_fit(units: Units) -> bool:
    """Return whether int64 holds every sum of the units."""
    return not len(units) or max(int(units.max()), -int(units.min())) * len(units) < MAX_INT64_SUM


def _small_units(amounts: pa.ChunkedArray) -> Units | None:
    """Read minor units from the lower 64 bits.

    Return None if a number needs more bits.
    """
    words = [_words(chunk) for chunk in amounts.chunks]
    if not all((chunk_words[:, 1] == chunk_words[:, 0] >> 63).all() for chunk_words in words):
        return None
    return np.concatenate([np.zeros(0, np.int64), *(chunk_words[:, 0] for chunk_words in words)])


def _words(decimals: pa.Array) -> npt.NDArray[np.int64]:
    """Return the low and high 64 bits of each Arrow decimal."""
    words = np.frombuffer(decimals.buffers()[1], np.int64).reshape(-1, 2) if len(decimals) else np.zeros((0, 2), int)
    return words[decimals.offset : decimals.offset + len(decimals)]


def _units_on_engine(lines: Lines, scale: int, *, is_float: bool) -> tuple[Lines, int]:
    """Convert lazy lines to minor units, and count amounts with noise.

    The test for noise is that of :func:`~accounting_analytics.core.money.read_floats`, as an expression for any engine.
    Sums are in int64 if they fit. Larger sums are in decimals, because int64 wraps around silently in engines.
    """
    amount, factor = _UNITS.cast(nw.Float64), 10.0**scale
    units = (amount * factor).round(0)
    divisor = units * 0 + factor  # polars multiplies by the reciprocal of a literal, which is inexact
    size, distance = units.abs(), (amount - units / divisor).abs()
    spacing = amount.abs() * np.finfo(np.float64).eps
    near = (distance <= MAX_NOISE_IN_UNITS / factor) | (distance <= spacing)
    fits = (size < MAX_UNITS) & near & amount.is_finite()
    absent = amount.is_null() | amount.is_nan() if is_float else amount.is_null()
    counts = lines.select("id", absent=absent, wrong=~fits, noisy=distance > 0, size=size).with_columns(
        wrong=nw.col("wrong") & ~nw.col("absent")
    )
    summary = counts.select(
        absent=nw.col("absent").cast(nw.Int64).sum(),
        wrong=nw.col("wrong").cast(nw.Int64).sum(),
        noisy=(nw.col("noisy") & ~nw.col("wrong")).cast(nw.Int64).sum(),
        size=nw.col("size").sum(),
    )
    (found,) = collect(summary).to_pylist()
    if found["absent"]:
        raise FrameError(null_message("line_entries", "signed_amount"))
    if found["wrong"]:
        wrong = collect(counts.filter(nw.col("wrong")).select("id").head(_MAX_IDS))
        _refuse_floats(found["wrong"], wrong["id"], scale)
    exact = units.cast(nw.Int64)
    if (found["size"] or 0) >= MAX_INT64_SUM:
        exact = exact.cast(nw.Decimal(PRECISION, 0))
    return lines.with_columns(units=exact), found["noisy"] or 0


def _refuse_floats(count: int, ids: pa.ChunkedArray, scale: int) -> None:
    raise AmountError(
        f"line_entries: {count_of(count, 'amount')} in signed_amount not in whole minor units at scale {scale}, or "
        f"too large for float64: id {join_ids(ids.to_pylist())}; call .round({scale}) after arithmetic"
    )


def _require_exact_sums(lines: Lines, scale: int) -> None:
    """Refuse sums of more than 38 digits.

    On such sums, pyarrow overflows silently, and other engines raise.
    """
    extremes = lines.select(
        least=_UNITS.min(), most=_UNITS.max(), absent=_UNITS.is_null().cast(nw.Int64).sum(), count=nw.len()
    )
    (bounds,) = collect(extremes).to_pylist()
    if bounds["absent"]:
        raise FrameError(null_message("line_entries", "signed_amount"))
    if not bounds["count"]:
        return
    largest = max(bounds["least"].copy_abs(), bounds["most"].copy_abs())
    if to_minor_units(largest, scale) * bounds["count"] >= 10**PRECISION:
        raise AmountError(
            f"{bounds['count']} lines with amounts up to {largest:f} cannot be summed exactly in {PRECISION} digits"
        )


def _numbered(ids: pa.ChunkedArray) -> tuple[pa.Array, npt.NDArray[Any]]:
    """Return distinct ids, and the number of each cell's id."""
    # encoding each chunk and unifying dictionaries takes eight times as long; 64-bit offsets hold any text
    encoded = ids.cast(pa.large_string()).combine_chunks().dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()


def _with_32_bit_text(table: pa.Table) -> pa.Table:
    """Convert text to 32-bit offsets, which Arrow groups three times as fast."""
    text = pa.string()
    fields = [
        field.with_type(text) if pa.types.is_large_string(field.type) or pa.types.is_string_view(field.type) else field
        for field in table.schema
    ]
    if table.schema.equals(pa.schema(fields)):
        return table
    return pa.Table.from_batches(table.to_batches(_ROWS_PER_BATCH), table.schema).cast(pa.schema(fields))
