"""Compare the cash flow lines of two reports, and explain their differences."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.exact_sums import collect, require_columns, wrap
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.reconciliation.differences import Compared, Comparison, Difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

CASH_ONLY_RECOMPUTED = "the given chart of accounts counts this ledger as cash, the report does not"
CASH_ONLY_REPORTED = "the report counts this ledger as cash, the given chart of accounts does not"
OMITTED = "the report omits it"
NOT_GIVEN = "the given line entries do not contain this line"
NOT_RECOMPUTED = "the recomputed report does not contain this line"
_MOVED = "the line was moved between the two loads, or the report has it under the wrong ledger"
_CASH_SIDE_IDS = (
    "The report's line ids are not those of category lines, so they are interpreted as ids of the cash side: lines are "
    "compared as sums per journal entry and ledger."
)
_COMPARED = ["line_id", "ledger_id", "amount", "datetime", "journal_entry_id", "cash_flow_ledger_name"]
_NEEDED = ("id", "ledger_id", "journal_entry_id", "datetime")
_TEXTS = ("transaction_id", "transaction_description", "journal_entry_description")
_SECOND = dt.timedelta(seconds=1)
_IDS = pa.large_string()


class Line(NamedTuple):
    """A cash flow line of a report, or the sum of several lines with one id, or of one entry's lines on a ledger."""

    line_id: str
    journal_entry_id: str
    datetime: dt.datetime
    cash_flow_ledger_name: str | None
    journal_entry_description: str | None
    amount: Decimal
    lowest: Decimal
    highest: Decimal
    rows: int


class LinePair(NamedTuple):
    """A line as reported and as recomputed. It is None if a report lacks the line."""

    ledger_id: str
    reported: Line | None
    recomputed: Line | None

    @property
    def lines(self) -> list[Line]:
        """The line as reported and as recomputed, without None."""
        return [line for line in (self.reported, self.recomputed) if line]

    def known(self, name: str) -> Any:  # noqa: ANN401 (a field of a line)
        """Return a field of the recomputed line, else of the reported line."""
        return next(filter(None, (getattr(line, name) for line in reversed(self.lines))), None)

    @property
    def is_repeated(self) -> bool:
        """True if the report has several rows that all equal the recomputed line."""
        if self.reported is None or self.recomputed is None or self.reported.rows == 1:
            return False
        return self.reported.lowest == self.reported.highest == self.recomputed.amount


def compare_lines(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    names: Mapping[str, str],
) -> Compared:
    """Compare lines by ledger and id, or by ledger and entry if the reported ids are ids of cash lines."""
    lines, expected = reported.exact().lines, recomputed.exact().lines
    if lines.empty and not expected.empty:
        count = len(expected)
        note = f"The report has no lines: {count} recomputed lines could not be compared one by one."
        return Compared(Comparison("line", 0, 0, not_compared=count), notes=[note])
    if recomputed.totals_only:
        count = len(lines)
        note = f"The report was recomputed without lines (lines=False): {count} reported lines were not compared."
        return Compared(Comparison("line", 0, 0, not_compared=count), notes=[note])
    if _have_same_lines(lines, expected):  # a join would take ten times as long
        return Compared(Comparison("line", len(lines), 0))
    has_cash_side_ids = _has_cash_side_ids(lines, expected, line_entries)
    joined = _join_lines(lines, expected, "journal_entry_id" if has_cash_side_ids else "line_id")
    rows = pa.Table.from_pandas(joined[joined["differs"]], preserve_index=False).to_pylist()
    ledgers = (report.exact().ledgers for report in (reported, recomputed))
    nets = (zip(table["ledger_id"], table["net_cash_flow"], strict=True) for table in ledgers)
    correct = {ledger_id for ledger_id, _ in set.intersection(*map(set, nets))}  # may have repeated lines
    pairs = [pair for row in rows if not ((pair := _pair(row)).is_repeated and pair.ledger_id in correct)]
    explainer = _LineExplainer(reported, recomputed, pairs, line_entries, names)
    differences = [explainer.difference(pair) for pair in pairs]
    notes = [_CASH_SIDE_IDS] if has_cash_side_ids else []
    if repeated := len(rows) - len(pairs):
        listed = count_of(repeated, "line is", "lines are")
        notes.append(f"{listed} listed more than once in the report but counted once in its sums.")
    notes.extend(_describe_accepted(joined, is_by_id=not has_cash_side_ids))
    return Compared(Comparison("line", len(joined), len(differences)), differences, notes)


def _have_same_lines(reported: pd.DataFrame, recomputed: pd.DataFrame) -> bool:
    """Return whether two exact tables have the same lines, in any order."""
    first, second = (
        pa.Table.from_pandas(lines[_COMPARED], preserve_index=False).sort_by("line_id")
        for lines in (reported, recomputed)
    )
    return bool(first.equals(second))


def _has_cash_side_ids(reported: pd.DataFrame, recomputed: pd.DataFrame, line_entries: Any) -> bool:  # noqa: ANN401
    """Return whether all reported line ids may be of cash lines."""
    ids, category_ids = (pa.array(lines["line_id"], _IDS) for lines in (reported, recomputed))
    if reported.empty or recomputed.empty or pc.any(pc.is_in(ids, value_set=category_ids)).as_py():
        return False
    if line_entries is None:
        return bool(reported["journal_entry_id"].isin(recomputed["journal_entry_id"]).all())
    entry_ids = {row["id"]: row["journal_entry_id"] for row in _select(line_entries, "id", reported["line_id"])}
    return bool((reported["line_id"].map(entry_ids) == reported["journal_entry_id"]).all())


def _join_lines(reported: pd.DataFrame, recomputed: pd.DataFrame, key: str) -> pd.DataFrame:
    """Join the lines of both reports, and mark how they differ."""
    sides = _sum_lines(reported, key), _sum_lines(recomputed, key)
    joined = sides[0].merge(sides[1], on=["key", "ledger_id"], how="outer", suffixes=("_reported", "_recomputed"))
    both = joined["rows_reported"].notna() & joined["rows_recomputed"].notna()
    same_amount = (joined["amount_reported"] == joined["amount_recomputed"]).fillna(value=False).astype(bool)
    same_entry = joined["journal_entry_id_reported"] == joined["journal_entry_id_recomputed"]
    cash = [joined[f"cash_flow_ledger_name_{side}"].fillna("") for side in ("reported", "recomputed")]
    apart = (joined["datetime_reported"] - joined["datetime_recomputed"]).abs()
    return joined.assign(
        differs=~(both & same_amount & same_entry & apart.lt(_SECOND)),
        differs_below_a_second=both & apart.gt(pd.Timedelta(0)) & apart.lt(_SECOND),
        differs_in_cash_name=both & (cash[0] != cash[1]),
    )


def _sum_lines(lines: pd.DataFrame, key: str) -> pd.DataFrame:
    """Sum lines by key and ledger. Other fields are those of the first line."""
    rows = lines.assign(key=lines[key], lowest=lines["amount"], highest=lines["amount"], rows=1)
    first = rows.drop_duplicates(["key", "ledger_id"])
    if len(first) == len(rows):
        return first
    how = {"amount": "sum", "lowest": "min", "highest": "max", "rows": "sum"}
    sums = rows.groupby(["key", "ledger_id"], sort=False).agg(how).reset_index()
    return first.drop(columns=[*how]).merge(sums, on=["key", "ledger_id"])


def _pair(row: Mapping[str, Any]) -> LinePair:
    """Read a row of the joined lines."""
    reported, recomputed = (
        Line(*(row[f"{name}_{side}"] for name in Line._fields)) if row[f"rows_{side}"] else None
        for side in ("reported", "recomputed")
    )
    return LinePair(row["ledger_id"], reported, recomputed)


def _describe_accepted(joined: pd.DataFrame, *, is_by_id: bool) -> list[str]:
    """Describe accepted differences.

    Sums of repeated lines, instants and names of cash ledgers may differ.
    """
    notes = []
    summed = int(((joined["rows_reported"] > 1) & ~joined["differs"]).sum())
    if summed and is_by_id:
        appearing = count_of(summed, "reported line id appears", "reported line ids appear")
        notes.append(f"{appearing} more than once under one ledger; their amounts are summed.")
    if count := int(joined["differs_below_a_second"].sum()):
        notes.append(f"{count_of(count, 'line differs', 'lines differ')} in time by less than a second.")
    line_ids = joined.loc[joined["differs_in_cash_name"], "line_id_reported"]
    if len(line_ids):
        notes.append(
            f"{count_of(len(line_ids), 'line names', 'lines name')} a different cash ledger than recomputed (where an "
            f"entry moves several, the report may name any of them): {join_ids(line_ids)}."
        )
    return notes


def _select(line_entries: Any, column: str, values: Iterable[str]) -> list[dict[str, Any]]:  # noqa: ANN401
    """Select the line entries whose `column` is one of `values`."""
    frame = wrap(line_entries, "line_entries", (*_NEEDED, *_TEXTS))
    require_columns(frame.collect_schema(), _NEEDED, "line_entries")
    rows: list[dict[str, Any]] = collect(frame.filter(nw.col(column).is_in(list(values)))).to_pylist()
    return rows


class _LineExplainer:
    """Explainer of lines that differ between both reports.

    Line entries help, if they are given.
    """

    def __init__(
        self,
        reported: CashFlowReport,
        recomputed: CashFlowReport,
        pairs: list[LinePair],
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        names: Mapping[str, str],
    ) -> None:
        self._period, self._zone, self._names = recomputed.period, zone(recomputed.period.time_zone), names
        self._reported_cash = set(reported.exact().ending_balances["ledger_id"])
        self._recomputed_cash = set(recomputed.exact().ending_balances["ledger_id"])
        self._alone: dict[tuple[Any, ...], LinePair] = {}
        for pair in pairs:
            if len(pair.lines) == 1:
                (line,), is_extra = pair.lines, pair.recomputed is None
                self._alone[is_extra, line.line_id] = pair
                self._alone[is_extra, line.journal_entry_id, pair.ledger_id, line.amount] = pair
        self._has_line_entries = line_entries is not None
        self._line_entries: dict[str, dict[str, Any]] = {}
        self._texts: dict[str, dict[str, str]] = {}
        self._cash_entry_ids: set[str] = set()
        if self._has_line_entries and pairs:
            self._read(line_entries, pairs)

    def _read(self, line_entries: Any, pairs: list[LinePair]) -> None:  # noqa: ANN401 (any frame narwhals knows)
        """Read all line entries of journal entries that have differing lines."""
        extra = [pair.known("line_id") for pair in pairs if pair.recomputed is None]
        found = _select(line_entries, "id", extra) if extra else []
        entry_ids = {pair.known("journal_entry_id") for pair in pairs} | {row["journal_entry_id"] for row in found}
        for row in _select(line_entries, "journal_entry_id", entry_ids):
            self._line_entries[row["id"]] = row
            texts = {name: row[name] for name in _TEXTS if row.get(name)}
            self._texts.setdefault(row["journal_entry_id"], {}).update(texts)
            if row["ledger_id"] in self._recomputed_cash:
                self._cash_entry_ids.add(row["journal_entry_id"])

    def difference(self, pair: LinePair) -> Difference:
        """Make the difference of a pair, with its explanation and texts for people."""
        entry_id, moment, cash_account = map(pair.known, ("journal_entry_id", "datetime", "cash_flow_ledger_name"))
        texts = self._texts.get(entry_id, {})
        text = pair.known("journal_entry_description") or texts.get("journal_entry_description")
        return Difference(
            "line",
            pair.ledger_id,
            pair.known("line_id"),
            entry_id,
            pair.reported.amount if pair.reported else None,
            pair.recomputed.amount if pair.recomputed else None,
            self._explain(pair),
            local_date=local_date(moment, self._zone) if moment else None,
            description=texts.get("transaction_description") or text,
            cash_account=cash_account,
            transaction_id=texts.get("transaction_id"),
        )

    def _explain(self, pair: LinePair) -> str:
        """Explain in one clause, without amounts, why the line differs."""
        if pair.reported and pair.recomputed:
            return self._explain_changed(pair.reported, pair.recomputed, is_repeated=pair.is_repeated)
        (line,), is_extra = pair.lines, pair.recomputed is None
        if moved := self._alone.get((not is_extra, line.line_id)):
            here, there = ("reported", "recomputed") if is_extra else ("recomputed", "reported")
            ledger = f"{self._names.get(moved.ledger_id, 'ledger')} ({moved.ledger_id})"
            return f"recategorized: {here} here, {there} under {ledger}; {_MOVED}"
        if same := self._alone.get((not is_extra, line.journal_entry_id, pair.ledger_id, line.amount)):
            other = "the recomputed report" if is_extra else "the report"
            return f"{other} has the same entry, ledger and amount under line {same.known('line_id')}"
        return self._explain_extra(pair.ledger_id, line) if is_extra else self._explain_missing(pair.ledger_id, line)

    def _explain_extra(self, ledger_id: str, line: Line) -> str:
        if ledger_id in self._recomputed_cash:
            return f"only the report treats this as a flow: {CASH_ONLY_RECOMPUTED}"
        line_entry = self._line_entries.get(line.line_id)
        moment = line_entry["datetime"] if line_entry else line.datetime
        if not self._period.contains(moment):
            return f"dated {self._local_time(moment)}, outside the period"
        if line_entry is None:
            return NOT_GIVEN if self._has_line_entries else NOT_RECOMPUTED
        if line_entry["journal_entry_id"] not in self._cash_entry_ids:
            return "its entry has no line on a ledger that reports cash flow"
        return "the recomputed report has this line entry under another ledger, or it is itself a cash line"

    def _explain_missing(self, ledger_id: str, line: Line) -> str:
        if ledger_id in self._reported_cash:
            return f"the report does not treat this as a flow: {CASH_ONLY_REPORTED}"
        if not self._period.start_date <= line.datetime.date() <= self._period.end_date:
            return f"{OMITTED}; it is dated {self._local_time(line.datetime)}, which is another day in UTC"
        return OMITTED

    def _explain_changed(self, reported: Line, recomputed: Line, *, is_repeated: bool) -> str:
        if reported.amount != recomputed.amount:
            if reported.amount == -recomputed.amount:
                return "the sign is reversed"
            return "the report repeats the line" if is_repeated else "the amount differs"
        if reported.journal_entry_id != recomputed.journal_entry_id:
            entry_ids = reported.journal_entry_id, recomputed.journal_entry_id
            return f"reported with journal entry {entry_ids[0]}, recomputed with {entry_ids[1]}"
        dated = self._local_time(reported.datetime), self._local_time(recomputed.datetime)
        return f"same amount, but dated {dated[0]} in the report and {dated[1]} in the line entries"

    def _local_time(self, moment: dt.datetime) -> str:
        return f"{moment.astimezone(self._zone):%Y-%m-%d %H:%M:%S} ({self._period.time_zone})"
