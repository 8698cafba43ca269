"""The installed hledger: how it is found and run, and what it sums."""

from __future__ import annotations

import datetime as dt
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from accounting_analytics.errors import InputError
from accounting_analytics.installed_programs import run_program
from accounting_analytics.messages import printable, quote, shorten
from accounting_analytics.money import exact_sum, from_minor_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from decimal import Decimal

    from accounting_analytics.hledger.journal import HledgerJournal
    from accounting_analytics.periods import Period

INSTALL = "install it, such as with: apt-get install hledger, or: brew install hledger (https://hledger.org/install)"
_PROGRAM = "hledger"
_VERSION = re.compile(r"hledger (\d+)\.(\d+)")
_READS_CONFIGURATION = (1, 40)
"""First version that reads options from a configuration file, which ``--no-conf`` ignores."""
_SPECIAL = re.compile(r"([\[\]\\^$.|?*+(){}])")


class Program(NamedTuple):
    """The installed hledger: its path, name and version, and options for every call."""

    path: str
    version: str
    options: tuple[str, ...]

    def run(self, *arguments: str, folder: str) -> str:
        """Output of a call, without a shell, in a folder."""
        command = [self.path, *arguments[:1], *self.options, *arguments[1:]]
        return _run(command, folder)


def find_hledger() -> Program:
    """Return the installed hledger; without it, the error says how to install it."""
    path = shutil.which(_PROGRAM)
    if path is None:
        raise InputError(f"a second opinion needs hledger, and it is not installed; {INSTALL}")
    with tempfile.TemporaryDirectory() as folder:
        version = _run([path, "--version"], folder).partition(",")[0].strip()
    match = _VERSION.match(version)
    reads_configuration = match is not None and (int(match[1]), int(match[2])) >= _READS_CONFIGURATION
    return Program(path, version, ("--no-conf",) if reads_configuration else ())


def is_hledger_installed() -> bool:
    """Whether a second opinion can be asked for."""
    return shutil.which(_PROGRAM) is not None


def _run(command: Sequence[str], folder: str) -> str:
    """Output of hledger; the home folder is an empty one, so that no settings of the user change its figures."""
    environment = {"LEDGER_FILE": "", "HOME": folder, "XDG_CONFIG_HOME": folder}
    finished = run_program(command, folder=folder, environment=environment, advice=INSTALL)
    if finished.returncode:
        raise InputError(f"hledger failed: {shorten(printable(finished.stderr.strip(), ' '), limit=500)}")
    return finished.stdout


class HledgerSums(NamedTuple):
    """Sums of hledger by ledger: flows of categories, and balances of cash before and after the period."""

    flows: dict[str, Decimal]
    starting: dict[str, Decimal]
    ending: dict[str, Decimal]


def sum_with_hledger(program: Program, journal: HledgerJournal, period: Period) -> HledgerSums:
    """Let hledger sum a journal in a temporary folder; its end dates are exclusive."""
    ledger_ids = {account: ledger_id for ledger_id, account in journal.accounts.items()}
    cash = [_account_query(journal.accounts[one]) for one in journal.tree.cash]
    if not cash:
        return HledgerSums({}, {}, {})
    is_last = period.end_date == dt.date.max
    until = [] if is_last else ["--end", str(period.end_date + dt.timedelta(days=1))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "books.journal"
        file.write_text(journal.text(), encoding="utf-8")

        def balances(*options: str) -> dict[str, Decimal]:
            arguments = ("balance", "-f", str(file), "--flat", "--no-total", "--output-format", "json", *options, *cash)
            printed = program.run(*arguments, folder=folder)
            try:
                rows, _ = json.loads(printed)
                return {ledger_ids[row[0]]: _quantity(row[3]) for row in rows}
            except (ValueError, TypeError, LookupError):  # another version may print another structure
                shown = quote(printed)
                raise InputError(f"{program.version} prints balances in a form that is not known: {shown}") from None

        return HledgerSums(
            balances("--related", "--invert", "--begin", str(period.start_date), *until),
            balances("--historical", "--end", str(period.start_date)),
            balances("--historical", *until),
        )


def _account_query(account: str) -> str:
    """Query of exactly one account; it has no space, because hledger would put it in quotes and mistake those of names.

    The case of letters is ignored, but no two accounts differ in that only.
    """
    pattern = _SPECIAL.sub(r"\\\1", account).replace(" ", "[[:space:]]")
    return f"acct:^{pattern}$"


def _quantity(amounts: Iterable[Mapping[str, Any]]) -> Decimal:
    """Exact amount of a balance, of which the journal has one commodity."""
    quantities = [one["aquantity"] for one in amounts]
    return exact_sum(from_minor_units(one["decimalMantissa"], one["decimalPlaces"]) for one in quantities)
