"""The command ``accounting-analytics``: one command a public operation; it parses, calls, prints.

Results go to stdout, messages to stderr. Exit codes: 0 fine; 1 the notebook or command failed; 2 bad input or
configuration; 3 the books do not tie, or the load is not complete; 4 service or authentication; 5 timed out or killed;
6 a recategorization ended with items not done or unknown.

Every command imports what it needs when it runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

import accounting_analytics as aa
from accounting_analytics import administration
from accounting_analytics.errors import (
    AccountingAnalyticsError,
    BooksDoNotTieError,
    IncompleteLoadError,
    InvalidRequestError,
    NotebookParametersError,
    PlanError,
    RecategorizationIncompleteError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.demo import DemoCompany
    from accounting_analytics.loader import LoadPlan
    from accounting_analytics.periods import Period
    from accounting_analytics.recategorization import Plan
    from accounting_analytics.reconciliation import Reconciliation
    from accounting_analytics.schemas import CashFlowReport

_KILLED = 5
_INTERRUPTED = 128 + signal.SIGINT
_LEDGER_COLUMNS = ["sort_code", "name", "type", "sub_type", "report_cash_flow", "id", "parent_id", "found_by"]
_QUEUE_COLUMNS = ["datetime", "ledger_name", "description", "amount", "category_amount", "transaction_id"]
_PROPOSAL_COLUMNS = ["datetime", "description", "amount", "updated_category_ledger_name", "rule", "transaction_id"]


class _Load(NamedTuple):
    """How lines are loaded, as the command line says."""

    checkpoint: Path | None
    dry_run: bool
    as_json: bool
    allow_partial: bool = False


app = typer.Typer(
    name="accounting-analytics",
    help="Load, recompute, reconcile and recategorize the books of a Ledger Accounting Service.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
config = typer.Typer(help="What is configured, and where it comes from.")
app.add_typer(config, name="config")
app.add_typer(administration.instances, name="instances")
app.add_typer(administration.tokens, name="tokens")
app.add_typer(administration.clients, name="clients")

StartDate = Annotated[str, typer.Option("--start-date", help="First day, inclusive, YYYY-MM-DD.")]
EndDate = Annotated[str, typer.Option("--end-date", help="Last day, inclusive, YYYY-MM-DD.")]
TimeZone = Annotated[
    str | None, typer.Option("--time-zone", help="IANA name of the zone that days are counted in.", show_default="UTC")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; amounts are text, so that no digit is lost.")]
UseDemo = Annotated[bool, typer.Option("--demo", help="Use the demo company, served for this command only.")]
Journal = Annotated[Path, typer.Option("--journal", help="Journal of the run; written before each change.")]
Profile = Annotated[str | None, typer.Option("--profile", help="Profile of the configuration file to use.")]
Rules = Annotated[Path, typer.Option("--rules", help="Rules file (TOML): which description means which category.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file that `plan` wrote.", show_default=False)]
Output = Annotated[Path, typer.Option("--output", help="Folder to write to.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Folder that keeps what was loaded: the same command goes on from there."),
]
AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="Go on without what cannot be loaded; results are stamped PARTIAL.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Load nothing: print how many requests and minutes it would take.")
]


def main() -> NoReturn:
    """Run the command line; every error of the package is one line and its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False) or 0
        if code == _INTERRUPTED:
            raise KeyboardInterrupt  # noqa: TRY301 (typer made a code of it)
    except AccountingAnalyticsError as error:
        _say(f"error: {error}")
        code = error.exit_code
    except typer.TyperException as error:
        if message := error.format_message():  # none where the help was shown instead
            _say(f"error: {message} See: accounting-analytics --help")
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        _say("stopped")
        code = _KILLED
    except _database_failures() as error:
        _say(f"error: the database failed: {error.orig}; what was not finished was not written")  # type: ignore[attr-defined]
        code = 1
    sys.exit(code)


@app.command()
def demo(
    output: Output = Path("demo-output"),
    *,
    lab: Annotated[
        bool, typer.Option("--lab", help="Open JupyterLab on the notebooks, with the demo company.")
    ] = False,
) -> None:
    """Run the whole loop on a small company: load, certify, recompute, reconcile, chart, export."""
    from accounting_analytics.demo import open_lab, run_demo

    if lab:
        raise typer.Exit(open_lab())
    run_demo(output, echo=typer.echo)


@app.command()
def serve(
    database: administration.Database,
    host: Annotated[str, typer.Option("--host", help="Address to bind to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 takes a free one.")] = 0,
    localtime: Annotated[str | None, typer.Option("--localtime", help="Zone that `localtime` means.")] = None,
    public_host: Annotated[
        list[str] | None,
        typer.Option("--public-host", help="Host name that requests may carry, behind a proxy; repeatable."),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            "--requests-per-minute", min=1, help="Limit for each instance (320 is documented); none if left out."
        ),
    ] = None,
    token_lifetime: Annotated[
        float, typer.Option("--token-lifetime", help="Seconds that a token from /oauth/token lives.")
    ] = 3600,
    faults: Annotated[
        str | None,
        typer.Option("--faults", help="Faults to play on purpose, for tests: http_503:p=0.1,empty_page:every=5,..."),
    ] = None,
    fault_seed: Annotated[int, typer.Option("--fault-seed", help="Which of the requests the faults hit.")] = 1,
    *,
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help="Let other machines reach it.")] = False,
    access_log: Annotated[bool, typer.Option("--access-log", help="Say every request on stderr.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Serve nothing: check every invariant of the books.")] = False,
    as_json: AsJson = False,
) -> None:
    """Serve the books of a database as a Ledger Accounting Service, until stopped; or check them."""
    if check:
        administration.check(database, as_json=as_json)
        return
    if as_json:
        msg = "--json goes with --check only."
        raise typer.BadParameter(msg)
    from accounting_analytics.service.front_door import show_access_log
    from accounting_analytics.service.server import serve as serve_books

    if access_log:
        show_access_log()
    serve_books(
        database,
        host=host,
        port=port,
        localtime=localtime,
        allow_remote=allow_remote,
        requests_per_minute=requests_per_minute,
        token_lifetime=token_lifetime,
        public_hosts=public_host or (),
        faults=faults,
        seed=fault_seed,
        echo=typer.echo,
    )


@app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="Line CSV or Parquet, or the CSV of `hledger print -O csv`.",
            exists=True,
            dir_okay=False,
            readable=True,
        ),
    ],
    database: administration.Database,
    instance: Annotated[
        str | None, typer.Option("--instance", help="Instance to import into; a database without one gets it.")
    ] = None,
    cash: Annotated[
        list[str] | None, typer.Option("--cash", help="Accounts that report cash flow; may be given several times.")
    ] = None,
    commodity: Annotated[str | None, typer.Option("--commodity", help="Keep entries in this commodity only.")] = None,
    time_zone: TimeZone = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Import books from a file; all of it, or nothing."""
    from accounting_analytics.service.credentials import only_instance
    from accounting_analytics.service.importer import import_books
    from accounting_analytics.service.store import Store

    with Store.open(database) as store:
        into = only_instance(store, instance)
        summary = import_books(store, into, file, time_zone=time_zone or "UTC", cash=cash or (), commodity=commodity)
        name = store.name
    for note in summary.notes:
        _say(note)
    _say(f"imported; now serve it: accounting-analytics serve --database {name}")
    _print_mapping(asdict(summary), as_json=as_json)


@app.command()
def discover(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the chart of accounts, as far as the service shows it."""
    with _service(profile, use_demo=use_demo) as (client, zone):
        ledgers = aa.discover_ledgers(client, start_date, end_date, time_zone=time_zone or zone)
    _say_notes(ledgers)
    _print(ledgers, as_json=as_json, columns=_LEDGER_COLUMNS)


@app.command()
def report(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Print the cash flow report of the service."""
    with _service(profile, use_demo=use_demo) as (client, zone):
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=time_zone or zone)
    _print_report(reported, as_json=as_json)


@app.command()
def reconcile(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="First day of the books: starting balances are then summed, not taken over."),
    ] = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Recompute the report of every month from line entries and explain each difference; 3 when they do not tie."""
    from accounting_analytics.periods import Period

    with _service(profile, use_demo=use_demo) as (client, zone):
        period = Period.of(start_date, end_date, time_zone or zone)
        load = _Load(checkpoint, dry_run, as_json, allow_partial)
        ledgers, lines = _books(client, since or start_date, period, load, reports=len(period.months()))
        certificate = aa.check_completeness(lines)
        _say(certificate.summary())
        months = [
            _reconciled(client, lines, ledgers, month, anchored=since is None, allow_partial=allow_partial)
            for month in period.months()
        ]
    _print_reconciliations(months, anchored=since is None, as_json=as_json)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())
    untied = [str(month.period) for month in months if not month.ties]
    if untied:
        msg = f"the books do not tie in {len(untied)} of {len(months)} months: {', '.join(untied)}"
        raise BooksDoNotTieError(msg)


@app.command()
def queue(
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    ledger: Annotated[list[str] | None, typer.Option("--ledger", help="Only this account; repeatable.")] = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """List the uncategorized transactions, largest first."""
    with _service(profile, use_demo=use_demo) as (client, zone):
        _, waiting = _queue(
            client, start_date, end_date, time_zone or zone, _Load(checkpoint, dry_run, as_json), only=ledger
        )
    _say_notes(waiting)
    _print(waiting, as_json=as_json, columns=_QUEUE_COLUMNS)


@app.command()
def propose(
    start_date: StartDate,
    end_date: EndDate,
    rules: Rules,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show which category the rules give each uncategorized transaction; writes nothing."""
    with _service(profile, use_demo=use_demo) as (client, zone):
        _, proposals = _proposals(
            client, start_date, end_date, time_zone or zone, rules, _Load(checkpoint, dry_run, as_json)
        )
    _say_notes(proposals)
    _print(proposals, as_json=as_json, columns=_PROPOSAL_COLUMNS)


@app.command()
def plan(
    start_date: StartDate,
    end_date: EndDate,
    rules: Rules,
    output: Annotated[Path, typer.Option("--output", help="Plan file to write (CSV).")],
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write a recategorization plan from the rules; the books stay as they are."""
    with _service(profile, use_demo=use_demo) as (client, zone):
        ledgers, proposals = _proposals(
            client, start_date, end_date, time_zone or zone, rules, _Load(checkpoint, dry_run, as_json)
        )
        planned = aa.plan_recategorization(proposals, ledgers=ledgers, instance_id=client.instance_id)
    _say_notes(proposals)
    planned.save(output)
    _say(f"{len(planned.frame)} items written to {output}; look at it, then: accounting-analytics preview {output}")
    _print(planned.frame, as_json=as_json, columns=_PROPOSAL_COLUMNS)


@app.command()
def preview(
    plan: PlanFile,
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Show what a plan would change in the cash flow report; writes nothing."""
    planned = aa.Plan.load(plan)
    with _service(profile, use_demo=use_demo) as (client, zone):
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=time_zone or zone)
    _print(planned.preview(reported), as_json=as_json)


@app.command()
def apply(
    plan: PlanFile,
    journal: Journal,
    modified_by: Annotated[str | None, typer.Option("--modified-by", help="Who, for the audit log.")] = None,
    profile: Profile = None,
    *,
    confirm: Annotated[bool, typer.Option("--confirm", help="Change the books; without it nothing is sent.")] = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Carry out a plan: a dry run unless --confirm is given; the same journal resumes an interrupted run.

    After a confirmed run the report of the days the plan spans is shown before and after, and must have changed as
    planned and by nothing else.
    """
    planned = aa.Plan.load(plan)
    with _service(profile, use_demo=use_demo) as (client, zone):
        days = _days_of(planned)
        before = aa.load_cash_flow_report(client, *days, time_zone=zone)
        outcomes = aa.apply_plan(client, planned, journal=journal, confirm=confirm, modified_by=modified_by)
        after = aa.load_cash_flow_report(client, *days, time_zone=zone) if confirm else before
    if as_json:
        _print_mapping({"outcomes": outcomes, "before": before.ledgers, "after": after.ledgers}, as_json=True)
    else:
        _print(outcomes, as_json=False)
    if confirm:
        changed = aa.verify_report_change(planned, before, after, outcomes=outcomes)
        if not as_json:
            _print(changed, as_json=False, title=f"Net cash flow, {before.period}, before and after")
    _finish_recategorization(outcomes, confirm=confirm)


@app.command()
def verify(plan: PlanFile, profile: Profile = None, *, use_demo: UseDemo = False, as_json: AsJson = False) -> None:
    """Read every item of a plan back and say whether the books hold it; 6 when some do not."""
    with _service(profile, use_demo=use_demo) as (client, _):
        outcomes = aa.verify_plan(client, aa.Plan.load(plan))
    _print(outcomes, as_json=as_json)
    _finish_recategorization(outcomes, confirm=True)


@app.command()
def export(
    start_date: StartDate,
    end_date: EndDate,
    output: Output,
    time_zone: TimeZone = None,
    checkpoint: Checkpoint = None,
    profile: Profile = None,
    *,
    dry_run: DryRun = False,
    allow_partial: AllowPartial = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write line entries, cash flow lines and ledgers as Parquet files with a manifest."""
    from accounting_analytics.periods import Period

    with _service(profile, use_demo=use_demo) as (client, zone):
        period = Period.of(start_date, end_date, time_zone or zone)
        ledgers, lines = _books(
            client, start_date, period, _Load(checkpoint, dry_run, as_json, allow_partial), reports=1
        )
        reported = aa.load_cash_flow_report(client, start_date, end_date, time_zone=period.time_zone)
    manifest = aa.export_parquet(output, line_entries=lines, ledgers=ledgers, report=reported)
    _print(manifest.frame, as_json=as_json, title="PARTIAL" if manifest.partial else "")
    if manifest.partial:
        msg = f"PARTIAL: lines are missing in {output}, and its manifest says so; run it again to load the rest"
        raise IncompleteLoadError(msg)


@app.command()
def run(
    notebook: Annotated[Path, typer.Argument(help="Notebook to execute.", show_default=False)],
    output: Output,
    parameters: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", help="name=value; may be given several times.")
    ] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds the whole run may take.")] = None,
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Execute a notebook with parameters; keeps the executed notebook and an HTML page with its charts."""
    given = dict(_parameter(text) for text in parameters or ())
    with _environment(profile, use_demo=use_demo) as environment:
        finished = aa.run_notebook(notebook, output, parameters=given, timeout=timeout, environment=environment)
    _print_mapping({"notebook": str(finished.notebook), "html": str(finished.html)}, as_json=as_json)


@app.command()
def doctor(
    start_date: Annotated[str | None, typer.Option("--start-date", help="First day to look at, inclusive.")] = None,
    end_date: Annotated[
        str | None, typer.Option("--end-date", help="Last day, inclusive; without both: the last three full months.")
    ] = None,
    time_zone: TimeZone = None,
    output: Annotated[Path, typer.Option("--output", help="Folder where results would go.")] = Path(),
    profile: Profile = None,
    *,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Examine this machine, the service, and whether its answers agree with each other; changes nothing."""
    from accounting_analytics.terminal import print_diagnosis

    with ExitStack() as stack:
        client = None
        if use_demo:
            company = stack.enter_context(aa.demo())
            client, time_zone = company.client, time_zone or company.time_zone
            if start_date is None and end_date is None:
                start_date, end_date = (day.isoformat() for day in _last_quarter(company))
        diagnosis = aa.doctor(client, start_date, end_date, time_zone=time_zone, profile=profile, output=output)
    if as_json:
        _print_mapping(diagnosis.as_json(), as_json=True)
    else:
        print_diagnosis(diagnosis)
    if diagnosis.failed:
        _say(f"error: {diagnosis.summary()}")
    raise typer.Exit(diagnosis.exit_code)


@config.command("show")
def config_show(profile: Profile = None, *, as_json: AsJson = False) -> None:
    """Show every setting, its value and where it comes from; secrets are masked."""
    from accounting_analytics.client.configuration import load_settings

    _print(load_settings(profile).frame(), as_json=as_json)


@contextmanager
def _service(profile: str | None, *, use_demo: bool) -> Iterator[tuple[LedgerClient, str]]:
    """Client of the configured service, or of the demo company, and the zone that days are counted in."""
    if use_demo:
        with aa.demo() as company:
            yield company.client, company.time_zone
        return
    from accounting_analytics.client.configuration import load_settings

    settings = load_settings(profile)
    with aa.connect(profile) as client:
        yield client, settings.time_zone


@contextmanager
def _environment(profile: str | None, *, use_demo: bool) -> Iterator[dict[str, str]]:
    """Environment variables that connect a notebook to the configured service, or to the demo company."""
    if use_demo:
        with aa.demo() as company:
            yield company.environment()
        return
    yield {} if profile is None else {"ACCOUNTING_ANALYTICS_PROFILE": profile}


def _books(
    client: LedgerClient, since: str, period: Period, load: _Load, *, reports: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts and line entries of all its ledgers, from `since` to the end of the period."""
    ledgers = aa.discover_ledgers(client, since, period.end_date, time_zone=period.time_zone)
    _say_notes(ledgers)
    lines = _lines(client, ledgers["id"], (since, period.end_date, period.time_zone), load, reports=reports)
    _say_notes(lines)
    return ledgers, lines


def _lines(
    client: LedgerClient, ledger_ids: Iterable[str], days: tuple[str, date | str, str], load: _Load, *, reports: int = 0
) -> pd.DataFrame:
    """Load line entries; a dry run ends here, with the plan of the load on stdout."""
    start_date, end_date, time_zone = days
    asked = (client, ledger_ids, start_date, end_date)
    if not load.dry_run:
        return aa.load_line_entries(
            *asked, time_zone=time_zone, checkpoint=load.checkpoint, allow_partial=load.allow_partial
        )
    _print_load_plan(aa.plan_load(*asked, time_zone=time_zone, checkpoint=load.checkpoint), as_json=load.as_json)
    more = f"; {reports} report(s) come on top" if reports else ""
    _say(f"dry run: no lines were loaded, only the chart of accounts was discovered{more}")
    raise typer.Exit(0)


def _reconciled(
    client: LedgerClient,
    lines: pd.DataFrame,
    ledgers: pd.DataFrame,
    month: Period,
    *,
    anchored: bool,
    allow_partial: bool,
) -> Reconciliation:
    days = (month.start_date, month.end_date)
    reported = aa.load_cash_flow_report(client, *days, time_zone=month.time_zone)
    recomputed = aa.recompute_cash_flow(
        lines,
        ledgers,
        *days,
        time_zone=month.time_zone,
        starting_balances=reported.starting_balances if anchored else None,
        allow_partial=allow_partial,
    )
    return aa.reconcile(reported, recomputed, line_entries=lines)


def _queue(
    client: LedgerClient, start_date: str, end_date: str, time_zone: str, load: _Load, *, only: list[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Chart of accounts and the uncategorized transactions of its cash ledgers, or of `only` these."""
    ledgers = _chart_of_accounts(client, start_date, end_date, time_zone)
    wanted = only or ledgers.loc[ledgers["report_cash_flow"] | ledgers["is_required"], "id"]
    lines = _lines(client, wanted, (start_date, end_date, time_zone), load)
    return ledgers, aa.uncategorized_queue(lines, ledgers)


def _chart_of_accounts(client: LedgerClient, start_date: str, end_date: str, time_zone: str) -> pd.DataFrame:
    """Discover the ledgers of a year back too, so that a category not used in the period is known."""
    from accounting_analytics.periods import parse_date

    first = parse_date(start_date, "start_date")
    a_year_back = first.replace(year=max(first.year - 1, 1), day=1)
    try:
        return aa.discover_ledgers(client, a_year_back, end_date, time_zone=time_zone)
    except InvalidRequestError:  # some deployments refuse to look before the start of the books
        return aa.discover_ledgers(client, start_date, end_date, time_zone=time_zone)


def _proposals(
    client: LedgerClient, start_date: str, end_date: str, time_zone: str, rules: Path, load: _Load
) -> tuple[pd.DataFrame, pd.DataFrame]:
    loaded = aa.load_rules(rules)
    ledgers, waiting = _queue(client, start_date, end_date, time_zone, load)
    return ledgers, aa.propose(waiting, loaded, ledgers)


def _last_quarter(company: DemoCompany) -> tuple[date, date]:
    """First and last day of the last three months of the demo's books."""
    from accounting_analytics.periods import Period

    return Period(company.start_date, company.end_date).months()[-3].start_date, company.end_date


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        msg = f"parameter {name!r} must be written as name=value"
        raise NotebookParametersError(msg)
    return name, value


def _days_of(plan: Plan) -> tuple[date, date]:
    """First and last day of a plan's transactions in any time zone."""
    moments = plan.frame["datetime"]
    if moments.empty:
        msg = "the plan has no items"
        raise PlanError(msg)
    return (moments.min() - timedelta(days=1)).date(), (moments.max() + timedelta(days=1)).date()


def _finish_recategorization(outcomes: pd.DataFrame, *, confirm: bool) -> None:
    counts = outcomes["outcome"].value_counts().to_dict()
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to do"
    if not confirm:
        _say(f"dry run, nothing was sent: {summary}; add --confirm to change the books")
        return
    open_items = {outcome: count for outcome, count in counts.items() if outcome not in {"done", "already_done"}}
    if open_items:
        msg = f"not everything is done: {summary}; the rest is safe to try again with the same journal"
        raise RecategorizationIncompleteError(msg)
    _say(summary)


def _print_load_plan(plan: LoadPlan, *, as_json: bool) -> None:
    if not as_json:
        typer.echo(plan.explain())
        return
    names = (
        "calls",
        "lines",
        "minutes",
        "requests_per_minute",
        "rate_is_known",
        "kept_lines",
        "kept_windows",
        "probes",
    )
    _print_mapping({name: getattr(plan, name) for name in names} | {"ledgers": plan.ledgers}, as_json=True)


def _print_report(report: CashFlowReport, *, as_json: bool) -> None:
    if as_json:
        _print_mapping(
            {
                "start_date": report.period.start_date,
                "end_date": report.period.end_date,
                "time_zone": report.period.time_zone,
                "starting_cash_balance": report.starting_cash_balance,
                "ending_cash_balance": report.ending_cash_balance,
                "ledgers": report.ledgers,
                "lines": report.lines,
                "starting_balances": report.starting_balances,
                "ending_balances": report.ending_balances,
                "notes": list(report.notes),
            },
            as_json=True,
        )
        return
    from accounting_analytics.money import format_amount

    _print(report.ledgers, title=f"Cash flow {report.period}", as_json=False)
    typer.echo(f"starting cash balance {format_amount(report.starting_cash_balance)}")
    typer.echo(f"net cash flow         {format_amount(report.net_cash_flow)}")
    typer.echo(f"ending cash balance   {format_amount(report.ending_cash_balance)}")
    for note in report.notes:
        _say(note)


def _print_reconciliations(months: list[Reconciliation], *, anchored: bool, as_json: bool) -> None:
    import pandas as pd

    summary = pd.DataFrame(
        [
            {
                "start_date": month.period.start_date,
                "end_date": month.period.end_date,
                "ties": month.ties,
                "anchored": anchored,
                "differences": len(month.differences),
                "partial": month.partial,
            }
            for month in months
        ]
    )
    _print(
        summary, as_json=as_json, title="PARTIAL: lines are missing" if any(month.partial for month in months) else ""
    )
    if not as_json:
        for month in months:
            if not month.ties:
                typer.echo(month.explain())


def _print(frame: pd.DataFrame, *, as_json: bool, title: str = "", columns: list[str] | None = None) -> None:
    """Print a table; JSON has all its columns, the one for humans those that matter most."""
    from accounting_analytics.terminal import print_json, print_table

    if as_json:
        print_json(frame)
    else:
        print_table(frame[columns] if columns else frame, title=title)


def _print_mapping(mapping: dict[str, Any], *, as_json: bool) -> None:
    from accounting_analytics.terminal import print_json

    if as_json:
        print_json(mapping)
    else:
        for name, value in mapping.items():
            typer.echo(f"{name}: {', '.join(value) if isinstance(value, tuple) else value}")


def _say_notes(frame: pd.DataFrame) -> None:
    for note in frame.attrs.get("notes", ()):
        _say(note)


def _database_failures() -> tuple[type[Exception], ...]:
    """Errors of the database under the embedded service; none are possible where it was never used."""
    exceptions = sys.modules.get("sqlalchemy.exc")
    return () if exceptions is None else (exceptions.DBAPIError,)


def _say(message: str) -> None:
    from accounting_analytics.terminal import plain

    typer.echo(plain(message), err=True)
