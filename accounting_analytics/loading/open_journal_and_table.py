"""`open_journal` and `open_table`: the books in a file of your own, without a service."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from accounting_analytics.core.arguments import require_type, to_path, to_texts
from accounting_analytics.core.day_ranges import DayRange, days_to_text
from accounting_analytics.core.fiscal_years import require_month, to_period
from accounting_analytics.core.messages import join_ids, printable
from accounting_analytics.core.money import DEFAULT_SCALE, check_scale
from accounting_analytics.core.periods import Period, choose_zone, local_date, zone
from accounting_analytics.journals.accounts import (
    REQUIRED_ACCOUNTS,
    check_transactions,
    map_accounts,
    opening_notes,
    refuse_without_cash,
)
from accounting_analytics.journals.file_entries import FileErrors, ReadOptions
from accounting_analytics.journals.read_file import JOURNAL_SUFFIXES, digest_of, read_books
from accounting_analytics.loading.frames_of_file import check_entries, ledgers_of_file, lines_of_file
from accounting_analytics.loading.read_line_entries import check_midnights
from accounting_analytics.loading.request import DEFAULT_EXPANSIONS
from accounting_analytics.reports.books.extent_of_load import attach_load_metadata
from accounting_analytics.reports.books.value import Books

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from accounting_analytics.core.periods import ZoneLike
    from accounting_analytics.journals.file_entries import FileEntries
    from accounting_analytics.reports.books.value import PeriodLike

OUTCOME = "nothing was read"
"""Outcome with which the message of a refused file ends."""
_NO_ROOTS: Mapping[str, str] = MappingProxyType({})


def open_journal(
    path: str | Path,
    period: PeriodLike = None,
    *,
    time_zone: ZoneLike,
    cash: str | Iterable[str] | None = None,
    opening_ledgers: str | Iterable[str] | None = None,
    commodity: str | None = None,
    virtual: bool = False,
    use_entry_dates: bool = False,
    roots: Mapping[str, str] = _NO_ROOTS,
    scale: int | None = None,
    company: str | None = None,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> Books:
    """Open a journal of hledger, ledger or beancount as books, without a service.

    The installed program reads the file: hledger, or bean-check with bean-query. Figures are those of the same file
    imported into a service. What only a service can do is refused: a comparison with its reports, and changes.

    Parameters
    ----------
    path : str or Path
        The file, recognized by the end of its name: ``.journal``, ``.j``, ``.hledger``, ``.ledger``, ``.dat``,
        ``.beancount`` or ``.bean``.
    period : period-like, optional
        The days that functions are of by default, which may end after the last entry: a file is whole. By default those
        from the first entry to the end of the month of the last.
    time_zone : str or ZoneInfo
        Zone that days are counted in; an entry of a day is at noon.
    cash : str or iterable of str
        Accounts that report cash flow, as glob patterns that match the whole path in any case, such as
        ``assets:bank*``; ``*`` matches any characters, also ``:``. Assets become bank accounts, liabilities credit
        cards. Without any the file is refused with those that are likely; ``cash=[]`` says that there is none.
    opening_ledgers : str or iterable of str, optional
        Accounts of equity whose entries are opening balances, no inflow, as patterns like those of `cash`; by default
        ``equity:opening*``, and those that a ``pad`` of beancount takes balances from; ``[]`` says that there is none.
        Their lines are on the ledger ``Opening Balance Retained Earnings``, as after an import.
    commodity : str, optional
        Only the lines in this commodity, at their prices, where the journal has several.
    virtual : bool
        Take virtual postings in, the unbalanced ones against ``equity:virtual``.
    use_entry_dates : bool
        Take entries whose postings have several days on the day of the entry, instead of refusing them.
    roots : mapping
        Beginnings of paths and what replaces each, such as ``{"me:assets": "assets"}``; ``{"*": "assets"}`` puts every
        account without a type below ``assets``.
    scale : int, optional
        Fraction digits of the amounts, 2 by default.
    company, currency : str, optional
        Shown in every heading; a journal whose only commodity is a code such as ``EUR`` states its currency.
    fiscal_year_start_month : int
        Month that years and quarters are counted from.

    Returns
    -------
    Books
        Balances are sums since the first entry. Ids follow from the file; ``notes`` say what was left out.

    Raises
    ------
    ImportRefusedError
        The file cannot be read, is malformed or does not balance; the message names file, line and problem.
    InputError
        An argument is wrong.

    Examples
    --------
    ::

        books = aa.open_journal("2025.journal", time_zone="America/New_York", cash="assets:bank*")
        aa.income_statement(books, "2025-05", compare="prior_year")
    """
    require_type(roots, Mapping, "roots", "pass {'me:assets': 'assets'}")
    file, options = to_path(path, "path"), {"commodity": commodity, "virtual": virtual}
    if file.suffix.lower() not in JOURNAL_SUFFIXES:
        FileErrors(file, OUTCOME).fail(
            f"it is not a journal by the end of its name ({', '.join(sorted(JOURNAL_SUFFIXES))}): rename it, or open a "
            "table of line entries with open_table"
        )
    return _open(
        file,
        period,
        cash,
        opening_ledgers,
        time_zone=time_zone,
        scale=scale,
        options=options | {"use_entry_dates": use_entry_dates, "roots": tuple(roots.items())},
        company=company,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
    )


def open_table(
    path: str | Path,
    period: PeriodLike = None,
    *,
    time_zone: ZoneLike,
    cash: str | Iterable[str] | None = None,
    opening_ledgers: str | Iterable[str] | None = None,
    midnights: Literal["days", "instants"] | None = None,
    scale: int | None = None,
    company: str | None = None,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> Books:
    """Open a table of line entries, CSV or Parquet, as books, without a service.

    The table has one row for each line entry: ``entry_id``, ``datetime``, ``entry_description``, ``ledger``,
    ``debit_credit`` and ``amount``; optional are ``description``, ``transaction_id``, ``transaction_description``,
    ``personal``, ``review_status``, ``source_account_id`` and ``tags``, as the command ``import`` reads it.

    Parameters
    ----------
    path : str or Path
        The file.
    period : period-like, optional
        The days that functions are of by default, which may end after the last entry: a file is whole. By default those
        from the first entry to the end of the month of the last.
    time_zone : str or ZoneInfo
        Zone that days are counted in, of bare dates (that local day at noon), and of times without an offset.
    cash : str or iterable of str
        Accounts that report cash flow, as glob patterns that match the whole path in any case. Without any the file is
        refused with those that are likely; ``cash=[]`` says that there is none.
    opening_ledgers : str or iterable of str, optional
        Accounts of equity whose entries are opening balances, no inflow, as patterns like those of `cash`; by default
        ``equity:opening*``; ``[]`` says that there is none. Their lines are on the ledger ``Opening Balance Retained
        Earnings``, as after an import.
    midnights : {"days", "instants"}, optional
        Meaning of instants with an offset if all are midnights of UTC: those days, or the instants themselves.
    scale : int, optional
        Fraction digits of the amounts, 2 by default.
    company, currency : str, optional
        Shown in every heading.
    fiscal_year_start_month : int
        Month that years and quarters are counted from.

    Returns
    -------
    Books
        Balances are sums since the first entry. The id of an entry is its ``entry_id``.

    Raises
    ------
    ImportRefusedError
        The file cannot be read, is malformed or does not balance; the message names file, line and problem.
    InputError
        An argument is wrong.

    Examples
    --------
    ::

        books = aa.open_table("lines.csv", time_zone="Europe/Berlin", cash=["assets:bank*", "liabilities:card"])
        aa.balance_sheet(books, "2025-05")
    """
    file = to_path(path, "path")
    if file.suffix.lower() in JOURNAL_SUFFIXES:
        FileErrors(file, OUTCOME).fail("it is a journal by the end of its name: open it with open_journal")
    if midnights is not None:
        check_midnights(midnights, time_zone)
    return _open(
        file,
        period,
        cash,
        opening_ledgers,
        time_zone=time_zone,
        scale=scale,
        options={"midnights": midnights},
        company=company,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
    )


def _open(
    file: Path,
    period: PeriodLike,
    cash: str | Iterable[str] | None,
    opening_ledgers: str | Iterable[str] | None,
    *,
    time_zone: ZoneLike,
    scale: int | None,
    options: Mapping[str, Any],
    fiscal_year_start_month: int,
    company: str | None,
    currency: str | None,
) -> Books:
    """Read a file as books.

    Days before and after the entries count as days without entries.
    """
    require_month(fiscal_year_start_month)
    day_zone = choose_zone(time_zone)
    asked = None
    if period is not None:
        asked = to_period(period, "period", fiscal_year_start_month, time_zone=day_zone.name)
    digits = DEFAULT_SCALE if scale is None else check_scale(scale)
    read = read_books(file, ReadOptions(time_zone=day_zone.name, scale=digits, outcome=OUTCOME, **options))
    first, days = _days(read, asked)
    return books_of_file(
        read,
        days,
        cash=None if cash is None else to_texts(cash),
        opening_ledgers=None if opening_ledgers is None else to_texts(opening_ledgers),
        first_entry=first,
        period=asked,
        company=company,
        currency=read.choose_currency(currency),
        fiscal_year_start_month=fiscal_year_start_month,
    )


def books_of_file(
    read: FileEntries,
    days: Period,
    *,
    cash: Sequence[str] | None,
    opening_ledgers: Sequence[str] | None = None,
    first_entry: dt.date | None = None,
    **options: Any,  # noqa: ANN401 (those of Books)
) -> Books:
    """Make books of a file's entries in known days.

    Balances are known if the first entry of the books is given.
    """
    source = f"{printable(read.path.name)} (sha256 {digest_of(read.path, read.options.outcome)})"
    check_entries(read)
    existing = list(REQUIRED_ACCOUNTS.values())
    mapping = map_accounts(
        dict.fromkeys(read.named, "") | read.accounts,
        cash=cash or (),
        openings=opening_ledgers,
        padded=read.padded,
        existing=existing,
        id_suffix="",
        errors=read.errors,
    )
    read.notes.extend(opening_notes(mapping))
    if cash is None:
        refuse_without_cash(read)
    check_transactions(read, mapping.accounts)
    ledgers = ledgers_of_file(read, mapping, source)
    lines = lines_of_file(read, mapping.accounts)
    covered = days_to_text([DayRange.of_period(days)])
    lines.attrs["notes"] = (*_notes(read), *lines.attrs["notes"], *choose_zone(days.time_zone).notes)
    metadata = {
        "file": source,
        "start_date": days.start_date.isoformat(),
        "end_date": days.end_date.isoformat(),
        "time_zone": days.time_zone,
        "expand": sorted(DEFAULT_EXPANSIONS),
        "scale": read.options.scale,
        "filters": {},
        "complete": True,
        "ledgers": json.dumps(dict.fromkeys(ledgers["id"], covered)),
        "missing": {},
        "consistency": "all",
        "of_one_moment": covered,
        "read_at": dt.datetime.now(dt.UTC).isoformat(),
        "lines": len(lines),
    }
    if first_entry is not None:
        metadata["books_start"] = first_entry.isoformat()
    attach_load_metadata(lines, metadata)
    return Books(lines, ledgers, **options)


def _days(read: FileEntries, asked: Period | None) -> tuple[dt.date, Period]:
    """Return the day of the first entry, and the known days. A file is taken to have all entries of these days."""
    local = zone(read.options.time_zone)
    instants = [entry.datetime for entry in read.entries.values()]
    first, last = (local_date(instant, local) for instant in (min(instants), max(instants)))
    end = Period.relative("this-month", as_of=last, time_zone=read.options.time_zone).end_date
    if asked is not None:
        return first, Period(min(first, asked.start_date), max(end, asked.end_date), asked.time_zone)
    return first, Period(first, end, read.options.time_zone)


def _notes(read: FileEntries) -> tuple[str, ...]:
    """Write a file's notes as sentences.

    Another note names files that the digest does not include.
    """
    own = ("line", "row")
    others = {place.partition(" line ")[0] for place in read.locations.values() if not place.startswith(own)}
    included = [f"Entries of included files, which the sha256 does not cover: {join_ids(others)}."] if others else []
    return (*(f"{note[0].upper()}{note[1:]}." for note in read.notes), *included)
