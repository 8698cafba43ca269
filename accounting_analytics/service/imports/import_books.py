"""Import a file of books into an instance: ledgers and journal entries, all of them or none."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pandas as pd
from sqlalchemy import Connection, select

from accounting_analytics.errors import PostingRefusedError
from accounting_analytics.messages import join_ids
from accounting_analytics.periods import local_date, zone
from accounting_analytics.service.bookkeeping.ledgers import add_ledgers
from accounting_analytics.service.bookkeeping.post_entries import PostedJournal
from accounting_analytics.service.imports import hledger_csv, line_table
from accounting_analytics.service.imports.account_paths import likely_cash
from accounting_analytics.service.imports.hledger_csv import read_hledger_csv
from accounting_analytics.service.imports.line_table import read_line_table
from accounting_analytics.service.imports.parsed_books import ImportOptions, ParsedBooks
from accounting_analytics.service.imports.table_files import ImportErrors, csv_rows, is_parquet, parquet_rows
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import id_batches
from accounting_analytics.service.storage.store import Store, read_instance, read_ledgers
from accounting_analytics.service.wire.identifiers import instance_suffix
from accounting_analytics.service.wire.stored_values import IMPORT_BOOKS, Instance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_MAX_NAMED = 4


@dataclass(frozen=True)
class ImportSummary:
    """What an import created, the accounts that report cash flow, and notes on what was left out.

    The days of the first and the last entry are those of the time zone that was given.
    """

    file: str
    instance_id: str
    entries: int
    lines: int
    ledgers: int
    cash: tuple[str, ...]
    start_date: str
    end_date: str
    notes: tuple[str, ...] = ()

    @property
    def frame(self) -> pd.DataFrame:
        """The summary as a table of one row."""
        row = {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return pd.DataFrame([row])


def import_books(
    store: Store,
    instance_id: str,
    path: str | Path,
    *,
    time_zone: str | None = None,
    cash: Sequence[str] = (),
    commodity: str | None = None,
    require_cash: bool = False,
) -> ImportSummary:
    """Import a file of books into an instance in one database transaction.

    The file is a line table (CSV or Parquet) or the CSV of ``hledger print -O csv``, recognized by its columns.
    Accounts that exist in the instance (by id or path) are used, the others are created with their parents. A file
    with an entry that is already in the instance is refused completely, so that importing it twice duplicates nothing.
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
        Import only the lines in this commodity (hledger only); every entry must balance in it.
    require_cash : bool
        Whether to refuse a file after which no ledger of the instance would report cash flow.

    Returns
    -------
    ImportSummary
        Counts, and notes on what was left out.

    Raises
    ------
    ImportRefusedError
        The file is malformed, does not balance or was imported before; the message names file, line and problem.
    """
    file = Path(path)
    with store.reading() as connection:
        instance = read_instance(connection, instance_id)
        existing = read_ledgers(connection, instance)

    errors = ImportErrors(file)
    source = {"file": file.name, "sha256": _digest(file, errors)}
    options = ImportOptions(time_zone or "UTC", cash, commodity, instance.scale, existing, instance_suffix(instance.id))
    books = read_books(file, options)
    with store.writing() as connection:
        current = read_ledgers(connection, instance)
        if current != existing:  # ledgers were created meanwhile, which the file may refer to
            books = read_books(file, options._replace(existing=current))
        reports = [ledger.report_cash_flow for ledger in books.ledgers] + [
            ledger.report_cash_flow for ledger in current
        ]
        if require_cash and not any(reports):
            _refuse_without_cash(books, errors)
        _check_not_imported(connection, instance, books, errors)
        _post(connection, instance, books, source, errors)
    instants, local = [entry.datetime for entry in books.entries], zone(time_zone or "UTC")
    notes = list(books.notes)
    if time_zone is None and books.local_count:
        number = books.local_count
        notes.append(f"{number} dates or times without a zone were read as those of UTC: --time-zone gives another")
    return ImportSummary(
        file=file.name,
        instance_id=instance.id,
        entries=len(books.entries),
        lines=books.line_count,
        ledgers=len(books.ledgers),
        cash=books.cash,
        start_date=local_date(min(instants), local).isoformat(),
        end_date=local_date(max(instants), local).isoformat(),
        notes=tuple(notes),
    )


def read_books(path: Path, options: ImportOptions = ImportOptions()) -> ParsedBooks:  # noqa: B008 (immutable)
    """Parse a file of books; its layout is recognized by its columns, and nothing is posted."""
    errors = ImportErrors(path)
    if is_parquet(path, errors):
        return read_line_table(parquet_rows(path, errors), options, errors)
    table = csv_rows(path, errors)
    if {"txnidx", "account"} <= set(table.columns):
        return read_hledger_csv(table, options, errors)
    if {"entry_id", "ledger"}.isdisjoint(table.columns):
        errors.fail(
            f"its columns ({', '.join(table.columns)[:120]}) are neither those of a line table "
            f"({', '.join(line_table.REQUIRED_COLUMNS)}) nor those of `hledger print -O csv` "
            f"({', '.join(hledger_csv.COLUMNS)}); columns are separated by commas",
            "line 1",
        )
    return read_line_table(table, options, errors)


def _digest(path: Path, errors: ImportErrors) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        errors.fail(f"it cannot be read ({error.strerror})")


def _refuse_without_cash(books: ParsedBooks, errors: ImportErrors) -> NoReturn:
    """Refuse books without any account that reports cash flow, with the accounts that look like one."""
    likely = likely_cash(books.accounts)
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


def _check_not_imported(connection: Connection, instance: Instance, books: ParsedBooks, errors: ImportErrors) -> None:
    suffix = instance_suffix(instance.id)
    # without suffix: imported before ids had one
    file_ids = {possible: entry_id for entry_id in books.locations for possible in (entry_id, f"{entry_id}{suffix}")}
    found = _find_existing(connection, instance, list(file_ids))
    if known := list(dict.fromkeys(file_ids[entry_id] for entry_id in found)):
        errors.fail(
            f"entry {known[0]!r} is already in the books, as are {len(known)} of the file's {len(books.entries)} "
            "entries: the file or a part of it was imported before",
            books.locations[known[0]],
        )


def _find_existing(connection: Connection, instance: Instance, entry_ids: list[str]) -> Iterator[str]:
    """Entry ids that exist in the instance, in the order given."""
    entries = tables.journal_entries.c
    for chunk in id_batches(entry_ids):
        query = select(entries.id).where(entries.instance_pk == instance.pk, entries.id.in_(chunk))
        found = set(connection.execute(query).scalars())
        yield from (entry_id for entry_id in chunk if entry_id in found)
