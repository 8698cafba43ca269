"""Commands that read and check: ledgers, reports, statements, registers, bridges, reconciliation, the doctor."""

from __future__ import annotations

import datetime as dt
from contextlib import ExitStack
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.types import PositiveInt

import accounting_analytics as aa
from accounting_analytics.cli.books_source import (
    configured_zone,
    connect_for_days,
    connect_source,
    depreciation_of,
    load_books,
    load_ledgers,
    load_report,
    presentation_of,
    refuse_books,
    require_budget,
    require_complete,
    require_entries,
    require_scale,
    say_movements,
)
from accounting_analytics.cli.declarations import DELIVER, READ, command, commands
from accounting_analytics.cli.options import (
    AgedLedgers,
    BooksOrService,
    BudgetFile,
    DepreciationLedgers,
    Json,
    Load,
    Parents,
    RefusedBooks,
    Service,
    ZonedDays,
)
from accounting_analytics.cli.output import (
    console,
    print_json,
    print_message,
    print_note,
    print_notes,
    print_result,
    print_statement,
    print_table,
)
from accounting_analytics.core.errors import (
    BooksDoNotTieError,
    EmptyPeriodError,
    IncompleteLoadError,
    InputError,
    with_context,
)
from accounting_analytics.core.messages import count_of, printable, shorten
from accounting_analytics.core.periods import day_label, parse_date, period_label

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from accounting_analytics.core.results import Result

_LEDGERS = {
    name: name for name in ("sort_code", "name", "type", "sub_type", "report_cash_flow", "id", "parent_id", "found_by")
}
_FLOWS = {name: name for name in ("name", "net_cash_flow", "total_net_cash_flow", "ledger_id")}
_REGISTER = {
    "local_date": "date",
    "journal_entry_description": "description",
    "opposing_ledgers": "opposing ledgers",
    "amount": "amount",
}
_DOCTOR_WIDTH = 120
_COMPARISONS: dict[str, Literal["prior", "prior_year"]] = {
    "prior": "prior",
    "prior-year": "prior_year",
    "prior_year": "prior_year",
}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}</style>
</head>
<body>
{body}
</body>
</html>
"""


@command(READ)
def discover(
    *,
    days: ZonedDays = ZonedDays(),
    parents: Parents = None,
    source: BooksOrService = BooksOrService(),
    as_json: Json = False,
) -> None:
    """List the ledgers found in reports and line entries."""
    from accounting_analytics.core.load_metadata import known_ledgers_claim

    with connect_source(source, days) as (client, period):
        ledgers = load_ledgers(client, period, parents)
    optional = ("found_by", "parent_id", "sub_type", "sort_code", "report_cash_flow", "type")
    print_table(ledgers, _LEDGERS, as_json=as_json, optional=optional)
    if not as_json:
        print(known_ledgers_claim(ledgers, len(ledgers)))


@command(READ)
def report(
    *,
    days: ZonedDays = ZonedDays(),
    parents: Parents = None,
    raw: bool = False,
    source: BooksOrService = BooksOrService(),
    as_json: Json = False,
) -> None:
    """Print the cash flow report of the service.

    It is shown as a cash flow statement; --raw and --json have its own columns.

    Parameters
    ----------
    raw
        Print the report's own columns, without sections and subtotals.
    """
    with connect_source(source, days) as (client, period):
        reported = load_report(client, period)
        if as_json:
            print(reported.to_json())
        elif raw:
            print(reported.summary())
            print_table(reported.exact().ledgers, _FLOWS)
            for note in reported.notes:
                print_note(note)
        else:
            ledgers = load_ledgers(client, period, parents)
            print_statement(aa.cash_flow_statement(reported, ledgers=ledgers), as_json=False)


@command(READ)
def statements(
    statement: Literal["cash-flow", "income", "balance-sheet", "trial-balance", "ageing", "recurring", "ratios"],
    /,
    *,
    days: ZonedDays = ZonedDays(),
    columns: Literal["month", "quarter", "year", "tag"] = "month",
    tags: Annotated[tuple[str, ...], Parameter(name="--tag")] = (),
    tag_group: str | None = None,
    compare: tuple[str, ...] = (),
    depth: PositiveInt | None = None,
    amounts_in: Literal["k", "M"] | None = None,
    budget: BudgetFile = None,
    aged_ledgers: AgedLedgers = (),
    depreciation: DepreciationLedgers = (),
    output: Path | None = None,
    load: Load = Load(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Print a statement, ages, what recurs, or key ratios.

    It is calculated from line entries since the first one, which is found; --since loads fewer days, and cash at their
    start is then what the service reports. Company, currency and fiscal year are those of the configuration. Ages,
    what recurs and ratios are those at the last day; --end-date suffices for them. Exit code 3 if lines are missing.

    Parameters
    ----------
    statement
        What to print.
    columns
        What a column is; a month by default. With tag, each tag is one, of an income or cash flow statement.
    tags
        Id of a tag: count only lines that have it; repeatable, then all of them.
    tag_group
        Id of the group whose tags are columns, where there are several.
    compare
        Column to add: prior, prior-year, change, change-pct or share beside each, total or average after all;
        repeatable. A --budget is compared by itself.
    depth
        Levels of ledgers to show; all by default.
    amounts_in
        Show amounts in thousands (k) or millions (M); JSON and CSV have all digits.
    output
        File to write too: .xlsx, .csv or .html.
    """
    from accounting_analytics.reports.statements.columns import check_comparisons

    is_list, by_tags = statement in {"ageing", "recurring", "ratios"}, bool(tags) or columns == "tag"
    refused = {
        "--compare": compare and (is_list or statement == "trial-balance"),
        "--depth": depth is not None and (is_list or statement == "trial-balance"),
        "--amounts-in": amounts_in is not None and is_list,
        "--budget": budget is not None and statement not in {"cash-flow", "income"},
        "--output": output is not None and is_list,
        "--tag and no --columns tag": by_tags and statement not in {"cash-flow", "income"},
        "--aged-ledger": aged_ledgers and statement != "ageing",
        "--depreciation": depreciation and statement != "ratios",
    }
    for option in filter(refused.get, refused):
        raise InputError(f"statements {statement} has no {option}: leave it out; nothing was loaded")
    if output is not None:
        _require_writable(output)
    require_budget(budget, is_compared="budget" in compare)
    if is_list:
        named = depreciation_of(source, depreciation) if statement == "ratios" else aged_ledgers
        _print_list(statement, named, days=days, load=load, source=source)
        return
    compared = check_comparisons(compare, of_flows=statement not in {"balance-sheet", "trial-balance"})
    with connect_source(source, days, load) as (client, period):
        books = load_books(client, period, load)
    options: dict[str, Any] = {"columns": columns, "amounts_in": amounts_in}
    if statement != "trial-balance":
        options |= {"compare": compared, "depth": depth}
    if by_tags:
        options |= {"tag_ids": tags, "tag_group": tag_group}
    if budget is not None:
        options["budget"] = budget
    makers: dict[str, Callable[..., aa.Statement]] = {
        "cash-flow": aa.cash_flow_statement,
        "income": aa.income_statement,
        "balance-sheet": aa.balance_sheet,
        "trial-balance": aa.trial_balance,
    }
    made = makers[statement](books, period, **options)
    if statement != "income":
        say_movements(books)
    print_statement(made, as_json=load.as_json)
    if output is not None:
        _write_statement(made, output)
        print_message(f"written to {output}")
    require_complete(books)
    if statement in {"cash-flow", "income"}:
        require_entries(books, period, "nothing was counted")


def _print_list(
    statement: str,
    named: tuple[str, ...],
    *,
    days: ZonedDays,
    load: Load,
    source: BooksOrService,
) -> None:
    """Print recurring payments, open items by age, or ratios.

    The list is as of the last day.
    """
    books, last = _load_until(days, load, source)
    result: Result
    if statement == "recurring":
        result = aa.recurring_payments(books, as_of=last)
    elif statement == "ratios":
        result = aa.key_ratios(books, as_of=last, depreciation=named)
    else:
        result = aa.ageing(books, as_of=last, accounts=named or None)
    print_result(result, as_json=load.as_json)
    require_complete(books)


def _load_until(days: ZonedDays, load: Load, source: BooksOrService) -> tuple[aa.Books, dt.date | None]:
    """Load books up to a last day, and also return this day.

    Without given days the day is None, and a calculation takes the day of the latest line, because local books also
    have days after it.
    """
    if days.end_date is not None and days.period is None:
        days = replace(days, start_date=days.start_date or str(parse_date(days.end_date, "--end-date")))
    with connect_source(source, days, load) as (client, period):
        books = load_books(client, period, load)
    return books, period.end_date if days.given or books.lines.empty else None


def _require_writable(path: Path) -> None:
    """Refuse an output file with an unknown format or folder."""
    if path.suffix.lower() not in {".xlsx", ".csv", ".html"}:
        raise InputError(f"--output {path} must end in .xlsx, .csv or .html; nothing was loaded")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--output: the folder {path.absolute().parent} does not exist; nothing was loaded")


def _write_statement(statement: aa.Statement, path: Path) -> None:
    """Write a statement in the format that the file's name states."""
    from accounting_analytics.core.atomic_files import write_text

    match path.suffix.lower():
        case ".xlsx":
            statement.to_excel(path)
        case ".csv":
            statement.to_csv(path)
        case _:
            title = escape(printable(statement.heading()))
            write_text(path, _PAGE.format(title=title, body=statement._repr_html_()))


@command(READ)
def register(
    ledger: str,
    /,
    *,
    days: ZonedDays = ZonedDays(),
    load: Load = Load(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Print the entries of an account and those below it.

    Each has its opposing accounts and a running total, which is the balance where the first entry of the books is known
    or given (--opening). Debits are positive. Exit code 3 if lines are missing.

    Parameters
    ----------
    ledger
        Account: id, unique name or path.
    """
    with connect_source(source, days, load) as (client, period):
        books = load_books(client, period, load)
    since = books.extent.days.start_date if books.opening.is_movement else None
    try:
        ledger_id = books.names.find(ledger)
    except InputError as error:
        raise with_context(error, "counterparties are in `statements recurring` and `pack --section payees`") from None
    entries = aa.register(books, ledger_id)
    if load.as_json:
        print_json(entries)
    else:
        _print_register(entries, books, ledger_id, period, since)
    print_notes(entries)
    if reasons := books.extent.reasons(period):
        raise IncompleteLoadError("; ".join(reasons))


def _print_register(
    entries: pd.DataFrame, books: aa.Books, ledger_id: str, days: aa.Period, since: dt.date | None
) -> None:
    """Print the entries of a ledger, with their sum or the balance."""
    from accounting_analytics.core.column_conversion import exact_floats
    from accounting_analytics.core.money import exact_sum, format_amount

    names = books.ledgers.set_index("id")["name"]
    moved = format_amount(exact_sum(exact_floats(entries)["amount"]))
    count = count_of(len(entries), "entry", "entries")
    print(printable(f"{names[ledger_id]}, {period_label(days)}: {count}, debits less credits {moved}"))
    width = console().width // 4
    shown = entries.assign(
        local_date=entries["local_date"].dt.date,
        opposing_ledgers=entries["opposing_ledgers"].map(lambda names: shorten(names, limit=width)),
    )
    of_account = {} if (entries["ledger_name"] == names[ledger_id]).all() else {"ledger_name": "account"}
    print_table(
        shown, {**of_account, **_REGISTER, "running_total": f"since {day_label(since)}" if since else "balance"}
    )


@command(READ)
def bridge(
    *,
    days: ZonedDays = ZonedDays(),
    against: str = "prior",
    statement: Literal["cash-flow", "income"] = "cash-flow",
    largest: PositiveInt = 8,
    load: Load = Load(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Explain why cash or net income changed, by counterparty.

    The change from another period, in steps that sum exactly to it. The line entries before both periods tell a new
    counterparty from one that is paid every quarter. Exit code 3 if lines are missing.

    Parameters
    ----------
    against
        The period to compare with: prior, prior-year, or another, such as 2026-Q1.
    statement
        What changed: cash or net income.
    largest
        How many changes to show, 8 by default; the others share one row.
    """
    from accounting_analytics.core.fiscal_years import parse_period
    from accounting_analytics.reports.statements.columns import compared_period

    comparison, first_month = _COMPARISONS.get(against), presentation_of(source).fiscal_year_start_month
    if comparison is None:
        parse_period(against, first_month)  # a wrong period is refused before anything is started
    with connect_source(source, days, load) as (client, period):
        other = (
            compared_period(period, comparison)
            if comparison
            else parse_period(against, first_month, time_zone=period.time_zone)
        )
        last = max(period.end_date, other.end_date)
        books = load_books(client, aa.Period(period.start_date, last, period.time_zone), load)
    total: Literal["net_cash_flow", "net_income"] = "net_cash_flow" if statement == "cash-flow" else "net_income"
    explained = aa.bridge(books, period, against=other, total=total, largest=largest)
    print_result(explained, as_json=load.as_json)
    if not load.as_json:
        print()
        print_table(explained.frame, {"label": "change", "cause": "cause", "amount": "amount"})
    require_complete(books)
    for compared in (period, other):
        require_entries(books, compared, "one of the periods is empty")


@command(READ)
def outlook(
    *,
    days: ZonedDays = ZonedDays(),
    weeks: PositiveInt = 13,
    known: Path | None = None,
    limit: str | None = None,
    load: Load = Load(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Look ahead at weeks of cash, with what is due.

    The weeks after the last day (--end-date suffices), from line entries since the books began: what recurs, open
    invoices and bills on the day that their party usually pays, balances with an 80 % range to week 6, and how far such
    outlooks were off in past weeks; where they were no better than today's balance, what is due only. It takes 26 weeks
    of history, and 52 for a range. Exit code 3 if lines are missing, or there are too few.

    Parameters
    ----------
    weeks
        How many weeks, up to 26; 13 by default.
    known
        CSV file of payments and receipts that you know of: date, amount (negative goes out), category, note. One that
        is due anyway, by the counterparty in its note, its category or its amount, replaces what is due.
    limit
        Cash that you do not want to fall below: the first week at whose end it is expected to is named.
    """
    from accounting_analytics.reports.payees.cash_forecast import AVERAGED
    from accounting_analytics.reports.payees.known_items import read_known_items

    items = None if known is None else read_known_items(known)
    books, last = _load_until(days, load, source)
    result = aa.outlook(books, as_of=last, weeks=weeks, known=items, limit=limit)
    print_result(result, as_json=load.as_json)
    require_complete(books)
    first_averaged = result.end_date - dt.timedelta(weeks=AVERAGED)
    require_entries(books, aa.Period(first_averaged, result.end_date, books.time_zone), "nothing was averaged")


@command(READ)
def draft_budget(
    months: str,
    /,
    *,
    output: Path,
    days: ZonedDays = ZonedDays(),
    load: Load = Load(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Write a draft of a budget, to edit.

    It has the last twelve months by ledger and month, until --end-date, which ends a month, with what recurs at its
    latest amount and without what has stopped. `statements income --budget FILE` and `pack --budget FILE` compare with
    it. Exit code 3 if lines are missing, or there are too few.

    Parameters
    ----------
    months
        Months of the budget: 2027, 2027-H1, 2027-01/2027-06.
    output
        New file to write: .csv or .xlsx.
    """
    from accounting_analytics.reports.payees.budget_draft import require_new_file

    require_new_file(output)
    books, last = _load_until(days, load, source)
    draft = aa.draft_budget(books, months, as_of=last, path=output)
    if load.as_json:
        print_json(draft)
    print_notes(draft)
    print_message(f"{count_of(len(draft), 'row')} written to {output}")
    require_complete(books)


@command(READ)
def reconcile(
    *,
    days: ZonedDays = ZonedDays(),
    strict: bool = False,
    load: Load = Load(),
    service: Service = Service(),
    books: RefusedBooks = None,
) -> None:
    """Recompute each month's report and explain differences.

    The report is recomputed from line entries; exit code 3 if a month does not tie, or no cash moved in all days.
    Totals need the parents of ledgers: give those that the service does not show with --parents. Starting balances are
    summed from the first entry; from a later --since on, they are those that the service reports.

    Parameters
    ----------
    strict
        Exit code 3 also where figures could not be compared.
    """
    refuse_books(
        books,
        "they would be compared with themselves; `sync` compares each month with the service's report, and "
        "`books history` shows the result",
    )
    with connect_for_days(service, days) as (client, period):
        loaded = load_books(client, period, load, reports=period.months())
    certificate = aa.check_completeness(loaded.with_reports(()))  # the next step compares reports
    print_message(certificate.summary())
    months = aa.reconcile(loaded)
    print_result(months, as_json=load.as_json)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())
    _require_tied(months, period, strict=strict)
    if load.as_json:
        print_message(months.summary())
        for note in months.notes:
            print_note(note)


def _require_tied(months: aa.Reconciliation, days: aa.Period, *, strict: bool) -> None:
    """Fail if a month does not tie, or if no cash moved.

    Figures that were not compared are printed. With `strict` they are a failure.
    """
    if not months.ties:
        untied = ", ".join(period_label(month.period) for month in months.untied)
        count = f"{len(months.untied)} of {count_of(len(months.compared), 'month')}"
        raise BooksDoNotTieError(f"the books do not tie in {count}: {untied}")
    if not months.moved_cash:
        raise EmptyPeriodError(f"no line entry moved cash in {days}: is it the right period?")
    if not months.compared_everything:
        limit = f"{months.summary()} Give the parents of ledgers with --parents FILE"
        if strict:
            raise BooksDoNotTieError(limit)
        print_message(limit)


@command(READ)
def doctor(
    *,
    days: ZonedDays = ZonedDays(),
    output: Path = Path(),
    service: Service = Service(),
    as_json: Json = False,
) -> int:
    """Check this machine, the service and its responses.

    Responses must agree with each other; by default those of the last three full months. Nothing is changed.

    Parameters
    ----------
    output
        Folder to check for space and write access.
    """
    with ExitStack() as stack:
        client, first, last = None, days.start_date, days.end_date
        if service.demo:
            company = stack.enter_context(aa.demo())
            client = company.client
            require_scale(service, client.scale, "the demo company has")
            if not days.given:
                months = aa.Period(company.start_date, company.end_date).months()
                first, last = str(months[-3].start_date), str(company.end_date)
        if days.period is not None:  # only with --period is the configuration needed before it is checked
            zone = days.time_zone or (client.time_zone if client else None) or configured_zone(None, service.profile)
            first, last = days.optional_dates(zone, presentation_of(service).fiscal_year_start_month)
        configured: dict[str, Any] = {"profile": service.profile, "scale": service.scale}
        diagnosis = aa.doctor(client, first, last, time_zone=days.time_zone, output=output, **configured)
    print(diagnosis.to_json() if as_json else diagnosis.explain(min(console().width, _DOCTOR_WIDTH)))
    if diagnosis.failed:
        print_message(f"error: {diagnosis.summary()}")
    return diagnosis.exit_code


config = commands(DELIVER, "config", "The configuration in effect and its sources.")


@config.command(name="show")
def show_config(*, profile: str | None = None, as_json: Json = False) -> None:
    """Show every setting with its value and source; secrets are masked.

    Parameters
    ----------
    profile
        Profile of the configuration file to use.
    """
    from accounting_analytics.client.settings import load_settings

    settings = load_settings(profile)
    print_table(settings.frame, as_json=as_json)
    missing = "" if settings.file.exists() else ", which does not exist"
    print_message(f"profile {settings.profile!r} of {settings.file}{missing}")
