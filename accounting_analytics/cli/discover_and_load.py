"""Loads that several commands share: all books, lines of some ledgers, uncategorized transactions; or a dry run."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

import accounting_analytics as aa
from accounting_analytics.cli.output import print_message, print_notes
from accounting_analytics.cli.parents_file import read_parents
from accounting_analytics.errors import InputError, InvalidRequestError
from accounting_analytics.messages import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.load_request import Consistency
    from accounting_analytics.periods import Period


_LOAD_OPTIONS = {
    "checkpoint": "they are read from disk, so leave it out",
    "dry_run": "they are read from disk without a request, so leave it out",
    "allow_partial": "they have every line, so leave it out",
    "parents": "they have their chart of accounts, so give the parents to `sync`",
}
"""Options of a load, and why local books do not have them."""


class LoadOptions(NamedTuple):
    """Options of the command line that decide how lines are loaded."""

    checkpoint: Path | None
    dry_run: bool
    as_json: bool
    allow_partial: bool = False
    parents: Path | None = None


def require_options_of(client: LedgerClient | aa.Books, options: LoadOptions) -> None:
    """Refuse options that cannot have an effect on local books."""
    if not isinstance(client, aa.Books):
        return
    for option, hint in _LOAD_OPTIONS.items():
        if getattr(options, option):
            raise InputError(f"--{option.replace('_', '-')} has no effect with --books: {hint}")


def load_books(
    client: LedgerClient | aa.Books,
    first_day: date,
    period: Period,
    options: LoadOptions,
    *,
    report_count: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts and line entries of all its ledgers, from `first_day` to the end of the period.

    The lines of the period are those of one moment; in the history before it, a change shows in the starting balances.
    """
    from accounting_analytics.periods import Period, zone

    require_options_of(client, options)
    zone(period.time_zone)  # recomputing needs a zone with a name: refuse "localtime" before the load
    loaded = Period(first_day, period.end_date, period.time_zone)
    ledgers = load_ledgers(client, loaded, options.parents)
    lines = load_lines(client, ledgers["id"], loaded, options, consistency=period, report_count=report_count)
    print_notes(lines)
    return ledgers, lines


def load_queue(
    client: LedgerClient | aa.Books, days: Period, options: LoadOptions, *, only: list[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts, and the uncategorized transactions of its cash ledgers or of those named in `only`."""
    ledgers, lines = load_cash_lines(client, days, options, only=only)
    return ledgers, aa.uncategorized_queue(lines, ledgers)


def load_queue_and_history(
    client: LedgerClient | aa.Books, days: Period, options: LoadOptions, *, only: list[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Chart of accounts, the uncategorized transactions of some days, and the lines of the year before them too."""
    from accounting_analytics.column_conversion import local_midnights
    from accounting_analytics.periods import LOCALTIME, Period

    start = days.start_date
    first = start.replace(year=max(start.year - 1, 1), day=1)
    if isinstance(client, aa.Books):  # which may begin later, and have no days before
        first = min(max(first, client.period.start_date), days.start_date)
    longer = Period(first, days.end_date, days.time_zone)
    try:
        ledgers, lines = load_cash_lines(client, longer, options, only=only)
    except InvalidRequestError:  # some deployments refuse days before the start of the books
        ledgers, lines = load_cash_lines(client, days, options, only=only)
    dates = local_midnights(lines["datetime"], "UTC" if days.time_zone == LOCALTIME else days.time_zone)
    return ledgers, aa.uncategorized_queue(lines[dates.dt.date >= days.start_date], ledgers), lines


def load_cash_lines(
    client: LedgerClient | aa.Books, days: Period, options: LoadOptions, *, only: list[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts, and the lines of its cash and required ledgers or of those named in `only`."""
    require_options_of(client, options)
    ledgers = load_ledgers(client, days)
    cash = ledgers.loc[ledgers["report_cash_flow"] | ledgers["is_required"], "id"]
    return ledgers, load_lines(client, _find_ledgers(ledgers, only) if only else cash, days, options)


def _find_ledgers(ledgers: pd.DataFrame, texts: list[str]) -> list[str]:
    """Ids of the ledgers that the option names by id, unique name or path."""
    from accounting_analytics.ledger_names import LedgerNames

    names = LedgerNames.from_frame(ledgers)
    try:
        return list(dict.fromkeys(names.find(text) for text in texts))
    except InputError as error:
        raise InputError(f"--ledger: {error}") from None


def load_lines(
    client: LedgerClient | aa.Books,
    ledger_ids: Iterable[str],
    days: Period,
    options: LoadOptions,
    *,
    consistency: Consistency = "newest",
    is_cashflow: bool | None = None,
    report_count: int = 0,
) -> pd.DataFrame:
    """Load line entries; a dry run ends the command here, with the plan of the load on stdout."""
    ids = list(ledger_ids)
    if isinstance(client, aa.Books):
        return client.line_entries(days, ledger_ids=ids, is_cashflow=is_cashflow)
    call: dict[str, Any] = {
        "start_date": days.start_date,
        "end_date": days.end_date,
        "time_zone": days.time_zone,
        "is_cashflow": is_cashflow,
        "consistency": consistency,
        "checkpoint": options.checkpoint,
    }
    if options.dry_run:
        plan = aa.plan_load(client, ids, **call)
        typer.echo(plan.to_json() if options.as_json else plan.explain())
        reports = f"; {count_of(report_count, 'report is', 'reports are')} extra" if report_count else ""
        print_message(f"dry run: no lines were loaded, only the chart of accounts was discovered{reports}")
        raise typer.Exit(0)
    with _hint_at_checkpoint(options.checkpoint):
        return aa.load_line_entries(client, ids, **call, allow_partial=options.allow_partial)


def load_ledgers(client: LedgerClient | aa.Books, days: Period, parents: Path | None = None) -> pd.DataFrame:
    """Chart of accounts, with the parents of a file; which ledgers are known is stated on each result."""
    from accounting_analytics.load_metadata import known_ledgers_claim

    given = None if parents is None else read_parents(parents)
    ledgers = aa.discover_ledgers(client, days.start_date, days.end_date, time_zone=days.time_zone, parents=given)
    print_notes(ledgers, without=known_ledgers_claim(ledgers, len(ledgers)))
    return ledgers


@contextmanager
def _hint_at_checkpoint(checkpoint: Path | None) -> Iterator[None]:
    """Print how to resume a load that Ctrl-C interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            print_message(f"finished windows are saved in {checkpoint}: run the same command again to resume")
        raise
