"""All steps on the demo company: load, check, reconcile, export, and a pack."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import BooksDoNotTieError, IncompleteLoadError, InputError
from accounting_analytics.core.periods import Period, month_start
from accounting_analytics.demo_company.served_company import COMPANY, demo
from accounting_analytics.exports import export
from accounting_analytics.loading.load_books import load_books
from accounting_analytics.pack.monthly_pack import monthly_pack
from accounting_analytics.pack.pack_files import pack_name
from accounting_analytics.pack.pack_periods import PackPeriods
from accounting_analytics.reconciliation.completeness import check_completeness
from accounting_analytics.reconciliation.reconcile import reconcile

if TYPE_CHECKING:
    from collections.abc import Callable


def run_demo(output: str | Path, *, echo: Callable[[str], object] = print) -> None:
    """Run all steps on the demo company, write files to a folder, and print each result."""
    started = time.monotonic()
    folder = _create_folder(Path(output))
    with demo() as company:
        client, days = company.client, (company.start_date, company.end_date)
        echo(f"{COMPANY}: books from {days[0]} to {days[1]}, served at {company.base_url}")
        all_days = Period(*days, company.time_zone)
        month = Period(month_start(days[1]), days[1], company.time_zone)
        of_pack = PackPeriods.around(month, 1).compared().values()
        books = load_books(client, all_days, reports=dict.fromkeys([all_days, *all_days.months(), *of_pack]))
        echo(f"Loaded:     {len(books.lines):,} line entries of {len(books.ledgers)} ledgers")
        certificate = check_completeness(books)
        if not certificate.complete:
            raise IncompleteLoadError(certificate.summary())
        echo(f"Complete:   {certificate.summary()}")
        months = reconcile(books)
        if not months.ties:
            raise BooksDoNotTieError(months.explain())
        echo(f"Reconciled: {months.summary()}")
        exported = export(books, folder / "parquet")
        tables = ", ".join(f"{table} {rows:,} rows" for table, rows in exported.tables.items())
        echo(f"Exported:   {exported.folder} ({tables})")
        pack = monthly_pack(books, month)
    page = pack.save(folder / f"{pack_name(pack.company, pack.period)}.html")
    echo(f"Pack:       {page}")
    for sentence in pack.sentences:
        echo(f"  {sentence}")
    echo(f"  {pack.proof.capitalize()}; fingerprint {pack.fingerprint}")
    echo(f"Done in {time.monotonic() - started:.0f} s. Try next:")
    echo(f"  accounting-analytics verify-pack {page} --fingerprint {pack.fingerprint}")
    options = f"--demo --start-date {days[0]} --end-date {days[1]}"
    echo(f"  accounting-analytics queue {options}")
    rules = Path("data/rules.toml")
    if not rules.is_file():  # an installed package may run in any folder
        echo("  accounting-analytics notebooks copy examples")
        rules = Path("examples", rules)
    echo(f"  accounting-analytics propose --rules {rules} {options}")
    echo("  accounting-analytics demo --lab")


def _create_folder(output: Path) -> Path:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {output} cannot be created: {error.strerror}; nothing was written") from error
    return output
