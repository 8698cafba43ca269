"""JSON into wire records, refusing what decoding would change without a word.

msgspec takes the last of two equal names in one object, reads amounts from texts like ``"1_000"`` and rounds instants
to microseconds. A vectorised look at the bytes (:func:`suspicious`) shows that none of this can have happened; where it
cannot show it, :func:`examine` reads the whole text again, slowly and strictly. The look may raise false alarms, never
miss one: whatever :func:`examine` refuses is suspicious.
"""

from __future__ import annotations

import json
import re
from decimal import InvalidOperation
from typing import Any, NoReturn, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

Answer = TypeVar("Answer")
Positions = npt.NDArray[np.intp]
Words = npt.NDArray[np.uint64]

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
_ESCAPED_POINT_OR_DIGIT = re.compile(rb"\\u00(?:2[eE]|3[0-9])")
_SPACE_BEFORE_COLON = re.compile(rb'"[ \t\r\n]+:')
_ESCAPE_IN_NAME = re.compile(rb'\\.[^"\\]*"[ \t\r\n]*:', re.DOTALL)
_QUOTE, _COLON, _BACKSLASH, _OPEN, _CLOSE, _SPACE = (ord(sign) for sign in '":\\{} ')
_WORD = 8
_SHORTER_READ_AT_ONCE = 4096
_SHOWN = 80
_PIECE = 1 << 17


class NotJSONError(Exception):
    """The text is not whole, valid JSON: it was cut or garbled, and may come right another time."""


class NotTheInterfaceError(Exception):
    """Valid JSON that is not what the interface promises: another try would bring the same."""


def decode(content: bytes, kind: type[Answer]) -> Answer:
    """Decode an answer strictly.

    Raises
    ------
    NotJSONError
        The text is not JSON in UTF-8.
    NotTheInterfaceError
        A value breaks the interface, a name stands twice in one object, or a value would lose digits.
    """
    try:
        answer = msgspec.json.decode(content, type=kind)
        content.isascii() or content.decode()  # what is skipped is not looked at otherwise
    except msgspec.ValidationError as error:
        examine(content)  # half an answer is more often not JSON than another shape
        msg = f"{error}{_record_id(content, str(error))}"
        raise NotTheInterfaceError(msg) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotJSONError(str(error)) from None
    except InvalidOperation:
        msg = "a number has an exponent beyond all amounts"
        raise NotTheInterfaceError(msg) from None
    if len(content) < _SHORTER_READ_AT_ONCE or suspicious(content):
        examine(content)
    return answer


def examine(content: bytes) -> None:
    """Read a text slowly and refuse what decoding would change: repeated names, odd amounts, too fine instants."""
    try:  # numbers are only counted: any length of them is fine
        text = content.decode()
        json.loads(text, object_pairs_hook=_examined, parse_constant=_no_number, parse_int=len, parse_float=len)
    except (ValueError, RecursionError) as error:
        raise NotJSONError(str(error)) from None


def suspicious(content: bytes) -> bool:
    """Whether :func:`examine` might refuse `content`, which must be valid JSON; a quick look, never wrong on no."""
    if _SEVEN_FRACTION_DIGITS.search(content):
        return True
    escapes = b"\\" in content
    if escapes and (_ESCAPED_POINT_OR_DIGIT.search(content) or _ESCAPE_IN_NAME.search(content)):
        return True
    names = _Names(content, _escaped(np.frombuffer(content, np.uint8)) if escapes else None)
    if names.after_space and _SPACE_BEFORE_COLON.search(content):
        return True
    return names.repeat() or names.odd_amounts()


def _escaped(signs: npt.NDArray[np.uint8]) -> Positions:
    """Positions of the signs that a backslash escapes; of a run of backslashes every second one does."""
    at = np.flatnonzero(signs == _BACKSLASH)
    starts = np.flatnonzero(np.diff(at, prepend=-2) != 1)
    lengths = np.diff(starts, append=len(at))
    nth = np.arange(len(at)) - np.repeat(starts, lengths)
    escaping: Positions = at[nth % 2 == 0]
    return escaping + 1


class _Names:
    """The names of all objects of a text, found in pieces that stay in the processor's cache.

    Parameters
    ----------
    content : bytes
        Valid JSON.
    escaped : array of int, optional
        Positions of escaped signs.
    """

    def __init__(self, content: bytes, escaped: Positions | None) -> None:
        self._content = content
        self._signs = np.frombuffer(content, np.uint8)
        self._escaped = escaped
        self._in_text = np.uint8(0)
        self.after_space = False
        pieces = [self._piece(start) for start in range(0, len(content), _PIECE)]
        self._ends, self._braces = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        self._last, self._before = self._words()

    def repeat(self) -> bool:
        """Whether two names of one object may be equal: equal names of one object always have equal marks."""
        if not len(self._braces):
            return False
        opening = self._signs[self._braces] == _OPEN
        depth = np.cumsum(np.where(opening, 1, -1))
        by_depth = np.argsort(depth, kind="stable")
        inside = np.empty(len(opening), np.uint64)  # the object that each brace opens or returns to
        inside[by_depth] = np.maximum.accumulate(np.where(opening[by_depth], np.arange(len(opening)), 0))
        firsts = np.searchsorted(self._ends, self._braces)
        owner = np.repeat(inside, np.diff(firsts, append=len(self._ends)))
        marks = self._last[firsts[0] :] * np.uint64(0x9E3779B97F4A7C15)
        marks += self._before[firsts[0] :] * np.uint64(0xD6E8FEB86659FD93)
        marks += owner * np.uint64(0xC4CEB9FE1A85EC53)
        marks.sort()
        return bool((marks[1:] == marks[:-1]).any())

    def odd_amounts(self) -> bool:
        """Whether an amount may be a text that is not a number."""
        values = self._ends[np.isin(self._last, _AMOUNT_ENDINGS)] + 2
        values = values + (self._signs[values] == _SPACE)
        first = self._signs[values]
        if (first <= _SPACE).any():
            return True
        texts = values[first == _QUOTE].tolist()
        return any(_NUMBER_THEN_QUOTE.match(self._content, at + 1) is None for at in texts)

    def _piece(self, start: int) -> tuple[Positions, Positions]:
        """Find the ends of names, and the braces outside of texts, in one piece."""
        signs = self._signs[start : start + _PIECE + 1]  # one more, to see the colon after the last quote
        quotes = signs == _QUOTE
        if self._escaped is not None:
            first, last = np.searchsorted(self._escaped, [start, start + len(signs)])
            quotes[self._escaped[first:last] - start] = False
        colons = signs[1:] == _COLON
        self.after_space |= bool((colons & (signs[:-1] <= _SPACE)).any())
        ends = np.flatnonzero(quotes[:-1] & colons) + start
        own = signs[:_PIECE]
        braces = np.flatnonzero((own == _OPEN) | (own == _CLOSE))
        # an odd number of quotes before a brace: it stands inside a text
        odd = np.bitwise_xor.reduceat(quotes[:_PIECE].view(np.uint8), np.append(0, braces))
        odd = np.bitwise_xor.accumulate(odd) ^ self._in_text
        self._in_text = odd[-1]
        return ends, braces[odd[:-1] == 0] + start

    def _words(self) -> tuple[Words, Words]:
        """Last eight bytes of each name and the eight before, as numbers that equal names share."""
        words = np.ndarray((len(self._content) - _WORD + 1,), dtype=">u8", buffer=self._content, strides=(1,))
        last, whole = _within_quotes(words[np.maximum(self._ends - _WORD, 0)])
        before, _ = _within_quotes(words[np.maximum(self._ends - 2 * _WORD, 0)])
        before *= whole
        for at, end in enumerate(self._ends[: np.searchsorted(self._ends, 2 * _WORD)]):  # too near to the start
            name = self._content[:end].rjust(2 * _WORD)
            (last[at],), (alone,) = _within_quotes(np.frombuffer(name[-_WORD:], ">u8"))
            (before[at],), _ = _within_quotes(np.frombuffer(name[-2 * _WORD : -_WORD], ">u8"))
            before[at] *= alone
        return last, before


def _within_quotes(words: npt.NDArray[np.uint64]) -> tuple[Words, npt.NDArray[np.bool_]]:
    """Each word, its last byte the lowest, without what stands before its last quote; and whether it has no quote."""
    words = words.astype(np.uint64)
    found = words ^ np.uint64(0x2222222222222222)
    found = (found - np.uint64(0x0101010101010101)) & ~found & np.uint64(0x8080808080808080)
    # the lowest bit set is exact: it is the quote nearest to the end; of the quote itself the same seven bits stay
    words &= (found & -found) - np.uint64(1)
    return words, found == 0


def _ending(name: str) -> int:
    quoted = f'"{name}'.encode()[-_WORD:]
    return int(_within_quotes(np.frombuffer(quoted.rjust(_WORD), ">u8"))[0][0])


_AMOUNT_ENDINGS = np.array(sorted({_ending(name) for name in AMOUNTS}), np.uint64)


def _examined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of one object, each checked."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        msg = f"the name {max(names, key=names.count)!r} stands twice in one object{_of(fields)}"
        raise NotTheInterfaceError(msg)
    for name in AMOUNTS & fields.keys():
        text = fields[name]
        if isinstance(text, str) and not _NUMBER_TEXT.fullmatch(text):
            msg = f"{name} {_shown(text)} is not a number{_of(fields)}"
            raise NotTheInterfaceError(msg)
    for name in INSTANTS & fields.keys():
        text = fields[name]
        if isinstance(text, str) and _FINER_THAN_MICROSECONDS.search(text):
            msg = f"the instant {_shown(text)} is finer than microseconds{_of(fields)}"
            raise NotTheInterfaceError(msg)
    return fields


def _of(fields: dict[str, Any]) -> str:
    """Which object it is, in words; empty where it carries no id."""
    found = next((fields[name] for name in ("id", "line_id", "ledger_id") if isinstance(fields.get(name), str)), None)
    return "" if found is None else f" ({_shown(found)})"


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def _no_number(text: str) -> NoReturn:
    msg = f"{text} is not JSON"
    raise ValueError(msg)


class _Identified(msgspec.Struct):
    id: Any = None


class _IdentifiedRecords(msgspec.Struct):
    records: list[_Identified] = []


def _record_id(content: bytes, problem: str) -> str:
    """Id of the record that a problem's path (``$.records[3].amount``) points at, in words; empty if there is none."""
    at = re.search(r"\$\.records\[(\d+)\]", problem)
    if at is None:
        return ""
    try:
        record = msgspec.json.decode(content, type=_IdentifiedRecords).records[int(at.group(1))]
    except (msgspec.DecodeError, IndexError):
        return ""
    return f" (line {_shown(str(record.id))})"
