"""The certificate of a load: the checks that were made, and what is missing."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.column_conversion import are_among, exact_frame, split_lists, total
from accounting_analytics.core.day_ranges import DayRange, parse_days
from accounting_analytics.core.errors import FrameError
from accounting_analytics.core.exact_sums import null_message
from accounting_analytics.core.load_metadata import books_notes
from accounting_analytics.core.messages import TERMINAL_WIDTH, count_of, join_ids
from accounting_analytics.core.money import DEFAULT_SCALE, format_amount
from accounting_analytics.core.periods import DAY, Period, days_label, period_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import LineEntries, Problems
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accounting_analytics.reports.books.extent_of_load import Extent
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

    Checked = tuple["Check", list["LoadProblem"]]

_MAX_PROBLEMS_SHOWN = 20
_NEEDED = ("id", "ledger_id", "journal_entry_id", "signed_amount", "amount", "debit_credit")
_NOT_ONE_MOMENT = {
    "newest": "only the newest days were read again",
    "combined": "the lines are of several loads",
}
"""Reasons why a load does not show that its lines are of one moment, by which days it checked."""
_ONE_MOMENT = "the days did not change while they were read"
_NO_LIST = {False: "the service has no list of them", True: "a file has those with entries"}
_NO_METADATA = "the frame has no load metadata"


class Check(NamedTuple):
    """One check of a certificate.

    Attributes
    ----------
    what : str
        What should hold.
    checked, failed : int
        How many cases were checked, and how many failed.
    note : str
        Why nothing could be checked; empty where something was.
    """

    what: str
    checked: int
    failed: int
    note: str = ""


class LoadProblem(NamedTuple):
    """One problem of a load, as in :class:`~accounting_analytics.schemas.Problems`."""

    problem: str
    journal_entry_id: str | None = None
    line_entry_id: str | None = None
    difference: Decimal | None = None
    where: str | None = None

    def __str__(self) -> str:
        about = [
            *([f"entry {self.journal_entry_id}"] if self.journal_entry_id else []),
            *([f"line {self.line_entry_id}"] if self.line_entry_id else []),
            *([self.where] if self.where else []),
        ]
        by = "" if self.difference is None else f" by {format_amount(self.difference)}"
        return f"{', '.join(about)}: {self.problem}{by}"


@dataclass(frozen=True, repr=False)
class Certificate(Result):
    """Result of a completeness check.

    Parameters
    ----------
    lines, entries, ledgers : int
        Number of line entries, of journal entries, and of the ledgers that were loaded: the claims are about these.
    debits, credits : Decimal
        Sums of the two sides.
    found : tuple of LoadProblem
        An entry whose debits and credits differ, a line that its entry or a report names and the load does not have,
        days that no window covers, a report whose starting balances are not the ending balances of the report before.
        `problems` is their table.
    named_lines_checked : bool
        Whether the entries list the ids of their lines (`expand` had ``journal_entry``); otherwise a missing line is
        found only where its entry does not balance.
    checks : tuple of Check
        Every check, also those that could not be made.
    consistency : str
        What the load checked for changes of the books while it read them: ``all`` days of its `consistency`, or the
        ``newest`` lines of each ledger, or nothing between the ``combined`` loads of local books; empty where the load
        does not state it.
    of_one_moment : str
        Days whose lines are those of one moment, ``2025-01-01/2025-12-31``, or ``not checked``; empty where the load
        does not state it.
    not_checked : str
        Why missing days and lines could not be found; empty where they could.
    notes : tuple of str
        How old the local books are that the lines were read from.
    not_balanced : str
        Why entries cannot be balanced: ledgers opposite the loaded ones were not loaded. Empty where they can.
    scale : int
        Fraction digits of the amounts.
    """

    lines: int
    entries: int
    ledgers: int
    debits: Decimal
    credits: Decimal
    found: tuple[LoadProblem, ...]
    named_lines_checked: bool
    checks: tuple[Check, ...] = ()
    consistency: str = ""
    not_balanced: str = ""
    of_one_moment: str = ""
    not_checked: str = ""
    notes: tuple[str, ...] = ()
    scale: int = DEFAULT_SCALE

    @property
    def complete(self) -> bool:
        """True if the checks cover all lines of the loaded ledgers, and found no problem."""
        return not self.found and not self.not_checked

    @cached_property
    def problems(self) -> pd.DataFrame:
        """The problems: :class:`~accounting_analytics.schemas.Problems`."""
        return Problems.from_rows(self._rows(), self.scale)

    @property
    def frame(self) -> pd.DataFrame:
        """The problems."""
        return self.problems

    def summary(self) -> str:
        """One line of text: whether all lines of the loaded ledgers are there."""
        counts = f"{self.lines:,} lines of {self.entries:,} journal entries"
        changes = self._describe_moment()
        if self.not_balanced:
            return f"NOT BALANCED: {self.not_balanced}, so a missing line would not be found; {counts}{changes}"
        if self.found:
            return f"NOT COMPLETE: {count_of(len(self.found), 'problem')} in {counts}; first: {self.found[0]}"
        if self.not_checked:
            return f"not checked: {self.not_checked}, so missing days and entries would not be found; {counts}"
        named = "every named line was loaded" if self.named_lines_checked else "no line ids to check"
        ledgers = count_of(self.ledgers, "ledger")
        return f"complete for {ledgers}: {counts}; debits = credits = {format_amount(self.debits)}; {named}{changes}"

    def _describe_moment(self) -> str:
        """Say at the summary's end whether lines are of one moment."""
        if not self.of_one_moment:
            return ""
        check = next(check for check in self.checks if check.what == _ONE_MOMENT)
        if not check.checked:
            return f"; of one moment: not checked ({check.note})"
        if not check.note:
            return "; no day changed while it was read"
        first, _, last = self.of_one_moment.partition("/")
        return f"; of one moment: only {days_label(Period(first, last))}"

    def _parts(self) -> Iterator[ResultPart]:
        """Show what was checked, and the problems."""
        rows = [line for check in self.checks for line in _describe(check)]
        checks = [(check.what, check.checked, check.failed, check.note) for check in self.checks]
        columns = ["check", "checked", "failed", "not checked because"]
        yield ResultPart([f"{'checked':>9}  {'failed':>7}", *rows], pd.DataFrame(checks, columns=columns))
        shown = [f"- {problem}" for problem in self.found[:_MAX_PROBLEMS_SHOWN]]
        more = len(self.found) - len(shown)
        lines = [*shown, *([f"- and {more:,} more: see .problems"] if more else [])]
        exact = Problems.exact_from_rows(self._rows(), self.scale)
        yield ResultPart(lines, exact, _MAX_PROBLEMS_SHOWN, "problems; .problems has all")

    def _content(self) -> dict[str, Any]:
        return {
            "complete": self.complete,
            "not_checked": self.not_checked,
            "consistency": self.consistency,
            "of_one_moment": self.of_one_moment,
            "not_balanced": self.not_balanced,
            "lines": self.lines,
            "entries": self.entries,
            "ledgers": self.ledgers,
            "debits": self.debits,
            "credits": self.credits,
            "checks": [check._asdict() for check in self.checks],
            "problems": Problems.exact_from_rows(self._rows(), self.scale),
        }

    def _rows(self) -> list[dict[str, Any]]:
        return [problem._asdict() for problem in self.found]


def _describe(check: Check) -> list[str]:
    """Write the text lines of a check: counts, subject and note."""
    head = f"{check.checked:>9,}  {check.failed:>7,}  "
    indent = " " * len(head)
    lines = textwrap.wrap(check.what, TERMINAL_WIDTH, initial_indent=head, subsequent_indent=indent)
    note = f"(not checked: {check.note})" if check.note else ""
    return [*lines, *textwrap.wrap(note, TERMINAL_WIDTH, initial_indent=indent, subsequent_indent=indent)]


def _make_check(what: str, count: int, problems: Iterable[LoadProblem] = (), note: str = "") -> Checked:
    """Make a check. Each of its problems is a failed case."""
    found = list(problems)
    return Check(what, count, len(found), note), found


def check_completeness(books: Books) -> Certificate:
    """Check that no line is missing: entries balance and name their lines, windows cover all days, reports agree.

    Parameters
    ----------
    books : Books
        The books with the lines of **all** ledgers. Lines that do not state their load are never complete: whether days
        are missing cannot be checked. Each line of the reports that the books have must be there with its amount, and
        each report must start with the balances that the one before it ended with.

    Raises
    ------
    FrameError
        A value that is checked is null.
    InputError
        The lines are a person's choice, or in another engine than pandas.
    """
    books = to_books(books)
    books.require_loaded("a certificate")
    lines, extent, reports = books.source.in_pandas("a certificate"), books.extent, list(books.reports)
    for name in _NEEDED:
        if name not in lines:
            raise FrameError(f"{LineEntries.__name__}: column is missing: {name}")
        if lines[name].isna().any():  # checks that group lines would leave out such lines
            raise FrameError(null_message(LineEntries.__name__, name))
    lines = exact_frame(lines, ["signed_amount"], scale=books.scale).frame
    results = [
        _check_repeats(lines),
        _check_balance(lines),
        _check_named_lines(lines),
        _check_windows(extent),
        _check_report_lines(lines, reports),
        _check_report_balances(reports),
        _check_one_moment(extent),
        _make_check("the loaded ledgers are all ledgers of the books", 0, note=_NO_LIST[extent.is_file]),
    ]
    signed = lines["signed_amount"]
    return Certificate(
        lines=len(lines),
        entries=lines["journal_entry_id"].nunique(),
        ledgers=len(extent.windows or ()) or lines["ledger_id"].nunique(),
        debits=total(signed[signed > 0]),
        credits=-total(signed[signed < 0]),
        found=tuple(problem for _, problems in results for problem in problems),
        named_lines_checked="journal_entry_line_entry_ids" in lines,
        checks=tuple(check for check, _ in results),
        consistency=extent.consistency,
        of_one_moment=extent.moment,
        not_checked="" if extent.is_stated else _NO_METADATA,
        not_balanced=_describe_opposing_ledgers(lines, extent),
        notes=books_notes(books.source.frame),
        scale=books.scale,
    )


def _check_repeats(line_entries: pd.DataFrame) -> Checked:
    """Find repeated lines, which overlapping loads give if they are joined."""
    counts = line_entries["id"].value_counts(sort=False)
    problems = (
        LoadProblem(f"the line appears {count} times", line_entry_id=str(line_id))
        for line_id, count in counts[counts > 1].sort_index().items()
    )
    return _make_check("every line appears once", len(counts), problems)


def _check_balance(line_entries: pd.DataFrame) -> Checked:
    """Find entries whose debits and credits differ."""
    sums = line_entries.groupby("journal_entry_id", sort=True)["signed_amount"].sum()
    gaps = sums[sums != 0].items()
    problems = (LoadProblem("debits and credits differ", str(entry_id), difference=gap) for entry_id, gap in gaps)
    return _make_check("debits equal credits in every entry", len(sums), problems)


def _describe_opposing_ledgers(line_entries: pd.DataFrame, extent: Extent) -> str:
    """Describe opposing ledgers that were not loaded, or return ""."""
    if "opposing_ledger_ids" in line_entries:
        loaded = set(line_entries["ledger_id"] if extent.windows is None else extent.windows)
        absent = set(split_lists(line_entries["opposing_ledger_ids"].drop_duplicates())) - loaded
        were = count_of(len(loaded), "ledger was", "ledgers were")
        return (
            f"{were} loaded without {count_of(len(absent), 'ledger')} opposite ({join_ids(absent)})" if absent else ""
        )
    entries = line_entries.groupby("journal_entry_id")
    ledgers, sums = entries["ledger_id"].agg(["min", "max"]), entries["signed_amount"].sum()
    if line_entries.empty or (ledgers["min"] != ledgers["max"]).any() or (sums == 0).any():
        return ""
    return "no entry has lines of two ledgers, so the opposing ledgers were not loaded"


def _check_named_lines(line_entries: pd.DataFrame) -> Checked:
    """Find lines that an entry names but the load lacks."""
    what = "every line that an entry names was loaded"
    if "journal_entry_line_entry_ids" not in line_entries:
        return _make_check(what, 0, note="the entries do not list their lines (expand journal_entry)")
    entries = line_entries.drop_duplicates("journal_entry_id")
    ids = split_lists(entries["journal_entry_line_entry_ids"])
    named = entries[["journal_entry_id"]].join(ids, how="inner")
    missing = named[~are_among(named["journal_entry_line_entry_ids"], line_entries["id"])]
    problems = (
        LoadProblem("a line the entry names is missing", entry_id, line_id)
        for entry_id, line_id in missing.itertuples(index=False)
    )
    return _make_check(what, len(ids), problems)


def _check_windows(extent: Extent) -> Checked:
    """Find ledgers whose windows do not cover every day exactly once."""
    what = "the windows cover every day of every ledger"
    if extent.windows is None:
        return _make_check(what, 0, note=_NO_METADATA)
    problems = (
        LoadProblem("days were not read", where=f"ledger {ledger_id}: {days}")
        for ledger_id, text in extent.windows.items()
        if (days := _uncovered_days(parse_days(text), extent.days))
    )
    return _make_check(what, len(extent.windows), problems)


def _check_one_moment(extent: Extent) -> Checked:
    """Count the days that the load read twice without a change."""
    if not extent.is_stated:
        return _make_check(_ONE_MOMENT, 0, note=_NO_METADATA)
    first, _, last = extent.moment.partition("/")
    if not first:
        return _make_check(_ONE_MOMENT, 0, note="the load does not state it")
    if not last:
        note = _NOT_ONE_MOMENT.get(extent.consistency, "no day was read again")
        return _make_check(_ONE_MOMENT, 0, note=note)
    loaded = extent.days
    days = Period(first, last, loaded.time_zone)
    note = f"the other {loaded.days - days.days:,} days of {period_label(loaded)}" if days.days < loaded.days else ""
    return _make_check(_ONE_MOMENT, days.days, note=note)  # after a change the load fails


def _uncovered_days(windows: list[DayRange], period: Period) -> str:
    """Describe the days that no window covers, or that two cover."""
    if not windows:
        return f"{period.start_date} to {period.end_date}"
    windows.sort()
    broken = [
        f"between {before.last} and {after.first}"
        for before, after in pairwise(windows)
        if before.last + DAY != after.first
    ]
    if windows[0].first > period.start_date:
        broken.insert(0, f"before {windows[0].first}")
    if windows[-1].last < period.end_date:
        broken.append(f"after {windows[-1].last}")
    return ", ".join(broken)


def _check_report_lines(line_entries: pd.DataFrame, reports: list[CashFlowReport]) -> Checked:
    """Find report lines that the load lacks, or has with another amount."""
    what = "every line of the reports was loaded with its amount"
    if not reports:
        return _make_check(what, 0, note="no report was given")
    count = sum(len(report.exact().lines) for report in reports)
    found = (problem for report in reports for problem in _compare_lines(line_entries, report))
    return _make_check(what, count, found, "" if count else "the reports have no lines")


def _compare_lines(line_entries: pd.DataFrame, report: CashFlowReport) -> Iterator[LoadProblem]:
    """Compare the lines of a report with the loaded lines."""
    lines = line_entries[["id", "ledger_id", "journal_entry_id", "signed_amount"]]
    pairs = report.exact().lines.merge(lines, left_on="line_id", right_on="id", how="left", suffixes=("", "_loaded"))
    is_missing = pairs["id"].isna()
    missing = pairs.loc[is_missing, ["line_id", "journal_entry_id", "ledger_id"]]
    for line_id, entry_id, ledger_id in missing.itertuples(index=False):
        where = f"ledger {ledger_id}, report of {report.period}"
        yield LoadProblem("a line of the report is missing", entry_id, line_id, where=where)
    same_ledger = pairs["ledger_id"] == pairs["ledger_id_loaded"]
    yield from _different_amounts(pairs[~is_missing & same_ledger], report)
    by_entry = pairs[~is_missing & ~same_ledger]
    if len(by_entry):  # the report has ids of cash lines: compare the sums of an entry on the ledger
        reported = by_entry.groupby(["journal_entry_id", "ledger_id"], as_index=False)["amount"].sum()
        sums = lines.groupby(["journal_entry_id", "ledger_id"], as_index=False)["signed_amount"].sum()
        both = reported.merge(sums, on=["journal_entry_id", "ledger_id"], how="left").assign(line_id=None)
        yield from _different_amounts(both, report)


def _different_amounts(pairs: pd.DataFrame, report: CashFlowReport) -> Iterator[LoadProblem]:
    """Find reported amounts that are not the opposite of the loaded amounts."""
    columns = ["line_id", "journal_entry_id", "ledger_id", "amount", "signed_amount"]
    for line_id, entry_id, ledger_id, reported, signed in pairs[columns].itertuples(index=False):
        if pd.isna(signed) or reported != -signed:
            gap = reported if pd.isna(signed) else reported + signed
            where = f"ledger {ledger_id}, report of {report.period}"
            yield LoadProblem("the report has a different amount", entry_id, line_id, gap, where)


def _check_report_balances(reports: list[CashFlowReport]) -> Checked:
    """Compare the balances of reports of adjoining periods."""
    what = "each report starts with the balances that the one before it ended with"
    ordered = sorted(reports, key=lambda report: report.period)
    neighbours = [
        (before, after)
        for before, after in pairwise(ordered)
        if after.period.start_date - DAY == before.period.end_date and after.period.time_zone == before.period.time_zone
    ]
    if not neighbours:
        return _make_check(what, 0, note="no two reports have adjoining periods")
    found = [problem for before, after in neighbours for problem in _compare_balances(before, after)]
    return Check(what, len(neighbours), len({problem.where for problem in found})), found


def _compare_balances(before: CashFlowReport, after: CashFlowReport) -> Iterator[LoadProblem]:
    """Find balances that differ between two consecutive reports.

    Ending balances must equal the starting balances of the next report.
    """
    where = f"between {before.period.end_date} and {after.period.start_date}"
    if gap := after.exact().starting_cash_balance - before.exact().ending_cash_balance:
        problem = "the starting cash balance differs from the ending cash balance before"
        yield LoadProblem(problem, difference=gap, where=where)
    ended, started = (
        dict(zip(balances["ledger_id"], balances["cash_balance"], strict=True))
        for balances in (before.exact().ending_balances, after.exact().starting_balances)
    )
    for ledger_id in sorted(ended.keys() | started.keys()):
        if gap := started.get(ledger_id, Decimal(0)) - ended.get(ledger_id, Decimal(0)):
            problem = f"the starting balance of ledger {ledger_id} differs from its ending balance before"
            yield LoadProblem(problem, difference=gap, where=where)
