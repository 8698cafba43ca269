"""The cash flow report: flows of cash ledgers, and their balances before and after."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, select

from accounting_analytics.core.errors import OperationRefusedError
from accounting_analytics.service import tables
from accounting_analytics.service.database import read_ledgers
from accounting_analytics.service.interface import (
    CashFlowLedger,
    CashFlowLine,
    CashFlowReport,
    CashLedgerBalance,
    number,
)
from accounting_analytics.service.operations.shared_queries import has_all_tags, requested_period
from accounting_analytics.service.stored_values import Instance, StoredLedger, join_sums

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accounting_analytics.core.periods import Interval
    from accounting_analytics.service.interface import CashFlowReportQuery
    from accounting_analytics.service.operations.shared_queries import Call

TIER_FOR_TAGS = 3
_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c


def retrieve_cash_flow_report(call: Call, query: CashFlowReportQuery) -> CashFlowReport:
    """Return the cash flow report of a period."""
    connection, instance = call.connection, call.instance
    if query.tag_ids and instance.tier < TIER_FOR_TAGS:
        raise OperationRefusedError(
            f"filtering the cash flow report by tags needs a Tier {TIER_FOR_TAGS} subscription",
            status=403,
            error_code="tier_required",
        )
    period = requested_period(instance, query)
    is_in_period = tables.is_within(period.instants(), _LINES.datetime)
    conditions = [is_in_period, *has_all_tags(connection, instance, query.tag_ids)]
    ledgers = read_ledgers(connection, instance)
    starting = _balances(connection, instance, period.instants_before())
    moved = _balances(connection, instance, period.instants())  # far fewer lines than all up to the end
    ending = {key: starting.get(key, 0) + moved.get(key, 0) for key in starting | moved}
    net, lines = _flows(connection, instance, ledgers, conditions)
    return CashFlowReport(
        cash_flow_ledgers=_flow_ledgers(ledgers, net, lines, instance.scale),
        starting_balances=_ledger_balances(ledgers, starting, instance.scale),
        ending_balances=_ledger_balances(ledgers, ending, instance.scale),
        starting_cash_balance=number(sum(starting.values()), instance.scale),
        ending_cash_balance=number(sum(ending.values()), instance.scale),
    )


def _flows(
    connection: Connection,
    instance: Instance,
    ledgers: list[StoredLedger],
    conditions: Sequence[ColumnElement[bool]],
) -> tuple[dict[int, int], dict[int, list[CashFlowLine]]]:
    """Return net flows and category lines of cash entries, by ledger key."""
    cash_names = {ledger.pk: ledger.name for ledger in ledgers if ledger.report_cash_flow}
    others = _ledger_keys(instance, report_cash_flow=False)
    query = (
        select(_LINES.ledger_pk, _LINES.id, _LINES.units, _LINES.datetime)
        .add_columns(_ENTRIES.cash_ledger_pk, _ENTRIES.id, _ENTRIES.description)
        .join_from(tables.line_entries, tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .where(_LINES.ledger_pk.in_(others), _ENTRIES.cash_ledger_pk.is_not(None), *conditions)
        .order_by(_LINES.ledger_pk, _LINES.datetime, _LINES.id)
    )
    net: defaultdict[int, int] = defaultdict(int)
    lines: defaultdict[int, list[CashFlowLine]] = defaultdict(list)
    rows = connection.execute(query, execution_options={"yield_per": 2000})
    for key, line_id, units, moment, cash_key, entry_id, description in rows:
        line = CashFlowLine(
            line_id=line_id,
            amount=number(-units, instance.scale),
            datetime=moment,
            cash_flow_ledger_name=cash_names[cash_key],
            journal_entry_id=entry_id,
            journal_entry_description=description,
        )
        net[key] -= units
        lines[key].append(line)
    return net, lines


def _balances(connection: Connection, instance: Instance, instants: Sequence[Interval]) -> dict[int, int]:
    """Sum the units in the intervals for each cash ledger."""
    query = select(_LINES.ledger_pk, *tables.SUM_OF_UNITS).group_by(_LINES.ledger_pk)
    cash = _LINES.ledger_pk.in_(_ledger_keys(instance, report_cash_flow=True))
    rows = connection.execute(query.where(cash, tables.is_within(instants, _LINES.datetime)))
    return {key: join_sums(high, low) for key, high, low in rows}


def _ledger_keys(instance: Instance, *, report_cash_flow: bool) -> Any:  # noqa: ANN401 (a subquery)
    ledgers = tables.ledgers.c
    return select(ledgers.pk).where(ledgers.instance_pk == instance.pk, ledgers.report_cash_flow.is_(report_cash_flow))


def _flow_ledgers(
    ledgers: list[StoredLedger], net: Mapping[int, int], lines: Mapping[int, list[CashFlowLine]], scale: int
) -> list[CashFlowLedger]:
    """Return ledgers with lines, and their ancestors, in display order."""
    totals = _totals(ledgers, net)
    return [
        CashFlowLedger(
            ledger_id=ledger.id,
            name=ledger.name,
            net_cash_flow=number(net.get(ledger.pk, 0), scale),
            total_net_cash_flow=number(totals[ledger.pk], scale),
            lines=lines.get(ledger.pk, []),
        )
        for ledger in ledgers
        if ledger.pk in totals
    ]


def _ledger_balances(ledgers: list[StoredLedger], balances: Mapping[int, int], scale: int) -> list[CashLedgerBalance]:
    """Return all cash ledgers in display order. Their totals include only cash ledgers."""
    totals = _totals(ledgers, balances)
    return [
        CashLedgerBalance(
            ledger_id=ledger.id,
            ledger_name=ledger.name,
            sort_code=ledger.sort_code,
            cash_balance=number(balances.get(ledger.pk, 0), scale),
            total_cash_balance=number(totals.get(ledger.pk, 0), scale),
        )
        for ledger in ledgers
        if ledger.report_cash_flow
    ]


def _totals(ledgers: list[StoredLedger], own: Mapping[int, int]) -> dict[int, int]:
    """Add the units of each ledger to the ledger and its ancestors. Leave out ledgers without units."""
    by_id = {ledger.id: ledger for ledger in ledgers}
    totals: defaultdict[int, int] = defaultdict(int)
    for ledger in ledgers:
        if ledger.pk in own:
            ancestor: StoredLedger | None = ledger
            while ancestor is not None:
                totals[ancestor.pk] += own[ledger.pk]
                ancestor = by_id[ancestor.parent_id] if ancestor.parent_id is not None else None
    return totals
