"""Plan file, CSV or Excel: read as people edited it, with new categories by id, unique name or path, and written.

Ids stay text, amounts keep every digit, and no cell is a formula in a spreadsheet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.core.arguments import to_path
from accounting_analytics.core.errors import InputError, PlanError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import DEFAULT_SCALE, fits_float, fraction_digits
from accounting_analytics.core.schemas import PlanItems
from accounting_analytics.core.sheet_reader import Column, Kind, SheetTable, Value, read_table
from accounting_analytics.core.sheet_writer import write_table
from accounting_analytics.recategorization.changes import changes_of_frame, find_conflicts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.reports.category_ledgers import Categories

NEW_CATEGORY = ("updated_category_ledger_id", "updated_category_ledger_name")
"""The two columns of a new category."""
_INSTANCE = "instance_id"
_AMOUNTS = ("transaction_amount", "uncategorized_amount")
_OPTIONAL_IDS = ("group_id", _INSTANCE)
_IDS = ("transaction_id", "ledger_id", "journal_entry_id", "category_ledger_id", "opposing_ledger_ids", *_OPTIONAL_IDS)
_MAY_BE_EMPTY = frozenset({"description", *NEW_CATEGORY, *_OPTIONAL_IDS})
_KINDS = dict.fromkeys(_IDS, Kind.ID) | dict.fromkeys(_AMOUNTS, Kind.AMOUNT) | {"datetime": Kind.INSTANT}


def _new_category(row: Mapping[str, Value], chart: Categories | None) -> tuple[str, str]:
    """Id and name of the new category of a row; without a chart of accounts the id is as it is written."""
    ledger_id, name = (row[column] for column in NEW_CATEGORY)
    if chart is not None:
        found = chart.find_edited(ledger_id, name)
        return found, chart.names.name(found)
    if not ledger_id.strip():
        raise InputError(f"{NEW_CATEGORY[0]} is empty; pass ledgers= to find the category by its name")
    return ledger_id, name or ledger_id


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

    def items(self, chart: Categories | None) -> pd.DataFrame:
        """Plan items with the new categories that a chart of accounts has, or that are written."""
        problems, found = self.table.problems, []
        for number, row in self.table.rows():
            try:
                found.append(_new_category(row, chart))
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


def write_items(frame: pd.DataFrame, path: str | Path, *, instance_id: str | None) -> None:
    """Write plan items to a CSV file or a workbook; the file is replaced completely or left unchanged."""
    file, rows = to_path(path, "path"), frame.assign(**{_INSTANCE: instance_id or ""})
    try:
        write_table(rows, file, name="plan", ids=(*_IDS, NEW_CATEGORY[0]), editable=NEW_CATEGORY)
    except InputError as error:
        raise PlanError(f"the plan was not saved: {error}") from error


def _to_frame(columns: Mapping[str, list[Value]]) -> pd.DataFrame:
    """Plan items as a table; amounts are decimals if one has too many digits for float64."""
    amounts = [amount for name in _AMOUNTS for amount in columns[name]]
    digits = {fraction_digits(amount) for amount in amounts}
    # a spreadsheet shows 144.00 as 144: fewer digits than usual are certain only if all amounts have as many
    scale = max(digits) if len(digits) == 1 else max(DEFAULT_SCALE, *digits, 0)
    return PlanItems.from_columns(
        {name: columns[name] for name in PlanItems.dtypes()},
        scale,
        as_decimals=any(not fits_float(amount, scale) for amount in amounts),
    )
