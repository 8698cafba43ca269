"""Line entries and ledgers of a file of books, as loaded frames."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from accounting_analytics.core.chart_of_accounts import DebitCredit, RequiredLedger, display_order
from accounting_analytics.core.column_conversion import LIST_SEPARATOR, SEPARATOR_IN_NAME
from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.core.load_metadata import CHARACTERS_REPLACED, count_notes
from accounting_analytics.core.money import MAX_UNITS, from_minor_units
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.journals.accounts import REQUIRED_ACCOUNTS
from accounting_analytics.journals.entries import LINE_TEXTS, NewTransaction, check_entry, check_id, derived_id
from accounting_analytics.loading.arrow_lines import line_schema, sort_lines, to_line_frame
from accounting_analytics.loading.request import DEFAULT_EXPANSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.journals.accounts import Account, AccountMapping
    from accounting_analytics.journals.entries import NewJournalEntry, NewLine, NewTag
    from accounting_analytics.journals.file_entries import FileEntries

_DEBIT, _CREDIT = DebitCredit.DEBIT.value, DebitCredit.CREDIT.value
_POSTED_STATUS = "posted"


def lines_of_file(books: FileEntries, accounts: Mapping[str, Account]) -> pd.DataFrame:
    """Return the line entries of a file. Their ids follow from the ids of their entries."""
    rows = [row for entry in books.entries.values() for row in _rows(entry, accounts, books.options.scale)]
    schema = line_schema(frozenset(DEFAULT_EXPANSIONS), books.options.scale)
    table = sort_lines(pa.Table.from_pylist(rows, schema))
    frame = to_line_frame(table, books.options.scale, books.options.time_zone)
    characters = (
        character
        for entry in books.entries.values()
        for line in entry.lines
        for tag in line.tags
        for character in tag.name
    )
    frame.attrs["notes"] = count_notes(
        (sum(character == LIST_SEPARATOR for character in characters), *CHARACTERS_REPLACED)
    )
    return frame


def check_entries(books: FileEntries) -> None:
    """Refuse entries that no service would accept, or that no frame can hold."""
    transactions: set[str] = set()
    for entry_id, entry in books.entries.items():
        try:
            _check_entry(entry_id, entry, transactions, books.options.scale)
        except PostingRefusedError as error:
            day = local_date(entry.datetime, zone(books.options.time_zone)).isoformat()
            books.errors.add(books.locations[entry_id], str(error), date=day, description=entry.description)
    books.errors.raise_if_any()


def _check_entry(entry_id: str, entry: NewJournalEntry, transactions: set[str], scale: int) -> None:
    check_entry(entry, scale)
    if LIST_SEPARATOR in entry_id:
        raise PostingRefusedError(
            f"entry id {entry_id!r} contains {LIST_SEPARATOR!r}, which separates the ids of a list in frames"
        )
    for line in entry.lines:
        if abs(line.units) >= MAX_UNITS:
            raise PostingRefusedError(
                f"amount {from_minor_units(line.units, scale):,f} is too large for a pandas frame, whose float64 is "
                f"exact below {MAX_UNITS:,} minor units; import it, and sync local books, which an engine reads"
            )
        given = line.transaction and line.transaction.id
        if given in transactions:
            raise PostingRefusedError(f"transaction id {given!r} is used twice")
        if given:
            transactions.add(check_id(given, "transaction"))


def _rows(entry: NewJournalEntry, accounts: Mapping[str, Account], scale: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of an entry with the columns of a load."""
    ids = [line.id or f"{entry.id}-{number}" for number, line in enumerate(entry.lines, start=1)]
    sides = defaultdict[str, list[int]](list)
    for number, line in enumerate(entry.lines):
        sides[_DEBIT if line.units >= 0 else _CREDIT].append(number)
    for number, line in enumerate(entry.lines):
        account = accounts[line.ledger_id]
        side, other = (_DEBIT, _CREDIT) if line.units >= 0 else (_CREDIT, _DEBIT)
        opposing = sides[other]
        amount = from_minor_units(line.units, scale)
        row = {
            "id": ids[number],
            "ledger_id": account.id,
            "ledger_name": account.name,
            "journal_entry_id": entry.id,
            "journal_entry_description": entry.description,
            "datetime": entry.datetime,
            "amount": amount.copy_abs(),
            "debit_credit": side,
            "signed_amount": amount,
            **{name: getattr(line, name) for name in LINE_TEXTS},
            "related_line_entry_id": ids[opposing[0]] if len(opposing) == 1 else None,
            "editable": account.editable,
            "opposing_ledger_ids": _joined(accounts[entry.lines[position].ledger_id].id for position in opposing),
            "journal_entry_line_entry_ids": _joined(ids),
            **_tags(line.tags),
        }
        if account.financial_account_type is not None:
            row |= _transaction(line, ids[number]) | {"transaction_amount": amount}
        yield row


def _transaction(line: NewLine, line_id: str) -> dict[str, Any]:
    transaction = line.transaction or NewTransaction(line.description)
    return {
        "transaction_id": transaction.id or derived_id("txn", line_id),
        "transaction_description": transaction.description,
        "transaction_personal": transaction.personal,
        "transaction_posted_status": _POSTED_STATUS,
        "transaction_review_status": transaction.review_status,
        "source_account_id": transaction.source_account_id,
    }


def _tags(tags: Sequence[NewTag]) -> dict[str, str]:
    ordered = sorted(set(tags))
    return {
        "tag_ids": _joined(derived_id("tag", tag.group, tag.name) for tag in ordered),
        "tag_names": LIST_SEPARATOR.join(tag.name.replace(LIST_SEPARATOR, SEPARATOR_IN_NAME) for tag in ordered),
        "tag_group_ids": LIST_SEPARATOR.join(derived_id("tgr", tag.group) for tag in ordered),
    }


def _joined(ids: Iterable[str]) -> str:
    return LIST_SEPARATOR.join(dict.fromkeys(ids))


def ledgers_of_file(books: FileEntries, mapping: AccountMapping, file: str) -> pd.DataFrame:
    """Return the ledgers of accounts that have lines or are named, and their parents."""
    parents = {account.id: account for account in mapping.needed(mapping.accounts)}
    found_by = {account.id: "named for the file" for account in mapping.accounts.values()}
    found_by |= {mapping.accounts[name].id: f"lines of {books.path.name}" for name in books.accounts}
    found = parents | {account.id: account for account in mapping.accounts.values()}
    ordered = sorted(found.values(), key=lambda account: display_order(account.sort_code, account.id))
    dtypes = Ledgers.dtypes()
    rows = [
        account._asdict()
        | {
            "created_at": None,
            "found_by": found_by.get(account.id, "parent of an account"),
            "parent_known": True,
        }
        for account in ordered
    ]
    frame = Ledgers.require_valid(pd.DataFrame(rows, columns=list(dtypes)).astype(dtypes))
    roles = {REQUIRED_ACCOUNTS[role].id: str(role) for role in RequiredLedger}
    frame.attrs["required"] = {roles[account.id]: account.id for account in ordered if account.id in roles}
    frame.attrs["file"] = file
    frame.attrs["named"] = len(books.named)
    return frame
