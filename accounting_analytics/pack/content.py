"""What a pack says: verdict, sentences, tables, and remarks, made from the loaded books."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
from accounting_analytics.pack.pack_lines import PackRow
from accounting_analytics.pack.pack_statements import collect_entries, make_statements
from accounting_analytics.pack.pack_tables import cells_of, page_spans, statement_table
from accounting_analytics.pack.pictures import make_pictures
from accounting_analytics.pack.sentences import SentenceFacts, SentenceWriter

if TYPE_CHECKING:
    from accounting_analytics.bridges import Bridge
    from accounting_analytics.figures import Figure
    from accounting_analytics.pack.loaded_books import LoadedBooks
    from accounting_analytics.pack.pack_columns import PackPeriods
    from accounting_analytics.pack.pack_lines import PackLines
    from accounting_analytics.pack.pack_statements import PackStatements
    from accounting_analytics.pack.pack_tables import PackTable
    from accounting_analytics.pack.pictures import PackPicture
    from accounting_analytics.pack.sentences import Sentence


_LEFT_OUT = "left out."
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
        Whether the lines are complete, and every report that was compared agrees.
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
    reasons: tuple[str, ...]
    assumptions: tuple[str, ...]
    pictures: dict[str, PackPicture]


def make_content(books: LoadedBooks, periods: PackPeriods, currency: str | None, company: str | None) -> PackContent:
    """Make all parts of a pack."""
    statements = make_statements(books, periods, currency, company)
    entries = collect_entries(statements, periods.this.end_date)
    key_table = key_figures.key_figures_table(KeyStatements(statements.compared, statements.income), entries)
    bridge = cash_bridge.make_bridge(statements.compared, periods)
    suspense = cells_of(statements.compared).layout.by_key.get("uncategorized")
    row = PackRow(-1, "flow", suspense.ledger_ids) if suspense is not None else None
    queue = uncategorized.uncategorized_entries(entries, row, periods.this)
    lowest = lowest_in(statements.compared, entries, periods.key)
    writer = SentenceWriter(
        SentenceFacts(periods, key_table, bridge, lowest, row, len(queue), _suspense(statements, periods)), entries
    )
    sentences = writer.sentences()
    tables = [key_table, writer.table()]
    for name, statement in (
        ("income", statements.income),
        ("cash_flow", statements.cash_flow),
        ("balance", statements.balance),
    ):
        tables.append(statement_table(name, statement, entries, statement.title, ()))
    if bridge is not None:
        tables.append(cash_bridge.cash_bridge_table(bridge, statements.compared, entries, periods))
    cells = cells_of(statements.compared)
    if "ending_cash_balance" in cells.layout.by_key:
        ((_, since, _),) = page_spans(cells, "balance", cells.columns.by_key[periods.key])
        tables.append(cash_accounts.cash_accounts_table(entries, since, periods.this))
        tables.append(cash_accounts.cash_by_day_table(entries, since, periods.this))
    tables.append(payees.payees_table(entries, flows_without_transfers(cells), periods))
    tables.append(uncategorized.uncategorized_table(queue, entries))
    tables.append(cash_accounts.flows_table(entries, flows_without_transfers(cells), periods.months))
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
        reasons,
        _assumptions(books, statements),
        make_pictures(books, periods, bridge, statements.compared),
    )


def _suspense(statements: PackStatements, periods: PackPeriods) -> Figure | None:
    """Find what is in suspense at the end of the period, where balances are known."""
    balance = statements.balance
    if "suspense" not in cells_of(balance).layout.by_key or balance.value("suspense", periods.key) is None:
        return None
    return balance["suspense", periods.key]


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
        f"All {books.certificate.lines:,} line entries are there, and debits equal credits.",
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
