"""The cash flow report, recomputed from line entries on any DataFrame engine.

One narwhals expression runs on pandas, pyarrow, polars (eager and lazy), DuckDB and PySpark. It uses group_by, inner
joins and filters only, because semi-joins and ``unique`` fail on some of them. The engine does the work that grows with
the number of lines (sums, the join of category lines with their cash entries); the rest is plain Python.
"""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.cash_flow_report import CashFlowReport
from accounting_analytics.chart_of_accounts import Hierarchy, display_order
from accounting_analytics.errors import (
    AmountError,
    BooksDoNotTieError,
    FrameError,
    HierarchyError,
    IncompleteLoadError,
    InputError,
)
from accounting_analytics.frame_columns import INSTANT, TEXT, decimal_scale, exact_amounts, find_scale, is_decimal
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.load_metadata import (
    missing_reasons,
    noise_notes,
    stated_scales,
    states_all_lines,
    zone_of_frame,
)
from accounting_analytics.messages import join_ids, quote
from accounting_analytics.money import (
    AMOUNT_FORMS,
    EXACT,
    MAX_INT64_SUM,
    MAX_NOISE_IN_UNITS,
    MAX_UNITS,
    PRECISION,
    arrow_type,
    from_minor_units,
    parse_amount,
    to_floats,
    units_to_floats,
)
from accounting_analytics.periods import Interval, Period
from accounting_analytics.schemas import CashBalances, CashFlowLedgers, CashFlowLines

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from accounting_analytics.periods import DateLike, ZoneLike

    Lines = nw.LazyFrame[Any]

_TEXT = pa.string()
_ROWS_PER_BATCH = 1 << 17
_MAX_IDS = 3
_INSTANT = pa.timestamp("us", "UTC")
_TEXT_COLUMNS = ("id", "ledger_id", "journal_entry_id", "journal_entry_description")
_LINE_COLUMNS = (*_TEXT_COLUMNS, "datetime", "signed_amount")
_LEDGER_COLUMNS = ("id", "name", "report_cash_flow", "parent_id", "sort_code")
_OPTIONAL_LEDGER_COLUMNS = ("parent_known", "type")


def recompute_cash_flow(
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
    start_date: DateLike,
    end_date: DateLike,
    *,
    time_zone: ZoneLike | None = None,
    starting_balances: pd.DataFrame | Mapping[str, Decimal] | None = None,
    scale: int | None = None,
    amounts: Literal["float64", "decimal"] | None = None,
    lines: bool = True,
    allow_partial: bool = False,
) -> CashFlowReport:
    """Recompute the cash flow report of a period from raw line entries, exactly.

    Parameters
    ----------
    line_entries : DataFrame, pyarrow.Table, polars frame, DuckDB relation or PySpark frame
        The :class:`~accounting_analytics.schemas.LineEntries` columns ``id, ledger_id, journal_entry_id,
        journal_entry_description, datetime, signed_amount`` (others are ignored). The frame must hold all lines of
        every entry in the period that touches cash, and, without `starting_balances`, all earlier lines of the
        ledgers that report cash flow.
    ledgers : DataFrame or any of the others
        The chart of accounts: ``id, name, report_cash_flow, parent_id, sort_code`` and, if some parents are unknown,
        ``parent_known`` and ``type``: totals that might include a ledger of unknown parent and the same type are null.
        A ``sort_code`` that is not known is empty.
    start_date, end_date : date-like
        First and last day, both inclusive, local to `time_zone`: dates, ``YYYY-MM-DD``, midnights without a time zone,
        or periods of pandas (the first day of the one, the last of the other).
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the load (in the metadata of the frame), else UTC, either of
        which is noted. ``localtime`` is refused, because only the service knows it.
    starting_balances : DataFrame or mapping, optional
        Balances of the cash ledgers at the start (:class:`~accounting_analytics.schemas.CashBalances`, or id, unique
        name or path of a ledger to amount) to roll forward; earlier lines are then not used. Without it the history
        is summed.
    scale : int, optional
        Fraction digits of the amounts; by default those of a decimal type, else those that the load states, else 2.
    amounts : {"float64", "decimal"}, optional
        Form of the amounts in the report, as of :func:`~accounting_analytics.connect`; by default Arrow decimals if
        `line_entries` is a pandas frame of them, else float64, which amounts of 10**15 minor units do not fit.
    lines : bool
        Whether the report has its cash flow lines. Without them ``lines`` of the report is empty, ``totals_only`` is
        set, and the engine returns a few rows per ledger, however many line entries there are: for engines on many
        machines, such as Spark.
    allow_partial : bool
        Recompute even if lines are known to be missing; ``partial`` is then set on the report and on all results made
        from it.

    Returns
    -------
    CashFlowReport
        Its tables are pandas for every engine. ``anchored`` says whether the starting balances were supplied.

    Raises
    ------
    FrameError
        A column is missing, contains nulls or has the wrong type, a ledger is not in `ledgers`, or a line that is
        summed occurs more than once (looked for where the frame does not state its load).
    HierarchyError
        Parents form a cycle or are not in `ledgers`.
    IncompleteLoadError
        Lines are missing: according to the load metadata, or entries of the period do not balance.
    AmountError
        An amount is not a whole number of minor units, or the amounts are too large to be summed exactly.
    """
    if amounts not in {None, *AMOUNT_FORMS}:
        msg = f"amounts must be {' or '.join(map(repr, AMOUNT_FORMS))}, not {quote(amounts)}"
        raise InputError(msg)
    day_zone = zone_of_frame(line_entries, time_zone)
    period = Period(start_date, end_date, day_zone.name)
    within, before = period.instants(), period.instants_before()
    chart = _Chart.from_frame(ledgers)
    missing = missing_reasons(line_entries, period, history=starting_balances is None)
    if missing and not allow_partial:
        msg = (
            f"the line entries do not cover all of {period}: {'; '.join(missing)}; load what is missing, or pass "
            "allow_partial=True for a report that is marked PARTIAL"
        )
        raise IncompleteLoadError(msg)
    with localcontext(EXACT):
        exact, form = _with_exact_amounts(_select_lines(line_entries), line_entries, scale, amounts)
        sums = _LedgerSums.from_lines(exact, form, within, before)
        chart.require([*sums.within, *(sums.before if starting_balances is None else ())])
        inside = exact.filter(_is_within(within))
        if not states_all_lines(line_entries):
            earlier = before if starting_balances is None else ()
            _require_distinct_ids(exact.filter(_is_within(within) | (_is_within(earlier) & _is_on_cash(chart))))
        gap = _describe_unbalanced(inside)
        if gap and not allow_partial:
            raise IncompleteLoadError(gap)
        missing = (*missing, *([gap] if gap else []))
        entries = _CashEntries.from_lines(inside, chart)
        flows = _Flows.from_lines(entries, chart, form) if lines else _Flows.without_lines(entries, form)
        if starting_balances is None:
            starting = _StartingBalances.from_sums(sums, period)
        else:
            starting = _StartingBalances.from_supplied(starting_balances, chart, form.scale)
        report = _build_report(period, chart, flows, sums, starting, form, missing)
    return replace(report, totals_only=not lines, notes=(*report.notes, *day_zone.notes))


class _Chart:
    """The chart of accounts: names, display order, hierarchy, and which ledgers are cash."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.names = {row["id"]: row["name"] for row in rows}
        self.sort_codes = {row["id"]: row["sort_code"] for row in rows}
        self.cash = [row["id"] for row in rows if row["report_cash_flow"]]
        self.hierarchy = Hierarchy({row["id"]: row["parent_id"] for row in rows})
        self.ordered = self._in_display_order()
        self.without_known_parent = {
            row["id"] for row in rows if row["parent_id"] is None and row.get("parent_known") is False
        }
        self._tree_types = {self.hierarchy.root(row["id"]): row["type"] for row in rows if row.get("type") is not None}

    @classmethod
    def from_frame(cls, ledgers: Any) -> Self:  # noqa: ANN401 (any frame narwhals knows)
        """Read a frame of ledgers of any engine."""
        frame = _wrap(ledgers, "ledgers")
        schema = frame.collect_schema()
        _require_columns(schema, _LEDGER_COLUMNS, "ledgers")
        optional = [name for name in _OPTIONAL_LEDGER_COLUMNS if name in schema]
        rows = frame.select(*_LEDGER_COLUMNS, *optional).collect("pyarrow").to_arrow().to_pylist()
        for name in ("id", "name", "report_cash_flow", "sort_code"):
            if any(row[name] is None for row in rows):
                raise FrameError(_null_message("ledgers", name))
        if len({row["id"] for row in rows}) < len(rows):
            msg = "ledgers: a ledger id occurs more than once"
            raise FrameError(msg)
        return cls(rows)

    def _in_display_order(self) -> list[str]:
        """Ledgers by (sort_code, id); one without a code is just before its first descendant with one, or last."""
        known = sorted(
            (ledger_id for ledger_id, code in self.sort_codes.items() if code),
            key=lambda ledger_id: display_order(self.sort_codes[ledger_id], ledger_id),
        )
        ordered: dict[str, None] = {}
        for ledger_id in known:
            without_code = [above for above in self.hierarchy.ancestors(ledger_id) if self.sort_codes.get(above) == ""]
            ordered.update(dict.fromkeys([*reversed(without_code), ledger_id]))
        return list(ordered | dict.fromkeys(sorted(self.names)))

    def by_id(self, balances: Mapping[str, Decimal]) -> dict[str, Decimal]:
        """Balances by ledger id, from balances by id, unique name or path."""
        names = LedgerNames(self.names, self.hierarchy)
        try:
            ids = [names.find(text) for text in balances]
        except InputError as error:
            msg = f"starting_balances: {error}"
            raise FrameError(msg) from None
        if len(set(ids)) < len(ids):
            msg = "starting_balances: a ledger occurs more than once"
            raise FrameError(msg)
        return dict(zip(ids, balances.values(), strict=True))

    def require(self, ledger_ids: Collection[str | None]) -> None:
        """Refuse ledgers in use, and parents of these or of cash, that are not in the chart."""
        absent = {ledger_id for ledger_id in ledger_ids if ledger_id not in self.names}
        if absent:
            msg = (
                f"{len(absent)} ledger(s) of the line entries are not in ledgers: {join_ids(absent)}; "
                "whether they report cash flow is not known, so no figure would be reliable"
            )
            raise FrameError(msg)
        in_use = self.names.keys() & {*ledger_ids, *self.cash}
        ancestors = {parent for ledger_id in in_use for parent in self.hierarchy.ancestors(ledger_id)}
        parents = ancestors - self.names.keys()
        if parents:
            msg = (
                f"{len(parents)} parent ledger(s) are not in ledgers: {join_ids(parents)}; add them, or leave "
                "the parents null with parent_known false"
            )
            raise HierarchyError(msg)

    def trees(self, *own: Mapping[str, Decimal]) -> _Trees:
        """Which trees of ledgers have totals, where the ledgers with amounts are those of `own`.

        A ledger without a known parent may be a descendant of any ledger of the same type in another tree.
        """
        roots = {self.hierarchy.root(ledger_id) for amounts in own for ledger_id in amounts}
        used = {self.hierarchy.root(ledger_id) for amounts in own for ledger_id, amount in amounts.items() if amount}
        loose = used & self.without_known_parent
        counts = Counter(map(self._tree_types.get, loose))

        def may_include_another(root: str) -> bool:
            kind = self._tree_types.get(root)
            alike = len(loose) if kind is None else counts[kind] + counts[None]
            return alike > (root in loose)

        unknown = set(filter(may_include_another, roots))
        kinds = set(map(self._tree_types.get, unknown))
        unplaced = {root for root in loose if None in kinds or self._tree_types.get(root) in {None, *kinds}}
        return _Trees(unknown, inferred=loose - unknown, unplaced=unplaced if unknown else set())

    def totals(self, own: Mapping[str, Decimal], trees: _Trees) -> dict[str, Decimal | None]:
        """Own amounts plus those of all descendants, for each ledger of `own` and its ancestors; None if unknown."""
        sums: dict[str, Decimal | None] = {}
        for ledger_id, amount in own.items():
            including = (ledger_id, *self.hierarchy.ancestors(ledger_id))
            unknown = including[-1] in trees.unknown
            for including_id in including:
                sums[including_id] = None if unknown else (sums.get(including_id) or Decimal(0)) + amount
        return sums

    def in_order(self, ledger_ids: Collection[str]) -> list[str]:
        """Ledgers in display order."""
        return [ledger_id for ledger_id in self.ordered if ledger_id in ledger_ids]


class _Trees(NamedTuple):
    """Trees of ledgers, by their roots, where the parents of some ledgers are not known.

    Attributes
    ----------
    unknown : set of str
        Roots of trees that might include another one, so that their totals are not known.
    inferred : set of str
        Ledgers without a known parent that are taken for roots, because no other tree might be a part of theirs.
    unplaced : set of str
        Ledgers without a known parent that a tree in `unknown` might include.
    """

    unknown: set[str]
    inferred: set[str]
    unplaced: set[str]


class _Amounts(NamedTuple):
    """How the amounts of the lines are represented while they are summed.

    Attributes
    ----------
    scale : int
        Fraction digits.
    in_units : bool
        True for whole minor units, False for decimals.
    as_decimals : bool
        Whether the tables of the report have Arrow decimals instead of float64.
    notes : tuple of str
        What was assumed or normalized.
    """

    scale: int
    in_units: bool
    as_decimals: bool
    notes: tuple[str, ...] = ()

    def to_decimal(self, value: Any) -> Decimal:  # noqa: ANN401 (an int or a Decimal)
        """Exact amount of a sum."""
        return from_minor_units(int(value), self.scale) if self.in_units else value

    def to_frame_column(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Amounts as the tables of the report have them: Arrow decimals, or the nearest floats."""
        if pa.types.is_int64(values.type) and not self.as_decimals:
            return pa.chunked_array([units_to_floats(values.to_numpy(), self.scale)])
        if self.in_units:
            values = pa.chunked_array([[self.to_decimal(units) for units in values.to_pylist()]])
        exact = values.cast(arrow_type(self.scale))
        return exact if self.as_decimals else pa.chunked_array([to_floats(exact)])


class _LedgerSums(NamedTuple):
    """Signed sums of each ledger, before and within the period."""

    before: dict[str | None, Decimal]
    within: dict[str | None, Decimal]
    earliest: dt.datetime | None

    @classmethod
    def from_lines(
        cls, lines: Lines, amounts: _Amounts, within: tuple[Interval, ...], before: tuple[Interval, ...]
    ) -> Self:
        """Sum in one pass; refuse null dates."""
        sums = (
            lines.select("ledger_id", "datetime", "signed_amount", within=_is_within(within), before=_is_within(before))
            .group_by("ledger_id", "within", "before")
            .agg(nw.col("signed_amount").sum(), nw.col("datetime").min())
        )
        rows = _collect(sums).to_pylist()
        if any(row["within"] is None or row["before"] is None for row in rows):
            raise FrameError(_null_message("line_entries", "datetime"))
        used = [row for row in rows if row["within"] or row["before"]]
        return cls(
            before={row["ledger_id"]: amounts.to_decimal(row["signed_amount"]) for row in used if row["before"]},
            within={row["ledger_id"]: amounts.to_decimal(row["signed_amount"]) for row in used if row["within"]},
            earliest=min((row["datetime"] for row in used), default=None),
        )


def _select_lines(line_entries: Any) -> Lines:  # noqa: ANN401 (any frame narwhals knows)
    """Select the columns needed from the line entries, and check their types."""
    frame = _wrap(line_entries, "line_entries")
    schema = frame.collect_schema()
    _require_columns(schema, _LINE_COLUMNS, "line_entries")
    for name in _TEXT_COLUMNS:
        if schema[name] not in (nw.String, nw.Categorical, nw.Enum):
            msg = f"line_entries: column {name!r} holds {schema[name]}, not text"
            raise FrameError(msg)
    instant = schema["datetime"]
    if not isinstance(instant, nw.Datetime) or instant.time_zone is None:
        msg = f"line_entries: column 'datetime' holds {instant}, not instants with a time zone (UTC)"
        raise FrameError(msg)
    texts = [nw.col(name) if schema[name] == nw.String else nw.col(name).cast(nw.String) for name in _TEXT_COLUMNS]
    return frame.select(*texts, _in_microseconds_utc(frame, instant), "signed_amount")


def _with_exact_amounts(
    lines: Lines,
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    scale: int | None,
    form: str | None,
) -> tuple[Lines, _Amounts]:
    """Lines with amounts that are summed exactly: decimals as they are, anything else as whole minor units."""
    dtype = lines.collect_schema()["signed_amount"]
    decimal_scale = dtype.scale if isinstance(dtype, nw.Decimal) else None
    found = find_scale((decimal_scale, scale, *stated_scales(line_entries)))
    if isinstance(dtype, nw.Decimal):
        _require_exact_sums(lines)
        is_pandas = isinstance(line_entries, pd.DataFrame) and is_decimal(line_entries["signed_amount"].dtype)
        as_decimals = is_pandas if form is None else form == "decimal"
        return lines, _Amounts(found.scale, in_units=False, as_decimals=as_decimals, notes=found.notes)
    if dtype != nw.Float64 and not dtype.is_integer():
        msg = (
            f"line_entries: column 'signed_amount' holds {dtype}, not exact amounts: float64 of whole minor units, "
            "decimals, or integers (major units)"
        )
        raise FrameError(msg)
    in_units, noise_removed = _in_minor_units(lines, found.scale, is_float=dtype == nw.Float64)
    return in_units, _Amounts(
        found.scale, in_units=True, as_decimals=form == "decimal", notes=(*found.notes, *noise_notes(noise_removed))
    )


def _in_minor_units(lines: Lines, scale: int, *, is_float: bool) -> tuple[Lines, int]:
    """Lines with amounts in whole minor units, and how many had float rounding noise.

    The same test as :func:`~accounting_analytics.money.read_floats`, as an expression for any engine. Sums are in
    int64 while they fit; engines wrap around silently past that, so larger ones are in decimals.
    """
    amount, factor = nw.col("signed_amount").cast(nw.Float64), 10.0**scale
    units = (amount * factor).round(0)
    divisor = units * 0 + factor  # polars multiplies by the reciprocal of a literal, which is inexact
    size, distance = units.abs(), (amount - units / divisor).abs()
    spacing = amount.abs() * np.finfo(np.float64).eps
    near = (distance <= MAX_NOISE_IN_UNITS / factor) | (distance <= spacing)
    fits = (size < MAX_UNITS) & near & amount.is_finite()
    counts = lines.select(
        "id", absent=_is_missing(amount, is_float=is_float), wrong=~fits, noisy=distance > 0, size=size
    ).with_columns(wrong=nw.col("wrong") & ~nw.col("absent"))
    summary = counts.select(
        absent=nw.col("absent").cast(nw.Int64).sum(),
        wrong=nw.col("wrong").cast(nw.Int64).sum(),
        noisy=(nw.col("noisy") & ~nw.col("wrong")).cast(nw.Int64).sum(),
        size=nw.col("size").sum(),
    )
    (found,) = _collect(summary).to_pylist()
    if found["absent"]:
        raise FrameError(_null_message("line_entries", "signed_amount"))
    if found["wrong"]:
        ids = _collect(counts.filter(nw.col("wrong")).select("id").head(_MAX_IDS))["id"].to_pylist()
        msg = (
            f"line_entries: {found['wrong']} amount(s) in signed_amount are not whole minor units at scale {scale}, or "
            f"too large for float64: id {join_ids(ids)}; call .round({scale}) after arithmetic"
        )
        raise AmountError(msg)
    exact = units.cast(nw.Int64)
    if (found["size"] or 0) >= MAX_INT64_SUM:
        exact = exact.cast(nw.Decimal(PRECISION, 0))
    return lines.with_columns(exact.alias("signed_amount")), found["noisy"] or 0


def _is_missing(amount: nw.Expr, *, is_float: bool) -> nw.Expr:
    """Whether there is no amount; in a float column NaN is null too."""
    return amount.is_null() | amount.is_nan() if is_float else amount.is_null()


def _in_microseconds_utc(frame: Lines, kind: nw.Datetime) -> nw.Expr:
    """Instants in the unit and zone of the interval bounds; SQL engines compare instants of any zone."""
    instant = nw.col("datetime")
    if kind == nw.Datetime("us", "UTC") or not (frame.implementation.is_pyarrow() or frame.implementation.is_polars()):
        return instant
    return instant.cast(nw.Datetime("us", "UTC"))


def _wrap(frame: Any, name: str) -> Lines:  # noqa: ANN401 (any frame narwhals knows)
    """Wrap a frame lazily; pandas is converted to Arrow, which sums decimals fast and exactly."""
    if isinstance(frame, pd.DataFrame):
        try:
            frame = pa.Table.from_pandas(frame[_needed_columns(frame)], preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            msg = f"{name} cannot be read as a table: {error.args[-1]}"
            raise FrameError(msg) from error
    if isinstance(frame, pa.Table):
        frame = _with_32_bit_text(frame)
    try:
        wrapped = nw.from_native(frame)
    except TypeError as error:
        msg = (
            f"{name} is of type {type(frame).__name__}; it must be a pandas, pyarrow, polars, DuckDB or PySpark "
            "frame, such as load_line_entries and discover_ledgers return"
        )
        raise FrameError(msg) from error
    lazy: Lines = wrapped.lazy()
    return lazy


def _needed_columns(frame: pd.DataFrame) -> list[str]:
    needed = (*_LINE_COLUMNS, *_LEDGER_COLUMNS, *_OPTIONAL_LEDGER_COLUMNS)
    return [name for name in dict.fromkeys(needed) if name in frame.columns]


def _require_columns(schema: Collection[str], names: Iterable[str], frame_name: str) -> None:
    absent = [name for name in names if name not in schema]
    if absent:
        msg = f"{frame_name}: column is missing: {', '.join(absent)}"
        raise FrameError(msg)


def _require_exact_sums(lines: Lines) -> None:
    """Refuse amounts that an engine might sum incorrectly: past 38 digits pyarrow overflows silently, others raise."""
    amount = nw.col("signed_amount")
    extremes = lines.select(
        least=amount.min(), most=amount.max(), absent=amount.is_null().cast(nw.Int64).sum(), count=nw.len()
    )
    (bounds,) = _collect(extremes).to_pylist()
    if bounds["absent"]:
        raise FrameError(_null_message("line_entries", "signed_amount"))
    if not bounds["count"]:
        return
    largest = max(abs(bounds["least"]), abs(bounds["most"]))
    units = int(largest.scaleb(-largest.as_tuple().exponent))
    if units * bounds["count"] >= 10**PRECISION:
        msg = f"{bounds['count']} lines with amounts up to {largest:f} cannot be summed exactly in {PRECISION} digits"
        raise AmountError(msg)


def _is_within(intervals: tuple[Interval, ...]) -> nw.Expr:
    """Whether the instant of a line is in one of the intervals."""
    instant = nw.col("datetime")
    inside = [(instant >= start) if end is None else (instant >= start) & (instant < end) for start, end in intervals]
    return reduce(operator.or_, inside) if inside else _no_row("datetime")


def _is_on_cash(chart: _Chart) -> nw.Expr:
    """Whether a line is on a cash ledger."""
    return nw.col("ledger_id").is_in(chart.cash) if chart.cash else _no_row("ledger_id")


def _require_distinct_ids(lines: Lines) -> None:
    """Refuse lines that occur more than once; this costs more than the sums."""
    line_id = nw.col("id")
    (counts,) = _collect(lines.select(distinct=line_id.n_unique(), all=line_id.count())).to_pylist()
    if counts["distinct"] < counts["all"]:
        repeated = lines.group_by("id").agg(count=nw.len()).filter(nw.col("count") > 1).select("id")
        raise FrameError(_repeated_message(_collect(repeated)["id"].to_pylist()))


def _no_row(column: str) -> nw.Expr:
    """Select no row (a literal False has no length on some engines)."""
    return nw.col(column).is_null() & ~nw.col(column).is_null()


def _describe_unbalanced(inside: Lines) -> str:
    """Describe the entries of the period whose debits and credits differ, so that lines must be missing; else empty.

    Entries without a cash line are checked too, because the missing line might be the one on cash.
    """
    entry, gap = nw.col("journal_entry_id"), nw.col("signed_amount")
    gaps = inside.group_by("journal_entry_id").agg(gap.sum()).filter((gap != 0) | entry.is_null())
    ids = _collect(gaps.select("journal_entry_id"))["journal_entry_id"].to_pylist()
    if None in ids:
        raise FrameError(_null_message("line_entries", "journal_entry_id"))
    if not ids:
        return ""
    return (
        f"{len(ids)} journal entr{'y does' if len(ids) == 1 else 'ies do'} not balance within the period in the "
        f"given line entries, so lines are missing: {join_ids(ids)}; load all lines of the period's entries (every "
        "ledger, or is_cashflow=True on every ledger) and recompute"
    )


class _CashEntries(NamedTuple):
    """Journal entries of the period that touch cash.

    Attributes
    ----------
    cash_lines : LazyFrame
        Their lines on cash ledgers.
    entries : LazyFrame
        First and last cash ledger of each entry.
    category_lines : LazyFrame
        Their other lines, with the first and last cash ledger.
    """

    cash_lines: Lines
    entries: Lines
    category_lines: Lines

    @classmethod
    def from_lines(cls, inside: Lines, chart: _Chart) -> Self:
        """Select the lines of the entries that touch cash; nothing is calculated yet."""
        on_cash = _is_on_cash(chart)
        cash_lines = inside.filter(on_cash)
        entries = (
            cash_lines.select("journal_entry_id", first_cash="ledger_id", last_cash="ledger_id")
            .group_by("journal_entry_id")
            .agg(nw.col("first_cash").min(), nw.col("last_cash").max())
        )
        return cls(cash_lines, entries, inside.filter(~on_cash).join(entries, on="journal_entry_id", how="inner"))


class _Flows(NamedTuple):
    """Net cash flow of each ledger, and the lines; None where these are left out."""

    net: dict[str, Decimal]
    lines: pa.Table | None = None

    @classmethod
    def from_lines(cls, entries: _CashEntries, chart: _Chart, amounts: _Amounts) -> Self:
        """Collect the lines, and sum them by ledger."""
        flows = _flow_lines(entries, chart)
        sums = flows.group_by("ledger_id").aggregate([("amount", "sum")]).to_pylist()
        net = {row["ledger_id"]: amounts.to_decimal(row["amount_sum"]) for row in sums}
        return cls(net, flows)

    @classmethod
    def without_lines(cls, entries: _CashEntries, amounts: _Amounts) -> Self:
        """Sum the lines by ledger on the engine; refuse those that would be refused in the table."""
        sums = entries.category_lines.group_by("ledger_id").agg(
            nw.col("signed_amount").sum(), present=nw.col("id").count(), count=nw.len()
        )
        rows = _collect(sums).to_pylist()
        if any(row["present"] < row["count"] for row in rows):
            raise FrameError(_null_message("line_entries", "id"))
        return cls({row["ledger_id"]: -amounts.to_decimal(row["signed_amount"]) for row in rows})


def _flow_lines(cash_entries: _CashEntries, chart: _Chart) -> pa.Table:
    """Cash flow lines: category lines of entries that touch cash, with the name of the cash ledger that moved."""
    flows = _collect(cash_entries.category_lines)
    if flows["id"].null_count:
        raise FrameError(_null_message("line_entries", "id"))
    cash_ledgers = _moved_cash_ledgers(flows, cash_entries.cash_lines, cash_entries.entries, chart)
    return pa.table(
        {
            "line_id": flows["id"],
            "ledger_id": flows["ledger_id"],
            "amount": pc.negate(flows["signed_amount"]),
            "datetime": flows["datetime"],
            "cash_flow_ledger_name": _map_text(cash_ledgers, chart.names),
            "journal_entry_id": flows["journal_entry_id"],
            "journal_entry_description": flows["journal_entry_description"],
        }
    )


def _moved_cash_ledgers(flows: pa.Table, cash_lines: Lines, entries: Lines, chart: _Chart) -> pa.ChunkedArray:
    """Cash ledger of each flow: the only one of its entry, or the one with the largest absolute movement."""
    if pc.all(pc.equal(flows["first_cash"], flows["last_cash"])).as_py() is not False:
        return flows["first_cash"]
    several = entries.filter(nw.col("first_cash") != nw.col("last_cash")).select("journal_entry_id")
    moves = _collect(
        cash_lines.join(several, on="journal_entry_id", how="inner")
        .group_by("journal_entry_id", "ledger_id")
        .agg(nw.col("signed_amount").sum())
    )
    rank = pa.array(range(len(chart.ordered)), pa.int64())
    moves = pa.table(
        {
            "entry": moves["journal_entry_id"],
            "ledger": moves["ledger_id"],
            "movement": pc.abs(moves["signed_amount"]),
            "rank": rank.take(
                pc.index_in(moves["ledger_id"], value_set=pa.array(chart.ordered, _TEXT)).combine_chunks()
            ),
        }
    ).sort_by([("movement", "descending"), ("rank", "ascending")])
    largest = moves.group_by("entry", use_threads=False).aggregate([("ledger", "first")])
    positions = pc.index_in(flows["journal_entry_id"], value_set=largest["entry"])
    return pc.coalesce(largest["ledger_first"].take(positions), flows["first_cash"])


def _map_text(ledger_ids: pa.ChunkedArray, texts: Mapping[str, str]) -> pa.ChunkedArray:
    """Replace each ledger id by its text."""
    keys, values = pa.array(texts.keys(), _TEXT), pa.array(texts.values(), _TEXT)
    return pa.chunked_array([values]).take(pc.index_in(ledger_ids, value_set=keys))


def _collect(lines: Lines) -> pa.Table:
    """Run the query; text is returned in one Arrow type and instants in microseconds UTC."""
    engine = (
        {"engine": "streaming"} if lines.implementation.is_polars() else {}
    )  # the default holds all lines in memory
    table = _with_32_bit_text(lines.collect("pyarrow", **engine).to_arrow())
    fields = [field.with_type(_INSTANT) if pa.types.is_timestamp(field.type) else field for field in table.schema]
    return table.cast(pa.schema(fields))


def _with_32_bit_text(table: pa.Table) -> pa.Table:
    """Text with 32-bit offsets, in batches small enough for them: Arrow groups and joins it three times as fast."""
    fields = [
        field.with_type(_TEXT) if pa.types.is_large_string(field.type) or pa.types.is_string_view(field.type) else field
        for field in table.schema
    ]
    if table.schema.equals(pa.schema(fields)):
        return table
    return pa.Table.from_batches(table.to_batches(_ROWS_PER_BATCH), table.schema).cast(pa.schema(fields))


class _StartingBalances(NamedTuple):
    """Starting balances of the cash ledgers, and notes on where they come from."""

    balances: Mapping[str | None, Decimal]
    notes: tuple[str, ...]
    anchored: bool

    @classmethod
    def from_sums(cls, sums: _LedgerSums, period: Period) -> Self:
        """Sum the lines before the period."""
        if sums.before:
            note = (
                "Starting balances are summed from the given line entries, the earliest of "
                f"{sums.earliest:%Y-%m-%d %H:%M} UTC; they are correct only if those reach back to the first "
                "entry of the books."
            )
        else:
            note = (
                f"No given line entry is before {period.start_date}, so every starting balance is zero. Unless the "
                "books begin in this period, pass starting_balances=reported.starting_balances, or load the line "
                "entries from the first entry of the books."
            )
        return cls(sums.before, (note,), anchored=False)

    @classmethod
    def from_supplied(cls, balances: pd.DataFrame | Mapping[str, Decimal], chart: _Chart, scale: int) -> Self:
        """Take balances as they are; they must be exact at the scale."""
        supplied, noise_removed = (
            _read_balances(balances, scale)
            if isinstance(balances, pd.DataFrame)
            else _parse_balances(chart.by_id(balances), scale)
        )
        others = supplied.keys() - set(chart.cash)
        if others:
            msg = (
                f"starting_balances: {len(others)} ledger(s) do not report cash flow in ledgers: "
                f"{join_ids(others)}; the balances and the chart of accounts disagree about what is cash"
            )
            raise FrameError(msg)
        notes = ["Starting balances were supplied, not summed from history: their agreement proves nothing."]
        missing = set(chart.cash) - supplied.keys()
        if missing:
            notes.append(
                f"{len(missing)} cash ledger(s) have no supplied balance and start at zero: {join_ids(missing)}."
            )
        if noise_removed:
            notes.append(f"{noise_removed} supplied starting balance(s) had float rounding noise removed.")
        return cls(supplied, tuple(notes), anchored=True)


def _parse_balances(balances: Mapping[str, Decimal], scale: int) -> tuple[dict[str | None, Decimal], int]:
    """Supplied amounts, exactly, and how many had float rounding noise."""
    parsed = {ledger_id: parse_amount(amount, scale) for ledger_id, amount in balances.items()}
    noise_removed = sum(amount.rounding_noise_removed for amount in parsed.values())
    return {ledger_id: amount.amount for ledger_id, amount in parsed.items()}, noise_removed


def _read_balances(balances: pd.DataFrame, scale: int) -> tuple[dict[str | None, Decimal], int]:
    """Exact amounts of a supplied table, by ledger id, and how many had float rounding noise."""
    _require_columns(balances.columns, ("ledger_id", "cash_balance"), "starting_balances")
    ledger_ids, amounts = balances["ledger_id"], balances["cash_balance"]
    if ledger_ids.duplicated().any():
        msg = "starting_balances: a ledger id occurs more than once"
        raise FrameError(msg)
    if amounts.isna().any():
        raise FrameError(_null_message("starting_balances", "cash_balance"))
    find_scale([scale, *stated_scales(balances), decimal_scale(amounts)])
    exact, noise_removed = exact_amounts(amounts, scale, ledger_ids)
    return dict(zip(ledger_ids, exact, strict=True)), noise_removed


def _build_report(  # noqa: PLR0917 (the parts of a report)
    period: Period,
    chart: _Chart,
    flows: _Flows,
    sums: _LedgerSums,
    starting: _StartingBalances,
    amounts: _Amounts,
    missing: tuple[str, ...],
) -> CashFlowReport:
    """Build the report, and check that the flows sum to the change of the cash balances."""
    zero = Decimal(0).scaleb(-amounts.scale)
    start = {ledger_id: starting.balances.get(ledger_id, zero) for ledger_id in chart.cash}
    end = {ledger_id: start[ledger_id] + sums.within.get(ledger_id, zero) for ledger_id in chart.cash}
    net = flows.net
    starting_cash, ending_cash, net_cash_flow = (sum(own.values(), zero) for own in (start, end, net))
    if net_cash_flow != ending_cash - starting_cash and not missing:
        msg = (
            f"the recomputed flows of {period} sum to {net_cash_flow}, but cash changes by "
            f"{ending_cash - starting_cash}: the DataFrame engine returned wrong sums, so there is no report; "
            "recompute with another engine"
        )
        raise BooksDoNotTieError(msg)
    flow_trees, cash_trees = chart.trees(net), chart.trees(start, end)
    inferred_roots = chart.in_order(flow_trees.inferred | cash_trees.inferred)
    return CashFlowReport(
        period=period,
        ledgers=_ledger_table(chart, net, chart.totals(net, flow_trees), amounts),
        lines=_no_lines(amounts) if flows.lines is None else _line_table(flows.lines, chart, amounts),
        starting_balances=_balance_table(chart, start, chart.totals(start, cash_trees), amounts),
        ending_balances=_balance_table(chart, end, chart.totals(end, cash_trees), amounts),
        starting_cash_balance=starting_cash,
        ending_cash_balance=ending_cash,
        anchored=starting.anchored,
        partial=bool(missing),
        inferred_roots=tuple(inferred_roots),
        origin="recomputed",
        notes=(
            *(f"PARTIAL: {why}." for why in missing),
            *starting.notes,
            *amounts.notes,
            *_hierarchy_notes(chart, inferred_roots, (flow_trees, cash_trees)),
        ),
    )


def _hierarchy_notes(chart: _Chart, inferred_roots: list[str], trees: Iterable[_Trees]) -> Iterator[str]:
    if inferred_roots:
        yield (
            f"The hierarchy is inferred: the parents of {len(inferred_roots)} ledger(s) are not known "
            f"({_names(chart, inferred_roots)}), so each is taken for a root; ancestors may be missing from the list."
        )
    unplaced = chart.in_order(set().union(*(one.unplaced for one in trees)))
    if unplaced:
        yield (
            f"The parents of {len(unplaced)} ledger(s) are not known ({_names(chart, unplaced)}): totals that might "
            "include them are left null, and their ancestors may be missing from the list; give them as parents= of "
            "discover_ledgers."
        )


def _names(chart: _Chart, ledger_ids: Iterable[str]) -> str:
    return join_ids([chart.names[ledger_id] for ledger_id in ledger_ids])


def _ledger_table(
    chart: _Chart, net: Mapping[str, Decimal], totals: Mapping[str, Decimal | None], amounts: _Amounts
) -> pd.DataFrame:
    ledger_ids = chart.in_order(totals)
    zero = Decimal(0)
    columns = {
        "ledger_id": ledger_ids,
        "name": [chart.names[ledger_id] for ledger_id in ledger_ids],
        "net_cash_flow": [net.get(ledger_id, zero) for ledger_id in ledger_ids],
        "total_net_cash_flow": [totals[ledger_id] for ledger_id in ledger_ids],
    }
    return CashFlowLedgers.from_columns(columns, amounts.scale, as_decimals=amounts.as_decimals)


def _balance_table(
    chart: _Chart, own: Mapping[str, Decimal], totals: Mapping[str, Decimal | None], amounts: _Amounts
) -> pd.DataFrame:
    ledger_ids = chart.in_order(own)
    columns = {
        "ledger_id": ledger_ids,
        "ledger_name": [chart.names[ledger_id] for ledger_id in ledger_ids],
        "sort_code": [chart.sort_codes[ledger_id] for ledger_id in ledger_ids],
        "cash_balance": [own[ledger_id] for ledger_id in ledger_ids],
        "total_cash_balance": [totals[ledger_id] for ledger_id in ledger_ids],
    }
    return CashBalances.from_columns(columns, amounts.scale, as_decimals=amounts.as_decimals)


def _no_lines(amounts: _Amounts) -> pd.DataFrame:
    empty: dict[str, list[Any]] = {name: [] for name in CashFlowLines.dtypes()}
    return CashFlowLines.from_columns(empty, amounts.scale, as_decimals=amounts.as_decimals)


def _line_table(flows: pa.Table, chart: _Chart, amounts: _Amounts) -> pd.DataFrame:
    """Pandas table of the lines, in the order of the ledgers, then (datetime, line_id)."""
    rank = pc.index_in(flows["ledger_id"], value_set=pa.array(chart.ordered, _TEXT))
    order = pc.sort_indices(
        flows.append_column("rank", rank),
        sort_keys=[("rank", "ascending"), ("datetime", "ascending"), ("line_id", "ascending")],
    )
    amount = amounts.to_frame_column(flows["amount"])
    flows = flows.set_column(flows.column_names.index("amount"), "amount", amount)
    # pandas text has 64-bit offsets, and 32-bit ones may overflow when rows are taken
    wide = pa.schema([field.with_type(pa.large_string()) if field.type == _TEXT else field for field in flows.schema])
    dtypes = {pa.large_string(): TEXT, _INSTANT: INSTANT}
    if amounts.as_decimals:
        dtypes[amount.type] = pd.ArrowDtype(amount.type)
    ordered = flows.cast(wide).take(order)
    _require_unique_ids(ordered["line_id"])
    lines: pd.DataFrame = ordered.to_pandas(types_mapper=dtypes.get)
    lines.attrs["scale"] = amounts.scale
    return lines


def _require_unique_ids(ordered_ids: pa.ChunkedArray) -> None:
    """Refuse a line that appears twice; the copies are neighbours in sorted order."""
    repeated = pc.equal(ordered_ids[1:], ordered_ids[:-1])
    if pc.any(repeated).as_py():
        raise FrameError(_repeated_message(ordered_ids[1:].filter(repeated).to_pylist()))


def _repeated_message(ids: Collection[str]) -> str:
    return (
        f"line_entries: a line entry id occurs more than once: {join_ids(ids)}; combine overlapping loads with "
        "combine_loads"
    )


def _null_message(frame_name: str, column: str) -> str:
    return f"{frame_name}: column {column!r} is null where a value is required"
