"""Getting books in: a file becomes ledgers and journal entries, all of them or nothing."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from sqlalchemy import select

from accounting_analytics.errors import PostingRefusedError
from accounting_analytics.service.bookkeeping.new_ledgers import add_ledgers
from accounting_analytics.service.bookkeeping.posted_journal import PostedJournal
from accounting_analytics.service.imports import hledger_csv, line_table
from accounting_analytics.service.imports.hledger_csv import read_hledger_csv
from accounting_analytics.service.imports.import_errors import Refusals
from accounting_analytics.service.imports.line_table import read_line_table
from accounting_analytics.service.imports.table_files import csv_columns, is_parquet
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.store import read_instance, read_ledgers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from accounting_analytics.service.imports.parsed_books import ImportedBooks
    from accounting_analytics.service.storage.store import Store
    from accounting_analytics.service.wire.stored_records import Instance, StoredLedger

__all__ = ["ImportSummary", "import_books", "read_books", "read_hledger_csv", "read_line_table"]

_IDS_A_QUERY = 500


@dataclass(frozen=True)
class ImportSummary:
    """What an import brought in.

    Attributes
    ----------
    file : str
        Name of the file.
    instance_id : str
        Instance it went to.
    entries, lines, ledgers : int
        Journal entries and line entries posted, ledgers made.
    cash : tuple of str
        Accounts of the file that report cash flow.
    start_date, end_date : str
        Days (in UTC) of the first and the last entry.
    notes : tuple of str
        What was left out, and why.
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
        shown = {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return pd.DataFrame([shown])


def import_books(
    store: Store,
    instance_id: str,
    path: str | Path,
    *,
    time_zone: str = "UTC",
    cash: Sequence[str] = (),
    commodity: str | None = None,
) -> ImportSummary:
    """Import a file of books into an instance; all of it in one database transaction, or nothing.

    The file is our line table (CSV or Parquet) or the CSV of ``hledger print -O csv``; its columns tell which.
    Accounts that the instance has already (by id or path) are used, the others are created with their parents. A file
    that holds an entry the instance has already is refused as a whole, so importing twice doubles nothing.

    Parameters
    ----------
    store : Store
        The database.
    instance_id : str
        Instance to import into.
    path : str or Path
        The file.
    time_zone : str
        Zone whose noon a bare date means, and of times without an offset.
    cash : sequence of str
        Accounts that report cash flow, as glob patterns that match the whole path in any case, such as
        ``assets:bank*``: ``*`` is any run of characters, ``:`` too. Assets become bank accounts, liabilities credit
        cards; their lines are transactions. A pattern that matches no account is refused.
    commodity : str, optional
        Keep only the lines in this commodity (hledger only); every entry must balance in it.

    Returns
    -------
    ImportSummary
        Counts, and notes on what was left out.

    Raises
    ------
    ImportRefusedError
        The file is malformed, unbalanced or known already; the message names file, line and rule.
    """
    with _without_collector():
        return _imported(store, instance_id, Path(path), time_zone=time_zone, cash=cash, commodity=commodity)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Let the search for cycles rest: millions of entries form none, and looking through them takes an eighth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _imported(
    store: Store, instance_id: str, file: Path, *, time_zone: str, cash: Sequence[str], commodity: str | None
) -> ImportSummary:
    with store.reading() as connection:
        instance = read_instance(connection, instance_id)
        existing = read_ledgers(connection, instance)

    def read(existing: Sequence[StoredLedger]) -> ImportedBooks:
        return read_books(
            file, time_zone=time_zone, cash=cash, commodity=commodity, scale=instance.scale, existing=existing
        )

    books = read(existing)
    refusals = Refusals(file)
    with store.writing() as connection:
        there = read_ledgers(connection, instance)
        if there != existing:  # somebody made ledgers meanwhile, which the file may mean
            books = read(there)
        _refuse_known(connection, instance, books, refusals)
        ledgers = {ledger.id: ledger for ledger in add_ledgers(connection, instance, books.ledgers)}
        try:
            PostedJournal(connection, instance, ledgers).post(books.entries)
        except PostingRefusedError as error:
            index = error.entry_index
            place = "" if index is None else books.places[books.entries[index].id or ""]
            raise refusals.refuse(str(error), place) from error
    return ImportSummary(
        file=file.name,
        instance_id=instance.id,
        entries=len(books.entries),
        lines=books.line_count,
        ledgers=len(books.ledgers),
        cash=books.cash,
        start_date=min(entry.datetime for entry in books.entries).date().isoformat(),
        end_date=max(entry.datetime for entry in books.entries).date().isoformat(),
        notes=books.notes,
    )


def read_books(
    path: Path,
    *,
    time_zone: str = "UTC",
    cash: Sequence[str] = (),
    commodity: str | None = None,
    scale: int = 2,
    existing: Sequence[StoredLedger] = (),
) -> ImportedBooks:
    """Read a file of books in whichever of the two layouts its columns show; posts nothing.

    Raises
    ------
    ImportRefusedError
        It has neither layout, or :func:`read_line_table` or :func:`read_hledger_csv` refuses it.
    """
    refusals = Refusals(path)
    read = read_line_table if is_parquet(path, refusals) else _reader_of(csv_columns(path, refusals), refusals)
    return read(path, time_zone=time_zone, cash=cash, commodity=commodity, scale=scale, existing=existing)


def _reader_of(columns: Sequence[str], refusals: Refusals) -> Callable[..., ImportedBooks]:
    if {"txnidx", "account"} <= set(columns):
        return read_hledger_csv
    if {"entry_id", "ledger"} & set(columns):
        return read_line_table
    shown = ", ".join(columns)
    reason = (
        f"its columns ({shown[:120]}) are neither those of a line table "
        f"({', '.join(line_table.REQUIRED_COLUMNS)}) nor those of `hledger print -O csv` "
        f"({', '.join(hledger_csv.COLUMNS)}); columns are separated by commas"
    )
    raise refusals.refuse(reason, "line 1")


def _refuse_known(connection: Connection, instance: Instance, books: ImportedBooks, refusals: Refusals) -> None:
    known = list(_known(connection, instance, list(books.places)))
    if known:
        reason = (
            f"entry {known[0]!r} is already in the books, as are {len(known)} of the file's {len(books.entries)} "
            "entries: the file, or a part of it, was imported before"
        )
        raise refusals.refuse(reason, books.places[known[0]])


def _known(connection: Connection, instance: Instance, entry_ids: list[str]) -> Iterator[str]:
    """Those of the entry ids that the instance has, in the order given."""
    entries = tables.journal_entries.c
    for start in range(0, len(entry_ids), _IDS_A_QUERY):
        chunk = entry_ids[start : start + _IDS_A_QUERY]
        query = select(entries.id).where(entries.instance_pk == instance.pk, entries.id.in_(chunk))
        found = set(connection.execute(query).scalars())
        yield from (entry_id for entry_id in chunk if entry_id in found)
