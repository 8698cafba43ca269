"""Looking at the books: which ledgers stand opposite each planned transaction right now."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from accounting_analytics.client.records import flattened
from accounting_analytics.errors import InputError, NotFoundError, PlanError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.plan import PlanItem

    Categories = Mapping[tuple[str, str], frozenset[str]]

_NEAR = dt.timedelta(days=3)
"""Days this close together are read in one go: a page costs about what a request does."""


def categories_now(client: LedgerClient, items: Iterable[PlanItem]) -> dict[tuple[str, str], frozenset[str]]:
    """Opposing ledgers of each planned transaction, by (ledger_id, transaction_id); one that is not there is absent.

    Raises
    ------
    ServiceError
        The service cannot be read, or does not say what stands opposite.
    """
    wanted: dict[str, dict[dt.date, set[str]]] = {}
    for item in items:
        day = item.datetime.astimezone(dt.UTC).date()
        wanted.setdefault(item.ledger_id, {}).setdefault(day, set()).add(item.transaction_id)
    found: dict[tuple[str, str], frozenset[str]] = {}
    for ledger_id, days in wanted.items():
        transactions = set().union(*days.values())
        for first, last in _windows(sorted(days)):
            found |= _read(client, ledger_id, first, last, transactions)
    return found


def require_no_cash(client: LedgerClient, items: list[PlanItem]) -> None:
    """Refuse a plan that moves a category onto or off a ledger that reports cash flow: that would move balances.

    Raises
    ------
    PlanError
        Names the transaction and the ledger.
    ServiceError
        The report cannot be read.
    """
    if not items:
        return
    day = items[0].datetime.astimezone(dt.UTC).date()
    report = client.retrieve_cash_flow_report(day, day)
    cash = {balance.ledger_id for balance in flattened([*report.starting_balances, *report.ending_balances])}
    for item in items:
        for ledger_id in (item.updated_category_ledger_id, item.category_ledger_id):
            if ledger_id in cash:
                msg = (
                    f"transaction {item.transaction_id}: ledger {ledger_id} reports cash flow, so it is no category; "
                    "moving a line there would change balances. Nothing was sent: change that row of the plan"
                )
                raise PlanError(msg)


def _read(
    client: LedgerClient, ledger_id: str, first: dt.date, last: dt.date, transactions: set[str]
) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], frozenset[str]] = {}
    try:
        for line in client.iter_line_entries(ledger_id, first, last, expand=("opposing_ledger_ids",)):
            if line.transaction_id is None or line.transaction_id not in transactions or line.ledger_id != ledger_id:
                continue
            if line.opposing_ledger_ids is None:
                msg = f"list line entries (ledger {ledger_id}): line {line.id} came without opposing_ledger_ids"
                raise ProtocolError(msg)
            found[ledger_id, line.transaction_id] = frozenset(line.opposing_ledger_ids)
    except (NotFoundError, InputError):
        return {}  # no such ledger, or no id at all: a row of the plan was edited, the others are as good as before
    return found


def _windows(days: list[dt.date]) -> Iterator[tuple[dt.date, dt.date]]:
    """Stretches of days that are near each other, as first and last day."""
    first = last = days[0]
    for day in days[1:]:
        if day - last > _NEAR:
            yield first, last
            first = day
        last = day
    yield first, last
