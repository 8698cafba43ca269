"""Comparison of the cash flow lines of two reports, one by one, and why they differ."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.errors import FrameError
from accounting_analytics.load_metadata import native_frame
from accounting_analytics.messages import count_of, join_ids
from accounting_analytics.periods import local_date, zone
from accounting_analytics.reconciliation.differences import (
    Compared,
    Comparison,
    Difference,
    LineFacts,
    amounts_by_ledger,
)
from accounting_analytics.reconciliation.figure_comparison import CASH_ONLY_RECOMPUTED, CASH_ONLY_REPORTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accounting_analytics.cash_flow_report import CashFlowReport


OMITTED = "the report omits it"
NOT_GIVEN = "the given line entries do not contain this line"
NOT_RECOMPUTED = "the recomputed report does not contain this line"
_FACTS = ("transaction_id", "transaction_description", "journal_entry_description")
_MOVED = "the line was moved between the two loads, or the report has it under the wrong ledger"


class LinePair(NamedTuple):
    """A line (or the lines of one entry on one ledger) as reported and as recomputed; a missing side is None."""

    ledger_id: str
    line_id: str
    reported: Decimal | None
    recomputed: Decimal | None
    reported_minimum: Decimal | None
    reported_count: int
    reported_entry_id: str | None
    recomputed_entry_id: str | None
    reported_datetime: dt.datetime | None
    recomputed_datetime: dt.datetime | None
    cash_account: str | None
    text: str | None

    @classmethod
    def from_row(cls, row: Mapping[Any, Any]) -> LinePair:
        """Read a row of the joined lines."""
        known: dict[str, Any] = {name: None if pd.isna(cell) else cell for name, cell in row.items()}
        return cls(
            ledger_id=row["ledger_id"],
            line_id=known["line_recomputed"] or known["line_reported"],
            reported=known["amount_reported"],
            recomputed=known["amount_recomputed"],
            reported_minimum=known["minimum_reported"],
            reported_count=int(known["count_reported"] or 0),
            reported_entry_id=known["entry_reported"],
            recomputed_entry_id=known["entry_recomputed"],
            reported_datetime=known["datetime_reported"],
            recomputed_datetime=known["datetime_recomputed"],
            cash_account=known["cash_recomputed"] or known["cash_reported"],
            text=known["text_recomputed"] or known["text_reported"],
        )

    @property
    def entry_id(self) -> str:
        """Recomputed journal entry, or else the reported one."""
        return self.recomputed_entry_id or self.reported_entry_id or ""

    @property
    def is_repeated(self) -> bool:
        """Whether the report has several rows that all equal the recomputed line."""
        return (
            self.reported_count > 1
            and self.recomputed is not None
            and self.reported_minimum == self.recomputed
            and self.reported == self.reported_count * self.recomputed
        )


class LineExplainer:
    """Explains why lines differ, from both reports and, where given, the line entries."""

    def __init__(
        self,
        reported: CashFlowReport,
        recomputed: CashFlowReport,
        pairs: list[LinePair],
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        names: Mapping[str, str],
    ) -> None:
        self._period = recomputed.period
        self._zone = zone(recomputed.period.time_zone)
        self._names = names
        self._recomputed_cash = set(recomputed.ending_balances["ledger_id"])
        self._reported_cash = set(reported.ending_balances["ledger_id"])
        extra = [pair for pair in pairs if pair.recomputed is None]
        missing = [pair for pair in pairs if pair.reported is None]
        self._extra_by_line = {pair.line_id: pair for pair in extra}
        self._missing_by_line = {pair.line_id: pair for pair in missing}
        self._extra_by_amount = {(pair.entry_id, pair.ledger_id, pair.reported): pair for pair in extra}
        self._missing_by_amount = {(pair.entry_id, pair.ledger_id, pair.recomputed): pair for pair in missing}
        self._has_line_entries = line_entries is not None
        self._line_entries: dict[str, dict[str, Any]] = {}
        self._entry_facts: dict[str, dict[str, str]] = {}
        self._cash_entry_ids: set[str] = set()
        if self._has_line_entries and pairs:
            self._read(line_entries, extra, {pair.entry_id for pair in pairs})

    def _read(self, line_entries: Any, extra: list[LinePair], entry_ids: set[str]) -> None:  # noqa: ANN401 (any frame)
        """Read the lines that only the report has, and all lines of the entries that differ."""
        rows = select_line_entries(line_entries, "id", [pair.line_id for pair in extra]) if extra else []
        self._line_entries = {row["id"]: row for row in rows}
        entry_ids |= {row["journal_entry_id"] for row in rows}
        for row in select_line_entries(line_entries, "journal_entry_id", entry_ids):
            if row["ledger_id"] in self._recomputed_cash:
                self._cash_entry_ids.add(row["journal_entry_id"])
            known = {name: row[name] for name in _FACTS if isinstance(row.get(name), str)}
            self._entry_facts.setdefault(row["journal_entry_id"], {}).update(known)

    def facts(self, pair: LinePair) -> LineFacts:
        """Day, text, cash account and transaction of a line."""
        moment = pair.recomputed_datetime or pair.reported_datetime
        found = self._entry_facts.get(pair.entry_id, {})
        return LineFacts(
            local_date=None if moment is None else local_date(moment, self._zone),
            description=found.get("transaction_description") or pair.text or found.get("journal_entry_description"),
            cash_account=pair.cash_account,
            transaction_id=found.get("transaction_id"),
        )

    def explain(self, pair: LinePair) -> str:
        """Why the line differs, as one clause without its amounts."""
        if pair.recomputed is None:
            return self._explain_extra(pair)
        if pair.reported is None:
            return self._explain_missing(pair)
        return self._explain_changed(pair)

    def _explain_extra(self, pair: LinePair) -> str:
        moved = self._missing_by_line.get(pair.line_id)
        if moved is not None:
            return f"recategorized: reported here, recomputed under {self._ledger(moved)}; {_MOVED}"
        same = self._missing_by_amount.get((pair.entry_id, pair.ledger_id, pair.reported))
        if same is not None:
            return f"the recomputed report has the same entry, ledger and amount under line {same.line_id}"
        if pair.ledger_id in self._recomputed_cash:
            return f"only the report treats this as a flow: {CASH_ONLY_RECOMPUTED}"
        return self._explain_not_recomputed(pair)

    def _explain_not_recomputed(self, pair: LinePair) -> str:
        line_entry = self._line_entries.get(pair.line_id)
        moment = line_entry["datetime"] if line_entry else pair.reported_datetime
        if moment is not None and not self._period.contains(moment):
            return f"dated {self._local_time(moment)}, outside the period"
        if line_entry and line_entry["journal_entry_id"] not in self._cash_entry_ids:
            return "its entry has no line on a ledger that reports cash flow"
        if line_entry:
            return "the recomputed report has this line entry under another ledger, or it is itself a cash line"
        if self._has_line_entries:
            return NOT_GIVEN
        return NOT_RECOMPUTED

    def _explain_missing(self, pair: LinePair) -> str:
        moved = self._extra_by_line.get(pair.line_id)
        if moved is not None:
            return f"recategorized: recomputed here, reported under {self._ledger(moved)}; {_MOVED}"
        same = self._extra_by_amount.get((pair.entry_id, pair.ledger_id, pair.recomputed))
        if same is not None:
            return f"the report has the same entry, ledger and amount under line {same.line_id}"
        if pair.ledger_id in self._reported_cash:
            return f"the report does not treat this as a flow: {CASH_ONLY_REPORTED}"
        moment = pair.recomputed_datetime
        if moment is not None and not self._period.start_date <= moment.date() <= self._period.end_date:
            return f"the report omits it; it is dated {self._local_time(moment)}, which is another day in UTC"
        return OMITTED

    def _explain_changed(self, pair: LinePair) -> str:
        if pair.reported != pair.recomputed:
            if pair.reported == -(pair.recomputed or 0):
                return "the sign is reversed"
            return "the report repeats the line" if pair.is_repeated else "the amount differs"
        if pair.reported_entry_id != pair.recomputed_entry_id:
            return f"reported with journal entry {pair.reported_entry_id}, recomputed with {pair.recomputed_entry_id}"
        moments = (pair.reported_datetime, pair.recomputed_datetime)
        reported, recomputed = (self._local_time(moment) for moment in moments if moment is not None)
        return f"same amount, but dated {reported} in the report and {recomputed} in the line entries"

    def _ledger(self, pair: LinePair) -> str:
        return f"{self._names.get(pair.ledger_id, 'ledger')} ({pair.ledger_id})"

    def _local_time(self, moment: dt.datetime) -> str:
        return f"{moment.astimezone(self._zone):%Y-%m-%d %H:%M:%S} ({self._period.time_zone})"


def find_opening_lines(
    reported: CashFlowReport, recomputed: CashFlowReport, differences: list[Difference]
) -> frozenset[str]:
    """Find the lines of the first day that the report counts in its starting balance instead of its flows.

    They are missing from the report, and their sum is the difference between the two starting cash balances: either
    those of one entry, or all of that day. Empty where there are none.
    """
    gap = reported.exact_sums().starting_cash_balance - recomputed.exact_sums().starting_cash_balance
    if not gap:
        return frozenset()
    tz = zone(recomputed.period.time_zone)
    datetimes = dict(zip(recomputed.lines["line_id"], recomputed.lines["datetime"], strict=True))
    by_entry: dict[str | None, list[Difference]] = defaultdict(list)
    for one in differences:
        if one.reported is None and local_date(datetimes[one.line_id], tz) == recomputed.period.start_date:
            by_entry[one.journal_entry_id].append(one)
    first_day = [one for lines in by_entry.values() for one in lines]
    for lines in (first_day, *by_entry.values()):
        if lines and -sum((one.amount for one in lines), Decimal(0)) == gap:
            return frozenset(one.line_id or "" for one in lines)
    return frozenset()


def select_line_entries(line_entries: Any, column: str, values: Iterable[str]) -> list[dict[str, Any]]:  # noqa: ANN401
    """Rows of the line entries whose `column` is one of `values`."""
    try:
        frame = nw.from_native(native_frame(line_entries)).lazy()
    except TypeError as error:
        raise FrameError(
            f"line_entries is of type {type(line_entries).__name__}, not a frame such as load_line_entries returns"
        ) from error
    needed = ("id", "ledger_id", "journal_entry_id", "datetime")
    absent = [name for name in needed if name not in frame.collect_schema()]
    if absent:
        raise FrameError(f"line_entries: column is missing: {', '.join(absent)}")
    optional = [name for name in _FACTS if name in frame.collect_schema()]
    selected = frame.select(*needed, *optional).filter(nw.col(column).is_in(list(values))).collect("pyarrow")
    rows: list[dict[str, Any]] = selected.to_arrow().to_pylist()
    return rows


_COMPARED_FIELDS = ["line_id", "ledger_id", "amount", "datetime", "journal_entry_id", "cash_flow_ledger_name"]

_SECOND = dt.timedelta(seconds=1)
_IDS = pa.large_string()


def compare_lines(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    names: Mapping[str, str],
) -> Compared:
    """Compare line by line: by line id and ledger, or by entry and ledger where the report has cash-side ids."""
    if reported.lines.empty and not recomputed.lines.empty:
        note = f"The report has no lines: {len(recomputed.lines)} recomputed lines could not be compared one by one."
        return Compared(Comparison("line", 0, 0, not_compared=len(recomputed.lines)), [], [note])
    if recomputed.totals_only:
        count = len(reported.lines)
        note = f"The report was recomputed without lines (lines=False): {count} reported lines were not compared."
        return Compared(Comparison("line", 0, 0, not_compared=count), [], [note])
    if _have_same_lines(reported.lines, recomputed.lines):
        return Compared(Comparison("line", len(reported.lines), 0), [], [])
    key, notes = ["line_id", "ledger_id"], []
    if _has_cash_side_ids(reported.lines, recomputed.lines, line_entries):
        key = ["journal_entry_id", "ledger_id"]
        notes.append(
            "The report's line ids are not those of category lines, so they are interpreted as ids of the cash side: "
            "lines are compared as sums per journal entry and ledger."
        )
    joined = _join_lines(reported.lines, recomputed.lines, key)
    pairs = [LinePair.from_row(row) for row in joined[joined["differs"]].to_dict("records")]
    correct = _ledgers_that_agree(reported, recomputed)
    changed = [pair for pair in pairs if not (pair.is_repeated and pair.ledger_id in correct)]
    if len(changed) < len(pairs):
        count = len(pairs) - len(changed)
        listed = count_of(count, "line is", "lines are")
        notes.append(f"{listed} listed more than once in the report but counted once in its sums.")
    notes.extend(_line_notes(joined, key))
    explainer = LineExplainer(reported, recomputed, changed, line_entries, names)
    differences = [
        Difference(
            *("line", pair.ledger_id, pair.line_id, pair.entry_id, pair.reported, pair.recomputed),
            explanation=explainer.explain(pair),
            facts=explainer.facts(pair),
        )
        for pair in changed
    ]
    return Compared(Comparison("line", len(joined), len(differences)), differences, notes)


def _have_same_lines(reported: pd.DataFrame, recomputed: pd.DataFrame) -> bool:
    """Whether two exact tables have the same lines, in any order; a join takes ten times as long."""
    first, second = (
        pa.Table.from_pandas(lines[_COMPARED_FIELDS], preserve_index=False).sort_by("line_id")
        for lines in (reported, recomputed)
    )
    return bool(first.equals(second))


def _has_cash_side_ids(reported: pd.DataFrame, recomputed: pd.DataFrame, line_entries: Any) -> bool:  # noqa: ANN401
    """Whether no reported line id belongs to a category line, and each may belong to the cash side of its entry."""
    if reported.empty or recomputed.empty or _have_common_ids(reported["line_id"], recomputed["line_id"]):
        return False
    if line_entries is None:
        return bool(reported["journal_entry_id"].isin(recomputed["journal_entry_id"]).all())
    rows = select_line_entries(line_entries, "id", reported["line_id"])
    entry_ids = {row["id"]: row["journal_entry_id"] for row in rows}
    return bool((reported["line_id"].map(entry_ids) == reported["journal_entry_id"]).all())


def _have_common_ids(ids: pd.Series[Any], others: pd.Series[Any]) -> bool:
    """Whether an id is in both columns; ``isin`` of pandas makes a list of all ids, which takes ten times as long."""
    return bool(pc.any(pc.is_in(pa.array(ids, _IDS), value_set=pa.array(others, _IDS))).as_py())


def _join_lines(reported: pd.DataFrame, recomputed: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Lines of both sides joined on `key`, amounts summed per key, and whether they differ."""
    sides = _sum_lines(reported, key), _sum_lines(recomputed, key)
    joined = sides[0].merge(sides[1], on=key, how="outer", suffixes=("_reported", "_recomputed"))
    both = joined["amount_reported"].notna() & joined["amount_recomputed"].notna()
    same_amount = (joined["amount_reported"] == joined["amount_recomputed"]).fillna(value=False).astype(bool)
    time_difference = (joined["datetime_reported"] - joined["datetime_recomputed"]).abs()
    same_time = time_difference.lt(_SECOND)
    same_entry = joined["entry_reported"] == joined["entry_recomputed"]
    same_cash = joined["cash_reported"].fillna("") == joined["cash_recomputed"].fillna("")
    joined["differs_below_a_second"] = both & same_time & (time_difference > pd.Timedelta(0))
    joined["differs_in_cash_name"] = both & ~same_cash
    joined["differs"] = ~(both & same_amount & same_time & same_entry)
    return joined


def _sum_lines(lines: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """One row per key: summed amount, lowest amount, number of lines, and the other fields of the first line."""
    fields = lines.assign(entry=lines["journal_entry_id"], line=lines["line_id"], cash=lines["cash_flow_ledger_name"])
    fields = fields.rename(columns={"journal_entry_description": "text"})
    first = fields[[*key, "line", "entry", "datetime", "cash", "text"]].drop_duplicates(key)
    if len(first) == len(lines):
        return first.assign(amount=lines["amount"], minimum=lines["amount"], count=1)
    sums = lines.groupby(key, sort=False)["amount"].agg(["sum", "min", "count"]).reset_index()
    return first.merge(sums.rename(columns={"sum": "amount", "min": "minimum"}), on=key)


def _line_notes(joined: pd.DataFrame, key: list[str]) -> list[str]:
    notes = []
    summed = int(((joined["count_reported"] > 1) & ~joined["differs"]).sum())
    if summed and key[0] == "line_id":
        appearing = count_of(summed, "reported line id appears", "reported line ids appear")
        notes.append(f"{appearing} more than once under one ledger; their amounts are summed.")
    if joined["differs_below_a_second"].any():
        count = int(joined["differs_below_a_second"].sum())
        notes.append(f"{count_of(count, 'line differs', 'lines differ')} in time by less than a second.")
    if joined["differs_in_cash_name"].any():
        line_ids = joined.loc[joined["differs_in_cash_name"], "line_reported"]
        notes.append(
            f"{count_of(len(line_ids), 'line names', 'lines name')} a different cash ledger than recomputed (where an "
            f"entry moves several, the report may name any of them): {join_ids(line_ids)}."
        )
    return notes


def _ledgers_that_agree(reported: CashFlowReport, recomputed: CashFlowReport) -> set[str]:
    """Ledgers whose own net cash flow is the same on both sides."""
    amounts = amounts_by_ledger(reported.ledgers, "net_cash_flow")
    expected = amounts_by_ledger(recomputed.ledgers, "net_cash_flow")
    return {ledger_id for ledger_id, amount in expected.items() if amounts.get(ledger_id) == amount}
