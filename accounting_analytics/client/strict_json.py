"""Strict decoding of JSON into wire records: whatever decoding would change silently is refused.

The one exception are lone surrogates in texts that are not ids: no text in UTF-8 can hold them, so they become U+FFFD
and are counted.

msgspec keeps the last of two equal names in one object, reads amounts from texts like ``"1_000"`` and rounds instants
to microseconds. :func:`check_strictly` refuses all three and names the object, but takes longer than decoding.
:func:`may_need_strict_check` shows quickly that none of them can have happened; it may raise a false alarm, but never
misses one.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import jiter
import msgspec

from accounting_analytics.client import records
from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Decoded = TypeVar("Decoded")


def _field_names(kind: type) -> frozenset[str]:
    """Names of the fields of wire records that have a type, or None."""
    structs = (one for one in vars(records).values() if isinstance(one, type) and issubclass(one, msgspec.Struct))
    fields = itertools.chain.from_iterable(map(msgspec.structs.fields, structs))
    return frozenset(field.name for field in fields if field.type in {kind, kind | None})


def other_text_of(names: Iterable[str]) -> re.Pattern[bytes]:
    """Pattern of a field with one of these names whose value is a text that is not a number of JSON."""
    return re.compile(rf'"(?:{"|".join(names)})"[ \t\r\n]*:[ \t\r\n]*"(?!{_NUMBER}")'.encode())


_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_AMOUNTS = _field_names(Decimal)
_INSTANTS = _field_names(dt.datetime)
_OTHER_AMOUNT = other_text_of(sorted(_AMOUNTS))
_NUMBER_TEXT = re.compile(_NUMBER)
_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]")
_SEVEN_FRACTION_DIGITS = re.compile(rb"\.[0-9]{7}")
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
"""An escape that may be part of the name of an amount, of a number or of an instant."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# pairs of surrogates first, then lone ones, which are group 1, then all others
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.", re.DOTALL)
_ID_NAMES = ("_id", "_ids", "page_token")
_TOO_SHORT = "Expected `str` of length >= 1"
_MAX_SHOWN = 80


class NotJSONError(Exception):
    """The text is not complete, valid JSON: it is truncated or corrupted, so a retry may succeed."""


class NotTheInterfaceError(Exception):
    """Valid JSON that breaks the interface: a retry would return the same."""


def decode(content: bytes, kind: type[Decoded]) -> Decoded:
    """Decode a response; raise NotJSONError for a damaged one, and NotTheInterfaceError for one that is wrong."""
    content, replaced = _replace_lone_surrogates(content)
    decoded = _decode(content, kind)
    if isinstance(decoded, msgspec.Struct) and hasattr(decoded, "characters_replaced"):
        msgspec.structs.force_setattr(decoded, "characters_replaced", replaced)
    return decoded


def has_lone_surrogate(content: bytes) -> bool:
    """Whether a text contains the escape of a surrogate that is not one of a pair."""
    return _SURROGATE.search(content) is not None and any(escape[1] for escape in _ESCAPE.finditer(content))


def _replace_lone_surrogates(content: bytes) -> tuple[bytes, int]:
    """JSON with U+FFFD for each lone surrogate, and how many there were; one in an id is refused."""
    if not has_lone_surrogate(content):
        return content, 0
    _parse(content, _check_surrogates)
    count = 0

    def replace(escape: re.Match[bytes]) -> bytes:
        nonlocal count
        count += escape[1] is not None
        return escape[0] if escape[1] is None else b"\\ufffd"

    return _ESCAPE.sub(replace, content), count


def _decode(content: bytes, kind: type[Decoded]) -> Decoded:
    try:
        decoded = msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        check_strictly(content)  # a truncated response often fails validation first, and is not JSON
        problem = str(error).replace(_TOO_SHORT, "an id is empty")
        raise NotTheInterfaceError(f"{problem}{_record_id(content, str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        check_strictly(content)  # NaN and Infinity are not JSON, but another response would have them too
        raise NotJSONError(str(error)) from None
    except InvalidOperation:
        raise NotTheInterfaceError("a number has an exponent beyond any amount") from None
    if may_need_strict_check(content):
        check_strictly(content)
    return decoded


def check_strictly(content: bytes) -> None:
    """Parse a text again; refuse duplicate keys, amounts that are not numbers, and instants finer than microseconds."""
    _parse(content, _check_object)


def _parse(content: bytes, check: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> None:
    """Parse a text and check the fields of each object; NaN and Infinity are refused."""
    constants: list[_Constant] = []

    def constant(text: str) -> _Constant:
        constants.append(_Constant(text))
        return constants[-1]

    try:  # numbers are only counted, so their length does not matter
        text = content.decode()
        json.loads(text, object_pairs_hook=check, parse_constant=constant, parse_int=len, parse_float=len)
    except (ValueError, RecursionError) as error:
        raise NotJSONError(str(error)) from None
    if constants:
        raise NotTheInterfaceError(f"{constants[0]} is not a number of JSON")


def may_need_strict_check(content: bytes) -> bool:
    """Whether :func:`check_strictly` might refuse `content`; False is certain."""
    if _SEVEN_FRACTION_DIGITS.search(content) or _ESCAPED_ASCII.search(content) or _OTHER_AMOUNT.search(content):
        return True
    try:
        jiter.from_json(content, catch_duplicate_keys=True, allow_inf_nan=False, cache_mode="keys")
    except ValueError:
        return True
    return False


def _check_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of one object, each checked."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise NotTheInterfaceError(f"duplicate JSON key {max(names, key=names.count)!r}{_object_id(fields)}")
    for name, constant in fields.items():
        if isinstance(constant, _Constant):
            raise NotTheInterfaceError(
                f"{quote(name, limit=_MAX_SHOWN)} is {constant}, which is not a number of JSON{_object_id(fields)}"
            )
    for name in _AMOUNTS & fields.keys():
        text = fields[name]
        if isinstance(text, str) and not _NUMBER_TEXT.fullmatch(text):
            raise NotTheInterfaceError(f"{name} {quote(text, limit=_MAX_SHOWN)} is not a number{_object_id(fields)}")
    for name in _INSTANTS & fields.keys():
        text = fields[name]
        if isinstance(text, str) and _FINER_THAN_MICROSECONDS.search(text):
            raise NotTheInterfaceError(
                f"{name} {quote(text, limit=_MAX_SHOWN)} is finer than microseconds{_object_id(fields)}"
            )
    return fields


def _object_id(fields: dict[str, Any]) -> str:
    """Id of an object in parentheses; empty where it has none."""
    ids = (fields[name] for name in ("id", "line_id", "ledger_id") if isinstance(fields.get(name), str))
    identifier = next(ids, None)
    return "" if identifier is None else f" ({quote(identifier, limit=_MAX_SHOWN)})"


def _check_surrogates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of one object, each checked; an id or a page token must not have a surrogate."""
    fields = _check_object(pairs)
    ids = {name: value for name, value in fields.items() if name == "id" or name.endswith(_ID_NAMES)}
    for name, value in ids.items():
        if any(_has_surrogate(one) for one in (value if isinstance(value, list) else [value])):
            raise NotTheInterfaceError(
                f"{name} {quote(value, limit=_MAX_SHOWN)} has a lone surrogate, which no id can have"
                + _object_id(fields)
            )
    return fields


def _has_surrogate(text: object) -> bool:
    return isinstance(text, str) and any("\ud800" <= character <= "\udfff" for character in text)


class _Constant(str):
    """NaN, Infinity or -Infinity, which Python reads as numbers, and JSON does not have."""

    __slots__ = ()


class _Identified(msgspec.Struct):
    id: Any = None


class _IdentifiedRecords(msgspec.Struct):
    records: list[_Identified] = []


def _record_id(content: bytes, problem: str) -> str:
    """Id of the record that the path in a message (``$.records[3].amount``) names; empty if there is none."""
    index = re.search(r"\$\.records\[(\d+)\]", problem)
    if index is None:
        return ""
    try:
        record = msgspec.json.decode(content, type=_IdentifiedRecords).records[int(index.group(1))]
    except (msgspec.DecodeError, IndexError):
        return ""
    return f" (line {quote(str(record.id), limit=_MAX_SHOWN)})"
