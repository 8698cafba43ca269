"""Categories that a person decides for groups and transactions of a queue, and the files they are written in.

A file of decisions is the queue as CSV or Excel, in which a person writes categories. A row with a category decides the
transaction of its ``transaction_id``, else the group of its ``group_id``. The category is a ledger's id, unique name or
path. Rows without a category decide nothing. The order of rows does not matter: the row of a transaction has precedence
over the row of its group. All other columns are only information.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.column_conversion import local_midnights
from accounting_analytics.core.edited_files import Column, SheetProblems, read_table, write_table
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.workbook import is_workbook, require_xlsxwriter
from accounting_analytics.recategorization.queue import exact_groups, local_days
from accounting_analytics.reports.books.category_ledgers import find_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from accounting_analytics.recategorization.changes import Change
    from accounting_analytics.recategorization.open_queue import OpenQueue

    Decisions = Mapping[str, str] | str | Path

CATEGORY, GROUP, TRANSACTION = "category", "group_id", "transaction_id"
_DECISIONS = (Mapping, str, Path)
_DECISIONS_HINT = "pass {group_id or transaction_id: category}, or the path of a file with decisions"
_COLUMNS = (Column(CATEGORY), *(Column(name, may_be_empty=True, may_be_absent=True) for name in (GROUP, TRANSACTION)))
_GROUP_COLUMNS = [
    "kind",
    "counterparty",
    "direction",
    "ledger_name",
    "counterpart_ledger_name",
    "transaction_count",
    "amount",
    "first_date",
    "last_date",
    "description",
    GROUP,
]
_TRANSACTION_COLUMNS = [
    "kind",
    "counterparty",
    "direction",
    "ledger_name",
    "uncategorized_amount",
    "date",
    "description",
    GROUP,
    TRANSACTION,
]
_MAX_LISTED = 5


def left_note(asked: OpenQueue, chosen: Mapping[int, Change], why: str) -> list[str]:
    """Write a note that counts the transactions without a category. A transaction may have two rows."""
    transactions = asked.rows[TRANSACTION]
    left = transactions.drop(index=list(chosen)).nunique()
    return [f"{left:,} of {count_of(transactions.nunique(), 'transaction')} {why}."] if left else []


def each_of(decisions: Decisions | Sequence[Decisions] | None) -> Sequence[Any]:
    """Return an argument of none, one or several decisions as a sequence."""
    return decisions if isinstance(decisions, list | tuple) else [] if decisions is None else [decisions]


def require_decisions(decisions: object) -> None:
    """Refuse anything but a mapping or a file."""
    require_type(decisions, _DECISIONS, "decisions", _DECISIONS_HINT)


def read_decisions(decisions: Decisions) -> dict[str, tuple[str, int | None]]:
    """Read the decided category by group, then by transaction, with row numbers."""
    require_decisions(decisions)
    if isinstance(decisions, Mapping):
        return {key: (category, None) for key, category in decisions.items()}
    file = to_path(decisions, "decisions")
    table = read_table(file, _COLUMNS, what="a file of decisions", deciding=CATEGORY)
    groups: dict[str, tuple[str, int | None]] = {}
    transactions: dict[str, tuple[str, int | None]] = {}
    for number, row in table.rows():
        key, category = row[TRANSACTION] or row[GROUP], row[CATEGORY].strip()
        first, first_row = (transactions if row[TRANSACTION] else groups).setdefault(key, (category, number))
        if not key.strip():
            table.problems.add(f"it has a category, but neither {GROUP} nor {TRANSACTION}", number)
        elif first != category:
            reason = (
                f"{quote(key)} has the category {quote(category)} here, but {quote(first)} in row {first_row}; keep "
                "one of them"
            )
            table.problems.add(reason, number)
    table.problems.refuse()
    if not table.numbers:
        raise InputError(
            f"{file} has no decision: the column {CATEGORY} is empty; write the id, unique name or path of a ledger "
            "there, and save the file"
        )
    return groups | transactions


def choose_by_hand(asked: OpenQueue, decisions: Decisions, notes: list[str]) -> dict[int, Change]:
    """Choose the category of each decided row. The latest decision for a row counts.

    Decisions of a file may be about transactions that are not in the queue any more.
    """
    every, chart = read_decisions(decisions), asked.chart
    chosen: dict[int, Change] = {}
    absent = []
    problems = SheetProblems("the decisions" if isinstance(decisions, Mapping) else decisions)
    for key, (text, number) in every.items():
        if number is not None and key not in asked:
            absent.append(f"{quote(key)} (row {number})")
            continue
        try:
            found = asked.find_free(key)
            category = find_named(chart.find_category, text, f"decision {quote(key)}")
        except InputError as error:
            problems.add(str(error), *([] if number is None else [number]))
            continue
        chosen |= {row: asked.changes[row].decided(category, chart, asked.by_hand(key)) for row in found}
    problems.refuse()
    notes += left_note(asked, chosen, "not decided by hand")
    if absent:
        notes.append(
            f"{len(absent)} of {count_of(len(every), 'decision')} of {decisions} found no transaction of "
            "the queue, because theirs were categorized in the meantime, are of other days or accounts, or became "
            f"likely transfers or splits: {join_ids(absent, limit=_MAX_LISTED)}."
        )
    return chosen


def require_writable(path: Path) -> None:
    """Refuse a file whose folder is missing, or a workbook if the package for workbooks is missing."""
    if is_workbook(path):
        require_xlsxwriter()
    if not path.absolute().parent.is_dir():
        raise InputError(f"folder {path.absolute().parent} for the file does not exist")


def require_absent(path: Path, reason: str) -> None:
    """Refuse a file that exists. `reason` says why it is not replaced."""
    if path.exists():
        raise InputError(f"{path} exists and {reason}, so it is not replaced; give another name, or move it")


def require_new_file(path: Path) -> None:
    """Refuse a file that exists, has another format, or cannot be written."""
    if path.suffix.lower() != ".csv" and not is_workbook(path):
        raise InputError(
            f"{path}: decisions are written as CSV or as an Excel workbook; give a name that ends in .xlsx or .csv"
        )
    require_absent(path, "may hold decisions")
    require_writable(path)


def write_decision_file(asked: OpenQueue, path: Path, *, time_zone: str, by: str = GROUP) -> int:
    """Write groups or transactions with empty categories, and return how many.

    Split transactions are left out, because they cannot be decided. `by` says what a row decides: ``group_id`` or
    ``transaction_id``. A workbook offers the paths of the ledgers that can be categories.
    """
    require_new_file(path)
    if by == GROUP:
        rows = exact_groups(asked.queue).frame
        dates, columns = {"first_date": "first_datetime", "last_date": "last_datetime"}, _GROUP_COLUMNS
    else:
        rows, dates, columns = asked.rows, {"date": "datetime"}, _TRANSACTION_COLUMNS
    rows = rows.assign(**{name: local_midnights(rows[instant], time_zone).dt.date for name, instant in dates.items()})
    return _write_decisions(asked, rows.assign(**{CATEGORY: ""}), columns, path)


def write_decided(asked: OpenQueue, path: Path, chosen: Mapping[int, Change]) -> None:
    """Write a queue's transactions with the chosen categories, and replace the file."""
    paths = {row: asked.chart.names.unique_path(change.updated_category_ledger_id) for row, change in chosen.items()}
    rows = asked.rows.assign(
        **{"date": local_days(asked.rows).dt.date, CATEGORY: [paths.get(row, "") for row in asked.rows.index]}
    )
    _write_decisions(asked, rows, _TRANSACTION_COLUMNS, path)


def _write_decisions(asked: OpenQueue, rows: pd.DataFrame, columns: Sequence[str], path: Path) -> int:
    """Write a sheet of decisions, and return its number of rows.

    Split transactions are left out.
    """
    decidable = rows.loc[rows["kind"] != "split", [CATEGORY, *columns]]
    ids = [name for name in (CATEGORY, GROUP, TRANSACTION) if name in decidable]
    write_table(decidable, path, name="decisions", ids=ids, editable=(CATEGORY,), choices=asked.chart.paths())
    return len(decidable)
