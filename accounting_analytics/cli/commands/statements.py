"""The commands ``statements`` and ``register``: figures by period and comparison, and the entries of one ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions
from accounting_analytics.cli.options import (
    AllowPartial,
    AsJson,
    BooksStart,
    Checkpoint,
    DryRun,
    EndDate,
    LocalBooks,
    Parents,
    PeriodText,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_first_rows, print_frame, print_message, print_notes, print_statement
from accounting_analytics.cli.service_or_demo import connect_for_days, presentation_of
from accounting_analytics.cli.statement_loads import (
    StatementKind,
    StatementRequest,
    StatementUnit,
    load_ledger_books,
    load_statement_books,
    parse_books_start,
    require_complete,
)
from accounting_analytics.errors import InputError
from accounting_analytics.messages import join_ids, printable, shorten

if TYPE_CHECKING:
    from datetime import date

    import pandas as pd

    from accounting_analytics.cli.statement_loads import LedgerBooks, StatementBooks
    from accounting_analytics.client.settings import Presentation
    from accounting_analytics.periods import Period
    from accounting_analytics.statements import Statement


def statements(
    statement: Annotated[
        StatementKind, typer.Argument(metavar="STATEMENT", help="cash-flow, income, balance-sheet or trial-balance.")
    ],
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    columns: Annotated[StatementUnit, typer.Option("--columns", help="What a column is.")] = "month",
    compare: Annotated[
        list[str] | None,
        typer.Option(
            "--compare",
            metavar="COLUMN",
            help="Column to add: prior, prior-year, change, change-pct or share beside each, total or average after "
            "all; repeatable.",
        ),
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", metavar="N", min=1, help="Levels of ledgers to show.", show_default="all")
    ] = None,
    books_start: BooksStart = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="File to write too: .xlsx, .csv or .html.")
    ] = None,
    checkpoint: Checkpoint = None,
    parents: Parents = None,
    books: LocalBooks = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Print a financial statement, by month and compared.

    It is calculated from line entries. A balance sheet and a trial balance need them since the books began
    (--books-start), the other statements those of their days and of the days that these are compared with. Company,
    currency and fiscal year are those of the configuration. Exit code 3 if lines are missing.
    """
    from accounting_analytics.cli.statement_files import require_writable, write_statement
    from accounting_analytics.statements.columns import check_comparisons

    if output is not None:
        require_writable(output)
    if statement == "trial-balance" and (compare or depth is not None):
        raise InputError("a trial balance has no --compare and no --depth: leave them out; nothing was loaded")
    check_comparisons(compare or (), of_flows=statement != "balance-sheet")
    presentation, given = presentation_of(profile, use_demo=use_demo), DayOptions(start_date, end_date, period)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        first = parse_books_start(books_start, days, client, use_demo=use_demo)
        request = StatementRequest(
            statement, days, columns, tuple(compare or ()), first, presentation.fiscal_year_start_month
        )
        options = LoadOptions(checkpoint, dry_run, as_json, allow_partial, parents)
        loaded = load_statement_books(client, request, options)
    made = _make(request, loaded, presentation, depth)
    print_statement(made, as_json=as_json)
    if output is not None:
        write_statement(made, output)
        print_message(f"written to {output}")
    require_complete(loaded.lines)


_REGISTER = {
    "local_date": "date",
    "journal_entry_description": "description",
    "opposing_ledgers": "opposing ledgers",
    "amount": "amount",
    "running_total": "running total",
}


def register(
    ledger: Annotated[
        str, typer.Argument(metavar="LEDGER", help="Account: id, unique name or path.", show_default=False)
    ],
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    books_start: BooksStart = None,
    checkpoint: Checkpoint = None,
    parents: Parents = None,
    books: LocalBooks = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Print the entries of one account.

    Each has its opposing accounts and a running total, which is the balance if the lines are loaded since the books
    began (--books-start). Debits are positive.
    """
    given = DayOptions(start_date, end_date, period)
    options = LoadOptions(checkpoint, dry_run, as_json, parents=parents)
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        first = parse_books_start(books_start, days, client, use_demo=use_demo)
        loaded = load_ledger_books(client, ledger, days, first, options)
    entries = aa.register(loaded.lines, loaded.ledger_id, ledgers=loaded.ledgers, period=days)
    if as_json:
        print_frame(entries, as_json=True)
    else:
        _print_register(entries, loaded, days, first)
    print_notes(entries)


def _print_register(entries: pd.DataFrame, books: LedgerBooks, days: Period, books_start: date | None) -> None:
    """Print the entries of a ledger, and what they sum to."""
    from accounting_analytics.cli.terminal_tables import terminal_width
    from accounting_analytics.column_conversion import exact_floats
    from accounting_analytics.ledger_names import LedgerNames
    from accounting_analytics.money import exact_sum, format_amount

    name = LedgerNames.from_frame(books.ledgers).name(books.ledger_id)
    moved = format_amount(exact_sum(exact_floats(entries)["amount"]))
    typer.echo(printable(f"{name}, {days}: {len(entries):,} entries, debits less credits {moved}"))
    width = terminal_width() // 4
    total = "balance" if books_start else f"since {days.start_date}"
    shown = entries.assign(
        local_date=entries["local_date"].dt.date,
        opposing_ledgers=entries["opposing_ledgers"].map(lambda names: shorten(names, limit=width)),
    )
    below = books.ledgers.loc[books.ledgers["parent_id"] == books.ledger_id, "name"]
    if entries.empty and len(below):
        print_message(
            f"a register has the entries of one account, without those of accounts below it: {join_ids(below)}"
        )
    print_first_rows(shown, {**_REGISTER, "running_total": total}, None)


def _make(request: StatementRequest, books: StatementBooks, presentation: Presentation, depth: int | None) -> Statement:
    """Calculate the statement."""
    from accounting_analytics.statements import balance_sheet, cash_flow_statement, income_statement, trial_balance

    lines, ledgers, days = books.lines, books.ledgers, request.days
    first, last = days.start_date, days.end_date
    common: dict[str, Any] = {"columns": request.columns, "time_zone": days.time_zone, **presentation._asdict()}
    compared: dict[str, Any] = {"compare": request.compare, "depth": depth}
    if request.kind == "income":
        return income_statement(lines, ledgers, first, last, **common, **compared)
    balances: dict[str, Any] = {
        "books_start": request.books_start,
        "starting_balances": books.starting_balances,
    }
    if request.kind == "trial-balance":
        return trial_balance(lines, ledgers, first, last, **common, **balances)
    make = cash_flow_statement if request.kind == "cash-flow" else balance_sheet
    return make(lines, ledgers, first, last, **common, **compared, **balances)
