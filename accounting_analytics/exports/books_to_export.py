"""The books that are exported: line entries of a period, the chart of accounts, and a report that they agree with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.errors import AccountingAnalyticsError, FrameError, InputError
from accounting_analytics.core.load_metadata import known_ledgers_claim, stated_read_at
from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.periods import Period, zone
from accounting_analytics.core.schemas import Ledgers, LineEntries
from accounting_analytics.reconciliation.reconciliation import reconcile
from accounting_analytics.reports.books.extent import missing_reasons
from accounting_analytics.reports.books.lines_or_books import AnyBooks
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport, require_report
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping
    from typing import Any

    import duckdb
    import pandas as pd


_DIFFERENT_LINES = """
with flow as (
    select id as line_id, ledger_id, -signed_amount as amount, datetime, journal_entry_id
    from source.line
    where ledger_id not in (select id from source.ledger where report_cash_flow)
        and journal_entry_id in (
            select line.journal_entry_id
            from source.line
            inner join source.ledger on ledger.id = line.ledger_id
            where ledger.report_cash_flow
        )
),
reported as (
    select line_id, ledger_id, amount, datetime, journal_entry_id
    from source.report_line
)
select count(*)
from flow
full join reported using (line_id)
where flow is distinct from reported
"""
"""How many lines the report and the line entries do not share."""


class MonthProof(NamedTuple):
    """How the lines of a month agree with the service's report, when they were read, and when that report was."""

    verdict: str
    read_at: dt.datetime | None = None
    proven_at: dt.datetime | None = None  # None unless they agree
    is_complete: bool = True


@runtime_checkable
class ProvenBooks(AnyBooks, Protocol):
    """Local books that were compared with the service's report of each month."""

    @property
    def version(self) -> int | None:
        """Number of the version."""

    @property
    def source(self) -> str:
        """Service and instance that they are a copy of."""

    @property
    def period(self) -> Period:
        """The days that they have."""

    def line_table(self, period: Period) -> pa.Table:
        """Line entries of some days with exact amounts."""

    def report(self, period: Period, *, tag_ids: Iterable[str] = (), allow_partial: bool = False) -> CashFlowReport:
        """Cash flow report of some days, recomputed from the line entries."""

    def month_proofs(self, period: Period) -> dict[str, MonthProof]:
        """Return what the comparison of each month showed, by name: ``2026-01``."""


class ExportedBooks(NamedTuple):
    """Validated line entries, ledgers and report of one period."""

    lines: pa.Table  # exact, with ``date``
    ledgers: pd.DataFrame
    report: CashFlowReport
    known_ledgers: str  # which ledgers are known, as a sentence
    notes: tuple[str, ...] = ()  # why lines of the period are missing, each as a sentence
    read_at: dt.datetime | None = None  # when frames were read, if they state it
    proofs: Mapping[str, MonthProof] = {}  # by month; none before frames are compared with their report
    local_books: str | None = None
    books_version: int | None = None

    @classmethod
    def from_frames(cls, line_entries: pd.DataFrame, ledgers: pd.DataFrame, report: CashFlowReport) -> Self:
        """Validate the frames, and keep the lines of the report's period."""
        require_report(report, "report")
        if report.tag_ids:  # its lines are filtered and its balances are not, so the facts would not add up
            raise InputError(
                f"the report has only lines with the tags {join_ids(report.tag_ids)}, but the balances of all; load it "
                "without tag_ids, and filter by bridge_line_entry_tag in the export; nothing was written"
            )
        exact = LineEntries.checked_exact(line_entries)
        if exact.scale != report.scale:
            raise FrameError(f"line entries have scale {exact.scale}, the report has scale {report.scale}")
        pa.default_memory_pool().release_unused()  # otherwise the pool keeps what the checks needed
        missing = missing_reasons(line_entries, report.period)
        lines = with_dates(arrow_table(exact.frame.drop(columns="local_date", errors="ignore")), report.period)
        return cls(
            lines=_lines_within(lines, report.period),
            ledgers=Ledgers.checked(ledgers),
            report=report,
            known_ledgers=known_ledgers_claim(ledgers, len(ledgers)),
            notes=tuple(f"{reason[0].upper()}{reason[1:]}." for reason in missing),
            read_at=stated_read_at(line_entries),
        )

    @classmethod
    def from_books(cls, books: ProvenBooks, period: Period) -> Self:
        """Take the line entries, ledgers, recomputed report and proofs of some days of local books."""
        ledgers = books.ledgers()
        return cls(
            lines=with_dates(books.line_table(period), period),
            ledgers=Ledgers.checked(ledgers),
            report=books.report(period, allow_partial=True),
            known_ledgers=known_ledgers_claim(ledgers, len(ledgers)),
            proofs=books.month_proofs(period),
            local_books=books.source,
            books_version=books.version,
        )

    @property
    def period(self) -> Period:
        """The exported days."""
        return self.report.period

    @property
    def is_partial(self) -> bool:
        """Whether lines of the period are known to be missing."""
        return self.report.partial or bool(self.notes)


def with_dates(table: pa.Table, period: Period) -> pa.Table:
    """Table with the local ``date`` of each ``datetime`` in the zone of a period."""
    days = pc.floor_temporal(local_times(table["datetime"], period.time_zone), unit="day")
    return table.append_column("date", days.cast(pa.date32()))


def local_times(instants: pa.ChunkedArray, time_zone: str) -> pa.Array:
    """Local time of each instant, without a zone."""
    local: pd.Series[Any] = instants.to_pandas().dt.tz_convert(zone(time_zone)).dt.tz_localize(None)
    return pa.array(local, pa.timestamp("us"), from_pandas=True)


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """Arrow table of a frame, without the metadata of pandas."""
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def _lines_within(lines: pa.Table, period: Period) -> pa.Table:
    """Lines of a period; all of them as they are, because a filter copies all columns."""
    start, end = (pa.scalar(day, pa.date32()) for day in (period.start_date, period.end_date))
    inside = pc.and_(pc.greater_equal(lines["date"], start), pc.less_equal(lines["date"], end))
    return lines if pc.all(inside).as_py() else lines.filter(inside)


def compare_with_report(database: duckdb.DuckDBPyConnection, books: ExportedBooks) -> MonthProof:
    """Recompute the report from the line entries in a database, rolled forward from its starting balances, and compare.

    Lines are compared by the database, and only where they differ by the reconciliation, which takes far more memory.
    """
    report = books.report
    try:
        if database.execute(_DIFFERENT_LINES).fetchall() != [(0,)]:
            result = reconcile(report, _recompute(books, books.lines, lines=True))
        else:
            totals = _recompute(books, database.sql("from source.line"), lines=False)
            result = reconcile(report.without_lines(), totals.without_lines())
    except AccountingAnalyticsError as error:
        return MonthProof(f"Not compared: {error}", books.read_at)
    verdict = f"{result.verdict[0].upper()}{result.verdict[1:]}."
    return MonthProof(verdict, books.read_at, report.read_at if result.ties else None)


def _recompute(books: ExportedBooks, line_entries: object, *, lines: bool) -> CashFlowReport:
    return recompute_cash_flow(
        line_entries,
        books.ledgers,
        books.period.start_date,
        books.period.end_date,
        time_zone=books.period.time_zone,
        starting_balances=books.report.exact().starting_balances,
        lines=lines,
        allow_partial=True,
    )
