"""Decision file: the queue as a CSV file or Excel workbook for categories that a person decides, and how it is read.

A row with a category decides the transaction of its ``transaction_id``, or else the group of its ``group_id``. The
category is a ledger's id, unique name or path. Rows without a category decide nothing, and their order does not matter:
the row of a transaction has precedence over that of its group. All other columns are for the reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.categorization.categories import Categories
from accounting_analytics.categorization.groups import group_queue, with_groups
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.periods import LOCALTIME, zone
from accounting_analytics.schemas import Ledgers, Queue, QueueGroups
from accounting_analytics.sheets.table import Column, Kind, read_table
from accounting_analytics.sheets.workbook import require_xlsxwriter
from accounting_analytics.sheets.writer import is_workbook, write_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal
    from pathlib import Path

    import pandas as pd

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
_COLUMNS = (
    Column(CATEGORY),
    *(Column(name, may_be_empty=True, may_be_absent=True) for name in (GROUP, TRANSACTION)),
    Column(AMOUNT, Kind.AMOUNT, may_be_empty=True, may_be_absent=True),
)


class Decision(NamedTuple):
    """One decision: the category of a group or a transaction.

    Attributes
    ----------
    key : str
        Id of the group or transaction.
    category : str
        Id, unique name or path.
    row : int or None
        Number of its row in a file, as a spreadsheet shows it.
    amount : Decimal or None
        Sum of the group when the file was written, where that is known.
    """

    key: str
    category: str
    row: int | None = None
    amount: Decimal | None = None


def read_decisions(file: Path) -> list[Decision]:
    """Read the decisions that a person filled in: those of groups, then those of transactions.

    Raises
    ------
    InputError
        The file cannot be read or has no decision, or rows cannot be used; the message names all of them.
    """
    table = read_table(file, _COLUMNS, what="a file of decisions", deciding=CATEGORY)
    groups: dict[str, Decision] = {}
    transactions: dict[str, Decision] = {}
    for number, row in table.rows():
        found, key = (transactions, row[TRANSACTION]) if row[TRANSACTION] else (groups, row[GROUP])
        decision = Decision(key, row[CATEGORY].strip(), number, row[AMOUNT])
        if reason := _problem(found.setdefault(key, decision), decision):
            table.problems.add(reason, number)
    table.problems.refuse()
    if not groups and not transactions:
        msg = (
            f"{file} has no decision: the column {CATEGORY} is empty; write the id, unique name or path of a ledger "
            "there, and save the file"
        )
        raise InputError(msg)
    return [*groups.values(), *transactions.values()]


def _problem(first: Decision, decision: Decision) -> str:
    """Why a row cannot be used, whose key has this first row; empty if it can."""
    if not decision.key.strip():
        return f"it has a category, but neither {GROUP} nor {TRANSACTION}"
    if first.category == decision.category:
        return ""
    return (
        f"{quote(decision.key)} has the category {quote(decision.category)} here, but {quote(first.category)} in row "
        f"{first.row}; keep one of them"
    )


def require_new_file(path: Path) -> None:
    """Refuse a file that exists, since it may hold decisions, of another format, or whose folder does not exist.

    Raises
    ------
    InputError
        It cannot be created.
    """
    if path.suffix.lower() != ".csv" and not is_workbook(path):
        msg = f"{path}: decisions are written as CSV or as an Excel workbook; give a name that ends in .xlsx or .csv"
        raise InputError(msg)
    if is_workbook(path):
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
    """Local dates; the zone of the service is not known here, so ``localtime`` is UTC."""
    tz = zone("UTC" if time_zone == LOCALTIME else time_zone)
    dates: pd.Series[Any] = instants.dt.tz_convert(tz).dt.date
    return dates


def _write(rows: pd.DataFrame, columns: Sequence[str], path: Path, choices: Sequence[str]) -> int:
    require_new_file(path)
    decidable = rows.loc[rows["kind"] != "split"].assign(**{CATEGORY: ""})[[CATEGORY, *columns]]
    ids = [name for name in (GROUP, TRANSACTION) if name in columns]
    write_table(decidable, path, name="decisions", ids=ids, editable=(CATEGORY,), choices=choices)
    return len(decidable)
