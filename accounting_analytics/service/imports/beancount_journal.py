"""Books of beancount, as the installed bean-check and bean-query read them."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from accounting_analytics.installed_programs import find_program, run_program
from accounting_analytics.messages import shorten
from accounting_analytics.service.imports.postings import JournalEntry, PricedPosting, build_from_journal

if TYPE_CHECKING:
    from accounting_analytics.service.imports.import_errors import ImportErrors
    from accounting_analytics.service.imports.parsed_books import ImportOptions, ParsedBooks

SUFFIXES = frozenset({".beancount", ".bean"})
_INSTALL = "install both with: pip install beancount beanquery"
_QUERY = (
    "SELECT id, filename, lineno, date, flag, payee, narration, account, str(number) AS number, currency, "
    "str(number(weight)) AS value, currency(weight) AS value_currency, posting_flag"
)
"""Numbers as text have all their digits; as numbers they would be rounded for display."""
_PROBLEM = re.compile(r"(.+?):(\d+):\s+(.*)")


def read_beancount(path: Path, options: ImportOptions, errors: ImportErrors) -> ParsedBooks:
    """Read the postings of a file that bean-check accepts, with their weights: values at cost or price."""
    _run("bean-check", [], path, errors)
    printed = _run("bean-query", ["--format", "csv"], path, errors, _QUERY)
    entries: dict[str, JournalEntry] = {}
    for row in csv.DictReader(io.StringIO(printed)):
        location = f"line {row['lineno']}"
        if Path(row["filename"]).name != path.name:
            location = f"{Path(row['filename']).name} {location}"
        description = " | ".join(" ".join(row[name].split()) for name in ("payee", "narration") if row[name])
        new = JournalEntry(location, row["date"], description, [])
        entries.setdefault(row["id"], new).postings.append(_posting(row, location))
    if not entries:
        errors.fail("it has no transactions")
    return build_from_journal(list(entries.values()), options, errors, types={})


def _posting(row: dict[str, str], location: str) -> PricedPosting:
    return PricedPosting(
        location=location,
        account=row["account"],
        quantity=Decimal(row["number"]),
        commodity=row["currency"],
        value=Decimal(row["value"]),
        value_commodity=row["value_currency"],
        is_reviewed="!" not in {row["flag"], row["posting_flag"]},
    )


def _run(name: str, options: list[str], path: Path, errors: ImportErrors, *arguments: str) -> str:
    """Output of a program about a file; each problem that it names is added to the errors."""
    program = find_program(name)
    if program is None:
        errors.fail(f"a beancount file is read with {name}, and it is not installed; {_INSTALL}")
    file = str(path.absolute())
    command = [program, *options, file, *arguments]
    finished = run_program(command, folder=str(path.absolute().parent), environment={}, advice=_INSTALL)
    if finished.returncode:
        problems = [found for line in finished.stderr.splitlines() if (found := _PROBLEM.fullmatch(line))]
        for found in problems:
            place = f"line {found[2]}" if found[1] == file else f"{Path(found[1]).name} line {found[2]}"
            errors.add(place, f"{name}: {found[3]}")
        errors.raise_if_any()
        errors.fail(f"{name} failed: {shorten(finished.stderr.strip(), limit=400)}")
    return finished.stdout
