"""Comparison of a reported cash flow report with a recomputed one, figure by figure and exactly.

Deployments interpret the interface in different ways (line ids of the cash side, no lines, no rows for zero). An
interpretation that fits the whole report is accepted and noted; anything else is reported as a difference.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.cash_flow_report import require_report
from accounting_analytics.column_conversion import total
from accounting_analytics.errors import InputError
from accounting_analytics.local_books import lines_of
from accounting_analytics.messages import join_ids
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.periods import LOCALTIME
from accounting_analytics.reconciliation.explanations import (
    CASH_ONLY_RECOMPUTED,
    CASH_ONLY_REPORTED,
    LineExplainer,
    LinePair,
    amount_or_zero,
    amounts_by_ledger,
    explain_ending_balances,
    explain_net_cash_flows,
    explain_starting_balances,
    explain_totals,
    find_opening_lines,
    select_line_entries,
)
from accounting_analytics.reconciliation.result import TITLES, Comparison, Difference, Reconciliation
from accounting_analytics.schemas import Differences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.reconciliation.explanations import Amounts, Explain

COMPARED_FIELDS = ("line_id", "ledger_id", "amount", "datetime", "journal_entry_id")
"""Fields of a line that must be the same on both sides."""

_INCONSISTENT = "the report is inconsistent: its net cash flows do not sum to the change of its cash balance"
_SECOND = dt.timedelta(seconds=1)
_IDS = pa.large_string()


class _Compared(NamedTuple):
    """One comparison, its differences and notes."""

    comparison: Comparison
    differences: list[Difference]
    notes: list[str]


def reconcile(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    *,
    line_entries: Any = None,  # noqa: ANN401 (any frame narwhals knows)
) -> Reconciliation:
    """Compare a reported cash flow report with a recomputed one: lines, ledgers, balances, cash and identity.

    Parameters
    ----------
    reported : CashFlowReport
        As loaded from the service.
    recomputed : CashFlowReport
        As recomputed from the line entries, for the same days.
    line_entries : DataFrame or Books, optional
        The line entries of `recomputed` (of any engine, or local books), to explain lines that only the report has.

    Returns
    -------
    Reconciliation
        ``ties`` is True when every figure compared agrees exactly, ``compared_everything`` when none was left out.
        Where the starting balances are anchored or totals unknown, `comparisons` and `notes` say what the agreement
        does not prove.

    Raises
    ------
    InputError
        The two cannot be compared: different days or scales, a report filtered by tags, the same report twice, or two
        of the same origin.
    """
    line_entries = lines_of(line_entries)
    require_report(reported, "reported")
    require_report(recomputed, "recomputed")
    _require_origins(reported, recomputed)
    notes = _require_comparable(reported, recomputed)
    as_decimals = recomputed.as_decimals
    reported, recomputed = reported.exact(), recomputed.exact()
    names = _ledger_names(reported, recomputed)
    with localcontext(EXACT):
        lines = _compare_lines(reported, recomputed, line_entries, names)
        opening_lines = find_opening_lines(reported, recomputed, lines.differences)
        starting = explain_starting_balances(recomputed, has_opening_lines=bool(opening_lines))
        without_history = not opening_lines and _has_no_history(reported, recomputed)
        explain_ending = explain_ending_balances(reported, recomputed)
        compared = [
            *_compare_cash_balances(reported, recomputed),
            _compare_figure("identity", reported.exact_sums().identity_gap, Decimal(0), _INCONSISTENT),
            *_compare_balances(reported, recomputed, "starting", lambda *_: starting),
            *_compare_balances(reported, recomputed, "ending", explain_ending),
            *_compare_ledgers(reported, recomputed, lines),
            _explain_opening_lines(lines, opening_lines),
        ]
    return Reconciliation(
        period=recomputed.period,
        differences=_differences_frame(
            [row for one in compared for row in one.differences], names, recomputed.scale, as_decimals=as_decimals
        ),
        comparisons=tuple(one.comparison for one in compared),
        partial=reported.partial or recomputed.partial,
        hierarchy_inferred=bool(recomputed.inferred_roots),
        without_history=without_history,
        notes=(
            *notes,
            *(note for one in compared for note in one.notes),
            *(f"Reported: {note}" for note in reported.notes),
            *(f"Recomputed: {note}" for note in recomputed.notes),
        ),
    )


def _require_origins(reported: CashFlowReport, recomputed: CashFlowReport) -> None:
    """Refuse a report that would be compared with itself or with one of its own kind: they agree, but prove nothing."""
    origins = (reported.origin, recomputed.origin)
    if reported is recomputed:
        mistake = "reported and recomputed are the same report"
    elif origins == ("recomputed", "loaded"):
        mistake = "reported and recomputed are swapped"
    elif origins[0] == "recomputed":
        mistake = "reported was recomputed from line entries, not loaded from the service"
    elif origins[1] == "loaded":
        mistake = "recomputed was loaded from the service, not recomputed from line entries"
    else:
        return
    raise InputError(
        f"{mistake}; pass the report of load_cash_flow_report(client, ...) as reported, and that of "
        "recompute_cash_flow(line_entries, ledgers, ...) as recomputed"
    )


def _require_comparable(reported: CashFlowReport, recomputed: CashFlowReport) -> list[str]:
    """Refuse two reports of different days, scales or tags; return the assumptions made."""
    if reported.tag_ids or recomputed.tag_ids:
        raise InputError(
            "a report filtered by tags cannot be reconciled: its balances are not filtered; load it without tag_ids"
        )
    if reported.scale != recomputed.scale:
        raise InputError(
            f"the reported amounts have {reported.scale} fraction digits, the recomputed ones {recomputed.scale}"
        )
    period, expected = reported.period, recomputed.period
    if (period.start_date, period.end_date) != (expected.start_date, expected.end_date):
        raise InputError(f"the reported period is {period}, the recomputed one {expected}; recompute for the same days")
    if period.time_zone == expected.time_zone:
        return []
    if period.time_zone == LOCALTIME:
        return [f"The report uses the service's local time, which is assumed to be {expected.time_zone}."]
    if period.instants() != expected.instants():
        raise InputError(
            f"the reported days are those of {period.time_zone}, the recomputed ones of {expected.time_zone}"
        )
    return [f"{period.time_zone} and {expected.time_zone} have the same days in this period."]


def _compare_lines(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    names: Mapping[str, str],
) -> _Compared:
    """Compare line by line: by line id and ledger, or by entry and ledger where the report has cash-side ids."""
    if reported.lines.empty and not recomputed.lines.empty:
        note = f"The report has no lines: {len(recomputed.lines)} recomputed lines could not be compared one by one."
        return _Compared(Comparison("line", 0, 0, not_compared=len(recomputed.lines)), [], [note])
    if recomputed.totals_only:
        count = len(reported.lines)
        note = f"The report was recomputed without lines (lines=False): {count} reported lines were not compared."
        return _Compared(Comparison("line", 0, 0, not_compared=count), [], [note])
    if have_same_lines(reported.lines, recomputed.lines, (*COMPARED_FIELDS, "cash_flow_ledger_name")):
        return _Compared(Comparison("line", len(reported.lines), 0), [], [])
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
            "line", pair.ledger_id, pair.line_id, pair.entry_id, pair.reported, pair.recomputed, explainer.explain(pair)
        )
        for pair in changed
    ]
    return _Compared(Comparison("line", len(joined), len(differences)), differences, notes)


def have_same_lines(reported: pd.DataFrame, recomputed: pd.DataFrame, fields: Sequence[str]) -> bool:
    """Whether two exact tables of lines are equal in these fields, in any order; a join takes ten times as long."""
    first, second = (
        pa.Table.from_pandas(lines[list(fields)], preserve_index=False).sort_by("line_id")
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
    first = fields[[*key, "line", "entry", "datetime", "cash"]].drop_duplicates(key)
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


def _explain_opening_lines(lines: _Compared, opening_lines: frozenset[str]) -> _Compared:
    """Explain the missing lines that the report counts in its starting balance."""
    explanation = "the report counts this first-day entry in the starting balance, not as a flow"
    differences = [
        one._replace(explanation=explanation) if one.reported is None and one.line_id in opening_lines else one
        for one in lines.differences
    ]
    return lines._replace(differences=differences)


def _compare_cash_balances(reported: CashFlowReport, recomputed: CashFlowReport) -> list[_Compared]:
    """Compare the two cash balances of the whole report."""
    compared = []
    for side, balances in (("starting", reported.starting_balances), ("ending", reported.ending_balances)):
        what = f"{side}_cash_balance"
        amount, expected = (getattr(report.exact_sums(), what) for report in (reported, recomputed))
        own = total(balances["cash_balance"])
        explanation = (
            "follows from the balances of the cash ledgers"
            if amount == own
            else f"the report's own balances sum to {format_amount(own)}, not to its total"
        )
        independent = _is_independent(recomputed, side)
        compared.append(_compare_figure(what, amount, expected, explanation, independent=independent))
    return compared


def _compare_figure(
    what: str, reported: Decimal, recomputed: Decimal, explanation: str, *, independent: bool = True
) -> _Compared:
    """Compare a figure of the whole report."""
    differences = []
    if reported != recomputed:
        differences.append(Difference(what, None, None, None, reported, recomputed, explanation))
    return _Compared(Comparison(what, 1, len(differences), independent), differences, [])


def _is_independent(recomputed: CashFlowReport, side: str) -> bool:
    """Whether the balances of a side were computed from lines: starting balances may have been supplied."""
    return side == "ending" or not recomputed.anchored


def _has_no_history(reported: CashFlowReport, recomputed: CashFlowReport) -> bool:
    """Whether every recomputed starting balance is zero, but not every reported one."""
    if recomputed.anchored:
        return False
    starting = [
        set(amounts_by_ledger(one.starting_balances, "cash_balance").values()) for one in (reported, recomputed)
    ]
    return any(starting[0]) and not any(starting[1])


def _compare_balances(
    reported: CashFlowReport, recomputed: CashFlowReport, side: str, explain_own: Explain
) -> list[_Compared]:
    """Compare the balances of the cash ledgers at the start or the end, alone and with descendants."""
    balances, expected = getattr(reported, f"{side}_balances"), getattr(recomputed, f"{side}_balances")
    independent = _is_independent(recomputed, side)
    only_reported = set(balances["ledger_id"]) - set(expected["ledger_id"])
    only_recomputed = set(expected["ledger_id"]) - set(balances["ledger_id"])

    def explain(ledger_id: str, difference: Decimal) -> str:
        if ledger_id in only_reported:
            return CASH_ONLY_REPORTED
        if ledger_id in only_recomputed:
            return CASH_ONLY_RECOMPUTED
        return explain_own(ledger_id, difference)

    own = _compare_amounts(
        f"{side}_balance",
        amounts_by_ledger(balances, "cash_balance"),
        amounts_by_ledger(expected, "cash_balance"),
        explain,
        independent=independent,
    )
    total = _compare_totals(
        f"{side}_total_balance",
        amounts_by_ledger(balances, "total_cash_balance"),
        amounts_by_ledger(expected, "total_cash_balance"),
        own,
        is_inferred=bool(recomputed.inferred_roots),
        independent=independent,
    )
    notes = _cash_ledger_notes(only_reported, only_recomputed) if side == "ending" else []
    return [own._replace(notes=notes), total]


def _cash_ledger_notes(only_reported: set[str], only_recomputed: set[str]) -> list[str]:
    notes = []
    if only_reported:
        notes.append(f"Ledgers that only the report counts as cash: {join_ids(only_reported)}.")
    if only_recomputed:
        notes.append(f"Ledgers that only the given chart of accounts counts as cash: {join_ids(only_recomputed)}.")
    return notes


def _compare_ledgers(reported: CashFlowReport, recomputed: CashFlowReport, lines: _Compared) -> list[_Compared]:
    """Compare the net cash flow of each ledger, alone and with its descendants."""
    amounts, expected = reported.ledgers, recomputed.ledgers
    has_lines = bool(lines.comparison.compared or (recomputed.lines.empty and not recomputed.totals_only))
    own = _compare_amounts(
        "net_cash_flow",
        amounts_by_ledger(amounts, "net_cash_flow"),
        amounts_by_ledger(expected, "net_cash_flow"),
        explain_net_cash_flows(lines.differences, has_lines=has_lines),
    )
    totals = amounts_by_ledger(amounts, "total_net_cash_flow")
    expected_totals = amounts_by_ledger(expected, "total_net_cash_flow")
    parents = set(expected_totals) - _ledgers_with_lines(recomputed)
    notes = []
    if parents and parents.isdisjoint(totals):
        expected_totals = {key: amount for key, amount in expected_totals.items() if key not in parents}
        notes = [f"The report does not list ledgers without lines of their own, such as parents: {join_ids(parents)}."]
    is_inferred = not expected_totals.keys().isdisjoint(recomputed.inferred_roots)
    total = _compare_totals("total_net_cash_flow", totals, expected_totals, own, is_inferred=is_inferred)
    return [own, total._replace(notes=[*notes, *total.notes])]


def _compare_totals(
    what: str,
    reported: Amounts,
    recomputed: Amounts,
    own: _Compared,
    *,
    is_inferred: bool,
    independent: bool = True,
) -> _Compared:
    """Compare figures with descendants, unless the recomputed ones are unknown because parents are.

    Where the hierarchy is not certain, a ledger that only the report lists may be an ancestor of the others.
    """
    if is_inferred or None in recomputed.values():
        recomputed = {**dict.fromkeys(reported), **recomputed}
    explain = explain_totals(own.differences, is_inferred=is_inferred)
    compared = _compare_amounts(what, reported, recomputed, explain, independent=independent)
    return compared._replace(notes=_totals_notes(compared.comparison, recomputed))


def _totals_notes(comparison: Comparison, recomputed: Amounts) -> list[str]:
    """Say why totals were not compared."""
    without_parents = sum(amount is None for amount in recomputed.values())
    reasons = [
        (without_parents, "the parents of some ledgers are not known"),
        (comparison.not_compared - without_parents, "the report does not state them"),
    ]
    title = TITLES[comparison.what].capitalize()
    return [
        f"{title}: {count} of {comparison.total} not compared, because {reason}." for count, reason in reasons if count
    ]


def _compare_amounts(
    what: str, reported: Amounts, recomputed: Amounts, explain: Explain, *, independent: bool = True
) -> _Compared:
    """Compare amounts by ledger; an absent row counts as zero, an unknown amount is not compared."""
    listed = {**recomputed, **reported}
    ledger_ids = [
        ledger_id
        for ledger_id in listed
        if None not in (recomputed.get(ledger_id, Decimal(0)), reported.get(ledger_id, Decimal(0)))
    ]
    differences = []
    for ledger_id in ledger_ids:
        gap = amount_or_zero(reported, ledger_id) - amount_or_zero(recomputed, ledger_id)
        if gap:
            amounts = (reported.get(ledger_id), recomputed.get(ledger_id))
            differences.append(Difference(what, ledger_id, None, None, *amounts, explain(ledger_id, gap)))
    left_out = len(listed) - len(ledger_ids)
    return _Compared(Comparison(what, len(ledger_ids), len(differences), independent, left_out), differences, [])


def _ledgers_with_lines(report: CashFlowReport) -> set[str]:
    """Ledgers that have lines of their own; in a report without lines, those with a net cash flow of their own."""
    if report.totals_only:
        return {ledger_id for ledger_id, amount in amounts_by_ledger(report.ledgers, "net_cash_flow").items() if amount}
    return set(report.lines["ledger_id"].unique())


def _ledger_names(reported: CashFlowReport, recomputed: CashFlowReport) -> dict[str, str]:
    """Name of every ledger in either report; the recomputed name wins."""
    names: dict[str, str] = {}
    for report in (reported, recomputed):
        names.update(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
        for balances in (report.starting_balances, report.ending_balances):
            names.update(zip(balances["ledger_id"], balances["ledger_name"], strict=True))
    return names


def _differences_frame(
    differences: list[Difference], names: Mapping[str, str], scale: int, *, as_decimals: bool
) -> pd.DataFrame:
    columns: dict[str, list[Any]] = {
        "what": [one.what for one in differences],
        "ledger_id": [one.ledger_id for one in differences],
        "ledger_name": [names.get(one.ledger_id or "") for one in differences],
        "line_id": [one.line_id for one in differences],
        "journal_entry_id": [one.journal_entry_id for one in differences],
        "reported": [one.reported for one in differences],
        "recomputed": [one.recomputed for one in differences],
        "difference": [one.amount for one in differences],
        "explanation": [one.explanation for one in differences],
    }
    return Differences.from_columns(columns, scale, as_decimals=as_decimals)
