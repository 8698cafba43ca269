"""What a pack is made from: line entries, ledgers, balances at the start, and what the service reported of the days."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from accounting_analytics.core.errors import EmptyPeriodError, InputError, PeriodError
from accounting_analytics.core.load_metadata import Discovery, notes
from accounting_analytics.core.periods import Period
from accounting_analytics.exports.books_to_export import ProvenBooks
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loading.ledger_discovery import discover_ledgers
from accounting_analytics.loading.load import load_line_entries
from accounting_analytics.reconciliation.completeness import check_completeness
from accounting_analytics.reconciliation.reconciliation import reconcile
from accounting_analytics.reports.books.opening import discovered_first_entry
from accounting_analytics.reports.statements.columns import days_label
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.local_books.drift import Drift
    from accounting_analytics.local_books.versions import When
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.reconciliation.completeness import Certificate
    from accounting_analytics.reconciliation.reconciliation import Reconciliation
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_DAY = dt.timedelta(days=1)


@runtime_checkable
class PackBooks(ProvenBooks, Protocol):
    """Local books that state how far back they reach, and what changed in them."""

    @property
    def books_start(self) -> dt.date | None:
        """First day, if sums since then are balances."""

    def drift(self, before: When, after: When | None = None, *, period: Period | None = None) -> Drift:
        """Return the lines that changed between two versions."""

    def closed(self) -> pd.DataFrame:
        """Return the closed periods with the version of each."""


class ComparedPeriod(NamedTuple):
    """A period whose cash flow report of the service was compared with the line entries.

    Attributes
    ----------
    label : str
        The period.
    ties : bool
        Whether every figure compared agrees.
    verdict : str
        What the comparison found.
    reported : CashFlowReport, optional
        The report as loaded; local books have compared theirs at their sync.
    reconciliation : Reconciliation, optional
        The comparison.
    """

    label: str
    ties: bool
    verdict: str
    reported: CashFlowReport | None = None
    reconciliation: Reconciliation | None = None


class LoadedBooks(NamedTuple):
    """The books of a pack.

    Attributes
    ----------
    ledgers, lines : DataFrame
        Chart of accounts, and line entries of all ledgers.
    days : Period
        The days of the lines.
    books_start : date, optional
        First day of the books, where it is known.
    starting_balances : DataFrame, optional
        Cash balances at the first day, as the service states them, where the lines do not reach back.
    certificate : Certificate
        Whether lines are missing.
    compared : dict
        Each period of a column, and the comparison of its report.
    notes : tuple of str
        What was assumed.
    reports : dict
        The cash flow report of each of these periods.
    version : int, optional
        Version of local books.
    drift : Drift, optional
        What changed in local books since the last pack.
    """

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    days: Period
    books_start: dt.date | None
    starting_balances: pd.DataFrame | None
    certificate: Certificate
    compared: dict[str, ComparedPeriod]
    notes: tuple[str, ...]
    reports: dict[str, CashFlowReport]
    version: int | None = None
    drift: Drift | None = None


def load_books(
    source: LedgerClient | PackBooks,
    periods: PackPeriods,
    books_start: dt.date | None,
    *,
    since: When | None = None,
    parents: Mapping[str, str | None] | None = None,
    progress: bool | None,
) -> LoadedBooks:
    """Load the books from the service, or read them from local books, with what changed there since a version."""
    if isinstance(source, PackBooks):
        if parents is not None:
            raise InputError("local books have their chart of accounts: give the parents to their sync")
        return _read_local(source, periods, since)
    if since is not None:
        raise InputError("since is for local books, which have their versions: pass LocalBooks.open(folder)")
    return _load(source, periods, books_start, parents, progress=progress)


def _load(
    client: LedgerClient,
    periods: PackPeriods,
    books_start: dt.date | None,
    parents: Mapping[str, str | None] | None,
    *,
    progress: bool | None,
) -> LoadedBooks:
    this = periods.this
    if books_start is not None and books_start > this.end_date:
        raise PeriodError(f"books_start {books_start} is after {this.end_date}; it is the first day of the books")
    first_known = books_start or periods.first_day
    ledgers = discover_ledgers(
        client, first_known, this.end_date, time_zone=this.time_zone, parents=parents, progress=progress
    )
    if ledgers.empty:
        raise EmptyPeriodError(f"the service has no ledgers with lines until {this.end_date} yet")
    discovery = Discovery.stated(ledgers)
    if discovery:
        discovery.refuse_earlier(this)
    books_start = books_start or discovered_first_entry(ledgers, this.time_zone)
    days = Period(books_start or periods.first_day, this.end_date, this.time_zone)
    both = (days.start_date, days.end_date)
    asked = Period(max(this.start_date, days.start_date), this.end_date, this.time_zone)
    lines = load_line_entries(
        client, ledgers["id"], *both, time_zone=days.time_zone, consistency=asked, progress=progress
    )
    starting = None
    if books_start is None:
        first = load_cash_flow_report(client, days.start_date, days.start_date, time_zone=days.time_zone)
        starting = first.exact().starting_balances
    first_day = books_start or (discovery and discovery.first_day)
    compared = {
        key: _compare(client, period, (lines, ledgers), days, starting)._replace(label=label)
        for key, period, label in _compared(periods, days, first_day)
    }
    reports = {key: one.reported for key, one in compared.items() if one.reported}
    certificate = check_completeness(lines, report=reports.values())
    found = dict.fromkeys([*notes(ledgers), *notes(lines)])
    return LoadedBooks(ledgers, lines, days, books_start, starting, certificate, compared, tuple(found), reports)


def _compared(periods: PackPeriods, days: Period, first_day: dt.date | None) -> Iterator[tuple[str, Period, str]]:
    """Key, days since the books begin, and label of each period that is compared with the service's report."""
    for key, period in periods.compared().items():
        if first_day is None or period.end_date >= first_day:
            since = Period(max(period.start_date, first_day or dt.date.min), period.end_date, period.time_zone)
            if days.covers(since):
                yield key, since, periods.label_of(period)


def _compare(
    client: LedgerClient,
    period: Period,
    books: tuple[pd.DataFrame, pd.DataFrame],
    days: Period,
    starting: pd.DataFrame | None,
) -> ComparedPeriod:
    """Compare the report of a period with the one recomputed from the lines."""
    lines, ledgers = books
    of_days = (period.start_date, period.end_date)
    reported = load_cash_flow_report(client, *of_days, time_zone=period.time_zone)
    if starting is not None and days.start_date < period.start_date:
        before = (days.start_date, period.start_date - _DAY)
        starting = (
            recompute_cash_flow(lines, ledgers, *before, time_zone=period.time_zone, starting_balances=starting)
            .exact()
            .ending_balances
        )
    recomputed = recompute_cash_flow(lines, ledgers, *of_days, time_zone=period.time_zone, starting_balances=starting)
    found = reconcile(reported, recomputed, line_entries=lines, ledgers=ledgers)
    return ComparedPeriod(days_label(period), found.ties, found.verdict, reported, found)


def _read_local(books: PackBooks, periods: PackPeriods, since: When | None) -> LoadedBooks:
    """Read local books, which were compared with the service month by month at every sync."""
    held = books.period
    days = Period(held.start_date, periods.this.end_date, held.time_zone)
    lines, ledgers = books.line_entries(days), books.ledgers()
    starting = None
    if books.books_start is None:
        starting = books.report(Period(held.start_date, held.start_date, held.time_zone)).exact().starting_balances
    compared = {
        key: _proofs(books, period)._replace(label=label)
        for key, period, label in _compared(periods, days, books.books_start)
    }
    found = dict.fromkeys([*notes(ledgers), *notes(lines)])
    return LoadedBooks(
        ledgers,
        lines,
        days,
        books.books_start,
        starting,
        check_completeness(lines),
        compared,
        tuple(found),
        {key: books.report(period) for key, period, _ in _compared(periods, days, books.books_start)},
        books.version,
        _drift(books, days, since),
    )


def _drift(books: PackBooks, days: Period, since: When | None) -> Drift | None:
    """Find what changed since a version, else since the last close of a period; None if neither is known."""
    if since is None:
        closed = books.closed()
        since = int(closed["version"].max()) if len(closed) else None
    return None if since is None else books.drift(since, period=days)


def _proofs(books: PackBooks, period: Period) -> ComparedPeriod:
    """Return what the last comparisons of the months of a period found."""
    proofs = books.month_proofs(period)
    unproven = [f"{month}: {one.verdict}" for month, one in proofs.items() if one.proven_at is None]
    when = max((one.proven_at for one in proofs.values() if one.proven_at), default=None)
    verdict = (
        "; ".join(unproven) or f"every month agreed with the service's report, the last at {when:%Y-%m-%d %H:%M} UTC"
    )
    return ComparedPeriod(days_label(period), not unproven, verdict)
