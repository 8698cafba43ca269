"""`open_accounting_export`: the journal report of QuickBooks or Xero as books, without a service."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from accounting_analytics.core.arguments import require_type, to_path, to_texts
from accounting_analytics.core.chart_of_accounts import LedgerType
from accounting_analytics.core.errors import AmountError, InputError
from accounting_analytics.core.fiscal_years import require_month, to_period
from accounting_analytics.core.messages import join_ids, quote
from accounting_analytics.core.money import (
    DEFAULT_SCALE,
    check_scale,
    format_amount,
    from_minor_units,
    parse_amount,
    to_minor_units,
)
from accounting_analytics.core.periods import Period, choose_zone
from accounting_analytics.journals.accounting_export import HEADINGS, AccountingExportChoices, read_accounting_export
from accounting_analytics.journals.accounts import type_of_path
from accounting_analytics.journals.file_entries import FileEntries, ReadOptions
from accounting_analytics.loading.open_journal_and_table import OUTCOME, books_of_file
from accounting_analytics.reports.books.opening import GivenOpening

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal
    from pathlib import Path

    from accounting_analytics.core.periods import ZoneLike
    from accounting_analytics.reports.books.value import Books, PeriodLike

_NO_BALANCES: Mapping[str, Any] = MappingProxyType({})
_MAX_NAMED = 20


def open_accounting_export(
    path: str | Path,
    kind: Literal["quickbooks", "xero"],
    *,
    time_zone: ZoneLike,
    currency: str,
    accounts: Mapping[str, str] | None = None,
    date_order: Literal["day month year", "month day year", "year month day"] | None = None,
    decimal_mark: Literal[".", ","] | None = None,
    cash: str | Iterable[str] | None = None,
    opening: object = None,
    closing: Mapping[str, Decimal | int | str] = _NO_BALANCES,
    period: PeriodLike = None,
    scale: int | None = None,
    company: str | None = None,
    fiscal_year_start_month: int = 1,
    encoding: str = "utf-8",
) -> Books:
    """Open the journal report of QuickBooks or Xero, exported as CSV, as books, without a service.

    The lines of each entry are compared with its totals, and all lines with the totals of the file. If a file can
    be read in two ways, an argument states the right one. Without it the file is refused, and the message shows the
    first lines by each reading.

    Parameters
    ----------
    path : str or Path
        The report *Journal* of QuickBooks, or *Journal Report* of Xero, as CSV.
    kind : {"quickbooks", "xero"}
        The program.
    time_zone : str or ZoneInfo
        Zone that days are counted in; an entry of a day is at noon.
    currency : str
        Code of the currency; amounts in another one are refused.
    accounts : mapping of str to str
        Path of each account, whose first part is its type: ``{"Checking": "assets:bank:checking"}``. An account below
        another one, such as ``Rent:Office``, needs none of its own.
    date_order : {"day month year", "month day year", "year month day"}
        Order of the parts of a day; a month may be a name.
    decimal_mark : {".", ","}
        Mark before the cents.
    cash : str or iterable of str
        Paths of accounts that report cash flow, as patterns; as of :func:`open_journal`.
    opening : date-like or balances, optional
        The day of the first entry of the books, where the report is of all days; or balances of ledgers at the start of
        the first day. Without it balances are movements.
    closing : mapping of str to amounts, optional
        Balances of accounts after the last day, by path, as the balance sheet of the program prints them; each is
        compared. They need an `opening`.
    period : period-like, optional
        The days of the report; entries of others are refused. By default those from its first to its last entry.
    scale, company, fiscal_year_start_month, encoding
        As of :func:`~accounting_analytics.open_bank_file`.

    Returns
    -------
    Books
        Ids follow from the numbers of Xero, and from the content of entries of QuickBooks. ``notes`` say what was
        compared.

    Raises
    ------
    ImportRefusedError
        A decision is not stated, a line cannot be read, or totals or a balance differ; with the lines.
    InputError
        An argument is wrong.

    Examples
    --------
    ::

        books = aa.open_accounting_export(
            "journal.csv", "quickbooks", time_zone="America/New_York", currency="USD", cash="assets:bank*",
            accounts={"Checking": "assets:bank:checking", "Rent": "expenses:rent"}, opening="2025-01-01",
            date_order="month day year", decimal_mark=".", closing={"assets:bank:checking": "22314.60"},
        )
    """
    require_month(fiscal_year_start_month)
    if accounts is not None:
        require_type(accounts, Mapping, "accounts", "pass {'Checking': 'assets:bank:checking'}")
    if kind not in HEADINGS:
        raise InputError(f"kind is {quote(kind)}, and not one of {', '.join(map(quote, HEADINGS))}")
    day_zone = choose_zone(time_zone).name
    asked = None if period is None else to_period(period, "period", fiscal_year_start_month, time_zone=day_zone)
    digits = DEFAULT_SCALE if scale is None else check_scale(scale)
    given = AccountingExportChoices(kind, accounts, currency, date_order, decimal_mark, asked, encoding)
    read = FileEntries(to_path(path, "path"), ReadOptions(time_zone=day_zone, scale=digits, outcome=OUTCOME))
    first, last = read_accounting_export(given, read)
    read.check()
    _compare_closing(read, closing, opening)
    return books_of_file(
        read,
        Period(first, last, day_zone),
        cash=None if cash is None else to_texts(cash),
        opening=opening,
        period=asked,
        company=company,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
    )


def _compare_closing(read: FileEntries, closing: Mapping[str, Decimal | int | str], opening: object) -> None:
    """Compare stated closing balances with opening balances and entries.

    Write a note about the comparison.
    """
    if not closing:
        read.notes.append("no balance was compared with the entries (closing=)")
        return
    if opening is None:
        raise InputError(
            "closing is compared with the opening balances and the entries: state opening=, the day of the first entry "
            "of the books, or the balances before it"
        )
    scale = read.options.scale
    balances = GivenOpening.of(opening).balances
    before = balances if isinstance(balances, Mapping) else {}
    moved = Counter[str]()
    for entry in read.entries.values():
        for line in entry.lines:
            moved[line.ledger_id] += line.units
    for path, amount in closing.items():
        if path not in moved and path not in before:
            raise InputError(
                f"closing: {quote(path)} has no entry; the accounts are {join_ids(moved, limit=_MAX_NAMED)}"
            )
        side = 1 if type_of_path(path) in {LedgerType.ASSET, LedgerType.EXPENSE} else -1
        found = side * (moved[path] + _units(before.get(path, 0), path, scale))
        stated = _units(amount, path, scale)
        if found != stated:
            expected, shown = (format_amount(from_minor_units(units, scale)) for units in (stated, found))
            read.errors.add(
                "",
                f"a closing balance of {path} of {expected} is stated, and the opening balance and the entries give "
                f"{shown}: an entry is missing or doubled, or a date or a decimal mark is wrong",
            )
    read.errors.raise_if_any()
    read.notes.append(f"compared with the entries, and equal: the closing balance of {', '.join(closing)}")


def _units(amount: Decimal | int | str, path: str, scale: int) -> int:
    try:
        return to_minor_units(parse_amount(amount, scale).amount, scale)
    except AmountError as error:
        raise InputError(f"closing, {path}: {error}") from None
