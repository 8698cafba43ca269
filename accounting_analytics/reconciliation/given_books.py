"""The line entries and ledgers that a report was recomputed from, ready to be recomputed under assumptions.

Lines long before the period are summed once, by ledger, so that recomputing takes as long as the period has lines.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.errors import AmountError, BooksDoNotTieError, FrameError, HierarchyError
from accounting_analytics.exact_sums import EntryLines, ExactLines, amount_column, collect, is_on, is_within
from accounting_analytics.ledger_tree import LedgerTree
from accounting_analytics.load_metadata import native_frame
from accounting_analytics.money import from_minor_units, to_minor_units
from accounting_analytics.periods import Period
from accounting_analytics.reconciliation.agreement import agree

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.exact_sums import Days

    Mask = npt.NDArray[np.bool_]

_NEEDED = ("id", "ledger_id", "journal_entry_id", "journal_entry_description", "datetime", "signed_amount")
_DAY = dt.timedelta(days=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_PADDING = 2
"""Days around the period whose lines are kept one by one: no zone is further from another."""
_MAX_OPENING_ENTRIES = 1000


class GivenBooks:
    """Lines and ledgers, and the two reports that differ.

    Attributes
    ----------
    lines : pyarrow.Table
        Lines around the period, those of opening entries, and one line with the sum of all others for each ledger.
    entries : EntryLines
        The same lines, numbered.
    when : array of int64
        Microseconds of each line since 1970.
    """

    def __init__(
        self,
        reported: CashFlowReport,
        recomputed: CashFlowReport,
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
    ) -> None:
        self.reported, self.recomputed, self.line_entries = reported, recomputed, line_entries
        self.period, self.scale = recomputed.period, recomputed.scale
        self.ledgers: pa.Table = nw.from_native(ledgers).lazy().collect("pyarrow").to_arrow()
        self.tree = LedgerTree.from_frame(ledgers)
        self.opening_ledgers = _opening_ledgers(self.ledgers)
        exact = ExactLines.from_frame(line_entries, self.scale)
        units = _units_around(exact, self.period, self.opening_ledgers)
        self.entries = EntryLines(units, exact)
        amounts = amount_column(self.entries.units, self.scale, as_decimals=True)
        self.lines = units.drop_columns("units").append_column("signed_amount", amounts)
        self.when: npt.NDArray[np.int64] = units["datetime"].cast(pa.int64()).to_numpy()

    @classmethod
    def from_frames(
        cls,
        reported: CashFlowReport,
        recomputed: CashFlowReport,
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
    ) -> Self | None:
        """Return the books if enough is given to recompute from, with amounts that can be summed."""
        if line_entries is None or ledgers is None:
            return None
        columns = nw.from_native(native_frame(line_entries)).lazy().collect_schema()
        if not all(name in columns for name in _NEEDED):
            return None
        try:
            return cls(reported, recomputed, line_entries, ledgers)
        except (AmountError, FrameError):
            return None

    def within(self, days: Days) -> Mask:
        """Whether each line is in some intervals."""
        found = np.zeros(len(self.when), np.bool_)
        for start, end in days:
            inside = self.when >= _microseconds(start)
            found |= inside if end is None else inside & (self.when < _microseconds(end))
        return found

    def of_entries(self, entry_ids: Collection[str]) -> Mask:
        """Whether each line is of one of some entries."""
        found = pc.is_in(self.lines["journal_entry_id"], value_set=pa.array(list(entry_ids), pa.string()))
        mask: Mask = found.to_numpy()
        return mask

    def may_fit(self, before: Mask, within: Mask, on_cash: Mask | None = None, factor: Any = 1) -> bool:  # noqa: ANN401
        """Whether the cash balances would be the reported ones, which takes two sums to find out."""
        on_cash = self.entries.on(self.tree.cash) if on_cash is None else on_cash
        units, sums = self.entries.units * factor, self.reported.exact_sums()
        starting = to_minor_units(sums.starting_cash_balance, self.scale)
        change = int(units[within & on_cash].sum())
        fits_start = self.recomputed.anchored or int(units[before & on_cash].sum()) == starting
        return fits_start and change == to_minor_units(sums.ending_cash_balance, self.scale) - starting

    def fits(
        self,
        lines: pa.Table | None = None,
        *,
        ledgers: pa.Table | None = None,
        time_zone: str | None = None,
        dated: pa.Table | None = None,
    ) -> bool:
        """Whether the report recomputed from other lines, ledgers or days is the reported one in every figure.

        One that cannot be recomputed, such as with a ledger that the chart of accounts lacks, does not fit. With
        `dated` the recomputed lines are those of `lines`, but have the instants of that table.
        """
        lines = self.lines if lines is None else lines
        ledgers = self.ledgers if ledgers is None else ledgers
        starting = None
        if self.recomputed.anchored:
            cash = set(ledgers.filter(ledgers["report_cash_flow"])["id"].to_pylist())
            balances = self.reported.starting_balances
            supplied = zip(balances["ledger_id"], balances["cash_balance"], strict=True)
            starting = {ledger_id: amount for ledger_id, amount in supplied if ledger_id in cash}
        try:
            assumed = recompute_cash_flow(
                lines,
                ledgers,
                self.period.start_date,
                self.period.end_date,
                time_zone=time_zone or self.period.time_zone,
                starting_balances=starting,
                scale=self.scale,
                amounts="decimal",
                allow_partial=True,
            )
        except (BooksDoNotTieError, FrameError, HierarchyError):
            return False
        if dated is not None:
            instants = dict(zip(dated["id"].to_pylist(), dated["datetime"].to_pylist(), strict=True))
            table = assumed.lines.assign(datetime=assumed.lines["line_id"].map(instants))
            assumed.lines["datetime"] = table["datetime"].astype(assumed.lines["datetime"].dtype)
        return self.agrees(assumed)

    def agrees(self, assumed: CashFlowReport) -> bool:
        """Whether a report that was made under an assumption is the reported one in every figure."""
        return agree(self.reported, assumed, self.lines)

    def with_factor(self, chosen: Mask, factor: int) -> pa.Table:
        """Lines of which some have their amounts multiplied."""
        units = np.where(chosen, self.entries.units * factor, self.entries.units)
        position = self.lines.column_names.index("signed_amount")
        return self.lines.set_column(position, "signed_amount", amount_column(units, self.scale, as_decimals=True))

    def with_column(self, name: str, values: Any) -> pa.Table:  # noqa: ANN401 (values of an Arrow column)
        """Lines with another column."""
        position = self.lines.column_names.index(name)
        return self.lines.set_column(position, name, pa.array(values, self.lines[name].type))

    def names(self, ledger_ids: Collection[str]) -> str:
        """Names and ids of some ledgers."""
        return ", ".join(f"{self.tree.names.get(one, 'ledger')} ({one})" for one in ledger_ids)


def _microseconds(instant: dt.datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


def _opening_ledgers(ledgers: pa.Table) -> list[str]:
    """Ids of the required ledgers that opening balances are posted against."""
    if not {"is_required", "sub_type"} <= set(ledgers.column_names):
        return []
    rows = ledgers.select(["id", "is_required", "sub_type"]).to_pylist()
    return [row["id"] for row in rows if row["is_required"] and row["sub_type"] == "equity"]


def _units_around(exact: ExactLines, period: Period, opening_ledgers: Collection[str]) -> pa.Table:
    """Lines with exact units around a period and of opening entries; the sum of earlier ones for each ledger."""
    start = max(period.start_date, dt.date.min + (_PADDING + 1) * _DAY) - _PADDING * _DAY
    end = min(period.end_date, dt.date.max - (_PADDING + 1) * _DAY) + _PADDING * _DAY
    padded = Period(start, end, period.time_zone)
    before = padded.instants_before()
    kept: list[str] = []
    if opening_ledgers:
        opening = exact.lines.filter(is_on(opening_ledgers) & is_within(before)).select("journal_entry_id").unique()
        kept = collect(opening.head(_MAX_OPENING_ENTRIES + 1))["journal_entry_id"].to_pylist()
    around, earlier = is_within(padded.instants()), is_within(before)
    if 0 < len(kept) <= _MAX_OPENING_ENTRIES:
        is_kept = nw.col("journal_entry_id").is_in(kept)
        around, earlier = around | (earlier & is_kept), earlier & ~is_kept
    lines = collect(exact.lines.filter(around))
    sums = collect(exact.lines.filter(earlier).group_by("ledger_id").agg(nw.col("units").sum())).to_pylist()
    units = [exact.to_units(row["units"]) for row in sums]
    history = {
        "id": [f"history of {row['ledger_id']}" for row in sums],
        "ledger_id": [row["ledger_id"] for row in sums],
        "journal_entry_id": ["history"] * len(sums),
        "journal_entry_description": [None] * len(sums),
        "datetime": [padded.instants()[0].start - _MICROSECOND] * len(sums),
        "units": units if exact.in_units else [from_minor_units(one, exact.scale) for one in units],
    }
    columns = {name: pa.array(values, lines.schema.field(name).type) for name, values in history.items()}
    return pa.concat_tables([pa.table(columns), lines.select(list(columns))])
