"""Checks that line entries agree with reports, and with themselves under every filter, page size and expansion."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from accounting_analytics.completeness import check_completeness
from accounting_analytics.diagnosis.report_checks import (
    NO_CASH_FLOW,
    failed,
    find_mismatch,
    net_flows,
    not_checked,
    passed,
    sum_by_key,
)
from accounting_analytics.errors import InvalidRequestError, PermissionDeniedError
from accounting_analytics.frame_columns import split_list, split_lists
from accounting_analytics.loader import load_cash_flow_report
from accounting_analytics.messages import join_ids
from accounting_analytics.money import format_amount

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.client.records import LineEntry
    from accounting_analytics.diagnosis.books_sample import BooksSample
    from accounting_analytics.diagnosis.finding import Finding

_MAX_FILTERED_LEDGERS = 8
_PAGES = 4
_EXPANDED_LINES = 20
_EXPANSIONS = ("ledger", "transaction", "journal_entry", "opposing_ledger_ids")
_PARENT = "ledger.parent"
_ENTRY_LINE_IDS = "journal_entry_line_entry_ids"
_NO_LINES = "because no ledger of the report has a line entry in the period"


def check_lines_match_report(books: BooksSample) -> Finding:
    """Check that category lines with ``is_cashflow=true`` are the lines of the report."""
    check = "lines = report"
    report = books.sample_report()
    if report is None:
        return not_checked(check, NO_CASH_FLOW)
    lines = books.category_lines()
    if report.lines.empty:
        mismatch = find_mismatch(net_flows(report), _cash_flows(lines, ["ledger_id"]))
        place = "" if mismatch is None else books.responses.ledger_label(str(mismatch.key))
    else:
        reported = report.lines.drop_duplicates(["line_id", "ledger_id"])
        reported = reported[reported["ledger_id"].isin(books.categories())]
        keys = ["ledger_id", "journal_entry_id"]
        mismatch = find_mismatch(_sum_lines(reported, keys, "amount"), _cash_flows(lines, keys))
        place = "" if mismatch is None else _entry_label(mismatch.key, books)
    if mismatch:
        return failed(
            check,
            f"{place}, {report.period}: the report has {format_amount(mismatch.first)}, but its line entries with "
            f"is_cashflow=true sum to {format_amount(mismatch.second)}",
        )
    return passed(
        check, f"{len(lines):,} category lines of {_days(report)} are those of the report, {_category_count(books)}"
    )


def check_cash_filter(books: BooksSample) -> Finding:
    """Check that every line comes either with ``is_cashflow=true`` or with ``false``, and all of them without."""
    check = "cash filter"
    sample = books.sample_period()
    if sample is None:
        return not_checked(check, NO_CASH_FLOW)
    cash_entry_lines = books.entry_lines()
    ledger_ids = tuple(cash_entry_lines["ledger_id"].value_counts().index[:_MAX_FILTERED_LEDGERS])
    if not ledger_ids:
        return not_checked(check, _NO_LINES)
    with_true = _ids_by_ledger(cash_entry_lines)
    with_false = _ids_by_ledger(books.responses.lines(ledger_ids, sample, is_cashflow=False))
    unfiltered = _ids_by_ledger(books.responses.lines(ledger_ids, sample, is_cashflow=None))
    for ledger_id in ledger_ids:
        problem = _filter_problem(with_true[ledger_id], with_false[ledger_id], unfiltered[ledger_id])
        if problem:
            return failed(check, f"{books.responses.ledger_label(ledger_id)}, {sample}: {problem}")
    count = sum(len(unfiltered[ledger_id]) for ledger_id in ledger_ids)
    return passed(check, f"is_cashflow=true and false are all {count:,} lines of {len(ledger_ids)} ledger(s)")


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


def check_entries_complete(books: BooksSample) -> Finding:
    """Check that debits equal credits in every entry that touches cash, and its lines can be listed."""
    check = "whole entries"
    lines = _complete_entry_lines(books)
    if isinstance(lines, str):
        return not_checked(check, lines)
    certificate = check_completeness(lines)
    if certificate.problems.empty:
        return passed(check, f"{certificate.entries:,} entries: debits equal credits, every named line is listed")
    first = certificate.problems.iloc[0].dropna()
    details = ", ".join(f"{str(name).replace('_', ' ')} {value}" for name, value in first.items() if name != "problem")
    return failed(check, f"{len(certificate.problems):,} problem(s); first: {first['problem']}: {details}")


def check_opposing_ledgers(books: BooksSample) -> Finding:
    """Check that ``opposing_ledger_ids`` of a line are the ledgers on the other side of its entry."""
    check = "opposing ledgers"
    lines = _complete_entry_lines(books)
    if isinstance(lines, str):
        return not_checked(check, lines)
    columns = ["journal_entry_id", "id", "ledger_id", "debit_credit", "amount", "opposing_ledger_ids", _ENTRY_LINE_IDS]
    rows: list[dict[Any, Any]] = lines[columns].to_dict("records")
    entries: defaultdict[str, list[dict[Any, Any]]] = defaultdict(list)
    for row in rows:
        entries[row["journal_entry_id"]].append(row)
    compared = 0
    for row in rows:
        entry = entries[row["journal_entry_id"]]
        if not _is_comparable(row, entry):
            continue
        compared += 1
        opposing = {line["ledger_id"] for line in entry if line["debit_credit"] != row["debit_credit"]}
        others = {line["ledger_id"] for line in entry if line["id"] != row["id"]}
        stated = split_list(row["opposing_ledger_ids"]) or set()
        if not opposing <= stated <= others:
            return failed(
                check,
                f"line {row['id']} on {books.responses.ledger_label(row['ledger_id'])} has the opposing ledgers "
                f"{join_ids(stated) or 'none'}, but the other side of its entry {row['journal_entry_id']} is "
                f"{join_ids(opposing) or 'none'}",
            )
    if not compared:
        return not_checked(check, "because no line entry came with opposing_ledger_ids")
    return passed(check, f"{compared:,} lines have the ledgers on the other side of their entries")


def _is_comparable(row: dict[Any, Any], entry: list[dict[Any, Any]]) -> bool:
    """Whether a line has opposing ledgers, all lines of its entry are known, and no amount flips its side."""
    is_complete = {line["id"] for line in entry} >= (split_list(row[_ENTRY_LINE_IDS]) or set())
    has_opposing = split_list(row["opposing_ledger_ids"]) is not None
    return has_opposing and is_complete and all(line["amount"] > 0 for line in entry)


def check_expansions(books: BooksSample) -> Finding:
    """Check that responses include what the parameter ``expand`` requests."""
    check = "expand"
    sample = books.sample_period()
    if sample is None:
        return not_checked(check, NO_CASH_FLOW)
    sizes = books.cash_lines()["ledger_id"].value_counts()
    if sizes.empty:
        return not_checked(check, "because no cash ledger has a line entry in the period")
    query = (sizes.index[0], sample.start_date, sample.end_date)
    client = books.responses.client
    page = client.list_line_entries(*query, time_zone=sample.time_zone, expand=_EXPANSIONS, limit=_EXPANDED_LINES)
    for path, line in _missing_expansions(page.records):
        label = books.responses.ledger_label(line.ledger_id)
        return failed(check, f"{path} was requested, and line {line.id} on {label} does not have it")
    try:
        client.list_line_entries(*query, time_zone=sample.time_zone, expand=("ledger", _PARENT), limit=1)
    except InvalidRequestError:
        return passed(
            check, "the documented paths are included; ledger.parent is refused: pass parents= to discover_ledgers"
        )
    return passed(check, f"{', '.join(_EXPANSIONS)} and {_PARENT} are included")


def check_page_sizes(books: BooksSample) -> Finding:
    """Check that small pages have at most the requested number of lines, and together the same lines as large ones."""
    check = "page size"
    sample = books.sample_period()
    if sample is None:
        return not_checked(check, NO_CASH_FLOW)
    lines = books.entry_lines()
    sizes = lines["ledger_id"].value_counts()
    if sizes.empty or sizes.iloc[0] < 2:  # noqa: PLR2004 (two pages)
        return not_checked(check, "because no ledger has two line entries in the period")
    ledger_id, limit = sizes.index[0], math.ceil(sizes.iloc[0] / _PAGES)
    label = books.responses.ledger_label(ledger_id)
    counts: Counter[str] = Counter()
    pages = books.responses.client.iter_line_entry_pages(
        ledger_id, sample.start_date, sample.end_date, time_zone=sample.time_zone, is_cashflow=True, limit=limit
    )
    page_count = 0
    for page_count, page in enumerate(pages, 1):
        if len(page.records) > limit:
            return failed(
                check,
                f"{label}, {sample}: limit={limit} was requested, and page {page_count} has {len(page.records)} lines",
            )
        counts.update(line.id for line in page.records)
    expected = _ids_by_ledger(lines)[ledger_id]
    wrong = {line_id for line_id, count in counts.items() if count > 1} | (expected ^ counts.keys())
    if wrong:
        line_id = min(wrong)
        return failed(
            check,
            f"{label}, {sample}: line {line_id} comes {counts[line_id]} time(s) in pages of {limit}, and "
            f"{'once' if line_id in expected else 'not at all'} in one of 1,000",
        )
    return passed(check, f"{len(counts):,} lines of {label} in {page_count} pages of at most {limit}")


def check_tag_filter(books: BooksSample) -> Finding:
    """Check that a report filtered by a tag has the lines with the tag, each as in the whole report."""
    check = "tagged report"
    report = books.sample_report()
    if report is None:
        return not_checked(check, NO_CASH_FLOW)
    lines = books.category_lines()
    tag_ids = sorted(set(split_lists(lines["tag_ids"])))
    if not tag_ids:
        return not_checked(check, f"because no category line of {_days(report)} has a tag")
    period, tag = report.period, tag_ids[0]
    days = (period.start_date, period.end_date)
    try:
        tagged = load_cash_flow_report(books.responses.client, *days, time_zone=period.time_zone, tag_ids=[tag]).exact()
    except PermissionDeniedError:
        return not_checked(check, "because reports by tag need a Tier 3 subscription (403)")
    tagged_amounts = _sum_lines(tagged.lines, ["ledger_id", "line_id"], "amount")
    amounts = _sum_lines(report.lines, ["ledger_id", "line_id"], "amount")
    mismatch = find_mismatch(tagged_amounts, {key: amounts.get(key, Decimal(0)) for key in tagged_amounts})
    if mismatch and not report.lines.empty:
        ledger_id, line_id = _pair(mismatch.key)
        return failed(
            check,
            f"{books.responses.ledger_label(ledger_id)}, line {line_id}: {format_amount(mismatch.first)} in the report "
            f"of tag {tag}, but {format_amount(mismatch.second)} in the whole report of {period}",
        )
    tagged_lines = lines[[tag in (split_list(tags) or ()) for tags in lines["tag_ids"]]]
    mismatch = find_mismatch(net_flows(tagged), _cash_flows(tagged_lines, ["ledger_id"]))
    if mismatch and books.has_all_categories:
        return failed(
            check,
            f"{books.responses.ledger_label(str(mismatch.key))}, {period}: {format_amount(mismatch.first)} in the "
            f"report of tag {tag}, but its line entries with the tag sum to {format_amount(mismatch.second)}",
        )
    return passed(check, f"the report of tag {tag} has its {len(tagged_lines):,} line(s), of {len(report.lines):,}")


def _complete_entry_lines(books: BooksSample) -> pd.DataFrame | str:
    """Every line of the entries that touch cash; or why some are not known."""
    if books.sample_period() is None:
        return NO_CASH_FLOW
    if not books.has_all_categories:
        return f"because only the lines of the {len(books.categories())} largest categories were read"
    lines = books.entry_lines()
    return lines if len(lines) else _NO_LINES


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


def _cash_flows(lines: pd.DataFrame, keys: list[str]) -> dict[Hashable, Decimal]:
    """Cash flow of category lines by key: a credit is an inflow."""
    return {key: amount.copy_negate() for key, amount in _sum_lines(lines, keys, "signed_amount").items()}


def _sum_lines(lines: pd.DataFrame, keys: list[str], column: str) -> dict[Hashable, Decimal]:
    key_values = lines[keys[0]] if len(keys) == 1 else lines[keys].itertuples(index=False, name=None)
    return sum_by_key(zip(key_values, lines[column], strict=True))


def _ids_by_ledger(lines: pd.DataFrame) -> defaultdict[str, set[str]]:
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for ledger_id, line_id in zip(lines["ledger_id"], lines["id"], strict=True):
        ids[ledger_id].add(line_id)
    return ids


def _entry_label(key: Hashable, books: BooksSample) -> str:
    ledger_id, entry_id = _pair(key)
    return f"{books.responses.ledger_label(ledger_id)}, entry {entry_id}"


def _pair(key: Hashable) -> tuple[str, str]:
    first, second = cast("tuple[str, str]", key)
    return first, second


def _days(report: CashFlowReport) -> str:
    return f"{report.period.start_date} to {report.period.end_date}"


def _category_count(books: BooksSample) -> str:
    count = len(books.categories())
    return f"on all {count} categories" if books.has_all_categories else f"on the {count} largest categories"
