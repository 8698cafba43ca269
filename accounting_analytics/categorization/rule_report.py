"""Report of rules: what each decides, what contradicts it, and which rules decide nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.category_ledgers import Categories
from accounting_analytics.categorization.proposals import find_accounts
from accounting_analytics.categorization.rules import RuleMatches, Rules, Transactions
from accounting_analytics.categorization.uncategorized_queue import categorized_transactions, exact_queue
from accounting_analytics.column_conversion import total
from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import attach_notes
from accounting_analytics.local_books import lines_of
from accounting_analytics.messages import count_of
from accounting_analytics.schemas import Ledgers, RuleReports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.categorization.rules import Rule
    from accounting_analytics.local_books import LocalBooks


def report_rules(
    queue: pd.DataFrame, rules: Rules, ledgers: pd.DataFrame, line_entries: pd.DataFrame | LocalBooks | None = None
) -> pd.DataFrame:
    """Report what each rule decides, what contradicts it, and which rules decide nothing.

    Parameters
    ----------
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`.
    rules : Rules
        The rules; the first that matches decides.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`; categories and accounts are looked up here.
    line_entries : DataFrame or Books, optional
        :class:`~accounting_analytics.schemas.LineEntries`, as for :func:`uncategorized_queue`. The transactions in it
        that have one category already are compared with the rules.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.RuleReports`, one row per rule in the order of the file.
        ``attrs["notes"]`` lists rules without effect, contradicted ones, and those whose category is a parent ledger
        or unknown, each with its line.

    Raises
    ------
    InputError
        An argument is of another type.
    RulesError
        The account of a rule is unknown, ambiguous or does not report cash flow.
    """
    require_type(queue, pd.DataFrame, "queue", "uncategorized_queue(line_entries, ledgers) returns it")
    require_type(rules, Rules, "rules", "load_rules(path) reads them")
    require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
    exact, ledgers = exact_queue(queue), Ledgers.checked(ledgers)
    chart = Categories(ledgers, set(exact.frame["category_ledger_id"]))
    accounts = find_accounts(rules, chart)
    lines = lines_of(line_entries)
    known = exact.frame[:0] if lines is None else categorized_transactions(lines, ledgers)
    in_queue, in_books = (
        _Decided(rows, RuleMatches(rules, Transactions(rows, accounts))) for rows in (exact.frame, known)
    )
    rows = [_report(rule, in_queue, in_books, chart) for rule in rules]
    columns = {name: [row[name] for row in rows] for name in RuleReports.dtypes()}
    report = RuleReports.from_columns(columns, exact.scale, as_decimals=exact.as_decimals)
    attach_notes(report, (*exact.notes, *_notes(rows, rules, chart)), queue, lines)
    return report


class _Decided(NamedTuple):
    """Transactions, and the rules that match and decide them."""

    frame: pd.DataFrame
    matches: RuleMatches

    def rows(self, name: str) -> pd.DataFrame:
        """Transactions that a rule decides."""
        rows: pd.DataFrame = self.frame.loc[self.matches.deciding == name]
        return rows


def _report(rule: Rule, in_queue: _Decided, in_books: _Decided, chart: Categories) -> dict[str, Any]:
    """Report one rule: a row of the report."""
    rows, known = in_queue.rows(rule.name), in_books.rows(rule.name)
    transactions = rows.drop_duplicates(["ledger_id", "transaction_id"])  # some have two uncategorized parts
    agreeing = known["category_ledger_id"].isin(chart.names.matches(rule.category))
    contradicting = known[~agreeing]
    instead = [one for where in (in_queue, in_books) for one in where.matches.deciding_instead(rule.name)]
    return {
        "rule": rule.name,
        "line": rule.line or 0,
        "category": rule.category,
        "status": _status(decides=bool(len(rows)), agrees=rule.name in instead, matches=bool(instead)),
        "transaction_count": len(transactions),
        "amount": total(transactions["amount"]),
        "description": _first(rows),
        "shadowed_by": None if rule.name in instead or not instead else instead[0],
        "agreeing_count": int(agreeing.sum()),
        "contradicting_count": len(contradicting),
        "contradicting_example": _with_category(contradicting, chart),
    }


def _status(*, decides: bool, agrees: bool, matches: bool) -> str:
    """Status of a rule: of `matches` in queue and books it decides some of the queue, others only, or none."""
    if decides:
        return "decides"
    if agrees:
        return "idle"
    return "shadowed" if matches else "dead"


def _first(rows: pd.DataFrame) -> str | None:
    return None if rows.empty else str(rows["description"].iloc[0])


def _with_category(rows: pd.DataFrame, chart: Categories) -> str | None:
    """Describe the first row, and the category it has."""
    return None if rows.empty else f"{_first(rows)}: {chart.names.path(rows['category_ledger_id'].iloc[0])}"


def _notes(rows: list[dict[str, Any]], rules: Rules, chart: Categories) -> Iterator[str]:
    names = {rule.name: repr(rule.name) + (f" at line {rule.line}" if rule.line else "") for rule in rules}
    for row in rows:
        where, instead = names[row["rule"]], row["shadowed_by"]
        if instead is not None:
            yield f"Rule {where} is shadowed: earlier rules, such as {names[instead]}, decide all."
        if row["status"] == "dead":
            yield f"Rule {where} is dead: it matches no transaction of the period."
        if row["contradicting_count"]:
            yield (
                f"Rule {where} contradicts {count_of(row['contradicting_count'], 'transaction')} of another category, "
                f"such as {row['contradicting_example']}."
            )
    for rule in rules:
        if note := _category_note(rule, chart):
            yield f"Rule {names[rule.name]}: {note}"


def _category_note(rule: Rule, chart: Categories) -> str:
    """Sentence about a category that cannot be used, or that is a parent ledger."""
    try:
        return chart.parent_note(rule.category)
    except InputError as error:
        return str(error)
