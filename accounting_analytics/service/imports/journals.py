"""Journals of other programs, as the installed programs read them: hledger, and bean-check with bean-query."""

from __future__ import annotations

import csv
import io
import json
import re
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from accounting_analytics.core.installed_programs import find_program, run_program
from accounting_analytics.core.messages import printable, shorten
from accounting_analytics.core.money import EXACT
from accounting_analytics.service.imports.postings import JournalEntry, PricedPosting, add_journal

if TYPE_CHECKING:
    from accounting_analytics.service.imports.file_books import FileBooks, ImportErrors

HLEDGER_SUFFIXES = frozenset({".journal", ".j", ".hledger", ".ledger", ".dat"})
BEANCOUNT_SUFFIXES = frozenset({".beancount", ".bean"})
_INSTALL_HLEDGER = (
    "install it, such as with: apt-get install hledger, or: brew install hledger (https://hledger.org/install)"
)
_INSTALL_BEANCOUNT = "install both with: pip install beancount beanquery"
_PLACE = re.compile(r":(\d+)(?::\d+)?|\(lines? (\d+)")
_ROOTS = {
    "A": "assets",
    "C": "assets",
    "L": "liabilities",
    "E": "equity",
    "V": "equity",
    "R": "income",
    "X": "expenses",
}
"""Root of the types of accounts that a journal declares."""
_QUERY = (
    "SELECT id, filename, lineno, date, flag, payee, narration, account, str(number) AS number, currency, "
    "str(number(weight)) AS value, currency(weight) AS value_currency, posting_flag"
)
"""Numbers as text have all their digits; as numbers they would be rounded for display."""
_BEANCOUNT_PROBLEM = re.compile(r"(.+?):(\d+):\s+(.*)")


def read_hledger_journal(path: Path, books: FileBooks) -> None:
    """Read a journal with ``hledger print``, which resolves includes, inferred amounts and prices."""
    errors, program = books.errors, find_program("hledger")
    if program is None:
        errors.fail(f"a journal is read with hledger, and it is not installed; {_INSTALL_HLEDGER}")
    file = str(path.absolute())
    printed = _run_hledger([program, "print", "-f", file, "--explicit", "--output-format", "json"], path, errors)
    transactions = json.loads(printed) if printed.strip() else []
    entries = [_hledger_entry(one, path) for one in transactions]
    if not entries:
        errors.fail("it has no transactions")
    types = _types(_run_hledger([program, "accounts", "-f", file, "--types"], path, errors))
    books.notes += _notes(transactions)
    add_journal(books, entries, types)


def _run_hledger(command: list[str], path: Path, errors: ImportErrors) -> str:
    """Output of hledger; the home folder is an empty one, so that no settings of the user change what it reads."""
    with TemporaryDirectory() as home:
        environment = {"HOME": home, "XDG_CONFIG_HOME": home, "LEDGER_FILE": ""}
        finished = run_program(
            command, folder=str(path.absolute().parent), environment=environment, advice=_INSTALL_HLEDGER
        )
    if finished.returncode:
        message = finished.stderr.strip()
        found = _PLACE.search(message)
        line = f"line {found[1] or found[2]}" if found else ""
        errors.fail(f"hledger cannot read it: {shorten(printable(message, ' '), limit=400)}", line)
    return finished.stdout


def _notes(transactions: list[dict[str, Any]]) -> list[str]:
    """Note that secondary dates were left out, as in the reports of hledger itself."""
    count = sum(bool(one["tdate2"] or any(posting["pdate2"] for posting in one["tpostings"])) for one in transactions)
    return [f"the secondary dates of {count} entries were left out"] if count else []


def _types(printed: str) -> dict[str, str]:
    """Roots of the accounts whose types are declared or known to hledger."""
    pairs = (line.rpartition("; type:") for line in printed.splitlines())
    return {account.strip(): _ROOTS[kind.strip()] for account, _, kind in pairs if kind.strip() in _ROOTS}


def _hledger_entry(printed: dict[str, Any], path: Path) -> JournalEntry:
    start = printed["tsourcepos"][0]
    location = f"line {start['sourceLine']}"
    if Path(start["sourceName"]).name != path.name:
        location = f"{Path(start['sourceName']).name} {location}"
    is_cleared = printed["tstatus"] == "Cleared"
    comment = printed["tcomment"].strip()
    postings = [
        _hledger_posting(posting, amount, location, comment, is_cleared=is_cleared)
        for posting in printed["tpostings"]
        for amount in posting["pamount"]
    ]
    return JournalEntry(location, printed["tdate"], printed["tdescription"], postings)


def _hledger_posting(
    printed: dict[str, Any], amount: dict[str, Any], location: str, comment: str, *, is_cleared: bool
) -> PricedPosting:
    quantity, commodity = _quantity(amount), amount["acommodity"]
    value, value_commodity = quantity, commodity
    cost = amount.get("acost") or amount.get("aprice")  # hledger calls it cost since version 1.41
    if cost:
        price, value_commodity = _quantity(cost["contents"]), cost["contents"]["acommodity"]
        is_unit = cost["tag"].startswith("Unit")
        value = EXACT.multiply(quantity, price) if is_unit else price.copy_abs().copy_sign(quantity)
    return PricedPosting(
        location=location,
        account=printed["paccount"],
        quantity=quantity,
        commodity=commodity,
        value=value,
        value_commodity=value_commodity,
        is_virtual=printed["ptype"] != "RegularPosting",
        is_balanced=printed["ptype"] != "VirtualPosting",
        comment=" ".join(printed["pcomment"].split()) or " ".join(comment.split()),
        is_reviewed=is_cleared or printed["pstatus"] == "Cleared",
        date=printed["pdate"] or "",
    )


def _quantity(amount: dict[str, Any]) -> Decimal:
    """Exact quantity: the decimal digits, not the floating point number beside them."""
    quantity = amount["aquantity"]
    return EXACT.scaleb(Decimal(quantity["decimalMantissa"]), -quantity["decimalPlaces"])


def read_beancount(path: Path, books: FileBooks) -> None:
    """Read the postings of a file that bean-check accepts, with their weights: values at cost or price."""
    errors = books.errors
    _run_beancount("bean-check", [], path, errors)
    printed = _run_beancount("bean-query", ["--format", "csv"], path, errors, _QUERY)
    entries: dict[str, JournalEntry] = {}
    for row in csv.DictReader(io.StringIO(printed)):
        location = f"line {row['lineno']}"
        if Path(row["filename"]).name != path.name:
            location = f"{Path(row['filename']).name} {location}"
        description = " | ".join(" ".join(row[name].split()) for name in ("payee", "narration") if row[name])
        new = JournalEntry(location, row["date"], description, [])
        entries.setdefault(row["id"], new).postings.append(_beancount_posting(row, location))
    if not entries:
        errors.fail("it has no transactions")
    add_journal(books, list(entries.values()), {})


def _beancount_posting(row: dict[str, str], location: str) -> PricedPosting:
    return PricedPosting(
        location=location,
        account=row["account"],
        quantity=Decimal(row["number"]),
        commodity=row["currency"],
        value=Decimal(row["value"]),
        value_commodity=row["value_currency"],
        is_reviewed="!" not in {row["flag"], row["posting_flag"]},
    )


def _run_beancount(name: str, options: list[str], path: Path, errors: ImportErrors, *arguments: str) -> str:
    """Output of a program about a file; each problem that it names is added to the errors."""
    program = find_program(name)
    if program is None:
        errors.fail(f"a beancount file is read with {name}, and it is not installed; {_INSTALL_BEANCOUNT}")
    file = str(path.absolute())
    command = [program, *options, file, *arguments]
    finished = run_program(command, folder=str(path.absolute().parent), environment={}, advice=_INSTALL_BEANCOUNT)
    if finished.returncode:
        problems = [found for line in finished.stderr.splitlines() if (found := _BEANCOUNT_PROBLEM.fullmatch(line))]
        for found in problems:
            place = f"line {found[2]}" if found[1] == file else f"{Path(found[1]).name} line {found[2]}"
            errors.add(place, f"{name}: {found[3]}")
        errors.raise_if_any()
        errors.fail(f"{name} failed: {shorten(finished.stderr.strip(), limit=400)}")
    return finished.stdout
