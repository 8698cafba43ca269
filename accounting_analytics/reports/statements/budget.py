"""A budget: amounts that a person states for ledgers and months."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.chart_of_accounts import LedgerType
from accounting_analytics.core.column_conversion import exact_amounts
from accounting_analytics.core.edited_files import Column, Kind, SheetProblems, read_table, unguard
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.load_metadata import noise_notes
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.reports.figures.figure import OWN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from accounting_analytics.core.column_conversion import ExactColumn
    from accounting_analytics.reports.statements.rows import Chart

BudgetLike = pd.DataFrame | str | Path
"""A table, or the path of a CSV file or an Excel workbook."""
COLUMNS = ("ledger", "month", "amount")
_EXPECTED = "a budget is a table, a CSV file or an Excel workbook with the columns ledger, month (2027-01) and amount"
_OF_FILE = (Column("ledger"), Column("month"), Column("amount", Kind.AMOUNT, may_be_empty=True))
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_MIDNIGHT = " 00:00:00"
_NORMAL_SIDES = {
    LedgerType.ASSET: 1,
    LedgerType.EXPENSE: 1,
    LedgerType.LIABILITY: -1,
    LedgerType.EQUITY: -1,
    LedgerType.REVENUE: -1,
}
"""Side on which the amounts of a budget are positive, by the type of their ledger: 1 debit, -1 credit."""


class BudgetLine(NamedTuple):
    """An amount of a budget.

    Attributes
    ----------
    ledger_id : str
        A ledger; a parent's amount is that of all ledgers below it, too, unless it is its own.
    month : date
        First day of the month.
    units : int
        Signed units, debits positive.
    row : int
        Row of the table, counted from 1, or of the file, as a spreadsheet numbers it.
    is_own : bool
        Whether it is the ledger's own amount, without those below it.
    """

    ledger_id: str
    month: dt.date
    units: int
    row: int
    is_own: bool = False


@dataclass(frozen=True)
class Budget:
    """The amounts of a budget, at most one for each ledger and month.

    Attributes
    ----------
    source : str
        Name of the file, or ``budget``.
    lines : tuple of BudgetLine
        Amounts in the order of months and rows; a ledger and month that are not stated have none, which is not zero.
    notes : tuple of str
        Remarks on its amounts.
    """

    source: str
    lines: tuple[BudgetLine, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def months(self) -> frozenset[dt.date]:
        """Months that have an amount."""
        return frozenset(line.month for line in self.lines)

    @cached_property
    def _by_ledger(self) -> dict[str, list[BudgetLine]]:
        found: defaultdict[str, list[BudgetLine]] = defaultdict(list)
        for line in self.lines:
            found[line.ledger_id].append(line)
        return dict(found)

    def covers(self, months: Collection[dt.date]) -> bool:
        """Test if each of some months has an amount."""
        return self.months.issuperset(months)

    def of(self, ledger_ids: Iterable[str], months: Collection[dt.date]) -> list[BudgetLine]:
        """Return the amounts of some ledgers and months."""
        ledgers = (ledger_id for ledger_id in ledger_ids if ledger_id in self._by_ledger)
        return [line for ledger_id in ledgers for line in self._by_ledger[ledger_id] if line.month in months]

    def ledgers_of(self, months: Collection[dt.date]) -> list[str]:
        """Return the ledgers with an amount in some months."""
        return [
            ledger_id for ledger_id, lines in self._by_ledger.items() if any(line.month in months for line in lines)
        ]


class _StatedRow(NamedTuple):
    """A row as it is stated: its number, ledger, month and amount."""

    number: int
    ledger: str
    month: object
    amount: Decimal


def read_budget(given: BudgetLike, chart: Chart, scale: int, allowed: Collection[str], allowed_text: str) -> Budget:
    """Read a budget. One error reports all rows that cannot be used.

    `allowed` are the ledgers that can have a budget, and `allowed_text` describes them in messages.
    """
    source, notes = "budget", tuple[str, ...]()
    if isinstance(given, str | Path):
        path = to_path(given, "budget")
        problems, rows = read_rows(path)
        source = path.name
    else:
        require_type(given, pd.DataFrame, "budget", _EXPECTED)
        amounts = _amounts_of_frame(given, scale)
        problems, rows = SheetProblems("budget"), list(_rows_of_frame(given, amounts.column))
        notes = tuple(f"Of the budget: {note}" for note in noise_notes(amounts.noise_removed))
    reader = _BudgetReader(chart, scale, frozenset(allowed), allowed_text, problems)
    found = [line for row in rows if (line := reader.line(row)) is not None]
    reader.refuse_repeated(found)
    problems.refuse()
    if not found:
        raise InputError(f"budget: {source} has no amount; {_EXPECTED}")
    return Budget(source, tuple(sorted(found, key=lambda line: (line.month, line.row))), notes)


def read_rows(path: Path) -> tuple[SheetProblems, list[_StatedRow]]:
    """Read the rows of a file that have an amount, and a collector for their problems."""
    try:
        table = read_table(path, _OF_FILE, what="a budget")
    except InputError as error:
        raise InputError(f"budget: {error}; {_EXPECTED}") from None
    is_workbook = table.separator is None
    rows = []
    for number, row in table.rows():
        month = row["month"].strip()
        if is_workbook and month.endswith(_MIDNIGHT):  # a spreadsheet program turns 2027-01 into a date
            month = pd.Timestamp(month)
        if isinstance(row["amount"], Decimal) and row["ledger"] and month != "":
            rows.append(_StatedRow(number, row["ledger"], month, row["amount"]))
    return table.problems, rows


def _amounts_of_frame(frame: pd.DataFrame, scale: int) -> ExactColumn:
    """Read the amounts of a table, and check its columns."""
    if missing := [name for name in COLUMNS if name not in frame]:
        raise InputError(f"budget lacks {join_ids(missing)}; {_EXPECTED}")
    if twice := [name for name in COLUMNS if list(frame.columns).count(name) > 1]:
        raise InputError(f"budget has {join_ids(twice)} more than once; {_EXPECTED}")
    numbers = pd.Series(range(1, len(frame) + 1), name="row")
    try:
        return exact_amounts(frame["amount"].reset_index(drop=True), scale, numbers)
    except InputError as error:
        raise type(error)(f"budget: {error}") from None


def _rows_of_frame(frame: pd.DataFrame, amounts: pd.Series[Any]) -> Iterator[_StatedRow]:
    """Yield the rows of a table that have an amount."""
    rows = zip(frame["ledger"], frame["month"], amounts, strict=True)
    for number, (ledger, month, amount) in enumerate(rows, start=1):
        if not pd.isna(amount):
            text = unguard(ledger) if isinstance(ledger, str) else ledger
            yield _StatedRow(number, text, unguard(month) if isinstance(month, str) else month, amount)


class _BudgetReader:
    """Reader of stated rows, which collects problems.

    The reader finds ledgers, months and units.
    """

    def __init__(
        self, chart: Chart, scale: int, allowed: frozenset[str], allowed_text: str, problems: SheetProblems
    ) -> None:
        self._chart, self._scale, self._problems = chart, scale, problems
        self._allowed, self._allowed_text = allowed, allowed_text

    def line(self, row: _StatedRow) -> BudgetLine | None:
        """Read a row, or add a problem and return None."""
        names, text = self._chart.names, row.ledger
        is_own = isinstance(text, str) and text.startswith(OWN) and text not in names
        try:
            ledger_id = names.find(text.removeprefix(OWN) if is_own else text)
            month = _read_month(row.month)
            units = to_minor_units(row.amount, self._scale)
        except InputError as error:
            self._problems.add(str(error), row.number)
            return None
        path = names.path(ledger_id)
        if ledger_id not in self._allowed:
            self._problems.add(f"{quote(path)} has no budget here: {self._allowed_text}", row.number)
            return None
        side = _NORMAL_SIDES[LedgerType(self._chart.type_of(ledger_id))]
        return BudgetLine(ledger_id, month, side * units, row.number, is_own)

    def refuse_repeated(self, lines: Iterable[BudgetLine]) -> None:
        """Refuse repeated amounts, and an amount of a parent beside an amount of a ledger below it."""
        stated: dict[tuple[str, dt.date], BudgetLine] = {}
        path, ancestors = self._chart.names.path, self._chart.tree.hierarchy.ancestors
        for line in lines:
            first = stated.setdefault((line.ledger_id, line.month), line)
            if first is not line:
                what = f"{quote(path(line.ledger_id))} has an amount for {line.month:%Y-%m} in row {first.row} already"
                self._problems.add(f"{what}; give one of them, or their sum", line.row)
        for line in stated.values():
            parents = (stated.get((parent_id, line.month)) for parent_id in ancestors(line.ledger_id))
            above = next((parent for parent in parents if parent is not None and not parent.is_own), None)
            if above is not None:
                self._problems.add(
                    f"{quote(path(line.ledger_id))} is below {quote(path(above.ledger_id))}, which has an amount for "
                    f"{line.month:%Y-%m} in row {above.row}: it may be a part of that or come on top; give the amounts "
                    f"of one level, or write {quote(OWN + path(above.ledger_id))} for what is its own alone",
                    line.row,
                )


def _read_month(value: Any) -> dt.date:  # noqa: ANN401 (a cell; what is not a month is refused)
    """Read a month, and return its first day."""
    if isinstance(value, str) and _MONTH.fullmatch(value.strip()) and not value.startswith("0000"):
        return dt.date.fromisoformat(f"{value.strip()}-01")
    if isinstance(value, pd.Period) and value.freqstr == "M":
        return dt.date(value.year, value.month, 1)
    if isinstance(value, dt.date) and not pd.isna(value):
        is_midnight = not isinstance(value, dt.datetime) or (value.time() == dt.time() and value.tzinfo is None)
        if value.day == 1 and is_midnight:
            return dt.date(value.year, value.month, 1)
        raise InputError(f"month: {value} is a day, not a month; write it as {value.year}-{value.month:02}")
    raise InputError(f"month: {quote(value)} is not a month; write it as 2027-01")


def source_note(budget: Budget) -> str:
    """Describe the source of the budget, and how the difference from the budget is signed."""
    ledgers = count_of(len({line.ledger_id for line in budget.lines}), "ledger")
    first, last = min(budget.months), max(budget.months)
    return (
        f"The budget is stated ({budget.source}: {ledgers}, {first:%Y-%m} to {last:%Y-%m}); the difference is actual "
        "less budget."
    )
