"""`check_coding`: list transactions and lines to look at before a month is closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pandas as pd

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import IncompleteLoadError, InputError
from accounting_analytics.core.messages import count_of, join_ids, quote
from accounting_analytics.core.money import format_amount, from_minor_units, to_minor_units
from accounting_analytics.core.periods import day_label, period_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import CodingFindings, Queue
from accounting_analytics.recategorization.coding_findings import (
    CodedTransaction,
    CodingFinding,
    Pasts,
    by_counterparty,
    far_amounts,
    other_categories,
    paid_twice,
)
from accounting_analytics.recategorization.decisions import each_of, read_decisions
from accounting_analytics.recategorization.open_queue import OpenQueue
from accounting_analytics.recategorization.queue import NO_DESCRIPTION, transactions_with_categories, with_groups
from accounting_analytics.reports.books.book_lines import entries_among
from accounting_analytics.reports.books.category_ledgers import Categories
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.figures.figure import figure_of_entries

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterator, Mapping, Sequence

    from accounting_analytics.core.periods import Period
    from accounting_analytics.recategorization.decisions import Decisions
    from accounting_analytics.reports.books.value import Books, PeriodLike
    from accounting_analytics.reports.figures.figure import Figure

KINDS: Mapping[str, str] = {
    "category": "another category than before",
    "twice": "the same payment twice",
    "amount": "an amount far above those before",
    "parent": "on a ledger that has others below it",
    "text": "without a text",
}
"""Kinds of findings, in their order."""
_MAX_SHOWN, _MAX_NAMED = 30, 3


class ListedFinding(NamedTuple):
    """A finding as it is listed.

    Attributes
    ----------
    key : str
        Finds its figure in the result.
    kind : str
        One of KINDS.
    day : date
        Local day; of several lines the first.
    counterparty, account, category : str
        Names; empty where there are several.
    expected : str
        Name of the category that the past has; empty for findings of other kinds.
    units : int
        Sum of its entries in whole minor units.
    why : str
        Text that says what it differs from.
    confidence : float or None
        How often transactions with such a past followed it on these books.
    transaction_id : str
        The transaction; empty where there are several.
    line_ids : tuple of str
        Its line, then those that it is compared with; of several transactions, all their lines.
    expected_id : str
        Id of the expected category.
    """

    key: str
    kind: str
    day: dt.date
    counterparty: str
    account: str
    category: str
    expected: str
    units: int
    why: str
    confidence: float | None
    transaction_id: str
    line_ids: tuple[str, ...]
    expected_id: str


@dataclass(frozen=True, repr=False, eq=False)
class CodingCheck(Result):
    """Result of :func:`check_coding`; ``check[key]`` is the figure of a finding, with its entries.

    Parameters
    ----------
    period : Period
        The days that were checked.
    findings : tuple of ListedFinding
        The findings, by kind, the largest first.
    queue : DataFrame
        :class:`~accounting_analytics.schemas.Queue`: the transactions with findings, for
        :func:`~accounting_analytics.review`.
    proposals : DataFrame
        :class:`~accounting_analytics.schemas.Proposals`: the expected category of each transaction that has another.
    scale : int
        Fraction digits of the amounts.
    notes : tuple of str
        Remarks for the reader.
    """

    period: Period
    findings: tuple[ListedFinding, ...]
    queue: pd.DataFrame
    proposals: pd.DataFrame
    scale: int
    notes: tuple[str, ...]
    _lines: pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """:class:`~accounting_analytics.schemas.CodingFindings`: cash that comes in is positive."""
        rows = [
            (
                finding.key,
                finding.kind,
                pd.Timestamp(finding.day),
                finding.counterparty,
                finding.account,
                finding.category,
                finding.expected or None,
                from_minor_units(finding.units, self.scale),
                finding.why,
                finding.confidence,
                finding.transaction_id or None,
                LIST_SEPARATOR.join(finding.line_ids),
            )
            for finding in self.findings
        ]
        return CodingFindings.from_rows(rows, self.scale)

    def __getitem__(self, key: str) -> Figure:
        """Return the figure of a finding by its key, with its lines."""
        found = next((finding for finding in self.findings if finding.key == key), None)
        if found is None:
            raise InputError(f"{quote(key)} is not a finding; the keys are in .frame")
        own = found.line_ids if found.kind in {"parent", "text"} else found.line_ids[:1]
        rows = entries_among(self._lines, self._lines["id"].isin(own))
        return figure_of_entries(key, found.why, rows, scale=self.scale, calculation="its lines")

    def summary(self) -> str:
        """One line of text: how many findings there are of each kind."""
        days = period_label(self.period)
        if not self.findings:
            return f"Nothing to look at was found in {days}."
        return self.counts(days)

    def counts(self, where: str) -> str:
        """Return a sentence that counts the findings of each kind."""
        counts = [(sum(finding.kind == kind for finding in self.findings), text) for kind, text in KINDS.items()]
        parts = [f"{count:,} {text}" for count, text in counts if count]
        return f"{count_of(len(self.findings), 'finding')} in {where}: {', '.join(parts)}."

    def sentences(self) -> list[str]:
        """Describe each finding in a sentence."""
        return [self._sentence(finding) for finding in self.findings]

    def _sentence(self, finding: ListedFinding) -> str:
        amount = format_amount(from_minor_units(finding.units, self.scale))
        who = finding.counterparty or finding.account or finding.category
        where = f", {finding.category}" if finding.counterparty else ""
        sure = "" if finding.confidence is None else f"; such pasts held in {finding.confidence:.1%}"
        return f"{day_label(finding.day)} {who} {amount}{where}: {KINDS[finding.kind]}, {finding.why}{sure}"

    def _parts(self) -> Iterator[ResultPart]:
        shown = self.frame.drop(columns=["key", "line_entry_ids", "transaction_id"])
        yield ResultPart(
            [f"- {sentence}" for sentence in self.sentences()], shown, _MAX_SHOWN, "findings; .frame has all"
        )

    def _content(self) -> Mapping[str, Any]:
        return {"period": str(self.period), "findings": self.frame}


def check_coding(
    books: Books, period: PeriodLike = None, *, decisions: Decisions | Sequence[Decisions] | None = None
) -> CodingCheck:
    """List transactions and lines to look at before a month is closed, compared with the past of these books.

    Transactions of another category than that of their counterparty's past (nine tenths of its last twenty, at least
    five); the same payment twice within three days, unless that is a habit; amounts of more than three times the
    largest of ten or more; lines on ledgers that have others below them; and transactions without a text. Where the
    past is not clear nothing is said.

    Parameters
    ----------
    books : Books
        The books; the more of the past they have, the more can be found.
    period : period-like, optional
        The days that are checked; by default the period of the books. All days before are the past.
    decisions : mapping, path, or sequence of these, optional
        Decisions as for :func:`~accounting_analytics.decide`. A transaction or group that has the category decided for
        it is right, and is not listed.

    Returns
    -------
    CodingCheck
        ``.frame`` has a row for each finding, and ``check[key].entries`` its entries. ``aa.review(books, check)`` shows
        the findings of transactions, with the expected categories as proposals; a plan of the decisions changes them.
        The same payment twice has no proposal, because no operation deletes.

    Raises
    ------
    InputError
        An argument is of another type, or decisions cannot be read.
    IncompleteLoadError
        Days of the period were not loaded.

    Examples
    --------
    ::

        check = aa.check_coding(books, "2026-05")
        review = aa.review(books, check)
        review.accept()
        plan = review.plan(instance_id=client.instance_id)
    """
    books = to_books(books)
    days, chart = books.days_of(period), books.chart
    if missing := books.extent.reasons(days):
        raise IncompleteLoadError(f"the coding of {period_label(days)} cannot be checked: {'; '.join(missing)}")
    transactions = _Transactions.of_books(books, chart)
    found, pasts = transactions.findings(days)
    lines = _lines_of(books, days)
    every = [*found, *_on_parents(lines, chart, transactions), *transactions.without_text(days)]
    right = set()
    if decisions is not None:
        right = _confirmed_transactions(OpenQueue(transactions.queue(every), chart), decisions)
    kept = sorted((finding for finding in every if finding.transaction_id not in right), key=_order)
    asked = OpenQueue(transactions.queue(kept), chart)
    shown = {line for finding in kept for line in finding.line_ids}
    return CodingCheck(
        days,
        tuple(kept),
        asked.queue,
        _proposals(asked, kept),
        books.scale,
        (*_notes(pasts, len(every) - len(kept)), *books.own_notes),
        lines[lines["id"].isin(shown)],
    )


def _order(finding: ListedFinding) -> tuple[int, int, str]:
    return list(KINDS).index(finding.kind), -abs(finding.units), finding.key


def _lines_of(books: Books, days: Period) -> pd.DataFrame:
    """Select the lines of the days, with their ``figure_amount``."""
    dated = books.source.dated
    lines: pd.DataFrame = dated[dated["local_date"].dt.date.between(days.start_date, days.end_date)]
    return lines.assign(figure_amount=lines["signed_amount"])


class _Transactions(NamedTuple):
    """All transactions of the books as rows of a queue.

    A transaction has one row for each opposing ledger.
    """

    rows: pd.DataFrame
    chart: Categories
    scale: int

    @classmethod
    def of_books(cls, books: Books, ledgers: pd.DataFrame) -> Self:
        rows = transactions_with_categories(books, ledgers).reset_index(names="transaction")
        return cls(rows, Categories(ledgers), books.scale)

    def coded(self, is_chosen: pd.Series[bool]) -> list[CodedTransaction]:
        """Convert the chosen rows to coded transactions."""
        names = ("local_date", "counterparty", "direction", "ledger_id", "category_ledger_id", "transaction_amount")
        rows = self.rows[is_chosen]
        return [
            CodedTransaction(
                place, day.date(), "" if who == NO_DESCRIPTION else who, direction, account, category,
                to_minor_units(amount, self.scale),
            )
            for place, day, who, direction, account, category, amount in zip(
                rows.index, *(rows[name] for name in names), strict=True
            )
        ]  # fmt: skip

    def findings(self, days: Period) -> tuple[list[ListedFinding], Pasts]:
        """Apply the rules to all transactions, and list the findings that are in `days`."""
        rows = self.rows
        is_single = ~rows["transaction"].duplicated(keep=False)
        has_category = is_single & rows["category_ledger_id"].isin(self.chart.possible())
        of_categories = by_counterparty(self.coded(has_category))
        every = by_counterparty(self.coded(~rows["transaction"].duplicated()))
        names = {ledger_id: self.chart.names.name(ledger_id) for ledger_id in self.chart.possible()}
        others, pasts = other_categories(of_categories, names)
        found = [*others, *paid_twice(every), *far_amounts(every, self.scale)]
        of_days = (finding for finding in found if days.start_date <= finding.transaction.day <= days.end_date)
        listed = [self._listed(finding, pasts) for finding in of_days]
        return listed, pasts

    def _listed(self, found: CodingFinding, pasts: Pasts) -> ListedFinding:
        transaction, row = found.transaction, self.rows.loc[found.transaction.place]
        lines = [str(self.rows["line_entry_id"][other.place]) for other in (transaction, *found.others)]
        name = self.chart.names.name
        return ListedFinding(
            f"{found.kind}:{row['transaction_id']}",
            found.kind,
            transaction.day,
            transaction.counterparty,
            name(transaction.account),
            name(transaction.category),
            name(found.expected) if found.expected else "",
            transaction.units,
            found.why,
            pasts.share if found.expected else None,
            str(row["transaction_id"]),
            tuple(lines),
            found.expected,
        )

    def without_text(self, days: Period) -> Iterator[ListedFinding]:
        """List the transactions without a text, in one finding per account."""
        rows = self.rows[~self.rows["transaction"].duplicated() & (self.rows["counterparty"] == NO_DESCRIPTION)]
        rows = rows[rows["local_date"].dt.date.between(days.start_date, days.end_date)]
        for ledger_id, of_account in rows.groupby("ledger_id"):
            units = sum(to_minor_units(amount, self.scale) for amount in of_account["transaction_amount"])
            why = f"{count_of(len(of_account), 'transaction')} without a text"
            lines, day = tuple(map(str, of_account["line_entry_id"])), of_account["local_date"].min().date()
            yield _LinesOfLedger("text", str(ledger_id), lines, day, units).listed(self.chart, why)

    def queue(self, findings: Sequence[ListedFinding]) -> pd.DataFrame:
        """Make a queue of the transactions with findings whose category can change."""
        of_findings = {finding.transaction_id for finding in findings if finding.transaction_id}
        rows = self.rows[~self.rows["transaction"].duplicated(keep=False)]
        rows = rows[rows["transaction_id"].isin(of_findings) & ~rows["category_ledger_id"].isin(self.chart.cash)]
        return Queue.from_exact(with_groups(rows.drop(columns="transaction"), transfers=False), self.scale)


class _LinesOfLedger(NamedTuple):
    """Lines of a ledger that make one finding.

    `day` is the first day of the lines, and `units` their sum.
    """

    kind: str
    ledger_id: str
    line_ids: tuple[str, ...]
    day: dt.date
    units: int

    def listed(self, chart: Categories, why: str) -> ListedFinding:
        name = chart.names.name(self.ledger_id)
        account, category = (name, "") if self.kind == "text" else ("", name)
        key = f"{self.kind}:{self.ledger_id}"
        return ListedFinding(
            key, self.kind, self.day, "", account, category, "", self.units, why, None, "", self.line_ids, ""
        )


def _on_parents(lines: pd.DataFrame, ledgers: pd.DataFrame, transactions: _Transactions) -> Iterator[ListedFinding]:
    """List the lines on ledgers with children, in one finding per ledger."""
    for parent, below in ledgers.groupby("parent_id"):
        rows = lines[lines["ledger_id"] == parent]
        if len(rows):
            units = sum(to_minor_units(amount, transactions.scale) for amount in rows["signed_amount"])
            why = f"{count_of(len(rows), 'line')}; below it are {join_ids(below['name'], limit=_MAX_NAMED)}"
            found = _LinesOfLedger("parent", str(parent), tuple(rows["id"]), rows["local_date"].min().date(), units)
            yield found.listed(transactions.chart, why)


def _confirmed_transactions(asked: OpenQueue, decisions: Decisions | Sequence[Decisions] | None) -> set[str]:
    """Find the transactions that already have their decided category."""
    right = set()
    for source in each_of(decisions):
        for key, (category, _) in read_decisions(source).items():
            for row in asked.find(key) if key in asked else ():
                change = asked.changes[row]
                if change.category_ledger_id in asked.chart.names.matches(category):
                    right.add(change.transaction_id)
    return right


def _proposals(asked: OpenQueue, findings: Sequence[ListedFinding]) -> pd.DataFrame:
    """Propose the expected category for each transaction that has another category."""
    expected = {finding.transaction_id: finding for finding in findings if finding.expected_id}
    chosen = {}
    for row, change in enumerate(asked.changes):
        finding = expected.get(change.transaction_id)
        if finding is not None:
            chosen[row] = change.decided(
                finding.expected_id, asked.chart, KINDS["category"], finding.confidence, finding.why
            )
    return asked.proposals(chosen, asked.exact.notes)


def _notes(pasts: Pasts, right: int) -> Iterator[str]:
    """Yield notes with numbers of compared categories and hidden findings.

    Earlier decisions hide findings.
    """
    if pasts.clear:
        yield (
            f"{pasts.clear:,} transactions of these books had a clear past, and {pasts.followed:,} of them its "
            "category; of all others nothing is said."
        )
    else:
        yield "No transaction of these books has a clear past, so categories were not checked."
    if right:
        yield f"{count_of(right, 'finding')} not listed, because decisions say that the category is right."
