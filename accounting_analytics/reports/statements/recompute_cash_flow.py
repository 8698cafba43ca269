"""The cash flow report, recomputed from line entries on any DataFrame engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import INSTANT, TEXT
from accounting_analytics.core.errors import BooksDoNotTieError, FrameError, IncompleteLoadError, InputError
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
from accounting_analytics.core.load_metadata import attach_notes
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import arrow_type, from_minor_units, pandas_dtype
from accounting_analytics.core.periods import Period, day_before, day_label, period_label
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines, ExactReport
from accounting_analytics.reports.books.ledger_tree import describe_ledgers
from accounting_analytics.reports.books.opening import Opening
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from decimal import Decimal

    import numpy.typing as npt
    import pandas as pd

    from accounting_analytics.core.exact_sums import Days
    from accounting_analytics.reports.books.ledger_tree import LedgerTree
    from accounting_analytics.reports.books.value import Books, PeriodLike

_LINE_TEXTS = ("id", "ledger_id", "journal_entry_id", "journal_entry_description")


def recompute_cash_flow(
    books: Books,
    period: PeriodLike = None,
    *,
    lines: bool = True,
    allow_partial: bool = False,
) -> CashFlowReport:
    """Recompute the cash flow report of a period from raw line entries, exactly.

    Parameters
    ----------
    books : Books
        They must have all lines of every entry in the period that touches cash, and, where their opening has no
        balances, all earlier lines of the ledgers that report cash flow. Of their ledgers ``id, name,
        report_cash_flow, parent_id, sort_code`` are used and, if some parents are unknown, ``parent_known`` and
        ``type``: totals that might include a ledger of unknown parent and the same type are null.
    period : period-like, optional
        The days; by default the period of the books.
    lines : bool
        Whether the report has its cash flow lines. Without them ``lines`` of the report is empty, and ``totals_only``
        is set. Lazy engines (polars LazyFrame, DuckDB, PySpark) then return a few rows per ledger, however many line
        entries there are.
    allow_partial : bool
        Recompute even if lines are known to be missing; ``partial`` is then set on it and on all results made from it.

    Returns
    -------
    CashFlowReport
        Its tables are pandas for every engine. ``anchored`` says whether it starts from given balances.

    Raises
    ------
    FrameError
        A column contains nulls, a ledger is not among those of the books, or a line that is summed occurs more than
        once.
    HierarchyError
        Parents form a cycle or are not in the ledgers.
    IncompleteLoadError
        Lines are missing: according to the load, or entries of the period do not balance.
    InputError
        The balances of the opening are of a day after the first one, or lines were chosen by a person.
    AmountError
        The amounts are too large to be summed exactly.
    """
    books = to_books(books)
    books.require_loaded("a report")
    period, source, tree = books.days_of(period), books.source, books.tree
    exact, opening = source.exact, _opening(books, period)
    within, before = period.instants(), _days_before(period, opening)
    missing = books.extent.reasons(period) if source.states_days else ()
    if missing and not allow_partial:
        raise IncompleteLoadError(
            f"the line entries are not exactly those of {period_label(period)}: {'; '.join(missing)}; load these days "
            "again, read them from local books, or pass allow_partial=True for a report that is marked PARTIAL"
        )
    sums = exact.sums(before, within)
    earlier, change = sums.columns
    tree.require([*change, *earlier], lambda absent: describe_ledgers(source.frame, exact, (*before, *within), absent))
    if source.states_days:
        exact.require_ids(within)
    elif exact.in_memory:
        source.require_each_once()
    else:
        require_sides(source.frame, exact.scale)
        exact.require_distinct(is_within(within) | (is_within(before) & is_on(tree.cash)))
    flows = _Flows.from_lines(exact, within, tree, with_lines=lines)
    gap = _describe_unbalanced(flows.unbalanced)
    if gap and not allow_partial:
        raise IncompleteLoadError(gap)
    missing = (*missing, *([gap] if gap else []))
    supplied = opening.units or {}
    start = {ledger_id: supplied.get(ledger_id, 0) + earlier.get(ledger_id, 0) for ledger_id in tree.cash}
    notes = (_start_note(opening, sums, period), *opening.notes, *exact.notes)
    report = _build_report(period, _Tables(tree, exact.scale), flows, start, change, missing, notes)
    exact_report = report.exact()
    attach_notes(exact_report.ledgers, (), source.frame)
    anchored = opening.units is not None
    return replace(
        report,
        _exact=exact_report,
        anchored=anchored,
        totals_only=not lines,
        notes=(*report.notes, *books.own_notes),
        company=books.company,
        currency=books.currency,
    )


def _opening(books: Books, period: Period) -> Opening:
    """Find the opening.

    Do not read the days of lines that state no load.
    """
    if not books.source.states_days and not books.has_given_opening:
        return Opening()
    opening = books.opening
    if opening.units is not None and opening.day is not None and opening.day > period.start_date:
        raise InputError(
            f"the opening has balances at the start of {opening.day}, which is after {period.start_date}: choose days "
            "from then on, or give earlier balances"
        )
    return opening


def _days_before(period: Period, opening: Opening) -> Days:
    """Return the days whose lines the starting balances sum."""
    if opening.units is None or opening.day is None:
        return period.instants_before()
    if opening.day == period.start_date:
        return ()
    return Period(opening.day, day_before(period.start_date), period.time_zone).instants()


class _FlowLines(NamedTuple):
    """Cash flow lines in the order of the report, with signed units."""

    table: pa.Table
    units: npt.NDArray[Any]


class _Flows(NamedTuple):
    """Net cash flow by ledger, and entries that do not balance.

    `lines` has the lines, if they are requested. Entries without a cash line must balance too, because the missing line
    might be the one on cash.
    """

    net: dict[str, int]
    unbalanced: list[str]
    lines: _FlowLines | None = None

    @classmethod
    def from_lines(cls, exact: ExactLines, days: Days, tree: LedgerTree, *, with_lines: bool) -> Self:
        """Sum the flows of the entries that touch cash.

        Lazy engines do not return the lines, unless `with_lines` requests them.
        """
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
    """Order cash flow lines, and name their cash ledgers.

    If an entry moved several cash ledgers, name the most moved.
    """
    # pandas texts have 64-bit offsets; 32-bit offsets may overflow when rows are taken
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
    repeated = pc.equal(lines["line_id"][1:], lines["line_id"][:-1])  # lines with the same id follow each other
    if pc.any(repeated).as_py():
        raise FrameError(repeated_message(lines["line_id"][1:].filter(repeated).to_pylist()))
    return _FlowLines(lines, -entries.units[positions])


def _describe_unbalanced(entry_ids: Collection[str]) -> str:
    """Describe the entries of the period that do not balance."""
    if not entry_ids:
        return ""
    return (
        f"{count_of(len(entry_ids), 'journal entry does', 'journal entries do')} not balance within the period "
        f"in the given line entries, so lines are missing: {join_ids(entry_ids)}; load all lines of the period's "
        "entries (every ledger, or is_cashflow=True on every ledger) and recompute"
    )


def _start_note(opening: Opening, sums: LedgerSums, period: Period) -> str:
    """Write a note that says what the starting balances are based on."""
    if opening.basis == "reported":
        return (
            f"Starting balances are what the service reported at the start of {opening.day_text}, and the movement "
            "since: their agreement proves nothing."
        )
    if opening.units is not None:
        return "Starting balances were supplied, not summed from history: their agreement proves nothing."
    if opening.basis != "unknown":
        given = ", which was given as the first day" if opening.basis == "given" else ", the first day of the books"
        return f"Starting balances are summed from the line entries since {opening.day_text}{given}."
    if sums.columns[0]:
        return (
            "Starting balances are summed from the given line entries, the earliest of "
            f"{sums.earliest:%Y-%m-%d %H:%M} UTC; they are correct only if those reach back to the first "
            "entry of the books."
        )
    return (
        f"No given line entry is before {day_label(period.start_date)}, so every starting balance is zero. Unless the "
        "books begin in this period, pass opening=reported.starting_balances to Books, or load the line entries from "
        "the first entry of the books."
    )


def _build_report(  # noqa: PLR0917 (the parts of a report)
    period: Period,
    tables: _Tables,
    flows: _Flows,
    start: Mapping[str, int],
    change: Mapping[str | None, int],
    missing: tuple[str, ...],
    notes: tuple[str, ...],
) -> CashFlowReport:
    """Build the report. Refuse flows that do not sum to the change of cash."""
    tree = tables.tree
    end = {ledger_id: start[ledger_id] + change.get(ledger_id, 0) for ledger_id in tree.cash}
    starting_cash, ending_cash, net_cash_flow = (sum(own.values()) for own in (start, end, flows.net))
    if net_cash_flow != ending_cash - starting_cash and not missing:
        raise BooksDoNotTieError(
            f"the flows recomputed for {period_label(period)} sum to {tables.amount(net_cash_flow)}, and cash moves by "
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
        """Convert units to an exact amount."""
        return from_minor_units(units, self.scale)

    def _amounts(self, column: Iterable[int | None]) -> list[Decimal | None]:
        return [None if units is None else self.amount(units) for units in column]

    def ledgers(self, net: Mapping[str, int], totals: Mapping[str, int | None]) -> pd.DataFrame:
        """Tabulate the net cash flow of ledgers."""
        ledger_ids = self.tree.in_order(totals)
        columns = {
            "ledger_id": ledger_ids,
            "name": [self.tree.names[ledger_id] for ledger_id in ledger_ids],
            "net_cash_flow": self._amounts(net.get(ledger_id, 0) for ledger_id in ledger_ids),
            "total_net_cash_flow": self._amounts(totals[ledger_id] for ledger_id in ledger_ids),
        }
        return CashFlowLedgers.exact_from_columns(columns, self.scale)

    def balances(self, own: Mapping[str, int], totals: Mapping[str, int | None]) -> pd.DataFrame:
        """Tabulate the balances of cash ledgers."""
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
        """Tabulate the cash flow lines, if they are requested."""
        if flows is None:
            return CashFlowLines.exact_from_rows([], self.scale)
        amount = amount_column(flows.units, self.scale)
        dtypes = {pa.large_string(): TEXT, INSTANT_TYPE: INSTANT, arrow_type(self.scale): pandas_dtype(self.scale)}
        position = list(CashFlowLines.dtypes()).index("amount")
        table = flows.table.add_column(position, "amount", amount)
        lines: pd.DataFrame = table.to_pandas(types_mapper=dtypes.get)
        lines.attrs["scale"] = self.scale
        return lines
