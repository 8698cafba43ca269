"""Strict decoding of JSON into wire records: whatever decoding would change silently is refused.

The one exception are lone surrogates in texts that are not ids: no text in UTF-8 can hold them, so they become U+FFFD
and are counted.

msgspec keeps the last of two equal names in one object, reads amounts from texts like ``"1_000"`` and rounds instants
to microseconds. :func:`check_strictly` refuses all three, but takes longer than decoding.
:func:`may_need_strict_check` shows quickly that none of them can have happened; it may raise a false alarm, but never
misses one.
"""

from __future__ import annotations

import json
import re
from decimal import InvalidOperation
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from accounting_analytics.messages import quote

if TYPE_CHECKING:
    from collections.abc import Callable

Positions = npt.NDArray[np.intp]
Decoded = TypeVar("Decoded")

AMOUNTS = frozenset(
    {
        "amount",
        "net_cash_flow",
        "total_net_cash_flow",
        "cash_balance",
        "total_cash_balance",
        "starting_cash_balance",
        "ending_cash_balance",
    }
)
INSTANTS = frozenset({"datetime", "created_at"})

_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_NUMBER_TEXT = re.compile(_NUMBER)
_NUMBER_THEN_QUOTE = re.compile(f'{_NUMBER}"'.encode())
_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]")
_SEVEN_FRACTION_DIGITS = re.compile(rb"\.[0-9]{7}")
_ESCAPED_ASCII = re.compile(rb"\\u00[2-7]")
_ESCAPE_IN_NAME = re.compile(rb'\\.[^"\\]*":', re.DOTALL)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# pairs of surrogates first, then lone ones, which are group 1, then all others
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.", re.DOTALL)
_ID_NAMES = ("_id", "_ids", "page_token")
_TOO_SHORT = "Expected `str` of length >= 1"
_QUOTE, _COLON, _OPEN, _CLOSE, _SPACE = (ord(character) for character in '":{} ')
_WORD = 8
_WORD_MASKS = np.array([(1 << 8 * length) - 1 for length in range(_WORD + 1)], np.uint64)
# factors with random bits, so that different names hardly ever have equal sums
_FIRST_FACTOR, _LAST_FACTOR, _LENGTH_FACTOR, _OBJECT_FACTOR = map(
    np.uint64, (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xC4CEB9FE1A85EC53)
)
_SHORT = 4096
_MAX_SHOWN = 80


class NotJSONError(Exception):
    """The text is not complete, valid JSON: it is truncated or corrupted, so a retry may succeed."""


class NotTheInterfaceError(Exception):
    """Valid JSON that breaks the interface: a retry would return the same."""


def decode(content: bytes, kind: type[Decoded]) -> Decoded:
    """Decode a response strictly.

    Raises
    ------
    NotJSONError
        The text is not JSON in UTF-8.
    NotTheInterfaceError
        A value breaks the interface or would lose digits, an id is empty or has a lone surrogate, or an object has a
        duplicate key.
    """
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
        content.isascii() or content.decode()  # msgspec does not check the encoding of fields that it skips
    except msgspec.ValidationError as error:
        check_strictly(content)  # a truncated response often fails validation first, and is not JSON
        problem = str(error).replace(_TOO_SHORT, "an id is empty")
        msg = f"{problem}{_record_id(content, str(error))}"
        raise NotTheInterfaceError(msg) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        check_strictly(content)  # NaN and Infinity are not JSON, but another response would have them too
        raise NotJSONError(str(error)) from None
    except InvalidOperation:
        msg = "a number has an exponent beyond any amount"
        raise NotTheInterfaceError(msg) from None
    if len(content) < _SHORT or may_need_strict_check(content):
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
        msg = f"{constants[0]} is not a number of JSON"
        raise NotTheInterfaceError(msg)


def may_need_strict_check(content: bytes) -> bool:
    """Whether :func:`check_strictly` might refuse `content`, which must be valid JSON; False is certain."""
    # Once escaped backslashes and quotes are blanked out, quotes alternate between start and end of a string, and a
    # string before a colon is a name. Two names of one object can be equal only if their sums of object, length, first
    # and last eight bytes are. Escapes and spaces that could hide a name or a digit count as alarms.
    if _SEVEN_FRACTION_DIGITS.search(content):
        return True
    if b"\\" in content:
        if _ESCAPED_ASCII.search(content) or _ESCAPE_IN_NAME.search(content):
            return True
        content = content.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    text = bytes(_WORD) + content + bytes(_WORD)
    characters = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(characters == _QUOTE)
    following = characters[quotes[1::2] + 1]
    if (following <= _SPACE).any():
        return True
    is_name = following == _COLON
    starts, ends = quotes[::2][is_name], quotes[1::2][is_name]
    names = _name_sums(text, starts, ends)
    braces = np.flatnonzero((characters == _OPEN) | (characters == _CLOSE))
    braces = braces[np.searchsorted(quotes, braces) % 2 == 0]
    objects = np.repeat(
        _innermost_objects(characters[braces] == _OPEN), np.diff(np.searchsorted(starts, braces), append=len(starts))
    )
    sums = np.sort(names + objects * _OBJECT_FACTOR)
    return bool((sums[1:] == sums[:-1]).any()) or _has_text_amount(text, characters, names, ends)


def _name_sums(text: bytes, starts: Positions, ends: Positions) -> npt.NDArray[np.uint64]:
    """Sum of length, first and last eight bytes of each name between the quotes at `starts` and `ends`."""
    lengths = ends - starts - 1
    masks = _WORD_MASKS[np.minimum(lengths, _WORD)]
    first, last = _words(text, "<u8")[starts + 1] & masks, _words(text, ">u8")[ends - _WORD] & masks
    sums: npt.NDArray[np.uint64] = (
        lengths.astype(np.uint64) * _LENGTH_FACTOR + first * _FIRST_FACTOR + last * _LAST_FACTOR
    )
    return sums


def _words(text: bytes, dtype: str) -> npt.NDArray[np.uint64]:
    """Eight bytes from each position of a text as one number, the byte that comes first or last being the lowest."""
    words: npt.NDArray[np.uint64] = np.ndarray((len(text) - _WORD + 1,), dtype, buffer=text, strides=(1,))
    return words


def _innermost_objects(is_opening: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Return the number of the innermost open object after each brace."""
    stack, objects = [0], []
    for number, opening in enumerate(is_opening.tolist(), start=1):
        if opening:
            stack.append(number)
        else:
            stack.pop()
        objects.append(stack[-1])
    return np.array(objects, np.uint64)


def _has_text_amount(
    text: bytes, characters: npt.NDArray[np.uint8], names: npt.NDArray[np.uint64], ends: Positions
) -> bool:
    """Whether an amount may be a text that is not a number."""
    values = ends[np.isin(names, _AMOUNT_SUMS)] + 2
    values = values + (characters[values] == _SPACE)
    first = characters[values]
    if (first <= _SPACE).any():
        return True
    texts = values[first == _QUOTE].tolist()
    return any(_NUMBER_THEN_QUOTE.match(text, start + 1) is None for start in texts)


def _sum_of_name(name: str) -> np.uint64:
    text = bytes(_WORD) + f'"{name}"'.encode() + bytes(_WORD)
    sums = _name_sums(text, np.array([_WORD]), np.array([len(text) - _WORD - 1]))
    return np.uint64(sums[0])


_AMOUNT_SUMS = np.array([_sum_of_name(name) for name in sorted(AMOUNTS)], np.uint64)


def _check_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of one object, each checked."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        msg = f"duplicate JSON key {max(names, key=names.count)!r}{_object_id(fields)}"
        raise NotTheInterfaceError(msg)
    for name, constant in fields.items():
        if isinstance(constant, _Constant):
            msg = f"{quote(name, limit=_MAX_SHOWN)} is {constant}, which is not a number of JSON{_object_id(fields)}"
            raise NotTheInterfaceError(msg)
    for name in AMOUNTS & fields.keys():
        text = fields[name]
        if isinstance(text, str) and not _NUMBER_TEXT.fullmatch(text):
            msg = f"{name} {quote(text, limit=_MAX_SHOWN)} is not a number{_object_id(fields)}"
            raise NotTheInterfaceError(msg)
    for name in INSTANTS & fields.keys():
        text = fields[name]
        if isinstance(text, str) and _FINER_THAN_MICROSECONDS.search(text):
            msg = f"{name} {quote(text, limit=_MAX_SHOWN)} is finer than microseconds{_object_id(fields)}"
            raise NotTheInterfaceError(msg)
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
            msg = f"{name} {quote(value, limit=_MAX_SHOWN)} has a lone surrogate, which no id can have"
            raise NotTheInterfaceError(msg + _object_id(fields))
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
