"""Cash flow lines of a period, read and rendered column by column: a year of books has hundreds of thousands.

Reading a row at a time costs more than all the rest of a report. So the database concatenates each ledger's lines to
one text per column, for some thousand lines at a time, and Arrow splits those texts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import ColumnElement, Connection, Select, String, bindparam, cast, func, select

from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.database import plain_rows
from accounting_analytics.service.wire.response_models import CashFlowLine, Number, encode
from accounting_analytics.service.wire.stored_values import BASE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Numbers: TypeAlias = Sequence[int] | pa.Array
    Texts: TypeAlias = Sequence[str] | pa.Array

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
    """Which lines of cash entries are read: of which ledgers, with a condition on their instant, and further ones."""

    ledger_keys: Select[int]
    in_period: Callable[[ColumnElement[int]], ColumnElement[bool]]
    conditions: Sequence[ColumnElement[bool]]


class LedgerLines(NamedTuple):
    """Some lines of one ledger in (datetime, id) order as JSON, and their sum in minor units, positive into cash."""

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
    """Lines of journal entries that touch a cash ledger; those of a ledger may come in several parts, in order."""
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
    parts = -(-count // batch_size)
    for number in range(parts):
        width = (last - first) // parts + 1
        yield {"since": first + number * width, "until": first + (number + 1) * width}


def _read(connection: Connection, lines: Select[Any], bounds: Mapping[str, int]) -> LineColumns | None:
    """Read the lines of a slice of time; None if there are none."""
    joined = [func.aggregate_strings(cast(column, String), _SEPARATOR) for column in _COLUMNS]
    grouped = connection.execute(lines.add_columns(func.count(), *joined).group_by(_LINES.ledger_pk), bounds).all()
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
    movements = pc.negate(units(highs.cast(pa.int64()), lows.cast(pa.int64())))
    cash = cash_keys.dictionary_encode()
    names = texts([cash_names[int(key)] for key in cash.dictionary.to_pylist()])
    columns = {
        "line_id": texts(line_ids),
        "amount": numbers(movements, scale),
        "datetime": timestamps(instants.cast(pa.int64())),
        "cash_flow_ledger_name": names.take(cash.indices),
        "journal_entry_id": texts(entry_ids),
        "journal_entry_description": texts(descriptions),
    }
    rendered = slices(objects(CashFlowLine, columns), lines.counts)
    sums = pa.table({"ledger": lines.ledgers, "units": movements}).group_by("ledger", use_threads=False)
    summed = sums.aggregate([("units", "sum")])
    nets = dict(zip(summed["ledger"].to_pylist(), summed["units_sum"].to_pylist(), strict=True))
    for key, part in zip(lines.keys, rendered, strict=True):
        yield LedgerLines(key, int(nets[key]), part)


_QUOTE, _BACKSLASH, _FIRST_UNESCAPED = 0x22, 0x5C, 0x20
_INTEGER = pa.decimal128(19, 0)  # any of 64 bits
_ZERO = pa.scalar(0, pa.decimal128(1, 0))
_DAY_END, _SECONDS_END = len("2025-01-31"), len("2025-01-31 23:59:59")


def units(highs: Numbers, lows: Numbers) -> pa.Array:
    """Signed units of stored parts, as whole decimals."""
    high, low = (pa.array(parts, pa.int64()).cast(_INTEGER) for parts in (highs, lows))
    return pc.add(pc.multiply(high, pa.scalar(BASE, pa.decimal128(11, 0))), low)


def numbers(amounts: pa.Array, scale: int) -> pa.Array:
    """Exact JSON numbers of units, without exponent."""
    digits = pc.ascii_lpad(pc.abs(amounts).cast(pa.string()), scale + 1, "0")
    if scale:
        digits = pc.binary_replace_slice(digits, start=-scale, stop=-scale, replacement=".")
    return concatenate(pc.if_else(pc.less(amounts, _ZERO), "-", ""), digits)


def timestamps(instants: Numbers) -> pa.Array:
    """ISO 8601 texts, in UTC, of stored microseconds; with a fraction only if it is not zero."""
    exact = pa.array(instants, pa.timestamp("us"))
    text = pc.binary_replace_slice(exact.cast(pa.string()), start=_DAY_END, stop=_DAY_END + 1, replacement="T")
    seconds = pc.binary_slice(text.cast(pa.binary()), 0, _SECONDS_END).cast(pa.string())
    is_whole = pc.equal(exact, exact.cast(pa.timestamp("s"), safe=False))
    return concatenate(pc.if_else(is_whole, seconds, text), "Z")


def texts(values: Texts) -> pa.Array:
    """Texts escaped as JSON strings, without their quotes."""
    column = pa.array(values, pa.string())
    characters = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    if ((characters < _FIRST_UNESCAPED) | (characters == _QUOTE) | (characters == _BACKSLASH)).any():
        return pa.array([encode(text)[1:-1].decode() for text in column.to_pylist()], pa.string())
    return column


def objects(model: type[msgspec.Struct], columns: Mapping[str, pa.Array]) -> pa.Array:
    """JSON objects of a struct, each followed by a comma: :func:`numbers` of amounts, and texts to be quoted."""
    fields = msgspec.structs.fields(model)
    # Everything between two values of a row is the same in every row: the closing quote of one value, a comma, the
    # next name and its opening quote. So a row is its columns joined by these constants, '{"a":"' 1 '","b":' 2 '},',
    # and Arrow joins all rows in one call.
    parts, between = [], "{"
    for field in fields:
        quote = "" if field.type == Number else '"'
        parts += [f'{between}"{field.name}":{quote}', columns[field.name]]
        between = f"{quote},"
    return concatenate(*parts, f"{between.removesuffix(',')}}},")


def concatenate(*parts: pa.Array | str) -> pa.Array:
    """Texts concatenated row by row."""
    return pc.binary_join_element_wise(*parts, "")


def slices(rows: pa.Array, counts: Sequence[int]) -> Iterator[pa.Buffer]:
    """Consecutive rows, as many to a slice as each count says, without the comma at the end of each slice.

    The rows are adjacent in memory: nothing is copied.
    """
    _, offsets, values = rows.buffers()
    bounds = np.frombuffer(offsets, np.int32)[rows.offset + np.cumsum([0, *counts])].tolist()
    for start, end in pairwise(bounds):
        yield values.slice(start, end - start - len(","))
