"""What the page of a pack has: its elements, the texts of its figures, its record and its entries, read with limits."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import gzip
import json
import re
import zlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar

import msgspec

from accounting_analytics.errors import InputError
from accounting_analytics.messages import printable, quote, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_WITHOUT_END = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
_SPACE = " \t\n"


@dataclass(frozen=True)
class PageElement:
    """An element of the page.

    Attributes
    ----------
    name : str
        Its name in lower case.
    attributes : dict
        Its attributes.
    line : int
        Line of the page where it begins.
    parent : PageElement or None
        The element around it.
    pieces : list of str
        Its own text, without that of the elements in it.
    """

    name: str
    attributes: dict[str, str]
    line: int
    parent: PageElement | None
    pieces: list[str] = field(default_factory=list)

    @property
    def own_text(self) -> str:
        """Own text without white space at its ends."""
        return "".join(self.pieces).strip(_SPACE)

    def with_parents(self) -> Iterator[PageElement]:
        """Iterate over the element and those around it."""
        element: PageElement | None = self
        while element is not None:
            yield element
            element = element.parent

    def nearest(self, attribute: str) -> str:
        """Value of an attribute of the nearest element that has it; empty without one."""
        return next((one.attributes[attribute] for one in self.with_parents() if attribute in one.attributes), "")


def read_page(text: str) -> list[PageElement]:
    """All elements of a page in their order."""
    reader = _PageReader()
    reader.feed(text)
    reader.close()
    return reader.elements


class _PageReader(HTMLParser):
    """Collects elements with their texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[PageElement] = []
        self._open: list[PageElement] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        attributes = {name: value or "" for name, value in attrs}
        element = PageElement(tag, attributes, self.getpos()[0], self._open[-1] if self._open else None)
        self.elements.append(element)
        if tag not in _WITHOUT_END:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """End the element that began last with this name, and all in it."""
        if any(element.name == tag for element in self._open):
            while self._open.pop().name != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Add text to the element that is open."""
        if self._open:
            self._open[-1].pieces.append(data)


RECORD_ID, ENTRIES_ID = "pack-record", "pack-entries"
MAX_ENTRIES_BYTES = 200_000_000
"""Size up to which entries are decompressed; 50,000 entries take about 5 MB."""
_EXACT_IN_JSON = 2**53
_LARGE_UNITS = re.compile(r"-?[1-9][0-9]{15,39}")
_HTML_IN_SCRIPT = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})
_Read = TypeVar("_Read", bound=msgspec.Struct)


class RecordedRow(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A row of additive figures."""

    factor: int
    measure: str
    ledgers: list[int]


class RecordedDays(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Days that a column adds or subtracts."""

    factor: int
    first: str
    last: str


class RecordedTerm(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A part of a derived figure: a figure of its table, or a number to divide by."""

    sign: Literal["+", "-", "/", "/abs", "/count"]
    key: str | int


class RecordedLines(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Lines that a figure adds with a factor."""

    factor: int
    lines: list[int]


class ShownCells(msgspec.Struct, forbid_unknown_fields=True):
    """Rows and columns whose figures are all on the page, except those that are `empty`."""

    rows: list[str]
    columns: list[str]
    empty: list[str] = []


class RecordedTable(msgspec.Struct, forbid_unknown_fields=True):
    """How the figures of a table are calculated."""

    rows: dict[str, RecordedRow]
    days: dict[str, dict[str, list[RecordedDays]]]
    terms: dict[str, list[RecordedTerm]] = {}
    lines: dict[str, list[RecordedLines]] = {}
    stated: dict[str, int | str] = {}
    unknown: list[str] = []
    shown: ShownCells | None = None


class PackRecord(msgspec.Struct, forbid_unknown_fields=True):
    """What a pack states about itself."""

    format: Literal[1]
    company: str
    currency: str
    scale: int
    start_date: str
    end_date: str
    time_zone: str
    created_at: str
    verdict: Literal["cash flow proven", "cash flow not proven"]
    tables: dict[str, RecordedTable]


class PackLine(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A line entry; `entry` is the number of its journal entry, or -1 where the pack does not have all of it."""

    ledger: int
    date: int
    is_flow: Literal[0, 1]
    text: int
    opposing: int
    units: int | str
    entry: int


class PackEntries(msgspec.Struct, forbid_unknown_fields=True):
    """The line entries of a pack, which refer to their ledgers, texts and days by position."""

    ledgers: list[str]
    texts: list[str]
    dates: list[str]
    lines: list[PackLine]


def pack_data(record: Mapping[str, Any], entries: Mapping[str, Any]) -> str:
    """Write the record and the entries of a pack as the two elements of its page that the checks read."""
    lines = [(*line[:5], _json_units(line[5]), line[6]) for line in entries["lines"]]
    packed = base64.b64encode(gzip.compress(_json({**entries, "lines": lines}).encode(), mtime=0)).decode("ascii")
    tables = {
        name: {**table, "stated": {key: _json_units(units) for key, units in table.get("stated", {}).items()}}
        for name, table in record["tables"].items()
    }
    stated = _json({**record, "tables": tables}).translate(_HTML_IN_SCRIPT)
    return (
        f'<script type="application/json" id="{RECORD_ID}">{stated}</script>\n'
        f'<script type="text/plain" id="{ENTRIES_ID}">{packed}</script>\n'
    )


def read_record(text: str) -> PackRecord:
    """Read the record of a pack."""
    return _read(text, PackRecord, "record")


def read_entries(text: str) -> PackEntries:
    """Read the entries of a pack, if they are not larger than a pack can be."""
    entries = _read(_decompress(text), PackEntries, "entries")
    limits = {"ledger": len(entries.ledgers), "date": len(entries.dates)}
    limits |= dict.fromkeys(("text", "opposing"), len(entries.texts))
    for number, line in enumerate(entries.lines):
        for name, limit in limits.items():
            if not 0 <= getattr(line, name) < limit:
                _refuse("entries", f"line {number} refers to a {name} that does not exist")
        line.units = read_units(line.units)
    for day in entries.dates:
        if day and not is_day(day):
            _refuse("entries", f"{quote(day)} is not a day")
    return entries


def read_units(units: int | str) -> int:
    """Exact units of JSON, where large ones are strings."""
    if isinstance(units, int) and abs(units) < _EXACT_IN_JSON:
        return units
    if isinstance(units, str) and _LARGE_UNITS.fullmatch(units) and abs(int(units)) >= _EXACT_IN_JSON:
        return int(units)
    raise InputError(f"the data of the pack cannot be read: {quote(units)} is not an amount in minor units")


def is_day(text: str) -> bool:
    """Whether a text is an ISO day."""
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _json_units(units: int) -> int | str:
    """Units as JSON has them: text where another reader would round them."""
    return units if abs(units) < _EXACT_IN_JSON else str(units)


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _decompress(text: str) -> str:
    """Text of base64 and gzip; what is damaged, cut, followed by more or too large is refused."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(base64.b64decode(text, validate=True), MAX_ENTRIES_BYTES)
        if unpacker.unconsumed_tail:
            _refuse("entries", f"they are larger than {MAX_ENTRIES_BYTES:,} bytes")
        if not unpacker.eof or unpacker.unused_data:
            _refuse("entries", "they are cut, or something follows them")
        return unpacked.decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        _refuse("entries", f"they are damaged: {error}")


def _read(text: str, kind: type[_Read], what: str) -> _Read:
    """Read JSON as a structure: no name twice, no number but integers, no other type than the stated."""
    try:
        content = json.loads(
            text, object_pairs_hook=_without_repeats, parse_float=_refuse_number, parse_constant=_refuse_number
        )
        return msgspec.convert(content, kind, strict=True)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        _refuse(what, str(error) or "its JSON is nested too deeply")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {quote(next(one for one in names if names.count(one) > 1))} occurs twice")
    return mapping


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{shorten(text)} is not an integer")


def _refuse(what: str, problem: str) -> NoReturn:
    raise InputError(f"the {what} of the pack cannot be read: {shorten(printable(problem), limit=200)}") from None


_NUMBER = re.compile(r"(\()?([+\u2212-])?([0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)(%)?(\))?")
_SPACES = " \t\n\N{NO-BREAK SPACE}"
NOT_KNOWN = "not known"
ZERO = "\N{EN DASH}"


class FigureValue(NamedTuple):
    """An exact value: `units` of the last of its fraction digits, of an amount, a count or a percentage."""

    units: int
    digits: int
    is_percent: bool = False


def divide(units: int, divisor: int) -> int:
    """Quotient as an integer, rounded half to even."""
    if divisor < 0:
        units, divisor = -units, -divisor
    quotient, rest = divmod(units, divisor)
    return quotient + (2 * rest > divisor or (2 * rest == divisor and quotient % 2 == 1))


def value_text(value: FigureValue | None, *, form: str = "") -> str:
    """Text that a figure has to have: a minus sign before negative ones, all of its fraction digits."""
    if value is None:
        return NOT_KNOWN
    units, digits, is_percent = value
    negative = units < 0 and form != "magnitude"
    whole = str(abs(units)).zfill(digits + 1)
    end = len(whole) - digits
    fraction = f".{whole[end:]}" if digits else ""
    return f"{'-' if negative else ''}{int(whole[:end]):,}{fraction}{'%' if is_percent else ''}"


def read_shown(text: str) -> str | None:
    """Text that a page shows, written as `value_text` writes it; None where it is not a figure."""
    text = text.strip(_SPACES)
    if text in {NOT_KNOWN, ZERO}:
        return text
    found = _NUMBER.fullmatch(text)
    if not found or (found[1] is None) != (found[5] is None) or (found[1] and found[2]):
        return None
    is_negative = found[1] or found[2] not in {None, "+"}
    return f"{'-' if is_negative else ''}{found[3]}{found[4] or ''}"


def agrees(shown: str | None, expected: str) -> bool:
    """Whether a shown text is the expected one; zeros may be a dash."""
    if shown == ZERO:
        return expected != NOT_KNOWN and not re.search("[1-9]", expected)
    return shown == expected
