"""A table of figures as a sheet of a workbook, with formulas and links."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.messages import printable
from accounting_analytics.core.money import MAX_UNITS
from accounting_analytics.core.workbook import Place, accounting_format, amount_format, grouped_format, line_text

if TYPE_CHECKING:
    from accounting_analytics.core.workbook import Workbook
    from accounting_analytics.reports.figures.figure import Figure, Quotient
    from accounting_analytics.reports.figures.figure_table import FigureCell, FigureRow, FigureTable

Terms = Sequence[tuple[int, str]]
"""Keys of the figures that a figure adds (1) or subtracts (-1)."""

_MAX_ARGUMENTS, _MAX_LENGTH = 255, 8_192
"""Limits of Excel: arguments of a function, characters of a formula."""
_MAX_LINKS = 65_530
"""Most links that Excel allows in a sheet."""
_TOO_LONG = "Amounts of more than 15 digits are text, because Excel would change their digits; no total includes them."
_IN_FULL = "These are in full, with all their digits."
_MIN_WIDTH, MAX_LABEL_WIDTH, _NOTE_WIDTH = 10, 60, 150
_MARGIN, _INDENT_WIDTH, _MAX_INDENT = 2, 1.5, 15
LINE_HEIGHT = 15
_PORTRAIT_COLUMNS = 4
_STYLES: Mapping[str, Mapping[str, object]] = {
    "heading": {"bold": True},
    "subtotal": {"bold": True, "top": 1},
    "total": {"bold": True, "top": 1, "bottom": 6},
    "balance": {"bold": True},
    "parent": {"italic": True},
    "percent": {"italic": True},
}
"""Formats of rows by kind. Rows of kind ``ledger`` and ``own`` have none."""


def own_terms(figure: Figure) -> Iterable[Terms]:
    """Yield the terms that a figure adds and subtracts."""
    is_sum = figure.kind == "sum" and all(term.key != figure.key for term in figure.terms)
    if figure.terms and is_sum:
        yield [(-1 if sign == "-" else 1, term.key) for sign, term in zip(figure.signs, figure.terms, strict=True)]


class FigureSheet(NamedTuple):
    """A table of figures, and the other contents of its sheet.

    Attributes
    ----------
    name : str
        Name of the sheet.
    lines : sequence of str
        Lines above the table; the first one is large.
    table : FigureTable
        Rows, heads, and notes below them.
    sums : callable
        Ways to calculate a figure from others: its formula is the first that gives its amount from cells of the sheet.
    entries_name : str
        Name of the sheet that has the entries.
    ranges : mapping
        First and last entry of figures, by key.
    """

    name: str
    lines: Sequence[str]
    table: FigureTable
    sums: Callable[[Figure], Iterable[Terms]] = own_terms
    entries_name: str = ""
    ranges: Mapping[str, tuple[int, int]] = {}

    def add_to(self, workbook: Workbook) -> None:
        """Add the sheet to a workbook."""
        is_landscape = len(self.table.heads) > _PORTRAIT_COLUMNS
        worksheet = workbook.add_sheet(self.name, is_landscape=is_landscape)
        for number, line in enumerate(self.lines):
            title = workbook.format(bold=True, font_size=14 if number == 0 else 11)
            worksheet.write_string(number, 0, line_text(line), title)
        head_row = len(self.lines) + 1
        rows = _TableWriter(workbook, worksheet, self, head_row)
        place = rows.write()
        too_long = [_TOO_LONG, *([_IN_FULL] if self.table.amounts_in else [])] if rows.has_text_amounts else []
        notes = [*self.table.notes, *([" ".join(too_long)] if too_long else [])]
        wrapped = [line for note in notes for line in textwrap.wrap(printable(note, " "), _NOTE_WIDTH)]
        for number, line in enumerate(wrapped, start=place + 1):
            shown = workbook.format(italic=True, font_color="#555555")
            worksheet.write_string(number, 0, line_text(line), shown)
        worksheet.freeze_panes(head_row + 1, 1)
        worksheet.repeat_rows(0, head_row)
        worksheet.repeat_columns(0)

    def write_rows(self, workbook: Workbook, worksheet: Any, head_row: int) -> int:  # noqa: ANN401 (untyped package)
        """Write heads and rows on any sheet, and return the number of the row below."""
        return _TableWriter(workbook, worksheet, self, head_row).write()


class _Formula(NamedTuple):
    """A formula, and the keys of the figures whose cells it uses."""

    text: str
    parts: Sequence[str]


class _TableWriter:
    """Writer of the heads and rows of a table."""

    def __init__(self, workbook: Workbook, worksheet: Any, sheet: FigureSheet, head_row: int) -> None:  # noqa: ANN401
        self._workbook, self._worksheet, self._sheet, self._head_row = workbook, worksheet, sheet, head_row
        self._table = sheet.table
        shown = {
            cell.figure.key: (cell.figure, (row, column))
            for row, of_row in enumerate(self._table.rows, start=head_row + 1)
            for column, cell in enumerate(of_row.cells, start=1)
            if cell.figure is not None
        }
        self._formulas = {
            key: formula for key, (figure, _) in shown.items() if (formula := self._formula(figure, shown))
        }
        self._ranges: dict[str, tuple[int, int] | None] = dict(sheet.ranges)
        self._link_count = 0
        self.has_text_amounts = False

    def _formula(self, figure: Figure, shown: Mapping[str, tuple[Figure, Place]]) -> _Formula | None:
        """Write the first formula that gives exactly the amount of a figure."""
        for terms in self._sheet.sums(figure) if _has_number(figure) else ():
            found = [(factor, *shown[key]) for factor, key in terms if key in shown]
            if not found or not all(_has_number(part) for _, part, _ in found):
                continue
            if figure.units == sum(factor * int(part.units or 0) for factor, part, _ in found):
                text = _sum_text([(factor, place) for factor, _, place in found], figure.scale)
                if len(text) < _MAX_LENGTH and text.count(",") < _MAX_ARGUMENTS:
                    return _Formula(text, [part.key for _, part, _ in found])
        return None

    def write(self) -> int:
        """Write heads and rows, set widths, and return the number of the row below."""
        sheet, table = self._worksheet, self._table
        sheet.hide_gridlines(2)
        sheet.write_blank(self._head_row, 0, None, self._workbook.format(bottom=1))
        head_format = self._workbook.format(bold=True, align="right", valign="bottom", text_wrap=True, bottom=1)
        for number, head in enumerate(table.heads, start=1):
            sheet.write_string(self._head_row, number, line_text(head.text), head_format)
        for place, row in enumerate(table.rows, start=self._head_row + 1):
            self._write_row(place, row)
        self._set_widths()
        return self._head_row + 1 + len(table.rows)

    def _write_row(self, place: int, row: FigureRow) -> None:
        style = _STYLES.get(row.kind, {})
        text = line_text(row.label)
        is_long = len(text) > MAX_LABEL_WIDTH
        label = self._workbook.format(
            bold="bold" in style, italic="italic" in style, indent=min(row.level, _MAX_INDENT), text_wrap=is_long
        )
        self._worksheet.write_string(place, 0, text, label)
        for number, cell in enumerate(row.cells, start=1):
            self._write_cell((place, number), cell, style)

    def _write_cell(self, place: Place, cell: FigureCell, style: Mapping[str, object]) -> None:
        """Write an amount with its formula and link, or a text."""
        if cell.figure is None:
            self._worksheet.write_string(*place, line_text(cell.text), self._workbook.format(**style))
            return
        exact, is_quotient = cell.figure.exact(), isinstance(cell.figure.units, Decimal)
        amounts = amount_format(cell.figure.scale, self._table.amounts_in)
        digits = accounting_format(_quotient_format(cell.figure.quotient) if is_quotient else amounts)
        shown = self._workbook.format(**style, num_format=digits, align="right")
        if not is_quotient:
            self._link(cell.figure.key, place, shown)
        if exact is None:
            write = self._worksheet.write_string if cell.text else self._worksheet.write_blank
            write(*place, cell.text, shown)
        elif is_quotient:
            is_percent = cell.figure.quotient.suffix == "%"  # Excel itself multiplies a percentage by 100
            self._worksheet.write_number(*place, float(exact.scaleb(-2) if is_percent else exact), shown)
        elif not _has_number(cell.figure):
            self.has_text_amounts = True
            self._worksheet.write_string(*place, f"{exact:,f}", shown)
        elif formula := self._formulas.get(cell.figure.key):
            self._worksheet.write_formula(*place, formula.text, shown, float(exact))
        else:
            self._worksheet.write_number(*place, float(exact), shown)

    def _link(self, key: str, place: Place, shown: Any) -> None:  # noqa: ANN401 (untyped package)
        """Link a figure to its entries, before its cell is written.

        Writing a link also writes a text, which the caller then replaces with the cell.
        """
        entries = self._range(key)
        if entries is None or self._link_count == _MAX_LINKS:
            return
        self._link_count += 1
        first, last = (position + 2 for position in entries)  # from 1, below the heads
        is_own = key in self._sheet.ranges
        tip = "Go to its entries" if is_own else "Go to the first entry of the figures it is made of"
        target = f"internal:'{self._sheet.entries_name}'!A{first}:F{last}"
        self._worksheet.write_url(*place, target, shown, tip=tip)

    def _range(self, key: str) -> tuple[int, int] | None:
        """Find the first and last entry of a figure.

        For a figure made of other figures, both are the first entry of the first part that has entries.
        """
        if key not in self._ranges:
            formula = self._formulas.get(key)
            found = next(filter(None, map(self._range, formula.parts)), None) if formula else None
            self._ranges[key] = found and (found[0], found[0])
        return self._ranges[key]

    def _set_widths(self) -> None:
        """Set column widths by figures, and the heads' height by texts."""
        rows = self._table.rows
        labels = [len(row.label) + _INDENT_WIDTH * row.level for row in rows]
        self._worksheet.set_column(0, 0, min(MAX_LABEL_WIDTH, max(labels, default=0) + _MARGIN))
        line_count = 1
        for number, head in enumerate(self._table.heads):
            texts = [len(row.cells[number].text) for row in rows if row.cells]
            width = max(_MIN_WIDTH, *texts, *(len(word) for word in head.text.split())) + _MARGIN
            width = min(width, MAX_LABEL_WIDTH) if head.is_text else width
            self._worksheet.set_column(number + 1, number + 1, width + 1)
            line_count = max(line_count, len(textwrap.wrap(head.text, width - _MARGIN)))
        self._worksheet.set_row(self._head_row, LINE_HEIGHT * line_count)


def _quotient_format(quotient: Quotient) -> str:
    """Return the Excel format of a quotient."""
    suffix = quotient.suffix if quotient.suffix in {"", "%"} else f'"{quotient.suffix}"'
    return f"{grouped_format(quotient.digits)}{suffix}"


def _has_number(figure: Figure) -> bool:
    """Test if a figure is known, and Excel stores it exactly."""
    return isinstance(figure.units, int) and abs(figure.units) < MAX_UNITS


def _sum_text(terms: Sequence[tuple[int, Place]], scale: int) -> str:
    """Write a rounded sum of cells, because binary fractions are not exact."""
    from xlsxwriter.utility import xl_rowcol_to_cell  # noqa: PLC0415 (an extra)

    if all(factor == 1 for factor, _ in terms):
        text = f"SUM({_references([place for _, place in terms])})"
    else:
        signed = (f"{'+' if factor > 0 else '-'}{xl_rowcol_to_cell(*place)}" for factor, place in terms)
        text = "".join(signed).removeprefix("+")
    return f"=ROUND({text},{scale})" if scale else f"={text}"


def _references(places: Iterable[Place]) -> str:
    """Write cells as arguments of an Excel function.

    Neighbouring cells become ranges.
    """
    from xlsxwriter.utility import xl_range  # noqa: PLC0415 (an extra)

    ordered = sorted(places)
    is_row = len({row for row, _ in ordered}) == 1
    runs: list[list[Place]] = []
    for row, column in ordered:
        before = (row, column - 1) if is_row else (row - 1, column)
        if runs and runs[-1][-1] == before:
            runs[-1].append((row, column))
        else:
            runs.append([(row, column)])
    return ",".join(xl_range(*run[0], *run[-1]) for run in runs)
