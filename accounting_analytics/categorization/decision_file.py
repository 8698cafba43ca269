"""Decision file: the queue as a CSV file or Excel workbook for categories that a person decides, and how it is read.

A row with a category decides the transaction of its ``transaction_id``, or else the group of its ``group_id``. The
category is a ledger's id, unique name or path. Rows without a category decide nothing, and their order does not matter:
the row of a transaction has precedence over that of its group. All other columns are for the reader.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.arguments import to_path
from accounting_analytics.atomic_files import write_text
from accounting_analytics.categorization.categories import Categories
from accounting_analytics.categorization.groups import group_queue, with_groups
from accounting_analytics.errors import InputError
from accounting_analytics.messages import first_lines, fit_terminal, join_ids, printable, quote
from accounting_analytics.periods import LOCALTIME, zone
from accounting_analytics.schemas import Ledgers, Queue, QueueGroups
from accounting_analytics.sheets.rows import SheetRow, read_sheet
from accounting_analytics.sheets.values import Invalid, decimal_marks, read_amount
from accounting_analytics.sheets.workbook import WORKBOOK_SUFFIX, require_xlsxwriter, write_workbook
from accounting_analytics.spreadsheet_cells import BYTE_ORDER_MARK, guard, unguard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.sheets.rows import Cell, Sheet

CATEGORY, GROUP, TRANSACTION, AMOUNT = "category", "group_id", "transaction_id", "amount"
_GROUP_COLUMNS = (
    "kind",
    "merchant",
    "direction",
    "ledger_name",
    "counterpart_ledger_name",
    "transaction_count",
    AMOUNT,
    "first_date",
    "last_date",
    "description",
    GROUP,
)
_TRANSACTION_COLUMNS = (
    "kind",
    "merchant",
    "direction",
    "ledger_name",
    AMOUNT,
    "date",
    "description",
    GROUP,
    TRANSACTION,
)
_SUFFIXES = (".csv", WORKBOOK_SUFFIX)
_SHEET = "decisions"


class Decision(NamedTuple):
    """One row with a category.

    Attributes
    ----------
    category : str
        Id, unique name or path.
    row : int
        Number of the row as a spreadsheet shows it.
    amount : Decimal or None
        Sum of the group when the file was written; None where the row does not have it.
    """

    category: str
    row: int
    amount: Decimal | None = None


class Decisions(Mapping[str, str]):
    """The decisions of a file: category of each group and then of each transaction, as :func:`decide` takes them."""

    def __init__(self, decisions: Mapping[str, Decision], source: str) -> None:
        self._decisions = dict(decisions)
        self.source = source

    def __getitem__(self, key: str) -> str:
        """Category of a group or transaction."""
        return self._decisions[key].category

    def __iter__(self) -> Iterator[str]:
        """Yield ids of groups, then of transactions."""
        return iter(self._decisions)

    def __len__(self) -> int:
        """Count the decided groups and transactions."""
        return len(self._decisions)

    def __repr__(self) -> str:
        lines = [f"- {key}: {category}" for key, category in self.items()]
        return fit_terminal("\n".join(map(printable, [f"{len(self)} decision(s) of {self.source}", *lines])))

    def row(self, key: str) -> int:
        """Row of a decision."""
        return self._decisions[key].row

    def amount(self, key: str) -> Decimal | None:
        """Sum of a decided group when the file was written, where that is known."""
        return self._decisions[key].amount


def load_decisions(path: str | Path) -> Decisions:
    """Load the decisions of a file that ``accounting-analytics queue --output`` wrote and a person filled in.

    Parameters
    ----------
    path : path
        A CSV file, or an Excel workbook with the extra ``excel``, with the columns ``category`` and ``group_id`` or
        ``transaction_id``; others are not needed.

    Raises
    ------
    InputError
        The file cannot be read or has no decision, or rows cannot be used; the message names all of them.

    Examples
    --------
    ::

        decided = decide(queue, load_decisions("decisions.csv"), ledgers)
        proposals = combine_proposals(propose(queue, rules, ledgers), decided)
    """
    file = to_path(path, "path")
    sheet = read_sheet(file, (CATEGORY, GROUP, TRANSACTION))
    rows = _rows(sheet, file)
    marks = decimal_marks(row.get(AMOUNT, "") for _, row in rows)
    groups: dict[str, Decision] = {}
    transactions: dict[str, Decision] = {}
    problems = []
    for number, row in rows:
        category, transaction, group = (unguard(_text(row.get(name, ""))) for name in (CATEGORY, TRANSACTION, GROUP))
        if not category.strip():
            continue
        cell = "" if transaction else row.get(AMOUNT, "")
        amount = None if cell == "" else read_amount(cell, marks, sheet.separator)
        if isinstance(amount, Invalid):
            problems.append(
                f"row {number}: the {AMOUNT} of {quote(group)} shows whether the group has changed since, but "
                f"{amount.reason}, or clear the cell"
            )
            continue
        decision = Decision(category.strip(), number, amount)
        decisions, key = (transactions, transaction) if transaction else (groups, group)
        if problem := _problem(decisions, key, decision):
            problems.append(problem)
        decisions.setdefault(key, decision)
    refuse(problems, str(file))
    if not groups and not transactions:
        msg = (
            f"{file} has no decision: the column {CATEGORY} is empty; write the id, unique name or path of a ledger "
            "there, and save the file"
        )
        raise InputError(msg)
    return Decisions({**groups, **transactions}, str(file))


def refuse(problems: Sequence[str], source: str = "") -> None:
    """Raise one InputError for all problems, if there are any."""
    if len(problems) == 1:
        msg = f"{source}, {problems[0]}" if source else problems[0]
        raise InputError(msg)
    if problems:
        head = f"{source or 'the decisions'} cannot be used; correct these {len(problems):,} problems:"
        raise InputError("\n".join([head, *first_lines(problems)]))


def require_new_file(path: Path) -> None:
    """Refuse a file that exists, since it may hold decisions, of another format, or whose folder does not exist.

    Raises
    ------
    InputError
        It cannot be created.
    """
    if path.suffix.lower() not in _SUFFIXES:
        msg = f"{path}: decisions are written as CSV or as an Excel workbook; give a name that ends in .xlsx or .csv"
        raise InputError(msg)
    if _is_workbook(path):
        require_xlsxwriter()
    if path.exists():
        msg = f"{path} exists and may hold decisions, so it is not replaced; give another name, or move it"
        raise InputError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"folder {path.absolute().parent} for the file does not exist"
        raise InputError(msg)


def write_groups(queue: pd.DataFrame, path: Path, *, time_zone: str, ledgers: pd.DataFrame | None = None) -> int:
    """Write the groups of a queue with an empty category each, most money first; return how many.

    Split transactions are left out, because they cannot be decided.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    path : Path
        New file: an Excel workbook if it ends in ``.xlsx``, otherwise CSV.
    time_zone : str
        Zone of the dates.
    ledgers : DataFrame, optional
        :class:`~accounting_analytics.schemas.Ledgers`: a workbook offers the paths of those that can be categories.
    """
    groups = QueueGroups.exact(group_queue(queue)).frame
    return _write(
        groups.assign(
            first_date=_dates(groups["first_datetime"], time_zone), last_date=_dates(groups["last_datetime"], time_zone)
        ),
        _GROUP_COLUMNS,
        path,
        _choices(queue, ledgers),
    )


def write_transactions(queue: pd.DataFrame, path: Path, *, time_zone: str, ledgers: pd.DataFrame | None = None) -> int:
    """Write the transactions of a queue with an empty category each; as :func:`write_groups`."""
    rows = with_groups(Queue.exact(queue).frame)
    dated = rows.assign(date=_dates(rows["datetime"], time_zone))
    return _write(dated, _TRANSACTION_COLUMNS, path, _choices(queue, ledgers))


def _choices(queue: pd.DataFrame, ledgers: pd.DataFrame | None) -> list[str]:
    """Paths of the ledgers that can be categories."""
    if ledgers is None:
        return []
    return Categories(Ledgers.checked(ledgers), set(queue["category_ledger_id"])).paths()


def _dates(instants: pd.Series[Any], time_zone: str) -> pd.Series[Any]:
    """Local dates as text; the zone of the service is not known here, so ``localtime`` is UTC."""
    tz = zone("UTC" if time_zone == LOCALTIME else time_zone)
    dates: pd.Series[Any] = instants.dt.tz_convert(tz).dt.strftime("%Y-%m-%d")
    return dates


def _write(rows: pd.DataFrame, columns: Sequence[str], path: Path, choices: Sequence[str]) -> int:
    require_new_file(path)
    decidable = rows.loc[rows["kind"] != "split", list(columns)]
    if _is_workbook(path):
        table = decidable.assign(**{CATEGORY: ""})[[CATEGORY, *columns]]
        ids = [name for name in (GROUP, TRANSACTION) if name in columns]
        write_workbook(table, path, name=_SHEET, ids=ids, editable=(CATEGORY,), choices=choices)
    else:
        _write_csv(decidable, path)
    return len(decidable)


def _is_workbook(path: Path) -> bool:
    return path.suffix.lower() == WORKBOOK_SUFFIX


def _write_csv(rows: pd.DataFrame, path: Path) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([CATEGORY, *rows.columns])
    dates = {"date", "first_date", "last_date"}
    for row in rows.itertuples(index=False):
        cells = (_cell(value, is_text=name not in dates) for name, value in zip(rows.columns, row, strict=True))
        writer.writerow(["", *cells])
    write_text(path, f"{BYTE_ORDER_MARK}{text.getvalue()}", private=True)


def _cell(value: object, *, is_text: bool) -> str:
    """Format a cell: amounts with all digits, counts and dates as they are, missing text as nothing."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if not isinstance(value, str):
        return str(value) if isinstance(value, int) else ""
    return guard(value) if is_text else value


def _rows(sheet: Sheet, file: Path) -> list[tuple[int, dict[str, Cell]]]:
    """Cells of each row by the names of the columns, and the number of the row."""
    first, *others = [*sheet.rows, SheetRow(0, [])]
    header = [_text(cell).strip().casefold() for cell in first.cells]
    if CATEGORY not in header or not {GROUP, TRANSACTION}.intersection(header):
        msg = (
            f"{file} is not a file of decisions: its first row needs the columns {CATEGORY} and {GROUP} or "
            f"{TRANSACTION}, and has {join_ids(map(quote, filter(None, header))) or 'none'}"
        )
        raise InputError(msg)
    return [(row.number, dict(zip(header, row.cells, strict=False))) for row in others]


def _text(cell: Cell) -> str:
    """Text of a cell; a number without exponent."""
    return f"{cell:f}" if isinstance(cell, Decimal) else str(cell)


def _problem(decisions: Mapping[str, Decision], key: str, decision: Decision) -> str:
    """Sentence about a row that cannot be used; empty if it can."""
    if not key.strip():
        return f"row {decision.row} has a category, but neither {GROUP} nor {TRANSACTION}"
    other = decisions.get(key)
    if other and other.category != decision.category:
        return (
            f"row {decision.row} gives {quote(key)} the category {quote(decision.category)}, but row {other.row} "
            f"{quote(other.category)}; keep one of them"
        )
    return ""
