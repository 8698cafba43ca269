"""Plan file, CSV or Excel: read as people edited it, with new categories by id, unique name or path, and written.

Ids stay text, amounts keep every digit, and no cell is a formula in a spreadsheet.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.errors import InputError, PlanError
from accounting_analytics.core.messages import count_of, quote
from accounting_analytics.core.money import DEFAULT_SCALE, fits_float, fraction_digits
from accounting_analytics.core.schemas import PlanItems
from accounting_analytics.core.sheet_reader import Column, Kind, SheetTable, Value, read_table
from accounting_analytics.core.sheet_writer import write_table
from accounting_analytics.core.workbook import is_workbook, require_xlsxwriter
from accounting_analytics.recategorization.changes import changes_of_frame, find_conflicts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.reports.category_ledgers import Categories

NEW_CATEGORY = ("updated_category_ledger_id", "updated_category_ledger_name")
"""The two columns of a new category."""
_INSTANCE = "instance_id"
_AMOUNTS = ("amount", "category_amount")
_OPTIONAL_IDS = ("group_id", _INSTANCE)
_IDS = ("transaction_id", "ledger_id", "journal_entry_id", "category_ledger_id", "opposing_ledger_ids", *_OPTIONAL_IDS)
_MAY_BE_EMPTY = frozenset({"description", "category_amount", *NEW_CATEGORY, *_OPTIONAL_IDS})
_KINDS = dict.fromkeys(_IDS, Kind.ID) | dict.fromkeys(_AMOUNTS, Kind.AMOUNT) | {"datetime": Kind.INSTANT}


def new_category(ledger_id: str, name: str, chart: Categories | None) -> tuple[str, str]:
    """Id and name of the new category of a row, from its two columns.

    In a chart of accounts each column may hold an id, a unique name or a path, or be empty, and both must mean the same
    ledger. Without a chart the id is as it is written.
    """
    texts = [text for text in (ledger_id, name) if text.strip()]
    if not texts:
        raise InputError("there is no new category; write its id, unique name or path, or remove the row")
    if chart is None:
        if not ledger_id.strip():
            raise InputError(f"{NEW_CATEGORY[0]} is empty; pass ledgers= to find the category by its name")
        return ledger_id, name or ledger_id
    found = chart.names.find(texts[0])
    path = quote(chart.names.path(found))
    if found not in chart.names.matches(texts[-1]):
        raise InputError(
            f"the new category is {path} by {NEW_CATEGORY[0]}, but {quote(name)} by {NEW_CATEGORY[1]}; write one of "
            "the two columns and clear the other"
        )
    if found in chart.cash:
        raise InputError(f"{path} reports cash flow and cannot be a category")
    return found, chart.names.name(found)


class PlanFile(NamedTuple):
    """Content of a plan file, with the new categories as people wrote them, and the instance of its books."""

    table: SheetTable
    instance_id: str | None

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file that a spreadsheet may have saved."""
        names = [*PlanItems.dtypes(), _INSTANCE]
        columns = [Column(name, _KINDS.get(name, Kind.TEXT), may_be_empty=name in _MAY_BE_EMPTY) for name in names]
        file = to_path(path, "path")
        try:
            table = read_table(file, columns, what="a plan")
        except InputError as error:
            raise PlanError(str(error)) from error
        table.problems.refuse(PlanError, effect="nothing was sent")
        instances = {text or None for text in table.columns[_INSTANCE]}
        if len(instances) > 1:
            raise PlanError(f"{file} mixes plans of different instances; keep the rows of one")
        return cls(table, next(iter(instances), None))

    @property
    def notes(self) -> tuple[str, ...]:
        """Say that rows which a filter hides are in the plan."""
        hidden = self.table.hidden
        return (f"{count_of(hidden, 'hidden row')} of the plan file taken into the plan.",) if hidden else ()

    @property
    def days(self) -> tuple[dt.date, dt.date] | None:
        """First and last day of the transactions, in UTC; None without rows."""
        days = [instant.astimezone(dt.UTC).date() for instant in self.table.columns["datetime"]]
        return (min(days), max(days)) if days else None

    @property
    def categories(self) -> list[tuple[str, str]]:
        """The different new categories, as they are written: id and name, of which one may be empty."""
        return list(dict.fromkeys(zip(*(self.table.columns[name] for name in NEW_CATEGORY), strict=True)))

    def items(self, chart: Categories | None) -> pd.DataFrame:
        """Plan items with the new categories that a chart of accounts has, or that are written."""
        problems, found = self.table.problems, []
        for number, row in self.table.rows():
            try:
                found.append(new_category(row[NEW_CATEGORY[0]], row[NEW_CATEGORY[1]], chart))
            except InputError as error:
                problems.add(str(error), number)
        problems.refuse(PlanError, effect="nothing was sent")
        resolved = {name: [one[place] for one in found] for place, name in enumerate(NEW_CATEGORY)}
        frame = _to_frame({**self.table.columns, **resolved})
        for positions, reason in find_conflicts(changes_of_frame(PlanItems.exact(frame).frame)):
            problems.add(reason, *(self.table.numbers[one] for one in positions))
        problems.refuse(PlanError, effect="nothing was sent")
        return frame


def require_same_instance(planned: str | None, instance_id: str) -> None:
    """Refuse an instance that is not the one a plan was made for, if the plan states one."""
    if planned not in {None, instance_id}:
        raise PlanError(f"the plan is for instance {planned!r}, not {instance_id!r}; nothing was sent")


def require_writable_format(file: Path) -> None:
    """Refuse a file that is a workbook by its name, if workbooks cannot be written."""
    if is_workbook(file):
        try:
            require_xlsxwriter()
        except InputError as error:
            raise PlanError(f"the plan was not saved: {error}; or save it as .csv") from error


def write_items(frame: pd.DataFrame, path: str | Path, *, instance_id: str | None) -> None:
    """Write plan items to a CSV file or a workbook; the file is replaced completely or left unchanged."""
    file, rows = to_path(path, "path"), frame.assign(**{_INSTANCE: instance_id or ""})
    try:
        write_table(rows, file, name="plan", ids=(*_IDS, NEW_CATEGORY[0]), editable=NEW_CATEGORY)
    except InputError as error:
        raise PlanError(f"the plan was not saved: {error}") from error


def _to_frame(columns: Mapping[str, list[Value]]) -> pd.DataFrame:
    """Plan items as a table; amounts are decimals if one has too many digits for float64."""
    amounts = [amount for name in _AMOUNTS for amount in columns[name] if amount is not None]
    digits = {fraction_digits(amount) for amount in amounts}
    # a spreadsheet shows 144.00 as 144: fewer digits than usual are certain only if all amounts have as many
    scale = max(digits) if len(digits) == 1 else max(DEFAULT_SCALE, *digits, 0)
    return PlanItems.from_columns(
        {name: columns[name] for name in PlanItems.dtypes()},
        scale,
        as_decimals=any(not fits_float(amount, scale) for amount in amounts),
    )
