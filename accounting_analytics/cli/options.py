"""Arguments and options that several commands have, each defined once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import accounting_analytics as aa


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
StartDate = Annotated[
    str | None, typer.Option("--start-date", metavar="DATE", help="First day, inclusive, YYYY-MM-DD.")
]
EndDate = Annotated[str | None, typer.Option("--end-date", metavar="DATE", help="Last day, inclusive, YYYY-MM-DD.")]
PeriodText = Annotated[
    str | None,
    typer.Option(
        "--period",
        metavar="PERIOD",
        help="Instead of both dates: last-month, this-quarter, year-to-date, 2026, 2026-Q1, 2026-03 or "
        "2026-03-01/2026-03-15.",
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
BooksStart = Annotated[
    str | None,
    typer.Option(
        "--books-start",
        metavar="DATE",
        help="First day of the books: balances are summed from the line entries since then.",
        show_default="that of the demo company with --demo, else not known",
    ),
]
Parents = Annotated[
    Path | None,
    typer.Option(
        "--parents",
        help="Parents of ledgers that the service does not show: .csv or .xlsx (ledger_id, parent_id), or .json.",
    ),
]
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

LocalBooks = Annotated[
    Path | None,
    typer.Option(
        "--books",
        metavar="DIR",
        help="Read local books, which `sync` writes to this folder, offline; all their days by default.",
    ),
]
BooksToSync = Annotated[
    Path | None,
    typer.Option(
        "--books", metavar="DIR", help="Folder of local books to sync after the books of the service changed."
    ),
]
RefusedBooks = Annotated[
    Path | None, typer.Option("--books", metavar="DIR", hidden=True, help="Refused: this command needs the service.")
]
BooksFolder = Annotated[
    Path, typer.Option("--books", metavar="DIR", help="Folder of the local books.", show_default=False)
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
QueueGroup = Annotated[
    str | None, typer.Option("--group", metavar="ID", help="Only the transactions of this group, each of them.")
]
AllRows = Annotated[bool, typer.Option("--all", help="Print every row.")]
Output = Annotated[Path, typer.Option("--output", help="Folder to write to.")]

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
Precision = Annotated[
    float | None,
    typer.Option(
        "--precision",
        metavar="SHARE",
        help="Add suggestions from the history of each payee that kept this precision, such as 0.98, or none.",
    ),
]
LikelyTransfers = Annotated[
    bool, typer.Option("--transfers", help="Add likely transfers between own accounts, apart from the others.")
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
UndoneGroups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        metavar="ID",
        help="Only the changes of this group of the queue, or of this transaction; repeatable.",
        show_default=False,
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


Database = Annotated[
    str,
    typer.Option(
        "--database",
        envvar="ACCOUNTING_ANALYTICS_DATABASE",
        help="SQLite file, or postgresql://user@host/name (its password in PGPASSFILE).",
        show_default=False,
    ),
]
Instance = Annotated[
    str | None, typer.Option("--instance", help="The instance; required if the database has more than one.")
]
InstanceToChange = Annotated[str, typer.Option("--instance", help="Id of the instance.", show_default=False)]
Label = Annotated[str, typer.Option("--label", help="Display name.")]
