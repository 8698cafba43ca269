"""The rows of a table by the columns of a mapping: where its headings are, its formats, and which rows are lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.messages import join_ids, quote
from accounting_analytics.service.imports.cell_values import find_date_format, find_decimal
from accounting_analytics.service.imports.mapping import MappedColumns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.service.imports.import_errors import ImportErrors
    from accounting_analytics.service.imports.mapping import Mapping
    from accounting_analytics.service.imports.raw_rows import RawRow
    from accounting_analytics.sheets.cells import Cell

COLUMN_NAMES = MappedColumns.__struct_fields__
AMOUNTS = ("debit", "credit", "amount", "paid_in", "paid_out")
_MAX_NAMED = 8


class Header(NamedTuple):
    """The row of the headings, and the places of each column in the order of the mapping's headings."""

    row: int
    places: dict[str, list[int]]

    def missing(self, mapping: Mapping) -> list[str]:
        """MappedColumns that the mapping needs and the table has not."""
        has = {name for name, places in self.places.items() if places}
        needed = {"account"} if mapping.kind == "journal" else set()
        if "(?P<date>" not in mapping.heading:
            needed.add("date")
        if not ("amount" in has or {"debit", "credit"} <= has or {"paid_in", "paid_out"} <= has):
            needed.add("amount")
        return sorted(needed - has)


class Line(NamedTuple):
    """A row of the table: its place, and the cell of each column, empty where it has none."""

    location: str
    cells: dict[str, Cell]
    separated: bool
    """Whether an empty row, a row of totals or a heading of an entry is above it."""
    heading: dict[str, str]
    """Number, date and description of the entry, where a row above it has them."""

    def text(self, name: str) -> str:
        """Text of a cell, with single spaces."""
        return " ".join(str(self.cells[name]).split())


class TotalRow(NamedTuple):
    """A row of totals, which the lines above it must sum to."""

    location: str
    cells: dict[str, Cell]


@dataclass(frozen=True)
class MappedTable:
    """Lines and rows of totals in their order, the formats of their cells, and how many other rows were left out."""

    rows: list[Line | TotalRow]
    header: Header
    date_format: str
    decimal: str
    left_out: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[Line]:
        """The rows that are lines."""
        return [row for row in self.rows if isinstance(row, Line)]


def map_table(rows: Sequence[RawRow], mapping: Mapping, scale: int, errors: ImportErrors) -> MappedTable:
    """Find the headings, and divide the rows below them into lines, totals and others."""
    header = find_header(rows, mapping)
    if header is None or header.missing(mapping):
        nearest = max(rows, key=lambda row: len(_places(row, mapping)), default=None)
        found = f"; the nearest is {join_ids(map(quote, nearest.filled), limit=_MAX_NAMED)}" if nearest else ""
        wanted = header.missing(mapping) if header else ["date", "amount"]
        errors.fail(
            f"no row has the headings of {mapping.title or 'the mapping'}: {', '.join(wanted)} missing{found} "
            "(--inspect shows what is recognized)",
            nearest.location if nearest else "",
        )
    left_out = [f"{row.location}: {' '.join(row.filled)}" for row in rows[: header.row] if row.filled]
    divided = list(_divide(rows[header.row + 1 :], rows[header.row], header, mapping, left_out))
    lines = [row for row in divided if isinstance(row, Line)]
    amounts = [row.cells[name] for row in lines for name in AMOUNTS]
    dates = [one for row in lines for one in (row.cells["date"] or row.heading.get("date", ""),) if one != ""]
    try:
        date_format = find_date_format(dates, mapping.dates)
    except ValueError as error:
        errors.fail(str(error))
    return MappedTable(divided, header, date_format, mapping.decimal or find_decimal(amounts, scale), left_out)


def find_header(rows: Sequence[RawRow], mapping: Mapping) -> Header | None:
    """First row with all columns that the mapping needs, or the one with most of its columns."""
    headers = [Header(number, _places(row, mapping)) for number, row in enumerate(rows)]
    complete = next((header for header in headers if not header.missing(mapping)), None)
    return complete or max(headers, key=lambda header: len(header.places), default=None)


def _places(row: RawRow, mapping: Mapping) -> dict[str, list[int]]:
    names = [" ".join(text.split()).casefold() for text in row.texts]
    found = {}
    for column in COLUMN_NAMES:
        headings = [heading.casefold() for heading in getattr(mapping.columns, column)]
        places = [names.index(heading) for heading in headings if heading in names]
        if places:
            found[column] = places
    return found


def _divide(
    rows: Sequence[RawRow], header_row: RawRow, header: Header, mapping: Mapping, left_out: list[str]
) -> Iterator[Line | TotalRow]:
    """Lines and totals; each other row is added to those left out, and ends the entry above it."""
    skip, total, heading = (re.compile(one) if one else None for one in (mapping.skip, mapping.total, mapping.heading))
    separated, current_heading = True, {}
    for row in rows:
        filled = row.filled
        first = filled[0] if filled else ""
        cells = {name: _first_filled(row, header.places.get(name, ())) for name in COLUMN_NAMES}
        has_amount = any(cells[name] != "" for name in AMOUNTS)
        is_named = bool(cells["account"] if mapping.kind == "journal" else cells["date"])
        if not filled or row.texts == header_row.texts:
            separated = True
        elif total and re.match(total.pattern, first, re.IGNORECASE) and has_amount:
            yield TotalRow(row.location, cells)
            separated = True
        elif heading and (found := heading.match("|".join(filled))) and not has_amount:
            current_heading = {name: value.strip() for name, value in found.groupdict().items() if value}
            separated = True
        elif skip and (skip.match(first) or any(skip.match(text) for text in filled)):
            left_out.append(f"{row.location}: {' '.join(filled)}")
        elif has_amount and not is_named and mapping.kind == "journal" and not cells["date"] and not cells["number"]:
            yield TotalRow(row.location, cells)
            separated = True
        elif has_amount or (is_named and (mapping.kind == "journal" or cells["description"] != "")):
            yield Line(row.location, cells, separated, current_heading)
            separated = False
        else:
            left_out.append(f"{row.location}: {' '.join(filled)}")
            separated = True


def _first_filled(row: RawRow, places: Sequence[int]) -> Cell:
    """First value of some cells."""
    for place in places:
        cell = row.cells[place] if place < len(row.cells) else ""
        if not isinstance(cell, str) or cell.strip():
            return cell.strip() if isinstance(cell, str) else cell
    return ""
