"""How commands load books: from a checkpoint, as a dry run, in part."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import typer

import accounting_analytics as aa
from accounting_analytics.cli.output import print_mapping, say, say_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader import LoadPlan
    from accounting_analytics.periods import Period


class Load(NamedTuple):
    """How lines are loaded, as the command line says."""

    checkpoint: Path | None
    dry_run: bool
    as_json: bool
    allow_partial: bool = False


def books_of(
    client: LedgerClient, since: date, period: Period, load: Load, *, reports: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts and line entries of all its ledgers, from `since` to the end of the period."""
    from accounting_analytics.periods import zone

    zone(period.time_zone)  # days will be counted here: what "localtime" is must be known before loading
    ledgers = aa.discover_ledgers(client, since, period.end_date, time_zone=period.time_zone)
    say_notes(ledgers)
    lines = lines_of(client, ledgers["id"], (since, period.end_date, period.time_zone), load, reports=reports)
    say_notes(lines)
    return ledgers, lines


def lines_of(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    days: tuple[date | str, date | str, str],
    load: Load,
    *,
    reports: int = 0,
) -> pd.DataFrame:
    """Load line entries; a dry run ends here, with the plan of the load on stdout."""
    start_date, end_date, time_zone = days
    asked = (client, ledger_ids, start_date, end_date)
    if not load.dry_run:
        with _resumable(load.checkpoint):
            return aa.load_line_entries(
                *asked, time_zone=time_zone, checkpoint=load.checkpoint, allow_partial=load.allow_partial
            )
    _print_load_plan(aa.plan_load(*asked, time_zone=time_zone, checkpoint=load.checkpoint), as_json=load.as_json)
    more = f"; {reports} report(s) come on top" if reports else ""
    say(f"dry run: no lines were loaded, only the chart of accounts was discovered{more}")
    raise typer.Exit(0)


@contextmanager
def _resumable(checkpoint: Path | None) -> Iterator[None]:
    """Say to whoever interrupts a load where it goes on."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None:
            say(f"finished windows are kept in {checkpoint}: the same command goes on from there")
        raise


def _print_load_plan(plan: LoadPlan, *, as_json: bool) -> None:
    if not as_json:
        typer.echo(plan.explain())
        return
    names = (
        "calls",
        "lines",
        "minutes",
        "requests_per_minute",
        "rate_is_known",
        "kept_lines",
        "kept_windows",
        "probes",
    )
    print_mapping({name: getattr(plan, name) for name in names} | {"ledgers": plan.ledgers}, as_json=True)
