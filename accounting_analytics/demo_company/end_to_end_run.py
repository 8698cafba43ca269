"""The whole loop on the demo company: load, certify, reconcile, export, and the pack of the last month."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from accounting_analytics.core.errors import BooksDoNotTieError, IncompleteLoadError, InputError
from accounting_analytics.core.periods import Period
from accounting_analytics.demo_company.served_company import COMPANY, demo
from accounting_analytics.exports import export
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loading.ledger_discovery import discover_ledgers
from accounting_analytics.loading.load import load_line_entries
from accounting_analytics.pack.monthly_pack import monthly_pack
from accounting_analytics.pack.pack_files import pack_name
from accounting_analytics.reconciliation.completeness import check_completeness
from accounting_analytics.reconciliation.monthly_reconciliation import reconcile_months

if TYPE_CHECKING:
    from collections.abc import Callable


def run_demo(output: str | Path, *, echo: Callable[[str], object] = print) -> None:
    """Run the whole loop on the demo company, write its files to a folder, and print each step with its result."""
    started = time.monotonic()
    folder = _create_folder(Path(output))
    with demo() as company:
        client, days = company.client, (company.start_date, company.end_date)
        echo(f"{COMPANY}: books from {days[0]} to {days[1]}, served at {company.base_url}")
        ledgers = discover_ledgers(client, *days)
        line_entries = load_line_entries(client, ledgers["id"], *days, consistency="all")
        echo(f"Loaded:     {len(line_entries):,} line entries of {len(ledgers)} ledgers")
        certificate = check_completeness(line_entries)
        if not certificate.complete:
            raise IncompleteLoadError(certificate.summary())
        echo(f"Complete:   {certificate.summary()}")
        months = reconcile_months(client, *days, books_start=days[0], ledgers=ledgers, line_entries=line_entries)
        if not months.ties:
            raise BooksDoNotTieError(months.explain())
        echo(f"Reconciled: {months.summary()}")
        report = load_cash_flow_report(client, *days)
        exported = export(folder / "parquet", line_entries=line_entries, ledgers=ledgers, report=report)
        tables = ", ".join(f"{table} {rows:,} rows" for table, rows in exported.tables.items())
        echo(f"Exported:   {exported.folder} ({tables})")
        pack = monthly_pack(
            client,
            Period(days[1].replace(day=1), days[1], company.time_zone),
            company=COMPANY,
            currency="USD",
            fiscal_year_start_month=1,
            books_start=days[0],
        )
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
    if not rules.is_file():  # an installed package is run anywhere
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
