"""What a statement of the command line needs: its days with those of its comparisons, its lines and its balances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import load_ledgers, load_lines, require_options_of
from accounting_analytics.cli.output import print_message, print_notes
from accounting_analytics.errors import IncompleteLoadError, PeriodError
from accounting_analytics.periods import Period, parse_date, zone

if TYPE_CHECKING:
    from datetime import date

    import pandas as pd

    from accounting_analytics.cli.discover_and_load import LoadOptions
    from accounting_analytics.client import LedgerClient

StatementKind = Literal["cash-flow", "income", "balance-sheet", "trial-balance"]
StatementUnit = Literal["month", "quarter", "year"]
_OF_BALANCES = ("balance-sheet", "trial-balance")


class StatementRequest(NamedTuple):
    """Which statement the command line asks for."""

    kind: StatementKind
    days: Period
    columns: StatementUnit | tuple[Period, ...]
    compare: tuple[str, ...]
    books_start: date | None
    fiscal_year_start_month: int
    with_balances: bool = True

    @property
    def of_balances(self) -> bool:
        """Whether it shows balances at the end of each column."""
        return self.kind in _OF_BALANCES

    @property
    def sums_history(self) -> bool:
        """Whether it sums all lines since the books begin."""
        return self.books_start is not None and self.kind != "income"

    def days_to_load(self) -> Period:
        """Days from the first to the last that it needs: all since the books begin, or those of its columns.

        They are loaded together, although days between a period and the one that it is compared with are not needed:
        each load asks for each ledger at least twice, which costs more than a year of most books.
        """
        from accounting_analytics.statements.columns import (
            check_comparisons,
            days_label,
            split_period,
            with_comparisons,
        )

        compare = check_comparisons(self.compare, of_flows=not self.of_balances)
        base = split_period(self.days, self.columns, self.fiscal_year_start_month)
        columns = with_comparisons(base, compare, self.columns, days_label)
        first = min(period.start_date for column in columns.by_key.values() for _, period in column.periods)
        if self.sums_history and self.books_start is not None:
            first = self.books_start
        return Period(first, self.days.end_date, self.days.time_zone)


class StatementBooks(NamedTuple):
    """Chart of accounts, line entries, and the cash balances that the service states, if they are needed."""

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    starting_balances: pd.DataFrame | None


def parse_books_start(
    text: str | None, days: Period, client: LedgerClient | aa.Books, *, use_demo: bool
) -> date | None:
    """First day of the books, on or before the first day of the period; by default that of local books or the demo."""
    if text is None and isinstance(client, aa.Books):
        return client.books_start and min(client.books_start, days.start_date)
    if text is None:
        from accounting_analytics.demo_company.served_company import DemoCompany

        return min(DemoCompany.start_date, days.start_date) if use_demo else None
    first = parse_date(text, "--books-start")
    if first > days.start_date:
        raise PeriodError(f"--books-start {first} is after {days.start_date}, the first day that is asked for")
    return first


def load_statement_books(
    client: LedgerClient | aa.Books, request: StatementRequest, options: LoadOptions
) -> StatementBooks:
    """Load what a statement needs; a dry run ends the command here."""
    zone(request.days.time_zone)  # statements need a zone with a name: refuse "localtime" before the load
    loaded = _days_held(client, request)
    require_options_of(client, options)
    ledgers = load_ledgers(client, loaded, options.parents)
    is_cash_flow = request.kind == "cash-flow"
    needs_report = is_cash_flow and request.with_balances and request.books_start is None
    lines = load_lines(
        client,
        ledgers["id"],
        loaded,
        options,
        consistency=request.days,
        is_cashflow=True if is_cash_flow else None,
        report_count=int(needs_report),
    )
    print_notes(lines)
    starting = None
    if needs_report:
        first = request.days.start_date
        report = aa.load_cash_flow_report(client, first, first, time_zone=request.days.time_zone)
        starting = report.starting_balances
        print_message(_describe_start(client))
    elif request.of_balances and request.books_start is None:
        is_local = isinstance(client, aa.Books)
        hint = "sync the local books from" if is_local else "add --books-start DATE,"
        print_message(f"these are movements, not balances: {hint} the first day of the books")
    return StatementBooks(ledgers, lines, starting)


def _days_held(client: LedgerClient | aa.Books, request: StatementRequest) -> Period:
    """Days to load; of local books those that they have, if only what is compared needs more: that is not known."""
    needed = request.days_to_load()
    if not isinstance(client, aa.Books) or request.days.start_date < client.period.start_date:
        return needed
    return Period(max(needed.start_date, client.period.start_date), needed.end_date, needed.time_zone)


def _describe_start(client: LedgerClient | aa.Books) -> str:
    """State where the cash at the start comes from, where lines before are not summed."""
    if isinstance(client, aa.Books):
        return f"cash at the start is that of the service's report of {client.period.start_date}, rolled forward"
    return "cash at the start is that of the service's report; --books-start DATE sums it from line entries"


class LedgerBooks(NamedTuple):
    """Chart of accounts, one of its ledgers, and the line entries of that ledger."""

    ledgers: pd.DataFrame
    ledger_id: str
    lines: pd.DataFrame


def load_ledger_books(
    client: LedgerClient | aa.Books, ledger: str, days: Period, books_start: date | None, options: LoadOptions
) -> LedgerBooks:
    """Load the lines of the ledger with an id, unique name or path, since the books begin if that is known."""
    from accounting_analytics.ledger_names import LedgerNames

    zone(days.time_zone)  # as for statements
    loaded = Period(books_start or days.start_date, days.end_date, days.time_zone)
    require_options_of(client, options)
    ledgers = load_ledgers(client, loaded, options.parents)
    ledger_id = LedgerNames.from_frame(ledgers).find(ledger)
    lines = load_lines(client, [ledger_id], loaded, options, consistency=days)
    print_notes(lines)
    return LedgerBooks(ledgers, ledger_id, lines)


def require_complete(lines: pd.DataFrame) -> None:
    """Fail, after the result was printed, where lines are missing."""
    certificate = aa.check_completeness(lines)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())
