"""Arguments and options of all commands, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import accounting_analytics as aa
from accounting_analytics.exports.formats import FORMATS


def _print_version(*, requested: bool) -> None:
    """Print the version and end the program, if that is requested."""
    if requested:
        typer.echo(aa.__version__)
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=lambda value: _print_version(requested=value), is_eager=True, help="Print the version."
    ),
]
StartDate = Annotated[str, typer.Option("--start-date", metavar="DATE", help="First day, inclusive, YYYY-MM-DD.")]
EndDate = Annotated[str, typer.Option("--end-date", metavar="DATE", help="Last day, inclusive, YYYY-MM-DD.")]
OptionalStartDate = Annotated[
    str | None, typer.Option("--start-date", metavar="DATE", help="First day to check, inclusive.")
]
OptionalEndDate = Annotated[
    str | None,
    typer.Option("--end-date", metavar="DATE", help="Last day, inclusive; default: the last three full months."),
]
BooksStart = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="DATE",
        help="First day of the books: starting balances are summed from here, not taken from the report.",
    ),
]
TimeZone = Annotated[
    str | None,
    typer.Option(
        "--time-zone",
        metavar="ZONE",
        help="IANA name of the zone that days are counted in.",
        show_default="as configured, or UTC",
    ),
]
Parents = Annotated[
    Path | None,
    typer.Option(
        "--parents",
        help="Parents of ledgers that the service does not show: CSV (ledger_id,parent_id) or JSON (id to id).",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit code 3 also where figures could not be compared.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Folder for loaded windows: the same command resumes an interrupted load."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Load nothing: print how many requests and minutes the load would take.")
]
AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="Leave out what cannot be loaded; results are marked PARTIAL.")
]
Ledgers = Annotated[
    list[str] | None,
    typer.Option(
        "--ledger", metavar="LEDGER", help="Only this account, by id, unique name or path (Assets:Bank); repeatable."
    ),
]

Profile = Annotated[str | None, typer.Option("--profile", help="Profile of the configuration file to use.")]
UseDemo = Annotated[bool, typer.Option("--demo", help="Use the demo company, served for this command only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; amounts are text, so that no digit is lost.")]
RowLimit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, help="Print at most this many rows; --json prints all.")
]
PreviewBy = Annotated[
    Literal["ledger", "category", "rule"],
    typer.Option("--by", help="What a row is: a ledger of the report, or the items of a new category or a rule."),
]
RunBy = Annotated[
    Literal["category", "rule", "item", "ledger"],
    typer.Option(
        "--by", help="What a row is: the items of a new category or rule, an item, or a ledger of the report."
    ),
]
OutcomesBy = Annotated[
    Literal["category", "rule", "item"],
    typer.Option("--by", help="What a row is: the items of a new category or a rule, or an item."),
]
AllRows = Annotated[bool, typer.Option("--all", help="Print every row.")]
_OUTPUTS = ", ".join(f"{name} ({output})" for name, output in FORMATS.items())
ExportFormat = Annotated[str, typer.Option("--format", help=f"Format, and what --output is then: {_OUTPUTS}.")]
ExportOutput = Annotated[Path, typer.Option("--output", help="Folder or file to write, as the format needs.")]
ReplaceMonths = Annotated[
    bool, typer.Option("--replace-months", help="Replace only these months of the export, and keep all others.")
]
JournalOfChanges = Annotated[
    Path | None,
    typer.Option("--journal", help="Journal of an applied plan: the exported months that it changed are replaced too."),
]
Currency = Annotated[
    str | None,
    typer.Option(
        "--currency",
        help="Name of the currency, such as USD; the service does not state it.",
        show_default="that of the export whose months are replaced, or none",
    ),
]
FiscalYearStartMonth = Annotated[
    int | None,
    typer.Option(
        "--fiscal-year-start-month",
        metavar="N",
        min=1,
        max=12,
        help="First month of the fiscal year.",
        show_default="that of the export whose months are replaced, or 1",
    ),
]
Output = Annotated[Path, typer.Option("--output", help="Folder to write to.")]
ExportFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of an export, or one version of it.", show_default=False)
]
OutputToCheck = Annotated[Path, typer.Option("--output", help="Folder to check for space and write access.")]

_RULES = typer.Option("--rules", help="Rules file (TOML): which description means which category.")
Rules = Annotated[Path, _RULES]
OptionalRules = Annotated[Path | None, _RULES]
DecisionFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--decisions",
        metavar="FILE",
        help="File of `queue --output` with categories filled in; replaces what rules decide; repeatable.",
    ),
]
QueueOutput = Annotated[
    Path | None,
    typer.Option(
        "--output",
        help="New file to decide by hand, .xlsx for Excel or .csv: the groups, or with --all the transactions.",
    ),
]
RulesFile = Annotated[Path, typer.Argument(metavar="FILE", help="Rules file (TOML).", show_default=False)]
QueueKey = Annotated[
    str, typer.Argument(metavar="GROUP", help="Group of `queue`, or transaction id.", show_default=False)
]
NewCategory = Annotated[str, typer.Option("--category", help="Category: id, unique name or path.", show_default=False)]
DayOfMonth = Annotated[
    str | None, typer.Option("--day-of-month", help="Only on these local days of each month, such as 1-5,15.")
]
PlanOutput = Annotated[Path, typer.Option("--output", help="Plan file to write: .xlsx for Excel, else CSV.")]
PlanPath = Annotated[
    Path, typer.Argument(metavar="PLAN", help="Plan file of `plan`, edited or not.", show_default=False)
]
Journal = Annotated[Path, typer.Option("--journal", help="Journal of the run; written before each change.")]
NewJournal = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        help="Journal of the run, with its plan beside it as FILE.csv; the same journal resumes an interrupted run.",
        show_default="categorize-PLAN_ID.journal",
    ),
]
MaxAmount = Annotated[
    str, typer.Option("--max-amount", help="Largest amount that is changed without a person, without its sign.")
]
AppliedJournal = Annotated[
    Path | None, typer.Option("--journal", help="Journal that the plan was applied with; it is only read.")
]
UndoneJournal = Annotated[
    Path,
    typer.Argument(metavar="JOURNAL", help="Journal of the run to undo; it is only read.", show_default=False),
]
IncompleteJournal = Annotated[
    bool,
    typer.Option(
        "--incomplete", help="Undo what the journal has, although its run was interrupted or its end is missing."
    ),
]
UndoJournal = Annotated[Path, typer.Option("--journal", help="New journal, of the undo; written before each change.")]
ModifiedBy = Annotated[str | None, typer.Option("--modified-by", help="Your name, for the audit log.")]
AllowIrreversible = Annotated[
    bool, typer.Option("--allow-irreversible", help="Also join parts of splits, which `undo` cannot take back.")
]
Confirm = Annotated[
    bool, typer.Option("--confirm/--dry-run", help="Change the books, or send nothing and show what would change.")
]

OpenLab = Annotated[
    bool, typer.Option("--lab", help="Open JupyterLab on the notebooks, connected to the demo company.")
]
NotebooksFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder to copy to; created if missing.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that differ.")]
Notebook = Annotated[Path, typer.Argument(metavar="NOTEBOOK", help="Notebook to execute.", show_default=False)]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the notebook; repeatable."),
]
AllowEmpty = Annotated[
    bool, typer.Option("--allow-empty", help="Accept a period without line entries: sets the parameter allow_empty.")
]
Timeout = Annotated[float | None, typer.Option("--timeout", help="Time limit of the whole run, in seconds.")]

Database = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="ACCOUNTING_ANALYTICS_DATABASE",
        help="SQLite file, or postgresql://user@host/name (its password in PGPASSFILE).",
        show_default=False,
    ),
]
NewBackup = Annotated[Path, typer.Argument(metavar="FILE", help="New file for the backup, readable by you only.")]
Backup = Annotated[
    Path, typer.Argument(metavar="FILE", help="File that `backup` has written.", exists=True, dir_okay=False)
]
BackupMade = Annotated[
    bool, typer.Option("--backup-made", help="You made a backup with pg_dump; required for PostgreSQL.")
]
Host = Annotated[str, typer.Option("--host", help="Address to bind to.")]
Port = Annotated[int, typer.Option("--port", help="Port; 0 means any free port.")]
ServedLocaltime = Annotated[
    str | None,
    typer.Option("--localtime", metavar="ZONE", help="Zone that `localtime` means; default: that of each instance."),
]
PublicHosts = Annotated[
    list[str] | None,
    typer.Option(
        "--public-host", metavar="HOST", help="Host name that requests may carry, behind a proxy; repeatable."
    ),
]
RequestsPerMinute = Annotated[
    int | None,
    typer.Option(
        "--requests-per-minute",
        metavar="N",
        min=1,
        help="Rate limit of each instance (the documented limit is 320); default: no limit.",
    ),
]
IssuedLifetime = Annotated[
    float, typer.Option("--token-lifetime", help="Lifetime of tokens from /oauth/token, in seconds.")
]
Faults = Annotated[
    str | None,
    typer.Option("--faults", help="Faults to inject, for tests: http_503:p=0.1,empty_page:every=5,..."),
]
FaultSeed = Annotated[int, typer.Option("--fault-seed", help="Seed that selects the requests to fail.")]
AllowRemote = Annotated[bool, typer.Option("--allow-remote", help="Accept connections from other machines.")]
AccessLog = Annotated[bool, typer.Option("--access-log", help="Log every request on stderr.")]
Check = Annotated[bool, typer.Option("--check", help="Do not serve: check every invariant of the books.")]
BooksFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Line CSV or Parquet, or the CSV of `hledger print -O csv`.",
        exists=True,
        dir_okay=False,
        readable=True,
    ),
]
ImportInstance = Annotated[
    str | None, typer.Option("--instance", help="Instance to import into; an empty database gets this one.")
]
CashAccounts = Annotated[
    list[str] | None,
    typer.Option(
        "--cash", metavar="PATTERN", help="Accounts that report cash flow, such as 'assets:bank*'; repeatable."
    ),
]
NoCash = Annotated[bool, typer.Option("--no-cash", help="Import although no account would report cash flow.")]
Commodity = Annotated[str | None, typer.Option("--commodity", help="Import entries in this commodity only.")]

Instance = Annotated[
    str | None, typer.Option("--instance", help="The instance; required if the database has more than one.")
]
ChangedTransaction = Annotated[str | None, typer.Option("--transaction", help="Only changes of this transaction id.")]
ChangedBy = Annotated[str | None, typer.Option("--modified-by", help="Only changes by this user.")]
AuditStartDate = Annotated[
    str | None, typer.Option("--start-date", metavar="DATE", help="Only changes on or after this day.")
]
AuditEndDate = Annotated[
    str | None, typer.Option("--end-date", metavar="DATE", help="Only changes up to this day, inclusive.")
]
MaxChanges = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, help="Largest number of changes; the newest are listed.")
]
LedgerToRename = Annotated[
    str, typer.Argument(metavar="LEDGER", help="Id, unique name or path of the ledger.", show_default=False)
]
NewName = Annotated[str, typer.Argument(metavar="NAME", help="The new name.", show_default=False)]
NewInstance = Annotated[str | None, typer.Option("--instance", help="Id of the new instance; default: a random id.")]
InstanceName = Annotated[str, typer.Option("--name", help="Display name.")]
InstanceToChange = Annotated[str, typer.Option("--instance", help="Id of the instance.", show_default=False)]
NewTier = Annotated[int, typer.Option("--tier", help="Subscription tier, 1 to 3.", show_default=False)]
ConfirmedInstance = Annotated[
    str | None, typer.Option("--confirm", help="The id of the instance again; without it the command asks for it.")
]
Tier = Annotated[int, typer.Option("--tier", help="Subscription tier, 1 to 3.")]
Scale = Annotated[int, typer.Option("--scale", help="Fraction digits of the currency.")]
Localtime = Annotated[str, typer.Option("--localtime", metavar="ZONE", help="Zone that `localtime` means.")]
EntriesStart = Annotated[
    str | None,
    typer.Option(
        "--entries-start", metavar="DATE", help="First day of the books; requests for earlier days are refused."
    ),
]
InstanceTokenFile = Annotated[
    Path | None, typer.Option("--token-file", help="New file for an access token, readable by you only.")
]
TokenFile = Annotated[
    Path, typer.Option("--token-file", help="New file for the token, readable by you only.", show_default=False)
]
SecretFile = Annotated[
    Path, typer.Option("--secret-file", help="New file for the secret, readable by you only.", show_default=False)
]
Label = Annotated[str, typer.Option("--label", help="Display name.")]
Lifetime = Annotated[float | None, typer.Option("--lifetime", help="Seconds until it expires; default: never.")]
TokenKey = Annotated[str, typer.Argument(metavar="KEY", help="Key of the token, as shown by `tokens list`.")]
ClientId = Annotated[str, typer.Argument(metavar="CLIENT_ID", help="Id of the client, as shown by `clients list`.")]
