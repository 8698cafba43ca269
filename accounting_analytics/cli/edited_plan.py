"""Plans that people edited: the new categories by id, unique name or path."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import discover_with_history
from accounting_analytics.cli.output import print_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.recategorization.plan_file import PlanFile

_ONE_DAY = timedelta(days=1)


def resolve_plan(client: LedgerClient, file: PlanFile, time_zone: str) -> aa.Plan:
    """Plan of a file; ledgers are discovered only if the books do not confirm each id with its name.

    Raises
    ------
    PlanError
        The plan is for another instance, or categories are unknown, ambiguous, cash or contradictory; with the rows.
    """
    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.recategorization.category_check import names_of_existing
    from accounting_analytics.recategorization.new_categories import DiscoveredCategory, WrittenCategory

    file.require_instance(client.instance_id)
    for note in file.notes:
        print_message(note)
    if file.days is None:
        return aa.Plan.from_file(file, WrittenCategory())
    first, last = file.days
    existing = names_of_existing(client, filter(None, (ledger_id for ledger_id, _ in file.categories)), file.days)
    if all(existing.get(ledger_id) == name for ledger_id, name in file.categories):
        return aa.Plan.from_file(file, WrittenCategory())
    print_message("new categories of the plan were edited: discovering the ledgers of its days and the year before")
    ledgers = discover_with_history(client, str(first - _ONE_DAY), str(last + _ONE_DAY), time_zone)
    others = _undiscovered(file, existing, LedgerNames.from_frame(ledgers))
    return aa.Plan.from_file(file, DiscoveredCategory(ledgers, others))


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
