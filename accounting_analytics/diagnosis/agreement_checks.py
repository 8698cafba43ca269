"""Checks of the books: two ways to request the same figures or lines return the same, to the last digit."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.column_conversion import split_list, split_lists
from accounting_analytics.completeness import check_completeness
from accounting_analytics.diagnosis import findings
from accounting_analytics.diagnosis.books_sample import NO_CASH_FLOW, NO_LINES
from accounting_analytics.diagnosis.findings import Finding, NotCheckedError, passed
from accounting_analytics.errors import InvalidRequestError, PermissionDeniedError
from accounting_analytics.loader import load_cash_flow_report
from accounting_analytics.messages import count_of, join_ids
from accounting_analytics.money import format_amount, sum_by_key
from accounting_analytics.periods import LOCALTIME
from accounting_analytics.reconciliation import reconcile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.client.records import LineEntry
    from accounting_analytics.diagnosis.books_sample import BooksSample

    Key = tuple[str, ...]
    Sums = dict[Key, Decimal]

_ZERO = Decimal(0)
_MAX_FILTERED_LEDGERS = 8
_PAGES = 4
_EXPANDED_LINES = 20
_EXPANSIONS = ("ledger", "transaction", "journal_entry", "opposing_ledger_ids")
_PARENT = "ledger.parent"
_ENTRY_LINE_IDS = "journal_entry_line_entry_ids"
_ONE_DAY = "because the period is one day long; give a longer one"
_REPORT_IT = "report this to the operator of the service, and do not use these figures until they agree"


class Mismatch(NamedTuple):
    """The first key for which two results have different amounts."""

    key: Key
    first: str
    second: str


def find_mismatch(first: Sums, second: Sums) -> Mismatch | None:
    """First key with different amounts; a missing one is zero, as a report may omit zero rows."""
    for key in dict.fromkeys((*first, *second)):
        amounts = first.get(key, _ZERO), second.get(key, _ZERO)
        if amounts[0] != amounts[1]:
            return Mismatch(key, *map(format_amount, amounts))
    return None


def column_sums(rows: pd.DataFrame, column: str, *keys: str) -> Sums:
    """Exact sum of a column by the values of some others."""
    cells = rows[[*keys, column]].itertuples(index=False, name=None)
    return sum_by_key((tuple(key), amount) for *key, amount in cells)


def net_flows(*reports: CashFlowReport) -> Sums:
    """Net cash flow by ledger, summed over some reports."""
    return column_sums(pd.concat([report.ledgers for report in reports]), "net_cash_flow", "ledger_id")


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
    reports = _several_reports(books)
    whole = books.reader.report(books.period)
    mismatch = find_mismatch(net_flows(*reports), net_flows(whole))
    if mismatch:
        return failed(
            f"{_label(books, mismatch.key)}: {len(reports)} parts from {books.period.start_date} to "
            f"{books.period.end_date} sum to {mismatch.first}, but the whole report has {mismatch.second}"
        )
    if not len(whole.ledgers):
        raise NotCheckedError(NO_CASH_FLOW)
    return passed(
        f"flows of {len(reports)} parts of the period sum to those of the whole, for "
        f"{count_of(len(whole.ledgers), 'ledger')}"
    )


def check_days_sum(books: BooksSample) -> Finding:
    """Check that the flows of the days of a month sum to those of the month."""
    month = books.active_month()
    days, whole = books.day_reports(), books.reader.report(month)
    mismatch = find_mismatch(net_flows(*days), net_flows(whole))
    if mismatch:
        return failed(
            f"{_label(books, mismatch.key)}: {len(days)} daily reports of {month} sum to {mismatch.first}, but the "
            f"whole report has {mismatch.second}"
        )
    return passed(f"{len(days)} daily reports sum to that of {month.start_date} to {month.end_date}")


def check_cash_filter(books: BooksSample) -> Finding:
    """Check that every line comes either with ``is_cashflow=true`` or with ``false``, and all of them without."""
    sample = books.sample_period()
    cash_entry_lines = books.entry_lines()
    ledger_ids = tuple(cash_entry_lines["ledger_id"].value_counts().index[:_MAX_FILTERED_LEDGERS])
    if not ledger_ids:
        raise NotCheckedError(NO_LINES)
    with_true = _ids_by_ledger(cash_entry_lines)
    with_false = _ids_by_ledger(books.reader.lines(ledger_ids, sample, is_cashflow=False))
    unfiltered = _ids_by_ledger(books.reader.lines(ledger_ids, sample, is_cashflow=None))
    for ledger_id in ledger_ids:
        problem = _filter_problem(with_true[ledger_id], with_false[ledger_id], unfiltered[ledger_id])
        if problem:
            return failed(f"{books.reader.ledger_label(ledger_id)}, {sample}: {problem}")
    count = sum(len(unfiltered[ledger_id]) for ledger_id in ledger_ids)
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
    rows: list[dict[Any, Any]] = books.complete_entry_lines()[columns].to_dict("records")
    entries: defaultdict[str, list[dict[Any, Any]]] = defaultdict(list)
    for row in rows:
        entries[row["journal_entry_id"]].append(row)
    comparable = [row for row in rows if _is_comparable(row, entries[row["journal_entry_id"]])]
    if not comparable:
        raise NotCheckedError("because no line entry came with opposing_ledger_ids")
    for row in comparable:
        entry = entries[row["journal_entry_id"]]
        opposing = {line["ledger_id"] for line in entry if line["debit_credit"] != row["debit_credit"]}
        others = {line["ledger_id"] for line in entry if line["id"] != row["id"]}
        stated = split_list(row["opposing_ledger_ids"]) or set()
        if not opposing <= stated <= others:
            return failed(
                f"line {row['id']} on {books.reader.ledger_label(row['ledger_id'])} has the opposing ledgers "
                f"{join_ids(stated) or 'none'}, but the other side of its entry {row['journal_entry_id']} is "
                f"{join_ids(opposing) or 'none'}"
            )
    return passed(f"{len(comparable):,} lines have the ledgers on the other side of their entries")


def _is_comparable(row: dict[Any, Any], entry: list[dict[Any, Any]]) -> bool:
    """Whether a line has opposing ledgers, all lines of its entry are known, and no amount flips its side."""
    is_complete = {line["id"] for line in entry} >= (split_list(row[_ENTRY_LINE_IDS]) or set())
    has_opposing = split_list(row["opposing_ledger_ids"]) is not None
    return has_opposing and is_complete and all(line["amount"] > 0 for line in entry)


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
    tagged_amounts, amounts = (column_sums(one.lines, "amount", "ledger_id", "line_id") for one in (tagged, report))
    mismatch = find_mismatch(tagged_amounts, {key: amounts.get(key, _ZERO) for key in tagged_amounts})
    if mismatch and not report.lines.empty:
        return failed(
            f"{_label(books, mismatch.key)}, line {mismatch.key[1]}: {mismatch.first} in the report of tag {tag}, but "
            f"{mismatch.second} in the whole report of {period}"
        )
    tagged_lines = lines[[tag in (split_list(tags) or ()) for tags in lines["tag_ids"]]]
    mismatch = find_mismatch(net_flows(tagged), _cash_flows(tagged_lines, "ledger_id"))
    if mismatch and books.has_all_categories:
        return failed(
            f"{_label(books, mismatch.key)}, {period}: {mismatch.first} in the report of tag {tag}, but its line "
            f"entries with the tag sum to {mismatch.second}"
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


def _several_reports(books: BooksSample) -> list[CashFlowReport]:
    """Read the reports of the parts of the period, of which there must be two."""
    reports = books.part_reports()
    if len(reports) < 2:  # noqa: PLR2004 (something to compare)
        raise NotCheckedError(_ONE_DAY)
    return reports


def _cash_flows(lines: pd.DataFrame, *keys: str) -> Sums:
    """Cash flow of category lines by key: a credit is an inflow."""
    return {key: amount.copy_negate() for key, amount in column_sums(lines, "signed_amount", *keys).items()}


def _ids_by_ledger(lines: pd.DataFrame) -> defaultdict[str, set[str]]:
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for ledger_id, line_id in zip(lines["ledger_id"], lines["id"], strict=True):
        ids[ledger_id].add(line_id)
    return ids


def _label(books: BooksSample, key: Key) -> str:
    """Label of the ledger that a key begins with."""
    return books.reader.ledger_label(key[0])


def _days(report: CashFlowReport) -> str:
    return f"{report.period.start_date} to {report.period.end_date}"
