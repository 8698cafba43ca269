"""`load_books`: the books of a service, or of local books, as one value."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, runtime_checkable

from accounting_analytics.client import LedgerClient
from accounting_analytics.core.arguments import require_type, to_texts
from accounting_analytics.core.errors import EmptyPeriodError, InputError
from accounting_analytics.core.fiscal_years import to_period
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.load_metadata import Discovery
from accounting_analytics.core.periods import Period, choose_zone, parse_date, today_in
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loading.ledger_discovery import discover_ledgers, refresh_ledgers
from accounting_analytics.loading.load import load_line_entries
from accounting_analytics.loading.load_whole_books import load_whole_books
from accounting_analytics.loading.request import DEFAULT_IN_FLIGHT
from accounting_analytics.reports.books.value import Books

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.reports.books.value import PeriodLike
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport


@runtime_checkable
class BooksReader(Protocol):
    """A source that can itself make books, such as local books."""

    @property
    def source(self) -> str:
        """Service and instance of which the source is a copy."""

    def read_books(self, period: PeriodLike, since: DateLike | None, engine: str, **options: Any) -> Books:  # noqa: ANN401
        """Return the books of a period."""


def load_books(
    source: LedgerClient | BooksReader,
    period: PeriodLike = None,
    *,
    since: DateLike | None = None,
    opening: object = None,
    chart: pd.DataFrame | None = None,
    ledgers: Iterable[str] | None = None,
    parents: Mapping[str, str | None] | None = None,
    reports: Iterable[PeriodLike] | None = None,
    time_zone: ZoneLike | None = None,
    engine: str = "pandas",
    allow_partial: bool = False,
    in_flight: int = DEFAULT_IN_FLIGHT,
    progress: bool | None = None,
) -> Books:
    """Load the books: their chart of accounts, and all line entries since the first one, or since a day.

    Parameters
    ----------
    source : LedgerClient or LocalBooks
        The service, or local books, which are read and not loaded.
    period : period-like, optional
        The days that functions are of by default, such as ``"2026-05"``, and the last of which are the last that are
        loaded; by default all days until the end of this month. Relative names are as of today.
    since : date-like, optional
        First day to load; by default that of the first entry. From a later one, cash is what the service reported at
        its start, and a balance sheet is a movement.
    opening : optional
        From when balances are known, where neither the first entry nor a report states it, as of
        :class:`~accounting_analytics.Books`.
    chart : DataFrame, optional
        A chart of accounts that was kept from before: it is only extended.
    ledgers : iterable of str, optional
        Only the lines of these ledgers, by id, unique name or path; what needs others is then not known.
    parents : mapping, optional
        Ledger id to parent id (None for a root), where the service does not show parents.
    reports : iterable of period-like, optional
        Days whose cash flow report of the service is loaded too, for :func:`~accounting_analytics.reconcile` and packs;
        by default the period, if one is given. Days before the first loaded one are left out: there is nothing to
        compare. Local books have none: their syncs compared each month, as ``books.proofs`` says.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default that of the period, else the client's, else UTC, which is then noted.
    engine : {"pandas", "pyarrow", "polars", "duckdb", "pyspark"}
        Where the lines are; other engines than pandas read local books only.
    allow_partial : bool
        Return what could be read when some requests fail: the books say INCOMPLETE, and what is missing.
    in_flight : int
        Requests in parallel at most.
    progress : bool, optional
        Show progress bars; None shows them in a terminal or an interactive notebook.

    Returns
    -------
    Books
        All calculations take it. The newest lines of each ledger were read twice, to find changes during the load.

    Raises
    ------
    EmptyPeriodError
        The service has no ledgers with lines, or the period is before the first entry.
    InputError
        An option is wrong, or has no effect on local books.
    ServiceError
        The service failed; nothing is returned, loading again is safe.

    Examples
    --------
    ::

        books = aa.load_books(client)
        aa.income_statement(books, "2026-05", compare="prior_year")
    """
    ledgers = None if ledgers is None else to_texts(ledgers)
    same: dict[str, Any] = {"since": since, "chart": chart, "ledgers": ledgers, "parents": parents, "engine": engine}
    same |= {"allow_partial": allow_partial, "in_flight": in_flight, "progress": progress}
    load_again = partial(_load_again, **same)
    if isinstance(source, BooksReader):
        of_local: dict[str, Any] = {"opening": opening, "chart": chart, "parents": parents}
        of_local |= {"allow_partial": allow_partial or None, "ledgers": ledgers, "time_zone": time_zone}
        return source.read_books(period, since, engine, **of_local).loaded_by(load_again)
    require_type(
        source,
        LedgerClient,
        "source",
        "connect() returns one, LocalBooks.open(folder) local books; open_journal reads a file",
    )
    if engine != "pandas":
        raise InputError(f"engine={engine!r} reads local books: sync them, and load LocalBooks.open(folder)")
    asked = _Asked.of(source, period, reports, time_zone)
    start = None if since is None else parse_date(since, "since")
    if start is not None and start > asked.days.end_date:
        raise InputError(f"since is {start}, which is after the last day, {asked.days.end_date}; nothing was loaded")
    options: dict[str, Any] = {"in_flight": in_flight, "progress": progress}
    if start is None and ledgers is None:
        options |= {"allow_partial": allow_partial, "notes": asked.notes}
        lines, chart = load_whole_books(source, asked.days, chart=chart, parents=parents or {}, **options)
    else:
        chart = _find_ledgers(source, asked.days, chart, parents, **options)
        first = start or _first_day(chart, asked.days)
        days, options = (first, asked.days.end_date), options | {"time_zone": asked.days.time_zone}
        lines = load_line_entries(source, _chosen(ledgers, chart), *days, allow_partial=allow_partial, **options)
    if chart.empty:
        raise EmptyPeriodError(f"the service has no ledgers with lines until {asked.days.end_date} yet")
    discovery = Discovery.stated(chart)
    if discovery and asked.period:
        discovery.refuse_earlier(asked.period)
    books = Books(
        lines,
        chart,
        asked.period,
        time_zone=asked.days.time_zone,
        opening=opening,
        company=source.company,
        currency=source.currency,
        fiscal_year_start_month=source.fiscal_year_start_month,
    )
    first = books.extent.days.start_date
    if opening is None and books.opening.is_movement:
        books = books.with_opening(load_cash_flow_report(source, first, first, time_zone=books.time_zone))
    found = [_report_of(source, report_days, first) for report_days in asked.reports if report_days.end_date >= first]
    return books.with_reports(found).loaded_by(load_again)


def _load_again(source: LedgerClient | BooksReader, books: Books, **options: Any) -> Books:  # noqa: ANN401
    """Load the days of books again, with the same reports."""
    if isinstance(source, LedgerClient | BooksReader) and source.source != books.extent.source:
        raise InputError(
            f"refresh: the books are of {books.extent.source}, and this is {source.source}; load_books loads others"
        )
    if isinstance(source, LedgerClient):
        options |= {"reports": [report.period for report in books.reports], "time_zone": books.time_zone}
    return load_books(source, books.extent.days, **options)


class _Asked(NamedTuple):
    """Arguments of a load.

    Attributes
    ----------
    period : Period or None
        The default days of functions.
    days : Period
        The same; without any the last day of this month, until which is loaded.
    reports : list of Period
        The days whose report is loaded.
    notes : tuple of str
        Assumptions about the zone.
    """

    period: Period | None
    days: Period
    reports: list[Period]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        client: LedgerClient,
        period: PeriodLike,
        reports: Iterable[PeriodLike] | None,
        time_zone: ZoneLike | None,
    ) -> Self:
        """Read the arguments. Relative names, such as ``last-month``, count from today."""
        of_period = period.time_zone if isinstance(period, Period) else None
        zone, notes = choose_zone(time_zone or of_period, client.time_zone)
        today, first_month = today_in(zone), client.fiscal_year_start_month
        given = None if period is None else to_period(period, "period", first_month, as_of=today, time_zone=zone)
        end = Period.relative("this-month", as_of=today, time_zone=zone).end_date
        found = [
            to_period(report_period, "reports", first_month, as_of=today, time_zone=zone)
            for report_period in reports or ()
        ]
        return cls(given, given or Period(end, end, zone), [given] if reports is None and given else found, notes)


def _find_ledgers(
    client: LedgerClient,
    days: Period,
    chart: pd.DataFrame | None,
    parents: Mapping[str, str | None] | None,
    **options: Any,  # noqa: ANN401 (of discover_ledgers)
) -> pd.DataFrame:
    """Discover the ledgers before a load, or refresh a kept chart."""
    if chart is not None:
        return refresh_ledgers(client, chart, days, parents=parents)
    dates = (days.start_date, days.end_date)
    return discover_ledgers(client, *dates, time_zone=days.time_zone, parents=parents, **options)


def _first_day(chart: pd.DataFrame, asked: Period) -> dt.date:
    """Return the first entry's day, or an earlier requested day."""
    discovery = Discovery.stated(chart)
    return min((discovery and discovery.first_day) or asked.start_date, asked.start_date)


def _chosen(ledgers: Iterable[str] | None, chart: pd.DataFrame) -> list[str]:
    """Return the ids of the named ledgers, else of all ledgers."""
    if ledgers is None:
        return list(chart["id"])
    names = LedgerNames.from_frame(chart)
    return list(dict.fromkeys(map(names.find, ledgers)))


def _report_of(client: LedgerClient, days: Period, first: dt.date) -> CashFlowReport:
    """Load the report of a period.

    The report does not begin before the first day of the books.
    """
    return load_cash_flow_report(client, max(days.start_date, first), days.end_date, time_zone=days.time_zone)
