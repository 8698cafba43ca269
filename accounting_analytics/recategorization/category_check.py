"""Categories of a plan in the books: the name of each, and whether the new ones exist and are named as in the plan."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.chart_of_accounts import Hierarchy
from accounting_analytics.errors import InputError, InvalidRequestError, NotFoundError
from accounting_analytics.ledger_names import LedgerNames
from accounting_analytics.messages import quote
from accounting_analytics.periods import as_utc
from accounting_analytics.recategorization.new_categories import differently_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.current_categories import BookedTransaction
    from accounting_analytics.recategorization.plan import PlanItem

_HISTORY = dt.timedelta(days=366)
"""How long before the plan a line is looked for that shows the name of a category."""


def unusable_categories(client: LedgerClient, items: Sequence[PlanItem]) -> dict[PlanItem, str]:
    """Items whose new category does not exist in the books, or has another name than in the plan, and the reason.

    The name of a category is not known if the category has no line in the year before the plan.

    Raises
    ------
    ServiceError
        The service cannot be read.
    """
    names, missing = _find_ledgers(client, [item.updated_category_ledger_id for item in items], items)
    differing = differently_named(items, LedgerNames(names, Hierarchy({})))
    return differing | {
        item: f"the books have no ledger {quote(ledger_id)} ({missing[ledger_id]}); write its id, or its name and load "
        "the plan with ledgers="
        for item in items
        if (ledger_id := item.updated_category_ledger_id) in missing
    }


def category_names(
    client: LedgerClient, ledger_ids: Iterable[str], transactions: Collection[BookedTransaction]
) -> dict[str, str]:
    """Names of categories in the books, of those that have a line in the days of transactions or the year before.

    Raises
    ------
    ServiceError
        The service cannot be read.
    """
    names, _ = _find_ledgers(client, ledger_ids, transactions)
    return names


def names_of_existing(
    client: LedgerClient, ledger_ids: Iterable[str], days: tuple[dt.date, dt.date]
) -> dict[str, str | None]:
    """Names of those ledgers that exist in the books; None for one without a line in the days or the year before.

    Raises
    ------
    ServiceError
        The service cannot be read.
    """
    ledger_ids = dict.fromkeys(ledger_ids)
    names, missing = _find_ledgers_of_days(client, ledger_ids, days)
    return {ledger_id: names.get(ledger_id) for ledger_id in ledger_ids if ledger_id not in missing}


def _find_ledgers(
    client: LedgerClient, ledger_ids: Iterable[str], transactions: Collection[BookedTransaction]
) -> tuple[dict[str, str], dict[str, str]]:
    days = [as_utc(transaction.datetime).date() for transaction in transactions]
    return _find_ledgers_of_days(client, ledger_ids, (min(days), max(days))) if days else ({}, {})


def _find_ledgers_of_days(
    client: LedgerClient, ledger_ids: Iterable[str], days: tuple[dt.date, dt.date]
) -> tuple[dict[str, str], dict[str, str]]:
    """Names of ledgers, where their lines show them, and the error for each ledger that does not exist."""
    names: dict[str, str] = {}
    missing: dict[str, str] = {}
    for ledger_id in dict.fromkeys(ledger_ids):
        try:
            name = _name_in_books(client, ledger_id, *days)
        except (NotFoundError, InvalidRequestError, InputError) as error:
            missing[ledger_id] = str(error)
        else:
            names |= {} if name is None else {ledger_id: name}
    return names, missing


def _name_in_books(client: LedgerClient, ledger_id: str, first: dt.date, last: dt.date) -> str | None:
    """Name of a ledger; None where it has no line in these days and the year before, or its lines do not show it."""
    try:
        page = client.list_line_entries(ledger_id, first - _HISTORY, last, time_zone="UTC", expand=("ledger",), limit=1)
    except InvalidRequestError:  # some deployments refuse days before the start of the books
        page = client.list_line_entries(ledger_id, first, last, time_zone="UTC", expand=("ledger",), limit=1)
    return next((line.ledger.name for line in page.records if line.ledger is not None), None)
