"""A pack as an Excel workbook: page one with its pictures, statements with formulas and entries, the other tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.messages import printable
from accounting_analytics.money import fits_float
from accounting_analytics.pack.pictures import IN_MAIL
from accounting_analytics.pack.sections import KEY_FIGURES
from accounting_analytics.pack.sentences import plain
from accounting_analytics.sheets.writer import new_workbook, workbook_text
from accounting_analytics.statements.workbook import (
    Heading,
    accounting_format,
    add_entries,
    add_statement,
    list_entries,
    require_workbook_name,
    write_workbook_file,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.figure_tables import FigureRow
    from accounting_analytics.pack.content import PackContent
    from accounting_analytics.pack.pack_tables import PackTable
    from accounting_analytics.statements import Statement

_STATEMENTS = {"income": "Income statement", "cash_flow": "Cash flow statement", "balance": "Balance sheet"}
_TABLES = {
    "cash_bridge": "Cash bridge",
    "cash_accounts": "Cash accounts",
    "cash_by_day": "Cash by day",
    "flows": "Cash in and out",
    "payees": "Top payees",
    "uncategorized": "Not categorized",
    "changes": "Changes",
    "reported_cash": "Reconciliation",
}
_BOLD = ("heading", "subtotal", "total", "balance")
_LABEL_WIDTH, _AMOUNT_WIDTH, _TEXT_WIDTH, _WRAP = 44, 16, 30, 110
_LINE_HEIGHT, _PICTURE_ROWS, _MAX_NAME = 15, 26, 31
_A4 = 9


class WorkbookTexts(NamedTuple):
    """What a workbook says beside the tables of its pack.

    Attributes
    ----------
    title, days : str
        Company and period; days, zone and currency.
    proof : str
        Whether the cash flow is proven.
    sentences : sequence of str
        What changed, and why.
    appendix : mapping
        Texts of the appendix by their heading.
    fingerprint : str
        Fingerprint of the page.
    """

    title: str
    days: str
    proof: str
    sentences: Sequence[str]
    appendix: Mapping[str, Sequence[str]]
    fingerprint: str


class _Formats(NamedTuple):
    """Formats of cells, and the fraction digits of amounts."""

    title: Any
    bold: Any
    head: Any
    wrapped: Any
    amount: Any
    bold_amount: Any
    scale: int


def write_pack_workbook(pack: PackContent, texts: WorkbookTexts, path: Path) -> None:
    """Write the workbook of a pack, which is replaced completely or left unchanged."""
    require_workbook_name(path)
    content, scale = io.BytesIO(), pack.entries.scale
    statements = {name: getattr(pack.statements, name) for name in _STATEMENTS}
    headings = {name: _heading(texts, statements[name], title) for name, title in _STATEMENTS.items()}
    entries = {name: list_entries(one.figures, headings[name]) for name, one in statements.items()}
    with new_workbook(content) as workbook:
        formats = _formats(workbook, scale)
        _add_summary(workbook, pack, texts, formats)
        for name, statement in statements.items():
            add_statement(workbook, statement.figures, headings[name], entries[name])
        for name, title in _TABLES.items():
            if name in pack.tables:
                _add_table(workbook.add_worksheet(title), texts.title, pack.tables[name], formats)
        _add_appendix(workbook, texts, formats)
        for name, listed in entries.items():
            add_entries(workbook, headings[name].entries_name, listed.lines, statements[name].figures)
    write_workbook_file(path, content.getvalue())


def _heading(texts: WorkbookTexts, statement: Statement, title: str) -> Heading:
    """Texts around a statement."""
    lines = [texts.title, f"{statement.title}, {statement.subtitle()}"]
    return Heading(title, lines, statement.notes, statement.time_zone, f"Entries, {title.lower()}"[:_MAX_NAME])


def _formats(workbook: Any, scale: int) -> _Formats:  # noqa: ANN401 (untyped package)
    number = accounting_format(f"#,##0{'.' if scale else ''}{'0' * scale}")
    return _Formats(
        workbook.add_format({"bold": True, "font_size": 14}),
        workbook.add_format({"bold": True}),
        workbook.add_format({"bold": True, "bottom": 1, "align": "right", "text_wrap": True}),
        workbook.add_format({"text_wrap": True, "valign": "top"}),
        workbook.add_format({"num_format": number, "align": "right"}),
        workbook.add_format({"num_format": number, "align": "right", "bold": True}),
        scale,
    )


def _add_summary(workbook: Any, pack: PackContent, texts: WorkbookTexts, formats: _Formats) -> None:  # noqa: ANN401
    """Add page one: verdict, sentences, key figures, and the pictures below them."""
    sheet = workbook.add_worksheet("Summary")
    _set_page(sheet)
    sheet.write_string(0, 0, _text(texts.title), formats.title)
    sheet.write_string(1, 0, _text(texts.days))
    sheet.write_string(3, 0, _text(texts.proof), formats.bold)
    place = 4
    undecided = [] if pack.undecided is None else [plain(pack.undecided)]
    for text in (*undecided, *pack.reasons, "", *texts.sentences):
        sheet.merge_range(place, 0, place, 4, "", formats.wrapped)
        sheet.write_string(place, 0, _text(text), formats.wrapped)
        sheet.set_row(place, _LINE_HEIGHT * (1 + len(text) // _WRAP))
        place += 1
    place = _write_rows(sheet, place + 1, pack.tables[KEY_FIGURES], formats) + 1
    for picture in pack.pictures.values():
        image = {"image_data": io.BytesIO(picture.png(IN_MAIL)), "x_scale": 0.5, "y_scale": 0.5}
        sheet.write_string(place, 0, _text(picture.text), formats.bold)
        sheet.insert_image(place + 1, 0, f"{picture.name}.png", {**image, "description": _text(picture.text)})
        place += _PICTURE_ROWS
    sheet.write_string(place, 0, _text(f"Fingerprint of the page: {texts.fingerprint}"))


def _add_table(sheet: Any, title: str, table: PackTable, formats: _Formats) -> None:  # noqa: ANN401 (untyped package)
    """Add the sheet of a table that is not a statement."""
    _set_page(sheet)
    sheet.write_string(0, 0, _text(table.table.title), formats.title)
    sheet.write_string(1, 0, _text(title))
    place = _write_rows(sheet, 3, table, formats)
    sheet.freeze_panes(4, 1)
    sheet.repeat_rows(3)
    for number, note in enumerate(table.table.notes, start=place + 1):
        sheet.write_string(number, 0, _text(note))


def _add_appendix(workbook: Any, texts: WorkbookTexts, formats: _Formats) -> None:  # noqa: ANN401 (untyped package)
    """Add certificate, comparisons and assumptions as texts."""
    sheet = workbook.add_worksheet("Appendix")
    _set_page(sheet)
    sheet.set_column(0, 0, _WRAP)
    place = 0
    for title, paragraphs in texts.appendix.items():
        sheet.write_string(place, 0, title, formats.title)
        for number, text in enumerate(paragraphs, start=place + 1):
            sheet.write_string(number, 0, _text(text), formats.wrapped)
        place += len(paragraphs) + 2


def _write_rows(sheet: Any, place: int, table: PackTable, formats: _Formats) -> int:  # noqa: ANN401 (untyped package)
    """Write heads and rows of a table; return the row below."""
    sheet.set_column(0, 0, _LABEL_WIDTH)
    for number, head in enumerate(table.table.heads, start=1):
        sheet.set_column(number, number, _TEXT_WIDTH if head.is_text else _AMOUNT_WIDTH)
        sheet.write_string(place, number, _text(head.text), formats.head)
    for number, row in enumerate(table.table.rows, start=place + 1):
        _write_row(sheet, number, table, row, formats)
    return place + 1 + len(table.table.rows)


def _write_row(sheet: Any, place: int, table: PackTable, row: FigureRow, formats: _Formats) -> None:  # noqa: ANN401
    """Write a row: amounts as numbers, or as text where Excel would change their digits."""
    is_bold = row.kind in _BOLD
    sheet.write_string(place, 0, _text(row.label), formats.bold if is_bold else None)
    shown = formats.bold_amount if is_bold else formats.amount
    for number, cell in enumerate(row.cells, start=1):
        exact = table.figure(cell.key).exact() if cell.key and cell.mark != "unknown" else None
        if exact is not None and fits_float(exact, formats.scale):
            sheet.write_number(place, number, float(exact), shown)
        elif exact is not None:
            sheet.write_string(place, number, f"{exact:,f}", shown)
        else:
            sheet.write_string(place, number, _text(cell.text), shown if cell.key else None)


def _set_page(sheet: Any) -> None:  # noqa: ANN401 (untyped package)
    """Set how a sheet is shown and printed."""
    sheet.hide_gridlines(2)
    sheet.fit_to_pages(1, 0)
    sheet.set_paper(_A4)
    sheet.set_footer("&L&A&RPage &P of &N")


def _text(text: str) -> str:
    return workbook_text(printable(text, " "))
