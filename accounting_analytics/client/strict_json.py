"""Strict decoding of JSON into wire records: whatever decoding would change silently is refused.

msgspec keeps the last of two equal names in one object, reads amounts from texts like ``"1_000"`` and rounds instants
to microseconds. A parse that looks for equal names only, and two patterns, find all three. Lone surrogates in texts
that are not ids are the exception: no text in UTF-8 can hold them, so they become U+FFFD and are counted.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import jiter
import msgspec

from accounting_analytics.client import records
from accounting_analytics.core.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

Decoded = TypeVar("Decoded")


def _field_names(kind: type) -> list[str]:
    """Names of the fields of wire records that have a type, or None."""
    structs = (one for one in vars(records).values() if isinstance(one, type) and issubclass(one, msgspec.Struct))
    fields = itertools.chain.from_iterable(map(msgspec.structs.fields, structs))
    return sorted({field.name for field in fields if field.type in {kind, kind | None}})


def other_text_of(names: Iterable[str]) -> re.Pattern[bytes]:
    """Pattern of a field with one of these names whose value is a text that is not a number of JSON."""
    return re.compile(rf'"({"|".join(names)})"{_COLON}"(?!{_NUMBER}")({_TEXT})"'.encode())


_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_COLON = r"[ \t\r\n]*:[ \t\r\n]*"
_TEXT = r'(?:[^"\\]|\\.)*'
_OTHER_AMOUNT = other_text_of(_field_names(Decimal))
_FINE_INSTANT = re.compile(
    rf'"({"|".join(_field_names(dt.datetime))})"{_COLON}"([^"]*\.\d{{6}}\d*[1-9][^"]*)"'.encode()
)
_CONSTANT = re.compile(rf'(?:"({_TEXT})"{_COLON}|[\[,][ \t\r\n]*)(-?Infinity|NaN)\b'.encode())
_BROKEN_ID = re.compile(
    rf'"(id|{_TEXT}_ids?|{_TEXT}page_token)"{_COLON}(?:\[[^\]]*?)?"({_TEXT}?\\ufffd{_TEXT})"'.encode()
)
_ESCAPED_ASCII = re.compile(rb"\\(?:u00([2-7][0-9a-fA-F])|.)", re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# pairs of surrogates first, then lone ones, which are group 1, then all others
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.", re.DOTALL)
_TOKEN = re.compile(rf'"{_TEXT}"|[{{}}]'.encode())
_ID_NAMES = (b'"id"', b'"line_id"', b'"ledger_id"')
_PLACE = re.compile(r'key "(.*)" at line (\d+) column (\d+)$', re.DOTALL)
_TOO_SHORT = "Expected `str` of length >= 1"
_MAX_SHOWN = 80


class NotJSONError(Exception):
    """The text is not complete, valid JSON: it is truncated or corrupted, so a retry may succeed."""


class NotTheInterfaceError(Exception):
    """Valid JSON that breaks the interface: a retry would return the same."""


def decode(content: bytes, kind: type[Decoded]) -> Decoded:
    """Decode a response; raise NotJSONError for a damaged one, and NotTheInterfaceError for one that is wrong."""
    content, replaced = _replace_lone_surrogates(content)
    _check(content)
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


def has_lone_surrogate(content: bytes) -> bool:
    """Whether a text contains the escape of a surrogate that is not one of a pair."""
    return _SURROGATE.search(content) is not None and any(escape[1] for escape in _ESCAPE.finditer(content))


def _replace_lone_surrogates(content: bytes) -> tuple[bytes, int]:
    """JSON with U+FFFD for each lone surrogate, and how many there were; one in an id is refused."""
    if not has_lone_surrogate(content):
        return content, 0
    count = sum(escape[1] is not None for escape in _ESCAPE.finditer(content))
    content = _ESCAPE.sub(lambda escape: escape[0] if escape[1] is None else rb"\ufffd", content)
    if broken := _BROKEN_ID.search(content):
        _refuse(content, broken, "has a lone surrogate, which no id can have")
    return content, count


def _check(content: bytes) -> None:
    """Refuse equal names in one object, numbers that JSON does not have, and texts that decoding would change."""
    try:
        jiter.from_json(content, catch_duplicate_keys=True, allow_inf_nan=False, cache_mode="keys")
    except ValueError as error:
        if place := _PLACE.search(str(error)):
            start = sum(len(line) + 1 for line in content.split(b"\n")[: int(place[2]) - 1]) + int(place[3]) - 1
            raise NotTheInterfaceError(f"duplicate JSON key {place[1]!r}{_id_around(content, start)}") from None
        if constant := _CONSTANT.search(content):
            name = f"{quote(constant[1].decode(), limit=_MAX_SHOWN)} is " if constant[1] is not None else ""
            where = _id_around(content, constant.start())
            raise NotTheInterfaceError(
                f"{name}{constant[2].decode()}{', which' if name else ''} is not a number of JSON{where}"
            ) from None
        raise NotJSONError(str(error)) from None
    plain = _ESCAPED_ASCII.sub(_unescaped, content) if b"\\u00" in content else content
    if other := _OTHER_AMOUNT.search(plain):
        _refuse(plain, other, "is not a number")
    if fine := _FINE_INSTANT.search(plain):
        _refuse(plain, fine, "is finer than microseconds")


def _unescaped(escape: re.Match[bytes]) -> bytes:
    """Character of an escape, where names, numbers and instants may have it."""
    character = b"" if escape[1] is None else bytes.fromhex(escape[1].decode())
    return escape[0] if character in {b"", b'"', b"\\", b"\x7f"} else character


def _refuse(content: bytes, found: re.Match[bytes], problem: str) -> NoReturn:
    """Raise the error of a field and its text."""
    name, text = (part.decode(errors="replace") for part in found.groups())
    raise NotTheInterfaceError(
        f"{name} {quote(text, limit=_MAX_SHOWN)} {problem}{_id_around(content, found.start())}"
    ) from None


def _id_around(content: bytes, position: int) -> str:
    """Id of the innermost object around a position that has one, in parentheses; empty where none has."""
    objects: list[tuple[int, bytes]] = []  # start and id of each that is open
    name = None
    for token in _TOKEN.finditer(content):
        if token[0] == b"{":
            objects.append((token.start(), b""))
        elif token[0] == b"}" and objects:
            start, identifier = objects.pop()
            if start <= position < token.start() and identifier:
                return f" ({quote(identifier.decode(errors='replace'), limit=_MAX_SHOWN)})"
        elif name and objects and content[name.end() : token.start()].strip() == b":":
            objects[-1] = (objects[-1][0], objects[-1][1] or token[0][1:-1])
        name = token if token[0] in _ID_NAMES else None
    return ""


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
