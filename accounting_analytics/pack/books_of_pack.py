"""The books of a pack, and their comparison with the service's reports."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple, Self

from accounting_analytics.core.periods import Period, days_label
from accounting_analytics.reconciliation.completeness import check_completeness
from accounting_analytics.reconciliation.reconcile import reconcile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accounting_analytics.local_books.version_changes import Drift
    from accounting_analytics.pack.pack_periods import PackPeriods
    from accounting_analytics.reconciliation.compared_report import ComparedReport
    from accounting_analytics.reconciliation.completeness import Certificate
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport


class ComparedPeriod(NamedTuple):
    """A period whose cash flow report of the service was compared with the line entries.

    Attributes
    ----------
    label : str
        The period.
    ties : bool
        Whether every figure compared agrees.
    verdict : str
        What the comparison found.
    reported : CashFlowReport, optional
        The report as loaded; local books have compared theirs at their sync.
    comparison : ComparedReport, optional
        The comparison.
    """

    label: str
    ties: bool
    verdict: str
    reported: CashFlowReport | None = None
    comparison: ComparedReport | None = None


class ComparedBooks(NamedTuple):
    """The books of a pack.

    Attributes
    ----------
    books : Books
        The books.
    certificate : Certificate
        Whether lines are missing.
    compared : dict
        The comparison of each report that has a column, by its key.
    drift : Drift, optional
        What changed in local books since the last pack.
    """

    books: Books
    certificate: Certificate
    compared: dict[str, ComparedPeriod]
    drift: Drift | None = None

    @classmethod
    def of(cls, books: Books, periods: PackPeriods, drift: Drift | None) -> Self:
        """Compare the reports of the shown periods. For local books, take the comparisons of their syncs."""
        labels: dict[Period, tuple[str, str]] = {}
        for key, period, label in _compared(books, periods):
            labels |= dict.fromkeys((period, periods.compared()[key]), (key, label))
        compared = {}
        if books.version is not None:
            compared = {
                key: _proofs(books, period)._replace(label=label) for key, period, label in _compared(books, periods)
            }
        elif reports := [report for report in books.reports if report.period in labels]:
            found = reconcile(books.with_reports(reports))
            for comparison, reported in zip(found.compared, found.reports, strict=True):
                key, label = labels[comparison.period]
                compared[key] = ComparedPeriod(label, comparison.ties, comparison.verdict, reported, comparison)
        in_order = {key: compared[key] for key, _ in labels.values() if key in compared}
        return cls(books, check_completeness(books), in_order, drift)

    @property
    def file(self) -> str:
        """The file from which the books were read, with its digest, or ""."""
        return self.books.extent.source if self.books.extent.is_file else ""

    @property
    def days(self) -> Period:
        """The days whose lines are loaded."""
        return self.books.source.loaded


def _compared(books: Books, periods: PackPeriods) -> Iterator[tuple[str, Period, str]]:
    """Yield the key, days and label of each period with a column."""
    first_day = books.opening.first_entry
    for key, period in periods.compared().items():
        if first_day is None or period.end_date >= first_day:
            since = Period(max(period.start_date, first_day or dt.date.min), period.end_date, period.time_zone)
            if books.source.loaded.covers(since):
                yield key, since, periods.label_of(period)


def _proofs(books: Books, period: Period) -> ComparedPeriod:
    """Join the last comparisons of a period's months to one comparison."""
    proofs = {month.month: books.proofs[month.month] for month in period.months()}
    unproven = [f"{month}: {proof.verdict}" for month, proof in proofs.items() if proof.proven_at is None]
    when = max((proof.proven_at for proof in proofs.values() if proof.proven_at), default=None)
    verdict = (
        "; ".join(unproven) or f"every month agreed with the service's report, the last at {when:%Y-%m-%d %H:%M} UTC"
    )
    return ComparedPeriod(days_label(period), not unproven, verdict)
