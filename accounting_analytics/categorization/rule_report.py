"""Report of rules: what each decides, what contradicts it, and which rules decide nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from accounting_analytics.arguments import require_type
from accounting_analytics.categorization.categories import Categories
from accounting_analytics.categorization.proposals import find_accounts
from accounting_analytics.categorization.rules import Rules, Transactions
from accounting_analytics.categorization.uncategorized_queue import categorized_transactions, exact_queue
from accounting_analytics.errors import InputError
from accounting_analytics.frame_columns import total
from accounting_analytics.schemas import Ledgers, RuleReports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from accounting_analytics.categorization.rules import Matches, Rule


def report_rules(
    queue: pd.DataFrame, rules: Rules, ledgers: pd.DataFrame, line_entries: pd.DataFrame | None = None
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
    line_entries : DataFrame, optional
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
    known = exact.frame[:0] if line_entries is None else categorized_transactions(line_entries, ledgers)
    in_queue = _Decided(exact.frame, rules, Transactions(exact.frame, accounts))
    in_books = _Decided(known, rules, Transactions(known, accounts))
    rows = [_RuleResult.of(rule, in_queue, in_books, chart) for rule in rules]
    columns = {name: [getattr(row, name) for row in rows] for name in _RuleResult._fields}
    report = RuleReports.from_columns(columns, exact.scale, as_decimals=exact.as_decimals)
    report.attrs["notes"] = (*exact.notes, *_notes(rows, rules, chart))
    return report


class _Decided:
    """Transactions that each rule matches, and those that it decides because no earlier rule matches."""

    def __init__(self, frame: pd.DataFrame, rules: Rules, transactions: Transactions) -> None:
        self.frame = frame
        self.matches: dict[str, Matches] = {rule.name: rule.match(transactions) for rule in rules}
        self.deciding = np.full(len(frame), None, object)
        for name, matches in reversed(self.matches.items()):
            self.deciding[matches] = name

    def rows(self, name: str) -> pd.DataFrame:
        """Transactions that a rule decides."""
        rows: pd.DataFrame = self.frame.loc[self.deciding == name]
        return rows

    def deciding_instead(self, name: str) -> list[str]:
        """Rules that decide what a rule matches, the most frequent first."""
        found: list[str] = pd.Series(self.deciding[self.matches[name]]).value_counts().index.tolist()
        return found


class _RuleResult(NamedTuple):
    """One row of the report."""

    rule: str
    line: int
    category: str
    status: str
    transaction_count: int
    amount: Decimal
    description: str | None
    shadowed_by: str | None
    agreeing_count: int
    contradicting_count: int
    contradicting_example: str | None

    @classmethod
    def of(cls, rule: Rule, in_queue: _Decided, in_books: _Decided, chart: Categories) -> _RuleResult:
        """Report one rule."""
        rows, known = in_queue.rows(rule.name), in_books.rows(rule.name)
        agreeing = known["category_ledger_id"].isin(chart.names.matches(rule.category))
        contradicting = known[~agreeing]
        instead = [*in_queue.deciding_instead(rule.name), *in_books.deciding_instead(rule.name)]
        return cls(
            rule=rule.name,
            line=rule.line or 0,
            category=rule.category,
            status=_status(decides=bool(len(rows)), agrees=rule.name in instead, matches=bool(instead)),
            transaction_count=len(rows),
            amount=total(rows["amount"]),
            description=_first(rows),
            shadowed_by=None if rule.name in instead or not instead else instead[0],
            agreeing_count=int(agreeing.sum()),
            contradicting_count=len(contradicting),
            contradicting_example=_with_category(contradicting, chart),
        )

    @property
    def where(self) -> str:
        """Name and line."""
        return f"{self.rule!r} at line {self.line}" if self.line else repr(self.rule)


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


def _notes(results: list[_RuleResult], rules: Rules, chart: Categories) -> Iterator[str]:
    names = {result.rule: result.where for result in results}
    for result in results:
        if result.shadowed_by is not None:
            yield f"Rule {result.where} is shadowed: earlier rules, such as {names[result.shadowed_by]}, decide all."
        if result.status == "dead":
            yield f"Rule {result.where} is dead: it matches no transaction of the period."
        if result.contradicting_count:
            yield (
                f"Rule {result.where} contradicts {result.contradicting_count} transaction(s) that have another "
                f"category, such as {result.contradicting_example}."
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
