"""An ordinary page read straight into columns, while other threads work; anything odd is left to the strict way.

Either these are the columns of :mod:`~accounting_analytics.loader.page_decoder`, or there are none: then
the page is decoded as records, and that alone says what is wrong. Arrow's reader with a schema refuses names that are
repeated or unknown, values of other types, and amounts that do not fit; what it would let pass is looked for here.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from accounting_analytics.loader.page_decoder import INSTANT, TEXT, TEXTS, TRANSACTION_FIELDS, line_schema
from accounting_analytics.money import arrow_type

_MOST_BYTES = 1 << 26
_REQUIRED = ("id", "amount", "debit_credit", "datetime", "ledger_id", "journal_entry_id")
_ORDINARY_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?$"
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})$"
_SIDES = pa.array(["debit", "credit"])
_DEBIT = _SIDES[0]
_AMOUNT_OF_NO_NUMBER = re.compile(
    rb'"amount"[ \t\r\n]*:[ \t\r\n]*"(?!-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")'
)
_ESCAPE_IN_NAME = re.compile(rb'\\.[^"\\]*"[ \t\r\n]*:', re.DOTALL)


class QuickPage(NamedTuple):
    """A page of lines as columns, and the token of the next page."""

    table: pa.Table
    next_page_token: str | None


class _Page(msgspec.Struct):
    """A page whose records are only seen to be JSON."""

    records: msgspec.Raw
    next_page_token: str | None
    prev_page_token: str | None


# msgspec learns a type when it first decodes it, and two threads that do so at once crash the interpreter
_PAGE = msgspec.json.Decoder(_Page)


class _OddError(Exception):
    """Something that only the strict way may read or refuse."""


def quick_page(content: bytes, *, ledger_id: str, expanded: frozenset[str], scale: int) -> QuickPage | None:
    """Columns of a page, or None where anything about it is out of the ordinary."""
    try:
        token = _token(content)
        records = _records(content, scale)
        return QuickPage(_columns(records, ledger_id, expanded, scale), token)
    except (_OddError, pa.ArrowException):
        return None


def _token(content: bytes) -> str | None:
    """Token of the next page; everything else is seen to be one whole JSON object, or Arrow might crash on it."""
    try:
        page = _PAGE.decode(content)
        content.isascii() or content.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _OddError from None
    _require(len(content) <= _MOST_BYTES)
    return page.next_page_token


def _records(content: bytes, scale: int) -> pa.StructArray:
    """Read the records of a page with Arrow."""
    _require(_AMOUNT_OF_NO_NUMBER.search(content) is None)
    _require(b"\\" not in content or _ESCAPE_IN_NAME.search(content) is None)
    page = pa.json.read_json(
        pa.BufferReader(content),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        parse_options=_parse_options(scale),
    )
    _require(page.num_rows == 1 and not page["records"].null_count)
    return page["records"].chunk(0).flatten()


@cache
def _parse_options(scale: int) -> pyarrow.json.ParseOptions:
    """How Arrow reads a page: the interface's fields but nested ledgers, of which no column is made."""
    amount = arrow_type(scale)
    transaction = {
        **dict.fromkeys(("id", "datetime", "description", "journal_entry_id", "ledger_id", "line_entry_id"), TEXT),
        **dict.fromkeys(("posted_status", "review_status", "source_account_id", "categorization_method"), TEXT),
        "amount": amount,
        "personal": pa.bool_(),
        "opposing_line_entry_ids": TEXTS,
    }
    entry = {**dict.fromkeys(("id", "datetime", "description"), TEXT), "line_entry_ids": TEXTS}
    line = {
        **dict.fromkeys(("id", "debit_credit", "datetime", "ledger_id", "ledger_name", "journal_entry_id"), TEXT),
        **dict.fromkeys(("journal_entry_description", "description", "related_line_entry_id", "transaction_id"), TEXT),
        "amount": amount,
        "editable": pa.bool_(),
        "transaction": pa.struct(transaction),
        "journal_entry": pa.struct(entry),
        "opposing_ledger_ids": TEXTS,
        "tags": pa.list_(pa.struct(dict.fromkeys(("id", "name", "tag_group_id"), TEXT))),
    }
    page = {"records": pa.list_(pa.struct(line)), "next_page_token": TEXT, "prev_page_token": TEXT}
    return pa.json.ParseOptions(
        explicit_schema=pa.schema(page), newlines_in_values=True, unexpected_field_behavior="error"
    )


def _columns(records: pa.StructArray, ledger_id: str, expanded: frozenset[str], scale: int) -> pa.Table:
    """Columns of the lines; what the schema cannot say of a line is required here."""
    lines = _fields(records)
    _require(not any(lines[name].null_count for name in _REQUIRED))
    _require_all(pc.equal(lines["ledger_id"], ledger_id))
    _require_all(pc.is_in(lines["debit_credit"], _SIDES))
    transaction, entry = (_nested(lines[name]) for name in ("transaction", "journal_entry"))
    for texts in (lines["opposing_ledger_ids"], transaction["opposing_line_entry_ids"], entry["line_entry_ids"]):
        _require(not texts.values.null_count)
    amount = lines["amount"]
    columns = {
        **lines,
        "datetime": _instants(lines["datetime"], transaction["datetime"], entry["datetime"]),
        "signed_amount": pc.if_else(pc.equal(lines["debit_credit"], _DEBIT), amount, pc.negate(amount)),
        "tag_ids": _tag_ids(lines["tags"]),
        "transaction_amount": transaction["amount"],
        **{name: transaction[field] for name, field in TRANSACTION_FIELDS.items()},
        "journal_entry_line_entry_ids": entry["line_entry_ids"],
    }
    schema = line_schema(expanded, scale)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _nested(objects: pa.StructArray) -> dict[str, pa.Array]:
    """Fields of nested objects; each object has an id."""
    fields = _fields(objects)
    _require(fields["id"].null_count == objects.null_count)
    return fields


def _fields(objects: pa.StructArray) -> dict[str, pa.Array]:
    """Fields of objects by name, null where the object is."""
    return dict(zip((field.name for field in objects.type), objects.flatten(), strict=True))


def _instants(texts: pa.StringArray, *others: pa.StringArray) -> pa.TimestampArray:
    """Instants of texts that are written as usual, without a zone in UTC; those of the others are only seen to be."""
    every = pa.concat_arrays([texts, *others])
    _require_all(pc.match_substring_regex(every, _ORDINARY_INSTANT))
    try:
        instants = every.cast(INSTANT)
    except pa.ArrowInvalid:  # not all have a zone
        zoned = pc.match_substring_regex(every, _ZONE)
        instants = pc.if_else(zoned, every, pc.binary_join_element_wise(every, "Z", "")).cast(INSTANT)
    try:
        pc.min_max(instants).as_py()
    except OverflowError:
        raise _OddError from None
    return instants.slice(0, len(texts))


def _tag_ids(tags: pa.ListArray) -> pa.ListArray:
    ids = pc.struct_field(tags.values, "id")
    _require(not ids.null_count)
    return pa.ListArray.from_arrays(tags.offsets, ids, mask=tags.is_null())


def _require_all(true: pa.BooleanArray) -> None:
    """Go on only where nothing is false; null says nothing."""
    _require(bool(pc.all(true, min_count=0).as_py()))


def _require(true: bool) -> None:  # noqa: FBT001 (a statement)
    if not true:
        raise _OddError
