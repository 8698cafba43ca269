"""A pack as an Excel workbook: page one, statements with formulas and entries, other tables."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.workbook import (
    accounting_format,
    grouped_format,
    line_text,
    new_workbook,
    require_workbook_name,
)
from accounting_analytics.pack.pack_pictures import IN_WORKBOOK
from accounting_analytics.pack.pack_sentences import plain
from accounting_analytics.pack.section_tables import KEY_FIGURES
from accounting_analytics.reports.figures.figure_sheet import FigureSheet
from accounting_analytics.reports.statements.statement_files import statement_sheets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.core.workbook import Workbook
    from accounting_analytics.pack.pack_content import PackContent

_STATEMENTS = {"income": "Income statement", "cash_flow": "Cash flow statement", "balance": "Balance sheet"}
_TABLES = {
    "budget": "Budget and actual",
    "twelve_months": "Twelve months",
    "key_ratios": "Key ratios",
    "cash_bridge": "Cash bridge",
    "cash_accounts": "Cash accounts",
    "cash_by_day": "Cash by day",
    "flows": "Cash in and out",
    "customers": "Top customers",
    "payees": "Top payees",
    "recurring": "Recurring payments",
    "due": "Due next",
    "outlook": "Next weeks",
    "ageing": "By age",
    "uncategorized": "Not categorized",
    "coding": "Coding",
    "changes": "Changes",
    "reported_cash": "Reconciliation",
}
_LABEL_WIDTH, _AMOUNT_WIDTH, _WRAP = 44, 16, 110
_LAST_COLUMN = 4
_LINE_HEIGHT, _PICTURE_ROWS = 15, 26


class WorkbookTexts(NamedTuple):
    """Texts of a workbook in addition to the tables of its pack.

    Attributes
    ----------
    title, days : str
        Company and period; days, zone and currency.
    proof : str
        Whether the cash flow is proven.
    sentences : sequence of str
        What its owner says, what changed, and why.
    appendix : mapping
        Texts of the appendix by their heading.
    fingerprint : str
        Fingerprint of the page.
    unit_notes : sequence of str
        How amounts in a unit are rounded.
    """

    title: str
    days: str
    proof: str
    sentences: Sequence[str]
    appendix: Mapping[str, Sequence[str]]
    fingerprint: str
    unit_notes: Sequence[str] = ()


def write_pack_workbook(pack: PackContent, texts: WorkbookTexts, path: Path) -> None:
    """Write the workbook of a pack. An existing file is replaced completely or left unchanged."""
    require_workbook_name(path)
    statements = []
    for name, title in _STATEMENTS.items():
        one = getattr(pack.statements, name)
        lines = [texts.title, f"{one.title}, {one.subtitle()}"]
        statements.append(statement_sheets(one.figures, title, lines, one.notes, f"Entries, {title.lower()}"))
    with new_workbook(path, accounting_format(grouped_format(pack.entries.scale))) as workbook:
        _add_summary(workbook, pack, texts)
        for sheet, _ in statements:
            sheet.add_to(workbook)
        for name, title in _TABLES.items():
            if name in pack.tables:
                table = pack.tables[name].table
                lines = [table.title, texts.title, *texts.unit_notes]
                FigureSheet(title, lines, table).add_to(workbook)
        _add_appendix(workbook, texts)
        for _, entries in statements:
            if entries.row_count:
                workbook.add_columns(entries)


def _add_summary(workbook: Workbook, pack: PackContent, texts: WorkbookTexts) -> None:
    """Add page one: verdict, sentences, key figures, and the pictures below them."""
    sheet, bold = workbook.add_sheet("Summary"), workbook.format(bold=True)
    wrapped = workbook.format(text_wrap=True, valign="top")
    sheet.write_string(0, 0, line_text(texts.title), workbook.format(bold=True, font_size=14))
    sheet.write_string(1, 0, line_text(texts.days))
    sheet.write_string(3, 0, line_text(texts.proof), bold)
    place = 4
    undecided = [] if pack.undecided is None else [plain(pack.undecided)]
    for text in (*undecided, *pack.reasons, *texts.unit_notes, "", *texts.sentences):
        sheet.merge_range(place, 0, place, _LAST_COLUMN, "", wrapped)
        sheet.write_string(place, 0, line_text(text), wrapped)
        sheet.set_row(place, _LINE_HEIGHT * (1 + len(text) // _WRAP))
        place += 1
    key_figures = FigureSheet("Summary", (), pack.tables[KEY_FIGURES].table)
    place = key_figures.write_rows(workbook, sheet, place + 1) + 1
    sheet.set_column(0, 0, _LABEL_WIDTH)
    sheet.set_column(1, _LAST_COLUMN, _AMOUNT_WIDTH)
    for picture in pack.pictures.values():
        image = {"image_data": io.BytesIO(picture.png(IN_WORKBOOK)), "x_scale": 0.5, "y_scale": 0.5}
        sheet.write_string(place, 0, line_text(picture.text), bold)
        sheet.insert_image(place + 1, 0, f"{picture.name}.png", {**image, "description": line_text(picture.text)})
        place += _PICTURE_ROWS
    sheet.write_string(place, 0, line_text(f"Fingerprint of the page: {texts.fingerprint}"))


def _add_appendix(workbook: Workbook, texts: WorkbookTexts) -> None:
    """Add certificate, comparisons and assumptions as texts."""
    sheet: Any = workbook.add_sheet("Appendix")
    sheet.hide_gridlines(2)
    sheet.set_column(0, 0, _WRAP)
    place = 0
    for title, paragraphs in texts.appendix.items():
        sheet.write_string(place, 0, title, workbook.format(bold=True, font_size=14))
        for number, text in enumerate(paragraphs, start=place + 1):
            sheet.write_string(number, 0, line_text(text), workbook.format(text_wrap=True, valign="top"))
        place += len(paragraphs) + 2
