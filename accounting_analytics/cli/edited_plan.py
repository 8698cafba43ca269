"""Plans that people edited: the new categories by id, unique name or path."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import discover_with_history
from accounting_analytics.cli.output import print_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.recategorization.plan_file import PlanFile

_ONE_DAY = timedelta(days=1)


def resolve_plan(
    client: LedgerClient, file: PlanFile, time_zone: str, *, ledgers: pd.DataFrame | None = None
) -> aa.Plan:
    """Plan of a file; ledgers are discovered only if the books do not confirm each id with its name.

    Parameters
    ----------
    client : LedgerClient
        The service.
    file : PlanFile
        The file, edited or not.
    time_zone : str
        Zone of the days that are discovered.
    ledgers : DataFrame, optional
        Ledgers that are discovered already, in :func:`days_to_discover`.

    Raises
    ------
    PlanError
        The plan is for another instance, or categories are unknown, ambiguous, cash or contradictory; with the rows.
    """
    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.recategorization.current_categories import names_of_existing
    from accounting_analytics.recategorization.plan_file import DiscoveredCategory, WrittenCategory

    file.require_instance(client.instance_id)
    if file.days is None:
        return _with_printed_notes(aa.Plan.from_file(file, WrittenCategory()))
    existing = names_of_existing(client, filter(None, (ledger_id for ledger_id, _ in file.categories)), file.days)
    if all(existing.get(ledger_id) == name for ledger_id, name in file.categories):
        return _with_printed_notes(aa.Plan.from_file(file, WrittenCategory()))
    if ledgers is None:
        print_message("new categories of the plan were edited: discovering the ledgers of its days and the year before")
        ledgers = discover_with_history(client, *days_to_discover(file, *map(str, file.days)), time_zone)
    others = _undiscovered(file, existing, LedgerNames.from_frame(ledgers))
    return _with_printed_notes(aa.Plan.from_file(file, DiscoveredCategory(ledgers, others)))


def days_to_discover(file: PlanFile, start_date: str, end_date: str) -> tuple[str, str]:
    """First and last day of a period and of the plan, whose days are in UTC."""
    from accounting_analytics.periods import parse_date

    first, last = file.days or (None, None)
    days = [parse_date(start_date, "start_date"), parse_date(end_date, "end_date")]
    days += [] if first is None or last is None else [first - _ONE_DAY, last + _ONE_DAY]
    return str(min(days)), str(max(days))


def _with_printed_notes(plan: aa.Plan) -> aa.Plan:
    for note in plan.notes:
        print_message(note)
    return plan


def _undiscovered(file: PlanFile, existing: Mapping[str, str | None], discovered: LedgerNames) -> dict[str, str]:
    """Names of new categories that exist, but have no line by which they are discovered.

    Where the books do not show the name, it is as written, unless that is the name of a discovered ledger.
    """
    written = {ledger_id: name for ledger_id, name in file.categories if name and name not in discovered}
    return {
        ledger_id: name or written.get(ledger_id, ledger_id)
        for ledger_id, name in existing.items()
        if ledger_id not in discovered.ids
    }
