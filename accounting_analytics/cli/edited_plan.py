"""Plans that people edited: the new categories by id, unique name or path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import accounting_analytics as aa
from accounting_analytics.cli.discover_and_load import load_ledgers
from accounting_analytics.cli.output import print_message
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.plan_file import NewCategory, PlanFile


def resolve_plan(
    client: LedgerClient | aa.Books, file: PlanFile, time_zone: str, *, ledgers: pd.DataFrame | None = None
) -> aa.Plan:
    """Plan of a file; ledgers are discovered only if the books do not confirm each id with its name.

    `ledgers` are those that are discovered already, in :func:`days_to_discover`. Local books have a chart of accounts.
    """
    from accounting_analytics.recategorization.plan_file import DiscoveredCategory, require_same_instance

    require_same_instance(file.instance_id, client.instance_id)
    if isinstance(client, aa.Books):
        plan = aa.Plan.from_file(file, DiscoveredCategory(client.ledgers()))
    else:
        plan = aa.Plan.from_file(file, _find_categories(client, file, time_zone, ledgers))
    for note in plan.notes:
        print_message(note)
    return plan


def _find_categories(client: LedgerClient, file: PlanFile, time_zone: str, ledgers: pd.DataFrame | None) -> NewCategory:
    """Categories as the file states them, where the books confirm them, else looked up among discovered ledgers."""
    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.recategorization.categories_in_books import find_ledgers
    from accounting_analytics.recategorization.plan_file import DiscoveredCategory, WrittenCategory

    in_books = find_ledgers(client, filter(None, (ledger_id for ledger_id, _ in file.categories)), file.days or ())
    category: NewCategory = WrittenCategory()
    if file.days and any(in_books.names.get(ledger_id) != name for ledger_id, name in file.categories):
        if ledgers is None:
            print_message("new categories of the plan were edited: discovering the ledgers")
            ledgers = load_ledgers(client, Period(*file.days, time_zone))
        discovered = LedgerNames.from_frame(ledgers)
        # Where the books do not show the name of a ledger, it is as written, unless that is a discovered ledger's.
        written = {ledger_id: name for ledger_id, name in file.categories if name and name not in discovered}
        others = {
            ledger_id: in_books.names.get(ledger_id) or written.get(ledger_id, ledger_id)
            for ledger_id, _ in file.categories
            if ledger_id and ledger_id not in in_books.missing and ledger_id not in discovered.ids
        }
        category = DiscoveredCategory(ledgers, others)
    return category
