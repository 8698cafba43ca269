"""Check the new categories of a plan against the books: each exists, and has the name that the plan gives it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import InputError, InvalidRequestError, NotFoundError
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import quote
from accounting_analytics.recategorization.new_categories import differently_named, refuse_items

if TYPE_CHECKING:
    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.plan import Plan, PlanItem

_HISTORY = dt.timedelta(days=366)
"""How long before the plan a line is looked for that shows the name of a category."""


def unusable_categories(client: LedgerClient, items: list[PlanItem]) -> dict[PlanItem, str]:
    """Items whose new category does not exist in the books, or has another name than in the plan, and the reason.

    The name of a category is not known if the category has no line in the year before the plan.

    Raises
    ------
    ServiceError
        The service cannot be read.
    """
    if not items:
        return {}
    days = [item.datetime.astimezone(dt.UTC).date() for item in items]
    names: dict[str, str] = {}
    missing: dict[str, str] = {}
    for ledger_id in dict.fromkeys(item.updated_category_ledger_id for item in items):
        try:
            name = _name_in_books(client, ledger_id, min(days), max(days))
        except (NotFoundError, InvalidRequestError, InputError) as error:
            missing[ledger_id] = (
                f"the books have no ledger {quote(ledger_id)} ({error}); write its id, or its name and load the plan "
                "with ledgers="
            )
        else:
            names |= {} if name is None else {ledger_id: name}
    differing = differently_named(items, LedgerNames(names, Hierarchy({})))
    return differing | {
        item: missing[item.updated_category_ledger_id] for item in items if item.updated_category_ledger_id in missing
    }


def require_usable_categories(client: LedgerClient, plan: Plan) -> None:
    """Refuse a plan with a new category that does not exist in the books, or has another name there.

    Raises
    ------
    PlanError
        Names the first transaction, and how many items are affected.
    ServiceError
        The service cannot be read.
    """
    refuse_items(unusable_categories(client, plan.items), len(plan))


def _name_in_books(client: LedgerClient, ledger_id: str, first: dt.date, last: dt.date) -> str | None:
    """Name of a ledger; None where it has no line in these days and the year before, or its lines do not show it."""
    try:
        page = client.list_line_entries(ledger_id, first - _HISTORY, last, time_zone="UTC", expand=("ledger",), limit=1)
    except InvalidRequestError:  # some deployments refuse days before the start of the books
        page = client.list_line_entries(ledger_id, first, last, time_zone="UTC", expand=("ledger",), limit=1)
    return next((line.ledger.name for line in page.records if line.ledger is not None), None)
