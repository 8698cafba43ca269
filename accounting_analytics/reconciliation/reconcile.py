"""`reconcile`: compare every report that the books have with its recomputation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.periods import DAY, Period, days_label, period_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import Months
from accounting_analytics.reconciliation.compared_report import (
    compare_reports,
    describe_not_compared,
    differences_by_month,
)
from accounting_analytics.reports.books.value import to_books
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.reconciliation.compared_report import ComparedReport
    from accounting_analytics.reports.books.value import Books
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_ANCHORED = (
    "Starting balances are those at the start of {day}, which were given or reported, rolled forward by the line "
    "entries; after a report that does not tie they are taken from the next one. Their agreement proves nothing: load "
    "the books since their first entry to sum them from history."
)
_SUMMED = "Starting balances are summed from the line entries since {day}, the first day of the books."
_SUMMED_SINCE_GIVEN = (
    "Starting balances are summed from the line entries since {day}, which was given as the first day; that is correct "
    "only if the books do not begin earlier."
)
_NO_FLOW = "no line entry moved cash, so no flow was compared"


@dataclass(frozen=True, repr=False)
class Reconciliation(Result):
    """Result of :func:`reconcile`: each report of the service, compared with the recomputed report.

    Parameters
    ----------
    period : Period
        All days.
    reports, recomputed : tuple of CashFlowReport
        Each report, as loaded and as recomputed, by its days.
    compared : tuple of ComparedReport
        The comparison of each.
    anchored : bool
        Whether starting balances were given or reported, not summed from history: they then prove nothing.
    notes : tuple of str
        Where the starting balances come from, and the notes of the books.
    """

    period: Period
    reports: tuple[CashFlowReport, ...]
    recomputed: tuple[CashFlowReport, ...]
    compared: tuple[ComparedReport, ...]
    anchored: bool
    notes: tuple[str, ...] = ()

    @property
    def ties(self) -> bool:
        """True if every report ties."""
        return not self.untied

    @property
    def compared_everything(self) -> bool:
        """True if every figure of every report was compared."""
        return all(comparison.compared_everything for comparison in self.compared)

    @property
    def untied(self) -> tuple[ComparedReport, ...]:
        """The reports that do not tie."""
        return tuple(comparison for comparison in self.compared if not comparison.ties)

    @property
    def moved_cash(self) -> bool:
        """True if a line entry moved cash in any report. If false, only balances and zeros were compared."""
        return any(not report.exact().lines.empty for report in self.recomputed)

    @property
    def partial(self) -> bool:
        """True if a report was recomputed from an incomplete load."""
        return any(comparison.partial for comparison in self.compared)

    @property
    def explanations(self) -> tuple[str, ...]:
        """Sentences that say why reports differ, report by report."""
        return tuple(text for comparison in self.compared for text in comparison.explanations)

    @property
    def frame(self) -> pd.DataFrame:
        """The reports: :class:`~accounting_analytics.schemas.Months`, with the amounts as reported."""
        return Months.from_rows(self._rows(), self.reports[0].scale)

    @property
    def differences(self) -> pd.DataFrame:
        """Differences by ledger and report: :class:`~accounting_analytics.schemas.MonthlyDifferences`."""
        return differences_by_month(self.compared)

    def summary(self) -> str:
        """One line of text: the days, whether the reports tie, and what was not compared."""
        if len(self.compared) == 1:
            of_single = self.compared[0].summary()
            return of_single if self.moved_cash else f"{of_single.removesuffix('.')}; {_NO_FLOW}."
        prefix = "PARTIAL: " if self.partial else ""
        of_kinds = chain.from_iterable(comparison.comparisons for comparison in self.compared)
        inferred = any(comparison.hierarchy_inferred for comparison in self.compared)
        limits = [
            *([] if self.moved_cash else [_NO_FLOW]),
            *describe_not_compared(of_kinds),
            *(["hierarchy inferred"] if inferred else []),
        ]
        return f"{prefix}{period_label(self.period)}: {'; '.join([self._verdict(), *limits])}."

    def _verdict(self) -> str:
        months = all(len(comparison.period.months()) == 1 for comparison in self.compared)
        count, noun = len(self.compared), "month" if months else "report"
        if self.untied:
            untied = ", ".join(days_label(comparison.period) for comparison in self.untied)
            return f"{len(self.untied)} of {count_of(count, noun)} untied: {untied}"
        compared = "" if self.compared_everything else " in the figures compared"
        return f"all {count_of(count, noun)} tie to the last digit{compared}"

    def _parts(self) -> Iterator[ResultPart]:
        """Show one text line for each report.

        For a single report, show its comparison.
        """
        if len(self.compared) == 1:
            yield from self.compared[0].parts()
            return
        rows = self._rows()
        hidden = ["anchored", *([] if self.partial else ["partial"])]  # notes and summary already state them
        lines = [f"{'':46}  {'net cash flow':>20}", *map(_describe, rows)]
        yield ResultPart(lines, pd.DataFrame(rows).drop(columns=hidden), max_rows=None)

    def explain(self) -> str:
        """Return plain text: the summary, the reports, the notes, and the differences of reports that do not tie."""
        untied = self.untied if len(self.compared) > 1 else ()
        return "\n\n".join([super().explain(), *(comparison.explain() for comparison in untied)])

    def _notes(self) -> list[str]:
        of_single = self.compared[0].notes if len(self.compared) == 1 else ()
        return [f"Note: {note}" for note in dict.fromkeys([*self.notes, *of_single])]

    def _content(self) -> dict[str, Any]:
        reports = [
            row | {"differences": comparison.differences, "explanations": comparison.explanations}
            for row, comparison in zip(self._rows(), self.compared, strict=True)
        ]
        return asdict(self.period) | {
            "ties": self.ties,
            "anchored": self.anchored,
            "partial": self.partial,
            "compared_everything": self.compared_everything,
            "reports": reports,
        }

    def _rows(self) -> list[dict[str, Any]]:
        """List the exact figures of each report."""
        return [
            {
                "start_date": comparison.period.start_date,
                "end_date": comparison.period.end_date,
                "ties": comparison.ties,
                "differences": len(comparison.rows),
                "not_compared": sum(kind.not_compared for kind in comparison.comparisons),
                **report.exact().sums,
                "anchored": self.anchored,
                "partial": comparison.partial,
            }
            for report, comparison in zip(self.reports, self.compared, strict=True)
        ]


def reconcile(books: Books) -> Reconciliation:
    """Compare every cash flow report that the books have with a report recomputed from their line entries.

    Parameters
    ----------
    books : Books
        The books with reports of the service: ``load_books(client, "2026-05")`` has that of May,
        ``load_books(client, reports=period.months())`` one of each month.

    Returns
    -------
    Reconciliation
        ``ties`` is True when every figure compared agrees exactly, ``compared_everything`` when none was left out.
        Where the starting balances are those that the service reported, `notes` say what the agreement does not prove.

    Raises
    ------
    InputError
        The books have no report, are a copy on disk, or are lines that a person chose; a report is filtered by tags, or
        has another scale.
    IncompleteLoadError
        Lines of a report's days were not loaded, or entries do not balance.
    """
    books = to_books(books)
    books.require_service("a reconciliation", "compares with the reports of a service")
    books.require_loaded("a reconciliation")
    if books.version is not None:
        raise InputError(
            "local books would be compared with themselves: load the books from the service, or sync them, which "
            "compares each month with the service's report"
        )
    if not books.reports:
        raise InputError(
            "the books have no report of the service: load them with one, load_books(client, reports=['2026-05'])"
        )
    reports = tuple(sorted(books.reports, key=lambda report: report.period))
    if books.opening.is_movement:
        books = books.with_opening(reports[0])
    recomputed, compared = zip(*_compare_each(books, reports), strict=True)
    opening = books.opening
    summed = _SUMMED_SINCE_GIVEN if opening.basis == "given" else _SUMMED
    starting = (_ANCHORED if opening.units is not None else summed).format(day=opening.day_text)
    return Reconciliation(
        period=Period(
            reports[0].period.start_date, max(report.period.end_date for report in reports), reports[0].period.time_zone
        ),
        reports=reports,
        recomputed=recomputed,
        compared=compared,
        anchored=opening.units is not None,
        notes=tuple(dict.fromkeys([starting, *books.notes])),
    )


def _compare_each(books: Books, reports: Iterable[CashFlowReport]) -> Iterator[tuple[CashFlowReport, ComparedReport]]:
    """Recompute and compare each report. After one that does not tie, start with the balances of the next report."""
    lines, ledgers, untied_until = books.source.frame, books.ledgers, None
    for reported in reports:
        start = reported.period.start_date
        if books.opening.units is not None and untied_until == start - DAY:
            books = books.with_opening(reported)
        recomputed = recompute_cash_flow(books, reported.period, allow_partial=bool(books.extent.missing))
        found = compare_reports(reported, recomputed, lines, ledgers)
        untied_until = None if found.ties else reported.period.end_date
        yield recomputed, found


def _describe(row: Mapping[str, Any]) -> str:
    """Describe a report in one line of text."""
    verdict = "ties" if row["ties"] else count_of(row["differences"], "difference")
    days = days_label(Period(row["start_date"], row["end_date"]))
    return f"{days:26}  {verdict:18}  {format_amount(row['net_cash_flow']):>20}"
