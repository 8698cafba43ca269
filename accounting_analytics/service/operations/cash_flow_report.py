"""The cash flow report: what moved the ledgers that report cash flow, and their balances before and after."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import Connection, case, func, select, true

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service import tables
from accounting_analytics.service.local_days import Boundary, boundary, boundary_after
from accounting_analytics.service.operations.lookup import carries_all, zone_name
from accounting_analytics.service.rendering import encode, number, quoted, timestamp
from accounting_analytics.service.rows import plain_rows
from accounting_analytics.service.store import read_ledgers
from accounting_analytics.service.units import BASE, joined, number_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accounting_analytics.service.requests import CashFlowReportQuery
    from accounting_analytics.service.stored import Instance, StoredLedger

TIER_FOR_TAGS = 3
_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c


class _Flow(NamedTuple):
    """What one category ledger moved: its own net cash flow in units, and its lines as JSON."""

    net: int
    lines: str


def retrieve_cash_flow_report(connection: Connection, instance: Instance, query: CashFlowReportQuery) -> bytes:
    """Cash flow report of a period, as JSON.

    Parameters
    ----------
    connection : Connection
        A snapshot of the database.
    instance : Instance
        Whose books.
    query : CashFlowReportQuery
        The period and the tags.
    """
    if query.tag_ids and instance.tier < TIER_FOR_TAGS:
        msg = f"filtering the cash flow report by tags needs a Tier {TIER_FOR_TAGS} subscription"
        raise OperationRefusedError(msg, status=403, error_code="tier_required")
    ledgers = read_ledgers(connection, instance)
    starting, ending = _balances(connection, instance, query)
    flows = _flows(connection, instance, ledgers, query)
    cash = {ledger.pk for ledger in ledgers if ledger.report_cash_flow}
    return encode(
        {
            "cash_flow_ledgers": _flow_ledgers(ledgers, flows, instance.scale),
            "starting_balances": _balance_ledgers(ledgers, cash, starting, instance.scale),
            "ending_balances": _balance_ledgers(ledgers, cash, ending, instance.scale),
            "starting_cash_balance": number(sum(starting.values()), instance.scale),
            "ending_cash_balance": number(sum(ending.values()), instance.scale),
        }
    )


def _balances(
    connection: Connection, instance: Instance, query: CashFlowReportQuery
) -> tuple[dict[int, int], dict[int, int]]:
    """Units on every cash ledger with lines, before the first day and at the end of the last."""
    start, end = _boundaries(instance, query)
    at_start = start.before(_LINES.datetime)
    sums = [
        func.sum(part)
        for part in (
            case((at_start, _LINES.high), else_=0),
            case((at_start, _LINES.low), else_=0),
            _LINES.high,
            _LINES.low,
        )
    ]
    rows = connection.execute(
        select(_LINES.ledger_pk, *sums)
        .where(_LINES.ledger_pk.in_(_ledger_keys(instance, report_cash_flow=True)))
        .where(end.before(_LINES.datetime) if end else true())
        .group_by(_LINES.ledger_pk)
    ).all()
    starting = {key: joined(high, low) for key, high, low, _, _ in rows}
    return starting, {key: joined(high, low) for key, _, _, high, low in rows}


def _flows(
    connection: Connection, instance: Instance, ledgers: list[StoredLedger], query: CashFlowReportQuery
) -> dict[int, _Flow]:
    """Lines outside the cash ledgers, of entries that touch one, by their ledger."""
    start, end = _boundaries(instance, query)
    names = {ledger.pk: quoted(ledger.name) for ledger in ledgers}
    rows = plain_rows(
        connection,
        select(
            _LINES.ledger_pk,
            _LINES.id,
            _LINES.high,
            _LINES.low,
            _LINES.datetime,
            _ENTRIES.cash_ledger_pk,
            _ENTRIES.id,
            _ENTRIES.description,
        )
        .join_from(tables.line_entries, tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .where(
            _LINES.ledger_pk.in_(_ledger_keys(instance, report_cash_flow=False)),
            start.reached(_LINES.datetime),
            end.before(_LINES.datetime) if end else true(),
            _ENTRIES.cash_ledger_pk.is_not(None),
            *carries_all(connection, instance, query.tag_ids),
        )
        .order_by(_LINES.ledger_pk, _LINES.datetime, _LINES.id),
    )
    return {key: _flow(of_ledger, names, instance.scale) for key, of_ledger in groupby(rows, itemgetter(0))}


def _flow(rows: Iterable[tuple[Any, ...]], cash_names: Mapping[int, str], scale: int) -> _Flow:
    """Sum and render the lines of one ledger; written out, because a year of books has a million of them."""
    net = 0
    lines = []
    for _, line_id, high, low, moment, cash_key, entry_id, description in rows:
        units = -(high * BASE + low)
        net += units
        lines.append(
            f'{{"line_id":{quoted(line_id)},"amount":{number_text(units, scale)},"datetime":"{timestamp(moment)}",'
            f'"cash_flow_ledger_name":{cash_names[cash_key]},"journal_entry_id":{quoted(entry_id)},'
            f'"journal_entry_description":{quoted(description)}}}'
        )
    return _Flow(net, f"[{','.join(lines)}]")


def _boundaries(instance: Instance, query: CashFlowReportQuery) -> tuple[Boundary, Boundary | None]:
    zone = zone_name(instance, query.time_zone)
    return boundary(query.start_date, zone), boundary_after(query.end_date, zone)


def _ledger_keys(instance: Instance, *, report_cash_flow: bool) -> Any:  # noqa: ANN401 (a subquery)
    ledgers = tables.ledgers.c
    return select(ledgers.pk).where(ledgers.instance_pk == instance.pk, ledgers.report_cash_flow.is_(report_cash_flow))


def _flow_ledgers(ledgers: list[StoredLedger], flows: Mapping[int, _Flow], scale: int) -> list[dict[str, Any]]:
    """Ledgers that have lines, and their ancestors, in display order."""
    totals = _totals(ledgers, {key: flow.net for key, flow in flows.items()})
    nothing = _Flow(0, "[]")
    return [
        {
            "ledger_id": ledger.id,
            "name": ledger.name,
            "net_cash_flow": number(flow.net, scale),
            "total_net_cash_flow": number(totals[ledger.pk], scale),
            "lines": msgspec.Raw(flow.lines),
        }
        for ledger in ledgers
        if ledger.pk in totals
        for flow in [flows.get(ledger.pk, nothing)]
    ]


def _balance_ledgers(
    ledgers: list[StoredLedger], cash: set[int], balances: Mapping[int, int], scale: int
) -> list[dict[str, Any]]:
    """All cash ledgers, zero or not, in display order; only cash ledgers count into a total."""
    totals = _totals(ledgers, balances)
    return [
        {
            "ledger_id": ledger.id,
            "ledger_name": ledger.name,
            "sort_code": ledger.sort_code,
            "cash_balance": number(balances.get(ledger.pk, 0), scale),
            "total_cash_balance": number(totals.get(ledger.pk, 0), scale),
        }
        for ledger in ledgers
        if ledger.pk in cash
    ]


def _totals(ledgers: list[StoredLedger], own: Mapping[int, int]) -> dict[int, int]:
    """Own units plus those of all descendants; a ledger without any is absent."""
    by_id = {ledger.id: ledger for ledger in ledgers}
    totals: defaultdict[int, int] = defaultdict(int)
    for ledger in ledgers:
        if ledger.pk in own:
            at: StoredLedger | None = ledger
            while at is not None:
                totals[at.pk] += own[ledger.pk]
                at = by_id[at.parent_id] if at.parent_id is not None else None
    return totals
