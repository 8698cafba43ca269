"""Metamorphic checks of line entries: filters, pages, expansions and reports must tell of the same lines."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from accounting_analytics.completeness import check_completeness
from accounting_analytics.diagnosis.relations import (
    NOTHING_MOVED,
    broken,
    first_gap,
    flows,
    not_checked,
    passed,
    sums,
)
from accounting_analytics.errors import InvalidRequestError, PermissionDeniedError
from accounting_analytics.loader import load_cash_flow_report
from accounting_analytics.money import format_amount

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator
    from decimal import Decimal

    import pandas as pd

    from accounting_analytics.client.records import LineEntry
    from accounting_analytics.diagnosis.cached_responses import Books
    from accounting_analytics.diagnosis.finding import Finding
    from accounting_analytics.schemas import CashFlowReport

_FILTERED_LEDGERS = 8
_PAGES = 4
_PEEK = 20
_EXPANSIONS = ("ledger", "transaction", "journal_entry", "opposing_ledger_ids")
_PARENT = "ledger.parent"
_NAMED = "journal_entry_line_entry_ids"


def report_has_the_lines(books: Books) -> Finding:
    """Check that category lines with ``is_cashflow=true`` are the lines of the report."""
    check = "lines = report"
    report = books.stretch_reported()
    if report is None:
        return not_checked(check, NOTHING_MOVED)
    lines = books.category_lines()
    categories = set(books.categories())
    if report.lines.empty:
        gap = first_gap(flows(report), _flows_of(lines, ["ledger_id"]))
        where = "" if gap is None else books.evidence.named(str(gap.key))
    else:
        told = report.lines.drop_duplicates(["line_id", "ledger_id"])
        told = told[told["ledger_id"].isin(categories)]
        keys = ["ledger_id", "journal_entry_id"]
        gap = first_gap(_summed(told, keys, told["amount"]), _flows_of(lines, keys))
        where = "" if gap is None else _entry_of(gap.key, books)
    if gap:
        return broken(
            check,
            f"{where}, {report.period}: the report says {format_amount(gap.one)}, but its line entries with "
            f"is_cashflow=true say {format_amount(gap.other)}",
        )
    return passed(
        check, f"{len(lines):,} category lines of {_days(report)} are those of the report, {_looked_at(books)}"
    )


def cash_filter_splits(books: Books) -> Finding:
    """Check that lines with ``is_cashflow=true`` and those with ``false`` are together all lines, none twice."""
    check = "cash filter"
    stretch = books.stretch()
    if stretch is None:
        return not_checked(check, NOTHING_MOVED)
    touching = books.entry_lines()
    ledger_ids = tuple(touching["ledger_id"].value_counts().index[:_FILTERED_LEDGERS])
    if not ledger_ids:
        return not_checked(check, "because no ledger of the report has a line entry in the period")
    other = _ids(books.evidence.lines(ledger_ids, stretch, is_cashflow=False))
    everything = _ids(books.evidence.lines(ledger_ids, stretch, is_cashflow=None))
    with_cash = _ids(touching)
    for ledger_id in ledger_ids:
        yes, no, both = with_cash[ledger_id], other[ledger_id], everything[ledger_id]
        wrong = (yes & no) or (both ^ (yes | no))
        if wrong:
            line_id = min(wrong)
            sides = [
                name
                for name, ids in (("all", both), ("is_cashflow=true", yes), ("is_cashflow=false", no))
                if line_id in ids
            ]
            return broken(
                check,
                f"{books.evidence.named(ledger_id)}, {stretch}: {len(both)} lines in all, but {len(yes)} with "
                f"is_cashflow=true and {len(no)} with false; line {line_id} is among {' and '.join(sides)} only"
                if len(sides) < 3  # noqa: PLR2004 (all three)
                else f"{books.evidence.named(ledger_id)}, {stretch}: is_cashflow does not filter, line {line_id} comes "
                "with true, with false and without",
            )
    count = sum(len(everything[ledger_id]) for ledger_id in ledger_ids)
    return passed(check, f"is_cashflow=true and false are all {count:,} lines of {len(ledger_ids)} ledger(s)")


def entries_are_whole(books: Books) -> Finding:
    """Check that debits equal credits in every entry that touches cash, and its lines can be listed."""
    check = "whole entries"
    lines = _lines_of_whole_entries(books)
    if isinstance(lines, str):
        return not_checked(check, lines)
    certificate = check_completeness(lines)
    if certificate.complete:
        return passed(check, f"{certificate.entries:,} entries: debits equal credits, every named line is listed")
    first = certificate.problems.iloc[0].dropna()
    told = ", ".join(f"{str(name).replace('_', ' ')} {value}" for name, value in first.items() if name != "problem")
    return broken(check, f"{len(certificate.problems):,} problem(s); first: {first['problem']}: {told}")


def opposing_ledgers_agree(books: Books) -> Finding:
    """Check that ``opposing_ledger_ids`` of a line are the ledgers on the other side of its entry."""
    check = "opposing ledgers"
    lines = _lines_of_whole_entries(books)
    if isinstance(lines, str):
        return not_checked(check, lines)
    columns = ["journal_entry_id", "id", "ledger_id", "debit_credit", "amount", "opposing_ledger_ids", _NAMED]
    rows: list[dict[Any, Any]] = lines[columns].to_dict("records")
    entries: defaultdict[str, list[dict[Any, Any]]] = defaultdict(list)
    for row in rows:
        entries[row["journal_entry_id"]].append(row)
    compared = 0
    for row in rows:
        entry = entries[row["journal_entry_id"]]
        told = row["opposing_ledger_ids"]
        named = row[_NAMED]
        here = not _is_list(named) or {one["id"] for one in entry} >= set(named)
        if not _is_list(told) or not here or any(one["amount"] <= 0 for one in entry):
            continue  # not sent along; or lines are missing; or the side is not the one that is written
        compared += 1
        opposite = {one["ledger_id"] for one in entry if one["debit_credit"] != row["debit_credit"]}
        others = {one["ledger_id"] for one in entry if one["id"] != row["id"]}
        if not opposite <= set(told) <= others:
            return broken(
                check,
                f"line {row['id']} on {books.evidence.named(row['ledger_id'])} names {_listed(told)} as opposing, but "
                f"the other side of its entry {row['journal_entry_id']} is {_listed(opposite)}",
            )
    if not compared:
        return not_checked(check, "because no line entry came with opposing_ledger_ids")
    return passed(check, f"{compared:,} lines name the ledgers on the other side of their entries")


def expansions_are_honoured(books: Books) -> Finding:
    """Check that what is asked for with ``expand`` is sent along."""
    check = "expand"
    stretch = books.stretch()
    if stretch is None:
        return not_checked(check, NOTHING_MOVED)
    cash = books.cash_lines()["ledger_id"].value_counts()
    if cash.empty:
        return not_checked(check, "because no cash ledger has a line entry in the period")
    asked = (cash.index[0], stretch.start_date, stretch.end_date)
    client = books.evidence.client
    page = client.list_line_entries(*asked, time_zone=stretch.time_zone, expand=_EXPANSIONS, limit=_PEEK)
    for path, line in _unexpanded(page.records):
        return broken(
            check, f"{path} was asked for, and line {line.id} on {books.evidence.named(line.ledger_id)} lacks it"
        )
    try:
        client.list_line_entries(*asked, time_zone=stretch.time_zone, expand=("ledger", _PARENT), limit=1)
    except InvalidRequestError:
        said = "the documented paths are sent along; ledger.parent is refused: give parents= to discover_ledgers"
        return passed(check, said)
    return passed(check, f"{', '.join(_EXPANSIONS)} and {_PARENT} are sent along")


def pages_are_whole(books: Books) -> Finding:
    """Check that small pages hold no more than was asked for, and together the same lines as large ones."""
    check = "page size"
    stretch = books.stretch()
    if stretch is None:
        return not_checked(check, NOTHING_MOVED)
    lines = books.entry_lines()
    sizes = lines["ledger_id"].value_counts()
    if sizes.empty or sizes.iloc[0] < 2:  # noqa: PLR2004 (two pages)
        return not_checked(check, "because no ledger has two line entries in the period")
    ledger_id, limit = sizes.index[0], math.ceil(sizes.iloc[0] / _PAGES)
    where = f"{books.evidence.named(ledger_id)}, {stretch}"
    seen: Counter[str] = Counter()
    pages = books.evidence.client.iter_line_entry_pages(
        ledger_id, stretch.start_date, stretch.end_date, time_zone=stretch.time_zone, is_cashflow=True, limit=limit
    )
    count = 0
    for count, page in enumerate(pages, 1):
        if len(page.records) > limit:
            return broken(
                check, f"{where}: limit={limit} was asked for, and page {count} holds {len(page.records)} lines"
            )
        seen.update(line.id for line in page.records)
    wanted = _ids(lines)[ledger_id]
    wrong = {line_id for line_id, times in seen.items() if times > 1} | (wanted ^ seen.keys())
    if wrong:
        line_id = min(wrong)
        return broken(
            check,
            f"{where}: line {line_id} comes {seen[line_id]} time(s) in pages of {limit}, and "
            f"{'once' if line_id in wanted else 'not at all'} in one of 1,000",
        )
    return passed(
        check, f"{len(seen):,} lines of {books.evidence.named(ledger_id)} in {count} pages of at most {limit}"
    )


def tags_filter(books: Books) -> Finding:
    """Check that a report filtered by a tag has the lines that carry it, each as in the whole report."""
    check = "tagged report"
    report = books.stretch_reported()
    if report is None:
        return not_checked(check, NOTHING_MOVED)
    lines = books.category_lines()
    tag_ids = sorted(set(chain.from_iterable(tags for tags in lines["tag_ids"] if _is_list(tags))))
    if not tag_ids:
        return not_checked(check, f"because no category line of {_days(report)} carries a tag")
    period, tag = report.period, tag_ids[0]
    days = (period.start_date, period.end_date)
    try:
        tagged = load_cash_flow_report(books.evidence.client, *days, time_zone=period.time_zone, tag_ids=[tag])
    except PermissionDeniedError:
        return not_checked(check, "because reports by tag need a Tier 3 subscription (403)")
    total = _summed(report.lines, ["ledger_id", "line_id"], report.lines["amount"])
    part = _summed(tagged.lines, ["ledger_id", "line_id"], tagged.lines["amount"])
    more = first_gap(part, {key: total.get(key) or part[key] - part[key] for key in part})
    if more and not report.lines.empty:
        ledger_id, line_id = _two(more.key)
        return broken(
            check,
            f"{books.evidence.named(ledger_id)}, line {line_id}: {format_amount(more.one)} in the report of tag {tag}, "
            f"but {format_amount(more.other)} in the whole report of {period}",
        )
    carrying = lines[[_is_list(tags) and tag in set(tags) for tags in lines["tag_ids"]]]
    gap = first_gap(flows(tagged), _flows_of(carrying, ["ledger_id"])) if books.all_categories_read else None
    if gap:
        return broken(
            check,
            f"{books.evidence.named(str(gap.key))}, {period}: {format_amount(gap.one)} in the report of tag {tag}, but "
            f"its line entries that carry it say {format_amount(gap.other)}",
        )
    return passed(
        check, f"the report of tag {tag} has the {len(carrying):,} line(s) that carry it, of {len(report.lines):,}"
    )


def _lines_of_whole_entries(books: Books) -> pd.DataFrame | str:
    """Every line of the entries that touch cash; or why they are not all here."""
    if books.stretch() is None:
        return NOTHING_MOVED
    if not books.all_categories_read:
        return f"because the lines of the {len(books.categories())} largest categories were read only"
    lines = books.entry_lines()
    return lines if len(lines) else "because no ledger of the report has a line entry in the period"


def _unexpanded(lines: Iterable[LineEntry]) -> Iterator[tuple[str, LineEntry]]:
    """Find what was asked for and is not there; only the account's side of an entry has a transaction."""
    for line in lines:
        if line.ledger is None:
            yield "ledger", line
        if line.journal_entry is None or line.journal_entry.line_entry_ids is None:
            yield "journal_entry", line
        if line.opposing_ledger_ids is None:
            yield "opposing_ledger_ids", line
        if line.transaction_id is not None and line.transaction is None:
            yield "transaction", line


def _flows_of(lines: pd.DataFrame, keys: list[str]) -> dict[Hashable, Decimal]:
    """Cash flow of category lines: into cash is a credit."""
    flowed = sums(zip(_keys(lines, keys), lines["signed_amount"], strict=True))
    return {key: amount.copy_negate() for key, amount in flowed.items()}


def _summed(lines: pd.DataFrame, keys: list[str], amounts: Iterable[Decimal]) -> dict[Hashable, Decimal]:
    return sums(zip(_keys(lines, keys), amounts, strict=True))


def _keys(lines: pd.DataFrame, keys: list[str]) -> Iterable[Hashable]:
    return lines[keys[0]] if len(keys) == 1 else lines[keys].itertuples(index=False, name=None)


def _ids(lines: pd.DataFrame) -> defaultdict[str, set[str]]:
    """Line ids by ledger."""
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for ledger_id, line_id in zip(lines["ledger_id"], lines["id"], strict=True):
        ids[ledger_id].add(line_id)
    return ids


def _entry_of(key: Hashable, books: Books) -> str:
    ledger_id, entry_id = _two(key)
    return f"{books.evidence.named(ledger_id)}, entry {entry_id}"


def _two(key: Hashable) -> tuple[str, str]:
    one, other = cast("tuple[str, str]", key)
    return one, other


def _is_list(value: object) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str)


def _listed(ids: Iterable[str]) -> str:
    return ", ".join(sorted(ids)) or "none"


def _days(report: CashFlowReport) -> str:
    return f"{report.period.start_date} to {report.period.end_date}"


def _looked_at(books: Books) -> str:
    count = len(books.categories())
    return f"on all {count} categories" if books.all_categories_read else f"on the {count} largest categories"
