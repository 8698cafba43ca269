"""The books that are exported: line entries of a period, ledgers and a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.errors import AccountingAnalyticsError, FrameError, InputError, PeriodError
from accounting_analytics.core.load_metadata import known_ledgers_claim
from accounting_analytics.core.messages import join_ids
from accounting_analytics.core.periods import Period, zone
from accounting_analytics.core.schemas import Ledgers, LineEntries
from accounting_analytics.reconciliation.compared_report import compare_reports
from accounting_analytics.reports.books.extent_of_load import MonthProof
from accounting_analytics.reports.books.value import Books
from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping
    from typing import Any

    import duckdb
    import pandas as pd

    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport


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
"""Query that counts the lines that differ between the report and the line entries."""
_ROWS_PER_BATCH = 1 << 16
_NO_REPORT = "Not compared: the books have no report of the service of these days."


class ExportedBooks(NamedTuple):
    """Validated line entries, ledgers and report of one period."""

    lines: pa.Table  # exact, with ``date``
    ledgers: pd.DataFrame
    report: CashFlowReport
    open_items: Mapping[str, str]  # receivables and payables, with the path that names their party
    known_ledgers: str  # a sentence that says which ledgers are known
    notes: tuple[str, ...] = ()  # sentences that say why lines of the period are missing
    read_at: dt.datetime | None = None  # when the lines were read, if they state this
    proofs: Mapping[str, MonthProof] = {}  # by month; empty until the lines are compared with the report
    local_books: str | None = None
    books_version: int | None = None

    @classmethod
    def from_books(cls, books: Books, period: Period) -> Self:
        """Validate lines and ledgers of a period, with the service's report or a recomputed report.

        Local books keep the proof of each month.
        """
        reported = next((report for report in books.reports if report.period == period), None)
        if reported and reported.tag_ids:  # a tag filters its lines, not its balances: facts would not add up
            raise InputError(
                f"the report has only lines with the tags {join_ids(reported.tag_ids)}, but the balances of all; load "
                "it without tag_ids, and filter by bridge_line_entry_tag in the export; nothing was written"
            )
        if reported and reported.scale != books.scale:
            raise FrameError(f"line entries have scale {books.scale}, the report has scale {reported.scale}")
        if books.version is not None and not books.source.loaded.covers(period):  # other days have no proof
            raise PeriodError(
                f"the local books have the days {books.source.loaded}, which does not include all of {period}; "
                "nothing was written"
            )
        missing = [f"{reason[0].upper()}{reason[1:]}." for reason in books.extent.reasons(period)]
        ledgers, read_at = books.ledgers, books.extent.read_at
        months = [month.month for month in period.months()]
        proofs: Mapping[str, MonthProof] = {}
        if books.version is not None:
            proofs = {month: books.proofs[month] for month in months}
        elif reported is None:
            why = f"Not compared: calculated from {books.extent.source}." if books.extent.is_file else _NO_REPORT
            proofs = dict.fromkeys(months, MonthProof(why, read_at))
        return cls(
            lines=_lines_within(with_dates(_exact_lines(books), period), period),
            ledgers=Ledgers.checked(ledgers),
            report=reported or recompute_cash_flow(books, period, allow_partial=True),
            open_items=books.source.open_items,
            known_ledgers=known_ledgers_claim(ledgers, len(ledgers)),
            notes=tuple(missing),
            read_at=read_at,
            proofs=proofs,
            local_books=books.copy_of or None,
            books_version=books.version,
        )

    @property
    def period(self) -> Period:
        """The exported days."""
        return self.report.period

    @property
    def is_partial(self) -> bool:
        """Tell whether lines of the period are known to be missing."""
        return self.report.partial or bool(self.notes)


def _exact_lines(books: Books) -> pa.Table:
    """Make the amounts of line entries exact, and drop ``local_date``."""
    lines = books.lines
    if isinstance(lines, pa.Table):
        kept = [name for name in lines.column_names if name in LineEntries.dtypes() and name != "local_date"]
        return lines.select(kept).replace_schema_metadata(None)
    exact = LineEntries.checked_exact(books.source.in_pandas("an export"), scale=books.scale)
    return arrow_table(exact.frame.drop(columns="local_date", errors="ignore"))


def with_dates(table: pa.Table, period: Period) -> pa.Table:
    """Append a column ``date``, with the local day of each ``datetime`` in the period's time zone."""
    days = pc.floor_temporal(local_times(table["datetime"], period.time_zone), unit="day")
    return table.append_column("date", days.cast(pa.date32()))


def local_times(instants: pa.ChunkedArray, time_zone: str) -> pa.Array:
    """Convert instants to local times without a zone."""
    local: pd.Series[Any] = instants.to_pandas().dt.tz_convert(zone(time_zone)).dt.tz_localize(None)
    return pa.array(local, pa.timestamp("us"), from_pandas=True)


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """Convert a frame to Arrow, without the metadata of pandas."""
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def _lines_within(lines: pa.Table, period: Period) -> pa.Table:
    """Select lines of a period. Only batches that also have other lines are copied."""
    start, end = (pa.scalar(day, pa.date32()) for day in (period.start_date, period.end_date))
    batches = []
    for batch in lines.to_batches(_ROWS_PER_BATCH):
        inside = pc.and_(pc.greater_equal(batch["date"], start), pc.less_equal(batch["date"], end))
        batches.append(batch if pc.all(inside).as_py() else batch.filter(inside))
    return pa.Table.from_batches(batches, lines.schema)


def compare_with_report(database: duckdb.DuckDBPyConnection, books: ExportedBooks) -> MonthProof:
    """Compare the report with a report recomputed from its starting balances and the lines.

    The database compares the lines. Only if lines differ, the reconciliation compares them too, which takes far more
    memory.
    """
    report = books.report
    try:
        if database.execute(_DIFFERENT_LINES).fetchall() != [(0,)]:
            result = compare_reports(report, _recompute(books, books.lines, lines=True))
        else:
            totals = _recompute(books, database.sql("from source.line"), lines=False)
            result = compare_reports(report.without_lines(), totals.without_lines())
    except AccountingAnalyticsError as error:
        return MonthProof(f"Not compared: {error}", books.read_at)
    verdict = f"{result.verdict[0].upper()}{result.verdict[1:]}."
    return MonthProof(verdict, books.read_at, report.read_at if result.ties else None)


def _recompute(books: ExportedBooks, line_entries: object, *, lines: bool) -> CashFlowReport:
    opening = (books.period.start_date, books.report.exact().starting_balances)
    loaded = Books(line_entries, books.ledgers, books.period, time_zone=books.period.time_zone, opening=opening)
    return recompute_cash_flow(loaded, lines=lines, allow_partial=True)
