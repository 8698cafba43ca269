"""Comparison of the cash flow lines of two reports, one by one."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.messages import join_ids
from accounting_analytics.reconciliation.differences import Compared, Comparison, Difference, amounts_by_ledger
from accounting_analytics.reconciliation.line_explanations import LineExplainer, LinePair, select_line_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.cash_flow_report import CashFlowReport

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
        notes.append(f"{count} line(s) are listed more than once in the report but counted once in its sums.")
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
        notes.append(f"{summed} reported line id(s) appear more than once under one ledger; their amounts are summed.")
    if joined["differs_below_a_second"].any():
        count = int(joined["differs_below_a_second"].sum())
        notes.append(f"{count} line(s) differ in time by less than a second.")
    if joined["differs_in_cash_name"].any():
        line_ids = joined.loc[joined["differs_in_cash_name"], "line_reported"]
        notes.append(
            f"{len(line_ids)} line(s) name a different cash ledger than recomputed (where an entry moves several, the "
            f"report may name any of them): {join_ids(line_ids)}."
        )
    return notes


def _ledgers_that_agree(reported: CashFlowReport, recomputed: CashFlowReport) -> set[str]:
    """Ledgers whose own net cash flow is the same on both sides."""
    amounts = amounts_by_ledger(reported.ledgers, "net_cash_flow")
    expected = amounts_by_ledger(recomputed.ledgers, "net_cash_flow")
    return {ledger_id for ledger_id, amount in expected.items() if amounts.get(ledger_id) == amount}
