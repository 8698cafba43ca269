"""What a pack says: its statements, verdict, sentences, tables, and remarks, made from the loaded books."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import known_ledgers_claim
from accounting_analytics.pack import (
    cash_accounts,
    cash_bridge,
    changes,
    key_figures,
    payees,
    reported_cash,
    uncategorized,
)
from accounting_analytics.pack.key_figures import KeyStatements, flows_without_transfers, lowest_in
from accounting_analytics.pack.pack_tables import PackLines, PackRow, page_spans, statement_table
from accounting_analytics.pack.pictures import make_pictures
from accounting_analytics.pack.sentences import SentenceFacts, SentenceWriter
from accounting_analytics.statements import balance_sheet, cash_flow_statement, income_statement
from accounting_analytics.statements.line_sums import LineSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.bridges import Bridge
    from accounting_analytics.figures import Figure
    from accounting_analytics.pack.loaded_books import LoadedBooks
    from accounting_analytics.pack.pack_columns import PackPeriods
    from accounting_analytics.pack.pack_tables import PackTable
    from accounting_analytics.pack.pictures import PackPicture
    from accounting_analytics.pack.sentences import Sentence
    from accounting_analytics.statements import Statement
    from accounting_analytics.statements.statement_figures import StatementFigures


_DAY = dt.timedelta(days=1)


class PackStatements(NamedTuple):
    """The statements of a pack; `compared` is a cash flow statement with the columns of the key figures."""

    income: Statement
    cash_flow: Statement
    balance: Statement
    compared: Statement


def make_statements(
    books: LoadedBooks, periods: PackPeriods, currency: str | None, company: str | None
) -> PackStatements:
    """Make the statements, each of whose columns is known as far as the lines reach."""
    given: dict[str, Any] = {
        "ledgers": books.ledgers,
        "start_date": books.days.start_date,
        "end_date": books.days.end_date,
        "time_zone": books.days.time_zone,
        "fiscal_year_start_month": periods.first_month,
        "currency": currency,
        "company": company,
    }
    history: dict[str, Any] = {**given, "books_start": books.books_start}
    cash_flow = partial(cash_flow_statement, books.lines, **history, starting_balances=books.starting_balances)
    return PackStatements(
        income_statement(books.lines, **given, columns=periods.income_columns()),
        cash_flow(columns=periods.month_columns()),
        balance_sheet(books.lines, **history, columns=periods.balance_columns()),
        cash_flow(columns=periods.key_columns()),
    )


def collect_entries(statements: PackStatements, last: dt.date) -> PackLines:
    """Collect the lines from the first day that a figure begins or ends with, to the last."""
    balance, cash = statements.balance.figures, statements.compared.figures
    source = _line_source(balance)
    edges = [day for statement in statements for day in _first_days(statement.figures)]
    days = max(min(edges), min(source.loaded.start_date, last)), last
    return PackLines(source, _line_source(cash).cash, balance.ledgers, days, cash.starting)


def _first_days(figures: StatementFigures) -> Iterator[dt.date]:
    """First day of each span of days, and the day after one that is a balance."""
    measures = {row.measure for row in figures.layout.by_key.values() if not row.terms}
    for column in figures.columns.by_key.values():
        for measure in measures:
            spans = zip(figures.spans(measure, column), page_spans(figures, measure, column), strict=True)
            for (_, span), (_, first, _) in spans:
                if span not in figures.unknown and not span.is_empty:
                    yield span.first if first and span.first is not None else span.last + _DAY


def _line_source(figures: StatementFigures) -> LineSource:
    if not isinstance(figures.source, LineSource):
        raise InputError("a pack is made from line entries, not from a report")
    return figures.source


_LEFT_OUT = "left out."
_PARTS = 10
"""What is not categorized is stated with the verdict if it is more than this part of net income."""
_NOT_REPORTED = (
    "The service reports cash flow only: the income statement and the balance sheet are sums of the same line entries, "
    "which no report confirms."
)


class PackContent(NamedTuple):
    """What a pack says.

    Attributes
    ----------
    statements : PackStatements
        Its statements.
    entries : PackLines
        The lines behind its figures.
    tables : dict
        Its tables by name.
    sentences : list of Sentence
        What changed and why.
    bridge : Bridge, optional
        Why cash changed.
    proven : bool
        Whether no line of the known ledgers is missing, and every report that was compared agrees.
    undecided : Sentence, optional
        How much is not categorized, where that is more than a tenth of net income.
    reasons : tuple of str
        What is proven, or why it is not.
    assumptions : tuple of str
        What was assumed.
    pictures : dict
        Its pictures by name.
    """

    statements: PackStatements
    entries: PackLines
    tables: dict[str, PackTable]
    sentences: list[Sentence]
    bridge: Bridge | None
    proven: bool
    undecided: Sentence | None
    reasons: tuple[str, ...]
    assumptions: tuple[str, ...]
    pictures: dict[str, PackPicture]


def make_content(books: LoadedBooks, periods: PackPeriods, currency: str | None, company: str | None) -> PackContent:
    """Make all parts of a pack."""
    statements = make_statements(books, periods, currency, company)
    entries = collect_entries(statements, periods.this.end_date)
    key_table = key_figures.key_figures_table(KeyStatements(statements.compared, statements.income), entries)
    bridge = cash_bridge.make_bridge(statements.compared, periods)
    section = statements.compared.figures.layout.by_key.get("uncategorized")
    row = PackRow(-1, "flow", section.ledger_ids) if section is not None else None
    queue = uncategorized.uncategorized_entries(entries, row, periods.this)
    lowest = lowest_in(statements.compared, entries, periods.key)
    facts = SentenceFacts(
        periods,
        key_table,
        bridge,
        lowest,
        row,
        len(queue),
        _suspense(statements.balance),
        statements.balance.since,
        _undecided(statements.income, periods.key),
    )
    writer = SentenceWriter(facts, entries)
    sentences, undecided_sentence = writer.sentences(), writer.undecided()
    tables = [key_table, writer.table()]
    for name, statement in (
        ("income", statements.income),
        ("cash_flow", statements.cash_flow),
        ("balance", statements.balance),
    ):
        tables.append(statement_table(name, statement, entries, statement.title, ()))
    if bridge is not None:
        tables.append(cash_bridge.cash_bridge_table(bridge, statements.compared, entries, periods))
    figures = statements.compared.figures
    if "ending_cash_balance" in figures.layout.by_key:
        ((_, since, _),) = page_spans(figures, "balance", figures.columns.by_key[periods.key])
        tables.append(cash_accounts.cash_accounts_table(entries, since, periods.this))
        tables.append(cash_accounts.cash_by_day_table(entries, since, periods.this))
    tables.append(payees.payees_table(entries, flows_without_transfers(figures), periods))
    tables.append(uncategorized.uncategorized_table(queue, entries))
    tables.append(cash_accounts.flows_table(entries, flows_without_transfers(figures), periods.months))
    if books.drift is not None:
        tables.append(changes.changes_table(books.drift, entries))
    if (reported := reported_cash.reported_cash_table(books.compared, statements.compared, entries)) is not None:
        tables.append(reported)
    proven, reasons = _verdict(books)
    return PackContent(
        statements,
        entries,
        {one.name: one for one in tables},
        sentences,
        bridge,
        proven,
        undecided_sentence,
        reasons,
        _assumptions(books, statements),
        make_pictures(books, periods, bridge, statements.compared),
    )


def _suspense(balance: Statement) -> Figure | None:
    """Find what is in suspense at the end of the period, or moved since the lines begin; None if it is not known."""
    key = balance.columns[0].key
    if "suspense" not in balance.figures.layout.by_key or balance.value("suspense", key) is None:
        return None
    return balance["suspense", key]


def _undecided(income: Statement, column_key: str) -> list[tuple[str, Figure]]:
    """Received and paid amounts without a category, if the larger exceeds a tenth of net income without its sign."""
    net, row = income.value("net_income", column_key), income.figures.layout.by_key.get("not_categorized")
    if net is None or row is None:
        return []
    figures = [income[one, column_key] for one in row.ledger_ids]
    amounts = [one.exact() or Decimal(0) for one in figures]
    if max(map(abs, amounts), default=Decimal(0)) * _PARTS <= abs(net):
        return []
    return [("received" if amount > 0 else "paid", one) for amount, one in zip(amounts, figures, strict=True) if amount]


def _verdict(books: LoadedBooks) -> tuple[bool, tuple[str, ...]]:
    """Whether a pack is proven, and why or why not."""
    faults = [] if books.certificate.complete else [f"The load: {books.certificate.summary()}"]
    faults += [f"{one.label}: {one.verdict}" for one in books.compared.values() if not one.ties]
    if not books.compared:
        faults.append("no report of the service covers these days")
    if faults:
        return False, tuple(faults)
    labels = ", ".join(one.label for one in books.compared.values())
    return True, (
        f"The {books.certificate.lines:,} line entries of {len(books.ledgers):,} ledgers are all there.",
        known_ledgers_claim(books.ledgers, len(books.ledgers)),
        f"The service's cash flow reports of {labels} agree with our calculation to the last digit.",
        _NOT_REPORTED,
    )


def _assumptions(books: LoadedBooks, statements: PackStatements) -> tuple[str, ...]:
    """List what was assumed, each remark once."""
    notes = [
        _NOT_REPORTED,
        *(_of_statement(note, one.title) for one in statements[:-1] for note in one.notes),
        *books.certificate.notes,
        *books.notes,
    ]
    return tuple(dict.fromkeys(notes))


def _of_statement(note: str, title: str) -> str:
    """Name the statement in a remark that counts what it leaves out."""
    return f"{title}: {note}" if note.endswith(_LEFT_OUT) else note
