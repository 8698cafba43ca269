"""Decision file: the queue as a CSV file or Excel workbook for categories that a person decides, and how it is read.

A row with a category decides the transaction of its ``transaction_id``, or else the group of its ``group_id``. The
category is a ledger's id, unique name or path. Rows without a category decide nothing, and their order does not matter:
the row of a transaction has precedence over that of its group. All other columns are for the reader.
"""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.groups import group_queue
from accounting_analytics.categorization.transaction_groups import with_groups
from accounting_analytics.categorization.uncategorized_queue import exact_queue
from accounting_analytics.column_conversion import local_midnights
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.periods import LOCALTIME
from accounting_analytics.schemas import Ledgers, Proposals, QueueGroups
from accounting_analytics.sheets.cells import Invalid
from accounting_analytics.sheets.reader import Column, Kind, read_table
from accounting_analytics.sheets.workbook import is_workbook, require_xlsxwriter
from accounting_analytics.sheets.writer import write_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal
    from pathlib import Path

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
_SUGGESTION, _CONFIDENCE, _REASON = "suggestion", "confidence", "reason"
_SUGGESTED_COUNT = "suggested_count"
_AMOUNT = Column(AMOUNT, Kind.AMOUNT, may_be_empty=True, may_be_absent=True, may_be_invalid=True)
_COLUMNS = (
    Column(CATEGORY),
    *(Column(name, may_be_empty=True, may_be_absent=True) for name in (GROUP, TRANSACTION)),
    _AMOUNT,
)


class Decision(NamedTuple):
    """One decision: the category (id, unique name or path) of a group or a transaction, by its id.

    `row` is the number of its row in a file, as a spreadsheet shows it. `amount` is the sum of the group when the file
    was written, where that is known; None for a transaction.
    """

    key: str
    category: str
    row: int | None = None
    amount: Decimal | None = None


def read_decisions(file: Path) -> list[Decision]:
    """Read the decisions that a person filled in: those of groups, then those of transactions."""
    table = read_table(file, _COLUMNS, what="a file of decisions", deciding=CATEGORY)
    groups: dict[str, Decision] = {}
    transactions: dict[str, Decision] = {}
    for number, row in table.rows():
        category, amount = row[CATEGORY].strip(), row[AMOUNT]
        if row[TRANSACTION]:
            found, decision = transactions, Decision(row[TRANSACTION], category, number)
        else:
            found, decision = groups, Decision(row[GROUP], category, number, amount)
            if isinstance(amount, Invalid):
                table.problems.add(_AMOUNT.problem(amount), number)
        if reason := _problem(found.setdefault(decision.key, decision), decision):
            table.problems.add(reason, number)
    table.problems.refuse()
    if not groups and not transactions:
        raise InputError(
            f"{file} has no decision: the column {CATEGORY} is empty; write the id, unique name or path of a ledger "
            "there, and save the file"
        )
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
    """Refuse a file that exists, since it may hold decisions, of another format, or whose folder does not exist."""
    if path.suffix.lower() != ".csv" and not is_workbook(path):
        raise InputError(
            f"{path}: decisions are written as CSV or as an Excel workbook; give a name that ends in .xlsx or .csv"
        )
    if is_workbook(path):
        require_xlsxwriter()
    if path.exists():
        raise InputError(f"{path} exists and may hold decisions, so it is not replaced; give another name, or move it")
    if not path.absolute().parent.is_dir():
        raise InputError(f"folder {path.absolute().parent} for the file does not exist")


def write_groups(
    queue: pd.DataFrame,
    path: Path,
    *,
    time_zone: str,
    ledgers: pd.DataFrame | None = None,
    suggestions: pd.DataFrame | None = None,
) -> int:
    """Write the groups of a queue with an empty category each, most money first; return how many.

    Split transactions are left out, because they cannot be decided.

    A workbook offers the paths of those `ledgers` that can be categories. Beside the category is what is suggested for
    a group, if it is one: its path, for how many transactions, and the lowest confidence.
    """
    groups = QueueGroups.exact(group_queue(queue)).frame
    rows = groups.assign(
        first_date=_dates(groups["first_datetime"], time_zone), last_date=_dates(groups["last_datetime"], time_zone)
    )
    columns = list(_GROUP_COLUMNS)
    if suggestions is not None and ledgers is not None:
        suggested = _suggested(queue, suggestions, ledgers).groupby(GROUP, sort=False)
        is_one = suggested[_SUGGESTION].agg(["min", "max"]).eval("min == max")
        table = suggested.agg(
            suggestion=(_SUGGESTION, "first"),
            suggested_count=(TRANSACTION, "nunique"),
            confidence=(_CONFIDENCE, "min"),
            reason=(_REASON, "first"),
        )[is_one]
        rows = rows.join(table, on=GROUP)
        rows[_SUGGESTED_COUNT] = rows[_SUGGESTED_COUNT].astype("Int64")
        columns = [_SUGGESTION, _SUGGESTED_COUNT, _CONFIDENCE, *columns, _REASON]
    return _write(rows, columns, path, _choices(queue, ledgers))


def write_transactions(
    queue: pd.DataFrame,
    path: Path,
    *,
    time_zone: str,
    ledgers: pd.DataFrame | None = None,
    suggestions: pd.DataFrame | None = None,
) -> int:
    """Write the transactions of a queue with an empty category each; as :func:`write_groups`."""
    rows = with_groups(exact_queue(queue).frame)
    dated = rows.assign(date=_dates(rows["datetime"], time_zone))
    columns = list(_TRANSACTION_COLUMNS)
    if suggestions is not None and ledgers is not None:
        suggested = _suggested(queue, suggestions, ledgers).drop_duplicates(TRANSACTION).set_index(TRANSACTION)
        dated = dated.join(suggested[[_SUGGESTION, _CONFIDENCE, _REASON]], on=TRANSACTION)
        columns = [_SUGGESTION, _CONFIDENCE, *columns, _REASON]
    return _write(dated, columns, path, _choices(queue, ledgers))


def _suggested(queue: pd.DataFrame, suggestions: pd.DataFrame, ledgers: pd.DataFrame) -> pd.DataFrame:
    """Group, path, confidence and reason of each suggestion; none is decided by being written."""
    names = Categories(Ledgers.checked(ledgers), set(queue["category_ledger_id"])).names
    frame = with_groups(Proposals.exact(suggestions).frame)
    return pd.DataFrame(
        {
            GROUP: frame[GROUP],
            TRANSACTION: frame[TRANSACTION],
            _SUGGESTION: frame["updated_category_ledger_id"].map(names.path),
            _CONFIDENCE: [None if pd.isna(one) else floor(1000 * one) / 1000 for one in frame[_CONFIDENCE]],
            _REASON: frame[_REASON],
        }
    )


def _choices(queue: pd.DataFrame, ledgers: pd.DataFrame | None) -> list[str]:
    """Paths of the ledgers that can be categories."""
    if ledgers is None:
        return []
    return Categories(Ledgers.checked(ledgers), set(queue["category_ledger_id"])).paths()


def _dates(instants: pd.Series[Any], time_zone: str) -> pd.Series[Any]:
    """Local dates; the zone of the service is not known here, so ``localtime`` is UTC."""
    dates: pd.Series[Any] = local_midnights(instants, "UTC" if time_zone == LOCALTIME else time_zone).dt.date
    return dates


def _write(rows: pd.DataFrame, columns: Sequence[str], path: Path, choices: Sequence[str]) -> int:
    require_new_file(path)
    decidable = rows.loc[rows["kind"] != "split"].assign(**{CATEGORY: ""})[[CATEGORY, *columns]]
    ids = [name for name in (GROUP, TRANSACTION) if name in columns]
    write_table(decidable, path, name="decisions", ids=ids, editable=(CATEGORY,), choices=choices)
    return len(decidable)
