"""Reading of a pack's page with limits: its elements, shown texts and data."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import gzip
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import msgspec

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import printable, quote, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator


_WITHOUT_END = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
_SPACE = " \t\n"
_VERDICT = r"^(cash flow (not )?proven|calculated from [^\n]+ \(sha256 [0-9a-f]{64}\))$"
_DEEPEST = 100
"""Most levels of nested elements that are read. The page of a pack has at most 20."""


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
        """Text of the element itself, without white space at its ends."""
        return "".join(self.pieces).strip(_SPACE)

    def with_parents(self) -> Iterator[PageElement]:
        """Yield the element, then the elements around it from inside out."""
        element: PageElement | None = self
        while element is not None:
            yield element
            element = element.parent

    def nearest(self, attribute: str) -> str:
        """Return an attribute of the nearest element that has it, or ""."""
        return next(
            (element.attributes[attribute] for element in self.with_parents() if attribute in element.attributes), ""
        )


def read_page(text: str) -> list[PageElement]:
    """Return all elements of a page in their order."""
    reader = _PageReader()
    reader.feed(text)
    reader.close()
    return reader.elements


class _PageReader(HTMLParser):
    """HTML parser that collects elements with their texts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[PageElement] = []
        self._open: list[PageElement] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add an element and open it."""
        attributes = {name: value or "" for name, value in attrs}
        if len(self._open) == _DEEPEST:
            raise InputError(
                f"the page cannot be read: its elements are nested more than {_DEEPEST} deep at line "
                f"{self.getpos()[0]}, and those of a pack are not; give the HTML file that was sent"
            )
        parent = self._open[-1] if self._open else None
        element = PageElement(tag, attributes, self.getpos()[0], parent)
        self.elements.append(element)
        if tag not in _WITHOUT_END:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        """Close the latest open element with this name, and all elements in it."""
        if any(element.name == tag for element in self._open):
            while self._open.pop().name != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Add text to the latest open element."""
        if self._open:
            self._open[-1].pieces.append(data)


DATA_ID = "pack-data"
MAX_DATA_BYTES = 200_000_000
"""Largest size of decompressed data of a page. 50,000 entries take about 5 MB."""
_EXACT_IN_JSON = 2**53
_LARGE_UNITS = re.compile(r"-?[1-9][0-9]{15,39}")


class SelectedLines(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Selected lines that a figure adds or subtracts.

    They are all lines (0), lines of cash flow (1) or lines of opening balances (2), on some ledgers and days.
    """

    factor: int
    part: Literal[0, 1, 2]
    first: str
    last: str
    ledgers: list[int]


class SumFigure(msgspec.Struct, array_like=True, forbid_unknown_fields=True, tag="sum"):
    """A figure that is the sum of selected lines."""

    label: str
    parts: list[SelectedLines]


class ListFigure(msgspec.Struct, array_like=True, forbid_unknown_fields=True, tag="lines"):
    """A figure that sums listed lines. Each run is a sign and the numbers of its first and last line."""

    label: str
    runs: list[tuple[int, int, int]]


class TermsFigure(msgspec.Struct, array_like=True, forbid_unknown_fields=True, tag="terms"):
    """A figure that adds and subtracts other figures of its table."""

    label: str
    terms: list[tuple[Literal["+", "-"], str]]


class QuotientFigure(msgspec.Struct, array_like=True, forbid_unknown_fields=True, tag="quotient"):
    """A figure divided by another figure, times a number, rounded half to even.

    The result is in percent, unless the page states another form.
    """

    label: str
    part: str
    whole: str
    times: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    digits: Annotated[int, msgspec.Meta(ge=0, le=9)] = 1
    suffix: Literal["%", " days", ""] = "%"


class StatedFigure(msgspec.Struct, array_like=True, forbid_unknown_fields=True, tag="stated"):
    """An amount that the page states without lines or terms."""

    label: str
    units: int | str


class UnknownFigure(msgspec.Struct, array_like=True, forbid_unknown_fields=True, tag="unknown"):
    """A figure that is shown as not known."""

    label: str


PageFigure = SumFigure | ListFigure | TermsFigure | QuotientFigure | StatedFigure | UnknownFigure


class PageTable(msgspec.Struct, forbid_unknown_fields=True):
    """The figures of a table. Hidden figures are only terms of other figures."""

    figures: dict[str, PageFigure]
    hidden: list[str]


class PageLine(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """A line entry with the number of its journal entry.

    The number is -1 if the pack does not have the whole entry.
    """

    ledger: int
    date: int
    text: int
    opposing: int
    units: int | str
    part: Literal[0, 1, 2]
    entry: int


class PageData(msgspec.Struct, forbid_unknown_fields=True):
    """The data of a page: facts, lines and figures.

    A line refers to its ledger, text and day by number.
    """

    format: Literal[1]
    company: str
    currency: str
    amounts_in: Literal["", "thousands", "millions"]
    scale: int
    start_date: str
    end_date: str
    time_zone: str
    created_at: str
    verdict: Annotated[str, msgspec.Meta(pattern=_VERDICT)]
    ledgers: list[str]
    texts: list[str]
    dates: list[str]
    lines: list[PageLine]
    tables: dict[str, PageTable]


def pack_data(content: Mapping[str, Any]) -> str:
    """Write the data of a pack as the page element that the checks read."""
    text = json.dumps(_with_exact_units(content), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")
    return f'<script type="text/plain" id="{DATA_ID}">{packed}</script>\n'


def _with_exact_units(value: Any) -> Any:  # noqa: ANN401 (JSON)
    """Convert large numbers to texts, because JavaScript would round them."""
    if isinstance(value, Mapping):
        return {key: _with_exact_units(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_with_exact_units(inner) for inner in value]
    return str(value) if isinstance(value, int) and abs(value) >= _EXACT_IN_JSON else value


def read_data(text: str) -> PageData:
    """Read the data of a page. Refuse more data than a pack can have."""
    data = _read(_decompress(text))
    limits = {"ledger": len(data.ledgers), "date": len(data.dates)}
    limits |= dict.fromkeys(("text", "opposing"), len(data.texts))
    for number, line in enumerate(data.lines):
        for name, limit in limits.items():
            if not 0 <= getattr(line, name) < limit:
                _refuse(f"line {number} refers to a {name} that does not exist")
        line.units = read_units(line.units)
    for day in data.dates:
        if day and not is_day(day):
            _refuse(f"{quote(day)} is not a day")
    return data


def read_units(units: int | str) -> int:
    """Read exact units from JSON, where large numbers are strings."""
    if isinstance(units, int) and abs(units) < _EXACT_IN_JSON:
        return units
    if isinstance(units, str) and _LARGE_UNITS.fullmatch(units) and abs(int(units)) >= _EXACT_IN_JSON:
        return int(units)
    raise InputError(f"the data of the pack cannot be read: {quote(units)} is not an amount in minor units")


def is_day(text: str) -> bool:
    """Return whether a text is an ISO day."""
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _decompress(text: str) -> str:
    """Decode base64 and decompress gzip. Refuse data that are damaged, cut, followed by more, or too large."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(base64.b64decode(text, validate=True), MAX_DATA_BYTES)
        if unpacker.unconsumed_tail:
            _refuse(f"they are larger than {MAX_DATA_BYTES:,} bytes")
        if not unpacker.eof or unpacker.unused_data:
            _refuse("they are cut, or something follows them")
        return unpacked.decode()
    except (binascii.Error, zlib.error, ValueError) as error:
        _refuse(f"they are damaged: {error}")


def _read(text: str) -> PageData:
    """Read JSON strictly: no repeated names, only integers, only the stated types."""
    try:
        content = json.loads(
            text, object_pairs_hook=_without_repeats, parse_float=_refuse_number, parse_constant=_refuse_number
        )
        return msgspec.convert(content, PageData, strict=True)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        _refuse(str(error) or "their JSON is nested too deeply")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {quote(next(name for name in names if names.count(name) > 1))} occurs twice")
    return mapping


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{shorten(text)} is not an integer")


def _refuse(problem: str) -> NoReturn:
    raise InputError(f"the data of the pack cannot be read: {shorten(printable(problem), limit=200)}") from None


_NUMBER = re.compile(r"(\()?([+\u2212-])?([0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?)(%|k|M| days)?(\))?")
_SPACES = " \t\n\N{NO-BREAK SPACE}"
NOT_KNOWN = "not known"
ZERO = "\N{EN DASH}"


UNITS = {"thousands": ("k", 3, 1), "millions": ("M", 6, 2)}
"""For each unit: its letter, how many digits it leaves out, and how many fraction digits are shown."""


def value_text(units: int | None, scale: int, *, form: str = "", amounts_in: str = "") -> str:
    """Write a figure with a minus sign and all of its fraction digits.

    A figure in thousands or millions is rounded half to even to the fraction digits of the unit.
    """
    if units is None:
        return NOT_KNOWN
    negative = units < 0 and form != "magnitude"
    if amounts_in:
        _, zeros, shown = UNITS[amounts_in]
        units, scale = round(Fraction(abs(units), 10 ** (scale + zeros - shown))), shown
    whole = str(abs(units)).zfill(scale + 1)
    end = len(whole) - scale
    fraction = f".{whole[end:]}" if scale else ""
    return f"{'-' if negative else ''}{int(whole[:end]):,}{fraction}"


def read_shown(text: str) -> str | None:
    """Convert a shown text to the form that `value_text` writes, or return None for any other text."""
    text = text.strip(_SPACES)
    if text in {NOT_KNOWN, ZERO}:
        return text
    found = _NUMBER.fullmatch(text)
    if not found or (found[1] is None) != (found[5] is None) or (found[1] and found[2]):
        return None
    is_negative = found[1] or found[2] not in {None, "+"}
    return f"{'-' if is_negative else ''}{found[3]}{found[4] or ''}"


def agrees(shown: str | None, expected: str) -> bool:
    """Return whether a shown text is the expected text. Zero may be shown as a dash."""
    if shown == ZERO:
        return expected != NOT_KNOWN and not re.search("[1-9]", expected)
    return shown == expected
