"""Cash flow lines of a period, read and written out column by column: a year of books has hundreds of thousands.

Reading a row at a time costs more than all the rest of a report. So the database is asked for each ledger's lines as
one text a column, for some thousand lines at a time, and Arrow takes those texts apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import ColumnElement, Connection, String, bindparam, cast, func, select

from accounting_analytics.service.storage import tables
from accounting_analytics.service.storage.streamed_rows import plain_rows
from accounting_analytics.service.wire import json_columns

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
LINES_AT_ONCE = 40_000


class Wanted(NamedTuple):
    """Which lines are read.

    Attributes
    ----------
    ledger_keys : Select
        Those of these ledgers,
    in_period : callable
        whose instant, as a column, meets this condition,
    further : sequence of conditions
        and that meet these too.
    """

    ledger_keys: Select[int]
    in_period: Callable[[ColumnElement[int]], ColumnElement[bool]]
    further: Sequence[ColumnElement[bool]]


class LedgerLines(NamedTuple):
    """Some lines of one ledger, in (datetime, id) order.

    Attributes
    ----------
    ledger_key : int
        The ledger.
    units : int
        Their sum, positive into cash.
    rendered : Buffer
        The lines as the inside of a JSON array.
    """

    ledger_key: int
    units: int
    rendered: pa.Buffer


class Read(NamedTuple):
    """Lines by ascending key of their ledger: how many each has, and a column each for what is shown of them."""

    keys: Sequence[int]
    counts: Sequence[int]
    columns: Sequence[pa.Array]

    @property
    def ledgers(self) -> pa.Array:
        """Key of its ledger for each line."""
        return pa.array(np.repeat(self.keys, self.counts))


def flow_lines(
    connection: Connection,
    wanted: Wanted,
    cash_names: Mapping[int, str],
    scale: int,
    *,
    lines_at_once: int = LINES_AT_ONCE,
) -> Iterator[LedgerLines]:
    """Lines of journal entries that touch a cash ledger; those of a ledger may come in several parts, in order.

    Parameters
    ----------
    connection : Connection
        A snapshot of the database.
    wanted : Wanted
        Which lines.
    cash_names : mapping of int to str
        Names of the cash ledgers as JSON, by key.
    scale : int
        Fraction digits of amounts.
    lines_at_once : int
        About how many lines to read at once.
    """
    of_ledgers = _LINES.ledger_pk.in_(wanted.ledger_keys)
    # the period's bounds may be several: they leave the index to those of what is read at once
    lines = (
        select(_LINES.ledger_pk)
        .join_from(tables.line_entries, tables.journal_entries, _ENTRIES.pk == _LINES.journal_entry_pk)
        .where(of_ledgers, _ENTRIES.cash_ledger_pk.is_not(None), *wanted.further)
        .where(wanted.in_period(_LINES.datetime + 0))
        .where(_LINES.datetime >= bindparam("since"), _LINES.datetime < bindparam("until"))
        .order_by(_LINES.ledger_pk)
    )
    for stretch in _stretches(connection, of_ledgers & wanted.in_period(_LINES.datetime), lines_at_once):
        read = _read(connection, lines, stretch)
        if read is not None:
            yield from _rendered(in_order(read), cash_names, scale)


def _stretches(connection: Connection, within: ColumnElement[bool], lines_at_once: int) -> Iterator[dict[str, int]]:
    """Stretches of time that would have as many lines each, were all lines spread evenly."""
    moments = (func.count(), func.min(_LINES.datetime), func.max(_LINES.datetime))
    count, first, last = connection.execute(select(*moments).where(within)).one()
    stretches = -(-count // lines_at_once)
    for number in range(stretches):
        width = (last - first) // stretches + 1
        yield {"since": first + number * width, "until": first + (number + 1) * width}


def _read(connection: Connection, lines: Select[Any], stretch: Mapping[str, int]) -> Read | None:
    """Read the lines of a stretch; None where there are none."""
    texts = [func.aggregate_strings(cast(column, String), _SEPARATOR) for column in _COLUMNS]
    grouped = connection.execute(lines.add_columns(func.count(), *texts).group_by(_LINES.ledger_pk), stretch).all()
    if not grouped:
        return None
    keys, counts, *columns = zip(*grouped, strict=True)
    apart = [pc.split_pattern(pa.array([_SEPARATOR.join(column)]), _SEPARATOR).values for column in columns]
    if any(len(column) != sum(counts) for column in apart):  # a text has the separator in it
        rows = plain_rows(connection, lines.add_columns(*_COLUMNS), stretch)
        _, *columns = zip(*rows, strict=True)
        apart = [pa.array(map(str, column), pa.string()) for column in columns]
    return Read(keys, counts, apart)


def in_order(read: Read) -> Read:
    """Put lines in order: a database puts texts together in the order it meets them, and promises none."""
    line_ids, _, _, moments, *_ = read.columns
    places = pa.table({"ledger": read.ledgers, "datetime": moments.cast(pa.int64()), "id": line_ids})
    order = pc.sort_indices(places, sort_keys=[(name, "ascending") for name in places.column_names])
    return read._replace(columns=[column.take(order) for column in read.columns])


def _rendered(read: Read, cash_names: Mapping[int, str], scale: int) -> Iterator[LedgerLines]:
    line_ids, highs, lows, moments, cash_keys, entry_ids, descriptions = read.columns
    units = pc.negate(json_columns.units(highs.cast(pa.int64()), lows.cast(pa.int64())))
    cash = cash_keys.dictionary_encode()
    names = pa.array([cash_names[int(key)] for key in cash.dictionary.to_pylist()], pa.string())
    lines = json_columns.joined(
        '{"line_id":"',
        json_columns.texts(line_ids),
        '","amount":',
        json_columns.numbers(units, scale),
        ',"datetime":"',
        json_columns.timestamps(moments.cast(pa.int64())),
        '","cash_flow_ledger_name":',
        names.take(cash.indices),
        ',"journal_entry_id":"',
        json_columns.texts(entry_ids),
        '","journal_entry_description":"',
        json_columns.texts(descriptions),
        '"},',
    )
    nets = pa.table({"ledger": read.ledgers, "units": units}).group_by("ledger", use_threads=False)
    units_of = nets.aggregate([("units", "sum")])["units_sum"].to_pylist()
    for key, net, own in zip(read.keys, units_of, json_columns.elements(lines, read.counts), strict=True):
        yield LedgerLines(key, int(net), own)
