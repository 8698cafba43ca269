"""The command ``bridge``: why cash or net income changed from one period to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.discover_and_load import LoadOptions
from accounting_analytics.cli.options import (
    AllowPartial,
    AsJson,
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
from accounting_analytics.cli.output import print_first_rows
from accounting_analytics.cli.service_or_demo import connect_for_days, presentation_of
from accounting_analytics.cli.statement_loads import StatementRequest, load_statement_books, require_complete
from accounting_analytics.messages import printable

if TYPE_CHECKING:
    from accounting_analytics.bridges import Bridge


def bridge(
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    against: Annotated[
        Literal["prior", "prior-year"], typer.Option("--against", help="The period to compare with.")
    ] = "prior",
    statement: Annotated[
        Literal["cash-flow", "income"], typer.Option("--statement", help="What changed: cash or net income.")
    ] = "cash-flow",
    largest: Annotated[
        int, typer.Option("--largest", metavar="N", min=1, help="How many changes to show; the others share one row.")
    ] = 8,
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
    """Explain why cash or net income changed, by payee.

    The change from the period before, or from that of a year before, in steps that sum exactly to it. It is calculated
    from line entries of both periods. Exit code 3 if lines are missing.
    """
    presentation, given = presentation_of(profile, use_demo=use_demo), DayOptions(start_date, end_date, period)
    compared: Literal["prior", "prior_year"] = "prior" if against == "prior" else "prior_year"
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        request = StatementRequest(
            statement, days, (days,), (compared,), None, presentation.fiscal_year_start_month, with_balances=False
        )
        options = LoadOptions(checkpoint, dry_run, as_json, allow_partial, parents)
        loaded = load_statement_books(client, request, options)
    make = aa.cash_flow_statement if statement == "cash-flow" else aa.income_statement
    made = make(
        loaded.lines, loaded.ledgers, days.start_date, days.end_date,
        columns=[days], compare=compared, time_zone=days.time_zone,
    )  # fmt: skip
    column = made.columns[0].key
    explained = aa.bridge(made.column(f"{column} {compared}"), made.column(column), largest=largest)
    if as_json:
        typer.echo(explained.to_json())
    else:
        _print_bridge(explained)
    require_complete(loaded.lines)


def _print_bridge(bridge: Bridge) -> None:
    """Print the sentences and the steps."""
    from textwrap import fill

    from accounting_analytics.cli.terminal_tables import print_text, terminal_width

    width = terminal_width()
    sentences = (fill(printable(one), width, break_long_words=False) for one in bridge.sentences())
    print_text("\n\n".join(sentences))
    typer.echo()
    print_first_rows(bridge.frame, {"label": "change", "cause": "cause", "amount": "amount"}, None)
