"""The cash flow report: what moved the ledgers that report cash flow, and their balances before and after."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, func, select, true, union_all

from accounting_analytics.errors import OperationRefusedError
from accounting_analytics.service.operations.cash_flow_lines import Wanted, flow_lines
from accounting_analytics.service.operations.requested_records import carries_all, refuse_before_start, zone_name
from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.local_dates import Boundary, boundary, boundary_after
from accounting_analytics.service.storage.store import read_ledgers
from accounting_analytics.service.wire.rendering import encode, number, quoted
from accounting_analytics.service.wire.stored_records import MICROSECONDS_A_DAY
from accounting_analytics.service.wire.units import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement

    from accounting_analytics.service.wire.requests import CashFlowReportQuery
    from accounting_analytics.service.wire.stored_records import Instance, StoredLedger

TIER_FOR_TAGS = 3
_LINES = tables.line_entries.c
_LINES_IN_MEMORY = 4 * 1024 * 1024
_PART = 1024 * 1024
_HEAD = b'{"cash_flow_ledgers":['
_LINES_FOLLOW = b',"lines":['
_LEDGER_END = b"]}"


class _Flow(NamedTuple):
    """What one category ledger moved: its own net cash flow in units, and from where to where its lines are written."""

    net: int
    parts: tuple[tuple[int, int], ...]


class Report(NamedTuple):
    """A rendered report, its lines in a temporary file: close it after use.

    Attributes
    ----------
    length : int
        Bytes in all.
    parts : iterator of bytes
        The report, part by part.
    close : callable
        Lets go of the file.
    """

    length: int
    parts: Iterator[bytes]
    close: Callable[[], None]


def retrieve_cash_flow_report(connection: Connection, instance: Instance, query: CashFlowReportQuery) -> Report:
    """Cash flow report of a period, as JSON.

    Parameters
    ----------
    connection : Connection
        A snapshot of the database; not needed any more when the report is returned.
    instance : Instance
        Whose books.
    query : CashFlowReportQuery
        The period and the tags.
    """
    if query.tag_ids and instance.tier < TIER_FOR_TAGS:
        msg = f"filtering the cash flow report by tags needs a Tier {TIER_FOR_TAGS} subscription"
        raise OperationRefusedError(msg, status=403, error_code="tier_required")
    refuse_before_start(instance, query.start_date)
    ledgers = read_ledgers(connection, instance)
    start, end = _boundaries(instance, query)
    balances = {
        "starting": _balances(connection, instance, start),
        "ending": _balances(connection, instance, end),
    }
    with ExitStack() as unless_returned:
        lines = unless_returned.enter_context(SpooledTemporaryFile(max_size=_LINES_IN_MEMORY))
        flows = _flows(connection, instance, ledgers, query, lines)
        unless_returned.pop_all()
    shown = {f"{when}_balances": _balance_ledgers(ledgers, at, instance.scale) for when, at in balances.items()}
    totals = {f"{when}_cash_balance": number(sum(at.values()), instance.scale) for when, at in balances.items()}
    heads = _flow_heads(ledgers, flows, instance.scale)
    tail = b"]," + encode(shown | totals)[1:]
    framing = sum(len(head) + max(len(flow.parts) - 1, 0) + len(_LEDGER_END) for head, flow in heads)
    length = len(_HEAD) + framing + max(len(heads) - 1, 0) + lines.tell() + len(tail)
    return Report(length, _parts(heads, lines, tail), lines.close)


def _parts(heads: Sequence[tuple[bytes, _Flow]], lines: SpooledTemporaryFile[bytes], tail: bytes) -> Iterator[bytes]:
    """Put the report together, about a megabyte at a time."""
    part = bytearray(_HEAD)
    comma = b""
    for head, flow in heads:
        part += comma + head
        comma = b","
        for start, end in flow.parts:
            lines.seek(start)
            part += (b"," if start != flow.parts[0][0] else b"") + lines.read(end - start)
            if len(part) >= _PART:
                yield bytes(part)
                part.clear()
        part += _LEDGER_END
    yield bytes(part + tail)


def _balances(connection: Connection, instance: Instance, until: Boundary | None) -> dict[int, int]:
    """Units on every cash ledger with lines, before the local day of a boundary; None is after all days.

    Whole days (in UTC) come summed; only the lines of the days around the boundary are read.
    """
    days, keys = tables.cash_days.c, _ledger_keys(instance, report_cash_flow=True)
    first = until.turns[0] // MICROSECONDS_A_DAY if until else None
    summed = select(days.ledger_pk, days.high, days.low).where(
        days.ledger_pk.in_(keys), days.day < first if first is not None else true()
    )
    if until is not None and first is not None:
        around = select(_LINES.ledger_pk, _LINES.high, _LINES.low).where(
            _LINES.ledger_pk.in_(keys), _LINES.datetime >= first * MICROSECONDS_A_DAY, until.before(_LINES.datetime)
        )
        parts = union_all(summed, around).subquery()
    else:
        parts = summed.subquery()
    sums = select(parts.c.ledger_pk, func.sum(parts.c.high), func.sum(parts.c.low)).group_by(parts.c.ledger_pk)
    return {key: joined(high, low) for key, high, low in connection.execute(sums)}


def _flows(
    connection: Connection,
    instance: Instance,
    ledgers: list[StoredLedger],
    query: CashFlowReportQuery,
    rendered: SpooledTemporaryFile[bytes],
) -> dict[int, _Flow]:
    """Write the lines outside the cash ledgers, of entries that touch one; where those of each ledger lie."""
    start, end = _boundaries(instance, query)

    def in_period(moment: ColumnElement[int]) -> ColumnElement[bool]:
        return start.reached(moment) & (end.before(moment) if end else true())

    names = {ledger.pk: quoted(ledger.name) for ledger in ledgers if ledger.report_cash_flow}
    keys = _ledger_keys(instance, report_cash_flow=False)
    flows: defaultdict[int, _Flow] = defaultdict(lambda: _Flow(0, ()))
    wanted = Wanted(keys, in_period, carries_all(connection, instance, query.tag_ids))
    for lines in flow_lines(connection, wanted, names, instance.scale):
        begun = rendered.tell()
        rendered.write(lines.rendered)
        known = flows[lines.ledger_key]
        flows[lines.ledger_key] = _Flow(known.net + lines.units, (*known.parts, (begun, rendered.tell())))
    return flows


def _boundaries(instance: Instance, query: CashFlowReportQuery) -> tuple[Boundary, Boundary | None]:
    zone = zone_name(instance, query.time_zone)
    return boundary(query.start_date, zone), boundary_after(query.end_date, zone)


def _ledger_keys(instance: Instance, *, report_cash_flow: bool) -> Any:  # noqa: ANN401 (a subquery)
    ledgers = tables.ledgers.c
    return select(ledgers.pk).where(ledgers.instance_pk == instance.pk, ledgers.report_cash_flow.is_(report_cash_flow))


def _flow_heads(ledgers: list[StoredLedger], flows: Mapping[int, _Flow], scale: int) -> list[tuple[bytes, _Flow]]:
    """Ledgers that have lines, and their ancestors, in display order: each rendered up to its lines."""
    totals = _totals(ledgers, {key: flow.net for key, flow in flows.items()})
    nothing = _Flow(0, ())
    heads = []
    for ledger in ledgers:
        if ledger.pk in totals:
            flow = flows.get(ledger.pk, nothing)
            fields = {
                "ledger_id": ledger.id,
                "name": ledger.name,
                "net_cash_flow": number(flow.net, scale),
                "total_net_cash_flow": number(totals[ledger.pk], scale),
            }
            heads.append((encode(fields)[:-1] + _LINES_FOLLOW, flow))
    return heads


def _balance_ledgers(ledgers: list[StoredLedger], balances: Mapping[int, int], scale: int) -> list[dict[str, Any]]:
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
        if ledger.report_cash_flow
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
