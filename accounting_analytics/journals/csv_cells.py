"""Rows and amounts of files that banks and accounting programs export.

Cells are text, never floats. If a cell cannot be read with the stated decimal mark, it is refused, and the message
shows its amount by another mark.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

from accounting_analytics.core.errors import AmountError
from accounting_analytics.core.messages import quote, shorten
from accounting_analytics.core.money import format_amount, from_minor_units, parse_amount, to_minor_units
from accounting_analytics.journals.csv_days import DATE_ORDERS, day_readings
from accounting_analytics.journals.entries import MAX_DIGITS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.journals.file_entries import FileErrors

DECIMAL_MARKS = (".", ",")

_SEPARATORS = (",", ";", "\t", "|")
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SIGNS = {
    "€": ("EUR",),
    "£": ("GBP",),
    "¥": ("JPY", "CNY"),
    "₹": ("INR",),
    "US$": ("USD",),
    "CA$": ("CAD",),
    "C$": ("CAD",),
    "A$": ("AUD",),
    "AU$": ("AUD",),
    "NZ$": ("NZD",),
    "HK$": ("HKD",),
    "S$": ("SGD",),
    "RS": ("INR", "PKR"),
    "RS.": ("INR", "PKR"),
    "K\u010c": ("CZK",),
    "FT": ("HUF",),
    "\u20ba": ("TRY",),
    "\u20a9": ("KRW",),
    "\u20aa": ("ILS",),
    "\u20b1": ("PHP",),
    "R$": ("BRL",),
    "KR": ("SEK", "NOK", "DKK"),
    "KR.": ("SEK", "NOK", "DKK"),
    "ZŁ": ("PLN",),
    "FR.": ("CHF",),
}
"""Currencies of the signs beside amounts. A dollar sign has several currencies."""
_CURRENCY = "|".join([*map(re.escape, _SIGNS), r"\$", "[A-Z]{3}"])
_CODES = re.compile(
    "USD|EUR|GBP|JPY|CNY|INR|BRL|SEK|NOK|DKK|PLN|CHF|CAD|AUD|NZD|SGD|HKD|MXN|ZAR|CZK|HUF|RON|TRY|THB|KRW|IDR|MYR|PHP|ILS"
    "|AED|SAR|KWD|BHD"
)
_OF_CURRENCY = re.compile(r"(?:[(\[]| in | )([^\s()\[\]]{1,3})[)\]]?$", re.IGNORECASE)
_APOSTROPHE = "\N{RIGHT SINGLE QUOTATION MARK}"
_MINUS = r"[-+\N{MINUS SIGN}]"
_AMOUNT = re.compile(
    rf"(?P<open>\()?(?P<before>{_MINUS})? ?(?P<first>{_CURRENCY})? ?(?P<inside>{_MINUS})? ?"
    rf"(?P<digits>[0-9][0-9., '{_APOSTROPHE}]*[0-9]|[0-9]|[.,][0-9]+)[.,]? ?(?P<after>{_MINUS})? ?"
    rf"(?P<last>{_CURRENCY})?(?P<close>\))? ?(?P<side>CR|DR)?\.?"
)
_SIDE = re.compile(r"[0-9.,) ](CR|DR)\.?$", re.IGNORECASE)
_EXCEL_TEXT = re.compile(r"=\"(.*)\"|'(?=[-+=\d])(.*)")
"""Pattern of cells that Excel keeps as text, such as ="00123"."""
_NO_AMOUNT = {"-", "--", "\N{EN DASH}", "\N{EM DASH}", "\N{MINUS SIGN}"}
"""Cells that mean "no amount"."""
_MAX_SHOWN = 12
_AMBIGUOUS_DIGITS = 3
"""Number of digits after a mark that may be a group of thousands."""


class ExportRow(NamedTuple):
    """A row: its text line in the file, trimmed cells by heading, and number of cells."""

    line: int
    cells: Mapping[str, str]
    width: int

    @property
    def place(self) -> str:
        """Name of the row's text line in messages."""
        return f"line {self.line}"

    @property
    def is_empty(self) -> bool:
        """True if no cell has text."""
        return not any(self.cells.values())

    def texts(self) -> str:
        """Quote the cells that have text, for messages."""
        return quote(shorten(", ".join(filter(None, self.cells.values())), limit=60))


class ExportFile(NamedTuple):
    """A file: text lines above the headings, the headings with their text line, and rows below."""

    above: Sequence[tuple[int, Sequence[str]]]
    line: int
    headings: Sequence[str]
    rows: Sequence[ExportRow]


def read_export(
    path: Path, headings: Iterable[Collection[str]], errors: FileErrors, encoding: str = "utf-8"
) -> ExportFile:
    """Read the rows below the first text line that has these headings, in any form."""
    text, wanted = _decode(path, errors, encoding), [{*forms} for forms in headings]
    tables = [_Table.of(text, separator) for separator in _SEPARATORS if separator in text] or [_Table.of(text, ",")]
    found = [(table, at) for table in tables if (at := table.heading(wanted)) is not None]
    if not found:
        _refuse_headings(wanted, tables, errors)
    table, at = max(found, key=lambda candidate: len(candidate[0].lines[candidate[1]][1]))
    if table.problem:
        errors.fail(f"it is not valid CSV ({table.problem})", f"line {table.lines[-1][0] + 1}")
    line, names = table.lines[at]
    for name in dict.fromkeys(names):
        if names.count(name) > 1 and any(name in forms for forms in wanted):
            errors.fail(f"the heading {quote(name)} occurs more than once", f"line {line}")
    rows = [_row(number, cells, names, errors) for number, cells in table.lines[at + 1 :]]
    errors.raise_if_any()
    return ExportFile(table.lines[:at], line, names, rows)


class _Table(NamedTuple):
    """Numbered lines of a text, split into cells by a separator.

    The lines end before an invalid line.
    """

    lines: list[tuple[int, list[str]]]
    problem: str = ""

    @classmethod
    def of(cls, text: str, separator: str) -> Self:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
        lines: list[tuple[int, list[str]]] = []
        start = 1
        try:
            for cells in reader:
                lines.append((start, [_plain(cell) for cell in cells]))
                start = reader.line_num + 1
        except csv.Error as error:
            return cls(lines, str(error))
        return cls(lines)

    def heading(self, wanted: Sequence[set[str]]) -> int | None:
        """Find the first line that has each of these headings."""
        lines = ((number, {*cells}) for number, (_, cells) in enumerate(self.lines))
        return next((number for number, cells in lines if wanted and all(forms & cells for forms in wanted)), None)

    def likely(self) -> list[str]:
        """Find the text line with the most cells without digits, which are likely the headings."""
        texts = [[cell for cell in cells if cell and not re.search(r"\d", cell)] for _, cells in self.lines]
        return max(texts, key=len, default=[])


def _plain(cell: str) -> str:
    """Trim a cell, and remove the quotes of Excel around text."""
    text = " ".join(cell.split())
    match = _EXCEL_TEXT.fullmatch(text) if text[:1] in {"=", "'"} else None
    return (match[1] or match[2] or "").strip() if match else text


def _refuse_headings(wanted: Sequence[set[str]], tables: Sequence[_Table], errors: FileErrors) -> NoReturn:
    likely = max((table.likely() for table in tables), key=len)
    absent = [" or ".join(map(quote, sorted(forms))) for forms in wanted if forms.isdisjoint(likely)]
    shown = f"its headings are {', '.join(map(quote, likely[:_MAX_SHOWN]))}"
    if wanted:
        errors.fail(f"no line has the headings {', '.join(absent)}; {shown}: a file without any needs a line of them")
    errors.fail(f"no columns are named (date=, text=, amount=); {shown}")


def _decode(path: Path, errors: FileErrors, encoding: str) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        errors.fail(f"it cannot be read ({error.strerror})")
    if content.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"%PDF")):
        errors.fail("it is a workbook or a PDF, not CSV: export it as CSV, or save the sheet as CSV in UTF-8")
    if b"\0" in content and not content.startswith(_UTF_16) and encoding.lower() == "utf-8":
        errors.fail(
            "it has NUL bytes, so it is not CSV in UTF-8; encoding= names another, such as encoding='utf-16-le'"
        )
    has_mark = content.startswith(codecs.BOM_UTF8) or encoding.lower() == "utf-8"
    name = "utf-16" if content.startswith(_UTF_16) else "utf-8-sig" if has_mark else encoding
    try:
        text = content.decode(name)
    except (UnicodeDecodeError, LookupError) as error:
        errors.fail(
            f"it cannot be read as {encoding} ({error}): encoding= names what it is, such as encoding='cp1252' of "
            "programs of Windows"
        )
    if not text.strip():
        errors.fail("it is empty")
    return text


def _row(line: int, cells: Sequence[str], names: Sequence[str], errors: FileErrors) -> ExportRow:
    if any(cells[len(names) :]):
        errors.add(
            f"line {line}",
            f"it has {len(cells)} cells, the headings have {len(names)}: a text or an amount with a separator in it "
            f"needs quotes ({quote(shorten(' | '.join(cells), limit=100))})",
        )
    padded = [*cells, *[""] * (len(names) - len(cells))]
    return ExportRow(line, dict(zip(names, padded, strict=False)), len(cells))


class AmountCells:
    """Reader of amounts with a stated decimal mark, in whole minor units of a currency."""

    def __init__(self, decimal_mark: str, currency: str, scale: int) -> None:
        self.mark, self._currency, self._scale = decimal_mark, currency, scale

    def units(self, cell: str) -> int:
        """Return the minor units of a cell. Refuse a cell that cannot be read.

        A minus, brackets or DR make the amount negative.
        """
        try:
            return self._parse(cell, self.mark)
        except ValueError as problem:
            other = "," if self.mark == "." else "."
            reading = self.reading(cell, other)
            more = f"; with {quote(other)} it is {reading}" if reading else ""
            raise ValueError(
                f"{quote(cell)} is not an amount with the decimal mark {quote(self.mark)}{problem}{more}"
            ) from None

    def reading(self, cell: str, mark: str) -> str:
        """Format the amount that a cell has by a decimal mark, or return "" if it cannot be read."""
        try:
            return format_amount(from_minor_units(self._parse(cell, mark), self._scale))
        except ValueError:
            return ""

    def _parse(self, cell: str, mark: str) -> int:
        """Parse minor units. The text of an error completes a sentence of the caller."""
        match = _AMOUNT.fullmatch(cell.upper())
        if match is None or bool(match["open"]) != bool(match["close"]):
            raise ValueError
        signs = [sign for sign in match.group("open", "before", "inside", "after", "side") if sign]
        if len(signs) > 1:
            raise ValueError(" (it has two signs)")
        for sign in filter(None, match.group("first", "last")):
            if sign != "$" and self._currency.upper() not in _SIGNS.get(sign, (sign,)):
                raise ValueError(f" of {self._currency}: it is in {sign}")
        whole, _, fraction = match["digits"].partition(mark)
        whole = _without_groups(whole, mark)
        if not whole.isdigit() or not (fraction.isdigit() or not fraction):
            raise ValueError
        if len(fraction) == _AMBIGUOUS_DIGITS != self._scale:
            raise ValueError(f", as {_AMBIGUOUS_DIGITS} digits after the mark may be thousands")
        units = self._of_digits(whole, fraction)
        return -units if signs and signs[0] not in {"+", "CR"} else units

    def _of_digits(self, whole: str, fraction: str) -> int:
        """Convert digits to minor units. Refuse more fraction digits than the scale."""
        if len(whole) > MAX_DIGITS - self._scale:
            raise ValueError(f" ({len(whole)} digits before the mark, and the books have {MAX_DIGITS - self._scale})")
        if len(fraction) <= self._scale:
            return int(whole + fraction.ljust(self._scale, "0"))
        try:
            return to_minor_units(parse_amount(f"{whole}.{fraction}", self._scale).amount, self._scale)
        except AmountError:
            raise ValueError(f" ({len(fraction)} digits after the mark, and the books have {self._scale})") from None


def side_of(cell: str) -> str:
    """Return CR or DR if it is written beside an amount, else ""."""
    match = _SIDE.search(cell)
    return match[1].upper() if match else ""


def currency_in(heading: str) -> tuple[str, ...]:
    """Return the currencies that a heading names, such as Betrag (EUR)."""
    match = _OF_CURRENCY.search(heading)
    sign = match[1].upper() if match else ""
    return _SIGNS.get(sign, (sign,) if _CODES.fullmatch(sign) else ())


def has_amount(cell: str) -> bool:
    """Return whether a cell has an amount. A dash means none."""
    return bool(cell) and cell not in _NO_AMOUNT


def _without_groups(whole: str, mark: str) -> str:
    """Remove valid separators of groups. An invalid text is returned unchanged."""
    if whole.isdigit():
        return whole
    between = {character for character in whole if not character.isdigit()}
    if not whole or len(between) > 1 or mark in between:
        return whole or "0"
    for group in between:
        shapes = [rf"\d{{1,3}}({re.escape(group)}\d{{3}})+"]
        shapes += [r"\d{1,2}(,\d{2})+,\d{3}"] if group == "," else []  # groups of two digits, as in India
        if not any(re.fullmatch(shape, whole) for shape in shapes):
            return whole
        whole = whole.replace(group, "")
    return whole


class StatedForms(NamedTuple):
    """Stated forms of cells. None means not stated."""

    date_order: str | None
    decimal_mark: str | None
    currency: str
    scale: int

    def missing(self, days: Sequence[tuple[str, str]], amounts: Sequence[tuple[str, str]]) -> Iterator[str]:
        """Describe missing decisions, with the possible readings of cells and their text lines."""
        if days and self.date_order not in DATE_ORDERS:
            yield f"date_order= for {at_lines(days)}: {day_readings([cell for _, cell in days])}"
        if amounts and self.decimal_mark not in DECIMAL_MARKS:
            reader = self.amounts()
            readings = [
                f"{quote(mark)} reads {', '.join(reader.reading(cell, mark) or 'no amount' for _, cell in amounts)}"
                for mark in DECIMAL_MARKS
            ]
            yield f"decimal_mark= for {at_lines(amounts)}: {'; '.join(readings)}"

    def amounts(self) -> AmountCells:
        """Return the reader of amounts."""
        return AmountCells(self.decimal_mark or "", self.currency, self.scale)


def at_lines(cells: Iterable[tuple[str, str]]) -> str:
    """List cells with their text lines."""
    return ", ".join(f"{quote(cell)} ({place})" for place, cell in cells)
