"""Calendar months, loaded once, recomputed and reconciled one by one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from accounting_analytics.core.errors import IncompleteLoadError, InputError, PeriodError
from accounting_analytics.core.load_metadata import loaded_period, notes, read_load_metadata
from accounting_analytics.core.messages import count_of
from accounting_analytics.core.money import format_amount
from accounting_analytics.core.periods import Period, parse_date, zone
from accounting_analytics.core.progress import progress_bar
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.core.schemas import Months
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loading.ledger_discovery import discover_ledgers
from accounting_analytics.loading.load import load_line_entries
from accounting_analytics.loading.request import requested_days
from accounting_analytics.reconciliation.reconciliation import describe_not_compared, differences_by_month, reconcile
from accounting_analytics.reports.books.lines_or_books import refuse_books
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.reconciliation.reconciliation import Reconciliation
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_ANCHORED = (
    "Starting balances are those of the first month's report, rolled forward by the line entries; after a month that "
    "does not tie they are taken from the next report. Their agreement proves nothing: pass books_start (--since), the "
    "first day of the books, to sum them from history."
)
_SUMMED = (
    "Starting balances are summed from the line entries since {books_start}; that is correct only if the books do not "
    "begin earlier."
)


@dataclass(frozen=True, repr=False)
class MonthlyReconciliation(Result):
    """Result of :func:`reconcile_months`.

    Parameters
    ----------
    period : Period
        All days.
    ledgers, line_entries : DataFrame
        The chart of accounts and the line entries that were used, for further analysis.
    reports, recomputed : tuple of CashFlowReport
        The report of each month, as loaded and as recomputed.
    reconciliations : tuple of Reconciliation
        The comparison of each month.
    anchored : bool
        Whether starting balances come from the first month's report, not from history: they then prove nothing.
    notes : tuple of str
        Where the starting balances come from, and the notes of the discovery and the load.
    """

    period: Period
    ledgers: pd.DataFrame
    line_entries: Any
    reports: tuple[CashFlowReport, ...]
    recomputed: tuple[CashFlowReport, ...]
    reconciliations: tuple[Reconciliation, ...]
    anchored: bool
    notes: tuple[str, ...] = ()

    @property
    def ties(self) -> bool:
        """Whether every month ties."""
        return not self.untied

    @property
    def compared_everything(self) -> bool:
        """Whether every figure of every month's report was compared."""
        return all(month.compared_everything for month in self.reconciliations)

    @property
    def untied(self) -> tuple[Reconciliation, ...]:
        """The months that do not tie."""
        return tuple(month for month in self.reconciliations if not month.ties)

    @property
    def moved_cash(self) -> bool:
        """Whether a line entry moved cash in any month; without one, only balances and zeros were compared."""
        return any(not report.exact().lines.empty for report in self.recomputed)

    @property
    def partial(self) -> bool:
        """Whether a month was recomputed from an incomplete load."""
        return any(month.partial for month in self.reconciliations)

    @property
    def frame(self) -> pd.DataFrame:
        """The months: :class:`~accounting_analytics.schemas.Months`, with the amounts as reported."""
        rows = self._rows()
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return Months.from_columns(columns, self.reports[0].scale)

    @property
    def differences(self) -> pd.DataFrame:
        """Differences by ledger and month: :class:`~accounting_analytics.schemas.MonthlyDifferences`."""
        return differences_by_month(self.reconciliations)

    def summary(self) -> str:
        """One line: the months, whether they tie, and what was not compared."""
        prefix = "PARTIAL: " if self.partial else ""
        comparisons = chain.from_iterable(month.comparisons for month in self.reconciliations)
        inferred = any(month.hierarchy_inferred for month in self.reconciliations)
        limits = [
            *([] if self.moved_cash else ["no line entry moved cash, so no flow was compared"]),
            *describe_not_compared(comparisons),
            *(["hierarchy inferred"] if inferred else []),
        ]
        return f"{prefix}{self.period}: {'; '.join([self._verdict(), *limits])}."

    def _verdict(self) -> str:
        count = len(self.reconciliations)
        if self.untied:
            untied = ", ".join(f"{month.period.start_date:%Y-%m}" for month in self.untied)
            earlier = "; the books begin before books_start: give their first day, or leave it out"
            hint = earlier if self.untied[0].without_history else ""
            return f"{len(self.untied)} of {count_of(count, 'month')} untied: {untied}{hint}"
        compared = "" if self.compared_everything else " in the figures compared"
        return f"{'all ' if count > 1 else ''}{count_of(count, 'month ties', 'months tie')} to the last digit{compared}"

    def _parts(self) -> Iterator[ResultPart]:
        """Show one line per month."""
        rows = self._rows()
        hidden = ["anchored", *([] if self.partial else ["partial"])]  # the notes and the summary state them
        lines = [f"{'':44}  {'net cash flow':>20}", *map(_describe, rows)]
        yield ResultPart(lines, pd.DataFrame(rows).drop(columns=hidden), max_rows=None)

    def explain(self) -> str:
        """Plain text: the summary, one line per month, the notes, and the differences of each month with some."""
        return "\n\n".join([super().explain(), *(month.explain() for month in self.untied)])

    def _content(self) -> dict[str, Any]:
        months = [
            row | {"differences": month.differences, "explanations": month.explanations}
            for row, month in zip(self._rows(), self.reconciliations, strict=True)
        ]
        return asdict(self.period) | {
            "ties": self.ties,
            "anchored": self.anchored,
            "partial": self.partial,
            "compared_everything": self.compared_everything,
            "months": months,
            "notes": self.notes,
        }

    def _rows(self) -> list[dict[str, Any]]:
        """Figures of each month; amounts are exact."""
        return [
            {
                "start_date": month.period.start_date,
                "end_date": month.period.end_date,
                "ties": month.ties,
                "differences": len(month.rows),
                "not_compared": sum(one.not_compared for one in month.comparisons),
                **report.exact().sums,
                "anchored": self.anchored,
                "partial": month.partial,
            }
            for report, month in zip(self.reports, self.reconciliations, strict=True)
        ]


def reconcile_months(
    client: LedgerClient,
    start_date: DateLike,
    end_date: DateLike,
    *,
    time_zone: ZoneLike | None = None,
    books_start: DateLike | None = None,
    parents: Mapping[str, str | None] | None = None,
    ledgers: pd.DataFrame | None = None,
    line_entries: Any = None,  # noqa: ANN401 (any frame narwhals knows)
    allow_partial: bool = False,
    progress: bool | None = None,
) -> MonthlyReconciliation:
    """Reconcile the cash flow report of every calendar month with one recomputed from line entries.

    The books are loaded once: the ledgers, the line entries, and one report per month. ``line_entries`` of the result
    can be certified with :func:`~accounting_analytics.check_completeness`. The lines of the period are those of one
    moment (`consistency` of :func:`~accounting_analytics.load_line_entries`); those of the history before it are read
    once, because a change there shows in the starting balances.

    Parameters
    ----------
    client : LedgerClient
        The service.
    start_date, end_date : date-like
        First and last day, both inclusive, local to `time_zone`; the first and last month may be parts of a month.
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default the client's, else UTC, which is then noted.
    books_start : date-like, optional
        First day of the books: starting balances are summed from the line entries since then. Without it they are
        those of the first month's report, rolled forward, and their agreement is not independent.
    parents : mapping, optional
        Ledger id to parent id (None for a root), where the service does not show parents: totals need them.
    ledgers : DataFrame, optional
        The chart of accounts, if :func:`~accounting_analytics.discover_ledgers` has returned it already.
    line_entries : DataFrame, optional
        The line entries of all `ledgers` (of any engine), if they are loaded already: since `books_start` if it is
        given, else since `start_date`.
    allow_partial : bool
        Reconcile even if lines are known to be missing; the months are then marked as partial.
    progress : bool, optional
        Show progress bars; None shows them in a terminal or an interactive notebook.

    Returns
    -------
    MonthlyReconciliation
        ``ties`` is True when every figure compared agrees exactly in every month.

    Raises
    ------
    PeriodError
        A date or the time zone cannot be used, or `books_start` is after `start_date`.
    IncompleteLoadError
        Lines are missing: days before the given line entries, windows that failed, or lines of an entry.
    InputError
        Both `parents` and `ledgers` are given.
    ServiceError
        The service failed; nothing is returned, calling again is safe.
    """
    refuse_books(
        client,
        "local books would be compared with themselves: connect to the service, or sync the books, which compares each "
        "month with the service's report",
    )
    period, zone_notes = requested_days(client, start_date, end_date, time_zone)
    zone(period.time_zone)
    history = _history(period, books_start)
    days = (history.start_date, history.end_date)
    if ledgers is None:
        ledgers = discover_ledgers(client, *days, time_zone=period.time_zone, parents=parents, progress=progress)
    elif parents is not None:
        raise InputError(
            "parents= is for the discovery of ledgers; as ledgers= is given, pass parents= to discover_ledgers instead"
        )
    if line_entries is None:
        line_entries = load_line_entries(
            client,
            ledgers["id"],
            *days,
            time_zone=period.time_zone,
            consistency=period,
            allow_partial=allow_partial,
            progress=progress,
        )
    _require_days(line_entries, history)
    anchored = books_start is None
    with progress_bar(progress, iterable=period.months(), desc="months", unit=" months") as months:
        compared = list(
            _reconcile_each(client, months, ledgers, line_entries, anchored=anchored, allow_partial=allow_partial)
        )
    reports, recomputed, reconciliations = zip(*compared, strict=True)
    starting = _ANCHORED if anchored else _SUMMED.format(books_start=history.start_date)
    return MonthlyReconciliation(
        period=period,
        ledgers=ledgers,
        line_entries=line_entries,
        reports=reports,
        recomputed=recomputed,
        reconciliations=reconciliations,
        anchored=anchored,
        notes=tuple(dict.fromkeys([starting, *zone_notes, *notes(ledgers), *notes(line_entries)])),
    )


def _describe(row: Mapping[str, Any]) -> str:
    """Write a month as one line of text."""
    verdict = "ties" if row["ties"] else count_of(row["differences"], "difference")
    return f"{row['start_date']} to {row['end_date']}  {verdict:18}  {format_amount(row['net_cash_flow']):>20}"


def _history(period: Period, books_start: DateLike | None) -> Period:
    """Days whose lines are needed: the period, and all before it since the first day of the books."""
    if books_start is None:
        return period
    first = parse_date(books_start, "books_start")
    if first > period.start_date:
        raise PeriodError(
            f"books_start {first} is after start_date {period.start_date}; it is the first day of the books"
        )
    return Period(first, period.end_date, period.time_zone)


def _require_days(line_entries: Any, history: Period) -> None:  # noqa: ANN401 (any frame narwhals knows)
    """Refuse line entries of a load that does not include all days."""
    metadata = read_load_metadata(line_entries)
    if metadata is not None and not (loaded := loaded_period(metadata)).covers(history):
        raise IncompleteLoadError(
            f"the line entries are those of {loaded}, but those of {history} are needed; load these, and pass them"
        )


def _reconcile_each(
    client: LedgerClient,
    months: Iterable[Period],
    ledgers: pd.DataFrame,
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    *,
    anchored: bool,
    allow_partial: bool,
) -> Iterator[tuple[CashFlowReport, CashFlowReport, Reconciliation]]:
    """Load, recompute and compare each month; an anchored one starts where the month before ended, if that tied."""
    before: pd.DataFrame | None = None
    for month in months:
        days = (month.start_date, month.end_date)
        reported = load_cash_flow_report(client, *days, time_zone=month.time_zone)
        anchor = reported.exact().starting_balances if before is None else before
        recomputed = recompute_cash_flow(
            line_entries,
            ledgers,
            *days,
            time_zone=month.time_zone,
            starting_balances=anchor if anchored else None,
            allow_partial=allow_partial,
        )
        found = reconcile(reported, recomputed, line_entries=line_entries, ledgers=ledgers)
        before = recomputed.exact().ending_balances if found.ties else None
        yield reported, recomputed, found
