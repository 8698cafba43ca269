"""Reported against recomputed: every figure of a cash flow report compared exactly, every difference explained.

Other deployments read the interface in other ways (line ids of the cash side, no lines, missing zero rows). A reading
that fits the whole report is accepted and noted; whatever it does not fit is a difference.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal, localcontext
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import pandas as pd

from accounting_analytics.errors import FrameError, InputError
from accounting_analytics.messages import join_ids, printable
from accounting_analytics.money import EXACT, format_amount
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone
from accounting_analytics.schemas import CashFlowReport, Differences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Amounts = Mapping[str, Decimal | None]
    Explain = Callable[[str, Decimal], str]

_SECOND = dt.timedelta(seconds=1)
_SHOWN = 50
_MOVED = "the line was moved between the two loads, or the report has it under the wrong ledger"
_CASH_HERE_ONLY = "the chart of accounts given counts this ledger as cash, the report does not"
_CASH_THERE_ONLY = "the report counts this ledger as cash, the chart of accounts given does not"
_TITLES = {
    "line": "cash flow lines",
    "net_cash_flow": "net cash flow per ledger",
    "total_net_cash_flow": "net cash flow with descendants",
    "starting_balance": "starting balance per cash ledger",
    "starting_total_balance": "starting balance with descendants",
    "ending_balance": "ending balance per cash ledger",
    "ending_total_balance": "ending balance with descendants",
    "starting_cash_balance": "starting cash balance",
    "ending_cash_balance": "ending cash balance",
    "identity": "net cash flow = change of cash, as reported",
}


class Difference(NamedTuple):
    """One figure on which the two reports differ; an amount is None where that side has no such row."""

    what: str
    ledger_id: str | None
    line_id: str | None
    journal_entry_id: str | None
    reported: Decimal | None
    recomputed: Decimal | None
    explanation: str

    @property
    def amount(self) -> Decimal:
        """Reported minus recomputed."""
        return (self.reported or Decimal(0)) - (self.recomputed or Decimal(0))


class Comparison(NamedTuple):
    """What was compared, how much of it, and whether the two sides could have disagreed.

    Attributes
    ----------
    what : str
        As in :class:`~accounting_analytics.schemas.Differences`.
    compared, differing : int
        How many figures were compared, and how many differ.
    independent : bool
        False where the recomputed figure was taken over from a report: such an agreement proves nothing.
    """

    what: str
    compared: int
    differing: int
    independent: bool = True


@dataclass(frozen=True)
class Reconciliation:
    """Outcome of :func:`reconcile`.

    Parameters
    ----------
    period : Period
        The period of both reports.
    differences : DataFrame
        :class:`~accounting_analytics.schemas.Differences`; no rows when everything compared agrees.
    comparisons : tuple of Comparison
        What was compared; a part that could not be compared has ``compared`` 0 and a note.
    notes : tuple of str
        The readings that were found to fit, and what limits the comparison.
    partial : bool
        Whether one of the reports was made from an incomplete load: even an agreement then proves little.
    """

    period: Period
    differences: pd.DataFrame
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    partial: bool = False

    @property
    def ties(self) -> bool:
        """Whether every figure compared agrees exactly."""
        return self.differences.empty

    def explain(self) -> str:
        """Plain text for an accountant: the verdict, what was compared, each difference and why, the notes."""
        width = max(len(title) for title in _TITLES.values())
        lines = [self._verdict(), "", f"{'':{width}}  compared  differ"]
        for comparison in self.comparisons:
            taken_over = "" if comparison.independent else "  (taken over: proves nothing)"
            lines.append(
                f"{_TITLES[comparison.what]:{width}}  {comparison.compared:>8}  {comparison.differing:>6}{taken_over}"
            )
        shown = self.differences.head(_SHOWN).to_dict("records")
        lines.extend(["", *(f"- {_sentence(row)}" for row in shown)] if shown else [])
        if len(self.differences) > _SHOWN:
            lines.append(f"- and {len(self.differences) - _SHOWN} more: see .differences")
        lines.extend(["", *(f"Note: {note}" for note in self.notes)] if self.notes else [])
        return "\n".join(printable(line) for line in lines)

    def _verdict(self) -> str:
        stamp = "PARTIAL: " if self.partial else ""
        if self.ties:
            return f"{stamp}Cash flow report, {self.period}: reported and recomputed agree to the last digit."
        count = len(self.differences)
        return f"{stamp}Cash flow report, {self.period}: {count} difference{'' if count == 1 else 's'}."

    def _repr_html_(self) -> str:
        compared = pd.DataFrame(
            [
                (_TITLES[one.what], one.compared, one.differing, "yes" if one.independent else "no, taken over")
                for one in self.comparisons
            ],
            columns=["figure", "compared", "differ", "independent"],
        )
        parts = [f"<p><strong>{escape(self._verdict())}</strong></p>", compared.to_html(index=False, escape=True)]
        if not self.ties:
            parts.append(self.differences.to_html(index=False, escape=True, na_rep="", max_rows=_SHOWN))
        parts.extend(f"<p>Note: {escape(note)}</p>" for note in self.notes)
        return "".join(parts)


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
    line_entries : DataFrame, optional
        The line entries behind `recomputed` (of any engine), to say more about lines that only the report has.

    Returns
    -------
    Reconciliation
        ``ties`` is True when every figure compared agrees exactly. Where the starting balances are anchored or totals
        unknown, `comparisons` and `notes` say what the agreement does not prove.

    Raises
    ------
    InputError
        The two cannot be compared: other days, another scale, or a report filtered by tags.
    """
    notes = _require_comparable(reported, recomputed)
    with localcontext(EXACT):
        lines = _compare_lines(reported, recomputed, line_entries)
        opening = _first_day_read_as_opening(reported, recomputed, lines.differences)
        compared = [
            *_compare_cash(reported, recomputed),
            _compare_identity(reported),
            *_compare_balances(reported, recomputed, "starting", opening),
            *_compare_balances(reported, recomputed, "ending", opening=None),
            *_compare_ledgers(reported, recomputed, lines),
            _with_opening_explained(lines, opening),
        ]
    differences = [difference for one in compared for difference in one.differences]
    return Reconciliation(
        period=recomputed.period,
        differences=_frame(differences, _names(reported, recomputed), recomputed.scale),
        comparisons=tuple(one.comparison for one in compared),
        partial=reported.partial or recomputed.partial,
        notes=(*notes, *(note for one in compared for note in one.notes), *_carried_notes(reported, recomputed)),
    )


def _require_comparable(reported: CashFlowReport, recomputed: CashFlowReport) -> list[str]:
    """Refuse two reports of different days, scales or tags; return what had to be assumed."""
    if reported.tag_ids or recomputed.tag_ids:
        msg = "a report filtered by tags cannot be reconciled: its balances are not filtered; load it without tag_ids"
        raise InputError(msg)
    if reported.scale != recomputed.scale:
        msg = f"amounts have {reported.scale} fraction digits reported and {recomputed.scale} recomputed"
        raise InputError(msg)
    ours, theirs = recomputed.period, reported.period
    if (theirs.start_date, theirs.end_date) != (ours.start_date, ours.end_date):
        msg = f"the reported period is {theirs}, the recomputed one {ours}; recompute for the same days"
        raise InputError(msg)
    if theirs.time_zone == ours.time_zone:
        return []
    if theirs.time_zone == LOCALTIME:
        return [f"The report is in the service's own local time, which was taken to be {ours.time_zone}."]
    if theirs.instants() != ours.instants():
        msg = f"the reported days are those of {theirs.time_zone}, the recomputed ones of {ours.time_zone}"
        raise InputError(msg)
    return [f"{theirs.time_zone} and {ours.time_zone} have the same days in this period."]


def _compare_lines(reported: CashFlowReport, recomputed: CashFlowReport, line_entries: Any) -> _Compared:  # noqa: ANN401
    """Compare line by line: by line id and ledger, or by entry and ledger where the report gives cash-side ids."""
    theirs, ours = reported.lines, recomputed.lines
    if theirs.empty and not ours.empty:
        note = f"The report carries no lines: {len(ours)} recomputed lines could not be compared one by one."
        return _Compared(Comparison("line", 0, 0), [], [note])
    key, notes = ["line_id", "ledger_id"], []
    if _gives_cash_side_ids(theirs, ours, line_entries):
        key = ["journal_entry_id", "ledger_id"]
        notes.append(
            "The report's line ids are not those of the category lines, so they were read as those of the cash side: "
            "lines were compared as sums per journal entry and ledger."
        )
    pairs = _paired(theirs, ours, key)
    differing = [_LinePair.of(row) for row in pairs[pairs["differs"]].to_dict("records")]
    agreed = _ledgers_that_agree(reported, recomputed)
    changed = [pair for pair in differing if not (pair.listed_again and pair.ledger_id in agreed)]
    if len(changed) < len(differing):
        count = len(differing) - len(changed)
        notes.append(f"{count} line(s) are listed more than once in the report but counted once in its sums.")
    explain = _LineExplanations(reported, recomputed, changed, line_entries)
    differences = [pair.difference(explain(pair)) for pair in changed]
    return _Compared(Comparison("line", len(pairs), len(differences)), differences, [*notes, *_line_notes(pairs, key)])


def _gives_cash_side_ids(theirs: pd.DataFrame, ours: pd.DataFrame, line_entries: Any) -> bool:  # noqa: ANN401
    """Whether not one reported line id is a category line's, and each may belong to its entry's cash side."""
    if theirs.empty or ours.empty or theirs["line_id"].isin(ours["line_id"]).any():
        return False
    if line_entries is None:
        return bool(theirs["journal_entry_id"].isin(ours["journal_entry_id"]).all())
    entry_of = {row["id"]: row["journal_entry_id"] for row in _entries_with(line_entries, "id", theirs["line_id"])}
    return bool((theirs["line_id"].map(entry_of) == theirs["journal_entry_id"]).all())


def _paired(theirs: pd.DataFrame, ours: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """Both sides' lines joined on `key`, amounts summed per key, with what differs."""
    pairs = _per_key(theirs, key).merge(_per_key(ours, key), on=key, how="outer", suffixes=("_reported", "_recomputed"))
    both = pairs["amount_reported"].notna() & pairs["amount_recomputed"].notna()
    same_amount = (pairs["amount_reported"] == pairs["amount_recomputed"]).fillna(value=False).astype(bool)
    apart = (pairs["datetime_reported"] - pairs["datetime_recomputed"]).abs()
    same_day = apart.lt(_SECOND)
    same_entry = pairs["entry_reported"] == pairs["entry_recomputed"]
    pairs["sub_second"] = both & same_day & (apart > pd.Timedelta(0))
    pairs["other_cash_name"] = both & (pairs["cash_reported"].fillna("") != pairs["cash_recomputed"].fillna(""))
    pairs["differs"] = ~(both & same_amount & same_day & same_entry)
    return pairs


def _ledgers_that_agree(reported: CashFlowReport, recomputed: CashFlowReport) -> set[str]:
    """Ledgers whose own net cash flow is the same on both sides."""
    theirs, ours = _amounts(reported.ledgers, "net_cash_flow"), _amounts(recomputed.ledgers, "net_cash_flow")
    return {ledger_id for ledger_id, amount in ours.items() if theirs.get(ledger_id) == amount}


def _per_key(lines: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """One row a key: summed amount, how many lines, and the first line's other fields."""
    fields = lines.assign(entry=lines["journal_entry_id"], line=lines["line_id"], cash=lines["cash_flow_ledger_name"])
    first = fields[[*key, "line", "entry", "datetime", "cash"]].drop_duplicates(key)
    if len(first) == len(lines):
        return first.assign(amount=lines["amount"], lowest=lines["amount"], count=1)
    summed = lines.groupby(key, sort=False)["amount"].agg(["sum", "min", "count"]).reset_index()
    return first.merge(summed.rename(columns={"sum": "amount", "min": "lowest"}), on=key)


def _line_notes(pairs: pd.DataFrame, key: list[str]) -> list[str]:
    notes = []
    summed = int(((pairs["count_reported"] > 1) & ~pairs["differs"]).sum())
    if summed and key[0] == "line_id":
        notes.append(f"{summed} reported line id(s) stand more than once under one ledger; their amounts were summed.")
    if pairs["sub_second"].any():
        notes.append(f"{int(pairs['sub_second'].sum())} line(s) differ in their instant by less than a second.")
    if pairs["other_cash_name"].any():
        named = pairs.loc[pairs["other_cash_name"], "line_reported"]
        notes.append(
            f"{len(named)} line(s) name another cash ledger than recomputed (entries that move several may name any): "
            f"{join_ids(named)}."
        )
    return notes


class _LinePair(NamedTuple):
    """A line (or the lines of one entry on one ledger) as reported and as recomputed; a missing side is None."""

    ledger_id: str
    line_id: str
    reported: Decimal | None
    recomputed: Decimal | None
    lowest: Decimal | None
    times: int
    reported_entry: str | None
    recomputed_entry: str | None
    reported_at: dt.datetime | None
    recomputed_at: dt.datetime | None

    @classmethod
    def of(cls, row: Mapping[Any, Any]) -> _LinePair:
        """Read a row of the paired lines."""
        known: dict[str, Any] = {name: None if pd.isna(cell) else cell for name, cell in row.items()}
        return cls(
            ledger_id=row["ledger_id"],
            line_id=known["line_recomputed"] or known["line_reported"],
            reported=known["amount_reported"],
            recomputed=known["amount_recomputed"],
            lowest=known["lowest_reported"],
            times=int(known["count_reported"] or 0),
            reported_entry=known["entry_reported"],
            recomputed_entry=known["entry_recomputed"],
            reported_at=known["datetime_reported"],
            recomputed_at=known["datetime_recomputed"],
        )

    @property
    def entry_id(self) -> str:
        """Journal entry, the recomputed one first."""
        return self.recomputed_entry or self.reported_entry or ""

    @property
    def listed_again(self) -> bool:
        """Whether the report repeats the recomputed line as it is."""
        return (
            self.times > 1
            and self.recomputed is not None
            and self.lowest == self.recomputed
            and self.reported == self.times * self.recomputed
        )

    def difference(self, explanation: str) -> Difference:
        """Pair as a difference."""
        return Difference(
            "line", self.ledger_id, self.line_id, self.entry_id, self.reported, self.recomputed, explanation
        )


class _LineExplanations:
    """Why a line differs, as far as both reports and the line entries tell."""

    def __init__(
        self,
        reported: CashFlowReport,
        recomputed: CashFlowReport,
        changed: list[_LinePair],
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ) -> None:
        self._period = recomputed.period
        self._zone = zone(recomputed.period.time_zone)
        self._names = _names(reported, recomputed)
        self._our_cash = set(recomputed.ending_balances["ledger_id"])
        self._their_cash = set(reported.ending_balances["ledger_id"])
        self._extra = [pair for pair in changed if pair.recomputed is None]
        self._missing = [pair for pair in changed if pair.reported is None]
        self._extra_by_line = {pair.line_id: pair for pair in self._extra}
        self._missing_by_line = {pair.line_id: pair for pair in self._missing}
        self._missing_by_figures = {(pair.entry_id, pair.ledger_id, pair.recomputed): pair for pair in self._missing}
        self._extra_by_figures = {(pair.entry_id, pair.ledger_id, pair.reported): pair for pair in self._extra}
        self._searched = line_entries is not None
        self._found: dict[str, dict[str, Any]] = {}
        self._touching_cash: set[str] = set()
        if self._searched and self._extra:
            rows = _entries_with(line_entries, "id", [pair.line_id for pair in self._extra])
            self._found = {row["id"]: row for row in rows}
            entries = _entries_with(line_entries, "journal_entry_id", {row["journal_entry_id"] for row in rows})
            self._touching_cash = {row["journal_entry_id"] for row in entries if row["ledger_id"] in self._our_cash}

    def __call__(self, pair: _LinePair) -> str:
        """One clause for a human, without the figures."""
        if pair.recomputed is None:
            return self._why_extra(pair)
        if pair.reported is None:
            return self._why_missing(pair)
        return self._why_changed(pair)

    def _why_extra(self, pair: _LinePair) -> str:
        other = self._missing_by_line.get(pair.line_id)
        if other is not None:
            return f"recategorized: reported here, recomputed under {self._name(other)}; {_MOVED}"
        twin = self._missing_by_figures.get((pair.entry_id, pair.ledger_id, pair.reported))
        if twin is not None:
            return f"the recomputed report has the same entry, ledger and amount under line {twin.line_id}"
        if pair.ledger_id in self._our_cash:
            return f"a flow only for the report: {_CASH_HERE_ONLY}"
        return self._why_not_recomputed(pair)

    def _why_not_recomputed(self, pair: _LinePair) -> str:
        found = self._found.get(pair.line_id)
        at = found["datetime"] if found else pair.reported_at
        if at is not None and not self._period.contains(at):
            return f"dated {self._dated(at)}, outside the period"
        if found and found["journal_entry_id"] not in self._touching_cash:
            return "its entry has no line on a ledger that reports cash flow"
        if found:
            return "the recomputed report has this line entry under another ledger, or as a line of cash itself"
        if self._searched:
            return "no such line is among the line entries given"
        return "the recomputed report has no such line"

    def _why_missing(self, pair: _LinePair) -> str:
        other = self._extra_by_line.get(pair.line_id)
        if other is not None:
            return f"recategorized: recomputed here, reported under {self._name(other)}; {_MOVED}"
        twin = self._extra_by_figures.get((pair.entry_id, pair.ledger_id, pair.recomputed))
        if twin is not None:
            return f"the report has the same entry, ledger and amount under line {twin.line_id}"
        if pair.ledger_id in self._their_cash:
            return f"no flow for the report: {_CASH_THERE_ONLY}"
        at = pair.recomputed_at
        if at is not None and not self._in_utc_days(at):
            return f"the report leaves it out; it is dated {self._dated(at)}, which is another day in UTC"
        return "the report leaves it out"

    def _why_changed(self, pair: _LinePair) -> str:
        if pair.reported != pair.recomputed:
            if pair.reported == -(pair.recomputed or 0):
                return "the sign is opposite"
            return "the report repeats the line" if pair.listed_again else "the amount differs"
        if pair.reported_entry != pair.recomputed_entry:
            return f"reported with journal entry {pair.reported_entry}, recomputed with {pair.recomputed_entry}"
        dates = [self._dated(at) for at in (pair.reported_at, pair.recomputed_at) if at is not None]
        return f"same amount, but dated {dates[0]} in the report and {dates[1]} in the line entries"

    def _name(self, pair: _LinePair) -> str:
        return f"{self._names.get(pair.ledger_id, 'ledger')} ({pair.ledger_id})"

    def _dated(self, at: dt.datetime) -> str:
        return f"{at.astimezone(self._zone):%Y-%m-%d %H:%M:%S} ({self._period.time_zone})"

    def _in_utc_days(self, at: dt.datetime) -> bool:
        return self._period.start_date <= at.date() <= self._period.end_date


class _Opening(NamedTuple):
    """First-day entries that the report counts as part of the starting balance."""

    line_ids: frozenset[str]
    amount: Decimal


def _first_day_read_as_opening(
    reported: CashFlowReport, recomputed: CashFlowReport, differences: list[Difference]
) -> _Opening | None:
    """First-day flows missing from the report that make up exactly the difference of the starting cash balances."""
    gap = reported.starting_cash_balance - recomputed.starting_cash_balance
    if not gap:
        return None
    tz = zone(recomputed.period.time_zone)
    dated = dict(zip(recomputed.lines["line_id"], recomputed.lines["datetime"], strict=True))
    per_entry: dict[str | None, list[Difference]] = defaultdict(list)
    for one in differences:
        if one.reported is None and local_date(dated[one.line_id], tz) == recomputed.period.start_date:
            per_entry[one.journal_entry_id].append(one)
    everything = [one for lines in per_entry.values() for one in lines]
    for lines in (everything, *per_entry.values()):
        if lines and sum((one.recomputed or Decimal(0) for one in lines), Decimal(0)) == gap:
            return _Opening(frozenset(one.line_id or "" for one in lines), gap)
    return None


def _with_opening_explained(lines: _Compared, opening: _Opening | None) -> _Compared:
    if opening is None:
        return lines
    why = "the report counts this first-day entry in the starting balance, not as a flow"
    explained = [
        one._replace(explanation=why) if one.reported is None and one.line_id in opening.line_ids else one
        for one in lines.differences
    ]
    return lines._replace(differences=explained)


def _compare_cash(reported: CashFlowReport, recomputed: CashFlowReport) -> list[_Compared]:
    """Compare the two cash totals."""
    compared = []
    for side, balances in (("starting", reported.starting_balances), ("ending", reported.ending_balances)):
        what = f"{side}_cash_balance"
        theirs, ours = getattr(reported, what), getattr(recomputed, what)
        differences = []
        if theirs != ours:
            listed = _sum(_amounts(balances, "cash_balance"))
            why = (
                "follows from the balances of the cash ledgers"
                if theirs == listed
                else f"the report's own balances sum to {format_amount(listed)}, not to its total"
            )
            differences.append(Difference(what, None, None, None, theirs, ours, why))
        independent = side == "ending" or not recomputed.anchored
        compared.append(_Compared(Comparison(what, 1, len(differences), independent), differences, []))
    return compared


def _compare_identity(reported: CashFlowReport) -> _Compared:
    """Hold the report to its own identity: net cash flow is the change of the cash balance."""
    gap = reported.net_cash_flow - (reported.ending_cash_balance - reported.starting_cash_balance)
    differences = []
    if gap:
        why = "the report contradicts itself: its net cash flows do not sum to the change of its cash balance"
        differences.append(Difference("identity", None, None, None, gap, Decimal(0), why))
    return _Compared(Comparison("identity", 1, len(differences)), differences, [])


def _compare_balances(
    reported: CashFlowReport, recomputed: CashFlowReport, side: str, opening: _Opening | None
) -> list[_Compared]:
    """Compare the balances of the cash ledgers at the start or the end."""
    theirs, ours = getattr(reported, f"{side}_balances"), getattr(recomputed, f"{side}_balances")
    independent = side == "ending" or not recomputed.anchored
    why = (
        _why_starting_differs(recomputed, opening) if side == "starting" else _why_ending_differs(reported, recomputed)
    )

    def explain(ledger_id: str, difference: Decimal) -> str:
        if ledger_id not in set(ours["ledger_id"]):
            return _CASH_THERE_ONLY
        if ledger_id not in set(theirs["ledger_id"]):
            return _CASH_HERE_ONLY
        return why(ledger_id, difference)

    plain = _compare_amounts(
        f"{side}_balance",
        _amounts(theirs, "cash_balance"),
        _amounts(ours, "cash_balance"),
        explain,
        independent=independent,
    )
    total = _compare_totals(
        f"{side}_total_balance",
        _amounts(theirs, "total_cash_balance"),
        _amounts(ours, "total_cash_balance"),
        plain,
        independent=independent,
    )
    notes = []
    if side == "ending":
        notes = [
            f"{who} as cash: {join_ids(ids)}."
            for who, ids in (
                ("Only the report lists", set(theirs["ledger_id"]) - set(ours["ledger_id"])),
                ("Only the chart of accounts given counts", set(ours["ledger_id"]) - set(theirs["ledger_id"])),
            )
            if ids
        ]
    return [plain._replace(notes=notes), total]


def _why_starting_differs(recomputed: CashFlowReport, opening: _Opening | None) -> Explain:
    def explain(_ledger_id: str, _difference: Decimal) -> str:
        if recomputed.anchored:
            return "not the balance that was taken over"
        if opening is not None:
            return "the report counts entries of the first day in the starting balance"
        return "the lines before the period sum to another balance; is the history given complete?"

    return explain


def _why_ending_differs(reported: CashFlowReport, recomputed: CashFlowReport) -> Explain:
    theirs, ours = (_amounts(report.starting_balances, "cash_balance") for report in (reported, recomputed))

    def explain(ledger_id: str, difference: Decimal) -> str:
        if difference == _of(theirs, ledger_id) - _of(ours, ledger_id):
            return "carried over from the starting balance"
        return "the lines of the period move this ledger by another amount"

    return explain


def _compare_ledgers(reported: CashFlowReport, recomputed: CashFlowReport, lines: _Compared) -> list[_Compared]:
    """Compare the net cash flow of each ledger, alone and with its descendants."""
    theirs, ours = reported.ledgers, recomputed.ledgers
    line_sums: dict[str, Decimal] = defaultdict(Decimal)
    line_counts: dict[str, int] = defaultdict(int)
    for one in lines.differences:
        line_sums[one.ledger_id or ""] += one.amount
        line_counts[one.ledger_id or ""] += 1
    without_lines = bool(lines.comparison.compared == 0 and len(recomputed.lines))

    def explain(ledger_id: str, difference: Decimal) -> str:
        if without_lines:
            return "the report carries no lines that could tell why"
        if line_counts[ledger_id] and line_sums[ledger_id] == difference:
            return f"made up of {line_counts[ledger_id]} line difference(s)"
        if not line_counts[ledger_id]:
            return "the lines of this ledger agree: the reported figure is not the sum of its own lines"
        rest = format_amount(difference - line_sums[ledger_id])
        return f"{line_counts[ledger_id]} line difference(s), and {rest} that the reported lines do not show"

    plain = _compare_amounts(
        "net_cash_flow", _amounts(theirs, "net_cash_flow"), _amounts(ours, "net_cash_flow"), explain
    )
    their_totals, our_totals = _amounts(theirs, "total_net_cash_flow"), _amounts(ours, "total_net_cash_flow")
    above = set(our_totals) - set(recomputed.lines["ledger_id"])
    notes = []
    if above and above.isdisjoint(their_totals):
        our_totals = {ledger_id: amount for ledger_id, amount in our_totals.items() if ledger_id not in above}
        notes.append(
            f"The report does not list ledgers without lines of their own, such as parents: {join_ids(above)}."
        )
    total = _compare_totals("total_net_cash_flow", their_totals, our_totals, plain)
    return [plain, total._replace(notes=[*notes, *total.notes])]


def _compare_totals(
    what: str, theirs: Amounts, ours: Amounts, plain: _Compared, *, independent: bool = True
) -> _Compared:
    """Compare figures with descendants, unless the recomputed ones are unknown for want of parents."""
    if None in ours.values():
        note = f"{_TITLES[what].capitalize()}: not compared, because the parents of some ledgers are not known."
        return _Compared(Comparison(what, 0, 0, independent), [], [note])
    own = {one.ledger_id: one.amount for one in plain.differences}

    def explain(ledger_id: str, difference: Decimal) -> str:
        if own.get(ledger_id) == difference:
            return "follows from the ledger's own figure"
        if own:
            return "the figures of its descendants differ, or it was summed over others"
        return "all plain figures agree: the report sums other descendants, or sums them wrongly"

    return _compare_amounts(what, theirs, ours, explain, independent=independent)


def _compare_amounts(
    what: str,
    theirs: Amounts,
    ours: Amounts,
    explain: Explain,
    *,
    independent: bool = True,
) -> _Compared:
    """Compare figures by ledger; a row that one side leaves out counts as zero, an unknown one is not compared."""
    ledger_ids = [
        ledger_id
        for ledger_id in dict.fromkeys([*ours, *theirs])
        if ours.get(ledger_id, Decimal(0)) is not None and theirs.get(ledger_id, Decimal(0)) is not None
    ]
    differences = [
        Difference(what, ledger_id, None, None, theirs.get(ledger_id), ours.get(ledger_id), explain(ledger_id, gap))
        for ledger_id in ledger_ids
        if (gap := _of(theirs, ledger_id) - _of(ours, ledger_id))
    ]
    return _Compared(Comparison(what, len(ledger_ids), len(differences), independent), differences, [])


def _carried_notes(reported: CashFlowReport, recomputed: CashFlowReport) -> list[str]:
    return [f"Reported: {note}" for note in reported.notes] + [f"Recomputed: {note}" for note in recomputed.notes]


def _entries_with(line_entries: Any, column: str, values: Iterable[str]) -> list[dict[str, Any]]:  # noqa: ANN401
    """Rows of the line entries whose `column` is one of `values`."""
    try:
        frame = nw.from_native(line_entries).lazy()
    except TypeError as error:
        msg = f"line_entries is a {type(line_entries).__name__}, not a frame such as load_line_entries returns"
        raise FrameError(msg) from error
    wanted = ("id", "ledger_id", "journal_entry_id", "datetime")
    absent = [name for name in wanted if name not in frame.collect_schema()]
    if absent:
        msg = f"line_entries: column is missing: {', '.join(absent)}"
        raise FrameError(msg)
    found = frame.select(*wanted).filter(nw.col(column).is_in(list(values))).collect("pyarrow")
    rows: list[dict[str, Any]] = found.to_arrow().to_pylist()
    return rows


def _amounts(frame: pd.DataFrame, column: str) -> dict[str, Decimal | None]:
    """Amounts of a report table by ledger; None where unknown."""
    known = (None if pd.isna(amount) else amount for amount in frame[column])
    return dict(zip(frame["ledger_id"], known, strict=True))


def _of(amounts: Amounts, ledger_id: str) -> Decimal:
    return amounts.get(ledger_id) or Decimal(0)


def _sum(amounts: Amounts) -> Decimal:
    return sum((amount or Decimal(0) for amount in amounts.values()), Decimal(0))


def _names(reported: CashFlowReport, recomputed: CashFlowReport) -> dict[str, str]:
    """Name of every ledger in either report, the recomputed one first."""
    names: dict[str, str] = {}
    for report in (reported, recomputed):
        names.update(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
        for balances in (report.starting_balances, report.ending_balances):
            names.update(zip(balances["ledger_id"], balances["ledger_name"], strict=True))
    return names


def _frame(differences: list[Difference], names: Mapping[str, str], scale: int) -> pd.DataFrame:
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
    return Differences.of(columns, scale)


def _sentence(row: Mapping[Any, Any]) -> str:
    """One difference as a line of text."""
    where = [f"{row['ledger_name']} ({row['ledger_id']})"] if isinstance(row["ledger_id"], str) else []
    if isinstance(row["line_id"], str):
        where.append(f"line {row['line_id']} of entry {row['journal_entry_id']}")
    figures = [
        f"{side} {'nothing' if pd.isna(row[side]) else format_amount(row[side])}" for side in ("reported", "recomputed")
    ]
    subject = ": ".join([_TITLES[row["what"]], *([", ".join(where)] if where else [])])
    return f"{subject}: {', '.join(figures)}, difference {format_amount(row['difference'])}: {row['explanation']}."
