"""The whole loop on the demo company: load, certify, recompute, reconcile, chart, export, and the monthly pack."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from accounting_analytics import charts
from accounting_analytics.categorization import uncategorized_queue
from accounting_analytics.completeness import Certificate, check_completeness
from accounting_analytics.demo_company.served_company import COMPANY, DemoCompany, demo
from accounting_analytics.errors import BooksDoNotTieError, IncompleteLoadError, InputError
from accounting_analytics.exports import export_parquet
from accounting_analytics.ledger_discovery import discover_ledgers
from accounting_analytics.loader import load_cash_flow_report, load_line_entries
from accounting_analytics.money import format_amount
from accounting_analytics.monthly_reconciliation import reconcile_months
from accounting_analytics.notebook_jobs.report_page import Section, write_page
from accounting_analytics.pack import monthly_pack
from accounting_analytics.pack.output_files import pack_name
from accounting_analytics.periods import Period

if TYPE_CHECKING:
    from collections.abc import Callable

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.exports import Manifest
    from accounting_analytics.pack import MonthlyPack

_DAY = dt.timedelta(days=1)
_QUEUE_ROWS = 15
_MONTH_COLUMNS = (
    "month",
    "time_zone",
    "starting_cash_balance",
    "net_cash_flow",
    "ending_cash_balance",
    "differences",
)


@dataclass(frozen=True)
class DemoSummary:
    """Results of :func:`run_demo`.

    Attributes
    ----------
    page : Path
        Self-contained HTML page with the charts.
    parquet : Manifest
        The exported files.
    certificate : Certificate
        Whether lines are missing, and debits equal credits.
    reconciliations : DataFrame
        One row per month and zone: month, time_zone, starting_cash_balance, net_cash_flow, ending_cash_balance,
        differences.
    uncategorized : int
        Number of uncategorized transactions.
    pack : Path
        The pack of the last month: one page, which its reader can check.
    seconds : float
        Duration.
    """

    page: Path
    parquet: Manifest
    certificate: Certificate
    reconciliations: pd.DataFrame
    uncategorized: int
    pack: Path
    seconds: float

    @property
    def frame(self) -> pd.DataFrame:
        """The reconciliations."""
        return self.reconciliations

    def summary(self) -> str:
        """One line: what was reconciled, and where the page is."""
        return f"Reconciled {len(self.reconciliations)} monthly reports to the cent; the pack is {self.pack}"


class _Books(NamedTuple):
    """Loaded books."""

    ledgers: pd.DataFrame
    line_entries: pd.DataFrame
    certificate: Certificate


def run_demo(output: str | Path, *, echo: Callable[[str], object] = print) -> DemoSummary:
    """Run the whole loop on the demo company and write its results to a folder."""
    started = time.monotonic()
    folder = _create_folder(Path(output))
    with demo() as company:
        dates = f"{company.start_date} to {company.end_date}"
        echo(f"{COMPANY}: books from {dates}, served at {company.base_url}")
        books = _load(company)
        echo(f"Loaded {len(books.ledgers)} ledgers. Certificate: {books.certificate.summary()}")
        table = pd.concat([_reconcile_months(company, books, zone) for zone in ("UTC", company.time_zone)])
        echo(f"Reconciled {len(table)} monthly reports (in UTC and in {company.time_zone}): every difference is 0.00")
        # without the first day, which has the opening balances
        days = (company.start_date + _DAY, company.end_date)
        report = load_cash_flow_report(company.client, *days, time_zone=company.time_zone)
        manifest = export_parquet(
            folder / "parquet", line_entries=books.line_entries, ledgers=books.ledgers, report=report
        )
        queue = uncategorized_queue(books.line_entries, books.ledgers)
        page = _write_page(folder / "cash_flow.html", report, books, table, queue)
        pack = _make_pack(company)
        pack_page = pack.save(folder / f"{pack_name(pack.company, pack.period)}.html")
    seconds = time.monotonic() - started
    for line in _summary_lines(report, manifest, page, len(queue)):
        echo(line)
    for line in _last_lines(pack, pack_page, seconds):
        echo(line)
    return DemoSummary(page, manifest, books.certificate, table, len(queue), pack_page, seconds)


def _create_folder(output: Path) -> Path:
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {output} cannot be created: {error.strerror}; nothing was written") from error
    return output


def _load(company: DemoCompany) -> _Books:
    """All ledgers and lines; one more day at each end covers the period in every time zone."""
    days = (company.start_date - _DAY, company.end_date + _DAY)
    ledgers = discover_ledgers(company.client, *days)
    line_entries = load_line_entries(company.client, ledgers["id"], *days, consistency="all")
    certificate = check_completeness(line_entries)
    if not certificate.complete:
        raise IncompleteLoadError(certificate.summary())
    return _Books(ledgers, line_entries, certificate)


def _reconcile_months(company: DemoCompany, books: _Books, time_zone: str) -> pd.DataFrame:
    """Reconcile every month in a zone, and require that it ties; starting balances are summed from the first day."""
    months = reconcile_months(
        company.client,
        company.start_date,
        company.end_date,
        time_zone=time_zone,
        books_start=company.start_date,
        ledgers=books.ledgers,
        line_entries=books.line_entries,
    )
    if not months.ties:
        raise BooksDoNotTieError(months.untied[0].explain())
    names = months.frame["start_date"].dt.strftime("%Y-%m")
    return months.frame.assign(month=names, time_zone=time_zone)[list(_MONTH_COLUMNS)]


def _write_page(
    path: Path, report: CashFlowReport, books: _Books, reconciliations: pd.DataFrame, queue: pd.DataFrame
) -> Path:
    by_size = report.ledgers.sort_values("net_cash_flow", ignore_index=True)
    return write_page(
        path,
        title=f"{COMPANY}: cash flow",
        summary=(
            f"Period: {report.period}.",
            f"Certificate: {books.certificate.summary()}.",
            f"{len(reconciliations)} monthly reports were recomputed from line entries; all agree to the cent.",
        ),
        sections=(
            Section(
                "Inflow and outflow",
                "A slow summer with roadworks outside the cafe, and a strong Christmas.",
                figure=charts.inflow_outflow(report),
            ),
            Section(
                "Cash",
                "Cash is low in the autumn of 2025, until a late customer pays in November.",
                figure=charts.running_balance(report),
            ),
            Section(
                "From starting to ending cash",
                "Inflow and outflow by ledger.",
                figure=charts.waterfall(report),
            ),
            Section(
                "Every month, reported and recomputed",
                "The service's report against one recomputed from line entries.",
                table=reconciliations,
            ),
            Section(
                "Uncategorized transactions",
                f"The largest of {len(queue)} uncategorized transactions.",
                table=_largest(queue, report.period.time_zone),
            ),
            Section("Cash flow by ledger", "", table=by_size[["name", "net_cash_flow", "total_net_cash_flow"]]),
        ),
    )


def _make_pack(company: DemoCompany) -> MonthlyPack:
    """Make the pack of the last month."""
    period = Period(company.end_date.replace(day=1), company.end_date, company.time_zone)
    return monthly_pack(
        company.client,
        period,
        company=COMPANY,
        currency="USD",
        fiscal_year_start_month=1,
        books_start=company.start_date,
    )


def _largest(queue: pd.DataFrame, time_zone: str) -> pd.DataFrame:
    """Largest transactions of the queue, in local time."""
    rows = queue.head(_QUEUE_ROWS)
    local_time = rows["datetime"].dt.tz_convert(time_zone).dt.tz_localize(None)
    return rows.assign(local_time=local_time)[["local_time", "ledger_name", "description", "amount"]]


def _summary_lines(report: CashFlowReport, manifest: Manifest, page: Path, queue_size: int) -> list[str]:
    sums = report.exact_sums()
    starting, ending = format_amount(sums.starting_cash_balance), format_amount(sums.ending_cash_balance)
    tables = ", ".join(f"{table} {rows:,} rows" for table, rows in manifest.tables.items())
    return [
        f"Cash went from {starting} to {ending}; {queue_size} transactions are uncategorized",
        f"Charts:  {page}",
        f"Parquet: {manifest.folder} ({tables})",
    ]


def _last_lines(pack: MonthlyPack, page: Path, seconds: float) -> list[str]:
    """Lines about the pack, and what to try next."""
    days = f"--start-date {DemoCompany.start_date} --end-date {DemoCompany.end_date}"
    return [
        f"Pack:    {page}",
        *(f"  {sentence}" for sentence in pack.sentences),
        f"  {pack.proof.capitalize()}; fingerprint {pack.fingerprint}",
        f"Done in {seconds:.0f} s. Try next:",
        f"  accounting-analytics verify-pack {page} --fingerprint {pack.fingerprint}",
        f"  accounting-analytics queue --demo {days}",
        f"  accounting-analytics propose --demo --rules data/rules.toml {days}",
        "  make lab",
    ]
