"""The CSV that ``hledger print -O csv`` writes: one row a posting.

Any hledger journal comes in this way, and with hledger's readers (or ``bean-report``, ``ledger print``) any ledger or
beancount file. What is read: date (that local day at noon), description, account, amount, commodity; the posting's
comment (or else the entry's) becomes the line's description; status ``*`` makes the entry's transactions reviewed.
What is not: date2, code, virtual postings (accounts in parentheses or brackets), and prices, which the CSV does not
have.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.errors import AmountError
from accounting_analytics.money import DEFAULT_SCALE
from accounting_analytics.service.bookkeeping.new_entries import NewTransaction
from accounting_analytics.service.imports.import_errors import Refusals
from accounting_analytics.service.imports.parsed_books import Amounts, FileLine, ImportedBooks, Instants, books_of
from accounting_analytics.service.imports.table_files import Rows, csv_rows

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.service.wire.stored_records import StoredLedger

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
"""Columns that are read; the CSV has a few more."""

_CLEARED = "*"
_VIRTUAL = frozenset("([")
_UNREAD = Decimal(0)


class _Posting(NamedTuple):
    place: str
    txnidx: str
    instant: dt.datetime
    description: str
    account: str
    amount: Decimal
    commodity: str
    note: str
    cleared: bool
    content: str


def read_hledger_csv(
    path: Path,
    *,
    time_zone: str = "UTC",
    cash: Sequence[str] = (),
    commodity: str | None = None,
    scale: int = DEFAULT_SCALE,
    existing: Iterable[StoredLedger] = (),
) -> ImportedBooks:
    """Read the CSV of ``hledger print -O csv`` into ledgers and balanced entries.

    Entry ids are made of the entry's content, so that a second export of the same journal is recognised, even if
    entries were added before it.

    Parameters
    ----------
    path : Path
        The file.
    time_zone : str
        Zone whose noon the dates mean.
    cash : sequence of str
        Glob patterns of the accounts that report cash flow; they must match the whole path, in any case.
    commodity : str, optional
        Keep the lines in this commodity only; every entry must balance in it. Without it, several commodities in one
        file are refused.
    scale : int
        Fraction digits of the instance's currency.
    existing : iterable of StoredLedger
        Ledgers the instance has already.

    Raises
    ------
    ImportRefusedError
        Anything is malformed, unbalanced, or in several commodities; the message names file, line and rule.
    """
    refusals = Refusals(path)
    table = csv_rows(path, refusals)
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        reason = f"these columns are missing: {', '.join(missing)}"
        raise refusals.refuse(reason, "line 1")
    notes: list[str] = []
    rows = Rows(table.columns, _real(table, notes))
    postings = list(_postings(rows, Instants(time_zone), Amounts(scale), commodity, refusals))
    kept = _of_one_commodity(postings, commodity, refusals)
    ids = _entry_ids(postings)
    if len(kept) < len(postings):
        left_out = len(ids) - len({posting.txnidx for posting in kept})
        notes.append(
            f"{len(postings) - len(kept)} lines in other commodities than {commodity} were left out, "
            f"and with them {left_out} whole entries"
        )
    lines = (_line(posting, ids[posting.txnidx]) for posting in kept)
    return books_of(lines, cash=cash, existing=existing, refusals=refusals, notes=notes)


def _real(table: Rows, notes: list[str]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Rows but those of virtual postings, ``(account)`` and ``[account]``: they are outside double entry."""
    account = table.columns.index("account")
    left_out = 0
    for place, row in table.rows:
        if row[account][:1] in _VIRTUAL:
            left_out += 1
        else:
            yield place, row
    if left_out:
        notes.append(f"{left_out} virtual postings, to accounts in (parentheses) or [brackets], were left out")


def _postings(
    table: Rows, instants: Instants, amounts: Amounts, commodity: str | None, refusals: Refusals
) -> Iterator[_Posting]:
    positions = [table.columns.index(name) for name in COLUMNS]
    for place, row in table.rows:
        txnidx, date, status, description, comment, account, amount, of, own_status, own_comment = (
            row[position] for position in positions
        )
        try:
            # amounts of a commodity that is left out need not fit the scale (shares have more digits)
            exact = amounts.read(amount) if commodity in (None, of) or not of else _UNREAD
            instant = instants.read(date)
        except (ValueError, AmountError) as error:
            refusals.add(place, _with_hint(str(error), amount))
            continue
        yield _Posting(
            place=place,
            txnidx=txnidx,
            instant=instant,
            description=description,
            account=account,
            amount=exact,
            commodity=of,
            note=own_comment or comment,
            cleared=_CLEARED in (status, own_status),
            content=f"{date}\x1f{description}\x1f{account}\x1f{amount}\x1f{of}",
        )


def _of_one_commodity(postings: list[_Posting], commodity: str | None, refusals: Refusals) -> list[_Posting]:
    """Keep the postings of the selected commodity, or all if there is but one; a bare zero belongs to any commodity."""
    occurring = sorted({posting.commodity for posting in postings if posting.commodity or posting.amount})
    named = ", ".join(name or "(no commodity)" for name in occurring)
    if commodity is None:
        if len(occurring) > 1:
            refusals.add("", f"it holds several commodities: {named}; select one of them (--commodity)")
        return postings
    if commodity not in occurring:
        refusals.add("", f"it holds no amounts in commodity {commodity!r}; there are {named}")
        return []
    touched = {posting.txnidx for posting in postings if posting.commodity == commodity}
    return [
        posting
        for posting in postings
        if posting.commodity == commodity
        or (not posting.commodity and not posting.amount and posting.txnidx in touched)
    ]


def _entry_ids(postings: Iterable[_Posting]) -> dict[str, str]:
    """Id of each entry by its txnidx: a digest of its content, numbered where entries are alike."""
    contents: dict[str, list[str]] = {}
    for posting in postings:
        contents.setdefault(posting.txnidx, []).append(posting.content)
    alike: Counter[str] = Counter()
    ids = {}
    for index, content in contents.items():
        digest = hashlib.sha256("\x1e".join(content).encode()).hexdigest()[:24]
        alike[digest] += 1
        ids[index] = f"hl_{digest}" + (f"_{alike[digest]}" if alike[digest] > 1 else "")
    return ids


def _line(posting: _Posting, entry_id: str) -> FileLine:
    return FileLine(
        place=posting.place,
        entry_id=entry_id,
        instant=posting.instant,
        entry_description=posting.description,
        account=posting.account,
        signed=posting.amount,
        description=posting.note,
        transaction=NewTransaction(posting.description, review_status="reviewed" if posting.cleared else "unreviewed"),
    )


def _with_hint(rule: str, amount: str) -> str:
    if "," in amount:
        return f"{rule}; export with a decimal point, such as: hledger print -O csv -c '1000.00 EUR'"
    return rule
