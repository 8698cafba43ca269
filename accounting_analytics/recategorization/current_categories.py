"""Read the current categories of planned transactions: the opposing ledgers of each, as the books have them now."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.client.records import flattened
from accounting_analytics.errors import InputError, NotFoundError, PlanError, ProtocolError
from accounting_analytics.periods import as_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.plan import PlanItem

    Categories = Mapping[tuple[str, str], frozenset[str]]

_MAX_GAP = dt.timedelta(days=3)
"""Days at most this far apart are read in one listing: an extra page costs about as much as a request."""


def read_categories(client: LedgerClient, items: Iterable[PlanItem]) -> dict[tuple[str, str], frozenset[str]]:
    """Read the opposing ledgers of each planned transaction, by (ledger_id, transaction_id).

    A transaction that does not exist is left out.

    Raises
    ------
    ServiceError
        The service cannot be read, or does not send the opposing ledgers.
    """
    wanted: dict[str, dict[dt.date, set[str]]] = {}
    for item in items:
        day = as_utc(item.datetime).date()
        wanted.setdefault(item.ledger_id, {}).setdefault(day, set()).add(item.transaction_id)
    found: dict[tuple[str, str], frozenset[str]] = {}
    for ledger_id, days in wanted.items():
        transactions = set().union(*days.values())
        for first, last in _group_days(sorted(days)):
            found |= _read_ledger(client, ledger_id, first, last, transactions)
    return found


def require_no_cash(client: LedgerClient, items: list[PlanItem]) -> None:
    """Refuse a plan whose old or new category is a ledger that reports cash flow: that would change balances.

    Raises
    ------
    PlanError
        Names the transaction and the ledger.
    ServiceError
        The report cannot be read.
    """
    if not items:
        return
    day = as_utc(items[0].datetime).date()
    report = client.retrieve_cash_flow_report(day, day, time_zone="UTC")
    cash = {balance.ledger_id for balance in flattened([*report.starting_balances, *report.ending_balances])}
    for item in items:
        for ledger_id in (item.updated_category_ledger_id, item.category_ledger_id):
            if ledger_id in cash:
                msg = (
                    f"transaction {item.transaction_id}: ledger {ledger_id} reports cash flow and cannot be a "
                    "category; moving a line there would change balances. Nothing was sent: change that row of the plan"
                )
                raise PlanError(msg)


def _read_ledger(
    client: LedgerClient, ledger_id: str, first: dt.date, last: dt.date, transactions: set[str]
) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], frozenset[str]] = {}
    try:
        lines = client.iter_line_entries(ledger_id, first, last, time_zone="UTC", expand=("opposing_ledger_ids",))
        for line in lines:
            if line.transaction_id is None or line.transaction_id not in transactions or line.ledger_id != ledger_id:
                continue
            if line.opposing_ledger_ids is None:
                msg = f"list line entries (ledger {ledger_id}): line {line.id} has no opposing_ledger_ids"
                raise ProtocolError(msg)
            found[ledger_id, line.transaction_id] = frozenset(line.opposing_ledger_ids)
    except (NotFoundError, InputError):
        return {}  # an edited row names a ledger that does not exist; the other rows are still applied
    return found


def _group_days(days: list[dt.date]) -> Iterator[tuple[dt.date, dt.date]]:
    """Group sorted days that are close together; yields the first and last day of each group."""
    first = last = days[0]
    for day in days[1:]:
        if day - last > _MAX_GAP:
            yield first, last
            first = day
        last = day
    yield first, last
