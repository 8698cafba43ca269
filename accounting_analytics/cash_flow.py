"""The cash flow report, recomputed from line entries on any DataFrame engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow_report import CashFlowReport
from accounting_analytics.chart_of_accounts import Hierarchy, display_order
from accounting_analytics.errors import (
    BooksDoNotTieError,
    FrameError,
    HierarchyError,
    IncompleteLoadError,
    InputError,
)
from accounting_analytics.exact_sums import (
    INSTANT_TYPE,
    EntryLines,
    ExactLines,
    LedgerSums,
    amount_column,
    collect,
    is_on,
    is_within,
    null_message,
    repeated_message,
    require_columns,
    wrap,
)
from accounting_analytics.frame_columns import INSTANT, TEXT, decimal_scale, exact_amounts, find_scale
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.load_metadata import missing_reasons, stated_scales, states_all_lines, zone_of_frame
from accounting_analytics.messages import join_ids, quote
from accounting_analytics.money import (
    AMOUNT_FORMS,
    arrow_type,
    from_minor_units,
    pandas_dtype,
    parse_amount,
    to_minor_units,
)
from accounting_analytics.periods import Period
from accounting_analytics.schemas import CashBalances, CashFlowLedgers, CashFlowLines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from decimal import Decimal

    import numpy.typing as npt

    from accounting_analytics.periods import DateLike, ZoneLike

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
        Whether the report has its cash flow lines. Without them ``lines`` of the report is empty, and ``totals_only``
        is set. PySpark then returns a few rows per ledger, however many line entries there are; other engines return
        entry, ledger and amount of the lines of the period.
    allow_partial : bool
        Recompute even if lines are known to be missing; ``partial`` is then set on the report and on all results made
        from it.

    Returns
    -------
    CashFlowReport
        Its tables are pandas for every engine. ``anchored`` says whether the starting balances were supplied.

    Raises
    ------
    InputError
        `amounts` or `starting_balances` is something else.
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
    if starting_balances is not None:
        hint = "pass {ledger: balance}, or starting_balances of a report"
        require_type(starting_balances, (pd.DataFrame, Mapping), "starting_balances", hint)
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
    exact = ExactLines.from_frame(line_entries, scale)
    as_decimals = exact.from_decimals if amounts is None else amounts == "decimal"
    sums = exact.sums(before, within)
    earlier, change = sums.columns
    chart.require([*change, *(earlier if starting_balances is None else ())])
    if states_all_lines(line_entries):
        exact.require_ids(within)
    else:
        summed = is_within(within)
        if starting_balances is None:
            summed |= is_within(before) & is_on(chart.cash)
        exact._replace(lines=exact.lines.filter(summed)).require_distinct()
    flows = _Flows.from_lines(exact.within(within), chart, with_lines=lines)
    gap = _describe_unbalanced(flows.unbalanced)
    if gap and not allow_partial:
        raise IncompleteLoadError(gap)
    missing = (*missing, *([gap] if gap else []))
    if starting_balances is None:
        starting = _StartingBalances.from_sums(sums, period)
    else:
        starting = _StartingBalances.from_supplied(starting_balances, chart, exact.scale)
    tables = _Tables(chart, exact.scale, as_decimals)
    notes = (*starting.notes, *exact.notes)
    report = _build_report(period, tables, flows, change, starting, missing, notes)
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
        frame = wrap(ledgers, "ledgers", (*_LEDGER_COLUMNS, *_OPTIONAL_LEDGER_COLUMNS))
        schema = frame.collect_schema()
        require_columns(schema, _LEDGER_COLUMNS, "ledgers")
        optional = [name for name in _OPTIONAL_LEDGER_COLUMNS if name in schema]
        rows = collect(frame.select(*_LEDGER_COLUMNS, *optional)).to_pylist()
        for name in ("id", "name", "report_cash_flow", "sort_code"):
            if any(row[name] is None for row in rows):
                raise FrameError(null_message("ledgers", name))
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

    def trees(self, *own: Mapping[str, int]) -> _Trees:
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

    def totals(self, own: Mapping[str, int], trees: _Trees) -> dict[str, int | None]:
        """Own units plus those of all descendants, for each ledger of `own` and its ancestors; None if unknown."""
        sums: dict[str, int | None] = {}
        for ledger_id, units in own.items():
            including = (ledger_id, *self.hierarchy.ancestors(ledger_id))
            unknown = including[-1] in trees.unknown
            for including_id in including:
                sums[including_id] = None if unknown else (sums.get(including_id) or 0) + units
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


class _FlowLines(NamedTuple):
    """Cash flow lines in the order of the report, and their signed units."""

    table: pa.Table
    units: npt.NDArray[Any]


class _Flows(NamedTuple):
    """Net cash flow of each ledger in units, entries that do not balance, and the lines; None where these are left out.

    Entries without a cash line must balance too, because the missing line might be the one on cash.
    """

    net: dict[str, int]
    unbalanced: list[str]
    lines: _FlowLines | None = None

    @classmethod
    def from_lines(cls, inside: ExactLines, chart: _Chart, *, with_lines: bool) -> Self:
        """Sum the flows of the entries that touch cash; Spark's stay on its machines unless lines are wanted."""
        if inside.lines.implementation.is_pyspark() and not with_lines:
            return cls(*inside.flows_on_engine(chart.cash))
        entries = inside.entries(texts=with_lines)
        on_cash = entries.on(chart.cash)
        flows = entries.of_entries_with(on_cash) & ~on_cash
        net = {ledger_id: -units for ledger_id, units in entries.sums(flows).items()}
        lines = _flow_lines(entries, on_cash, flows, chart) if with_lines else None
        return cls(net, entries.unbalanced(), lines)


def _flow_lines(
    entries: EntryLines, on_cash: npt.NDArray[np.bool_], flows: npt.NDArray[np.bool_], chart: _Chart
) -> _FlowLines:
    """Cash flow lines with the name of the cash ledger that each entry moved most."""
    table = entries.table.filter(pa.array(flows))
    if table["id"].null_count:
        raise FrameError(null_message("line_entries", "id"))
    order = {ledger_id: rank for rank, ledger_id in enumerate(chart.ordered)}
    ranks = np.array([order[ledger_id] for ledger_id in entries.ledger_ids], np.int64)
    names = pa.array([chart.names[ledger_id] for ledger_id in entries.ledger_ids], pa.string())
    moved = entries.most_moved(on_cash, order)[entries.entries[flows]]
    lines = pa.table(
        {
            "line_id": table["id"],
            "ledger_id": table["ledger_id"],
            "datetime": table["datetime"],
            "cash_flow_ledger_name": names.take(pa.array(moved)),
            "journal_entry_id": table["journal_entry_id"],
            "journal_entry_description": table["journal_entry_description"],
            "rank": ranks[entries.ledgers[flows]],
        }
    )
    positions = pc.sort_indices(lines, [(name, "ascending") for name in ("rank", "datetime", "line_id")])
    # pandas text has 64-bit offsets, and 32-bit ones may overflow when rows are taken
    wide = [field.with_type(pa.large_string()) if field.type == pa.string() else field for field in lines.schema]
    ordered = lines.cast(pa.schema(wide)).take(positions).drop_columns("rank")
    repeated = pc.equal(ordered["line_id"][1:], ordered["line_id"][:-1])  # copies are neighbours
    if pc.any(repeated).as_py():
        raise FrameError(repeated_message(ordered["line_id"][1:].filter(repeated).to_pylist()))
    return _FlowLines(ordered, -entries.units[flows][positions.to_numpy()])


def _describe_unbalanced(entry_ids: Collection[str]) -> str:
    """Describe the entries of the period whose debits and credits differ, so that lines must be missing; else empty."""
    if not entry_ids:
        return ""
    return (
        f"{len(entry_ids)} journal entr{'y does' if len(entry_ids) == 1 else 'ies do'} not balance within the period "
        f"in the given line entries, so lines are missing: {join_ids(entry_ids)}; load all lines of the period's "
        "entries (every ledger, or is_cashflow=True on every ledger) and recompute"
    )


class _StartingBalances(NamedTuple):
    """Starting balances of the cash ledgers in units, and notes on where they come from."""

    balances: Mapping[str | None, int]
    notes: tuple[str, ...]
    anchored: bool

    @classmethod
    def from_sums(cls, sums: LedgerSums, period: Period) -> Self:
        """Sum the lines before the period."""
        if before := sums.columns[0]:
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
        return cls(before, (note,), anchored=False)

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


def _parse_balances(balances: Mapping[str, Decimal], scale: int) -> tuple[dict[str | None, int], int]:
    """Supplied amounts in units, and how many had float rounding noise."""
    parsed = {ledger_id: parse_amount(amount, scale) for ledger_id, amount in balances.items()}
    noise_removed = sum(amount.rounding_noise_removed for amount in parsed.values())
    return {ledger_id: to_minor_units(one.amount, scale) for ledger_id, one in parsed.items()}, noise_removed


def _read_balances(balances: pd.DataFrame, scale: int) -> tuple[dict[str | None, int], int]:
    """Units of a supplied table, by ledger id, and how many had float rounding noise."""
    require_columns(balances.columns, ("ledger_id", "cash_balance"), "starting_balances")
    ledger_ids, amounts = balances["ledger_id"], balances["cash_balance"]
    if ledger_ids.duplicated().any():
        msg = "starting_balances: a ledger id occurs more than once"
        raise FrameError(msg)
    if amounts.isna().any():
        raise FrameError(null_message("starting_balances", "cash_balance"))
    find_scale([scale, *stated_scales(balances), decimal_scale(amounts)])
    exact, noise_removed = exact_amounts(amounts, scale, ledger_ids)
    units = [to_minor_units(amount, scale) for amount in exact]
    return dict(zip(ledger_ids, units, strict=True)), noise_removed


def _build_report(  # noqa: PLR0917 (the parts of a report)
    period: Period,
    tables: _Tables,
    flows: _Flows,
    change: Mapping[str | None, int],
    starting: _StartingBalances,
    missing: tuple[str, ...],
    notes: tuple[str, ...],
) -> CashFlowReport:
    """Build the report, and check that the flows sum to the change of the cash balances."""
    chart = tables.chart
    start = {ledger_id: starting.balances.get(ledger_id, 0) for ledger_id in chart.cash}
    end = {ledger_id: start[ledger_id] + change.get(ledger_id, 0) for ledger_id in chart.cash}
    starting_cash, ending_cash, net_cash_flow = (sum(own.values()) for own in (start, end, flows.net))
    if net_cash_flow != ending_cash - starting_cash and not missing:
        msg = (
            f"the recomputed flows of {period} sum to {tables.amount(net_cash_flow)}, but cash changes by "
            f"{tables.amount(ending_cash - starting_cash)}: the DataFrame engine returned wrong sums, so there is no "
            "report; recompute with another engine"
        )
        raise BooksDoNotTieError(msg)
    flow_trees, cash_trees = chart.trees(flows.net), chart.trees(start, end)
    inferred_roots = chart.in_order(flow_trees.inferred | cash_trees.inferred)
    return CashFlowReport(
        period=period,
        ledgers=tables.ledgers(flows.net, chart.totals(flows.net, flow_trees)),
        lines=tables.lines(flows.lines),
        starting_balances=tables.balances(start, chart.totals(start, cash_trees)),
        ending_balances=tables.balances(end, chart.totals(end, cash_trees)),
        starting_cash_balance=tables.amount(starting_cash),
        ending_cash_balance=tables.amount(ending_cash),
        anchored=starting.anchored,
        partial=bool(missing),
        inferred_roots=tuple(inferred_roots),
        origin="recomputed",
        notes=(
            *(f"PARTIAL: {why}." for why in missing),
            *notes,
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


class _Tables(NamedTuple):
    """The tables of a report, made from units."""

    chart: _Chart
    scale: int
    as_decimals: bool

    def amount(self, units: int) -> Decimal:
        """Exact amount of some units."""
        return from_minor_units(units, self.scale)

    def _amounts(self, units: Iterable[int | None]) -> list[Decimal | None]:
        return [None if one is None else self.amount(one) for one in units]

    def ledgers(self, net: Mapping[str, int], totals: Mapping[str, int | None]) -> pd.DataFrame:
        """Net cash flow of each ledger that has a total."""
        ledger_ids = self.chart.in_order(totals)
        columns = {
            "ledger_id": ledger_ids,
            "name": [self.chart.names[ledger_id] for ledger_id in ledger_ids],
            "net_cash_flow": self._amounts(net.get(ledger_id, 0) for ledger_id in ledger_ids),
            "total_net_cash_flow": self._amounts(totals[ledger_id] for ledger_id in ledger_ids),
        }
        return CashFlowLedgers.from_columns(columns, self.scale, as_decimals=self.as_decimals)

    def balances(self, own: Mapping[str, int], totals: Mapping[str, int | None]) -> pd.DataFrame:
        """Balance of each cash ledger."""
        ledger_ids = self.chart.in_order(own)
        columns = {
            "ledger_id": ledger_ids,
            "ledger_name": [self.chart.names[ledger_id] for ledger_id in ledger_ids],
            "sort_code": [self.chart.sort_codes[ledger_id] for ledger_id in ledger_ids],
            "cash_balance": self._amounts(own[ledger_id] for ledger_id in ledger_ids),
            "total_cash_balance": self._amounts(totals[ledger_id] for ledger_id in ledger_ids),
        }
        return CashBalances.from_columns(columns, self.scale, as_decimals=self.as_decimals)

    def lines(self, flows: _FlowLines | None) -> pd.DataFrame:
        """Cash flow lines; none where they were left out."""
        if flows is None:
            return CashFlowLines.without_rows(self.scale, as_decimals=self.as_decimals)
        amount = amount_column(flows.units, self.scale, as_decimals=self.as_decimals)
        dtypes = {pa.large_string(): TEXT, INSTANT_TYPE: INSTANT, arrow_type(self.scale): pandas_dtype(self.scale)}
        position = list(CashFlowLines.dtypes()).index("amount")
        table = flows.table.add_column(position, "amount", amount)
        lines: pd.DataFrame = table.to_pandas(types_mapper=dtypes.get)
        lines.attrs["scale"] = self.scale
        return lines
