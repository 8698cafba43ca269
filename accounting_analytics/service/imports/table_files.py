"""Rows of a CSV or Parquet file as text or native values, each with its location in the file."""

from __future__ import annotations

import csv
import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.service.imports.import_errors import ImportErrors

_PARQUET_MAGIC = b"PAR1"


class TableRows(NamedTuple):
    """Column names of a file, and its rows as (location, values in the order of the columns)."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[str, Sequence[Any]]]


def is_parquet(path: Path, errors: ImportErrors) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
    except OSError as error:
        problem = f"it cannot be read ({error.strerror})"
        raise errors.fatal(problem) from error


def csv_columns(path: Path, errors: ImportErrors) -> tuple[str, ...]:
    """Column names of a CSV file."""
    rows = csv_rows(path, errors)
    rows.rows.close()  # type: ignore[attr-defined] # a generator; closes the file
    return rows.columns


def csv_rows(path: Path, errors: ImportErrors) -> TableRows:
    """Rows of a comma-separated UTF-8 file; a row with too many or too few fields is an error."""
    lines = _read_csv(path, errors)
    first = next(lines, None)
    if first is None:
        problem = "it is empty"
        raise errors.fatal(problem)
    columns = tuple(name.strip() for name in first[1])
    _check_columns(columns, errors)
    return TableRows(columns, _check_widths(len(columns), lines, errors))


def parquet_rows(path: Path, errors: ImportErrors) -> TableRows:
    """Rows of a Parquet file."""
    try:
        table = pq.read_table(path)
        table = table.cast(pa.schema([_microsecond_field(column) for column in table.schema]))
    except (OSError, pa.ArrowException) as error:
        problem = f"it cannot be read as Parquet ({str(error).splitlines()[0]})"
        raise errors.fatal(problem) from error
    columns = tuple(table.column_names)
    nested = [column.name for column in table.schema if pa.types.is_nested(column.type)]
    if nested:
        problem = f"these columns contain lists or structures, not values: {', '.join(nested)}"
        raise errors.fatal(problem)
    _check_columns(columns, errors)
    return TableRows(columns, _read_table(table))


def _read_csv(path: Path, errors: ImportErrors) -> Iterator[tuple[str, Sequence[Any]]]:
    """Rows with the line they start on; a quoted field may span several lines."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            line = 1
            for fields in reader:
                if fields:
                    yield f"line {line}", fields
                line = reader.line_num + 1
    except OSError as error:
        problem = f"it cannot be read ({error.strerror})"
        raise errors.fatal(problem) from error
    except UnicodeDecodeError as error:
        problem = f"it is not UTF-8 text (byte {error.start})"
        raise errors.fatal(problem) from error
    except csv.Error as error:
        problem = f"it is not valid CSV ({error})"
        raise errors.fatal(problem, f"line {reader.line_num}") from error


def _check_widths(
    width: int, lines: Iterator[tuple[str, Sequence[Any]]], errors: ImportErrors
) -> Iterator[tuple[str, Sequence[Any]]]:
    for location, fields in lines:
        if len(fields) == width:
            yield location, fields
        else:
            errors.add(location, f"has {len(fields)} fields, the header has {width}")


def _read_table(table: pa.Table) -> Iterator[tuple[str, Sequence[Any]]]:
    number = 0
    for batch in table.to_batches(max_chunksize=50_000):
        for values in zip(*map(_values, batch.columns), strict=True):
            number += 1
            yield f"row {number}", values


def _values(column: pa.Array) -> Iterator[Any]:
    """Values of a column; each distinct instant or decimal is created once, because creating one is slow."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return iter(column.to_numpy(zero_copy_only=False).tolist())
    if not (pa.types.is_timestamp(column.type) or pa.types.is_decimal(column.type)):
        return iter(column.to_pylist())
    encoded = column.dictionary_encode(null_encoding="encode")
    distinct = encoded.dictionary
    values = _instants(distinct) if pa.types.is_timestamp(column.type) else distinct.to_numpy(zero_copy_only=False)
    return map(list(values).__getitem__, encoded.indices.to_numpy().tolist())


def _instants(column: pa.Array) -> Iterator[Any]:
    """Instants in UTC, or local times without a zone if the column has none."""
    zone = None if column.type.tz is None else dt.UTC
    for value in column.to_numpy(zero_copy_only=False).tolist():
        yield value.replace(tzinfo=zone) if isinstance(value, dt.datetime) else value


def _microsecond_field(column: pa.Field) -> pa.Field:
    """Field with instants in microseconds; finer instants fail the cast."""
    return column.with_type(pa.timestamp("us", column.type.tz)) if pa.types.is_timestamp(column.type) else column


def _check_columns(columns: tuple[str, ...], errors: ImportErrors) -> None:
    duplicates = sorted({name for name in columns if columns.count(name) > 1})
    if duplicates:
        problem = f"these columns occur more than once: {', '.join(duplicates)}"
        raise errors.fatal(problem)
