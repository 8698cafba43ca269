"""Read the current categories of planned transactions: the opposing ledgers of each, as the books have them now."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Protocol

from accounting_analytics.client.records import flattened
from accounting_analytics.errors import InputError, NotFoundError, PlanError, ProtocolError
from accounting_analytics.periods import as_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.records import LineEntry
    from accounting_analytics.recategorization.plan import PlanItem

    Categories = Mapping[tuple[str, str], frozenset[str]]

_OPPOSING = ("opposing_ledger_ids",)
_MAX_GAP = dt.timedelta(days=3)
"""Days at most this far apart are read in one listing: an extra page costs about as much as a request."""


class BookedTransaction(Protocol):
    """A transaction, where and when it was booked."""

    @property
    def transaction_id(self) -> str:
        """Its id."""

    @property
    def ledger_id(self) -> str:
        """Its financial account."""

    @property
    def datetime(self) -> dt.datetime:
        """When it was booked."""


def read_categories(
    client: LedgerClient, transactions: Iterable[BookedTransaction]
) -> dict[tuple[str, str], frozenset[str]]:
    """Read the opposing ledgers of each transaction, by (ledger_id, transaction_id).

    A transaction that does not exist is left out.

    Raises
    ------
    ServiceError
        The service cannot be read, or does not send the opposing ledgers.
    """
    lines = read_transactions(client, transactions, expand=_OPPOSING)
    return {key: frozenset(line.opposing_ledger_ids or ()) for key, line in lines.items()}


def read_transactions(
    client: LedgerClient,
    transactions: Iterable[BookedTransaction],
    *,
    expand: tuple[str, ...] = (*_OPPOSING, "transaction"),
) -> dict[tuple[str, str], LineEntry]:
    """Read the line entry of each transaction, with its opposing ledgers, by (ledger_id, transaction_id).

    A transaction that does not exist is left out.

    Raises
    ------
    ServiceError
        The service cannot be read, or does not send the opposing ledgers.
    """
    wanted: dict[str, dict[dt.date, set[str]]] = {}
    for transaction in transactions:
        day = as_utc(transaction.datetime).date()
        wanted.setdefault(transaction.ledger_id, {}).setdefault(day, set()).add(transaction.transaction_id)
    found: dict[tuple[str, str], LineEntry] = {}
    for ledger_id, days in wanted.items():
        ids = set().union(*days.values())
        for first, last in _group_days(sorted(days)):
            found |= _read_ledger(client, (ledger_id, first, last), ids, expand)
    return found


def require_no_cash(client: LedgerClient, items: Sequence[PlanItem]) -> None:
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
    client: LedgerClient, ledger_days: tuple[str, dt.date, dt.date], transactions: set[str], expand: tuple[str, ...]
) -> dict[tuple[str, str], LineEntry]:
    ledger_id, first, last = ledger_days
    found: dict[tuple[str, str], LineEntry] = {}
    try:
        for line in client.iter_line_entries(ledger_id, first, last, time_zone="UTC", expand=expand):
            if line.transaction_id is None or line.transaction_id not in transactions or line.ledger_id != ledger_id:
                continue
            if line.opposing_ledger_ids is None:
                msg = f"list line entries (ledger {ledger_id}): line {line.id} has no opposing_ledger_ids"
                raise ProtocolError(msg)
            found[ledger_id, line.transaction_id] = line
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
