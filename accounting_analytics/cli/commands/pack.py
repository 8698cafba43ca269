"""The command ``pack``: the monthly pack of a company as a page, PDF, workbook and mail, named by its period."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import accounting_analytics as aa
from accounting_analytics.cli.day_options import DayOptions
from accounting_analytics.cli.options import (
    AsJson,
    BooksStart,
    EndDate,
    LocalBooks,
    Output,
    PeriodText,
    Profile,
    StartDate,
    TimeZone,
    UseDemo,
)
from accounting_analytics.cli.output import print_json, print_message
from accounting_analytics.cli.service_or_demo import connect_for_days, presentation_of
from accounting_analytics.cli.statement_loads import parse_books_start
from accounting_analytics.errors import BooksDoNotTieError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.pack import MonthlyPack
    from accounting_analytics.pack.written_pack import PackFormats, WrittenPack

_OPTIONS = (
    "period",
    "start-date",
    "end-date",
    "time-zone",
    "books-start",
    "since",
    "output",
    "mail-to",
    "books",
    "profile",
)


def pack(
    output: Output,
    unexpected: Annotated[
        list[str] | None, typer.Argument(hidden=True, help="Refused: every parameter is an option.")
    ] = None,
    start_date: StartDate = None,
    end_date: EndDate = None,
    period: PeriodText = None,
    time_zone: TimeZone = None,
    books_start: BooksStart = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="WHEN",
            help="Version, day or time of the last pack, of local books: what changed since is shown.",
            show_default="the last close of a period",
        ),
    ] = None,
    mail_to: Annotated[
        list[str] | None, typer.Option("--mail-to", metavar="ADDRESS", help="Recipient of the mail; repeatable.")
    ] = None,
    sections: Annotated[
        list[str] | None,
        typer.Option("--section", metavar="NAME", help="Only this section of the page; repeatable, in this order."),
    ] = None,
    templates: Annotated[
        Path | None,
        typer.Option(
            "--templates", metavar="DIR", help="Folder with templates of your own: sections/NAME.html.j2 replaces one."
        ),
    ] = None,
    books: LocalBooks = None,
    profile: Profile = None,
    *,
    pdf: Annotated[bool, typer.Option("--pdf", help="Print the page as a PDF too, with Chromium.")] = False,
    mail: Annotated[
        bool, typer.Option("--mail", help="Write a mail too: a draft (.eml) with the files of the pack attached.")
    ] = False,
    excel: Annotated[
        bool, typer.Option("--excel", help="Write a workbook too: statements with formulas and their entries.")
    ] = False,
    show_code: Annotated[
        bool, typer.Option("--show-code", help="Show on the page the code that makes its figures.")
    ] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Accept a period without line entries.")] = False,
    use_demo: UseDemo = False,
    as_json: AsJson = False,
) -> None:
    """Write the monthly pack of a company.

    One page, and with it a PDF, a workbook and a mail, named by company and period: harbor-lane_2026-05.html. A run
    replaces the files of an earlier run of the same period; one that fails leaves them as they were. Company, currency
    and fiscal year are those of the configuration. Exit code 3 if the cash flow is not proven, which the first page
    says, or the period is empty.
    """
    from accounting_analytics.pack.monthly_pack import PageOptions
    from accounting_analytics.pack.written_pack import OutputFiles, pack_name, write_pack

    _refuse_arguments(unexpected or [])
    _refuse_secrets(
        [output, start_date, end_date, period, time_zone, books_start, since, *(mail_to or []), books, profile]
    )
    formats = _choose_formats(profile, mail_to or [], pdf=pdf, mail=mail, excel=excel)
    PageOptions(sections or None, templates).check()
    presentation, given = presentation_of(profile, use_demo=use_demo), DayOptions(start_date, end_date, period)
    given.require_days()
    with connect_for_days(given, profile, time_zone, use_demo=use_demo, books=books) as (client, days):
        first = parse_books_start(books_start, days, client, use_demo=use_demo)
        if since is not None and not isinstance(client, aa.Books):
            raise InputError("--since is for local books, which have versions: give --books, or leave it out")
        files = OutputFiles(output, pack_name(presentation.company, days))
        with files.locked():
            made = aa.monthly_pack(
                client,
                days,
                books_start=first,
                since=since,
                sections=sections or None,
                templates=templates,
                show_code=show_code,
                allow_empty=allow_empty,
                **presentation._asdict(),
            )
            written = write_pack(made, files, formats)
    _print_written(made, written, as_json=as_json)
    if not made.proven:
        problems = [*made.reasons, *([] if written.pdf_error is None else [str(written.pdf_error)])]
        raise BooksDoNotTieError(f"the cash flow of the pack is not proven: {'; '.join(problems)}")
    if written.pdf_error is not None:
        raise written.pdf_error


def _refuse_secrets(values: Iterable[object]) -> None:
    """Refuse a secret in the place of a parameter, without repeating it: errors are kept in logs."""
    from accounting_analytics.client.secret import TOKEN_VARIABLE, is_secret_parameter, known_secrets

    secrets = known_secrets(os.environ)
    if any(is_secret_parameter("", value, secrets) for value in values):
        raise InputError(
            f"a parameter is a secret, which other users of this machine can read; set {TOKEN_VARIABLE}_FILE to the "
            "file of the token; nothing was loaded"
        )


def _choose_formats(profile: str | None, mail_to: list[str], *, pdf: bool, mail: bool, excel: bool) -> PackFormats:
    """Choose the formats, and check what they need: a browser, a package, and addresses."""
    from accounting_analytics.client.settings import load_settings
    from accounting_analytics.extras import import_extra
    from accounting_analytics.pack.mail import parse_address
    from accounting_analytics.pack.written_pack import PackFormats, find_browser

    if excel:
        import_extra("xlsxwriter", "excel", "a workbook")
    if mail_to and not mail:
        raise InputError("--mail-to is given without --mail: add it, or leave out the recipients")
    return PackFormats(
        browser=find_browser(load_settings(profile)["browser"]) if pdf else None,
        recipients=tuple(map(parse_address, mail_to)) if mail else None,
        excel=excel,
    )


def _refuse_arguments(arguments: list[str]) -> None:
    """Refuse what is not an option, such as NAME=VALUE of a notebook; only the name of an option is repeated."""
    from accounting_analytics.client.secret import TOKEN_VARIABLE, is_secret_parameter

    for text in arguments:
        name, equals, _ = text.partition("=")
        if equals and is_secret_parameter(name, "", ()):
            raise InputError(f"an argument looks like a secret, and was not used; set {TOKEN_VARIABLE}_FILE instead")
        close = difflib.get_close_matches(name.replace("_", "-"), _OPTIONS, n=1)
        if equals and close:
            raise InputError(f"pack has options only: did you mean --{close[0]}?")
        raise InputError("pack has options only, and was given an argument; see: accounting-analytics pack --help")


def _print_written(pack: MonthlyPack, written: WrittenPack, *, as_json: bool) -> None:
    """Print the paths, and on stderr what was written with the fingerprint, which is kept in the log of a job."""
    verdict = pack.proof
    if as_json:
        files = {suffix.removeprefix("."): str(path) for suffix, path in written.paths.items()}
        print_json({"title": pack.title, "verdict": verdict, "fingerprint": pack.fingerprint, "files": files})
    else:
        for path in written.paths.values():
            typer.echo(path)
    print_message(f"{pack.title}: {verdict}; fingerprint {pack.fingerprint}")
