"""The cash flow report, recomputed from line entries on any DataFrame engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.arguments import require_type
from accounting_analytics.core.column_conversion import INSTANT, TEXT
from accounting_analytics.core.errors import BooksDoNotTieError, FrameError, IncompleteLoadError
from accounting_analytics.core.exact_sums import (
    INSTANT_TYPE,
    EntryLines,
    ExactLines,
    LedgerSums,
    amount_column,
    is_on,
    is_within,
    null_message,
    repeated_message,
    require_sides,
)
from accounting_analytics.core.load_metadata import attach_notes, loaded_period, read_load_metadata
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import arrow_type, from_minor_units, pandas_dtype
from accounting_analytics.core.periods import Period
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines, ExactReport
from accounting_analytics.reports.books.extent import missing_reasons, states_all_lines
from accounting_analytics.reports.books.ledger_tree import LedgerTree, describe_ledgers
from accounting_analytics.reports.books.lines_or_books import ledgers_of, lines_of
from accounting_analytics.reports.books.opening import Opening, find_opening, given_opening
from accounting_analytics.reports.books.zone_of_lines import zone_of_lines
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from decimal import Decimal

    import numpy.typing as npt

    from accounting_analytics.core.exact_sums import Days
    from accounting_analytics.core.periods import DateLike, ZoneLike

_LINE_TEXTS = ("id", "ledger_id", "journal_entry_id", "journal_entry_description")


def recompute_cash_flow(
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
    start_date: DateLike,
    end_date: DateLike,
    *,
    time_zone: ZoneLike | None = None,
    starting_balances: pd.DataFrame | Mapping[str, Decimal] | None = None,
    scale: int | None = None,
    lines: bool = True,
    allow_partial: bool = False,
) -> CashFlowReport:
    """Recompute the cash flow report of a period from raw line entries, exactly.

    Parameters
    ----------
    line_entries : DataFrame, pyarrow.Table, polars frame, DuckDB relation, PySpark frame or LocalBooks
        The :class:`~accounting_analytics.schemas.LineEntries` columns ``id, ledger_id, journal_entry_id,
        journal_entry_description, datetime, signed_amount`` (others are ignored). The frame must hold all lines of
        every entry in the period that touches cash, and, without `starting_balances`, all earlier lines of the
        ledgers that report cash flow. Local books are read whole.
    ledgers : DataFrame or any of the others
        The chart of accounts (None: that of the local books): ``id, name, report_cash_flow, parent_id, sort_code`` and,
        if some parents are unknown, ``parent_known`` and ``type``: totals that might include a ledger of unknown parent
        and the same type are null. A ``sort_code`` that is not known is empty.
    start_date, end_date : date-like
        First and last day, both inclusive, local to `time_zone`: dates, ``YYYY-MM-DD``, midnights without a time zone,
        or periods of pandas (the first day of the one, the last of the other).
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the load (in the metadata of the frame), which is noted, else
        that of the ledgers if every ``local_date`` is a day of it.
    starting_balances : DataFrame or mapping, optional
        Balances of the cash ledgers at the start (:class:`~accounting_analytics.schemas.CashBalances`, or id, unique
        name or path of a ledger to amount) to roll forward; earlier lines are then not used. Without it the history
        is summed.
    scale : int, optional
        Fraction digits of the amounts; by default those of a decimal type, else those that the load states, else 2.
    lines : bool
        Whether the report has its cash flow lines. Without them ``lines`` of the report is empty, and ``totals_only``
        is set. Lazy engines (polars LazyFrame, DuckDB, PySpark) then return a few rows per ledger, however many line
        entries there are.
    allow_partial : bool
        Recompute even if lines are known to be missing or added; ``partial`` is then set on it and on all results made
        from it.

    Returns
    -------
    CashFlowReport
        Its tables are pandas for every engine. ``anchored`` says whether the starting balances were supplied.

    Raises
    ------
    InputError
        `starting_balances` is something else.
    FrameError
        A column is missing, contains nulls or has the wrong type, a ledger is not in `ledgers`, or a line that is
        summed occurs more than once (looked for where the frame does not state its load).
    HierarchyError
        Parents form a cycle or are not in `ledgers`.
    IncompleteLoadError
        Lines are missing, or there twice: according to the load metadata, or entries of the period do not balance.
    AmountError
        An amount is not a whole number of minor units, or the amounts are too large to be summed exactly.
    """
    if starting_balances is not None:
        hint = "pass {ledger: balance}, or starting_balances of a report"
        require_type(starting_balances, (pd.DataFrame, Mapping), "starting_balances", hint)
    line_entries, ledgers = lines_of(line_entries), ledgers_of(line_entries, ledgers)
    day_zone = zone_of_lines(line_entries, ledgers, time_zone)
    period = Period(start_date, end_date, day_zone.name)
    within, before = period.instants(), period.instants_before()
    tree = LedgerTree.from_frame(ledgers)
    missing = missing_reasons(line_entries, period)
    if missing and not allow_partial:
        raise IncompleteLoadError(
            f"the line entries are not exactly those of {period}: {'; '.join(missing)}; load these days again, read "
            "them from local books, or pass allow_partial=True for a report that is marked PARTIAL"
        )
    exact = ExactLines.from_frame(line_entries, scale)
    sums = exact.sums(before, within)
    earlier, change = sums.columns
    summed_days = within if starting_balances is not None else (*before, *within)
    tree.require(
        [*change, *(earlier if starting_balances is None else ())],
        lambda absent: describe_ledgers(line_entries, exact, summed_days, absent),
    )
    if states_all_lines(line_entries):
        exact.require_ids(within)
    else:
        require_sides(line_entries, exact.scale)
        summed = is_within(within)
        if starting_balances is None:
            summed |= is_within(before) & is_on(tree.cash)
        exact.require_distinct(summed)
    flows = _Flows.from_lines(exact, within, tree, with_lines=lines)
    gap = _describe_unbalanced(flows.unbalanced)
    if gap and not allow_partial:
        raise IncompleteLoadError(gap)
    missing = (*missing, *([gap] if gap else []))
    if starting_balances is None:
        starting, of_start = _summed_opening(line_entries, ledgers, sums, period)
    else:
        starting, of_start = _given_opening(starting_balances, period, tree, exact.scale)
    tables = _Tables(tree, exact.scale)
    notes = (*of_start, *exact.notes)
    report = _build_report(period, tables, flows, change, starting, missing, notes)
    exact_report = report.exact()
    attach_notes(exact_report.ledgers, (), line_entries)
    return replace(report, _exact=exact_report, totals_only=not lines, notes=(*report.notes, *day_zone.notes))


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
    def from_lines(cls, exact: ExactLines, days: Days, tree: LedgerTree, *, with_lines: bool) -> Self:
        """Sum the flows of the entries that touch cash; lazy engines keep the lines unless they are wanted."""
        if not with_lines:
            flows = exact.flows(tree.cash, days)
            return cls(flows.columns[0], flows.unbalanced)
        entries = exact.entries(days)
        on_cash = entries.on(tree.cash)
        chosen = entries.of_entries_with(on_cash) & ~on_cash
        net = {ledger_id: -units for ledger_id, units in entries.sums(chosen).items()}
        return cls(net, entries.unbalanced(), _flow_lines(entries, on_cash, chosen, tree))


def _flow_lines(
    entries: EntryLines, on_cash: npt.NDArray[np.bool_], flows: npt.NDArray[np.bool_], tree: LedgerTree
) -> _FlowLines:
    """Cash flow lines with the name of the cash ledger that each entry moved most."""
    # pandas text has 64-bit offsets, and 32-bit ones may overflow when rows are taken
    texts = {name: entries.table[name].cast(pa.large_string()) for name in _LINE_TEXTS}
    order = {ledger_id: rank for rank, ledger_id in enumerate(tree.ordered)}
    ranks = np.array([order[ledger_id] for ledger_id in entries.ledger_ids], np.int64)
    names = pa.array([tree.names[ledger_id] for ledger_id in entries.ledger_ids], pa.large_string())
    moved = entries.most_moved(on_cash, order)
    unordered = np.flatnonzero(flows)
    keys = {"datetime": entries.table["datetime"].take(unordered), "id": texts["id"].take(unordered)}
    if keys["id"].null_count:
        raise FrameError(null_message("line_entries", "id"))
    ranked = pa.table({"rank": ranks[entries.ledgers[unordered]], **keys})
    positions = unordered[pc.sort_indices(ranked, [(name, "ascending") for name in ranked.column_names])]
    lines = pa.table(
        {
            "line_id": texts["id"].take(positions),
            "ledger_id": texts["ledger_id"].take(positions),
            "datetime": entries.table["datetime"].take(positions),
            "cash_flow_ledger_name": names.take(pa.array(moved[entries.entries[positions]])),
            "journal_entry_id": texts["journal_entry_id"].take(positions),
            "journal_entry_description": texts["journal_entry_description"].take(positions),
        }
    )
    repeated = pc.equal(lines["line_id"][1:], lines["line_id"][:-1])  # copies are neighbours
    if pc.any(repeated).as_py():
        raise FrameError(repeated_message(lines["line_id"][1:].filter(repeated).to_pylist()))
    return _FlowLines(lines, -entries.units[positions])


def _describe_unbalanced(entry_ids: Collection[str]) -> str:
    """Describe the entries of the period whose debits and credits differ, so that lines must be missing; else empty."""
    if not entry_ids:
        return ""
    return (
        f"{count_of(len(entry_ids), 'journal entry does', 'journal entries do')} not balance within the period "
        f"in the given line entries, so lines are missing: {join_ids(entry_ids)}; load all lines of the period's "
        "entries (every ledger, or is_cashflow=True on every ledger) and recompute"
    )


def _summed_opening(
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
    sums: LedgerSums,
    period: Period,
) -> tuple[Opening, Iterable[str]]:
    """Sum the lines before the period, which are all there if they reach back to the first entry; and a note on it."""
    before, metadata = sums.columns[0], read_load_metadata(line_entries)
    units = {ledger_id: found for ledger_id, found in before.items() if ledger_id is not None}
    loaded_from = period.start_date if metadata is None else loaded_period(metadata).start_date
    found = Opening() if metadata is None else find_opening(line_entries, ledgers, period.time_zone, loaded_from)
    opening = found._replace(day=period.start_date, units=units, of="cash")
    if found.basis == "first entry":
        note = f"Starting balances are summed from the line entries since {found.day}, the first day of the books."
    elif before:
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
    return opening, (note,)


def _given_opening(
    balances: pd.DataFrame | Mapping[str, Decimal], period: Period, tree: LedgerTree, scale: int
) -> tuple[Opening, Iterable[str]]:
    """Take given balances of cash as they are, and note that they prove nothing."""
    opening = given_opening(balances, period.start_date, tree, scale, of_cash=True)
    if others := (opening.units or {}).keys() - set(tree.cash):
        raise FrameError(
            f"starting_balances: {count_of(len(others), 'ledger does', 'ledgers do')} not report cash flow in "
            f"ledgers: {join_ids(others)}; the balances and the chart of accounts disagree about what is cash"
        )
    note = "Starting balances were supplied, not summed from history: their agreement proves nothing."
    return opening, (note, *opening.notes)


def _build_report(  # noqa: PLR0917 (the parts of a report)
    period: Period,
    tables: _Tables,
    flows: _Flows,
    change: Mapping[str | None, int],
    starting: Opening,
    missing: tuple[str, ...],
    notes: tuple[str, ...],
) -> CashFlowReport:
    """Build the report, and check that the flows sum to the change of the cash balances."""
    tree = tables.tree
    start = {ledger_id: (starting.units or {}).get(ledger_id, 0) for ledger_id in tree.cash}
    end = {ledger_id: start[ledger_id] + change.get(ledger_id, 0) for ledger_id in tree.cash}
    starting_cash, ending_cash, net_cash_flow = (sum(own.values()) for own in (start, end, flows.net))
    if net_cash_flow != ending_cash - starting_cash and not missing:
        raise BooksDoNotTieError(
            f"the recomputed flows of {period} sum to {tables.amount(net_cash_flow)}, but cash changes by "
            f"{tables.amount(ending_cash - starting_cash)}: the DataFrame engine returned wrong sums, so there is no "
            "report; recompute with another engine"
        )
    flow_trees, cash_trees = tree.trees(flows.net), tree.trees(start, end)
    return CashFlowReport(
        period,
        ExactReport(
            ledgers=tables.ledgers(flows.net, tree.totals(flows.net, flow_trees)),
            lines=tables.lines(flows.lines),
            starting_balances=tables.balances(start, tree.totals(start, cash_trees)),
            ending_balances=tables.balances(end, tree.totals(end, cash_trees)),
            starting_cash_balance=tables.amount(starting_cash),
            ending_cash_balance=tables.amount(ending_cash),
        ),
        anchored=starting.basis == "given",
        partial=bool(missing),
        inferred_roots=tuple(tree.in_order(flow_trees.inferred | cash_trees.inferred)),
        origin="recomputed",
        notes=(
            *(f"PARTIAL: {why}." for why in missing),
            *notes,
            *tree.notes(flow_trees, cash_trees),
        ),
    )


class _Tables(NamedTuple):
    """The tables of a report, made from units."""

    tree: LedgerTree
    scale: int

    def amount(self, units: int) -> Decimal:
        """Exact amount of some units."""
        return from_minor_units(units, self.scale)

    def _amounts(self, units: Iterable[int | None]) -> list[Decimal | None]:
        return [None if one is None else self.amount(one) for one in units]

    def ledgers(self, net: Mapping[str, int], totals: Mapping[str, int | None]) -> pd.DataFrame:
        """Net cash flow of each ledger that has a total."""
        ledger_ids = self.tree.in_order(totals)
        columns = {
            "ledger_id": ledger_ids,
            "name": [self.tree.names[ledger_id] for ledger_id in ledger_ids],
            "net_cash_flow": self._amounts(net.get(ledger_id, 0) for ledger_id in ledger_ids),
            "total_net_cash_flow": self._amounts(totals[ledger_id] for ledger_id in ledger_ids),
        }
        return CashFlowLedgers.exact_from_columns(columns, self.scale)

    def balances(self, own: Mapping[str, int], totals: Mapping[str, int | None]) -> pd.DataFrame:
        """Balance of each cash ledger."""
        ledger_ids = self.tree.in_order(own)
        columns = {
            "ledger_id": ledger_ids,
            "ledger_name": [self.tree.names[ledger_id] for ledger_id in ledger_ids],
            "sort_code": [self.tree.sort_codes[ledger_id] for ledger_id in ledger_ids],
            "cash_balance": self._amounts(own[ledger_id] for ledger_id in ledger_ids),
            "total_cash_balance": self._amounts(totals[ledger_id] for ledger_id in ledger_ids),
        }
        return CashBalances.exact_from_columns(columns, self.scale)

    def lines(self, flows: _FlowLines | None) -> pd.DataFrame:
        """Cash flow lines; none where they were left out."""
        if flows is None:
            return CashFlowLines.exact_from_columns({name: [] for name in CashFlowLines.dtypes()}, self.scale)
        amount = amount_column(flows.units, self.scale)
        dtypes = {pa.large_string(): TEXT, INSTANT_TYPE: INSTANT, arrow_type(self.scale): pandas_dtype(self.scale)}
        position = list(CashFlowLines.dtypes()).index("amount")
        table = flows.table.add_column(position, "amount", amount)
        lines: pd.DataFrame = table.to_pandas(types_mapper=dtypes.get)
        lines.attrs["scale"] = self.scale
        return lines
