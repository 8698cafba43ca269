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
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.core.chart_of_accounts import DebitCredit
from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.messages import shorten
from accounting_analytics.core.money import parse_amount
from accounting_analytics.journals.entries import REVIEW_STATUSES, NewLine, NewTag, NewTransaction, to_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from accounting_analytics.journals.file_entries import FileEntries, FileErrors

REQUIRED_COLUMNS = ("entry_id", "datetime", "entry_description", "ledger", "debit_credit", "amount")
TRANSACTION_COLUMNS = ("transaction_id", "transaction_description", "personal", "review_status", "source_account_id")
OPTIONAL_COLUMNS = ("description", *TRANSACTION_COLUMNS, "tags")
_TEXT_COLUMNS = {*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS} - {"datetime", "amount", "personal"}
_DEBIT, _CREDIT = DebitCredit.DEBIT.value, DebitCredit.CREDIT.value
_PARQUET_MAGIC = b"PAR1"
_Rows: TypeAlias = "Iterator[tuple[str, Sequence[Any]]]"
"""Rows of a file as (location, values in the order of the columns). No value is None."""


def read_line_table(path: Path, books: FileEntries) -> None:
    """Read the rows of a line table. Problems of rows are collected as errors."""
    errors = books.errors
    columns, rows = _parquet_table(path, errors) if _is_parquet(path) else _csv_table(path, errors)
    _check_columns(columns, errors)
    reader, width = _RowReader(columns, books), len(columns)
    for location, row in rows:
        if len(row) == width:
            reader.read(location, row)
        else:
            books.add_unread(location, f"has {len(row)} fields, the header has {width}")


def _check_columns(columns: tuple[str, ...], errors: FileErrors) -> None:
    duplicates = sorted({name for name in columns if columns.count(name) > 1})
    if duplicates:
        errors.fail(f"these columns occur more than once: {', '.join(duplicates)}")
    if {"entry_id", "ledger"}.isdisjoint(columns):
        errors.fail(
            f"its columns ({shorten(', '.join(columns), limit=120)}) are not those of a line table "
            f"({', '.join(REQUIRED_COLUMNS)}); a bank's file is opened by open_bank_file, and one of QuickBooks or "
            "Xero by open_accounting_export; a journal must have the ending of its program, such as .journal or "
            ".beancount",
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


class _RowReader:
    """Reader of rows with given columns, which parses each distinct amount once."""

    def __init__(self, columns: tuple[str, ...], books: FileEntries) -> None:
        self._books, self._units = books, dict[object, int]()
        at = {name: position for position, name in enumerate(columns)}
        self._required = itemgetter(*(at[name] for name in REQUIRED_COLUMNS))
        self._description, self._tags = at.get("description"), at.get("tags")
        self._transaction = [(name, at[name]) for name in TRANSACTION_COLUMNS if name in at]

    def read(self, location: str, row: Sequence[Any]) -> None:
        """Add the line of a row to the books, or its problem."""
        entry_id, moment, entry_description, account, side, amount = self._required(row)
        try:
            if not (entry_id.strip() and account.strip()):
                _refuse_empty(entry_id)
            units = self._signed_units(amount, side)
            description = "" if self._description is None else row[self._description]
            transaction = NewTransaction(description or entry_description)
            given = {name: row[at] for name, at in self._transaction if row[at] != ""} if self._transaction else None
            if given:
                transaction = self._read_transaction(given, transaction.description)
                self._books.transactions[account].append(location)
            tags = () if self._tags is None else _tags(row[self._tags])
            line = NewLine(account, units, description, transaction, tags)
            self._books.add(location, entry_id, moment, entry_description, line)
        except (ValueError, AmountError) as error:
            self._books.add_unread(location, str(error), entry_id, date=str(moment)[:10], description=entry_description)

    def _signed_units(self, amount: object, side: str) -> int:
        units = self._units.get(amount)
        if units is None:
            units = self._units[amount] = self._parse_amount(amount)
        if side == _DEBIT:
            return units
        if side == _CREDIT:
            return -units
        raise ValueError(f"debit_credit must be 'debit' or 'credit', not {side!r}")

    def _parse_amount(self, value: object) -> int:
        """Parse minor units. Refuse float noise, because files contain decimal text."""
        scale = self._books.options.scale
        parsed = parse_amount(value, scale)
        if parsed.rounding_noise_removed:
            raise AmountError(f"amount {value} does not fit {scale} fraction digits")
        return to_units(parsed.amount, scale)

    def _read_transaction(self, given: dict[str, Any], description: str) -> NewTransaction:
        """Read the transaction of a line from columns that are not empty."""
        status = given.get("review_status", "unreviewed")
        if status not in REVIEW_STATUSES:
            raise ValueError(f"review_status must be 'reviewed' or 'unreviewed', not {status!r}")
        personal = str(given.get("personal", False)).lower()
        if personal not in {"true", "false"}:
            raise ValueError(f"personal must be true or false, not {given['personal']!r}")
        given_id = given.get("transaction_id")
        return NewTransaction(
            description=given.get("transaction_description", description),
            personal=personal == "true",
            review_status=status,
            source_account_id=given.get("source_account_id"),
            id=given_id and f"{given_id}{self._books.options.id_suffix}",
        )


def _refuse_empty(entry_id: str) -> NoReturn:
    raise ValueError(f"{'ledger' if entry_id.strip() else 'entry_id'} is empty")


@lru_cache(maxsize=4096)
def _tags(text: str) -> tuple[NewTag, ...]:
    """Parse tags: ``group=name;group=name``."""
    return tuple(map(_parse_tag, text.split(";"))) if text else ()


def _parse_tag(text: str) -> NewTag:
    group, equals, name = (part.strip() for part in text.partition("="))
    if not (group and equals and name):
        raise ValueError(f"tag {text!r} is not group=name (several are separated by ';')")
    return NewTag(group, name)


def _is_parquet(path: Path) -> bool:
    """Return whether a file is Parquet, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def _csv_table(path: Path, errors: FileErrors) -> tuple[tuple[str, ...], _Rows]:
    """Read the columns of a comma-separated UTF-8 file, and its rows."""
    rows = _read_csv(path, errors)
    header = next(rows, None)
    if header is None:
        errors.fail("it is empty")
    return tuple(name.strip() for name in header[1]), rows


def _read_csv(path: Path, errors: FileErrors) -> _Rows:
    """Yield rows with the number of their first text line. Quoted fields may have several text lines."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            line = 1
            for fields in reader:
                if fields:
                    yield f"line {line}", fields
                line = reader.line_num + 1
    except UnicodeDecodeError as error:
        errors.fail(f"it is not UTF-8 text (byte {error.start})")
    except csv.Error as error:
        errors.fail(f"it is not valid CSV ({error})", f"line {reader.line_num}")


def _parquet_table(path: Path, errors: FileErrors) -> tuple[tuple[str, ...], _Rows]:
    """Read the columns and rows of a Parquet file. Missing values become empty text."""
    try:
        table = pq.read_table(path)
        columns = {name: _parquet_column(name, table[name], errors) for name in table.column_names}
    except (OSError, KeyError, pa.ArrowException) as error:
        errors.fail(f"it cannot be read as Parquet ({str(error).splitlines()[0]})")
    numbered = enumerate(zip(*columns.values(), strict=True), start=1)
    return tuple(table.column_names), ((f"row {number}", values) for number, values in numbered)


def _parquet_column(name: str, column: pa.ChunkedArray, errors: FileErrors) -> Iterator[Any]:
    """Return the values of a column. Refuse instants finer than microseconds."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    if name in _TEXT_COLUMNS and not is_text:
        errors.fail(f"the column {name} is not text, but {kind}")
    if pa.types.is_nested(kind):
        errors.fail(f"the column {name} has lists or structures, not values")
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz))
    return ("" if value is None else value for chunk in column.chunks for value in chunk.to_pylist())
