"""Commands that write and check files for others: exports, packs, notebooks as jobs, the demo's workflow."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

import accounting_analytics as aa
from accounting_analytics import demo_company, exports
from accounting_analytics.cli.books_source import (
    configured_zone,
    connect_source,
    depreciation_of,
    load_books,
    open_books,
    presentation_of,
    require_budget,
    require_entries,
    require_one_source,
    require_scale,
)
from accounting_analytics.cli.declarations import DELIVER, READ, command, commands
from accounting_analytics.cli.options import (
    AgedLedgers,
    BooksOrService,
    BudgetFile,
    DepreciationLedgers,
    GivenDays,
    Json,
    Load,
    Opening,
    Output,
    Parents,
    ZonedDays,
)
from accounting_analytics.cli.output import print_json, print_mapping, print_message, print_result
from accounting_analytics.core.errors import (
    BooksDoNotTieError,
    BooksError,
    IncompleteLoadError,
    InputError,
    NotebookParametersError,
)
from accounting_analytics.core.messages import quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from accounting_analytics.local_books.version_changes import Drift
    from accounting_analytics.pack.pack_files import PackFormats

_OUTPUTS = ", ".join(f"{name} ({output})" for name, output in exports.FORMATS.items())


@command(DELIVER)
def export(
    *,
    output: Path,
    days: ZonedDays = ZonedDays(),
    export_format: Annotated[
        str, Parameter(name="--format", help=f"Format, and what --output is then: {_OUTPUTS}. Parquet by default.")
    ] = "parquet",
    load: Load = Load(),
    source: BooksOrService = BooksOrService(),
) -> None:
    """Write files for BI tools.

    They are a folder of files with a manifest, or one file, as --format says.

    Facts are line entries, cash flow lines, transfers between own accounts, and balances of every day and month;
    dimensions are ledgers, days, transactions, tags and loads; company, currency and fiscal year are those of the
    configuration. A folder has the export in DIR/current, and is replaced
    in one step; `verify-export DIR` checks one of Parquet. With --books a month is proven by the last sync.

    Parameters
    ----------
    output
        Folder or file to write, as the format needs.
    """
    exports.check_output(export_format, output)  # checked before the load
    with connect_source(source, days, load) as (client, period):
        books = load_books(client, period, load, reports=[period])
    if isinstance(client, aa.LedgerClient):
        require_entries(books, period, "nothing was written")
    manifest = aa.export(books, output, format=export_format)
    print_result(manifest, as_json=load.as_json)
    if manifest.partial:
        raise IncompleteLoadError(
            f"PARTIAL: lines are missing in {output}, and its manifest says so; run it again to load the rest"
        )


@command(DELIVER)
def verify_export(folder: Path, /, *, as_json: Json = False) -> None:
    """Check the files of an export against its manifest.

    Rows, exact sums and digests are computed again. Files that are missing or not listed are named too. Exit code 3 if
    anything differs.

    Parameters
    ----------
    folder
        Folder of an export, or one version of it.
    """
    verification = exports.verify_export(folder)
    print_result(verification, as_json=as_json)
    if not verification.verified:
        raise BooksError(
            f"{verification.folder} is not as it was written; export it again, and verify it before it is read"
        )


@command(DELIVER)
def pack(
    *,
    output: Output,
    days: ZonedDays = ZonedDays(),
    opening: Opening = None,
    since: str | None = None,
    parents: Parents = None,
    aged_ledgers: AgedLedgers = (),
    decisions: Annotated[tuple[Path, ...], Parameter(name="--decisions")] = (),
    sections: Annotated[tuple[str, ...], Parameter(name="--section")] = (),
    templates: Path | None = None,
    note: Path | None = None,
    pdf: bool = False,
    excel: bool = False,
    amounts_in: Literal["k", "M"] | None = None,
    budget: BudgetFile = None,
    depreciation: DepreciationLedgers = (),
    show_code: bool = False,
    allow_empty: bool = False,
    source: BooksOrService = BooksOrService(),
    as_json: Json = False,
) -> None:
    """Write the monthly pack of a company.

    One page, and with it a PDF and a workbook, named by company and period: harbor-lane_2026-05.html. A run replaces
    the files of an earlier run of the same period; one that fails leaves them as they were. Company, currency and
    fiscal year are those of the configuration. Exit code 3 if the cash flow is not proven, which the first page says,
    or the period is empty.

    Parameters
    ----------
    since
        Version, day or time of the last pack, of local books: what changed since is shown. The last close of a period
        by default.
    decisions
        File of decisions: categories that it has are right, and not listed under coding; repeatable.
    sections
        Only this section of the page; repeatable, in this order.
    templates
        Folder with templates of your own: sections/NAME.html.j2 replaces one.
    note
        File with your note in Markdown, which stands on page one.
    pdf
        Print the page as a PDF too, with Chromium.
    excel
        Write a workbook too: statements with formulas and their entries.
    amounts_in
        Show amounts in thousands (k) or millions (M); the page and the workbook still have all digits.
    show_code
        Show on the page the code that makes its figures.
    allow_empty
        Accept a period without line entries.
    """
    from accounting_analytics.core.installed_programs import letters_without_font
    from accounting_analytics.pack.monthly_pack import PageOptions
    from accounting_analytics.pack.pack_files import OutputFiles, pack_name, write_pack
    from accounting_analytics.pack.pack_periods import PackPeriods

    _refuse_secrets()
    formats = _choose_formats(source.profile, pdf=pdf, excel=excel)
    text = None
    if note is not None:
        try:
            text = note.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--note {note} cannot be read: {error}; write a text file in UTF-8") from None
    PageOptions(sections or None, templates, text).check()
    require_budget(budget)
    presentation = presentation_of(source)
    # also for local books, because all their days are no period of a pack
    days.in_zone("UTC", presentation.fiscal_year_start_month)
    with connect_source(source, days) as (client, period):
        if since is not None and isinstance(client, aa.LedgerClient):
            raise InputError("--since is for local books, which have versions: give --books, or leave it out")
        files = OutputFiles(output, pack_name(presentation.company, period, presentation.fiscal_year_start_month))
        with files.locked():
            files.require_company(presentation.company)
            periods = PackPeriods.around(period, presentation.fiscal_year_start_month)
            load = Load(parents=parents, opening=opening)
            books = load_books(client, period, load, reports=periods.compared().values())
            made = aa.monthly_pack(
                books,
                drift=_drift(client, books, since),
                aged_ledgers=aged_ledgers or None,
                decisions=decisions or None,
                sections=sections or None,
                templates=templates,
                note=text,
                show_code=show_code,
                allow_empty=allow_empty,
                amounts_in=amounts_in,
                budget=budget,
                depreciation=depreciation_of(source, depreciation),
            )
            if formats.browser is not None and (letters := letters_without_font(made.html)):
                print_message(
                    f"note: no font of this machine has {quote(letters)}: the PDF has boxes for them, and the page "
                    "where its reader has no font; install one, such as fonts-noto-cjk or fonts-noto-core"
                )
            written = write_pack(made, files, formats)
    if as_json:
        paths = {suffix.removeprefix("."): str(path) for suffix, path in written.paths.items()}
        print_json({"title": made.title, "verdict": made.proof, "fingerprint": made.fingerprint, "files": paths})
    else:
        print(*written.paths.values(), sep="\n")
    print_message(f"{made.title}: {made.proof}; fingerprint {made.fingerprint}")  # the log of a job keeps this text
    if not made.proven:
        problems = [*made.reasons, *([] if written.pdf_error is None else [str(written.pdf_error)])]
        raise BooksDoNotTieError(f"the cash flow of the pack is not proven: {'; '.join(problems)}")
    if written.pdf_error is not None:
        raise written.pdf_error


def _drift(client: aa.LedgerClient | aa.LocalBooks, books: aa.Books, since: str | None) -> Drift | None:
    """Find changes since a version, else since days were last closed.

    Return None for a service, and for books without closed days.
    """
    if isinstance(client, aa.LedgerClient):
        return None
    version: str | int | None = since
    if since is None:
        closed = client.closed()
        version = int(closed["version"].max()) if len(closed) else None
    return None if version is None else client.drift(version, period=books.extent.days)


def _refuse_secrets() -> None:
    """Refuse a secret as a parameter. The message does not repeat the secret, because logs keep errors."""
    from accounting_analytics.client.secret import TOKEN_VARIABLE, is_secret_parameter, known_secrets

    secrets = known_secrets(os.environ)
    if any(is_secret_parameter("", word, secrets) for word in sys.argv[1:]):
        raise InputError(
            f"a parameter is a secret, which other users of this machine can read; set {TOKEN_VARIABLE}_FILE to the "
            "file of the token; nothing was loaded"
        )


def _choose_formats(profile: str | None, *, pdf: bool, excel: bool) -> PackFormats:
    """Choose the formats, and check that their browser and package exist."""
    from accounting_analytics.client.settings import load_settings
    from accounting_analytics.core.extras import import_extra
    from accounting_analytics.pack.pack_files import PackFormats
    from accounting_analytics.pack.print_pdf import find_browser

    if excel:
        import_extra("xlsxwriter", "excel", "a workbook")
    return PackFormats(find_browser(load_settings(profile)["browser"]) if pdf else None, excel)


@command(DELIVER)
def verify_pack(file: Path, /, *, fingerprint: str | None = None, as_json: Json = False) -> None:
    """Check a pack that you received, without the service.

    Every figure is recomputed from the entries in the page. With the fingerprint, which is the SHA-256 of the file, any
    alteration of the file is found. Exit code 3 if a check fails, 2 if the file is not a pack.

    Parameters
    ----------
    file
        The pack: an HTML file.
    fingerprint
        Fingerprint that the run's log, the workbook or the sender states.
    """
    verification = aa.verify_pack(file, fingerprint=fingerprint)
    print_result(verification, as_json=as_json)
    if not verification.verified:
        raise BooksError(
            f"{file} is not the page as it was written; ask its sender for the pack and its fingerprint again"
        )


@command(DELIVER)
def run(
    notebook: Path,
    /,
    *,
    output: Output,
    days: GivenDays = GivenDays(),
    parameters: Annotated[tuple[str, ...], Parameter(name=["--parameter", "-p"], metavar="NAME=VALUE")] = (),
    timeout: float | None = None,
    allow_empty: bool = False,
    code: bool = False,
    source: BooksOrService = BooksOrService(),
    as_json: Json = False,
) -> None:
    """Execute a notebook with parameters.

    A period sets the parameters start_date and end_date; its days are those of the notebook's parameter time_zone, or
    else of the configuration. The page has company and period as its heading, and shows no code unless --code is given.

    Parameters have the types that the notebook declares: for strict = True, -p strict=false is False, and 'maybe' is
    refused; for a text, 00123 stays 00123.

    The executed notebook and an HTML page with its charts are saved under the name of the notebook, followed by the
    period if its parameters are start_date and end_date: report_2026-05-01_2026-05-31.html. The files of a failed run
    end in .failed.html and .failed.ipynb; those of an earlier run of the same name then end in .previous.html and
    .previous.ipynb. A notebook may refuse a period without line entries (exit code 3), as scheduled_report does.

    Parameters
    ----------
    notebook
        Notebook to execute.
    parameters
        Parameter of the notebook; repeatable.
    timeout
        Time limit of the whole run, in seconds.
    allow_empty
        Accept a period without line entries: sets the parameter allow_empty.
    code
        Show the code of the notebook in the page.
    """
    from accounting_analytics.notebook_jobs.notebook_parameters import parse_parameters
    from accounting_analytics.reports.statements.columns import label as period_label

    texts = dict(_split_parameter(text) for text in parameters)
    if allow_empty:
        texts["allow_empty"] = "true"
    title = ""
    if days.given:
        shown = presentation_of(source)
        period = days.in_zone(_zone_of_notebook(notebook, texts, source), shown.fiscal_year_start_month)
        _set_days(texts, period)
        title = ", ".join(filter(None, [shown.company, period_label(period, shown.fiscal_year_start_month)]))
    with _notebook_environment(source) as environment:
        values = parse_parameters(notebook, texts, {**os.environ, **environment})
        finished = aa.run_notebook(
            notebook, output, parameters=values, timeout=timeout, environment=environment, title=title, code=code
        )
    print_mapping({"notebook": str(finished.notebook), "html": str(finished.html)}, as_json=as_json)


def _zone_of_notebook(notebook: Path, texts: Mapping[str, str], source: BooksOrService) -> str:
    """Return a notebook's time zone: as given, declared or configured."""
    from accounting_analytics.notebook_jobs.notebook_parameters import declared_parameters, read_notebook

    declared = declared_parameters(read_notebook(notebook)).get("time_zone")
    stated = texts.get("time_zone", declared and declared.default)
    return stated if isinstance(stated, str) else configured_zone(None, source.profile)


def _set_days(texts: dict[str, str], period: aa.Period) -> None:
    """Set `start_date` and `end_date`. Refuse them if -p gives them too."""
    for name, day in (("start_date", period.start_date), ("end_date", period.end_date)):
        if name in texts:
            raise InputError(f"-p {name} and the days of the command are both given: leave one of them out")
        texts[name] = day.isoformat()


def _split_parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise NotebookParametersError(f"parameter {name!r} must be written as name=value")
    return name, value


@contextmanager
def _notebook_environment(source: BooksOrService) -> Iterator[dict[str, str]]:
    """Set environment variables that connect a notebook to the chosen books."""
    require_one_source(source)
    if source.demo:
        with aa.demo() as company:
            require_scale(source, company.client.scale, "the demo company has")
            yield company.environment()
    elif source.books is not None:
        books = open_books(source.books)
        require_scale(source, books.scale, "the local books have")
        yield {"ACCOUNTING_ANALYTICS_BOOKS": str(books.folder.absolute()), "ACCOUNTING_ANALYTICS_BASE_URL": ""}
    else:
        given = {"PROFILE": source.profile, "SCALE": source.scale}
        yield {f"ACCOUNTING_ANALYTICS_{name}": str(value) for name, value in given.items() if value is not None}


notebooks = commands(DELIVER, "notebooks", "Copies of the example notebooks.")


@notebooks.command
def copy(folder: Path, /, *, force: bool = False, as_json: Json = False) -> None:
    """Copy the example notebooks and the files they read to a folder.

    Nothing is copied if a file in the folder has other content, unless --force is given.

    Parameters
    ----------
    folder
        Folder to copy to; created if missing.
    force
        Replace files that differ.
    """
    from accounting_analytics.notebook_jobs.example_notebooks import copy_notebooks

    result = copy_notebooks(folder, force=force)
    print_mapping({"copied": result.copied, "unchanged": result.unchanged}, as_json=as_json)
    quoted = shlex.quote(str(result.folder))
    print_message(f"next: jupyter lab {quoted}")
    print_message(f"or, connected to the demo company: cd {quoted} && accounting-analytics demo --lab")


@command(READ)
def demo(*, output: Output = Path("demo-output"), lab: bool = False) -> int:
    """Run the whole workflow on a small company.

    Load, certify, reconcile and export its books, and make the pack of the last month.

    Parameters
    ----------
    lab
        Open JupyterLab on the notebooks, connected to the demo company.
    """
    if lab:
        return demo_company.open_lab()
    demo_company.run_demo(output, echo=print)
    return 0
