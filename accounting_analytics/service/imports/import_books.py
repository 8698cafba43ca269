"""Import a file of books into an instance: ledgers and journal entries, all of them or none."""

from __future__ import annotations

import hashlib
import shlex
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn

import pandas as pd

from accounting_analytics.errors import PostingRefusedError
from accounting_analytics.messages import join_ids
from accounting_analytics.money import DEFAULT_SCALE, format_amount, from_minor_units
from accounting_analytics.periods import local_date, zone
from accounting_analytics.service.bookkeeping.instances import (
    NewInstance,
    check_instance_scale,
    choose_instance,
    create_instance,
)
from accounting_analytics.service.bookkeeping.ledgers import NewLedger, add_ledgers, names_of_ledgers
from accounting_analytics.service.bookkeeping.post_entries import PostedJournal
from accounting_analytics.service.imports.account_paths import likely_cash
from accounting_analytics.service.imports.import_errors import ImportErrors
from accounting_analytics.service.imports.journals import (
    BEANCOUNT_SUFFIXES,
    HLEDGER_SUFFIXES,
    read_beancount,
    read_hledger_journal,
)
from accounting_analytics.service.imports.known_entries import SERIES, compare_with_books
from accounting_analytics.service.imports.line_table import read_line_table
from accounting_analytics.service.imports.parsed_books import ImportOptions, ParsedBooks
from accounting_analytics.service.storage.store import Store, read_instance, read_ledgers
from accounting_analytics.service.wire.stored_values import IMPORT_BOOKS, Instance, StoredLedger, instance_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection


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
    `known` were in the books before; `changed` and `missing` describe those that differ in the file or are not in it
    any more, which the books keep as they are.
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
    changed: tuple[str, ...] = ()
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


def import_books(
    store: Store,
    instance_id: str,
    path: str | Path,
    *,
    time_zone: str | None = None,
    cash: Sequence[str] = (),
    commodity: str | None = None,
    virtual: bool = False,
    use_entry_dates: bool = False,
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
    instance_id : str
        Instance to import into.
    path : str or Path
        The file.
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
        Counts, accounts, differences from the books, and notes on what was left out.

    Raises
    ------
    ImportRefusedError
        The file is malformed or does not balance; the message names file, line and problem.
    """
    file = Path(path)
    with store.reading() as connection:
        instance = read_instance(connection, instance_id)
        existing = read_ledgers(connection, instance)

    errors = ImportErrors(file)
    source = {"file": file.name, "sha256": _digest(file, errors)}
    options = ImportOptions(
        time_zone=time_zone or "UTC",
        cash=cash,
        commodity=commodity,
        scale=instance.scale,
        existing=existing,
        id_suffix=instance_suffix(instance.id),
        virtual=virtual,
        use_entry_dates=use_entry_dates,
        roots=roots,
    )
    books, local = read_books(file, options), zone(time_zone or "UTC")
    with store.writing() as connection:
        current = read_ledgers(connection, instance)
        if current != existing:  # ledgers were created meanwhile, which the file may refer to
            books = read_books(file, options._replace(existing=current))
        names = names_of_ledgers(current)
        paths = {ledger.id: names.path(ledger.id) for ledger in current}
        compared = compare_with_books(connection, instance, books, local, paths)
        new = books.only(compared.new) if compared.known else books
        all_ledgers: list[NewLedger | StoredLedger] = [*new.ledgers, *current]
        if require_cash and not any(ledger.report_cash_flow for ledger in all_ledgers):
            _refuse_without_cash(books, errors)
        with connection.begin_nested() as posting:
            series = {} if compared.series is None else {SERIES: compared.series}
            _post(connection, instance, new, source | series, errors)
            if dry_run:
                posting.rollback()
    instants = [entry.datetime for entry in books.entries]
    notes = list(books.notes)
    if time_zone is None and books.local_count:
        number = books.local_count
        notes.append(f"{number} dates or times without a zone were read as those of UTC: --time-zone gives another")
    return ImportSummary(
        file=file.name,
        instance_id=instance.id,
        entries=len(new.entries),
        lines=new.line_count,
        ledgers=len(new.ledgers),
        cash=books.cash,
        start_date=local_date(min(instants), local).isoformat(),
        end_date=local_date(max(instants), local).isoformat(),
        known=compared.known,
        changed=compared.changed,
        missing=compared.missing,
        notes=tuple(notes),
        accounts=tuple(_accounts(books, current, paths, instance.scale)),
    )


def read_books(path: Path, options: ImportOptions = ImportOptions()) -> ParsedBooks:  # noqa: B008 (immutable)
    """Parse a file of books, a journal by the end of its name or else a line table; nothing is posted."""
    errors = ImportErrors(path)
    suffix = path.suffix.lower()
    if suffix in HLEDGER_SUFFIXES:
        return read_hledger_journal(path, options, errors)
    if suffix in BEANCOUNT_SUFFIXES:
        return read_beancount(path, options, errors)
    if given := [option for name, option in _OF_JOURNALS.items() if getattr(options, name)]:
        errors.fail(f"a line table is read without {', '.join(given)}; leave out what it has no use for")
    return read_line_table(path, options, errors)


@contextmanager
def instance_to_preview(
    database: str, instance_id: str | None = None, *, scale: int | None = None
) -> Iterator[tuple[Store, str]]:
    """Give a store and the instance that an import would fill; a temporary one where it would create it."""
    if "://" in database or Path(database).exists():
        with Store.open(database) as store:
            if store.instances():
                yield store, check_instance_scale(store, choose_instance(store, instance_id), scale)
                return
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "books.db") as store:
        yield (
            store,
            create_instance(store, NewInstance(id=instance_id, scale=DEFAULT_SCALE if scale is None else scale)),
        )


def _accounts(
    books: ParsedBooks, existing: Sequence[StoredLedger], paths: Mapping[str, str], scale: int
) -> Iterator[ImportedAccount]:
    """Accounts of the file in the order of their paths."""
    new_ledgers = {str(ledger.id): ledger for ledger in books.ledgers}
    ledgers: dict[str, NewLedger | StoredLedger] = {ledger.id: ledger for ledger in existing} | new_ledgers
    amounts: defaultdict[str, list[int]] = defaultdict(list)
    for entry in books.entries:
        for line in entry.lines:
            amounts[line.ledger_id].append(line.units)
    for account, ledger_id in sorted(books.ledger_ids.items()):
        ledger, units = ledgers[ledger_id], amounts[ledger_id]
        debits, credits_ = sum(one for one in units if one > 0), -sum(one for one in units if one < 0)
        yield ImportedAccount(
            account=paths.get(ledger_id, account),
            type=str(ledger.type),
            report_cash_flow=bool(ledger.report_cash_flow),
            is_new=ledger_id in new_ledgers,
            lines=len(units),
            debits=format_amount(from_minor_units(debits, scale)),
            credits=format_amount(from_minor_units(credits_, scale)),
        )


def _digest(path: Path, errors: ImportErrors) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        errors.fail(f"it cannot be read ({error.strerror})")


def _refuse_without_cash(books: ParsedBooks, errors: ImportErrors) -> NoReturn:
    """Refuse books without any account that reports cash flow, with the accounts that look like one."""
    likely = likely_cash(books.ledger_ids)
    named = f"likely: {join_ids(likely, limit=_MAX_NAMED)}" if likely else "none of them looks like one"
    patterns = " ".join(f"--cash {shlex.quote(account)}" for account in likely[:_MAX_NAMED]) or "--cash PATTERN"
    errors.fail(
        f"no account reports cash flow, so every cash flow report would be empty; {named}: give {patterns}, or "
        "--no-cash if there is none"
    )


def _post(
    connection: Connection, instance: Instance, books: ParsedBooks, source: Mapping[str, str], errors: ImportErrors
) -> None:
    ledgers = {ledger.id: ledger for ledger in add_ledgers(connection, instance, books.ledgers)}
    try:
        journal = PostedJournal(connection, instance, ledgers)
        journal.post(books.entries, operation=IMPORT_BOOKS, source=source)
    except PostingRefusedError as error:
        index = error.entry_index
        location = "" if index is None else list(books.locations.values())[index]
        errors.fail(str(error), location)
