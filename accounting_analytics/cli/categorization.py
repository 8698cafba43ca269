"""Commands over uncategorized transactions: the queue, what the rules propose, the plan of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.connection import service
from accounting_analytics.cli.loading import Load, lines_of
from accounting_analytics.cli.options import (
    AsJson,
    Checkpoint,
    DryRun,
    EndDate,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_frame, say, say_notes
from accounting_analytics.errors import InvalidRequestError, PlanError

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.client import LedgerClient

Rules = Annotated[Path, typer.Option("--rules", help="Rules file (TOML): which description means which category.")]

_QUEUE_COLUMNS = ["datetime", "ledger_name", "description", "amount", "category_amount", "transaction_id"]
_PROPOSAL_COLUMNS = ["datetime", "description", "amount", "updated_category_ledger_name", "rule", "transaction_id"]


def queue(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    ledger: Annotated[list[str] | None, typer.Option("--ledger", help="Only this account; repeatable.")] = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the uncategorized transactions, largest first."""
    with service(profile, time_zone, use_demo=use_demo) as (client, zone):
        _, waiting = _queue(client, start_date, end_date, zone, Load(checkpoint, dry_run, as_json), only=ledger)
    say_notes(waiting)
    print_frame(waiting, as_json=as_json, columns=_QUEUE_COLUMNS)


def propose(
    start_date: StartDate,
    end_date: EndDate,
    rules: Rules,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show which category the rules give each uncategorized transaction; writes nothing."""
    with service(profile, time_zone, use_demo=use_demo) as (client, zone):
        _, proposals = _proposals(client, start_date, end_date, zone, rules, Load(checkpoint, dry_run, as_json))
    say_notes(proposals)
    print_frame(proposals, as_json=as_json, columns=_PROPOSAL_COLUMNS)


def plan(
    start_date: StartDate,
    end_date: EndDate,
    rules: Rules,
    output: Annotated[Path, typer.Option("--output", help="Plan file to write (CSV).")],
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write a recategorization plan from the rules; the books stay as they are."""
    if not dry_run and not output.absolute().parent.is_dir():
        msg = f"there is no folder {output.absolute().parent} for the plan; nothing was loaded"
        raise PlanError(msg)
    with service(profile, time_zone, use_demo=use_demo) as (client, zone):
        ledgers, proposals = _proposals(client, start_date, end_date, zone, rules, Load(checkpoint, dry_run, as_json))
        planned = aa.plan_recategorization(proposals, ledgers=ledgers, instance_id=client.instance_id)
    say_notes(proposals)
    planned.save(output)
    following = f"preview {output} --start-date {start_date} --end-date {end_date}{' --demo' if use_demo else ''}"
    say(f"{len(planned.frame)} items written to {output}; look at it, then: accounting-analytics {following}")
    print_frame(planned.frame, as_json=as_json, columns=_PROPOSAL_COLUMNS)


def _queue(
    client: LedgerClient, start_date: str, end_date: str, time_zone: str, load: Load, *, only: list[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts and the uncategorized transactions of its cash ledgers, or of `only` these."""
    ledgers = _chart_of_accounts(client, start_date, end_date, time_zone)
    wanted = only or ledgers.loc[ledgers["report_cash_flow"] | ledgers["is_required"], "id"]
    lines = lines_of(client, wanted, (start_date, end_date, time_zone), load)
    return ledgers, aa.uncategorized_queue(lines, ledgers)


def _chart_of_accounts(client: LedgerClient, start_date: str, end_date: str, time_zone: str) -> pd.DataFrame:
    """Discover the ledgers of a year back too, so that a category not used in the period is known."""
    from accounting_analytics.periods import parse_date

    first = parse_date(start_date, "start_date")
    a_year_back = first.replace(year=max(first.year - 1, 1), day=1)
    try:
        return aa.discover_ledgers(client, a_year_back, end_date, time_zone=time_zone)
    except InvalidRequestError:  # some deployments refuse to look before the start of the books
        return aa.discover_ledgers(client, start_date, end_date, time_zone=time_zone)


def _proposals(
    client: LedgerClient, start_date: str, end_date: str, time_zone: str, rules: Path, load: Load
) -> tuple[pd.DataFrame, pd.DataFrame]:
    loaded = aa.load_rules(rules)
    ledgers, waiting = _queue(client, start_date, end_date, time_zone, load)
    return ledgers, aa.propose(waiting, loaded, ledgers)
