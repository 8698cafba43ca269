"""The certificate of a load: what was checked, how much of it, and whether anything is missing."""

from __future__ import annotations

import datetime as dt
import html
import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.errors import FrameError
from accounting_analytics.load_metadata import changed_row_count, loaded_period, read_load_metadata
from accounting_analytics.money import format_amount
from accounting_analytics.schemas import CashFlowReport, LineEntries, total

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal

_SHOWN_PROBLEMS = 20
_NEEDED = ("id", "ledger_id", "journal_entry_id", "signed_amount", "amount", "debit_credit")
_COLUMNS = ("journal_entry_id", "problem", "line_entry_id", "difference", "where")


class Check(NamedTuple):
    """One thing that was checked.

    Attributes
    ----------
    what : str
        The claim.
    checked, failed : int
        How often it was looked at, and how often it did not hold.
    note : str
        Why it could not be looked at; empty where it was.
    """

    what: str
    checked: int
    failed: int
    note: str = ""


@dataclass(frozen=True)
class Certificate:
    """What a load proves about itself.

    Parameters
    ----------
    lines, entries : int
        Line entries and journal entries seen.
    debits, credits : Decimal
        Sums of the two sides.
    problems : DataFrame
        ``journal_entry_id, problem, line_entry_id, difference, where``: an entry whose debits and credits differ, a
        line that its entry or a report names and the load does not have, days that no window holds, balances that do
        not lead from one month to the next.
    named_lines_checked : bool
        Whether entries came with the ids of their lines (`expand` had ``journal_entry``); without them a missing line
        shows only where its entry does not balance.
    checks : tuple of Check
        Every check, also those that could not be made.
    """

    lines: int
    entries: int
    debits: Decimal
    credits: Decimal
    problems: pd.DataFrame
    named_lines_checked: bool
    checks: tuple[Check, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing was found missing."""
        return self.problems.empty

    def __str__(self) -> str:
        return self.explain()

    def summary(self) -> str:
        """One line for a human."""
        counts = f"{self.lines:,} lines of {self.entries:,} journal entries"
        if not self.complete:
            return f"NOT COMPLETE: {len(self.problems):,} problem(s) in {counts}; first: {_sentence(self.problems, 0)}"
        named = "every named line is here" if self.named_lines_checked else "no line ids to check"
        return f"complete: {counts}; debits = credits = {format_amount(self.debits)}; {named}"

    def explain(self) -> str:
        """Plain text: the summary, what was checked, and the problems."""
        width = max((len(check.what) for check in self.checks), default=0)
        rows = [
            f"{check.what:{width}}  {check.checked:>9,}  {check.failed:>7,}"
            + (f"  (not checked: {check.note})" if check.note else "")
            for check in self.checks
        ]
        shown = [f"- {_sentence(self.problems, at)}" for at in range(min(len(self.problems), _SHOWN_PROBLEMS))]
        more = len(self.problems) - len(shown)
        text = [self.summary(), "", f"{'':{width}}    checked   failed", *rows, *([""] if shown else []), *shown]
        return "\n".join([*text, *([f"- and {more:,} more: see .problems"] if more > 0 else [])])

    def to_json(self) -> str:
        """Write the certificate as JSON; amounts are texts."""
        problems = self.problems.astype(object).where(self.problems.notna(), None).to_dict("records")
        return json.dumps(
            {
                "complete": self.complete,
                "lines": self.lines,
                "entries": self.entries,
                "debits": str(self.debits),
                "credits": str(self.credits),
                "checks": [check._asdict() for check in self.checks],
                "problems": [
                    {name: value if value is None else str(value) for name, value in problem.items()}
                    for problem in problems
                ],
            },
            indent=2,
        )

    def _repr_html_(self) -> str:
        checks = pd.DataFrame(
            [(check.what, check.checked, check.failed, check.note) for check in self.checks],
            columns=["check", "checked", "failed", "not checked because"],
        ).to_html(index=False, escape=True)
        shown = (
            "" if self.complete else self.problems.head(_SHOWN_PROBLEMS).to_html(index=False, escape=True, na_rep="")
        )
        more = len(self.problems) - _SHOWN_PROBLEMS
        verdict = f"<p><strong>{html.escape(self.summary())}</strong></p>"
        return f"{verdict}{checks}{shown}{f'<p>and {more:,} more</p>' if more > 0 else ''}"


class _Checked(NamedTuple):
    """A check and its problems."""

    check: Check
    problems: pd.DataFrame


def check_completeness(
    line_entries: pd.DataFrame, *, report: CashFlowReport | Iterable[CashFlowReport] | None = None
) -> Certificate:
    """Certify that all lines are here: as the entries name them, as they balance, as the windows and reports say.

    Parameters
    ----------
    line_entries : DataFrame
        :class:`~accounting_analytics.schemas.LineEntries` of **all** ledgers of a period.
    report : CashFlowReport or several, optional
        Reports of days within the load, as loaded from the service: each of their lines must be here with its amount,
        and from one report to the next, balances must go on where they ended.

    Raises
    ------
    FrameError
        The frame is not LineEntries.
    """
    for name in _NEEDED:
        if name not in line_entries:
            msg = f"{LineEntries.__name__}: column is missing: {name}"
            raise FrameError(msg)
    reports = [] if report is None else [report] if isinstance(report, CashFlowReport) else list(report)
    checked = [
        _balanced(line_entries),
        _named_lines_seen(line_entries),
        _windows_tile(line_entries),
        _no_rows_changed(line_entries),
        _report_lines_seen(line_entries, reports),
        _months_chain(line_entries, reports),
    ]
    signed = line_entries["signed_amount"]
    found = [one.problems for one in checked if len(one.problems)]
    return Certificate(
        lines=len(line_entries),
        entries=line_entries["journal_entry_id"].nunique(),
        debits=total(signed[signed > 0]),
        credits=-total(signed[signed < 0]),
        problems=pd.concat(found, ignore_index=True) if found else _problems(line_entries, []),
        named_lines_checked="journal_entry_line_entry_ids" in line_entries,
        checks=tuple(one.check for one in checked),
    )


def _balanced(line_entries: pd.DataFrame) -> _Checked:
    """Entries whose signed amounts do not sum to zero."""
    sums = line_entries.groupby("journal_entry_id", sort=True)["signed_amount"].sum()
    gaps = sums[sums != 0]
    problems = _problems(
        line_entries,
        [
            {"journal_entry_id": entry_id, "problem": "debits and credits differ", "difference": gap}
            for entry_id, gap in zip(gaps.index, gaps, strict=True)
        ],
    )
    return _Checked(Check("debits equal credits in every entry", len(sums), len(gaps)), problems)


def _named_lines_seen(line_entries: pd.DataFrame) -> _Checked:
    """Lines that their entry names and the load does not have."""
    what = "every line that an entry names is here"
    if "journal_entry_line_entry_ids" not in line_entries:
        note = "entries came without the ids of their lines (expand journal_entry)"
        return _Checked(Check(what, 0, 0, note), _problems(line_entries, []))
    entries = line_entries.drop_duplicates("journal_entry_id")
    named = entries[["journal_entry_id", "journal_entry_line_entry_ids"]].explode("journal_entry_line_entry_ids")
    ids = named["journal_entry_line_entry_ids"].astype("str")
    missing = named[ids.notna() & ~ids.isin(line_entries["id"])]
    problems = _problems(
        line_entries,
        [
            {"journal_entry_id": entry_id, "problem": "a line the entry names is missing", "line_entry_id": line_id}
            for entry_id, line_id in missing.itertuples(index=False)
        ],
    )
    return _Checked(Check(what, int(ids.notna().sum()), len(missing)), problems)


def _windows_tile(line_entries: pd.DataFrame) -> _Checked:
    """Ledgers whose windows leave days of the period out."""
    what = "the windows read hold every day of every ledger"
    stamp = read_load_metadata(line_entries)
    if stamp is None:
        note = "the frame does not say how it was loaded"
        return _Checked(Check(what, 0, 0, note), _problems(line_entries, []))
    open_days = {ledger_id: days for ledger_id in stamp["ledgers"] if (days := _open_days(stamp, ledger_id))}
    problems = _problems(
        line_entries,
        [
            {"problem": "days were not read", "where": f"ledger {ledger_id}: {days}"}
            for ledger_id, days in open_days.items()
        ],
    )
    return _Checked(Check(what, len(stamp["ledgers"]), len(open_days)), problems)


def _no_rows_changed(line_entries: pd.DataFrame) -> _Checked:
    """Compare the number of rows with the number loaded: filtering a frame keeps its metadata."""
    what = "as many lines as were loaded"
    stamp = read_load_metadata(line_entries)
    if stamp is None:
        return _Checked(Check(what, 0, 0, "the frame does not say how it was loaded"), _problems(line_entries, []))
    changed = changed_row_count(line_entries)
    where = f"{len(line_entries):,} lines in the frame, {stamp['lines']:,} loaded"
    problems = [{"problem": "rows were added or removed after the load", "where": where}] if changed else []
    return _Checked(Check(what, stamp["lines"], len(problems)), _problems(line_entries, problems))


def _open_days(stamp: Mapping[str, Any], ledger_id: str) -> str:
    """Days of the period that no window of a ledger holds, or that two hold."""
    period = loaded_period(stamp)
    windows = sorted(tuple(map(dt.date.fromisoformat, one.split("/"))) for one in stamp["ledgers"][ledger_id].split())
    day = dt.timedelta(days=1)
    if not windows:
        return f"{period.start_date} to {period.end_date}"
    broken = [f"between {before} and {after}" for (_, before), (after, _) in pairwise(windows) if before + day != after]
    if windows[0][0] > period.start_date:
        broken.insert(0, f"before {windows[0][0]}")
    if windows[-1][1] < period.end_date:
        broken.append(f"after {windows[-1][1]}")
    return ", ".join(broken)


def _report_lines_seen(line_entries: pd.DataFrame, reports: list[CashFlowReport]) -> _Checked:
    """Lines of the reports that the load does not have, or has with another amount."""
    what = "every line of the reports is here with its amount"
    if not reports:
        return _Checked(Check(what, 0, 0, "no report was given"), _problems(line_entries, []))
    listed = sum(len(report.lines) for report in reports)
    found = [problem for report in reports for problem in _missing_of(line_entries, report)]
    note = "" if listed else "the reports list no lines"
    return _Checked(Check(what, listed, len(found), note), _problems(line_entries, found))


def _missing_of(line_entries: pd.DataFrame, report: CashFlowReport) -> Iterator[dict[str, Any]]:
    """Lines of one report that are not here; an id of the cash side stands for its entry's lines on the ledger."""
    lines = line_entries[["id", "ledger_id", "journal_entry_id", "signed_amount"]]
    here = report.lines.merge(lines, left_on="line_id", right_on="id", how="left", suffixes=("", "_here"))
    absent = here["id"].isna()
    for line_id, entry_id, ledger_id in here.loc[absent, ["line_id", "journal_entry_id", "ledger_id"]].itertuples(
        index=False
    ):
        yield {
            "journal_entry_id": entry_id,
            "problem": "a line of the report is missing",
            "line_entry_id": line_id,
            "where": f"ledger {ledger_id}, report of {report.period}",
        }
    own = here[~absent & (here["ledger_id"] == here["ledger_id_here"])]
    yield from _other_amounts(own, report)
    by_entry = here[~absent & (here["ledger_id"] != here["ledger_id_here"])]
    if len(by_entry):
        wanted = by_entry.groupby(["journal_entry_id", "ledger_id"], as_index=False)["amount"].sum()
        sums = lines.groupby(["journal_entry_id", "ledger_id"], as_index=False)["signed_amount"].sum()
        both = wanted.merge(sums, on=["journal_entry_id", "ledger_id"], how="left").assign(line_id=None)
        yield from _other_amounts(both, report)


def _other_amounts(pairs: pd.DataFrame, report: CashFlowReport) -> Iterator[dict[str, Any]]:
    """Find reported amounts that are not the opposite of what is here."""
    columns = ["line_id", "journal_entry_id", "ledger_id", "amount", "signed_amount"]
    for line_id, entry_id, ledger_id, reported, signed in pairs[columns].itertuples(index=False):
        if pd.isna(signed) or reported != -signed:
            yield {
                "journal_entry_id": entry_id,
                "problem": "the report has another amount",
                "line_entry_id": line_id,
                "difference": reported if pd.isna(signed) else reported + signed,
                "where": f"ledger {ledger_id}, report of {report.period}",
            }


def _months_chain(line_entries: pd.DataFrame, reports: list[CashFlowReport]) -> _Checked:
    """Compare reports that follow each other: what one ended with, the next must begin with."""
    what = "each report begins as the one before it ended"
    ordered = sorted(reports, key=lambda report: report.period)
    day = dt.timedelta(days=1)
    links = [
        (before, after)
        for before, after in pairwise(ordered)
        if after.period.start_date - day == before.period.end_date and after.period.time_zone == before.period.time_zone
    ]
    if not links:
        note = "no two reports follow each other"
        return _Checked(Check(what, 0, 0, note), _problems(line_entries, []))
    found = [problem for before, after in links for problem in _broken_link(before, after)]
    return _Checked(Check(what, len(links), len({one["where"] for one in found})), _problems(line_entries, found))


def _broken_link(before: CashFlowReport, after: CashFlowReport) -> Iterator[dict[str, Any]]:
    where = f"between {before.period.end_date} and {after.period.start_date}"
    if before.ending_cash_balance != after.starting_cash_balance:
        yield {
            "problem": "the starting cash balance is not the ending one of the report before",
            "difference": after.starting_cash_balance - before.ending_cash_balance,
            "where": where,
        }
    ended = dict(zip(before.ending_balances["ledger_id"], before.ending_balances["cash_balance"], strict=True))
    began = dict(zip(after.starting_balances["ledger_id"], after.starting_balances["cash_balance"], strict=True))
    for ledger_id in sorted(ended.keys() | began.keys()):
        gap = began.get(ledger_id, 0) - ended.get(ledger_id, 0)
        if gap:
            yield {
                "problem": f"the balance of ledger {ledger_id} does not go on where it ended",
                "difference": gap,
                "where": where,
            }


def _problems(line_entries: pd.DataFrame, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Problems as a table; amounts at the scale of the load."""
    columns = {name: [row.get(name) for row in rows] for name in _COLUMNS}
    amounts = pd.Series(columns.pop("difference"), dtype=line_entries["signed_amount"].dtype)
    frame = pd.DataFrame({name: pd.Series(values, dtype="str") for name, values in columns.items()})
    frame.insert(3, "difference", amounts)
    return frame


def _sentence(problems: pd.DataFrame, at: int) -> str:
    """One problem in words."""
    row = problems.iloc[at]
    about = [
        *([f"entry {row['journal_entry_id']}"] if pd.notna(row["journal_entry_id"]) else []),
        *([f"line {row['line_entry_id']}"] if pd.notna(row["line_entry_id"]) else []),
        *([str(row["where"])] if pd.notna(row["where"]) else []),
    ]
    by = "" if pd.isna(row["difference"]) else f" by {format_amount(row['difference'])}"
    return f"{', '.join(about)}: {row['problem']}{by}"
