"""Pages and reports of the service, as validated frames.

Whatever comes in oddly but can be read without guessing (float dust, repeated lines, nested balances) is put right,
counted, and said in ``frame.attrs["notes"]`` or ``report.notes``. Anything else is refused, naming ledger, line and
field.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.client.records import flattened
from accounting_analytics.errors import AmountError, ProtocolError
from accounting_analytics.money import arrow_type, parse_amount
from accounting_analytics.periods import LOCALTIME, Period
from accounting_analytics.progress import progress_bar
from accounting_analytics.schemas import (
    BOOLEAN,
    INSTANT,
    TEXT,
    CashBalances,
    CashFlowLedgers,
    CashFlowLines,
    CashFlowReport,
    LineEntries,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client import records as wire

DEFAULT_EXPANSIONS = ("transaction", "journal_entry", "opposing_ledger_ids")
_CONCURRENT_LEDGERS = 8
_TEXT = pa.large_string()
_TEXTS = pa.list_(pa.string())
_INSTANT = pa.timestamp("us", "UTC")
_TO_PANDAS = {_TEXT: TEXT, _INSTANT: INSTANT, pa.bool_(): BOOLEAN, _TEXTS: pd.ArrowDtype(_TEXTS)}


def load_line_entries(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: dt.date | str,
    end_date: dt.date | str,
    *,
    time_zone: str = "UTC",
    is_cashflow: bool | None = None,
    tag_ids: Iterable[str] | None = None,
    expand: Iterable[str] = DEFAULT_EXPANSIONS,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Load all line entries of some ledgers in a period.

    Parameters
    ----------
    client : LedgerClient
        The service.
    ledger_ids : iterable of str
        The ledgers; each once.
    start_date, end_date : datetime.date or str
        First and last day, both inclusive, local to `time_zone`.
    is_cashflow : bool, optional
        Only lines whose entry touches a ledger that reports cash flow (True), or only the others (False).
    tag_ids : iterable of str, optional
        Only lines that carry all these tags.
    expand : iterable of str
        What the service sends along; columns of what was not expanded are absent.
    progress : bool, optional
        A progress bar; None shows one where somebody is watching.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`, ordered by (datetime, id). ``attrs["notes"]`` says what
        came in oddly.

    Raises
    ------
    ServiceError
        The service failed or broke its interface; nothing is returned, loading again is safe.
    """
    period = Period.of(start_date, end_date, time_zone)
    expanded = frozenset(expand)
    wanted = [ledger_ids] if isinstance(ledger_ids, str) else list(dict.fromkeys(ledger_ids))
    tags = tuple(tag_ids or ())

    with progress_bar(progress, desc="line entries", unit=" lines") as bar:

        def load_ledger(ledger_id: str) -> list[pa.Table]:
            pages = client.iter_line_entry_pages(
                ledger_id,
                period.start_date,
                period.end_date,
                is_cashflow=is_cashflow,
                time_zone=time_zone,
                expand=sorted(expanded),
                tag_ids=tags,
            )
            tables = []
            for number, page in enumerate(pages, start=1):
                where = f"list line entries (ledger {ledger_id}, {period}), page {number}"
                tables.append(_page(page, where, ledger_id=ledger_id, expanded=expanded, scale=client.scale))
                bar.update(len(page.records))
            return tables

        with ThreadPoolExecutor(_CONCURRENT_LEDGERS) as threads:
            loaded = list(chain.from_iterable(threads.map(load_ledger, wanted)))
    schema = _schema(expanded, client.scale)
    table = pa.concat_tables([schema.empty_table(), *loaded])
    dusted = pc.sum(table["dusted"], min_count=0).as_py()
    table = table.drop_columns("dusted")
    _require_in_period(table, period)
    table, repeated = _without_repeats(table)
    table = table.sort_by([("datetime", "ascending"), ("id", "ascending")])
    frame = LineEntries.checked(table.to_pandas(types_mapper=_TO_PANDAS.get).astype(_amount_dtypes(table)))
    frame.attrs["notes"] = _notes(
        (dusted, "amount(s) had float dust, within 1e-6 of the exact value, removed"),
        (repeated, "line(s) came more than once with the same content and were kept once"),
    )
    return frame


def load_cash_flow_report(
    client: LedgerClient,
    start_date: dt.date | str,
    end_date: dt.date | str,
    *,
    time_zone: str = "UTC",
    tag_ids: Iterable[str] | None = None,
) -> CashFlowReport:
    """Load the cash flow report of a period as the service computes it.

    Ledgers and lines stand in the order of the service. `tag_ids` filters cash flow lines, never balances.

    Returns
    -------
    CashFlowReport
        Four validated tables, two exact balances, and notes on what came in oddly.

    Raises
    ------
    ServiceError
        The service failed or broke its interface.
    """
    period = Period.of(start_date, end_date, time_zone)
    tags = tuple(tag_ids or ())
    report = client.retrieve_cash_flow_report(period.start_date, period.end_date, time_zone=time_zone, tag_ids=tags)
    amounts = _Amounts(client.scale, f"cash flow report, {period}")
    ledgers = list(flattened(report.cash_flow_ledgers))
    starting = _balances(list(flattened(report.starting_balances)), amounts, client.scale)
    ending = _balances(list(flattened(report.ending_balances)), amounts, client.scale)
    loaded = CashFlowReport(
        period=period,
        ledgers=_flows(ledgers, amounts, client.scale),
        lines=_lines(ledgers, amounts, client.scale),
        starting_balances=starting,
        ending_balances=ending,
        starting_cash_balance=amounts.exact(report.starting_cash_balance, "starting_cash_balance"),
        ending_cash_balance=amounts.exact(report.ending_cash_balance, "ending_cash_balance"),
        tag_ids=tags,
    )
    notes = _notes((amounts.dusted, "amount(s) had float dust, within 1e-6 of the exact value, removed"))
    return dataclasses.replace(loaded, notes=notes).checked()


class _Amounts:
    """Exact amounts of one answer; counts the dust removed."""

    def __init__(self, scale: int, where: str) -> None:
        self._scale = scale
        self.where = where
        self.dusted = 0

    def exact(self, value: Decimal, field: str) -> Decimal:
        try:
            amount, dusted = parse_amount(value, self._scale)
        except AmountError as error:
            msg = f"{self.where}: {field}: {error}"
            raise ProtocolError(msg) from None
        self.dusted += dusted
        return amount

    def exact_or_none(self, value: Decimal | None, field: str) -> Decimal | None:
        return None if value is None else self.exact(value, field)


def _flows(ledgers: Sequence[wire.CashFlowLedger], amounts: _Amounts, scale: int) -> pd.DataFrame:
    return _frame(
        CashFlowLedgers,
        scale,
        ledger_id=[one.ledger_id for one in ledgers],
        name=[one.name for one in ledgers],
        net_cash_flow=[amounts.exact(one.net_cash_flow, f"net_cash_flow of {one.ledger_id}") for one in ledgers],
        total_net_cash_flow=[
            amounts.exact_or_none(one.total_net_cash_flow, f"total_net_cash_flow of {one.ledger_id}") for one in ledgers
        ],
    )


def _lines(ledgers: Sequence[wire.CashFlowLedger], amounts: _Amounts, scale: int) -> pd.DataFrame:
    lines = [(one.ledger_id, line) for one in ledgers for line in one.lines]
    return _frame(
        CashFlowLines,
        scale,
        line_id=[line.line_id for _, line in lines],
        ledger_id=[ledger_id for ledger_id, _ in lines],
        amount=[amounts.exact(line.amount, f"amount of line {line.line_id}") for _, line in lines],
        datetime=_instants_at([line.datetime for _, line in lines], amounts.where),
        cash_flow_ledger_name=[line.cash_flow_ledger_name for _, line in lines],
        journal_entry_id=[line.journal_entry_id for _, line in lines],
        journal_entry_description=[line.journal_entry_description for _, line in lines],
    )


def _balances(balances: Sequence[wire.CashLedgerBalance], amounts: _Amounts, scale: int) -> pd.DataFrame:
    return _frame(
        CashBalances,
        scale,
        ledger_id=[one.ledger_id for one in balances],
        ledger_name=[one.ledger_name for one in balances],
        sort_code=[one.sort_code for one in balances],
        cash_balance=[amounts.exact(one.cash_balance, f"cash_balance of {one.ledger_id}") for one in balances],
        total_cash_balance=[
            amounts.exact_or_none(one.total_cash_balance, f"total_cash_balance of {one.ledger_id}") for one in balances
        ],
    )


def _frame(table: type[Table], scale: int, **columns: Sequence[Any]) -> pd.DataFrame:
    dtypes = table.dtypes(scale)
    return pd.DataFrame({name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()})


def _instants_at(values: Iterable[dt.datetime], where: str) -> list[dt.datetime]:
    """Instants in UTC; no zone designator is UTC. Arrow would take the clock time of any other zone for UTC."""
    try:
        return [_in_utc(value) for value in values]
    except OverflowError:
        msg = f"{where}: an instant lies outside the calendar (years 1 to 9999 in UTC)"
        raise ProtocolError(msg) from None


def _in_utc(value: dt.datetime) -> dt.datetime:
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value if value.tzinfo is dt.UTC else value.astimezone(dt.UTC)


def _page(page: wire.LineEntryPage, where: str, *, ledger_id: str, expanded: frozenset[str], scale: int) -> pa.Table:
    """Columns of one page, each value checked where an engine would let it pass."""
    lines = page.records
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
        "datetime": _instants_at([line.datetime for line in lines], where),
        "amount": amounts,
        "debit_credit": [line.debit_credit for line in lines],
        "signed_amount": pc.if_else(debit, amounts, pc.negate(amounts)),
        "description": [line.description for line in lines],
        "transaction_id": [line.transaction_id for line in lines],
        "related_line_entry_id": [line.related_line_entry_id for line in lines],
        "editable": [line.editable for line in lines],
        "tag_ids": [None if line.tags is None else [tag.id for tag in line.tags] for line in lines],
        "dusted": [dusted] + [0] * (len(lines) - 1) if lines else [],
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
        for name, field in _TRANSACTION_FIELDS.items():
            columns[name] = [None if one is None else getattr(one, field) for one in seen]
    schema = _schema(expanded, scale)
    try:
        return pa.table({name: columns[name] for name in schema.names}, schema=schema)
    except (pa.ArrowInvalid, OverflowError) as error:
        msg = f"{where}: a value cannot be read: {error}"
        raise ProtocolError(msg) from None


_TRANSACTION_FIELDS = {
    "transaction_description": "description",
    "transaction_personal": "personal",
    "transaction_posted_status": "posted_status",
    "transaction_review_status": "review_status",
    "source_account_id": "source_account_id",
}


def _schema(expanded: frozenset[str], scale: int) -> pa.Schema:
    """Arrow schema of a page: the LineEntries columns that were asked for, and the dust count."""
    amount = arrow_type(scale)
    types: dict[str, pa.DataType] = {
        "id": _TEXT,
        "ledger_id": _TEXT,
        "ledger_name": _TEXT,
        "journal_entry_id": _TEXT,
        "journal_entry_description": _TEXT,
        "datetime": _INSTANT,
        "amount": amount,
        "debit_credit": _TEXT,
        "signed_amount": amount,
        "description": _TEXT,
        "transaction_id": _TEXT,
        "related_line_entry_id": _TEXT,
        "editable": pa.bool_(),
        **({"opposing_ledger_ids": _TEXTS} if "opposing_ledger_ids" in expanded else {}),
        "tag_ids": _TEXTS,
    }
    if "transaction" in expanded:
        types |= {"transaction_amount": amount} | dict.fromkeys(_TRANSACTION_FIELDS, _TEXT)
        types["transaction_personal"] = pa.bool_()
    if "journal_entry" in expanded:
        types["journal_entry_line_entry_ids"] = _TEXTS
    return pa.schema(types | {"dusted": pa.int64()})


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


def _require_in_period(table: pa.Table, period: Period) -> None:
    """Refuse lines whose local date is outside; `localtime` is the service's own and cannot be checked here."""
    if period.time_zone == LOCALTIME or not table.num_rows:
        return
    within = (_within(table["datetime"], start, end) for start, end in period.instants())
    inside = reduce(pc.or_, within, pa.chunked_array([pa.repeat(pa.scalar(False), table.num_rows)]))  # noqa: FBT003
    if not pc.all(inside).as_py():
        stray = pc.index(inside, False).as_py()
        msg = (
            f"list line entries (ledger {table['ledger_id'][stray]}): line {table['id'][stray]} of "
            f"{table['datetime'][stray]} is outside {period}"
        )
        raise ProtocolError(msg)


def _within(instants: pa.ChunkedArray, start: dt.datetime, end: dt.datetime | None) -> pa.ChunkedArray:
    since = pc.greater_equal(instants, pa.scalar(start, _INSTANT))
    return since if end is None else pc.and_(since, pc.less(instants, pa.scalar(end, _INSTANT)))


def _without_repeats(table: pa.Table) -> tuple[pa.Table, int]:
    """Each line once, and how many were repeated; the same id with other content is refused."""
    if pc.count_distinct(table["id"]).as_py() == table.num_rows:
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


def _amount_dtypes(table: pa.Table) -> dict[str, pd.ArrowDtype]:
    return {field.name: pd.ArrowDtype(field.type) for field in table.schema if pa.types.is_decimal(field.type)}


def _notes(*counted: tuple[int, str]) -> tuple[str, ...]:
    return tuple(f"{count} {said}." for count, said in counted if count)
