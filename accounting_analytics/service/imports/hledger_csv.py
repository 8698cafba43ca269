"""Read the CSV that ``hledger print -O csv`` writes: one row per posting.

Any hledger journal can be imported this way, and with hledger's readers (or ``bean-report``, ``ledger print``) any
ledger or beancount file. Imported are date (that local day at noon), description, account, amount and commodity; the
posting's comment (or else the entry's) becomes the line's description; status ``*`` makes the entry's transactions
reviewed. A posting with a day of its own, of which the CSV has only the comment, is refused, or imported on the day of
its entry. Not imported are date2, code, virtual postings (accounts in parentheses or brackets), and prices, which the
CSV does not contain.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from accounting_analytics.errors import AmountError
from accounting_analytics.messages import quote
from accounting_analytics.service.bookkeeping.post_entries import NewTransaction
from accounting_analytics.service.imports.entry_ids import content_ids, posting_content
from accounting_analytics.service.imports.parsed_books import FileLine, ImportOptions, ParsedBooks, build_books
from accounting_analytics.service.imports.table_files import AmountParser, InstantParser, TableRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accounting_analytics.service.imports.import_errors import ImportErrors

COLUMNS = (
    "txnidx",
    "date",
    "status",
    "description",
    "comment",
    "account",
    "amount",
    "commodity",
    "posting-status",
    "posting-comment",
)
"""Columns that are imported; the CSV has a few more."""

_CLEARED = "*"
_OWN_DAY = re.compile(r"(?:^|[\s,])date:\s*[^\s,]|\[\d[\d./-]*(?:=[\d./-]*)?\]")
"""A comment that gives a posting its own day: ``date:2025-02-03`` or ``[2025-02-03]``."""
_VIRTUAL = frozenset("([")
_NOT_PARSED = Decimal(0)


class _Posting(NamedTuple):
    """A posting as a line, whose entry id is its txnidx, and what the id of its entry is a digest of."""

    line: FileLine
    commodity: str
    content: str
    has_own_day: bool


def read_hledger_csv(table: TableRows, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    """Read the rows of the CSV of ``hledger print -O csv`` into ledgers and balanced entries.

    Entry ids are digests of the entry's content, so that a second export of the same journal is recognized even if
    entries were inserted before it.
    """
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        errors.fail(f"these columns are missing: {', '.join(missing)}", "line 1")
    notes: list[str] = []
    rows = TableRows(table.columns, _skip_virtual(table, notes))
    instants, amounts, commodity = InstantParser(options.time_zone), AmountParser(options.scale), options.commodity
    postings = list(_parse_postings(rows, instants, amounts, commodity, errors))
    selected = _select_commodity(postings, commodity, errors)
    _check_days(selected, options, errors, notes)
    ids = _entry_ids(postings)
    errors.incomplete = {ids.get(index, index) for index in errors.incomplete}
    if len(selected) < len(postings):
        left_out = len(ids) - len({posting.line.entry_id for posting in selected})
        notes.append(
            f"{len(postings) - len(selected)} lines in other commodities than {commodity} were left out, "
            f"among them {left_out} complete entries"
        )
    lines = (msgspec.structs.replace(posting.line, entry_id=ids[posting.line.entry_id]) for posting in selected)
    return replace(build_books(lines, options, errors, notes), local_count=instants.local_count)


def _skip_virtual(table: TableRows, notes: list[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Rows without those of virtual postings, ``(account)`` and ``[account]``, which are outside double entry."""
    account = table.columns.index("account")
    left_out = 0
    for location, row in table.rows:
        if row[account][:1] in _VIRTUAL:
            left_out += 1
        else:
            yield location, row
    if left_out:
        notes.append(f"{left_out} virtual postings, to accounts in (parentheses) or [brackets], were left out")


def _parse_postings(
    table: TableRows, instants: InstantParser, amounts: AmountParser, commodity: str | None, errors: ImportErrors
) -> Iterator[_Posting]:
    positions = [table.columns.index(name) for name in COLUMNS]
    for location, row in table.rows:
        txnidx, date, status, description, comment, account, amount, unit, own_status, own_comment = (
            row[position] for position in positions
        )
        try:
            # amounts in a commodity that is not selected need not fit the scale (numbers of shares have more digits)
            exact = amounts.parse(amount) if commodity in (None, unit) or not unit else _NOT_PARSED
            instant = instants.parse(date)
        except (ValueError, AmountError) as error:
            errors.add_line(location, _add_hint(str(error), amount), txnidx, date=date, description=description)
            continue
        review_status = "reviewed" if _CLEARED in (status, own_status) else "unreviewed"
        line = FileLine(
            location=location,
            entry_id=txnidx,
            instant=instant,
            entry_description=description,
            account=account,
            signed=exact,
            description=own_comment or comment,
            transaction=NewTransaction(description, review_status=review_status),
        )
        content = posting_content(date, description, account, amount, unit)
        yield _Posting(line, unit, content, has_own_day=_OWN_DAY.search(own_comment) is not None)


def _check_days(postings: list[_Posting], options: ImportOptions, errors: ImportErrors, notes: list[str]) -> None:
    """Refuse postings with a day of their own, or note how many are imported on the day of the entry."""
    dated = [posting.line for posting in postings if posting.has_own_day and posting.line.signed]
    if dated and options.use_entry_dates:
        notes.append(f"{len(dated)} postings with a day of their own are on the day of their entry (--use-entry-dates)")
        return
    for line in dated:
        errors.add(
            line.location,
            f"a posting on {line.account} has a day of its own ({quote(line.description)}), which only the journal "
            "itself states in full: import the journal instead of the CSV, or import on the days of the entries "
            "(--use-entry-dates)",
            date=line.instant.date().isoformat(),
            description=line.entry_description,
        )


def _select_commodity(postings: list[_Posting], commodity: str | None, errors: ImportErrors) -> list[_Posting]:
    """Return the postings in the selected commodity, or all if there is only one; a bare zero belongs to any."""
    commodities = sorted({posting.commodity for posting in postings if posting.commodity or posting.line.signed})
    named = ", ".join(name or "(no commodity)" for name in commodities)
    if commodity is None:
        if len(commodities) > 1:
            errors.add("", f"it has several commodities: {named}; select one of them (--commodity)")
        return postings
    if commodity not in commodities:
        errors.add("", f"it has no amounts in commodity {commodity!r}; it has {named}")
        return []
    entries = {posting.line.entry_id for posting in postings if posting.commodity == commodity}
    return [
        posting
        for posting in postings
        if posting.commodity == commodity
        or (not posting.commodity and not posting.line.signed and posting.line.entry_id in entries)
    ]


def _entry_ids(postings: Iterable[_Posting]) -> dict[str, str]:
    """Id of each entry by its txnidx: a digest of its content, with a number if entries are equal."""
    contents: dict[str, list[str]] = {}
    for posting in postings:
        contents.setdefault(posting.line.entry_id, []).append(posting.content)
    return content_ids("hl", contents)


def _add_hint(problem: str, amount: str) -> str:
    if "," in amount:
        return f"{problem}; export with a decimal point, such as: hledger print -O csv -c '1000.00 EUR'"
    return problem
