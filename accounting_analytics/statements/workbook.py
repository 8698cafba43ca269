"""A statement as an Excel workbook: figures to read, formulas that follow them, and the entries behind each of them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.atomic_files import replace_file
from accounting_analytics.errors import InputError
from accounting_analytics.figures import KEY_SEPARATOR
from accounting_analytics.messages import printable
from accounting_analytics.money import MAX_UNITS, fits_float, from_minor_units
from accounting_analytics.sheets.cells import BYTE_ORDER_MARK, FORMULA_START, GUARD
from accounting_analytics.sheets.writer import (
    MAX_ROWS,
    WORKBOOK_SUFFIX,
    new_workbook,
    require_xlsxwriter,
    workbook_text,
)
from accounting_analytics.statements.page import lines_behind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal
    from pathlib import Path

    from accounting_analytics.figure_tables import ShownLine
    from accounting_analytics.statements.columns import StatementColumn
    from accounting_analytics.statements.rows import Row
    from accounting_analytics.statements.statement_figures import StatementFigures


_MAX_ARGUMENTS, _MAX_LENGTH = 255, 8_192
"""Limits of Excel: arguments of a function, characters of a formula."""

Key = tuple[str, str]
"""Row and column key of a figure."""
_Term = tuple[int, Key]
"""A figure that is added (1) or subtracted (-1)."""


class Formula(NamedTuple):
    """A formula, and the figures whose cells it calculates with."""

    text: str
    parts: tuple[Key, ...]


class Formulas:
    """Formulas of a statement whose first row is `first_row` of a sheet (from 0); the first column has the labels."""

    def __init__(self, figures: StatementFigures, first_row: int) -> None:
        self._figures = figures
        self._rows = {row.key: first_row + number for number, row in enumerate(figures.layout.shown) if row.key}
        self._columns = {column.key: 1 + number for number, column in enumerate(figures.columns.shown)}

    def place(self, key: Key) -> tuple[int, int]:
        """Row and column of a cell, counted from 0."""
        return self._rows[key[0]], self._columns[key[1]]

    def formula(self, row: Row, column: StatementColumn) -> Formula | None:
        """Return the formula of a cell whose parts are shown and give exactly its amount; None where it has a value."""
        if column.is_percent or column.kind == "average":
            return None
        down = [(factor, (key, column.key)) for factor, key in row.terms or [(1, key) for key in row.children]]
        across = self._across(row, column)
        first, second = (across, down) if column.kind == "change" else (down, across)
        return self._sum((row.key, column.key), first) or self._sum((row.key, column.key), second)

    def _across(self, row: Row, column: StatementColumn) -> list[_Term]:
        """Cells of a row with the periods of a total or a change; none if one of them is not shown."""
        if column.kind not in {"total", "change"} or (column.kind == "total" and row.kind == "balance"):
            return []
        keys: dict[object, str] = {}
        for one in self._figures.columns.shown:
            if one.kind in {"period", "prior", "prior_year"} and one.side == column.side:
                is_beside = column.of is not None and column.of in {one.key, one.of}
                keys |= {one.periods: one.key} if is_beside or one.periods not in keys else {}
        found = [(factor, keys.get(((1, period),))) for factor, period in column.periods]
        return [(factor, (row.key, key)) for factor, key in found if key] if all(key for _, key in found) else []

    def _sum(self, cell: Key, terms: Sequence[_Term]) -> Formula | None:
        terms = [(factor, key) for factor, key in terms if key[0] in self._rows]
        whole, parts = self._units(cell), [(factor, self._units(key)) for factor, key in terms]
        if not terms or whole is None or any(units is None for _, units in parts):
            return None
        if whole != sum(factor * (units or 0) for factor, units in parts):
            return None
        is_plain = all(factor == 1 for factor, _ in terms)
        text = f"SUM({self._references(key for _, key in terms)})" if is_plain else self._difference(terms)
        scale = self._figures.source.scale
        text = f"=ROUND({text},{scale})" if scale else f"={text}"  # sums of fractions are not exact in binary
        is_short = len(text) < _MAX_LENGTH and text.count(",") < _MAX_ARGUMENTS
        return Formula(text, tuple(key for _, key in terms)) if is_short else None

    def _units(self, key: Key) -> int | None:
        """Units of a cell; None where it has no number, or one with more digits than Excel keeps."""
        units = self._figures.figure(*key).units
        return units if isinstance(units, int) and abs(units) < MAX_UNITS else None

    def _difference(self, terms: Iterable[_Term]) -> str:
        from xlsxwriter.utility import xl_rowcol_to_cell  # noqa: PLC0415 (an extra)

        signed = (f"{'+' if factor > 0 else '-'}{xl_rowcol_to_cell(*self.place(key))}" for factor, key in terms)
        return "".join(signed).removeprefix("+")

    def _references(self, keys: Iterable[Key]) -> str:
        """Cells as arguments of a function: those beside or below each other as a range."""
        from xlsxwriter.utility import xl_range  # noqa: PLC0415 (an extra)

        places = sorted(self.place(key) for key in keys)
        is_row = len({row for row, _ in places}) == 1
        runs: list[list[tuple[int, int]]] = []
        for row, column in places:
            before = (row, column - 1) if is_row else (row - 1, column)
            if runs and runs[-1][-1] == before:
                runs[-1].append((row, column))
            else:
                runs.append([(row, column)])
        return ",".join(xl_range(*run[0], *run[-1]) for run in runs)


_ENTRIES = "Entries"
_MAX_LINKS = 65_530
"""Links that Excel takes in a sheet."""
_TOO_LONG = "Amounts of more than 15 digits are text, because Excel would change their digits; no total includes them."
_MIN_WIDTH, _MAX_WIDTH, _NOTE_WIDTH = 10, 60, 150
_MARGIN, _INDENT_WIDTH, _MAX_INDENT = 2, 1.5, 15
_LINE_HEIGHT, _PORTRAIT_COLUMNS = 15, 4
_ENTRY_COLUMNS = {"date": 12, "description": 48, "ledger": 30, "opposing ledgers": 36, "amount": 16, "id": 24}
"""Columns of the entries, and their widths."""
_FIRST_DAY = dt.date(1900, 3, 1)
"""Earlier days, of which Excel counts one too many, are text."""
_NOT_IN_NAMES, _MAX_NAME = "[]:*?/\\", 31
_STYLES: Mapping[str, Mapping[str, object]] = {
    "heading": {"bold": True},
    "subtotal": {"bold": True, "top": 1},
    "total": {"bold": True, "top": 1, "bottom": 6},
    "balance": {"bold": True},
}
"""Formats of rows by their kind; leaf rows and their parents have none."""


class Heading(NamedTuple):
    """What stands above and below the rows: the names of the sheets, lines, notes; and the zone of its days."""

    title: str
    lines: Sequence[str]
    notes: Sequence[str]
    time_zone: str
    entries_name: str = _ENTRIES


def write_workbook(figures: StatementFigures, heading: Heading, path: Path) -> None:
    """Write a statement and its entries to a workbook, which is replaced completely or left unchanged."""
    require_workbook_name(path)
    entries = list_entries(figures, heading)
    content = io.BytesIO()
    with new_workbook(content) as workbook:
        add_statement(workbook, figures, heading, entries)
        add_entries(workbook, heading.entries_name, entries.lines, figures)
    write_workbook_file(path, content.getvalue())


def require_workbook_name(path: Path) -> None:
    """Refuse a file whose name is not that of a workbook, or a machine that cannot write one."""
    require_xlsxwriter()
    if path.suffix.lower() != WORKBOOK_SUFFIX:
        raise InputError(f"{path}: a workbook needs a name that ends in {WORKBOOK_SUFFIX}; nothing was written")


class StatementEntries(NamedTuple):
    """Lines with the sign that their figures sum them with, and the first and last of those behind each figure."""

    lines: list[ShownLine]
    ranges: Mapping[Key, tuple[int, int]]
    missing: str = ""


def list_entries(figures: StatementFigures, heading: Heading) -> StatementEntries:
    """List the entries behind the rows that are not made of other rows; more than a sheet has rows are refused."""
    leaves = [
        figures.figure(row.key, column.key)
        for row in figures.layout.shown
        if row.kind != "heading" and not row.children and not row.terms
        for column in figures.columns.shown
        if len(column.periods) == 1
    ]
    leaves = [one for one in leaves if not one.terms]
    lines: list[ShownLine] = []
    ranges: dict[Key, tuple[int, int]] = {}
    for sign in (1, -1):
        summed = [one for one in leaves if any(part.factor == sign for part in one.selections)]
        table = lines_behind(figures, summed, MAX_ROWS - 1 - len(lines))
        if table is None and figures.source.is_report:
            return StatementEntries([], {}, "the report was recomputed without its lines (lines=False).")
        if table is None:
            raise InputError(
                f"the sheet {heading.entries_name} would have more rows than a sheet of Excel, which has {MAX_ROWS:,}; "
                "make the statement of fewer days, or use to_csv; nothing was written"
            )
        for figure in summed:
            for _, first, last in table.ranges(figure):
                row, _, column = figure.key.rpartition(KEY_SEPARATOR)
                ranges[row, column] = (len(lines) + first, len(lines) + last)
        lines.extend(line._replace(units=sign * line.units) for line in table.lines)
    return StatementEntries(lines, ranges)


def add_statement(workbook: Any, figures: StatementFigures, heading: Heading, entries: StatementEntries) -> None:  # noqa: ANN401 (untyped package)
    """Add the sheet of a statement, whose figures are linked to the sheet of its entries."""
    _StatementSheet(workbook, figures, heading, entries).write()


def write_csv(figures: StatementFigures, path: Path) -> None:
    """Write the rows as CSV: amounts with all digits, percentages in percent, nothing where an amount is not known."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["label", "key", "level", "kind", *(column.key for column in figures.columns.shown)])
    for row in figures.layout.shown:
        keys = [] if row.kind == "heading" else [(row.key, column.key) for column in figures.columns.shown]
        values = [figures.figure(*key).exact() for key in keys] or [None] * len(figures.columns.shown)
        amounts = ["" if value is None else f"{value:f}" for value in values]
        writer.writerow([_guarded(row.label), _guarded(row.key), row.level, row.kind, *amounts])
    write_workbook_file(path, f"{BYTE_ORDER_MARK}{text.getvalue()}".encode())


def _guarded(text: str) -> str:
    """Text with a leading apostrophe where a spreadsheet would calculate it."""
    return f"{GUARD}{text}" if text.startswith(tuple(FORMULA_START)) else text


def write_workbook_file(path: Path, content: bytes) -> None:
    """Write a file, which is replaced completely or left unchanged."""
    try:
        replace_file(path, lambda file: file.write(content))
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; the previous content is unchanged") from error


class _StatementSheet:
    """The sheet with the statement as people read it."""

    def __init__(self, workbook: Any, figures: StatementFigures, heading: Heading, entries: StatementEntries) -> None:  # noqa: ANN401 (untyped package)
        self._workbook, self._figures, self._heading = workbook, figures, heading
        self._sheet = workbook.add_worksheet(_sheet_name(heading.title))
        self._formats: dict[tuple[tuple[str, object], ...], Any] = {}
        self._head_row = len(heading.lines) + 1
        self._formulas = Formulas(figures, self._head_row + 1)
        found = {
            (row.key, column.key): self._formulas.formula(row, column)
            for row in figures.layout.shown
            if row.kind != "heading"
            for column in figures.columns.shown
        }
        self._formula_of = {key: formula for key, formula in found.items() if formula}
        self._own_ranges = entries.ranges
        self._ranges: dict[Key, tuple[int, int] | None] = dict(entries.ranges)
        self._why_no_entries = entries.missing
        self._link_count = 0
        self._has_text_amounts = False

    def write(self) -> None:
        """Write heads, rows and notes, and set how they are printed."""
        figures, sheet = self._figures, self._sheet
        for number, line in enumerate(self._heading.lines):
            title = self._format(bold=True, font_size=14 if number == 0 else 11)
            sheet.write_string(number, 0, workbook_text(line), title)
        sheet.write_blank(self._head_row, 0, None, self._format(bottom=1))
        head = self._format(bold=True, align="right", valign="bottom", text_wrap=True, bottom=1)
        for number, column in enumerate(figures.columns.shown, start=1):
            sheet.write_string(self._head_row, number, workbook_text(column.label), head)
        for place, row in enumerate(figures.layout.shown, start=self._head_row + 1):
            self._write_row(place, row)
        self._write_notes(self._head_row + len(figures.layout.shown) + 2)
        self._set_widths()
        self._set_print()

    def _write_row(self, place: int, row: Row) -> None:
        style = _STYLES.get(row.kind, {})
        text = workbook_text(printable(row.label, " "))
        label = self._format(bold=bool(style), indent=min(row.level, _MAX_INDENT), text_wrap=len(text) > _MAX_WIDTH)
        self._sheet.write_string(place, 0, text, label)
        if row.kind != "heading":
            for column in self._figures.columns.shown:
                self._write_figure(row, column, style)

    def _write_figure(self, row: Row, column: StatementColumn, style: Mapping[str, object]) -> None:
        key = (row.key, column.key)
        place, formula = self._formulas.place(key), self._formula_of.get(key)
        shown = self._format(**style, num_format=_number_format(column, self._figures.source.scale), align="right")
        figure = self._figures.figure(*key)
        value = self._cell_value(column, figure.exact(), figure.text)
        if not column.is_percent:
            self._link(key, place, shown)
        if formula:
            self._sheet.write_formula(*place, formula.text, shown, value)
        elif not isinstance(value, str):
            self._sheet.write_number(*place, value, shown)
        elif value:
            self._sheet.write_string(*place, value, shown)
        else:
            self._sheet.write_blank(*place, None, shown)

    def _cell_value(self, column: StatementColumn, amount: Decimal | None, text: str) -> float | str:
        """Value of a cell: a percentage as a fraction; text where there is no amount, or one with too many digits."""
        if amount is None:
            return text
        if column.is_percent:
            return float(amount.scaleb(-2))
        if fits_float(amount, self._figures.source.scale):
            return float(amount)
        self._has_text_amounts = True
        return f"{amount:,f}"

    def _link(self, key: Key, place: tuple[int, int], shown: Any) -> None:  # noqa: ANN401
        """Link a figure to its entries; before the cell is written, because the link has a text of its own."""
        entries = self._range(key)
        if entries is None or self._link_count == _MAX_LINKS:
            return
        from xlsxwriter.utility import xl_range  # noqa: PLC0415 (an extra)

        self._link_count += 1
        first, last = (position + 1 for position in entries)  # below the heads
        target = xl_range(first, 0, last, len(_ENTRY_COLUMNS) - 1)
        sheet_name = self._heading.entries_name
        tip = "Go to its entries" if key in self._own_ranges else "Go to the first entry of the figures it is made of"
        self._sheet.write_url(*place, f"internal:'{sheet_name}'!{target}", shown, tip=tip)

    def _range(self, key: Key) -> tuple[int, int] | None:
        """First and last entry of a figure; of one that follows from others the first one of these."""
        if key not in self._ranges:
            formula = self._formula_of.get(key)
            found = next(filter(None, map(self._range, formula.parts)), None) if formula else None
            self._ranges[key] = found and (found[0], found[0])
        return self._ranges[key]

    def _write_notes(self, place: int) -> None:
        notes = [*self._heading.notes, *([_TOO_LONG] if self._has_text_amounts else [])]
        notes += [f"The entries are not in this file: {self._why_no_entries}"] if self._why_no_entries else []
        lines = [line for note in notes for line in textwrap.wrap(printable(note, " "), _NOTE_WIDTH)]
        for number, line in enumerate(lines, start=place):
            self._sheet.write_string(number, 0, workbook_text(line), self._format(italic=True, font_color="#555555"))

    def _set_widths(self) -> None:
        """Make columns as wide as their figures, and the row of the headings as high as the longest of them."""
        figures = self._figures
        labels = [len(row.label) + _INDENT_WIDTH * row.level for row in figures.layout.shown]
        self._sheet.set_column(0, 0, min(_MAX_WIDTH, max(labels, default=0) + _MARGIN))
        line_count = 1
        keys = [row.key for row in figures.layout.shown if row.kind != "heading"]
        for number, column in enumerate(figures.columns.shown, start=1):
            texts = [len(figures.figure(key, column.key).text) for key in keys]
            width = max(_MIN_WIDTH, *texts, *(len(word) for word in column.label.split())) + _MARGIN
            self._sheet.set_column(number, number, width + 1)
            line_count = max(line_count, len(textwrap.wrap(column.label, width - _MARGIN)))
        self._sheet.set_row(self._head_row, _LINE_HEIGHT * line_count)

    def _set_print(self) -> None:
        sheet = self._sheet
        sheet.freeze_panes(self._head_row + 1, 1)
        sheet.repeat_rows(0, self._head_row)
        sheet.repeat_columns(0)
        sheet.fit_to_pages(1, 0)
        sheet.hide_gridlines(2)
        if len(self._figures.columns.shown) > _PORTRAIT_COLUMNS:
            sheet.set_landscape()
        sheet.set_footer("&L&A&RPage &P of &N")

    def _format(self, **properties: object) -> Any:  # noqa: ANN401 (untyped package)
        """Format with some properties; a workbook has each once."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self._workbook.add_format(properties)
        return self._formats[key]


def _number_format(column: StatementColumn, scale: int) -> str:
    """Format of the amounts or percentages of a column."""
    return accounting_format("#,##0.0%" if column.is_percent else f"#,##0{'.' if scale else ''}{'0' * scale}")


def accounting_format(number: str) -> str:
    """Format with negative numbers in parentheses and a dash for zero; the signs end below each other."""
    return f'{number}_);({number});"–"_);@_)'  # noqa: RUF001 (an en dash)


def add_entries(workbook: Any, sheet_name: str, lines: Sequence[ShownLine], figures: StatementFigures) -> None:  # noqa: ANN401 (untyped package)
    """Add the sheet with the entries, as people filter and print it; none without entries."""
    if not lines:
        return
    scale = figures.source.scale
    sheet = workbook.add_worksheet(sheet_name)
    head = workbook.add_format({"bold": True, "bottom": 1})
    head_right = workbook.add_format({"bold": True, "bottom": 1, "align": "right"})
    date = workbook.add_format({"num_format": "yyyy-mm-dd", "align": "left"})
    number = f"#,##0{'.' if scale else ''}{'0' * scale}"
    amount = workbook.add_format({"num_format": f"{number}_);({number});@_)", "align": "right"})
    for place, (name, width) in enumerate(_ENTRY_COLUMNS.items()):
        sheet.set_column(place, place, width)
        sheet.write_string(0, place, name, head_right if name == "amount" else head)
    for place, line in enumerate(lines, start=1):
        day, exact = dt.date.fromisoformat(line.day), from_minor_units(line.units, scale)
        if day >= _FIRST_DAY:
            sheet.write_datetime(place, 0, day, date)
        else:
            sheet.write_string(place, 0, line.day)
        ledger = figures.ledgers.name(line.ledger_id)
        for column, text in ((1, line.description), (2, ledger), (3, line.opposing), (5, line.id)):
            sheet.write_string(place, column, workbook_text(printable(text, " ")))
        if fits_float(exact, scale):
            sheet.write_number(place, 4, float(exact), amount)
        else:
            sheet.write_string(place, 4, f"{exact:,f}", amount)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(lines), len(_ENTRY_COLUMNS) - 1)
    sheet.repeat_rows(0)
    sheet.set_landscape()
    sheet.fit_to_pages(1, 0)
    sheet.set_footer("&L&A&RPage &P of &N")


def _sheet_name(title: str) -> str:
    """Title as the name of a sheet: at most 31 characters, without those that Excel refuses."""
    name = "".join(" " if letter in _NOT_IN_NAMES else letter for letter in printable(title, " "))
    return name[:_MAX_NAME].strip("' ") or "Statement"
