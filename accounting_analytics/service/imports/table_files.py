"""Rows of a CSV or Parquet file with their locations, and their exact dates and amounts."""

from __future__ import annotations

import csv
import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.errors import AmountError
from accounting_analytics.money import PRECISION, parse_amount
from accounting_analytics.periods import as_utc, zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.service.imports.import_errors import ImportErrors

_NOON = dt.time(12)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")


class InstantParser:
    """Parses dates and times, each distinct value once; `local_count` of them had no offset and got the time zone."""

    def __init__(self, time_zone: str) -> None:
        self._zone = zone(time_zone)
        self._name = time_zone
        self._parsed: dict[object, dt.datetime] = {}
        self.local_count = 0

    def parse(self, value: object) -> dt.datetime:
        """UTC instant of ISO 8601 text, a date or a datetime; refuse a local time that is not exactly one instant."""
        if isinstance(value, dt.datetime) and value.tzinfo is dt.UTC:
            return value
        instant = self._parsed.get(value)
        if instant is None:
            instant = self._parsed[value] = self._to_utc(value)
        return instant

    def _to_utc(self, value: object) -> dt.datetime:
        moment = self._moment(value)
        if moment.tzinfo is None:
            self.local_count += 1
            moment = self._local(moment, value)
        try:
            return as_utc(moment)
        except OverflowError:
            raise ValueError(f"datetime {str(value)!r} is outside the calendar") from None

    def _moment(self, value: object) -> dt.datetime:
        if isinstance(value, dt.datetime):
            return value
        if isinstance(value, dt.date):
            return dt.datetime.combine(value, _NOON)
        text = str(value)
        try:
            if _DATE.fullmatch(text):
                return dt.datetime.combine(dt.date.fromisoformat(text), _NOON)
            if _DATE_AND_TIME.fullmatch(text):
                return dt.datetime.fromisoformat(text)
        except ValueError:
            pass
        raise ValueError(
            f"datetime {text!r} is not a date or time; write it like 2025-01-31 or 2025-01-31T18:30:00-05:00"
        )

    def _local(self, moment: dt.datetime, value: object) -> dt.datetime:
        first, second = (moment.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() == second.utcoffset():
            return first
        # the two folds differ if the clock changed: forward past this time, or back so that it occurs twice
        exists = as_utc(first).astimezone(self._zone).replace(tzinfo=None) == moment
        problem = "occurs twice" if exists else "does not exist"
        raise ValueError(f"datetime {str(value)!r} {problem} in {self._name}; write it with its offset from UTC")


class AmountParser:
    """Parses amounts exactly at one scale, each distinct value once."""

    def __init__(self, scale: int) -> None:
        self._scale = scale
        self._quantum = Decimal(1).scaleb(-scale)
        self._digits = PRECISION - scale
        self._parsed: dict[object, Decimal] = {}

    def parse(self, value: object) -> Decimal:
        """Exact amount of a value; float rounding noise is refused too: files contain decimal text."""
        if isinstance(value, Decimal) and value.same_quantum(self._quantum) and value.adjusted() < self._digits:
            return value or abs(value)  # minus zero becomes zero
        amount = self._parsed.get(value)
        if amount is None:
            parsed = parse_amount(value, self._scale)
            if parsed.rounding_noise_removed:
                raise AmountError(f"amount {value} does not fit {self._scale} fraction digits")
            amount = self._parsed[value] = parsed.amount
        return amount


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
        errors.fail(f"it cannot be read ({error.strerror})")


def csv_rows(path: Path, errors: ImportErrors) -> TableRows:
    """Rows of a comma-separated UTF-8 file; a row with too many or too few fields is an error."""
    lines = _read_csv(path, errors)
    first = next(lines, None)
    if first is None:
        errors.fail("it is empty")
    columns = tuple(name.strip() for name in first[1])
    _check_columns(columns, errors)
    return TableRows(columns, _check_widths(len(columns), lines, errors))


def parquet_rows(path: Path, errors: ImportErrors) -> TableRows:
    """Rows of a Parquet file."""
    try:
        table = pq.read_table(path)
        table = table.cast(pa.schema([_microsecond_field(column) for column in table.schema]))
    except (OSError, pa.ArrowException) as error:
        errors.fail(f"it cannot be read as Parquet ({str(error).splitlines()[0]})")
    columns = tuple(table.column_names)
    nested = [column.name for column in table.schema if pa.types.is_nested(column.type)]
    if nested:
        errors.fail(f"these columns contain lists or structures, not values: {', '.join(nested)}")
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
        errors.fail(f"it cannot be read ({error.strerror})")
    except UnicodeDecodeError as error:
        errors.fail(f"it is not UTF-8 text (byte {error.start})")
    except csv.Error as error:
        errors.fail(f"it is not valid CSV ({error})", f"line {reader.line_num}")


def _check_widths(
    width: int, lines: Iterator[tuple[str, Sequence[Any]]], errors: ImportErrors
) -> Iterator[tuple[str, Sequence[Any]]]:
    for location, fields in lines:
        if len(fields) == width:
            yield location, fields
        else:
            errors.add_line(location, f"has {len(fields)} fields, the header has {width}", None)


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
        errors.fail(f"these columns occur more than once: {', '.join(duplicates)}")
