"""Pages of line entries as Arrow tables, decoded fast or strictly.

Arrow's JSON reader parses a page with a schema made from the wire records, many times faster than Python objects are
built, and without the interpreter's lock. It refuses repeated and unknown names, other types, and amounts that do not
fit the scale; errors that it would accept are checked here. If there is any doubt, the strict decoder reads the page by
wire records, or refuses it naming page, line and field.
"""

from __future__ import annotations

import os
import re
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from msgspec import inspect

from accounting_analytics.client.records import Ledger, LineEntry, LineEntryPage
from accounting_analytics.client.strict_json import decode, has_lone_surrogate, may_have_wrong_fields, other_text_of
from accounting_analytics.core.column_conversion import LIST_SEPARATOR, SEPARATOR_IN_NAME
from accounting_analytics.core.errors import AmountError, ProtocolError
from accounting_analytics.core.money import ParsedAmount, arrow_type, parse_amount
from accounting_analytics.core.periods import as_utc
from accounting_analytics.loading.arrow_lines import INSTANT, TEXT, line_schema, requested_columns

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable
    from concurrent.futures import ThreadPoolExecutor

DECODING_THREADS = min(os.cpu_count() or 1, 4)
"""Number of pages that are decoded in parallel. It is small, because Arrow keeps memory for each thread."""
_MAX_BYTES = 1 << 26
_LINE = inspect.type_info(LineEntry)
_NOT_READ = frozenset({"ledger"})
"""Fields that become no columns."""
_LEDGER = inspect.type_info(Ledger)
_SHOWN_LEDGERS = 3
"""A line shows its ledger with the parent of its parent at most."""
_ORDINARY_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?$"
_OFFSET = r"(Z|[+-][0-9]{2}:[0-9]{2})$"
_SIDES = pa.array(["debit", "credit"])
_OTHER_AMOUNT = other_text_of(["amount"])
_SHOWN_LEDGER = re.compile(rb'"ledger"\s*:')
_ESCAPE_IN_NAME = re.compile(rb'\\.[^"\\]*"[ \t\r\n]*:', re.DOTALL)


class DecodedPage(NamedTuple):
    """A page of line entries, with counts of amounts with noise and of replaced characters.

    `ledger` is that of the first line, if the page shows it.
    """

    table: pa.Table
    next_page_token: str | None
    noise_removed: int = 0
    characters_replaced: int = 0
    ledger: Ledger | None = None

    @property
    def ids(self) -> list[str]:
        """Ids of the lines."""
        ids: list[str] = self.table["id"].to_pylist()
        return ids


def decode_page(
    content: bytes, where: str, *, threads: ThreadPoolExecutor, ledger_id: str, expand: frozenset[str], scale: int
) -> DecodedPage:
    """Decode a page fast on one of a few threads, or strictly if that is not possible."""
    page = threads.submit(decode_fast, content, ledger_id=ledger_id, expand=expand, scale=scale).result()
    if page is not None:
        return page
    records = decode(content, LineEntryPage)
    return decode_strictly(records, where, ledger_id=ledger_id, expand=expand, scale=scale)


class _UndecodedPage(msgspec.Struct):
    """A page whose records are undecoded JSON."""

    records: msgspec.Raw
    next_page_token: str | None
    prev_page_token: str | None


class _ShownLedger(msgspec.Struct):
    """The ledger of a record."""

    ledger: Ledger | None = None


# msgspec learns a type when it first decodes it; two threads that do so in parallel crash the interpreter
_PAGE = msgspec.json.Decoder(_UndecodedPage)
_LEDGERS = msgspec.json.Decoder(list[_ShownLedger])


class _Fallback(Exception):  # noqa: N818 (not an error: the strict decoder takes over)
    """The fast decoder does not support the page."""


def decode_fast(content: bytes, *, ledger_id: str, expand: frozenset[str], scale: int) -> DecodedPage | None:
    """Decode an ordinary page, or return None for any other page."""
    try:
        page = _read_page(content)
        ledgers = _read_ledgers(page, content) if _SHOWN_LEDGER.search(content) else []
        records = _read_records(content, _parse_options(scale, shows_ledgers=bool(ledgers)))
        table = _make_table(records, ledger_id, expand, scale)
        return DecodedPage(table, page.next_page_token, ledger=ledgers[0] if ledgers else None)
    except (_Fallback, pa.ArrowException):
        return None


def _read_page(content: bytes) -> _UndecodedPage:
    """Read a page's tokens, and refuse invalid JSON.

    Arrow may crash on invalid JSON.
    """
    try:
        page = _PAGE.decode(content)
        content.isascii() or content.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _Fallback from None
    _require(len(content) <= _MAX_BYTES and not has_lone_surrogate(content))
    return page


def _read_ledgers(page: _UndecodedPage, content: bytes) -> list[Ledger | None]:
    """Read the ledger that each record shows."""
    _require(not may_have_wrong_fields(content))
    try:
        return [record.ledger for record in _LEDGERS.decode(page.records)]
    except (msgspec.MsgspecError, RecursionError):
        raise _Fallback from None


def _read_records(content: bytes, parse_options: pyarrow.json.ParseOptions) -> pa.StructArray:
    """Parse the records of a page with Arrow."""
    _require(_OTHER_AMOUNT.search(content) is None)
    _require(b"\\" not in content or _ESCAPE_IN_NAME.search(content) is None)
    page = pa.json.read_json(
        pa.BufferReader(content),
        read_options=pa.json.ReadOptions(use_threads=False, block_size=len(content) + 1),
        parse_options=parse_options,
    )
    _require(page.num_rows == 1 and not page["records"].null_count)
    return page["records"].chunk(0).flatten()


@cache
def _parse_options(scale: int, *, shows_ledgers: bool) -> pyarrow.json.ParseOptions:
    """Return options with the schema of a page."""
    line = _arrow_type(_LINE, scale)
    if shows_ledgers:
        line = pa.struct([*line, pa.field("ledger", _ledger_type(_SHOWN_LEDGERS))])
    page = {"records": pa.list_(line), "next_page_token": TEXT, "prev_page_token": TEXT}
    return pa.json.ParseOptions(
        explicit_schema=pa.schema(page), newlines_in_values=True, unexpected_field_behavior="error"
    )


def _ledger_type(levels: int) -> pa.DataType:
    """Return the Arrow type of a ledger and its nested parents.

    `levels` counts the ledger itself.
    """
    own = {field.name: _arrow_type(field.type, 0) for field in _struct_fields(_LEDGER) if field.name != "parent"}
    return pa.struct(own | {"parent": _ledger_type(levels - 1) if levels > 1 else pa.null()})


def _arrow_type(kind: inspect.Type, scale: int) -> pa.DataType:
    """Return the Arrow type of a wire type. Instants have the type of texts."""
    match _without_none(kind):
        case inspect.StructType(fields=fields):
            return pa.struct(
                {field.name: _arrow_type(field.type, scale) for field in fields if field.name not in _NOT_READ}
            )
        case inspect.ListType(item_type=item):
            return pa.list_(_arrow_type(item, scale))
        case inspect.DecimalType():
            return arrow_type(scale)
        case inspect.BoolType():
            return pa.bool_()
        case _:
            return TEXT


def _without_none(kind: inspect.Type) -> inspect.Type:
    if not isinstance(kind, inspect.UnionType):
        return kind
    return next(member for member in kind.types if not isinstance(member, inspect.NoneType))


def _make_table(records: pa.StructArray, ledger_id: str, expand: frozenset[str], scale: int) -> pa.Table:
    """Make the table of lines, after checks that a schema cannot state."""
    _require(not records.null_count)
    instants: dict[str, pa.StringArray] = {}
    fields = _read_fields(records, _LINE, instants)
    fields |= _parse_instants(instants)
    _require_all(pc.equal(fields["ledger_id"], ledger_id))
    _require_all(pc.is_in(fields["debit_credit"], _SIDES))
    amount = fields["amount"]
    columns = {column.name: _join_list(fields[column.path]) for column in requested_columns(expand) if column.path}
    columns["signed_amount"] = pc.if_else(pc.equal(fields["debit_credit"], "debit"), amount, pc.negate(amount))
    schema = line_schema(expand, scale)
    return pa.table([columns[name] for name in schema.names], schema=schema)


def _read_fields(
    objects: pa.StructArray, kind: inspect.Type, instants: dict[str, pa.StringArray], prefix: str = ""
) -> dict[str, pa.Array]:
    """Return all fields by path, and collect the texts of instants.

    Fields of nested objects are included.
    """
    arrays = dict(zip((field.name for field in objects.type), objects.flatten(), strict=True))
    fields: dict[str, pa.Array] = {}
    for field in _struct_fields(kind):
        path, array, inner = f"{prefix}{field.name}", arrays[field.name], _without_none(field.type)
        _require(not field.required or array.null_count == objects.null_count)
        fields[path] = array
        _require_ids(array, inner)
        if isinstance(inner, inspect.DateTimeType):
            instants[path] = array
        elif isinstance(inner, inspect.StructType):
            fields |= _read_fields(array, inner, instants, f"{path}.")
        elif isinstance(inner, inspect.ListType):
            _require(not array.values.null_count)
            if isinstance(inner.item_type, inspect.StructType):
                values = _read_fields(array.values, inner.item_type, instants, f"{path}.")
                fields |= {name: _list_like(array, value) for name, value in values.items()}
    return fields


def _require_ids(array: pa.Array, kind: inspect.Type) -> None:
    """Fall back if an id is empty."""
    if isinstance(kind, inspect.ListType):
        array, kind = array.flatten(), kind.item_type
    if isinstance(kind, inspect.StrType) and kind.min_length:
        _require_all(pc.not_equal(array, ""))


def _struct_fields(kind: inspect.Type) -> list[inspect.Field]:
    return (
        [field for field in kind.fields if field.name not in _NOT_READ] if isinstance(kind, inspect.StructType) else []
    )


def _list_like(lists: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """Make lists of `values`, with the lengths of `lists`."""
    return pa.ListArray.from_arrays(lists.offsets, values, mask=lists.is_null())


def _join_list(values: pa.Array) -> pa.Array:
    """Join the ids of each list to a text. Leave any other array unchanged."""
    if not pa.types.is_list(values.type):
        return values
    wrong = values.flatten().filter(pc.match_substring(values.flatten(), LIST_SEPARATOR))
    if len(wrong):
        raise _Fallback(
            f"id {wrong[0].as_py()!r} contains {LIST_SEPARATOR!r}, which separates the ids of a list in frames"
        )
    if values.values.null_count:  # a name that is absent
        values = _list_like(values, pc.fill_null(values.values, ""))
    return pc.binary_join(values, LIST_SEPARATOR)


def _parse_instants(texts: dict[str, pa.StringArray]) -> dict[str, pa.TimestampArray]:
    """Parse ordinary instants in one pass. Instants without an offset are in UTC."""
    joined = pa.concat_arrays(list(texts.values()))
    _require_all(pc.match_substring_regex(joined, _ORDINARY_INSTANT))
    try:
        instants = joined.cast(INSTANT)
    except pa.ArrowInvalid:  # only some instants have an offset
        has_offset = pc.match_substring_regex(joined, _OFFSET)
        instants = pc.if_else(has_offset, joined, pc.binary_join_element_wise(joined, "Z", "")).cast(INSTANT)
    try:
        pc.min_max(instants).as_py()
    except OverflowError:  # outside the years 1 to 9999
        raise _Fallback from None
    parsed, start = {}, 0
    for path, array in texts.items():
        parsed[path] = instants.slice(start, len(array))
        start += len(array)
    return parsed


def _require_all(values: pa.BooleanArray) -> None:
    """Fall back if a value is false. Null is accepted."""
    _require(bool(pc.all(values, min_count=0).as_py()))


def _require(condition: bool) -> None:  # noqa: FBT001 (reads as a statement)
    if not condition:
        raise _Fallback


def decode_strictly(
    page: LineEntryPage, where: str, *, ledger_id: str, expand: frozenset[str], scale: int
) -> DecodedPage:
    """Decode a page of wire records, with a check of each record."""
    noise_removed = separators_replaced = 0
    records = []
    for line in page.records:
        if line.ledger_id != ledger_id:
            raise ProtocolError(f"{where}: line {line.id} belongs to ledger {line.ledger_id}")
        if line.debit_credit not in {"debit", "credit"}:
            raise ProtocolError(
                f"{where}: line {line.id}: debit_credit {line.debit_credit!r} is neither debit nor credit"
            )
        amount = _parse_amount(line.amount, f"{where}: amount of line {line.id}", scale)
        noise_removed += amount.rounding_noise_removed
        separators_replaced += sum((tag.name or "").count(LIST_SEPARATOR) for tag in line.tags or ())
        fields = _ordinary_fields(line, where, scale) | {"amount": amount.amount}
        records.append(msgspec.to_builtins(fields, builtin_types=(Decimal,)))
    try:
        table = _make_table(pa.array(records, _arrow_type(_LINE, scale)), ledger_id, expand, scale)
    except (_Fallback, pa.ArrowException) as error:
        raise ProtocolError(f"{where}: {error or 'a value cannot be read'}") from None
    replaced = page.characters_replaced + separators_replaced
    ledger = page.records[0].ledger if page.records else None
    return DecodedPage(table, page.next_page_token, noise_removed, replaced, ledger)


def _ordinary_fields(line: LineEntry, where: str, scale: int) -> dict[str, Any]:
    """Return a line's fields with UTC instants, exact amounts, plain tag names."""
    fields = {name: getattr(line, name) for name in line.__struct_fields__ if name not in _NOT_READ}
    (fields["datetime"],) = instants_in_utc([line.datetime], where)
    if line.transaction is not None and line.transaction.amount is not None:
        amount = _parse_amount(line.transaction.amount, f"{where}: transaction.amount of line {line.id}", scale).amount
        fields["transaction"] = msgspec.structs.replace(line.transaction, amount=amount)
    if line.tags:
        names = [(tag.name or "").replace(LIST_SEPARATOR, SEPARATOR_IN_NAME) for tag in line.tags]
        fields["tags"] = [msgspec.structs.replace(tag, name=name) for tag, name in zip(line.tags, names, strict=True)]
    return fields


def _parse_amount(value: Decimal, where: str, scale: int) -> ParsedAmount:
    try:
        return parse_amount(value, scale)
    except AmountError as error:
        raise ProtocolError(f"{where}: {error}") from None


def instants_in_utc(values: Iterable[dt.datetime], where: str) -> list[dt.datetime]:
    """Convert instants to UTC, because Arrow would drop other offsets."""
    try:
        return [as_utc(value) for value in values]
    except OverflowError:
        raise ProtocolError(f"{where}: an instant lies outside the calendar (years 1 to 9999 in UTC)") from None
