"""Read a line table, CSV or Parquet: one row per line entry.

=======================  ============================================================================================
entry_id                 id of the journal entry; its rows share datetime and entry_description
datetime                 ISO 8601; a bare date is that local day at noon, a time without offset is local time
entry_description        free text
ledger                   account path such as ``assets:bank:checking``, or the id or path of a ledger that exists
debit_credit             ``debit`` or ``credit``
amount                   exact number; a negative amount means the other side
=======================  ============================================================================================

Optional: description; and on lines of cash accounts transaction_id, transaction_description, personal (true or false),
review_status (reviewed or unreviewed), source_account_id; tags (``group=name``, several separated by ``;``).
"""

from __future__ import annotations

import csv
import datetime as dt
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.chart_of_accounts import DebitCredit
from accounting_analytics.errors import AmountError
from accounting_analytics.messages import shorten
from accounting_analytics.money import PRECISION, parse_amount
from accounting_analytics.service.bookkeeping.post_entries import REVIEW_STATUSES, NewTag, NewTransaction
from accounting_analytics.service.imports.parsed_books import (
    FileLine,
    ImportOptions,
    InstantParser,
    ParsedBooks,
    build_books,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.service.imports.import_errors import ImportErrors

REQUIRED_COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")
TRANSACTION_COLUMNS = ("transaction_id", "transaction_description", "personal", "review_status", "source_account_id")
OPTIONAL_COLUMNS = ("description", *TRANSACTION_COLUMNS, "tags")
_PERSONAL = {"": False, "false": False, "true": True}
_EMPTY = frozenset({None, ""})
_BATCH_ROWS = 10_000
_PARQUET_MAGIC = b"PAR1"


class _TableRows(NamedTuple):
    """Column names of a file, and its rows as (location, values in the order of the columns)."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[str, Sequence[Any]]]


def read_line_table(path: Path, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    """Read the rows of a line table into ledgers and balanced entries."""
    table = _parquet_rows(path, errors) if _is_parquet(path, errors) else _csv_rows(path, errors)
    _check_columns(table.columns, errors)
    instants = InstantParser(options.time_zone)
    books = build_books(_parse_lines(table, instants, _AmountParser(options.scale), errors), options, errors)
    return replace(books, local_count=instants.local_count)


def _check_columns(columns: tuple[str, ...], errors: ImportErrors) -> None:
    duplicates = sorted({name for name in columns if columns.count(name) > 1})
    if duplicates:
        errors.fail(f"these columns occur more than once: {', '.join(duplicates)}")
    if {"entry_id", "ledger"}.isdisjoint(columns):
        errors.fail(
            f"its columns ({shorten(', '.join(columns), limit=120)}) are not those of a line table "
            f"({', '.join(REQUIRED_COLUMNS)}); make one of it, as the notebook 07_your_own_books does; a journal must "
            "have the ending of its program, such as .journal or .beancount",
            "line 1",
        )
    missing = [name for name in REQUIRED_COLUMNS if name not in columns]
    unknown = [name for name in columns if name not in (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS)]
    if missing:
        errors.add("line 1", f"these columns are missing: {', '.join(missing)}")
    if unknown:
        errors.add(
            "line 1",
            f"these columns are unknown: {', '.join(map(repr, unknown))}; optional are {', '.join(OPTIONAL_COLUMNS)}",
        )
    errors.raise_if_any()


def _parse_lines(
    table: _TableRows, instants: InstantParser, amounts: _AmountParser, errors: ImportErrors
) -> Iterator[FileLine]:
    """Lines of the rows, parsed column by column in batches; what is wrong with a row is added to the errors."""
    while rows := list(islice(table.rows, _BATCH_ROWS)):
        batch = _Batch([location for location, _ in rows])
        values = dict(zip(table.columns, zip(*(row for _, row in rows), strict=True), strict=True))
        ids = batch.convert(partial(_required_text, name="entry_id"), values["entry_id"])
        entry_descriptions = batch.convert(partial(_text, name="entry_description"), values["entry_description"])
        accounts = batch.convert(partial(_required_text, name="ledger"), values["ledger"])
        moments = batch.convert(instants.parse, values["datetime"])
        signed = batch.convert(_signed, batch.convert(amounts.parse, values["amount"]), values["debit_credit"])
        missing = (None,) * len(rows)
        descriptions = batch.convert(partial(_text, name="description"), values.get("description", missing))
        tags = batch.convert(_tags, values.get("tags", missing))
        given = [values.get(name, missing) for name in TRANSACTION_COLUMNS]
        if all(set(column) <= _EMPTY for column in given):
            transactions: Sequence[Any] = missing
        else:
            transactions = batch.convert(_transaction, descriptions, entry_descriptions, *given)
        columns = (
            batch.locations,
            ids,
            moments,
            entry_descriptions,
            accounts,
            signed,
            descriptions,
            transactions,
            tags,
        )
        is_transaction = [transaction is not None for transaction in transactions]
        for row, line in enumerate(zip(*columns, is_transaction, strict=True)):
            if row in batch.problems:
                date, text = (str(values[name][row] or "") for name in ("datetime", "entry_description"))
                errors.add_line(batch.locations[row], batch.problems[row], ids[row], date=date[:10], description=text)
            else:
                yield FileLine(*line)


class _Batch:
    """Rows that are converted together, with the first problem of each row that has one."""

    def __init__(self, locations: list[str]) -> None:
        self.locations = locations
        self.problems: dict[int, str] = {}

    def convert(self, parse: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """Values of a column; None where a value is not valid, or another column of its row was not."""
        try:
            if not self.problems:
                return list(map(parse, *columns))
        except (ValueError, AmountError):
            pass
        return [self._convert_row(row, parse, values) for row, values in enumerate(zip(*columns, strict=True))]

    def _convert_row(self, row: int, parse: Callable[..., Any], values: tuple[Any, ...]) -> Any:  # noqa: ANN401
        if row in self.problems:
            return None
        try:
            return parse(*values)
        except (ValueError, AmountError) as error:
            self.problems[row] = str(error)
            return None


def _text(value: Any, name: str) -> str:  # noqa: ANN401 (any value of a Parquet cell)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} {value!r} is not text")  # noqa: TRY004 (one exception type for every invalid value)
    return value


def _required_text(value: Any, name: str) -> str:  # noqa: ANN401 (any value of a Parquet cell)
    text = _text(value, name)
    if not text.strip():
        raise ValueError(f"{name} is empty")
    return text


def _signed(amount: Decimal, side: object) -> Decimal:
    if side == DebitCredit.DEBIT:
        return amount
    if side == DebitCredit.CREDIT:
        return amount.copy_negate()  # unary minus would round to the context precision
    raise ValueError(f"debit_credit must be 'debit' or 'credit', not {side!r}")


def _transaction(description: str, entry_description: str, *values: Any) -> NewTransaction | None:  # noqa: ANN401 (any value of a Parquet cell)
    """Transaction of a line, or None if all its columns are empty."""
    given = {name: value for name, value in zip(TRANSACTION_COLUMNS, values, strict=True) if value not in _EMPTY}
    if not given:
        return None
    status = _text(given.get("review_status"), "review_status") or "unreviewed"
    if status not in REVIEW_STATUSES:
        raise ValueError(f"review_status must be 'reviewed' or 'unreviewed', not {status!r}")
    return NewTransaction(
        description=_text(given.get("transaction_description"), "transaction_description")
        or description
        or entry_description,
        personal=_personal(given.get("personal", "")),
        review_status=status,
        source_account_id=_text(given.get("source_account_id"), "source_account_id") or None,
        id=_text(given.get("transaction_id"), "transaction_id") or None,
    )


def _personal(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _PERSONAL:
        return _PERSONAL[value.lower()]
    raise ValueError(f"personal must be true or false, not {value!r}")


@lru_cache(maxsize=4096)
def _tags(value: object) -> tuple[NewTag, ...]:
    """Tags of ``group=name;group=name``."""
    text = _text(value, "tags")
    return tuple(map(_parse_tag, text.split(";"))) if text else ()


def _parse_tag(text: str) -> NewTag:
    group, equals, name = (part.strip() for part in text.partition("="))
    if not (group and equals and name):
        raise ValueError(f"tag {text!r} is not group=name (several are separated by ';')")
    return NewTag(group, name)


class _AmountParser:
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


def _is_parquet(path: Path, errors: ImportErrors) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
    except OSError as error:
        errors.fail(f"it cannot be read ({error.strerror})")


def _csv_rows(path: Path, errors: ImportErrors) -> _TableRows:
    """Rows of a comma-separated UTF-8 file; a row with too many or too few fields is an error."""
    lines = _read_csv(path, errors)
    first = next(lines, None)
    if first is None:
        errors.fail("it is empty")
    columns = tuple(name.strip() for name in first[1])
    return _TableRows(columns, _check_widths(len(columns), lines, errors))


def _parquet_rows(path: Path, errors: ImportErrors) -> _TableRows:
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
    return _TableRows(columns, _read_table(table))


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
