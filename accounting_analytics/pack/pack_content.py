"""The content of a pack: statements, verdict, sentences, tables and remarks."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.core.errors import FrameError, IncompleteLoadError, InputError
from accounting_analytics.core.load_metadata import known_ledgers_claim
from accounting_analytics.core.messages import count_of
from accounting_analytics.pack import section_tables
from accounting_analytics.pack.pack_budget import budget_table
from accounting_analytics.pack.pack_coding import coding_sentence, coding_table
from accounting_analytics.pack.pack_lines import PackLines
from accounting_analytics.pack.pack_outlook import outlook_tables
from accounting_analytics.pack.pack_pictures import make_pictures
from accounting_analytics.pack.pack_sentences import SentenceFacts, SentenceWriter
from accounting_analytics.pack.pack_table import PackTable, statement_table
from accounting_analytics.pack.ratios_and_twelve_months import ratio_table, twelve_months_table
from accounting_analytics.recategorization.check_coding import check_coding
from accounting_analytics.reports.books.book_lines import LineSource
from accounting_analytics.reports.books.payees import OPEN_ITEMS
from accounting_analytics.reports.payees.ageing import ageing
from accounting_analytics.reports.payees.customers_and_payees import CustomerLedgers
from accounting_analytics.reports.payees.outlook import outlook
from accounting_analytics.reports.payees.recurring import recurring_payments
from accounting_analytics.reports.statements.four_statements import balance_sheet, cash_flow_statement, income_statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accounting_analytics.core.amount_units import AmountsIn
    from accounting_analytics.pack.books_of_pack import ComparedBooks
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.pack.pack_pictures import PackPicture
    from accounting_analytics.pack.pack_sentences import Sentence
    from accounting_analytics.recategorization.check_coding import CodingCheck
    from accounting_analytics.recategorization.decisions import Decisions
    from accounting_analytics.reports.figures.figure import Figure
    from accounting_analytics.reports.payees.bridge import Bridge
    from accounting_analytics.reports.payees.outlook import Outlook
    from accounting_analytics.reports.statements.budget import BudgetLike
    from accounting_analytics.reports.statements.statement import Statement
    from accounting_analytics.reports.statements.statement_figures import StatementFigures


class PackStatements(NamedTuple):
    """The statements of a pack. `compared` has the columns of the key figures."""

    income: Statement
    cash_flow: Statement
    balance: Statement
    compared: Statement


def make_statements(books: ComparedBooks, periods: PackPeriods, amounts_in: AmountsIn | None = None) -> PackStatements:
    """Make the statements. A column is known if the books have its lines."""
    given = books.books
    return PackStatements(
        income_statement(given, columns=periods.income_columns(), amounts_in=amounts_in),
        cash_flow_statement(given, columns=periods.month_columns(), amounts_in=amounts_in),
        balance_sheet(given, columns=periods.balance_columns(), amounts_in=amounts_in),
        cash_flow_statement(given, columns=periods.key_columns()),
    )


def _line_source(figures: StatementFigures) -> LineSource:
    if not isinstance(figures.source, LineSource):
        raise InputError("a pack is made from line entries, not from a report")
    return figures.source


_LEFT_OUT = "left out."
_PARTS = 10
"""The verdict states amounts without a category if they exceed net income divided by this number."""
_NOT_REPORTED = (
    "The service reports cash flow only: the income statement and the balance sheet are sums of the same line entries, "
    "which no report confirms."
)


_OF_FILE = (
    "They were read from a file, and no report of a service confirms them: import the file and serve it where a proof "
    "is needed."
)


class PackContent(NamedTuple):
    """The parts of a pack.

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


class GivenParts(NamedTuple):
    """Arguments of a pack in addition to its books."""

    aged_ledgers: Iterable[str] | None = None
    decisions: Decisions | Sequence[Decisions] | None = None
    budget: BudgetLike | None = None
    depreciation: Iterable[str] = ()


def make_content(
    books: ComparedBooks,
    periods: PackPeriods,
    given: GivenParts,
    amounts_in: AmountsIn | None = None,
) -> PackContent:
    """Make all parts of a pack, with amounts in the chosen unit."""
    statements = make_statements(books, periods, amounts_in)
    figures = statements.compared.figures
    cash = section_tables.CashLines(statements.compared, _line_source(figures))
    key_table = section_tables.key_figures(cash, statements.income)
    bridge = section_tables.make_bridge(books.books, periods)
    queue = section_tables.open_entries(cash, periods.key)
    facts = SentenceFacts(
        periods,
        key_table,
        bridge,
        section_tables.lowest_day(cash, cash.column(periods.key)),
        cash,
        len(queue),
        _suspense(statements.balance),
        statements.balance.since,
        _undecided(statements.income, periods.key),
        amounts_in,
    )
    writer = SentenceWriter(facts)
    sentences, undecided_sentence = writer.sentences(), writer.undecided()
    aged, why_no_ages = _ageing(books, periods, given.aged_ledgers)
    has_balances = "ending_cash_balance" in figures.layout.by_key
    ahead = _outlook(books, periods)
    check, why_not_checked = _coding(books, periods, given.decisions)
    tables = [
        key_table,
        writer.table(),
        statement_table("income", statements.income),
        budget_table(books.books, periods, given.budget, amounts_in),
        twelve_months_table(books.books, periods, amounts_in),
        statement_table("cash_flow", statements.cash_flow),
        statement_table("balance", statements.balance),
        ratio_table(books.books, periods, given.depreciation),
        None if bridge is None else section_tables.cash_bridge(bridge, cash, periods),
        section_tables.cash_accounts(cash, periods.this) if has_balances else None,
        section_tables.cash_by_day(cash, periods.this) if has_balances else None,
        section_tables.top_parties(cash, periods, section_tables.CUSTOMERS, CustomerLedgers.of_books(books.books)),
        section_tables.top_parties(cash, periods, section_tables.PAYEES),
        _recurring(books, periods),
        *([] if ahead is None else outlook_tables(ahead, max(periods.first_day, books.days.start_date))),
        aged,
        section_tables.uncategorized(queue, cash),
        None if check is None else coding_table(check),
        section_tables.flows_by_month(cash, statements.cash_flow, periods.months),
        None if books.drift is None else section_tables.changes(books.drift),
        section_tables.reported_cash(books.compared, cash),
    ]
    proven, reasons = _verdict(books)
    return PackContent(
        statements,
        PackLines(statements.compared.figures, cash.source, periods.first_day, periods.this.end_date),
        {table.name: table.shown_in(amounts_in) for table in tables if table is not None},
        [*sentences, *([] if check is None else coding_sentence(check))],
        bridge,
        proven,
        undecided_sentence,
        reasons,
        (*_assumptions(books, statements), *why_no_ages, *why_not_checked),
        make_pictures(books, periods, bridge, statements.compared, ahead, amounts_in=amounts_in),
    )


def _recurring(books: ComparedBooks, periods: PackPeriods) -> PackTable | None:
    """Make the table of recurring payments.

    Return None without recurring payments, or if lines are missing.
    """
    try:
        found = recurring_payments(books.books, as_of=periods.this.end_date)
    except (InputError, IncompleteLoadError):
        return None
    table = section_tables.recurring(found, max(periods.first_day, books.days.start_date))
    return table if table.table.rows else None


def _outlook(books: ComparedBooks, periods: PackPeriods) -> Outlook | None:
    """Make the outlook on the weeks after the last day.

    Return None without enough history or known cash.
    """
    try:
        found = outlook(books.books, as_of=periods.this.end_date)
    except (InputError, IncompleteLoadError):
        return None
    return None if found.cash.units is None else found


def _coding(
    books: ComparedBooks, periods: PackPeriods, decisions: Decisions | Sequence[Decisions] | None
) -> tuple[CodingCheck | None, tuple[str, ...]]:
    """Check the coding of the period.

    Otherwise, say which columns the lines lack.
    """
    try:
        return check_coding(books.books, periods.this, decisions=decisions), ()
    except FrameError as error:
        return None, (f"The coding of the period was not checked: {error}.",)


def _ageing(
    books: ComparedBooks, periods: PackPeriods, aged_ledgers: Iterable[str] | None
) -> tuple[PackTable | None, tuple[str, ...]]:
    """Make the table of receivables and payables by age.

    Otherwise, say why the ages are not known.
    """
    if aged_ledgers is None and not books.books.ledgers["financial_account_type"].isin(OPEN_ITEMS).any():
        how = "name them with aged_ledgers, or --aged-ledger of the command"
        return None, (f"No ledger has the type of receivables or payables, so their ages are not known: {how}.",)
    try:
        found = ageing(books.books, as_of=periods.this.end_date, accounts=aged_ledgers)
    except (InputError, IncompleteLoadError) as error:
        if aged_ledgers is not None and isinstance(error, InputError):
            raise
        return None, (f"The ages of receivables and payables are not known: {error}.",)
    if not any(account.items for account in found.accounts):
        return None, (found.summary(),)
    return section_tables.ageing(found), ()


def _suspense(balance: Statement) -> Figure | None:
    """Find the amount in suspense at the end, or return None."""
    key = balance.columns[0].key
    if "suspense" not in balance.figures.layout.by_key or balance.value("suspense", key) is None:
        return None
    return balance["suspense", key]


def _undecided(income: Statement, column_key: str) -> list[tuple[str, Figure]]:
    """List received and paid amounts without a category.

    List nothing if no amount exceeds a tenth of net income.
    """
    net, row = income.value("net_income", column_key), income.figures.layout.by_key.get("not_categorized")
    if net is None or row is None:
        return []
    figures = [income[ledger_id, column_key] for ledger_id in row.ledger_ids]
    amounts = [figure.exact() or Decimal(0) for figure in figures]
    if max(map(abs, amounts), default=Decimal(0)) * _PARTS <= abs(net):
        return []
    return [
        ("received" if amount > 0 else "paid", figure)
        for amount, figure in zip(amounts, figures, strict=True)
        if amount
    ]


def _verdict(books: ComparedBooks) -> tuple[bool, tuple[str, ...]]:
    """Decide if a pack is proven, with the reasons."""
    faults = [] if books.certificate.complete else [f"The load: {books.certificate.summary()}"]
    faults += [f"{period.label}: {period.verdict}" for period in books.compared.values() if not period.ties]
    if books.file and not faults:
        ledgers = count_of(len(books.books.ledgers), "ledger")
        return False, (f"The figures are sums of the {books.certificate.lines:,} line entries of {ledgers}.", _OF_FILE)
    if not books.compared:
        faults.append("no report of the service covers these days")
    if faults:
        return False, tuple(faults)
    labels = ", ".join(period.label for period in books.compared.values())
    found = [period.comparison for period in books.compared.values() if period.comparison]
    count = len(books.books.ledgers)
    agree = f"{'report' if len(books.compared) == 1 else 'reports'} of {labels}"
    agree += f" {'agrees' if len(books.compared) == 1 else 'agree'} with our calculation to the last digit"
    if not all(comparison.compared_everything for comparison in found):
        agree += " in all figures that could be compared; the appendix says which could not"
    return True, (
        f"The {books.certificate.lines:,} line entries of {count:,} ledgers are all there.",
        known_ledgers_claim(books.books.ledgers, count),
        f"The service's cash flow {agree}.",
        _NOT_REPORTED,
    )


def _assumptions(books: ComparedBooks, statements: PackStatements) -> tuple[str, ...]:
    """List what was assumed, each remark once."""
    notes = [
        _OF_FILE if books.file else _NOT_REPORTED,
        *(_of_statement(note, statement.title) for statement in statements[:-1] for note in statement.notes),
        *books.certificate.notes,
        *books.books.notes,
    ]
    return tuple(dict.fromkeys(notes))


def _of_statement(note: str, title: str) -> str:
    """Name the statement in a remark about what the statement leaves out."""
    return f"{title}: {note}" if note.endswith(_LEFT_OUT) else note
