"""Rows of a CSV or Parquet file as text or native values, each with the place it stands at."""

from __future__ import annotations

import csv
import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.service.imports.import_errors import Refusals

_PARQUET_MAGIC = b"PAR1"


class Rows(NamedTuple):
    """Column names of a file, and its rows as (place, values in that order)."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[str, Sequence[Any]]]


def is_parquet(path: Path, refusals: Refusals) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
        raise refusals.refuse(reason) from error


def csv_columns(path: Path, refusals: Refusals) -> tuple[str, ...]:
    """Column names of a CSV file."""
    rows = csv_rows(path, refusals)
    rows.rows.close()  # type: ignore[attr-defined] # a generator; closes the file
    return rows.columns


def csv_rows(path: Path, refusals: Refusals) -> Rows:
    """Rows of a comma-separated UTF-8 file; a row with more or fewer fields than the header is noted and skipped."""
    lines = _csv_lines(path, refusals)
    first = next(lines, None)
    if first is None:
        reason = "it is empty"
        raise refusals.refuse(reason)
    columns = tuple(name.strip() for name in first[1])
    _check_columns(columns, refusals)
    return Rows(columns, _as_wide_as(len(columns), lines, refusals))


def parquet_rows(path: Path, refusals: Refusals) -> Rows:
    """Rows of a Parquet file."""
    try:
        table = pq.read_table(path)
        table = table.cast(pa.schema([_exact(column) for column in table.schema]))
    except (OSError, pa.ArrowException) as error:
        reason = f"it cannot be read as Parquet ({str(error).splitlines()[0]})"
        raise refusals.refuse(reason) from error
    columns = tuple(table.column_names)
    nested = [column.name for column in table.schema if pa.types.is_nested(column.type)]
    if nested:
        reason = f"these columns hold lists or structures, not values: {', '.join(nested)}"
        raise refusals.refuse(reason)
    _check_columns(columns, refusals)
    return Rows(columns, _parquet_lines(table))


def _csv_lines(path: Path, refusals: Refusals) -> Iterator[tuple[str, Sequence[Any]]]:
    """Every record with the line it starts on; a quoted field may span several lines."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            line = 1
            for fields in reader:
                if fields:
                    yield f"line {line}", fields
                line = reader.line_num + 1
    except OSError as error:
        reason = f"it cannot be read ({error.strerror})"
        raise refusals.refuse(reason) from error
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8 text (byte {error.start})"
        raise refusals.refuse(reason) from error
    except csv.Error as error:
        reason = f"not readable as CSV ({error})"
        raise refusals.refuse(reason, f"line {reader.line_num}") from error


def _as_wide_as(
    width: int, lines: Iterator[tuple[str, Sequence[Any]]], refusals: Refusals
) -> Iterator[tuple[str, Sequence[Any]]]:
    for place, fields in lines:
        if len(fields) == width:
            yield place, fields
        else:
            refusals.add(place, f"has {len(fields)} fields, the header has {width}")


def _parquet_lines(table: pa.Table) -> Iterator[tuple[str, Sequence[Any]]]:
    number = 0
    for batch in table.to_batches(max_chunksize=50_000):
        for values in zip(*map(_values, batch.columns), strict=True):
            number += 1
            yield f"row {number}", values


def _values(column: pa.Array) -> Iterator[Any]:
    """Values of a column; each distinct instant or decimal is made once, because making one is slow."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return iter(column.to_numpy(zero_copy_only=False).tolist())
    if not (pa.types.is_timestamp(column.type) or pa.types.is_decimal(column.type)):
        return iter(column.to_pylist())
    encoded = column.dictionary_encode(null_encoding="encode")
    distinct = encoded.dictionary
    made = _instants(distinct) if pa.types.is_timestamp(column.type) else distinct.to_numpy(zero_copy_only=False)
    return map(list(made).__getitem__, encoded.indices.to_numpy().tolist())


def _instants(column: pa.Array) -> Iterator[Any]:
    """Instants in UTC, local times without a zone where the column has none."""
    zone = None if column.type.tz is None else dt.UTC
    for value in column.to_numpy(zero_copy_only=False).tolist():
        yield value.replace(tzinfo=zone) if isinstance(value, dt.datetime) else value


def _exact(column: pa.Field) -> pa.Field:
    """Column whose instants are microseconds; finer ones fail to be cast."""
    return column.with_type(pa.timestamp("us", column.type.tz)) if pa.types.is_timestamp(column.type) else column


def _check_columns(columns: tuple[str, ...], refusals: Refusals) -> None:
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        reason = f"these columns occur more than once: {', '.join(twice)}"
        raise refusals.refuse(reason)
