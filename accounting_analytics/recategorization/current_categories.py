"""Read the current categories of transactions, and the names of new categories."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.client.ledger_client import is_id
from accounting_analytics.client.records import flattened
from accounting_analytics.core.chart_of_accounts import Hierarchy
from accounting_analytics.core.errors import InvalidRequestError, NotFoundError, PlanError, ProtocolError
from accounting_analytics.core.ledger_names import LedgerNames
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import as_utc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.recategorization.changes import Change

_MAX_GAP = dt.timedelta(days=3)
"""Days that are at most this far apart are read in one listing, because an extra page costs as much as a request."""
_HISTORY = dt.timedelta(days=366)
"""Time before the days of the plan in which a line is searched that shows the name of a category."""


class FoundLedgers(NamedTuple):
    """Names of ledgers that lines show, and the errors of ledgers that do not exist."""

    names: dict[str, str]
    missing: dict[str, str]


def read_categories(client: LedgerClient, changes: Iterable[Change]) -> dict[tuple[str, str], frozenset[str]]:
    """Read the current categories of existing transactions, by account and transaction."""
    days: dict[str, set[dt.date]] = defaultdict(set)
    for change in changes:
        days[change.ledger_id].add(as_utc(change.datetime).date())
    found: dict[tuple[str, str], frozenset[str]] = {}
    for ledger_id in filter(is_id, days):
        with suppress(NotFoundError):  # the account of a row does not exist; other rows are still applied
            for first, last in _group_days(sorted(days[ledger_id])):
                found |= _read_account(client, ledger_id, first, last)
    return found


def _read_account(
    client: LedgerClient, ledger_id: str, first: dt.date, last: dt.date
) -> Iterator[tuple[tuple[str, str], frozenset[str]]]:
    """Yield the categories of an account's transactions in some days."""
    for line in client.iter_line_entries(ledger_id, first, last, time_zone="UTC", expand=("opposing_ledger_ids",)):
        if line.transaction_id is None:
            continue
        if line.opposing_ledger_ids is None:
            raise ProtocolError(f"list line entries (ledger {ledger_id}): line {line.id} has no opposing_ledger_ids")
        yield (line.ledger_id, line.transaction_id), frozenset(line.opposing_ledger_ids)


def require_no_cash(client: LedgerClient, items: Sequence[Change]) -> None:
    """Refuse cash ledgers as categories, because moving lines to cash ledgers would change balances."""
    if not items:
        return
    day = as_utc(items[0].datetime).date()
    report = client.retrieve_cash_flow_report(day, day, time_zone="UTC")
    cash = {balance.ledger_id for balance in flattened([*report.starting_balances, *report.ending_balances])}
    for item in items:
        for ledger_id in (item.updated_category_ledger_id, item.category_ledger_id):
            if ledger_id in cash:
                raise PlanError(
                    f"transaction {item.transaction_id}: ledger {ledger_id} reports cash flow and cannot be a "
                    "category; moving a line there would change balances. Nothing was sent: decide another category, "
                    "and plan again"
                )


def _group_days(days: list[dt.date]) -> Iterator[tuple[dt.date, dt.date]]:
    """Yield the first and last day of each group of close days."""
    first = last = days[0]
    for day in days[1:]:
        if day - last > _MAX_GAP:
            yield first, last
            first = day
        last = day
    yield first, last


def unusable_categories(client: LedgerClient, items: Sequence[Change]) -> dict[Change, str]:
    """Find items whose new category is missing or has another name, with reasons.

    The name is checked only if the category has lines in the days of the plan or the year before.
    """
    found = find_ledgers(client, [item.updated_category_ledger_id for item in items], days_of(items))
    names, unusable = LedgerNames(found.names, Hierarchy({})), {}
    for item in items:
        ledger_id, name = item.updated_category_ledger_id, item.updated_category_ledger_name
        if ledger_id in found.missing:
            unusable[item] = (
                f"the books have no ledger {quote(ledger_id)} ({found.missing[ledger_id]}); decide another category, "
                "and plan again"
            )
        elif ledger_id in names.ids and ledger_id not in names.matches(name):
            unusable[item] = (
                f"ledger {ledger_id} is named {quote(names.name(ledger_id))} in the books, not {quote(name)}; "
                "decide which is meant, and plan again"
            )
    return unusable


def days_of(changes: Iterable[Change]) -> list[dt.date]:
    """Return the days of changes, in UTC."""
    return [as_utc(change.datetime).date() for change in changes]


def find_ledgers(client: LedgerClient, ledger_ids: Iterable[str], days: Collection[dt.date]) -> FoundLedgers:
    """Find the ledgers and, where recent lines show them, their names."""
    found = FoundLedgers({}, {})
    first, last = min(days, default=dt.date.min), max(days, default=dt.date.min)
    for ledger_id in dict.fromkeys(ledger_ids):
        if not is_id(ledger_id):
            found.missing[ledger_id] = "it is not an id"
            continue
        try:
            name = _name_in_books(client, ledger_id, first, last)
        except (NotFoundError, InvalidRequestError) as error:
            found.missing[ledger_id] = str(error)
        else:
            found.names.update({} if name is None else {ledger_id: name})
    return found


def _name_in_books(client: LedgerClient, ledger_id: str, first: dt.date, last: dt.date) -> str | None:
    """Return the ledger's name, or None if no line shows the name."""
    try:
        page = client.list_line_entries(ledger_id, first - _HISTORY, last, time_zone="UTC", expand=("ledger",), limit=1)
    except InvalidRequestError:  # some deployments refuse days before the start of the books
        page = client.list_line_entries(ledger_id, first, last, time_zone="UTC", expand=("ledger",), limit=1)
    return next((line.ledger.name for line in page.records if line.ledger is not None), None)
