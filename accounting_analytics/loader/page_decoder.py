"""Pages of line entries as Arrow columns: every value exact, counted or refused by ledger, page, line and field."""

from __future__ import annotations

import datetime as dt
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.errors import AmountError, ProtocolError
from accounting_analytics.money import arrow_type, parse_amount
from accounting_analytics.periods import LOCALTIME, Period

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from accounting_analytics.client import records as wire

TEXT = pa.string()
TEXTS = pa.list_(pa.string())
INSTANT = pa.timestamp("us", "UTC")
TRANSACTION_FIELDS = {
    "transaction_description": "description",
    "transaction_personal": "personal",
    "transaction_posted_status": "posted_status",
    "transaction_review_status": "review_status",
    "source_account_id": "source_account_id",
}


class Columns(NamedTuple):
    """Lines as a table, and how many of their amounts had float dust."""

    table: pa.Table
    dusted: int


def line_schema(expanded: frozenset[str], scale: int) -> pa.Schema:
    """Arrow schema of line entries: the LineEntries columns that were asked for."""
    amount = arrow_type(scale)
    types: dict[str, pa.DataType] = {
        "id": TEXT,
        "ledger_id": TEXT,
        "ledger_name": TEXT,
        "journal_entry_id": TEXT,
        "journal_entry_description": TEXT,
        "datetime": INSTANT,
        "amount": amount,
        "debit_credit": TEXT,
        "signed_amount": amount,
        "description": TEXT,
        "transaction_id": TEXT,
        "related_line_entry_id": TEXT,
        "editable": pa.bool_(),
        **({"opposing_ledger_ids": TEXTS} if "opposing_ledger_ids" in expanded else {}),
        "tag_ids": TEXTS,
    }
    if "transaction" in expanded:
        types |= {"transaction_amount": amount} | dict.fromkeys(TRANSACTION_FIELDS, TEXT)
        types["transaction_personal"] = pa.bool_()
    if "journal_entry" in expanded:
        types["journal_entry_line_entry_ids"] = TEXTS
    return pa.schema(types)


def page_columns(
    lines: Sequence[wire.LineEntry], where: str, *, ledger_id: str, expanded: frozenset[str], scale: int
) -> Columns:
    """Columns of one page, each value checked where an engine would let it pass."""
    for line in lines:
        if line.ledger_id != ledger_id:
            msg = f"{where}: line {line.id} belongs to ledger {line.ledger_id}"
            raise ProtocolError(msg)
        if line.debit_credit not in {"debit", "credit"}:
            msg = f"{where}: line {line.id}: debit_credit {line.debit_credit!r} is neither debit nor credit"
            raise ProtocolError(msg)
    amounts, dusted = _exact_column([line.amount for line in lines], lines, f"{where}: amount", scale)
    debit = pa.array([line.debit_credit == "debit" for line in lines], pa.bool_())
    columns: dict[str, Any] = {
        "id": [line.id for line in lines],
        "ledger_id": [line.ledger_id for line in lines],
        "ledger_name": [line.ledger_name for line in lines],
        "journal_entry_id": [line.journal_entry_id for line in lines],
        "journal_entry_description": [line.journal_entry_description for line in lines],
        "datetime": instants_in_utc([line.datetime for line in lines], where),
        "amount": amounts,
        "debit_credit": [line.debit_credit for line in lines],
        "signed_amount": pc.if_else(debit, amounts, pc.negate(amounts)),
        "description": [line.description for line in lines],
        "transaction_id": [line.transaction_id for line in lines],
        "related_line_entry_id": [line.related_line_entry_id for line in lines],
        "editable": [line.editable for line in lines],
        "tag_ids": [None if line.tags is None else [tag.id for tag in line.tags] for line in lines],
    }
    if "opposing_ledger_ids" in expanded:
        columns["opposing_ledger_ids"] = [line.opposing_ledger_ids for line in lines]
    if "journal_entry" in expanded:
        entries = [line.journal_entry for line in lines]
        columns["journal_entry_line_entry_ids"] = [None if one is None else one.line_entry_ids for one in entries]
    if "transaction" in expanded:
        seen = [line.transaction for line in lines]
        columns["transaction_amount"], _ = _exact_column(
            [None if one is None else one.amount for one in seen], lines, f"{where}: transaction.amount", scale
        )
        for name, field in TRANSACTION_FIELDS.items():
            columns[name] = [None if one is None else getattr(one, field) for one in seen]
    schema = line_schema(expanded, scale)
    try:
        return Columns(pa.table({name: columns[name] for name in schema.names}, schema=schema), dusted)
    except (pa.ArrowInvalid, OverflowError) as error:
        msg = f"{where}: a value cannot be read: {error}"
        raise ProtocolError(msg) from None


def instants_in_utc(values: Iterable[dt.datetime], where: str) -> list[dt.datetime]:
    """Instants in UTC; no zone designator is UTC. Arrow would take the clock time of any other zone for UTC."""
    try:
        return [_in_utc(value) for value in values]
    except OverflowError:
        msg = f"{where}: an instant lies outside the calendar (years 1 to 9999 in UTC)"
        raise ProtocolError(msg) from None


def require_in_period(table: pa.Table, period: Period, where: str) -> None:
    """Refuse lines whose local date is outside; `localtime` is the service's own and cannot be checked here."""
    if period.time_zone == LOCALTIME or not table.num_rows:
        return
    first, last = pc.min_max(table["datetime"]).as_py().values()
    if any(start <= first and (end is None or last < end) for start, end in period.instants()):
        return
    inside = _inside(table, period)
    if not pc.all(inside).as_py():
        stray = pc.index(inside, False).as_py()
        msg = f"{where}: line {table['id'][stray]} of {table['datetime'][stray]} is outside {period}"
        raise ProtocolError(msg)


def lines_within(table: pa.Table, period: Period) -> pa.Table:
    """Lines whose local date lies in the period; all of them where the zone is the service's own."""
    return table if period.time_zone == LOCALTIME else table.filter(_inside(table, period))


def without_repeats(table: pa.Table) -> tuple[pa.Table, int]:
    """Each line once, and how many were repeated; the same id with other content is refused."""
    if len(table["id"].unique()) == table.num_rows:
        return table, 0
    positions = table.select(["id"]).append_column("at", pa.array(range(table.num_rows)))
    firsts = positions.group_by("id", use_threads=False).aggregate([("at", "min")])
    first_of = dict(zip(firsts["id"].to_pylist(), firsts["at_min"].to_pylist(), strict=True))
    for at, line_id in enumerate(table["id"].to_pylist()):
        first = first_of[line_id]
        if at != first and table.slice(at, 1).to_pylist() != table.slice(first, 1).to_pylist():
            msg = (
                f"list line entries (ledger {table['ledger_id'][at]}): line {line_id} came twice with other content: "
                "the books changed while they were read: load again"
            )
            raise ProtocolError(msg)
    kept = table.take(pa.array(sorted(first_of.values())))
    return kept, table.num_rows - kept.num_rows


def in_order(table: pa.Table) -> pa.Table:
    """Lines by (datetime, id); as they are where they come so, as most do."""
    if table.num_rows < 2 or _ordered(table["datetime"], table["id"]):  # noqa: PLR2004 (one line has no order)
        return table
    return table.sort_by([("datetime", "ascending"), ("id", "ascending")])


def _exact_column(
    values: Sequence[Decimal | None], lines: Sequence[wire.LineEntry], where: str, scale: int
) -> tuple[pa.Array, int]:
    """Exact amounts and how many had dust; Arrow does it where every value fits as it stands."""
    absent = sum(value is None for value in values)
    try:
        column = pa.array(values, arrow_type(scale))
    except pa.ArrowInvalid:
        column = None
    if column is not None and column.null_count == absent:  # Arrow makes NaN a null
        return column, 0
    exact, dusted = [], 0
    for value, line in zip(values, lines, strict=True):
        try:
            amount = None if value is None else parse_amount(value, scale)
        except AmountError as error:
            msg = f"{where} of line {line.id}: {error}"
            raise ProtocolError(msg) from None
        exact.append(None if amount is None else amount.amount)
        dusted += amount is not None and amount.dusted
    return pa.array(exact, arrow_type(scale)), dusted


def _ordered(instants: pa.ChunkedArray, ids: pa.ChunkedArray) -> bool:
    """Whether each line comes after the one before."""
    later = pc.greater(instants[1:], instants[:-1])
    if pc.all(later).as_py():
        return True
    together = pc.and_(pc.equal(instants[1:], instants[:-1]), pc.greater_equal(ids[1:], ids[:-1]))
    return bool(pc.all(pc.or_(later, together)).as_py())


def _in_utc(value: dt.datetime) -> dt.datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value if value.tzinfo is dt.UTC else value.astimezone(dt.UTC)


def _inside(table: pa.Table, period: Period) -> pa.ChunkedArray:
    within = (_within(table["datetime"], start, end) for start, end in period.instants())
    return reduce(pc.or_, within, pc.is_null(table["datetime"]))  # no line lacks its instant


def _within(instants: pa.ChunkedArray, start: dt.datetime, end: dt.datetime | None) -> pa.ChunkedArray:
    since = pc.greater_equal(instants, pa.scalar(start, INSTANT))
    return since if end is None else pc.and_(since, pc.less(instants, pa.scalar(end, INSTANT)))
