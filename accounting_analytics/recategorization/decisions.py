"""Choose categories for the rows of a queue by rules, by hand, or from suggestions.

A file of decisions is the queue as CSV or Excel, in which a person writes categories. A row with a category decides the
transaction of its ``transaction_id``, else the group of its ``group_id``. The category is a ledger's id, unique name or
path. Rows without a category decide nothing. The order of rows does not matter: the row of a transaction has precedence
over the row of its group. All other columns are only information.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.column_conversion import local_midnights, total
from accounting_analytics.core.edited_files import Column, SheetProblems, read_table, write_table
from accounting_analytics.core.errors import InputError, RulesError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.workbook import is_workbook, require_xlsxwriter
from accounting_analytics.recategorization.changes import OpenQueue
from accounting_analytics.recategorization.queue import TRANSFER_DAYS, exact_groups, local_days
from accounting_analytics.recategorization.rules import Rules
from accounting_analytics.reports.books.category_ledgers import Categories, find_named
from accounting_analytics.reports.books.value import to_books

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accounting_analytics.recategorization.changes import Change
    from accounting_analytics.reports.books.value import Books

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


def propose(
    queue: pd.DataFrame,
    rules: Rules | None,
    books: Books,
    *,
    decisions: Decisions | Sequence[Decisions] | None = None,
    suggestions: pd.DataFrame | None = None,
    transfers: bool = False,
) -> pd.DataFrame:
    """Propose a category for each transaction of the queue that matches a rule, was decided by hand, or is suggested.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    rules : Rules or None
        The first matching rule decides; None leaves all to the others.
    books : Books
        The books; categories and accounts are looked up in their ledgers.
    decisions : mapping, path, or sequence of these, optional
        What a person decided, as in :func:`decide`. It replaces what rules decide, and later ones earlier ones.
    suggestions : DataFrame, optional
        What :func:`suggest` returns, or a part of it, for what rules and decisions leave.
    transfers : bool, default False
        Propose the ledger of transfers between accounts for likely transfers that rules and decisions leave: equal and
        opposite amounts on two accounts within 7 days. Their ``rule`` is ``likely transfer``.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the rows of the queue that match a rule or were decided, with
        ``updated_category_ledger_id``, ``updated_category_ledger_name``, ``rule``, and of suggestions and transfers
        ``confidence`` and ``reason``. ``attrs["notes"]`` states how many transactions match no rule, which rules match
        nothing or name an unknown category, how many proposals decisions replaced, which categories are parent ledgers,
        and which receipts are proposed as expenses or payments as revenue; further what :func:`decide` notes.

    Raises
    ------
    InputError
        An argument is of another type, or decisions cannot be used.
    RulesError
        A category or account is ambiguous or of the wrong kind, an account is unknown, or the category of a rule
        that matches a transaction is unknown.

    Examples
    --------
    ::

        proposals = propose(queue, load_rules("rules.toml"), books, decisions="decisions.xlsx")
    """
    if rules is not None or (decisions is None and suggestions is None and not transfers):
        require_type(rules, Rules, "rules", "load_rules(path) reads them")
    if suggestions is not None:
        require_type(suggestions, pd.DataFrame, "suggestions", "suggest(queue, books) returns them")
    asked = OpenQueue(queue, to_books(books).ledgers)
    notes = list(asked.exact.notes)
    chosen = {} if rules is None else choose_by_rules(asked, rules, notes)
    replaced = 0
    for source in each_of(decisions):
        decided = choose_by_hand(asked, source, notes)
        replaced += len(decided.keys() & chosen.keys())
        chosen |= decided
    if replaced:
        notes.append(f"{count_of(replaced, 'proposal was', 'proposals were')} replaced by later ones.")
    if suggestions is not None:
        chosen = _choose_suggested(asked, suggestions, notes, chosen)
    if transfers:
        chosen |= _choose_transfers(asked, notes, chosen)
    return asked.proposals(chosen, notes)


def decide(queue: pd.DataFrame, decisions: Decisions, books: Books) -> pd.DataFrame:
    """Propose the categories that a person decided for groups and transactions.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    decisions : mapping of str to str, or path
        Category (id, unique name or path) of each ``group_id`` of :func:`group_queue` or ``transaction_id``; or the
        file that ``accounting-analytics queue --output`` wrote and a person filled in: CSV, or Excel with the extra
        ``excel``. Where a transaction is decided twice, such as by its group and by its id, the later entry of a
        mapping wins, and in a file the row of the transaction. The decision of a group is that of all transactions it
        has in `queue`, also of those that were added to the books since.
    books : Books
        The books; categories are looked up in their ledgers.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the decided rows of the queue. ``rule`` is ``decided by
        hand``, with the id of the group where that was decided. ``attrs["notes"]`` counts what is left, and lists
        categories that are parent ledgers, and decisions of a file that fit no transaction of the queue.

    Raises
    ------
    InputError
        The file cannot be read; a category is unknown, ambiguous, cash or uncategorized, a decided transaction is
        split, or a key that is not of a file is neither a group nor a transaction of the queue. The message names all
        unusable decisions.

    Examples
    --------
    ::

        decided = decide(queue, {"blue-bottle-82e039": "Expenses:Meals", "txn_42": "Travel"}, books)
        decided = decide(queue, "decisions.csv", books)
    """
    require_type(decisions, _DECISIONS, "decisions", _DECISIONS_HINT)
    return propose(queue, None, books, decisions=decisions)


def _left_note(asked: OpenQueue, chosen: Mapping[int, Change], why: str) -> list[str]:
    """Write a note that counts the transactions without a category. A transaction may have two rows."""
    transactions = asked.rows[TRANSACTION]
    left = transactions.drop(index=list(chosen)).nunique()
    return [f"{left:,} of {count_of(transactions.nunique(), 'transaction')} {why}."] if left else []


def choose_by_rules(asked: OpenQueue, rules: Rules, notes: list[str]) -> dict[int, Change]:
    """Choose the category of each row that a rule matches.

    A rule whose category is unknown is refused only if the rule decides a row.
    """
    chart = asked.chart
    matches = rules.match(asked.rows, chart).deciding.tolist()
    deciding = set(matches)
    categories = {
        rule.name: find_named(chart.find_category, rule.category, f"rule {rule.name!r}", RulesError)
        for rule in rules
        if rule.name in deciding or rule.category in chart.names
    }
    chosen = {
        row: asked.changes[row].decided(categories[name], chart, name)
        for row, name in enumerate(matches)
        if name is not None
    }
    notes += [*_left_note(asked, chosen, "matched no rule"), *_rule_notes(rules, deciding, chart)]
    return chosen


def _rule_notes(rules: Rules, deciding: set[str | None], chart: Categories) -> Iterator[str]:
    unknown = {rule.name: rule.category for rule in rules if rule.category not in chart.names}
    for name, category in unknown.items():
        suggestion = chart.names.suggestion(category)
        hint = f" ({suggestion})" if suggestion else ""
        yield (
            f"Rule {name!r} names the category {category!r}, which was not discovered{hint}; the rule matched nothing."
        )
    unused = [repr(rule.name) for rule in rules if rule.name not in deciding | unknown.keys()]
    if unused:
        yield f"{len(unused)} of {count_of(len(rules), 'rule')} decided no transaction: {', '.join(unused)}."


def each_of(decisions: Decisions | Sequence[Decisions] | None) -> Sequence[Any]:
    """Return an argument of none, one or several decisions as a sequence."""
    return decisions if isinstance(decisions, list | tuple) else [] if decisions is None else [decisions]


def read_decisions(decisions: Decisions) -> dict[str, tuple[str, int | None]]:
    """Read the decided category by group, then by transaction, with row numbers."""
    require_type(decisions, _DECISIONS, "decisions", _DECISIONS_HINT)
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
    notes += _left_note(asked, chosen, "not decided by hand")
    if absent:
        notes.append(
            f"{len(absent)} of {count_of(len(every), 'decision')} of {decisions} found no transaction of "
            "the queue, because theirs were categorized in the meantime, are of other days or accounts, or became "
            f"likely transfers or splits: {join_ids(absent, limit=_MAX_LISTED)}."
        )
    return chosen


def _choose_suggested(
    asked: OpenQueue, suggestions: pd.DataFrame, notes: list[str], chosen: dict[int, Change]
) -> dict[int, Change]:
    """Add suggestions for rows that are not decided.

    Write a note on suggestions for transactions outside the queue.
    """
    found, absent = asked.read_proposals(suggestions)
    if more := len(found.keys() - chosen.keys()):
        suggested = count_of(more, "proposal is a suggestion", "proposals are suggestions")
        notes.append(f"{suggested}: check before applying.")
    if absent:
        notes.append(
            f"{count_of(len(absent), 'suggestion')} for transactions that are not in the queue: {join_ids(absent)}."
        )
    return found | chosen


def _choose_transfers(asked: OpenQueue, notes: list[str], chosen: Mapping[int, Change]) -> dict[int, Change]:
    """Choose the transfer ledger for likely transfers that are not decided yet."""
    left, chart = asked.rows.drop(index=list(chosen)), asked.chart
    likely = left[left["kind"] == "transfer"]
    if likely.empty:
        return {}
    moved = format_amount(total(likely.loc[likely["direction"] == "inflow", "transaction_amount"]))
    what = f"{count_of(len(likely), 'likely transfer')} between own accounts, of {moved} in all"
    if chart.transfers is None:
        notes.append(f"{what}; the ledger of transfers is not among these ledgers, so none is proposed.")
        return {}
    name = quote(chart.names.name(chart.transfers))
    notes.append(f"{what}; they are proposed for {name}, apart from rules and suggestions.")
    reason = f"equal and opposite amount on {{}} within {TRANSFER_DAYS} days"
    others = map(chart.names.name, likely["counterpart_ledger_id"])
    return {
        row: asked.changes[row].decided(chart.transfers, chart, "likely transfer", reason=reason.format(other))
        for row, other in zip(likely.index.tolist(), others, strict=True)
    }


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
