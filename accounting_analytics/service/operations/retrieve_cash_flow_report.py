"""The cash flow report: what moved the ledgers that report cash flow, and their balances before and after."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from contextlib import ExitStack
from functools import partial
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from sqlalchemy import Connection, Select, func, select, true

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.periods import Period
from accounting_analytics.service.operations.cash_flow_lines import CashFlowLineFilter, read_cash_flow_lines
from accounting_analytics.service.operations.resource_lookup import has_all_tags, requested_period
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import is_within
from accounting_analytics.service.storage.store import read_ledgers
from accounting_analytics.service.wire.response_models import (
    CashFlowLedger,
    CashFlowReport,
    CashLedgerBalance,
    encode,
    number,
)
from accounting_analytics.service.wire.stored_values import (
    MICROSECONDS_PER_DAY,
    Instance,
    StoredLedger,
    join_units,
    microseconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from accounting_analytics.periods import Interval
    from accounting_analytics.service.wire.requests import CashFlowReportQuery

TIER_FOR_TAGS = 3
_LINES = tables.line_entries.c
_BYTES_IN_MEMORY = 4 * 1024 * 1024
_CHUNK_SIZE = 256 * 1024


class _LedgerFlow(NamedTuple):
    """Net cash flow of one category ledger in units, and the spans of the lines file with its lines."""

    net: int = 0
    spans: tuple[tuple[int, int], ...] = ()


class _Ledger(NamedTuple):
    """JSON of a ledger of the report up to its lines, the spans of those, and the JSON after them."""

    head: bytes
    spans: tuple[tuple[int, int], ...]
    tail: bytes


class StreamedReport(NamedTuple):
    """A rendered report: its length, and its chunks of at most half a megabyte, which delete its temporary file."""

    length: int
    chunks: Iterator[bytes]


def retrieve_cash_flow_report(connection: Connection, instance: Instance, query: CashFlowReportQuery) -> StreamedReport:
    """Cash flow report of a period, as JSON.

    Parameters
    ----------
    connection : Connection
        A snapshot of the database; it may be closed before the report is sent.
    instance : Instance
        The books.
    query : CashFlowReportQuery
        The period and the tags.
    """
    if query.tag_ids and instance.tier < TIER_FOR_TAGS:
        raise OperationRefusedError(
            f"filtering the cash flow report by tags needs a Tier {TIER_FOR_TAGS} subscription",
            status=403,
            error_code="tier_required",
        )
    period = requested_period(instance, query)
    line_filter = CashFlowLineFilter(
        _ledger_keys(instance, report_cash_flow=False),
        partial(is_within, period.instants()),
        has_all_tags(connection, instance, query.tag_ids),
    )
    ledgers = read_ledgers(connection, instance)
    starting = _balances(connection, instance, period.instants_before())
    ending = _balances(connection, instance, Period(dt.date.min, period.end_date, period.time_zone).instants())
    report = CashFlowReport(
        cash_flow_ledgers=[],
        starting_balances=_ledger_balances(ledgers, starting, instance.scale),
        ending_balances=_ledger_balances(ledgers, ending, instance.scale),
        starting_cash_balance=number(sum(starting.values()), instance.scale),
        ending_cash_balance=number(sum(ending.values()), instance.scale),
    )
    with ExitStack() as on_error:
        lines = on_error.enter_context(SpooledTemporaryFile(max_size=_BYTES_IN_MEMORY))
        try:
            flows = _write_lines(connection, line_filter, ledgers, instance.scale, lines)
            lines.flush()  # otherwise a full disk is noticed when the report is sent
        except OSError as error:
            msg = (
                "the report does not fit into a temporary file, because the disk of the service is full; nothing was "
                "changed, request a shorter period, or try again when there is space"
            )
            status = HTTPStatus.INSUFFICIENT_STORAGE
            raise OperationRefusedError(msg, status=status, error_code="insufficient_storage") from error
        on_error.pop_all()
    pa.default_memory_pool().release_unused()
    return _streamed(encode(report), _flow_ledgers(ledgers, flows, instance.scale), lines)


def _streamed(report: bytes, ledgers: Sequence[_Ledger], lines: SpooledTemporaryFile[bytes]) -> StreamedReport:
    """Insert the ledgers into the empty list of an encoded report, and their lines into theirs."""
    head, _, tail = report.partition(b"[]")
    commas = max(len(ledgers) - 1, 0) + sum(max(len(ledger.spans) - 1, 0) for ledger in ledgers)
    length = len(head) + len(tail) + len(b"[]") + commas + lines.tell()
    length += sum(len(ledger.head) + len(ledger.tail) for ledger in ledgers)
    return StreamedReport(length, _chunks(head + b"[", ledgers, lines, b"]" + tail))


def _chunks(
    head: bytes, ledgers: Sequence[_Ledger], lines: SpooledTemporaryFile[bytes], tail: bytes
) -> Iterator[bytes]:
    with lines:
        chunk = bytearray(head)
        for number_of_ledger, ledger in enumerate(ledgers):
            chunk += (b"," if number_of_ledger else b"") + ledger.head
            for number_of_span, (start, end) in enumerate(ledger.spans):
                chunk += b"," if number_of_span else b""
                lines.seek(start)
                for position in range(start, end, _CHUNK_SIZE):
                    chunk += lines.read(min(_CHUNK_SIZE, end - position))
                    if len(chunk) >= _CHUNK_SIZE:
                        yield bytes(chunk)
                        chunk.clear()
            chunk += ledger.tail
        yield bytes(chunk + tail)


def _balances(connection: Connection, instance: Instance, instants: Sequence[Interval]) -> dict[int, int]:
    """Units on every cash ledger with lines, summed over instants since the beginning.

    Whole days (in UTC) are stored as sums; lines are read only from the days around the end.
    """
    if not instants:  # before the first day of the calendar
        return {}
    days, keys = tables.cash_days.c, _ledger_keys(instance, report_cash_flow=True)
    end = instants[0].end
    first = microseconds(end) // MICROSECONDS_PER_DAY if end else None
    whole_days = _sums(days).where(days.ledger_pk.in_(keys), days.day < first if first is not None else true())
    sums = connection.execute(whole_days).all()
    if first is not None:
        around = is_within(instants, _LINES.datetime) & (_LINES.datetime >= first * MICROSECONDS_PER_DAY)
        sums = [*sums, *connection.execute(_sums(_LINES).where(_LINES.ledger_pk.in_(keys), around))]
    balances: defaultdict[int, int] = defaultdict(int)
    for key, high, low in sums:
        balances[key] += join_units(high, low)
    return balances


def _sums(amounts: Any) -> Select[int, int, int]:  # noqa: ANN401 (columns of a table)
    return select(amounts.ledger_pk, func.sum(amounts.high), func.sum(amounts.low)).group_by(amounts.ledger_pk)


def _write_lines(
    connection: Connection,
    line_filter: CashFlowLineFilter,
    ledgers: list[StoredLedger],
    scale: int,
    lines: SpooledTemporaryFile[bytes],
) -> dict[int, _LedgerFlow]:
    """Write the rendered lines to the file; return the flow of each ledger by its key."""
    cash_names = {ledger.pk: ledger.name for ledger in ledgers if ledger.report_cash_flow}
    flows: defaultdict[int, _LedgerFlow] = defaultdict(_LedgerFlow)
    for part in read_cash_flow_lines(connection, line_filter, cash_names, scale):
        start = lines.tell()
        lines.write(part.rendered)
        known = flows[part.ledger_key]
        flows[part.ledger_key] = _LedgerFlow(known.net + part.units, (*known.spans, (start, lines.tell())))
    return flows


def _ledger_keys(instance: Instance, *, report_cash_flow: bool) -> Any:  # noqa: ANN401 (a subquery)
    ledgers = tables.ledgers.c
    return select(ledgers.pk).where(ledgers.instance_pk == instance.pk, ledgers.report_cash_flow.is_(report_cash_flow))


def _flow_ledgers(ledgers: list[StoredLedger], flows: Mapping[int, _LedgerFlow], scale: int) -> list[_Ledger]:
    """Ledgers that have lines, and their ancestors, in display order."""
    totals = _totals(ledgers, {key: flow.net for key, flow in flows.items()})
    return [
        _flow_ledger(ledger, flows.get(ledger.pk, _LedgerFlow()), totals[ledger.pk], scale)
        for ledger in ledgers
        if ledger.pk in totals
    ]


def _flow_ledger(ledger: StoredLedger, flow: _LedgerFlow, total: int, scale: int) -> _Ledger:
    # encoded with an empty list of lines, which is its last field: the lines of the file are inserted there
    encoded = encode(
        CashFlowLedger(
            ledger_id=ledger.id,
            name=ledger.name,
            net_cash_flow=number(flow.net, scale),
            total_net_cash_flow=number(total, scale),
            lines=[],
        )
    )
    head, _, tail = encoded.rpartition(b"]")
    return _Ledger(head, flow.spans, b"]" + tail)


def _ledger_balances(ledgers: list[StoredLedger], balances: Mapping[int, int], scale: int) -> list[CashLedgerBalance]:
    """All cash ledgers, zero or not, in display order; only cash ledgers count in a total."""
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
    """Own units plus those of all descendants; a ledger without any is absent."""
    by_id = {ledger.id: ledger for ledger in ledgers}
    totals: defaultdict[int, int] = defaultdict(int)
    for ledger in ledgers:
        if ledger.pk in own:
            ancestor: StoredLedger | None = ledger
            while ancestor is not None:
                totals[ancestor.pk] += own[ledger.pk]
                ancestor = by_id[ancestor.parent_id] if ancestor.parent_id is not None else None
    return totals
