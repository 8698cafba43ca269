"""Options that several commands have, and their help."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from accounting_analytics.core.errors import InputError, PeriodError
from accounting_analytics.core.fiscal_years import parse_period
from accounting_analytics.core.periods import Period, parse_date

MAX_ROWS = 10
"""Rows that a command prints by default: with heading and messages they fit a terminal of 24 lines."""
_EXAMPLES = "such as last-month, 2026-Q1 or 2026-03"

Date = Annotated[str | None, Parameter(metavar="DATE")]
Json = Annotated[bool, Parameter(name="--json", help="Print JSON; amounts are text, so that no digit is lost.")]
Output = Annotated[Path, Parameter(help="Folder to write to.")]
Parents = Annotated[
    Path | None,
    Parameter(help="Parents of ledgers that the service does not show: .csv or .xlsx (ledger_id, parent_id)."),
]
Opening = Annotated[
    str | None,
    Parameter(
        metavar="DAY|FILE",
        help="From when balances are known, where neither the first entry nor a report of the service states it: the "
        "first day of the books, or a .csv or .xlsx file of balances (ledger, balance) at the start of the first day.",
    ),
]
AgedLedgers = Annotated[
    tuple[str, ...],
    Parameter(
        name="--aged-ledger",
        help="Receivable or payable whose ages are shown, with the ledgers below it: id, unique name or path; "
        "repeatable. By default the ledgers of these types of account, which imported journals do not have.",
    ),
]
DepreciationLedgers = Annotated[
    tuple[str, ...],
    Parameter(
        name="--depreciation",
        help="Ledger of depreciation, with the ledgers below it: id, unique name or path; repeatable; as configured by "
        "default. Without any, EBITDA is not known.",
    ),
]
BudgetFile = Annotated[
    Path | None,
    Parameter(
        metavar="FILE",
        help="Budget to compare with: .csv or .xlsx (ledger, month as 2027-01, amount); amounts are positive on the "
        "normal side of the ledger, and what has none has no budget. `draft-budget` writes one.",
    ),
]
BooksFolder = Annotated[Path, Parameter(name="--books", help="Folder of the local books.")]
RefusedBooks = Annotated[Path | None, Parameter(name="--books", show=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class GivenDays:
    """The days that a command is about.

    Attributes
    ----------
    start_date
        First day, inclusive, YYYY-MM-DD.
    end_date
        Last day, inclusive, YYYY-MM-DD.
    period
        Instead of both dates: last-month, this-quarter, ytd, 2026, 2026-H1, "Q1 2026", 2026-03, "March 2026" or
        2026-03-01/2026-03-15.
    """

    start_date: Date = None
    end_date: Date = None
    period: str | None = None

    @property
    def given(self) -> bool:
        """True if any of the options is given."""
        return any(given is not None for given in (self.start_date, self.end_date, self.period))

    def in_zone(self, time_zone: str, first_month: int = 1) -> Period:
        """Return the period from first to last day. A relative period counts from today in the time zone."""
        first, last = self.optional_dates(time_zone, first_month)
        if first is None and last is None:
            raise InputError(
                f"no days are given: add --period ({_EXAMPLES}), or --start-date and --end-date; an outlook, ages, "
                "what recurs and a draft of a budget take --end-date alone"
            )
        if first is None or last is None:
            missing = "--start-date" if first is None else "--end-date"
            raise InputError(f"{missing} is missing: give both dates, or --period ({_EXAMPLES}) instead of them")
        return Period(first, last, time_zone)

    def optional_dates(self, time_zone: str, first_month: int = 1) -> tuple[str | None, str | None]:
        """Return the first and the last day, or None for a day that is not given."""
        if self.period is None:
            for option, day in (("--start-date", self.start_date), ("--end-date", self.end_date)):
                if day is not None:
                    parse_date(day, option)
            return self.start_date, self.end_date
        if self.start_date is not None or self.end_date is not None:
            given = "--end-date" if self.start_date is None else "--start-date"
            raise InputError(f"--period and {given} are both given: leave one of them out")
        try:
            days = parse_period(self.period, first_month, time_zone=time_zone)
        except PeriodError as error:
            raise PeriodError(f"--period: {error}") from None
        return str(days.start_date), str(days.end_date)


@Parameter(name="*")
@dataclass(frozen=True)
class ZonedDays(GivenDays):
    """The days that a command is about, and the zone that they are counted in.

    Attributes
    ----------
    time_zone
        IANA name of the zone that days are counted in; as configured by default, or UTC.
    """

    time_zone: str | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class Service:
    """The service that a command connects to.

    Attributes
    ----------
    profile
        Profile of the configuration file to use.
    scale
        Fraction digits of the currency; as configured by default, or 2.
    demo
        Use the demo company, served for this command only.
    """

    profile: str | None = None
    scale: int | None = None
    demo: bool = False


@Parameter(name="*")
@dataclass(frozen=True)
class BooksOrService(Service):
    """The service or the local books that a command reads.

    Attributes
    ----------
    books
        Read local books, which `sync` writes to this folder, offline; all their days by default.
    """

    books: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class Load:
    """Options of loading line entries of all ledgers, and of printing JSON.

    Attributes
    ----------
    allow_partial
        Leave out what cannot be loaded; results are marked PARTIAL.
    since
        First day to load; that of the first entry by default.
    """

    as_json: Json = False
    allow_partial: bool = False
    parents: Parents = None
    since: Date = None
    opening: Opening = None


@Parameter(name="*")
@dataclass(frozen=True)
class RowLimit:
    """Options for the number of printed rows.

    Attributes
    ----------
    limit
        Print at most this many rows, 10 by default; --json prints all.
    all_rows
        Print every row.
    """

    limit: PositiveInt = MAX_ROWS
    all_rows: Annotated[bool, Parameter(name="--all")] = False

    @property
    def rows(self) -> int | None:
        """Number of rows to print, or None for all rows."""
        return None if self.all_rows else self.limit


@Parameter(name="*")
@dataclass(frozen=True)
class Run(Service):
    """A run that changes the books of the service.

    Attributes
    ----------
    books
        Folder of local books to sync after the books of the service changed.
    modified_by
        Your name, for the audit log.
    confirm
        Change the books, or send nothing and show what would change.
    """

    books: Path | None = None
    modified_by: str | None = None
    confirm: Annotated[bool, Parameter(negative="--dry-run")] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DatabaseOption:
    """The database of an embedded service.

    Attributes
    ----------
    database
        SQLite file, or postgresql://user@host/name (its password in PGPASSFILE).
    """

    database: Annotated[str, Parameter(env_var="ACCOUNTING_ANALYTICS_DATABASE")]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class InstanceOption(DatabaseOption):
    """An instance in the database of an embedded service.

    Attributes
    ----------
    instance
        The instance; required if the database has more than one.
    """

    instance: str | None = None
