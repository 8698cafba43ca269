"""Checks of the books: the lines are complete, and two ways to request the same figures or lines return the same.

The right figures are not known; the last months with entries are compared with each other, to the last digit.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.column_conversion import split_list, split_lists
from accounting_analytics.core.errors import InvalidRequestError, PermissionDeniedError
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.money import format_amount, sum_by_key
from accounting_analytics.core.periods import LOCALTIME, Period
from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.diagnosis import findings
from accounting_analytics.diagnosis.findings import Finding, NotCheckedError, passed
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loading.load import load_line_entries
from accounting_analytics.reconciliation.completeness import check_completeness
from accounting_analytics.reconciliation.reconciliation import reconcile
from accounting_analytics.reports.cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.records import LineEntry
    from accounting_analytics.reports.cash_flow_report import CashFlowReport

    Key = tuple[str, ...]
    Sums = dict[Key, Decimal]

MONTHS = 3
_MONTHS_BACK = 12
_MAX_LINES = 20_000
_MAX_CATEGORIES = 60
_MAX_FILTERED_LEDGERS = 8
_PAGES = 4
_EXPANDED_LINES = 20
_DAY = dt.timedelta(days=1)
_ZERO = Decimal(0)
_LOADED_EXPANSIONS = ("journal_entry", "opposing_ledger_ids")
_EXPANSIONS = ("ledger", "transaction", *_LOADED_EXPANSIONS)
_PARENT = "ledger.parent"
_ENTRY_LINE_IDS = "journal_entry_line_entry_ids"
_NO_CASH_FLOW = "because there is no cash flow in the period; give one with entries (--start-date, --end-date)"
_NO_LINES = "because no ledger of the report has a line entry in the period"
_REPORT_IT = "report this to the operator of the service, and do not use these figures until they agree"


class BooksReader:
    """Reports and lines of the service, with decimals; a repeated request returns the first response."""

    def __init__(self, client: LedgerClient) -> None:
        self.client = client
        self._names: dict[str, str] = {}
        self.report = cache(self._load_report)
        self.lines = cache(self._load_lines)

    def _load_report(self, period: Period) -> CashFlowReport:
        """Load the cash flow report of a period."""
        days = (period.start_date, period.end_date)
        report = load_cash_flow_report(self.client, *days, time_zone=period.time_zone).exact()
        balances = pd.concat([report.starting_balances, report.ending_balances])
        self._names.update(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
        self._names.update(zip(balances["ledger_id"], balances["ledger_name"], strict=True))
        return report

    def _load_lines(
        self, ledger_ids: tuple[str, ...], period: Period, *, is_cashflow: bool | None = True
    ) -> pd.DataFrame:
        """Load line entries of some ledgers."""
        lines = load_line_entries(
            self.client,
            ledger_ids,
            period.start_date,
            period.end_date,
            time_zone=period.time_zone,
            is_cashflow=is_cashflow,
            expand=_LOADED_EXPANSIONS,
            progress=False,
        )
        return LineEntries.exact(lines).frame

    def ledger_label(self, ledger_id: str) -> str:
        """Name and id of a ledger, for messages."""
        name = self._names.get(ledger_id, "")
        return f"{name} (ledger {ledger_id})" if name else f"ledger {ledger_id}"

    def ledger_name(self, ledger_id: str) -> str:
        """Name of a ledger in the reports; its id if it is in none."""
        return self._names.get(ledger_id) or ledger_id


class BooksSample:
    """The part of the books to check: a period, its parts, and the sample period whose lines are read.

    What needs cash flow ends the check where the period has none.
    """

    def __init__(self, reader: BooksReader, period: Period) -> None:
        self.reader = reader
        self.period = period
        months = period.months()
        # a period within one month is split in two, so that there are parts to add up
        self.parts = months if len(months) > 1 else period.windows(max(1, (period.days + 1) // 2))

    def part_reports(self) -> list[CashFlowReport]:
        """Report of each part."""
        return [self.reader.report(part) for part in self.parts]

    def active_month(self) -> Period:
        """Last part with cash flow."""
        for report in reversed(self.part_reports()):
            if len(report.ledgers):
                return report.period
        raise NotCheckedError(_NO_CASH_FLOW)

    def day_reports(self) -> list[CashFlowReport]:
        """Report of each day of the active month."""
        return [self.reader.report(day) for day in self.active_month().windows(1)]

    def sample_period(self) -> Period:
        """Days whose lines are read: the active month, or its last day with cash flow if it has very many lines."""
        month = self.active_month()
        if len(self.reader.report(month).lines) <= _MAX_LINES:
            return month
        return next((report.period for report in reversed(self.day_reports()) if len(report.ledgers)), month)

    def sample_report(self) -> CashFlowReport:
        """Report of the sample period."""
        return self.reader.report(self.sample_period())

    def sample_days(self) -> list[CashFlowReport]:
        """Report of each day of the sample period."""
        return [self.reader.report(day) for day in self.sample_period().windows(1)]

    def balances_before(self) -> pd.DataFrame:
        """Balances at the end of the part before the sample period; those of its own start if there is none."""
        start = self.sample_period().start_date
        before = [report for report in self.part_reports() if report.period.end_date + _DAY == start]
        return before[0].ending_balances if before else self.sample_report().starting_balances

    def cash_ledgers(self) -> tuple[str, ...]:
        """Ledgers that report cash flow, in the report's order."""
        report = self.sample_report()
        return tuple(dict.fromkeys(chain(report.starting_balances["ledger_id"], report.ending_balances["ledger_id"])))

    def cash_lines(self) -> pd.DataFrame:
        """Lines of the sample period on the cash ledgers."""
        return self.reader.lines(self.cash_ledgers(), self.sample_period())

    def categories(self) -> tuple[str, ...]:
        """Opposing ledgers of cash, as named by report and lines; if there are very many, those with most lines."""
        report = self.sample_report()
        opposing = split_lists(self.cash_lines()["opposing_ledger_ids"])
        sizes = report.lines["ledger_id"].value_counts()
        flows = zip(report.ledgers["ledger_id"], report.ledgers["net_cash_flow"], strict=True)
        reported = [ledger_id for ledger_id, flow in flows if flow or ledger_id in sizes]
        found = set(chain(reported, opposing)) - set(self.cash_ledgers())
        return tuple(sorted(found, key=lambda ledger_id: (-sizes.get(ledger_id, 0), ledger_id))[:_MAX_CATEGORIES])

    def category_lines(self) -> pd.DataFrame:
        """Lines of the sample period on the categories, of entries that touch cash."""
        return self.reader.lines(self.categories(), self.sample_period())

    def entry_lines(self) -> pd.DataFrame:
        """All lines of the entries of the sample period that touch cash."""
        return pd.concat([self.cash_lines(), self.category_lines()], ignore_index=True)

    def complete_entry_lines(self) -> pd.DataFrame:
        """All lines of the entries of the sample period that touch cash, if every category was read."""
        if not self.has_all_categories:
            raise NotCheckedError(
                f"because only the lines of the {len(self.categories())} largest categories were read"
            )
        lines = self.entry_lines()
        if lines.empty:
            raise NotCheckedError(_NO_LINES)
        return lines

    def ledgers(self) -> pd.DataFrame:
        """Ledgers of the sample period, whose parents and types reports do not state."""
        cash = self.cash_ledgers()
        ids = [*cash, *self.categories()]
        return pd.DataFrame(
            {
                "id": ids,
                "name": [self.reader.ledger_name(one) for one in ids],
                "report_cash_flow": [one in cash for one in ids],
                "parent_id": None,
                "parent_known": False,
                "sort_code": "",
            }
        )

    @property
    def has_all_categories(self) -> bool:
        """Whether the lines of every category are read, not of the largest only."""
        return len(self.categories()) < _MAX_CATEGORIES


def find_last_months(reader: BooksReader, today: dt.date, time_zone: str) -> Period | None:
    """Last three full months that end with a month with cash flow; None without cash flow for a year."""
    last = today.replace(day=1) - _DAY
    for _ in range(_MONTHS_BACK):
        month = Period(last.replace(day=1), last, time_zone)
        try:
            report = reader.report(month)
        except InvalidRequestError:  # some deployments refuse days before the start of the books
            return None
        if len(report.ledgers):
            return Period(_first_day(reader, month), last, time_zone)
        last = month.start_date - _DAY
    return None


def _first_day(reader: BooksReader, month: Period) -> dt.date:
    """First day of three months that end with `month`, or of as many as the service shows."""
    first = month.start_date
    for _ in range(MONTHS - 1):
        last = first - _DAY
        try:
            reader.report(Period(last.replace(day=1), last, month.time_zone))
        except InvalidRequestError:
            break
        first = last.replace(day=1)
    return first


def failed(message: str) -> Finding:
    """Return the result of a check of the books that failed."""
    return findings.failed(message, _REPORT_IT)


def check_complete(books: BooksSample) -> Finding:
    """Check that no line of the entries that touch cash is missing, and that each day starts where the last ended."""
    reports = books.sample_days()
    certificate = check_completeness(books.complete_entry_lines(), report=reports)
    if not certificate.problems.empty:
        return failed(certificate.summary())
    return passed(
        f"{certificate.lines:,} lines of {certificate.entries:,} entries: debits equal credits, every line that an "
        f"entry or one of {len(reports)} daily reports names is listed, and each day starts where the last one ended"
    )


def check_reconciliation(books: BooksSample) -> Finding:
    """Check that a report is what its line entries make of the balances before it."""
    report, lines = books.sample_report(), books.complete_entry_lines()
    period = report.period
    if period.time_zone == LOCALTIME:
        raise NotCheckedError("because days are counted in the localtime of the service, which is not known here")
    recomputed = recompute_cash_flow(
        lines,
        books.ledgers(),
        period.start_date,
        period.end_date,
        time_zone=period.time_zone,
        starting_balances=books.balances_before(),
        allow_partial=True,
    )
    result = reconcile(report, recomputed, line_entries=lines, ledgers=books.ledgers())
    if not result.ties:
        return failed("; first: ".join([f"report of {period}: {result.verdict}", *result.explanations[:1]]))
    return passed(f"the report of {_days(report)} is that of its {len(lines):,} line entries: {result.verdict}")


def check_parts_sum(books: BooksSample) -> Finding:
    """Check that flows of January + flows of February = flows of January to February, per category."""
    if len(books.parts) == 1:
        raise NotCheckedError("because the period is one day long; give a longer one")
    return _check_sum(books, [books.reader.report(part) for part in books.parts], books.reader.report(books.period))


def check_days_sum(books: BooksSample) -> Finding:
    """Check that the flows of the days of a month sum to those of the month."""
    return _check_sum(books, books.day_reports(), books.reader.report(books.active_month()))


def _check_sum(books: BooksSample, reports: list[CashFlowReport], whole: CashFlowReport) -> Finding:
    mismatch = _find_mismatch(_net_flows(*reports), _net_flows(whole))
    if mismatch:
        (ledger_id,), of_parts, of_whole = mismatch
        return failed(
            f"{books.reader.ledger_label(ledger_id)}: the reports of {len(reports)} parts of {_days(whole)} sum to "
            f"{of_parts}, but the whole report has {of_whole}"
        )
    if not len(whole.ledgers):
        raise NotCheckedError(_NO_CASH_FLOW)
    return passed(
        f"the reports of {len(reports)} parts of {_days(whole)} sum to that of the whole, for "
        f"{count_of(len(whole.ledgers), 'ledger')}"
    )


def check_cash_filter(books: BooksSample) -> Finding:
    """Check that every line comes either with ``is_cashflow=true`` or with ``false``, and all of them without."""
    sample = books.sample_period()
    cash_entry_lines = books.entry_lines()
    ledger_ids = tuple(cash_entry_lines["ledger_id"].value_counts().index[:_MAX_FILTERED_LEDGERS])
    if not ledger_ids:
        raise NotCheckedError(_NO_LINES)
    with_true = _ids_by_ledger(cash_entry_lines)
    with_false = _ids_by_ledger(books.reader.lines(ledger_ids, sample, is_cashflow=False))
    unfiltered = _ids_by_ledger(books.reader.lines(ledger_ids, sample, is_cashflow=None))
    for ledger_id in ledger_ids:
        problem = _filter_problem(*(ids.get(ledger_id, set()) for ids in (with_true, with_false, unfiltered)))
        if problem:
            return failed(f"{books.reader.ledger_label(ledger_id)}, {sample}: {problem}")
    count = sum(map(len, unfiltered.values()))
    return passed(f"is_cashflow=true and false are all {count:,} lines of {count_of(len(ledger_ids), 'ledger')}")


def _filter_problem(with_true: set[str], with_false: set[str], unfiltered: set[str]) -> str:
    """First line of a ledger that the cash filter duplicates or loses; empty if there is none."""
    wrong = (with_true & with_false) | (unfiltered ^ (with_true | with_false))
    if not wrong:
        return ""
    line_id = min(wrong)
    lists = {"all": unfiltered, "is_cashflow=true": with_true, "is_cashflow=false": with_false}
    found_in = [name for name, ids in lists.items() if line_id in ids]
    if len(found_in) == len(lists):
        return f"is_cashflow does not filter, line {line_id} comes with true, with false and without"
    return (
        f"{len(unfiltered)} lines in all, but {len(with_true)} with is_cashflow=true and {len(with_false)} with "
        f"false; line {line_id} is among {' and '.join(found_in)} only"
    )


def check_opposing_ledgers(books: BooksSample) -> Finding:
    """Check that ``opposing_ledger_ids`` of a line are the ledgers on the other side of its entry."""
    columns = ["journal_entry_id", "id", "ledger_id", "debit_credit", "amount", "opposing_ledger_ids", _ENTRY_LINE_IDS]
    entries = books.complete_entry_lines()[columns].groupby("journal_entry_id")
    comparable = 0
    for entry_id, lines in entries:
        entry: list[dict[Any, Any]] = lines.to_dict("records")
        for row in entry:
            stated = split_list(row["opposing_ledger_ids"])
            if stated is None or not _is_complete(row, entry):
                continue
            comparable += 1
            opposing = {line["ledger_id"] for line in entry if line["debit_credit"] != row["debit_credit"]}
            others = {line["ledger_id"] for line in entry if line["id"] != row["id"]}
            if not opposing <= stated <= others:
                return failed(
                    f"line {row['id']} on {books.reader.ledger_label(row['ledger_id'])} has the opposing ledgers "
                    f"{join_ids(stated) or 'none'}, but the other side of its entry {entry_id} is "
                    f"{join_ids(opposing) or 'none'}"
                )
    if not comparable:
        raise NotCheckedError("because no line entry came with opposing_ledger_ids")
    return passed(f"{comparable:,} lines have the ledgers on the other side of their entries")


def _is_complete(row: dict[Any, Any], entry: list[dict[Any, Any]]) -> bool:
    """Whether all lines of the entry of a line are known, and no amount flips its side."""
    known = {line["id"] for line in entry}
    return known >= (split_list(row[_ENTRY_LINE_IDS]) or set()) and all(line["amount"] > 0 for line in entry)


def check_tag_filter(books: BooksSample) -> Finding:
    """Check that a report filtered by a tag has the lines with the tag, each as in the whole report."""
    report, lines = books.sample_report(), books.category_lines()
    tag_ids = sorted(set(split_lists(lines["tag_ids"])))
    if not tag_ids:
        raise NotCheckedError(f"because no category line of {_days(report)} has a tag")
    period, tag = report.period, tag_ids[0]
    days = (period.start_date, period.end_date)
    try:
        tagged = load_cash_flow_report(books.reader.client, *days, time_zone=period.time_zone, tag_ids=[tag]).exact()
    except PermissionDeniedError:
        raise NotCheckedError("because reports by tag need a Tier 3 subscription (403)") from None
    tagged_amounts, amounts = (_column_sums(one.lines, "amount", "ledger_id", "line_id") for one in (tagged, report))
    mismatch = _find_mismatch(tagged_amounts, {key: amounts.get(key, _ZERO) for key in tagged_amounts})
    if mismatch and not report.lines.empty:
        (ledger_id, line_id), in_tagged, in_whole = mismatch
        return failed(
            f"{books.reader.ledger_label(ledger_id)}, line {line_id}: {in_tagged} in the report of tag {tag}, but "
            f"{in_whole} in the whole report of {period}"
        )
    tagged_lines = lines[[tag in (split_list(tags) or ()) for tags in lines["tag_ids"]]]
    of_lines = _column_sums(tagged_lines, "signed_amount", "ledger_id")
    mismatch = _find_mismatch(_net_flows(tagged), {key: amount.copy_negate() for key, amount in of_lines.items()})
    if mismatch and books.has_all_categories:
        (ledger_id,), in_tagged, in_lines = mismatch
        return failed(
            f"{books.reader.ledger_label(ledger_id)}, {period}: {in_tagged} in the report of tag {tag}, but its line "
            f"entries with the tag sum to {in_lines}"
        )
    return passed(f"the report of tag {tag} has its {count_of(len(tagged_lines), 'line')}, of {len(report.lines):,}")


def check_page_sizes(books: BooksSample) -> Finding:
    """Check that small pages have at most the requested number of lines, and together the same lines as large ones."""
    sample, lines = books.sample_period(), books.entry_lines()
    sizes = lines["ledger_id"].value_counts()
    if sizes.empty or sizes.iloc[0] < 2:  # noqa: PLR2004 (two pages)
        raise NotCheckedError("because no ledger has two line entries in the period")
    ledger_id, limit = sizes.index[0], math.ceil(sizes.iloc[0] / _PAGES)
    label = books.reader.ledger_label(ledger_id)
    counts: Counter[str] = Counter()
    pages = books.reader.client.iter_line_entry_pages(
        ledger_id, sample.start_date, sample.end_date, time_zone=sample.time_zone, is_cashflow=True, limit=limit
    )
    page_count = 0
    for page_count, page in enumerate(pages, 1):
        if len(page.records) > limit:
            return failed(
                f"{label}, {sample}: limit={limit} was requested, and page {page_count} has {len(page.records)} lines"
            )
        counts.update(line.id for line in page.records)
    expected = _ids_by_ledger(lines)[ledger_id]
    wrong = {line_id for line_id, count in counts.items() if count > 1} | (expected ^ counts.keys())
    if wrong:
        line_id = min(wrong)
        return failed(
            f"{label}, {sample}: line {line_id} comes {count_of(counts[line_id], 'time')} in pages of {limit}, and "
            f"{'once' if line_id in expected else 'not at all'} in one of 1,000"
        )
    return passed(f"{len(counts):,} lines of {label} in {page_count} pages of at most {limit}")


def check_expansions(books: BooksSample) -> Finding:
    """Check that responses include what the parameter ``expand`` requests."""
    sample = books.sample_period()
    sizes = books.cash_lines()["ledger_id"].value_counts()
    if sizes.empty:
        raise NotCheckedError("because no cash ledger has a line entry in the period")
    query = (sizes.index[0], sample.start_date, sample.end_date)
    client = books.reader.client
    page = client.list_line_entries(*query, time_zone=sample.time_zone, expand=_EXPANSIONS, limit=_EXPANDED_LINES)
    for path, line in _missing_expansions(page.records):
        label = books.reader.ledger_label(line.ledger_id)
        return failed(f"{path} was requested, and line {line.id} on {label} does not have it")
    try:
        client.list_line_entries(*query, time_zone=sample.time_zone, expand=("ledger", _PARENT), limit=1)
    except InvalidRequestError:
        return passed("the documented paths are included; ledger.parent is refused: pass parents= to discover_ledgers")
    return passed(f"{', '.join(_EXPANSIONS)} and {_PARENT} are included")


def _missing_expansions(lines: Iterable[LineEntry]) -> Iterator[tuple[str, LineEntry]]:
    """Lines without a requested expansion; only lines with a transaction id have a transaction."""
    for line in lines:
        if line.ledger is None:
            yield "ledger", line
        if line.journal_entry is None or line.journal_entry.line_entry_ids is None:
            yield "journal_entry", line
        if line.opposing_ledger_ids is None:
            yield "opposing_ledger_ids", line
        if line.transaction_id is not None and line.transaction is None:
            yield "transaction", line


def _find_mismatch(first: Sums, second: Sums) -> tuple[Key, str, str] | None:
    """First key with different amounts, and these; a missing one is zero, as a report may omit zero rows."""
    for key in dict.fromkeys((*first, *second)):
        amounts = first.get(key, _ZERO), second.get(key, _ZERO)
        if amounts[0] != amounts[1]:
            return key, format_amount(amounts[0]), format_amount(amounts[1])
    return None


def _column_sums(rows: pd.DataFrame, column: str, *keys: str) -> Sums:
    """Exact sum of a column by the values of some others."""
    cells = rows[[*keys, column]].itertuples(index=False, name=None)
    return sum_by_key((tuple(key), amount) for *key, amount in cells)


def _net_flows(*reports: CashFlowReport) -> Sums:
    """Net cash flow by ledger, summed over some reports."""
    return _column_sums(pd.concat([report.ledgers for report in reports]), "net_cash_flow", "ledger_id")


def _ids_by_ledger(lines: pd.DataFrame) -> dict[str, set[str]]:
    return {str(ledger_id): set(ids) for ledger_id, ids in lines.groupby("ledger_id")["id"]}


def _days(report: CashFlowReport) -> str:
    return f"{report.period.start_date} to {report.period.end_date}"


BOOKS_CHECKS: dict[str, Callable[[BooksSample], Finding]] = {
    "months add up": check_parts_sum,
    "days add up": check_days_sum,
    "complete": check_complete,
    "reconciled": check_reconciliation,
    "cash filter": check_cash_filter,
    "opposing ledgers": check_opposing_ledgers,
    "tagged report": check_tag_filter,
    "page size": check_page_sizes,
    "expand": check_expansions,
}
"""Checks of the books, by the names of their findings."""
