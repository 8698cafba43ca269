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
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
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
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.service.imports.import_errors import ImportErrors

REQUIRED_COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")
TRANSACTION_COLUMNS = ("transaction_id", "transaction_description", "personal", "review_status", "source_account_id")
OPTIONAL_COLUMNS = ("description", *TRANSACTION_COLUMNS, "tags")
_PERSONAL = {"": False, "false": False, "true": True}
_EMPTY = frozenset({None, ""})
_TRANSACTIONS = frozenset(TRANSACTION_COLUMNS)
_BATCH_ROWS = 50_000
_PARQUET_MAGIC = b"PAR1"


class _TableRows(NamedTuple):
    """Column names of a file, and its rows as (location, values in the order of the columns)."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[str, Sequence[Any]]]


def read_line_table(path: Path, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    """Read the rows of a line table into ledgers and balanced entries; what is wrong with a row is an error."""
    table = _parquet_rows(path, errors) if _is_parquet(path, errors) else _csv_rows(path, errors)
    _check_columns(table.columns, errors)
    instants, amounts = InstantParser(options.time_zone), _AmountParser(options.scale)
    has_transactions = not _TRANSACTIONS.isdisjoint(table.columns)

    def lines() -> Iterator[FileLine]:
        for location, values in table.rows:
            row = dict(zip(table.columns, values, strict=True))
            try:
                yield _line(location, row, instants, amounts, has_transactions=has_transactions)
            except (ValueError, AmountError) as error:
                entry_id, moment, text = (
                    str(row[name] or "") for name in ("entry_id", "datetime", "entry_description")
                )
                errors.add_line(location, str(error), entry_id.strip() or None, date=moment[:10], description=text)

    books = build_books(lines(), options, errors)
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


def _line(
    location: str, row: dict[str, Any], instants: InstantParser, amounts: _AmountParser, *, has_transactions: bool
) -> FileLine:
    """Line of a row."""
    entry_id, account = _required_text(row, "entry_id"), _required_text(row, "ledger")
    entry_description, description = _text(row, "entry_description"), _text(row, "description")
    transaction = _transaction(row, description or entry_description) if has_transactions else None
    return FileLine(
        location=location,
        entry_id=entry_id,
        instant=instants.parse(row["datetime"]),
        entry_description=entry_description,
        account=account,
        signed=_signed(amounts.parse(row["amount"]), row["debit_credit"]),
        description=description,
        transaction=transaction,
        tags=_tags(_text(row, "tags")),
        must_be_transaction=transaction is not None,
    )


def _text(row: dict[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} {value!r} is not text")  # noqa: TRY004 (one exception type for every invalid value)
    return value


def _required_text(row: dict[str, Any], name: str) -> str:
    text = _text(row, name)
    if not text.strip():
        raise ValueError(f"{name} is empty")
    return text


def _signed(amount: Decimal, side: object) -> Decimal:
    if side == DebitCredit.DEBIT:
        return amount
    if side == DebitCredit.CREDIT:
        return amount.copy_negate()  # unary minus would round to the context precision
    raise ValueError(f"debit_credit must be 'debit' or 'credit', not {side!r}")


def _transaction(row: dict[str, Any], description: str) -> NewTransaction | None:
    """Transaction of a line, or None if all its columns are empty."""
    if all(row.get(name) in _EMPTY for name in TRANSACTION_COLUMNS):
        return None
    status = _text(row, "review_status") or "unreviewed"
    if status not in REVIEW_STATUSES:
        raise ValueError(f"review_status must be 'reviewed' or 'unreviewed', not {status!r}")
    return NewTransaction(
        description=_text(row, "transaction_description") or description,
        personal=_personal(row.get("personal") or ""),
        review_status=status,
        source_account_id=_text(row, "source_account_id") or None,
        id=_text(row, "transaction_id") or None,
    )


def _personal(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _PERSONAL:
        return _PERSONAL[value.lower()]
    raise ValueError(f"personal must be true or false, not {value!r}")


@lru_cache(maxsize=4096)
def _tags(text: str) -> tuple[NewTag, ...]:
    """Tags of ``group=name;group=name``."""
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
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            number += 1
            yield f"row {number}", values


def _microsecond_field(column: pa.Field) -> pa.Field:
    """Field with instants in microseconds; finer instants fail the cast."""
    return column.with_type(pa.timestamp("us", column.type.tz)) if pa.types.is_timestamp(column.type) else column
