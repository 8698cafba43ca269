"""Import a file of books into an instance: ledgers and journal entries, all of them or none."""

from __future__ import annotations

import gc
import hashlib
import shlex
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import pandas as pd

from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.service.database import Store, read_ledgers
from accounting_analytics.service.imports.accounts import AccountMapping, AnyLedger, likely_cash, map_accounts
from accounting_analytics.service.imports.file_books import FileBooks, ImportErrors, ImportOptions
from accounting_analytics.service.imports.journals import (
    BEANCOUNT_SUFFIXES,
    HLEDGER_SUFFIXES,
    read_beancount,
    read_hledger_journal,
)
from accounting_analytics.service.imports.known_entries import SERIES, compare_with_books
from accounting_analytics.service.imports.line_table import read_line_table
from accounting_analytics.service.instances import NewInstance, first_instance, instance_to_fill
from accounting_analytics.service.ledgers import NewLedger, add_ledgers, names_of_ledgers
from accounting_analytics.service.post_entries import NewJournalEntry, PostedJournal
from accounting_analytics.service.stored_values import IMPORT_BOOKS, instance_suffix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from accounting_analytics.service.stored_values import Instance


_MAX_NAMED = 4
_OF_JOURNALS = {
    "commodity": "--commodity",
    "virtual": "--virtual",
    "roots": "--root",
    "use_entry_dates": "--use-entry-dates",
}
"""Options that only journals have a use for."""


@dataclass(frozen=True)
class ImportedAccount:
    """An account of a file: the sums of its lines, and what its ledger is or will be."""

    account: str
    type: str
    report_cash_flow: bool
    is_new: bool
    lines: int
    debits: str
    credits: str


@dataclass(frozen=True)
class ImportSummary:
    """What an import created, the accounts that report cash flow, and notes on what was left out.

    The days of the first and the last entry of the file are those of the time zone that was given. Entries that are
    `known` were in the books before with equal content; `missing` are not in the file any more, and the books keep
    them as they are.
    """

    file: str
    instance_id: str
    entries: int
    lines: int
    ledgers: int
    cash: tuple[str, ...]
    start_date: str
    end_date: str
    known: int = 0
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    accounts: tuple[ImportedAccount, ...] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """The summary as a table of one row, without the accounts."""
        row = {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in self.to_row().items()}
        return pd.DataFrame([row])

    def to_row(self) -> dict[str, Any]:
        """Every field but the accounts."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "accounts"}


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause the search for cycles: an import has none, and the search takes a quarter of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_garbage_collection()
def import_books(
    store: Store,
    instance_id: str | None,
    path: str | Path,
    *,
    scale: int | None = None,
    time_zone: str | None = None,
    cash: Sequence[str] = (),
    commodity: str | None = None,
    virtual: bool = False,
    use_entry_dates: bool = False,
    midnights: Literal["days", "instants"] | None = None,
    roots: Sequence[tuple[str, str]] = (),
    require_cash: bool = False,
    dry_run: bool = False,
) -> ImportSummary:
    """Import the new entries of a file of books into an instance in one database transaction.

    The file is a line table (CSV or Parquet) or a journal of hledger, ledger or beancount, recognized by its name.
    Accounts that exist in the instance (by id or path) are used, the others are created with their parents. Entries
    that are in the instance already are not posted again, so that importing a file twice duplicates nothing.
    The ids of what is created depend on the file and the instance: another instance has other ids.

    Parameters
    ----------
    store : Store
        The database.
    instance_id : str or None
        Instance to import into; None is the only one. A database without an instance gets one with this id, and an
        access token in a private file beside it.
    path : str or Path
        The file.
    scale : int, optional
        Fraction digits of a new instance, 2 by default; those of one that exists.
    time_zone : str, optional
        Zone of bare dates (that local day at noon) and of times without an offset; UTC if omitted, which is noted where
        it was needed.
    cash : sequence of str
        Accounts that report cash flow, as glob patterns that match the whole path in any case, such as
        ``assets:bank*``; ``*`` matches any characters, also ``:``. Assets become bank accounts, liabilities credit
        cards; their lines are transactions. A pattern that matches no account is refused.
    commodity : str, optional
        Import only the lines of a journal in this commodity, at their prices; every entry must balance in it.
    virtual : bool
        Whether to import virtual postings of a journal, the unbalanced ones against ``equity:virtual``.
    use_entry_dates : bool
        Whether entries whose postings have several days are imported on the day of the entry, instead of refused.
    midnights : {"days", "instants"}, optional
        What instants with an offset are where all are midnights of UTC, as some programs write days: those days in
        `time_zone`, at noon, or the instants themselves. Without it they are refused in a zone other than UTC.
    roots : sequence of (str, str)
        Beginnings of paths of a journal and what replaces each, such as ``("me:assets", "assets")``; ``("*",
        "assets")`` puts every account without a type below ``assets``.
    require_cash : bool
        Whether to refuse a file after which no ledger of the instance would report cash flow.
    dry_run : bool
        Whether to roll everything back, so that the summary says what an import would do.

    Returns
    -------
    ImportSummary
        Counts, accounts, entries that the file lacks, and notes on what was left out.

    Raises
    ------
    BooksDoNotTieError
        An entry of the file is in the books with other content; nothing was imported.
    ImportRefusedError
        The file is malformed or does not balance; the message names file, line and problem.
    """
    file, target = Path(path), instance_to_fill(store, instance_id, scale=scale)
    options = ImportOptions(
        time_zone=time_zone or "UTC",
        scale=target.scale,
        id_suffix=instance_suffix(str(target.id)),
        commodity=commodity,
        virtual=virtual,
        use_entry_dates=use_entry_dates,
        midnights=midnights,
        roots=roots,
    )
    source = {"file": file.name, "sha256": _digest(file)}
    books, local = read_books(file, options), zone(options.time_zone)
    with suppress(_DryRun), _writing(store, target) as (connection, instance):
        ledgers = read_ledgers(connection, instance)
        names = names_of_ledgers(ledgers)
        paths = {ledger.id: names.path(ledger.id) for ledger in ledgers}
        mapping = map_accounts(
            books.accounts, cash=cash, existing=ledgers, id_suffix=options.id_suffix, errors=books.errors
        )
        _check_transactions(books, mapping)
        known = compare_with_books(connection, instance, books, mapping, local=local, paths=paths)
        new = {entry_id: entry for entry_id, entry in books.entries.items() if entry_id not in known.ids}
        new_ledgers = _needed_ledgers(mapping, new.values())
        all_ledgers: list[AnyLedger] = [*new_ledgers, *ledgers]
        if require_cash and not any(ledger.report_cash_flow for ledger in all_ledgers):
            _refuse_without_cash(books)
        series = {} if known.series is None else {SERIES: known.series}
        stored = {ledger.id: ledger for ledger in add_ledgers(connection, instance, new_ledgers)}
        of_accounts = {account: stored[ledger.id] for account, ledger in mapping.ledgers.items() if ledger.id in stored}
        try:
            journal = PostedJournal(connection, instance, of_accounts)
            journal.post(new.values(), operation=IMPORT_BOOKS, source=source | series)
        except PostingRefusedError as error:
            index = error.entry_index
            books.errors.fail(str(error), "" if index is None else books.locations[list(new)[index]])
        if dry_run:
            raise _DryRun
    if time_zone is None and (number := books.instants.local_count):
        books.notes.append(
            f"{number} dates or times without a zone were read as those of UTC: --time-zone gives another"
        )
    instants = [entry.datetime for entry in books.entries.values()]
    return ImportSummary(
        file=file.name,
        instance_id=str(target.id),
        entries=len(new),
        lines=sum(len(entry.lines) for entry in new.values()),
        ledgers=len(new_ledgers),
        cash=tuple(sorted(account for account, ledger in mapping.ledgers.items() if ledger.report_cash_flow)),
        start_date=local_date(min(instants), local).isoformat(),
        end_date=local_date(max(instants), local).isoformat(),
        known=len(known.ids),
        missing=known.missing,
        notes=tuple(books.notes),
        accounts=tuple(_accounts(books, mapping, paths)),
    )


def read_books(path: Path, options: ImportOptions = ImportOptions()) -> FileBooks:  # noqa: B008 (immutable)
    """Read a file of books, a journal by the end of its name or else a line table; nothing is posted."""
    books = FileBooks(path, options)
    suffix = path.suffix.lower()
    if suffix in HLEDGER_SUFFIXES:
        read_hledger_journal(path, books)
    elif suffix in BEANCOUNT_SUFFIXES:
        read_beancount(path, books)
    elif given := [option for name, option in _OF_JOURNALS.items() if getattr(options, name)]:
        books.errors.fail(f"a line table is read without {', '.join(given)}; leave out what it has no use for")
    else:
        read_line_table(path, books)
    books.check()
    return books


@contextmanager
def store_to_fill(database: str, *, dry_run: bool) -> Iterator[Store]:
    """Open the database of an import, created if it does not exist; a dry run has a temporary one in its place."""
    with TemporaryDirectory() as folder:
        is_missing = "://" not in database and not Path(database).exists()
        with Store.open(Path(folder) / "books.db" if dry_run and is_missing else database) as store:
            yield store


@contextmanager
def _writing(store: Store, target: Instance | NewInstance) -> Iterator[tuple[Connection, Instance]]:
    """Give a connection that writes, and the instance, which is created if it is new."""
    if isinstance(target, NewInstance):
        with first_instance(store, target) as created:
            yield created
    else:
        with store.writing() as connection:
            yield connection, target


class _DryRun(Exception):  # noqa: N818 (not an error)
    """Rolls back what an import has written."""


def _check_transactions(books: FileBooks, mapping: AccountMapping) -> None:
    """Refuse a file that states transactions of accounts that have none."""
    for account, locations in books.transactions.items():
        if mapping.ledgers[account].financial_account_type is None:
            books.errors.add(
                locations[0],
                f"account {account!r} is not a cash account, so its lines ({len(locations)}) cannot be transactions; "
                "declare it as cash (--cash), or leave the transaction columns empty",
            )
    books.errors.raise_if_any()


def _needed_ledgers(mapping: AccountMapping, entries: Iterable[NewJournalEntry]) -> list[NewLedger]:
    """Select the new ledgers that entries need, with their parents."""
    needed = {mapping.ledgers[line.ledger_id].id for entry in entries for line in entry.lines}
    for ledger in reversed(mapping.new_ledgers):  # children before their parents
        if ledger.id in needed:
            needed.add(ledger.parent_id)
    return [ledger for ledger in mapping.new_ledgers if ledger.id in needed]


def _accounts(books: FileBooks, mapping: AccountMapping, paths: Mapping[str, str]) -> Iterator[ImportedAccount]:
    """Accounts of the file in their order, with the sums of their lines."""
    amounts: defaultdict[str, list[int]] = defaultdict(list)
    for entry in books.entries.values():
        for line in entry.lines:
            amounts[line.ledger_id].append(line.units)
    for account, ledger in sorted(mapping.ledgers.items()):
        units = amounts[account]
        debits, credits_ = sum(one for one in units if one > 0), -sum(one for one in units if one < 0)
        yield ImportedAccount(
            account=paths.get(str(ledger.id), account),
            type=str(ledger.type),
            report_cash_flow=bool(ledger.report_cash_flow),
            is_new=ledger.id not in paths,
            lines=len(units),
            debits=format_amount(from_minor_units(debits, books.options.scale)),
            credits=format_amount(from_minor_units(credits_, books.options.scale)),
        )


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        ImportErrors(path).fail(f"it cannot be read ({error.strerror})")


def _refuse_without_cash(books: FileBooks) -> NoReturn:
    """Refuse books without any account that reports cash flow, with the accounts that look like one."""
    likely = likely_cash(books.accounts)
    named = f"likely: {join_ids(likely, limit=_MAX_NAMED)}" if likely else "none of them looks like one"
    patterns = " ".join(f"--cash {shlex.quote(account)}" for account in likely[:_MAX_NAMED]) or "--cash PATTERN"
    books.errors.fail(
        f"no account reports cash flow, so every cash flow report would be empty; {named}: give {patterns}, or "
        "--no-cash if there is none"
    )
