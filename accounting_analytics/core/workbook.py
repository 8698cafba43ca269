"""Excel workbooks in which texts stay texts, and no amount loses a digit."""

from __future__ import annotations

import datetime as dt
import io
import re
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.core.amount_units import AMOUNT_UNITS
from accounting_analytics.core.atomic_files import replace_file
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.extras import import_extra
from accounting_analytics.core.messages import printable, shorten
from accounting_analytics.core.money import MAX_UNITS, fraction_digits, to_minor_units

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from accounting_analytics.core.amount_units import AmountsIn

WORKBOOK_SUFFIX = ".xlsx"
MAX_ROWS, MAX_TEXT = 1_048_576, 32_767
_AS_TEXT = {"strings_to_formulas": False, "strings_to_numbers": False, "strings_to_urls": False}
_NOT_IN_WORKBOOKS = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|x005F_")
"""Characters that XML does not have, and the escape code of workbooks for them."""
_NOT_IN_NAMES, _MAX_NAME = "[]:*?/\\", 31
FIRST_DAY = dt.date(1900, 3, 1)
"""Days before this day are written as text, because Excel counts 29 February 1900, which did not exist."""
_MIN_WIDTH, _MAX_WIDTH, _MEASURED_ROWS = 8, 60, 200
_MARGIN = 3
"""Width, in characters, of the filter button in a header."""
_CHOICES = "choices"
Place = tuple[int, int]
"""Row and column of a cell, from 0."""


class ColumnSheet(NamedTuple):
    """A sheet of columns: line entries, ledgers, or a table to edit.

    Attributes
    ----------
    name : str
        Name of the sheet.
    columns : mapping
        The values of each column: texts, Decimals, days, instants in UTC; null is an empty cell.
    editable : collection of str
        Columns whose heading has a colour; where there are some, all columns of text are formatted as such.
    choices : sequence of str
        Values that a list offers in the first column, from a sheet of their own; other text stays possible.
    """

    name: str
    columns: Mapping[str, Sequence[Any]]
    editable: Collection[str] = ()
    choices: Sequence[str] = ()

    @property
    def row_count(self) -> int:
        """Number of rows of the table."""
        return len(next(iter(self.columns.values())))


class Workbook:
    """A workbook that is being written. Equal formats are created only once."""

    def __init__(self, made: Any, amount_format: str) -> None:  # noqa: ANN401 (untyped package)
        self.amount_format = amount_format
        self._made = made
        self._formats: dict[tuple[tuple[str, object], ...], Any] = {}

    def format(self, **properties: object) -> Any:  # noqa: ANN401 (untyped package)
        """Return the format with these properties."""
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self._made.add_format(properties)
        return self._formats[key]

    def add_sheet(self, name: str, *, is_landscape: bool = False) -> Any:  # noqa: ANN401 (untyped package)
        """Add an empty sheet that prints as wide as a page."""
        sheet = self._made.add_worksheet(_sheet_name(name))
        sheet.fit_to_pages(1, 0)
        sheet.set_footer("&L&A&RPage &P of &N")
        if is_landscape:
            sheet.set_landscape()
        return sheet

    def add_columns(self, sheet: ColumnSheet) -> None:
        """Add a sheet of columns that people filter and print."""
        worksheet = self.add_sheet(sheet.name, is_landscape=True)
        worksheet.freeze_panes(1, 0)
        worksheet.repeat_rows(0, 0)
        worksheet.autofilter(0, 0, sheet.row_count, len(sheet.columns) - 1)
        text = self.format(num_format="@") if sheet.editable else None
        amount = self.format(num_format=self.amount_format, align="right")
        for place, (name, values) in enumerate(sheet.columns.items()):
            is_text = all(value is None or isinstance(value, str) for value in values)
            worksheet.set_column(place, place, _width(name, values), text if is_text else None)
            colour = {"bg_color": "#FFF2CC"} if name in sheet.editable else {}
            worksheet.write_string(0, place, name, self.format(bold=True, bottom=1, **colour))
            for row, value in enumerate(values, start=1):
                self._write(worksheet, (row, place), value, text, amount)
        if sheet.choices:
            self._offer(worksheet, sheet)

    def _write(
        self,
        worksheet: Any,  # noqa: ANN401 (untyped package)
        place: Place,
        value: Any,  # noqa: ANN401 (any cell)
        of_text: Any,  # noqa: ANN401 (a format)
        of_amount: Any,  # noqa: ANN401 (a format)
    ) -> None:
        """Write a cell with its type.

        If Excel would change the value, write a text instead.
        """
        if isinstance(value, Decimal):
            if has_too_many_digits(value):
                worksheet.write_string(*place, f"{value:,f}", of_amount)
            else:
                worksheet.write_number(*place, float(value), of_amount)
        elif isinstance(value, bool):
            worksheet.write_boolean(*place, value)
        elif isinstance(value, int | float):
            worksheet.write_number(*place, value)
        elif isinstance(value, dt.datetime) and value.date() >= FIRST_DAY:
            shown = self.format(num_format="yyyy-mm-dd hh:mm:ss")
            worksheet.write_datetime(*place, value.replace(tzinfo=None), shown)
        elif isinstance(value, dt.date) and not isinstance(value, dt.datetime) and value >= FIRST_DAY:
            worksheet.write_datetime(*place, value, self.format(num_format="yyyy-mm-dd", align="left"))
        elif value is not None:
            worksheet.write_string(*place, workbook_text(str(value)), of_text)

    def _offer(self, worksheet: Any, sheet: ColumnSheet) -> None:  # noqa: ANN401
        """Offer choices in the first column. Other texts remain possible."""
        choices, text = self._made.add_worksheet(_CHOICES), self.format(num_format="@")
        choices.set_column(0, 0, _width("", sheet.choices), text)
        choices.write_column(0, 0, sheet.choices, text)
        offered = {
            "validate": "list",
            "source": f"={_CHOICES}!$A$1:$A${len(sheet.choices)}",
            "error_type": "warning",
            "error_title": "Not in the list",
            "error_message": f"The sheet {_CHOICES} does not have this text. Is it an id or a unique name?",
        }
        worksheet.data_validation(1, 0, max(sheet.row_count, 1), 0, offered)


@contextmanager
def new_workbook(path: Path, amount_format: str, *, private: bool = False) -> Iterator[Workbook]:
    """Create a workbook that replaces the file when the block ends."""
    xlsxwriter = require_xlsxwriter()
    content = io.BytesIO()
    with xlsxwriter.Workbook(content, {**_AS_TEXT, "in_memory": True}) as made:
        yield Workbook(made, amount_format)
    write_file(path, content.getvalue(), private=private)


def write_file(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file, which is replaced completely or left unchanged."""
    try:
        replace_file(path, lambda file: file.write(content), private=private)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; the previous content is unchanged") from error


def is_workbook(file: Path) -> bool:
    """Return whether a file has the name of an Excel workbook."""
    return file.suffix.lower() == WORKBOOK_SUFFIX


def require_xlsxwriter() -> Any:  # noqa: ANN401 (a module)
    """Import the package that writes workbooks."""
    return import_extra("xlsxwriter", "excel", "an Excel workbook")


def require_workbook_name(path: Path) -> None:
    """Refuse a file name that no workbook has, and a missing package."""
    require_xlsxwriter()
    if not is_workbook(path):
        raise InputError(f"{path}: a workbook needs a name that ends in {WORKBOOK_SUFFIX}; nothing was written")


def workbook_text(text: str) -> str:
    """Replace characters that XML lacks, and shorten text to a cell."""
    return shorten(_NOT_IN_WORKBOOKS.sub("\N{REPLACEMENT CHARACTER}", text), limit=MAX_TEXT)


def line_text(text: str) -> str:
    """Convert a text to one text line in a cell."""
    return workbook_text(printable(text, " "))


def is_text_of_a_workbook(text: str) -> bool:
    """Return whether a workbook can hold all characters of a text."""
    return not _NOT_IN_WORKBOOKS.search(text)


def has_too_many_digits(amount: Decimal) -> bool:
    """Return whether an amount exceeds the 15 digits that Excel keeps."""
    return abs(to_minor_units(amount, fraction_digits(amount))) >= MAX_UNITS


def grouped_format(scale: int) -> str:
    """Return a number format with thousands separators."""
    return f"#,##0{'.' if scale else ''}{'0' * scale}"


def amount_format(scale: int, amounts_in: AmountsIn | None) -> str:
    """Return a number format, optionally in thousands or millions.

    Each comma at its end leaves out three digits.
    """
    if amounts_in is None:
        return grouped_format(scale)
    unit = AMOUNT_UNITS[amounts_in]
    return f"{grouped_format(unit.digits)}{',' * (unit.zeros // 3)}"


def accounting_format(number: str) -> str:
    """Return a format with parentheses for negatives and a dash for zero."""
    return f'{number}_);({number});"–"_);@_)'  # noqa: RUF001 (an en dash)


def _sheet_name(title: str) -> str:
    """Shorten a title to a valid sheet name."""
    name = "".join(" " if letter in _NOT_IN_NAMES else letter for letter in printable(title, " "))
    return name[:_MAX_NAME].strip("' ") or "Sheet"


def _width(name: str, values: Sequence[Any]) -> int:
    """Return a column width that fits all amounts.

    Excel shows ``###`` for amounts that are too wide.
    """
    amounts = [value for value in values if isinstance(value, Decimal)]
    if amounts:
        shown = [f"{amount:,f}" for amount in (min(amounts), max(amounts), sum(amounts, Decimal(0)))]
        return max(len(text) for text in (name, *shown)) + _MARGIN
    longest = max((len(str(value)) for value in values[:_MEASURED_ROWS]), default=0)
    return min(_MAX_WIDTH, max(len(name), longest, _MIN_WIDTH) + _MARGIN)
