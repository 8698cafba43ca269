"""Cash flow lines of a period, read and rendered column by column: a year of books has hundreds of thousands.

Reading a row at a time costs more than all the rest of a report. So the database concatenates each ledger's lines to
one text per column, for some thousand lines at a time, and Arrow splits those texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import ColumnElement, Connection, String, bindparam, cast, func, select

from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import plain_rows
from accounting_analytics.service.wire import json_values
from accounting_analytics.service.wire.response_models import CashFlowLine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import Select

_LINES = tables.line_entries.c
_ENTRIES = tables.journal_entries.c
_COLUMNS = (
    _LINES.id,
    _LINES.high,
    _LINES.low,
    _LINES.datetime,
    _ENTRIES.cash_ledger_pk,
    _ENTRIES.id,
    _ENTRIES.description,
)
_SEPARATOR = "\x1f"
BATCH_SIZE = 40_000


class CashFlowLineFilter(NamedTuple):
    """Which lines of cash entries are read.

    Attributes
    ----------
    ledger_keys : Select
        Their ledgers.
    in_period : callable
        Condition on the instant of a line, as a column.
    conditions : sequence of conditions
        Further conditions on the line.
    """

    ledger_keys: Select[int]
    in_period: Callable[[ColumnElement[int]], ColumnElement[bool]]
    conditions: Sequence[ColumnElement[bool]]


class LedgerLines(NamedTuple):
    """Some lines of one ledger, in (datetime, id) order.

    Attributes
    ----------
    ledger_key : int
        The ledger.
    units : int
        Sum of the lines in minor units, positive into cash.
    rendered : Buffer
        The lines as JSON, separated by commas.
    """

    ledger_key: int
    units: int
    rendered: pa.Buffer


class LineColumns(NamedTuple):
    """Lines by ascending key of their ledger: how many each ledger has, and the columns of the query as text."""

    keys: Sequence[int]
    counts: Sequence[int]
    columns: Sequence[pa.Array]

    @property
    def ledgers(self) -> pa.Array:
        """Key of the ledger of each line."""
        return pa.array(np.repeat(self.keys, self.counts))


def read_cash_flow_lines(
    connection: Connection,
    line_filter: CashFlowLineFilter,
    cash_names: Mapping[int, str],
    scale: int,
    *,
    batch_size: int = BATCH_SIZE,
) -> Iterator[LedgerLines]:
    """Lines of journal entries that touch a cash ledger; those of a ledger may come in several parts, in order.

    Parameters
    ----------
    connection : Connection
        A snapshot of the database.
    line_filter : CashFlowLineFilter
        Which lines.
    cash_names : mapping of int to str
        Names of the cash ledgers, by key.
    scale : int
        Fraction digits of amounts.
    batch_size : int
        About how many lines to read at a time.
    """
    of_ledgers = _LINES.ledger_pk.in_(line_filter.ledger_keys)
    # the index serves the bounds of the batch: those of the period may be several, so 0 is added to hide them from it
    lines = (
        select(_LINES.ledger_pk)
        .join_from(tables.line_entries, tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .where(of_ledgers, _ENTRIES.cash_ledger_pk.is_not(None), *line_filter.conditions)
        .where(line_filter.in_period(_LINES.datetime + 0))
        .where(_LINES.datetime >= bindparam("since"), _LINES.datetime < bindparam("until"))
        .order_by(_LINES.ledger_pk)
    )
    for bounds in _time_slices(connection, of_ledgers & line_filter.in_period(_LINES.datetime), batch_size):
        columns = _read(connection, lines, bounds)
        if columns is not None:
            yield from _rendered(sorted_lines(columns), cash_names, scale)


def _time_slices(connection: Connection, selected: ColumnElement[bool], batch_size: int) -> Iterator[dict[str, int]]:
    """Equal slices of time that would have `batch_size` lines each if the lines were spread evenly."""
    statistics = (func.count(), func.min(_LINES.datetime), func.max(_LINES.datetime))
    count, first, last = connection.execute(select(*statistics).where(selected)).one()
    slices = -(-count // batch_size)
    for number in range(slices):
        width = (last - first) // slices + 1
        yield {"since": first + number * width, "until": first + (number + 1) * width}


def _read(connection: Connection, lines: Select[Any], bounds: Mapping[str, int]) -> LineColumns | None:
    """Read the lines of a slice of time; None if there are none."""
    texts = [func.aggregate_strings(cast(column, String), _SEPARATOR) for column in _COLUMNS]
    grouped = connection.execute(lines.add_columns(func.count(), *texts).group_by(_LINES.ledger_pk), bounds).all()
    if not grouped:
        return None
    keys, counts, *columns = zip(*grouped, strict=True)
    # A text that contains the separator splits into too many values. Then the same lines are read as rows instead.
    values = [pc.split_pattern(pa.array([_SEPARATOR.join(column)]), _SEPARATOR).values for column in columns]
    if any(len(column) != sum(counts) for column in values):
        rows = plain_rows(connection, lines.add_columns(*_COLUMNS), bounds)
        _, *columns = zip(*rows, strict=True)
        values = [pa.array(map(str, column), pa.string()) for column in columns]
    return LineColumns(keys, counts, values)


def sorted_lines(lines: LineColumns) -> LineColumns:
    """Lines of each ledger in (datetime, id) order: a database guarantees no order within a concatenated text."""
    line_ids, _, _, instants, *_ = lines.columns
    keys = pa.table({"ledger": lines.ledgers, "datetime": instants.cast(pa.int64()), "id": line_ids})
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    return lines._replace(columns=[column.take(order) for column in lines.columns])


def _rendered(lines: LineColumns, cash_names: Mapping[int, str], scale: int) -> Iterator[LedgerLines]:
    line_ids, highs, lows, instants, cash_keys, entry_ids, descriptions = lines.columns
    units = pc.negate(json_values.units(highs.cast(pa.int64()), lows.cast(pa.int64())))
    cash = cash_keys.dictionary_encode()
    names = json_values.texts([cash_names[int(key)] for key in cash.dictionary.to_pylist()])
    columns = {
        "line_id": json_values.texts(line_ids),
        "amount": json_values.numbers(units, scale),
        "datetime": json_values.timestamps(instants.cast(pa.int64())),
        "cash_flow_ledger_name": names.take(cash.indices),
        "journal_entry_id": json_values.texts(entry_ids),
        "journal_entry_description": json_values.texts(descriptions),
    }
    rendered = json_values.slices(json_values.objects(CashFlowLine, columns), lines.counts)
    sums = pa.table({"ledger": lines.ledgers, "units": units}).group_by("ledger", use_threads=False)
    nets = sums.aggregate([("units", "sum")])["units_sum"].to_pylist()
    for key, net, part in zip(lines.keys, nets, rendered, strict=True):
        yield LedgerLines(key, int(net), part)
