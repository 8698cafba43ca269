"""Strict decoding of JSON: values that decoding would silently change are refused.

msgspec keeps the last of two equal names in one object, reads amounts from texts like ``"1_000"`` and rounds instants
to microseconds. jiter finds equal names, and numbers that JSON does not have. Two patterns find other wrong values, and
a second reader then names the field. Lone surrogates in texts that are not ids are the exception: no text in UTF-8 can
hold them, so they become U+FFFD and are counted.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import jiter
import msgspec

from accounting_analytics.client import records
from accounting_analytics.core.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

Decoded = TypeVar("Decoded")


def _field_names(kind: type) -> frozenset[str]:
    """List the fields of wire records that have the type `kind`.

    Fields that may also be None are included.
    """
    structs = (
        member for member in vars(records).values() if isinstance(member, type) and issubclass(member, msgspec.Struct)
    )
    fields = itertools.chain.from_iterable(map(msgspec.structs.fields, structs))
    return frozenset(field.name for field in fields if field.type in {kind, kind | None})


def other_text_of(names: Iterable[str]) -> re.Pattern[bytes]:
    """Return a pattern of a field with one of these names, whose text does not match a number."""
    return re.compile(rf'"(?:{"|".join(names)})"{_COLON}"(?!{_NUMBER.pattern}")'.encode())


_AMOUNTS = _field_names(Decimal)
_INSTANTS = _field_names(dt.datetime)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_FINE = re.compile(r"\.\d{6}\d*[1-9]")
_COLON = r"[ \t\r\n]*:[ \t\r\n]*"
_OTHER_AMOUNT = other_text_of(_AMOUNTS)
_FINE_INSTANT = re.compile(rf'"(?:{"|".join(_INSTANTS)})"{_COLON}"[^"]*{_FINE.pattern}'.encode())
_ID_NAME = re.compile(r"(?:.*_)?ids?|.*page_token")
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# pairs of surrogates first, then lone surrogates as group 1, then all other escapes
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.", re.DOTALL)
_LONE = re.compile("[\ud800-\udfff]")
_TOO_SHORT = "Expected `str` of length >= 1"
_MAX_SHOWN = 80


class NotJSONError(Exception):
    """The text is truncated or corrupted JSON, so that a retry may succeed."""


class NotTheInterfaceError(Exception):
    """The text is valid JSON that breaks the interface, so that a retry would return the same."""


def decode(content: bytes, kind: type[Decoded]) -> Decoded:
    """Decode a response. NotJSONError means that it is damaged, NotTheInterfaceError that it breaks the interface."""
    has_lone, replaced = has_lone_surrogate(content), 0
    if has_lone or may_have_wrong_fields(content):
        _refuse_wrong_fields(content)
    if has_lone:
        replaced = sum(escape[1] is not None for escape in _ESCAPE.finditer(content))
        content = _ESCAPE.sub(lambda escape: escape[0] if escape[1] is None else rb"\ufffd", content)
    try:
        jiter.from_json(content, catch_duplicate_keys=True, allow_inf_nan=False, cache_mode="keys")
    except ValueError as error:
        _refuse_wrong_fields(content)
        raise NotJSONError(str(error)) from None
    try:
        decoded = msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        problem = str(error).replace(_TOO_SHORT, "an id is empty")
        raise NotTheInterfaceError(f"{problem}{_record_id(content, str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJSONError(str(error)) from None
    except InvalidOperation:
        raise NotTheInterfaceError("a number has an exponent beyond any amount") from None
    if isinstance(decoded, msgspec.Struct) and hasattr(decoded, "characters_replaced"):
        msgspec.structs.force_setattr(decoded, "characters_replaced", replaced)
    return decoded


def may_have_wrong_fields(content: bytes) -> bool:
    """Return whether amounts or instants may be wrong in a way that decoding accepts."""
    # the other patterns do not find escaped names, amounts and instants
    return any(pattern.search(content) for pattern in (_ESCAPED_ASCII, _OTHER_AMOUNT, _FINE_INSTANT))


def has_lone_surrogate(content: bytes) -> bool:
    """Return whether a text contains the escape of an unpaired surrogate."""
    return _SURROGATE.search(content) is not None and any(escape[1] for escape in _ESCAPE.finditer(content))


def _refuse_wrong_fields(content: bytes) -> None:
    """Refuse the first wrong field of any object. Invalid JSON is ignored."""
    with suppress(ValueError, RecursionError):
        json.loads(content, object_pairs_hook=_checked, parse_constant=_NotANumber, parse_float=str)


class _NotANumber(str):
    """A number that JSON does not have: NaN, Infinity or -Infinity."""

    __slots__ = ()


def _checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object. Refuse fields that decoding would change."""
    fields = dict(pairs)
    identity = next((fields[name] for name in ("id", "line_id", "ledger_id") if name in fields), None)
    names: set[str] = set()
    for name, value in pairs:
        values = value if isinstance(value, list) else [value]
        constant = next((element for element in values if isinstance(element, _NotANumber)), None)
        if name in names:
            problem = f"duplicate JSON key {name!r}"
        elif constant is not None:
            problem = f"{quote(name)} is {constant}, which is not a number of JSON"
        elif name in _AMOUNTS and isinstance(value, str) and not _NUMBER.fullmatch(value):
            problem = f"{name} {quote(value, limit=_MAX_SHOWN)} is not a number"
        elif name in _INSTANTS and isinstance(value, str) and _FINE.search(value):
            problem = f"{name} {quote(value, limit=_MAX_SHOWN)} is finer than microseconds"
        elif _ID_NAME.fullmatch(name) and any(isinstance(element, str) and _LONE.search(element) for element in values):
            problem = f"{name} {quote(value, limit=_MAX_SHOWN)} has a lone surrogate, which no id can have"
        else:
            names.add(name)
            continue
        raise NotTheInterfaceError(f"{problem} ({quote(identity, limit=_MAX_SHOWN)})" if identity else problem)
    return fields


def _record_id(content: bytes, problem: str) -> str:
    """Find the id of the record that a message names."""
    with suppress(msgspec.DecodeError, IndexError, KeyError, TypeError):
        record = msgspec.json.decode(content)["records"][int(re.findall(r"\$\.records\[(\d+)\]", problem)[0])]
        return f" (line {quote(str(record['id']), limit=_MAX_SHOWN)})"
    return ""
