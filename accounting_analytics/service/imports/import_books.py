"""Imports of a file of books into an instance, completely or not at all."""

from __future__ import annotations

import gc
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from accounting_analytics.core.chart_of_accounts import DebitCredit, FinancialAccountType, LedgerType, SubType
from accounting_analytics.core.errors import PostingRefusedError
from accounting_analytics.core.money import format_amount, from_minor_units
from accounting_analytics.core.periods import local_date, zone
from accounting_analytics.journals.accounts import (
    Account,
    check_transactions,
    map_accounts,
    opening_notes,
    refuse_without_cash,
)
from accounting_analytics.journals.file_entries import ReadOptions, is_currency_code
from accounting_analytics.journals.read_file import digest_of, read_books
from accounting_analytics.service.database import Store, read_ledgers
from accounting_analytics.service.imports.known_entries import SERIES, compare_with_books
from accounting_analytics.service.imports.known_openings import known_openings
from accounting_analytics.service.instances import NewInstance, describe_instance, first_instance, instance_to_fill
from accounting_analytics.service.ledgers import NewLedger, add_ledgers, names_of_ledgers
from accounting_analytics.service.post_entries import JournalWriter
from accounting_analytics.service.stored_values import IMPORT_BOOKS, instance_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from accounting_analytics.journals.accounts import AccountMapping
    from accounting_analytics.journals.file_entries import FileEntries
    from accounting_analytics.service.stored_values import Instance, StoredLedger


@dataclass(frozen=True)
class ImportedAccount:
    """An account of a file, its ledger, and the sums of its lines."""

    account: str
    type: str
    report_cash_flow: bool
    is_new: bool
    lines: int
    debits: str
    credits: str


@dataclass(frozen=True)
class ImportSummary:
    """Result of an import: created entries and ledgers, cash accounts, and notes.

    The days of the first and the last entry of the file are counted in the time zone. The instance keeps the time zone,
    company and currency, which are None if nothing has stated them. `known` entries were in the books before, with
    equal content. `missing` entries are no longer in the file, and the books keep them unchanged.
    """

    file: str
    instance_id: str
    entries: int
    lines: int
    ledgers: int
    cash: tuple[str, ...]
    start_date: str
    end_date: str
    time_zone: str
    company: str | None = None
    currency: str | None = None
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
        """Return every field except the accounts."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "accounts"}


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection, which slows imports.

    Imports create no reference cycles.
    """
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
    company: str | None = None,
    currency: str | None = None,
    cash: Sequence[str] = (),
    opening_ledgers: Sequence[str] | None = None,
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
    Accounts that exist in the instance (by id or path) are used. Other accounts are created with their parents. Entries
    that are in the instance already are not posted again, so that importing a file twice duplicates nothing.
    New ids depend on the file and the instance, so that another instance has other ids.

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
        Zone that days are counted in, of bare dates (that local day at noon) and of times without an offset. The first
        import states it, the instance keeps it, and another zone is refused later.
    company, currency : str, optional
        Headings of statements; the instance keeps them until a later import states others. A journal in one
        commodity with a code of three letters, such as ``EUR``, states the currency itself, and another is refused.
    cash : sequence of str
        Accounts that report cash flow, as glob patterns that match the whole path in any case, such as
        ``assets:bank*``; ``*`` matches any characters, also ``:``. Assets become bank accounts, liabilities credit
        cards; their lines are transactions. A pattern that matches no account is refused.
    opening_ledgers : sequence of str, optional
        Accounts of equity whose entries are opening balances, as such patterns: their lines are posted to the required
        ledger of opening balances, which the clients of the service know as such. By default ``equity:opening*``, and
        those that a ``pad`` of beancount takes balances from, unless the instance has a ledger of the path.
    commodity : str, optional
        Import only the lines of a journal in this commodity, at their prices; every entry must balance in it.
    virtual : bool
        Whether to import virtual postings of a journal, the unbalanced ones against ``equity:virtual``.
    use_entry_dates : bool
        Whether entries whose postings have several days are imported on the day of the entry, instead of refused.
    midnights : {"days", "instants"}, optional
        Meaning of instants with an offset if all are midnights of UTC, as some programs write days: those days in
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
    file, target = Path(path), instance_to_fill(store, instance_id, scale=scale, time_zone=time_zone)
    options = ReadOptions(
        time_zone=str(target.localtime),
        scale=target.scale,
        id_suffix=instance_suffix(str(target.id)),
        commodity=commodity,
        virtual=virtual,
        use_entry_dates=use_entry_dates,
        midnights=midnights,
        roots=roots,
    )
    source = {"file": file.name, "sha256": digest_of(file)}
    books, local = read_books(file, options), zone(options.time_zone)
    described = {"company": company, "currency": _currency(books, currency, target.currency)}
    with suppress(_DryRun), _writing(store, target) as (connection, to_fill):
        instance = describe_instance(connection, to_fill, localtime=target.localtime, **described)
        ledgers = read_ledgers(connection, instance)
        names = names_of_ledgers(ledgers)
        paths = {ledger.id: names.path(ledger.id) for ledger in ledgers}
        mapping = map_accounts(
            books.accounts,
            cash=cash,
            openings=opening_ledgers,
            padded=books.padded,
            existing=list(map(_to_account, ledgers)),
            id_suffix=options.id_suffix,
            errors=books.errors,
        )
        books.notes.extend(opening_notes(mapping))
        check_transactions(books, mapping.accounts)
        known = compare_with_books(connection, instance, books, mapping, local=local, paths=paths)
        openings = known_openings(connection, ledgers, books, mapping.accounts, known=known.ids, local=local)
        present = known.ids | openings
        new = {entry_id: entry for entry_id, entry in books.entries.items() if entry_id not in present}
        created = mapping.needed(line.ledger_id for entry in new.values() for line in entry.lines)
        report_cash = [account.report_cash_flow for account in created] + [
            ledger.report_cash_flow for ledger in ledgers
        ]
        if require_cash and not any(report_cash):
            refuse_without_cash(books)
        series = {} if known.series is None else {SERIES: known.series}
        new_ledgers = map(NewLedger.of_account, created)
        stored = {ledger.id: ledger for ledger in add_ledgers(connection, instance, new_ledgers)}
        of_accounts = {name: stored[account.id] for name, account in mapping.accounts.items() if account.id in stored}
        try:
            journal = JournalWriter(connection, instance, of_accounts)
            journal.post(new.values(), operation=IMPORT_BOOKS, source=source | series)
        except PostingRefusedError as error:
            index = error.entry_index
            books.errors.fail(str(error), "" if index is None else books.locations[list(new)[index]])
        if dry_run:
            raise _DryRun
    instants = [entry.datetime for entry in books.entries.values()]
    return ImportSummary(
        file=file.name,
        instance_id=str(target.id),
        entries=len(new),
        lines=sum(len(entry.lines) for entry in new.values()),
        ledgers=len(created),
        cash=tuple(sorted(name for name, account in mapping.accounts.items() if account.report_cash_flow)),
        start_date=local_date(min(instants), local).isoformat(),
        end_date=local_date(max(instants), local).isoformat(),
        time_zone=options.time_zone,
        company=instance.company,
        currency=instance.currency,
        known=len(present),
        missing=known.missing,
        notes=tuple(books.notes),
        accounts=tuple(_accounts(books, mapping, paths)),
    )


def _currency(books: FileEntries, stated: str | None, known: str | None) -> str | None:
    """Choose the currency that the caller, the file or the books state. Refuse different currencies."""
    chosen = books.choose_currency(stated)
    if stated or known is None:
        return chosen
    if chosen and chosen != known and is_currency_code(known):
        books.errors.fail(
            f"its amounts are in {chosen}, and the books so far are in {known}, and books have one currency: import "
            f"it into a new database, or state --currency {chosen} (currency=) if {known} was wrong"
        )
    return None


@contextmanager
def store_to_fill(database: str, *, dry_run: bool) -> Iterator[Store]:
    """Open or create the database of an import. A dry run uses a temporary database if there is none."""
    with TemporaryDirectory() as folder:
        is_missing = "://" not in database and not Path(database).exists()
        with Store.open(Path(folder) / "books.db" if dry_run and is_missing else database) as store:
            yield store


@contextmanager
def _writing(store: Store, target: Instance | NewInstance) -> Iterator[tuple[Connection, Instance]]:
    """Give a writing connection and the instance.

    A new instance is created.
    """
    if isinstance(target, NewInstance):
        with first_instance(store, target) as created:
            yield created
    else:
        with store.writing() as connection:
            yield connection, target


class _DryRun(Exception):  # noqa: N818 (not an error)
    """Exception that rolls back everything that an import has written."""


def _to_account(ledger: StoredLedger) -> Account:
    """Convert a ledger of the instance to a plain account."""
    kind = ledger.financial_account_type
    return Account(
        id=ledger.id,
        name=ledger.name,
        type=LedgerType(ledger.type),
        sub_type=SubType(ledger.sub_type),
        debit_credit=DebitCredit(ledger.debit_credit),
        report_cash_flow=ledger.report_cash_flow,
        sort_code=ledger.sort_code,
        parent_id=ledger.parent_id,
        financial_account_type=None if kind is None else FinancialAccountType(kind),
        is_required=ledger.is_required,
        editable=ledger.editable,
    )


def _accounts(books: FileEntries, mapping: AccountMapping, paths: Mapping[str, str]) -> Iterator[ImportedAccount]:
    """Yield the accounts of the file with the sums of their lines."""
    amounts: defaultdict[str, list[int]] = defaultdict(list)
    for entry in books.entries.values():
        for line in entry.lines:
            amounts[line.ledger_id].append(line.units)
    for name, account in sorted(mapping.accounts.items()):
        units = amounts[name]
        debits, credits_ = sum(amount for amount in units if amount > 0), -sum(amount for amount in units if amount < 0)
        yield ImportedAccount(
            account=paths.get(account.id, name),
            type=str(account.type),
            report_cash_flow=account.report_cash_flow,
            is_new=account.id not in paths,
            lines=len(units),
            debits=format_amount(from_minor_units(debits, books.options.scale)),
            credits=format_amount(from_minor_units(credits_, books.options.scale)),
        )
