"""Plan file, CSV or Excel: read as people edited it, with new categories by id, unique name or path, and written.

Ids stay text, amounts keep every digit, and no cell is a formula in a spreadsheet.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple, Self

import pandas as pd

from accounting_analytics.arguments import to_path
from accounting_analytics.categorization.category_ledgers import Categories, find_named
from accounting_analytics.column_conversion import LIST_SEPARATOR
from accounting_analytics.errors import InputError, PlanError
from accounting_analytics.messages import count_of, join_ids, quote
from accounting_analytics.money import DEFAULT_SCALE, fits_float, fraction_digits
from accounting_analytics.recategorization.changes import changes_of_frame, find_conflicts
from accounting_analytics.schemas import Ledgers, PlanItems, Proposals
from accounting_analytics.sheets.reader import SEPARATORS, Column, Kind, SheetTable, Value, read_table
from accounting_analytics.sheets.workbook import is_workbook, require_xlsxwriter
from accounting_analytics.sheets.writer import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

ID_COLUMN = "updated_category_ledger_id"
NAME_COLUMN = "updated_category_ledger_name"
_INSTANCE = "instance_id"
_AMOUNTS = ("amount", "category_amount")
_OPPOSING = "opposing_ledger_ids"
_CATEGORY = "category_ledger_id"
_GROUP = "group_id"
_IDS = ("transaction_id", "ledger_id", "journal_entry_id", _CATEGORY, _OPPOSING, _GROUP, _INSTANCE)
_MAY_BE_EMPTY = frozenset({"description", "category_amount", ID_COLUMN, NAME_COLUMN, _GROUP, _INSTANCE})
_KINDS = dict.fromkeys(_IDS, Kind.ID) | dict.fromkeys(_AMOUNTS, Kind.AMOUNT) | {"datetime": Kind.INSTANT}


class DiscoveredCategory:
    """New categories looked up in the chart of accounts, and in the names of `others` that exist, by id.

    Each column may hold an id, a unique name or a path, or be empty; both must mean the same ledger.
    """

    def __init__(self, ledgers: pd.DataFrame, others: Mapping[str, str] | None = None) -> None:
        self._chart = Categories(Ledgers.checked(ledgers), set(), others)
        self._names = self._chart.names

    def find(self, ledger_id: str, name: str, where: str) -> tuple[str, str]:
        """Id and name of the one ledger that both columns mean."""
        texts = {column: text for column, text in ((ID_COLUMN, ledger_id), (NAME_COLUMN, name)) if text.strip()}
        if not texts:
            raise PlanError(f"{where}: there is no new category; write its id, unique name or path, or remove the row")
        matches = {column: self._names.matches(text) for column, text in texts.items()}
        common = frozenset.intersection(*matches.values())
        for column, text in texts.items():
            if not matches[column] or len(common) > 1:
                find_named(self._names.find, text, f"{where}: {column}", PlanError)
        if not common:
            meanings = [f"{column} {quote(text)} is {self._paths(matches[column])}" for column, text in texts.items()]
            raise PlanError(
                f"{where}: {', but '.join(meanings)}; write the category in one of the two columns (id, unique name or "
                "path) and clear the other"
            )
        (found,) = common
        if found in self._chart.cash:
            raise PlanError(f"{where}: {self._paths(common)} reports cash flow and cannot be a category")
        return found, self._names.name(found)

    def notes(self, ledger_ids: Iterable[str]) -> tuple[str, ...]:
        """One sentence for each new category that is a parent ledger."""
        return tuple(
            f"The new category {quote(self._names.path(ledger_id))} {hint}"
            for ledger_id in dict.fromkeys(ledger_ids)
            if (hint := self._chart.parent_hint(ledger_id))
        )

    def _paths(self, ledger_ids: frozenset[str]) -> str:
        return " or ".join(quote(path) for path in sorted(map(self._names.path, ledger_ids)))


class WrittenCategory:
    """New categories as a file states them, without a chart of accounts: an id and one name for each id."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, str]] = {}

    def find(self, ledger_id: str, name: str, where: str) -> tuple[str, str]:
        """Id and name as the row states them, if no earlier row gives this id another name."""
        for column, text in ((ID_COLUMN, ledger_id), (NAME_COLUMN, name)):
            if not text:
                raise PlanError(
                    f"{where}: {column} is empty; pass ledgers= to look the category up by the other column"
                )
        rows = self._rows.setdefault(ledger_id, {})
        if rows and name not in rows:
            known_name, known_where = next(iter(rows.items()))
            rows[name] = where  # further rows with this name are not refused again
            raise PlanError(
                f"{where}: ledger {quote(ledger_id)} is named {quote(name)}, but {quote(known_name)} in {known_where}; "
                f"one of the two rows was edited: change {ID_COLUMN} and {NAME_COLUMN} together, or pass ledgers= to "
                "write one and clear the other"
            )
        rows.setdefault(name, where)
        return ledger_id, name

    def notes(self, ledger_ids: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 (as of DiscoveredCategory)
        """Nothing: which ledgers are parents is not known."""
        return ()


NewCategory = DiscoveredCategory | WrittenCategory
"""How the new category of a row is determined from its two columns."""


class PlanFile(NamedTuple):
    """Content of a plan file, with the new categories as people wrote them.

    `instance_id` is that of the books that the plan was made for; `notes` state what was ignored or assumed.
    """

    table: SheetTable
    instance_id: str | None
    notes: tuple[str, ...]

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file that a spreadsheet may have saved."""
        names = [*PlanItems.to_schema().columns, _INSTANCE]
        columns = [Column(name, _KINDS.get(name, Kind.TEXT), may_be_empty=name in _MAY_BE_EMPTY) for name in names]
        file = to_path(path, "path")
        try:
            table = read_table(file, columns, what="a plan")
        except InputError as error:
            raise PlanError(_of_the_plan(str(error))) from error
        for number, row in table.rows():
            for reason in _list_problems(row[_CATEGORY], row[_OPPOSING]):
                table.problems.add(reason, number)
        table.problems.refuse(PlanError, effect="nothing was sent")
        instances = {text or None for text in table.columns[_INSTANCE]}
        if len(instances) > 1:
            raise PlanError(f"{file} mixes plans of different instances; keep the rows of one")
        return cls(table, next(iter(instances), None), tuple(_notes(table)))

    @property
    def days(self) -> tuple[dt.date, dt.date] | None:
        """First and last day of the transactions, in UTC; None without rows."""
        days = [instant.astimezone(dt.UTC).date() for instant in self.table.columns["datetime"]]
        return (min(days), max(days)) if days else None

    @property
    def categories(self) -> list[tuple[str, str]]:
        """The different new categories, as they are written: id and name, of which one may be empty."""
        return list(dict.fromkeys(zip(*(self.table.columns[name] for name in (ID_COLUMN, NAME_COLUMN)), strict=True)))

    def items(self, category: NewCategory) -> pd.DataFrame:
        """Plan items with the new categories that `category` determines."""
        found: dict[str, list[str]] = {ID_COLUMN: [], NAME_COLUMN: []}
        for number, row in self.table.rows():
            try:
                ledger_id, name = category.find(row[ID_COLUMN], row[NAME_COLUMN], f"row {number}")
            except PlanError as error:
                self.table.problems.add(str(error).removeprefix(f"row {number}: "), number)
            else:
                found[ID_COLUMN].append(ledger_id)
                found[NAME_COLUMN].append(name)
        self.table.problems.refuse(PlanError, effect="nothing was sent")
        frame = _to_frame({**self.table.columns, **found})
        for conflict in find_conflicts(changes_of_frame(PlanItems.exact(frame).frame)):
            self.table.problems.add(conflict.reason, *(self.table.numbers[one] for one in conflict.positions))
        self.table.problems.refuse(PlanError, effect="nothing was sent")
        return frame


def resolve_proposals(proposals: pd.DataFrame, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Proposals with the id and name of the ledger that each row means by its new category."""
    category = DiscoveredCategory(ledgers)
    cleared = {name: proposals[name].fillna("").astype("str") for name in (ID_COLUMN, NAME_COLUMN) if name in proposals}
    known = [name for name in Proposals.dtypes() if name in proposals]
    checked = Proposals.checked(proposals.assign(**cleared)[known])
    columns = (checked[name].tolist() for name in ("transaction_id", ID_COLUMN, NAME_COLUMN))
    found = [
        category.find(ledger_id, name, f"row {label} of the proposals (transaction {transaction_id})")
        for label, transaction_id, ledger_id, name in zip(proposals.index.tolist(), *columns, strict=True)
    ]
    ids, names = zip(*found, strict=True) if found else ((), ())
    resolved = {ID_COLUMN: ids, NAME_COLUMN: names}
    return checked.assign(**{name: pd.Series(values, checked.index, dtype="str") for name, values in resolved.items()})


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
    ids, editable = (*_IDS, ID_COLUMN), (ID_COLUMN, NAME_COLUMN)
    try:
        write_table(rows, file, name="plan", ids=ids, editable=editable)
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


def _of_the_plan(message: str) -> str:
    return message if " is not a plan" in message else f"the plan {message}"


def _list_problems(category: Value, opposing: Value) -> Iterator[str]:
    """Yield why the categories of a transaction cannot be used."""
    if not isinstance(opposing, str) or not opposing:
        return
    if opposing.startswith('["'):
        yield f"{_OPPOSING}: the plan was written by an earlier development version; make the plan again"
    elif not all(opposing.split(LIST_SEPARATOR)):
        yield f"{_OPPOSING}: this is not a list of ids; do not edit this column"
    elif isinstance(category, str) and category not in opposing.split(LIST_SEPARATOR):
        yield f"{_CATEGORY} is not in {_OPPOSING}; do not edit these two columns"


def _notes(table: SheetTable) -> Iterator[str]:
    """Yield what was ignored or assumed."""
    if table.separator not in {",", None}:
        yield f"The plan file is separated by {SEPARATORS[table.separator]}."
    if table.others:
        names = join_ids(map(quote, table.others))
        yield f"{count_of(len(table.others), 'other column')} of the plan file ignored: {names}."
    if table.hidden:
        yield f"{count_of(table.hidden, 'hidden row')} of the plan file taken into the plan."
