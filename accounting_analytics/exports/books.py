"""The books that are exported: line entries of a period, the chart of accounts, and a report that they agree with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, runtime_checkable

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.cash_flow_report import CashFlowReport, require_report
from accounting_analytics.duckdb_settings import WITHOUT_EXTENSIONS
from accounting_analytics.errors import AccountingAnalyticsError, FrameError, InputError
from accounting_analytics.load_metadata import known_ledgers_claim, missing_reasons, read_instant
from accounting_analytics.local_books import LocalBooks
from accounting_analytics.messages import join_ids
from accounting_analytics.periods import Period, zone
from accounting_analytics.reconciliation import reconcile
from accounting_analytics.schemas import Ledgers, LineEntries

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable
    from typing import Any

    from accounting_analytics.reconciliation import Reconciliation


_SAME_LINES = """
with flow as (
    select id as line_id, ledger_id, -signed_amount as amount, datetime, journal_entry_id
    from line
    where ledger_id not in (from cash)
        and journal_entry_id in (select journal_entry_id from line where ledger_id in (from cash))
),
unbalanced as (
    select journal_entry_id
    from line
    group by journal_entry_id
    having sum(signed_amount) <> 0
)
select
    count(*) filter (where flow = reported) as same,
    count(*) filter (where flow is distinct from reported) as different,
    (select count(*) from unbalanced) as unbalanced
from flow
full join (select line_id, ledger_id, amount, datetime, journal_entry_id from reported) as reported using (line_id)
"""
"""Lines of a month that are the same in line entries and report, those that are not, and entries of several months."""

_SUMS = """
select
    min(id) as id, ledger_id, touches_cash::varchar as journal_entry_id, '' as journal_entry_description,
    min(datetime) as datetime, sum(signed_amount) as signed_amount
from (
    from line
    select *, journal_entry_id in (select journal_entry_id from line where ledger_id in (from cash)) as touches_cash
)
group by ledger_id, touches_cash
"""
"""All entries of a month that touch cash as one entry, and all others as another: their sums are the same."""


class MonthProof(NamedTuple):
    """How the lines of a month agree with the service's report, when they were read, and when that report was."""

    verdict: str
    read_at: dt.datetime | None = None
    proven_at: dt.datetime | None = None  # None unless they agree
    is_complete: bool = True


@runtime_checkable
class ProvenBooks(LocalBooks, Protocol):
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

    lines: pa.Table  # exact, with ``date`` and ``month``
    ledgers: pd.DataFrame
    report: CashFlowReport  # exact
    missing: tuple[str, ...]  # why lines of the period are missing
    read_at: dt.datetime | None  # None if the frame of the lines does not state it
    known_ledgers: str  # which ledgers are known, as a sentence

    @classmethod
    def from_frames(cls, line_entries: pd.DataFrame, ledgers: pd.DataFrame, report: CashFlowReport) -> Self:
        """Validate the frames, and keep the lines of the report's period."""
        require_type(line_entries, pd.DataFrame, "line_entries", "load_line_entries(client, ...) returns them")
        require_type(ledgers, pd.DataFrame, "ledgers", "discover_ledgers(client, ...) returns them")
        require_report(report, "report")
        zone(report.period.time_zone)  # local dates need a zone with a name: refuse "localtime"
        _require_whole_report(report)
        exact = LineEntries.checked_exact(line_entries)
        if exact.scale != report.scale:
            raise FrameError(f"line entries have scale {exact.scale}, the report has scale {report.scale}")
        lines = arrow_table(exact.frame.drop(columns="local_date", errors="ignore"))
        return cls(
            lines=lines_within(with_dates(lines, report.period), report.period),
            ledgers=Ledgers.checked(ledgers),
            report=report.exact(),
            missing=missing_reasons(line_entries, report.period, history=False),
            read_at=read_instant(line_entries),
            known_ledgers=known_ledgers_claim(ledgers, len(ledgers)),
        )

    @classmethod
    def from_books(cls, books: ProvenBooks, period: Period) -> Self:
        """Take the line entries, ledgers and recomputed report of some days of local books."""
        report = books.report(period, allow_partial=True)
        lines = with_dates(books.line_table(period), period)
        ledgers = books.ledgers()
        return cls(
            lines=lines,
            ledgers=Ledgers.checked(ledgers),
            report=report.exact(),
            missing=(),
            read_at=None,
            known_ledgers=known_ledgers_claim(ledgers, len(ledgers)),
        )

    def lines_by_month(self) -> dict[str, int]:
        """Count the lines of each month of the period, also of those without any."""
        counts = {row["values"]: row["counts"] for row in self.lines["month"].value_counts().to_pylist()}
        names = (month.month for month in self.period.months())
        return {name: counts.get(name, 0) for name in names}

    def same_proofs(self, verdict: str, proven_at: dt.datetime | None = None) -> dict[str, MonthProof]:
        """Proof of each month where that of the whole period is the only one."""
        return dict.fromkeys(self.lines_by_month(), MonthProof(verdict, self.read_at, proven_at))

    @property
    def scale(self) -> int:
        """Fraction digits of the amounts."""
        return self.report.scale

    @property
    def period(self) -> Period:
        """The exported days."""
        return self.report.period

    @property
    def notes(self) -> tuple[str, ...]:
        """Reasons why lines are missing, each as a sentence."""
        return tuple(f"{reason[0].upper()}{reason[1:]}." for reason in self.missing)

    @property
    def is_partial(self) -> bool:
        """Whether lines of the period are known to be missing."""
        return self.report.partial or bool(self.missing)

    @property
    def cash_ledger_ids(self) -> list[str]:
        """Ids of the ledgers that report cash flow, those of the report included, in the order of the report."""
        listed = self.report.starting_balances["ledger_id"].tolist()
        cash = self.ledgers.loc[self.ledgers["report_cash_flow"], "id"].tolist()
        return list(dict.fromkeys([*listed, *cash]))


def _require_whole_report(report: CashFlowReport) -> None:
    """Refuse a report of some tags: its lines are filtered and its balances are not, so the facts do not add up."""
    if report.tag_ids:
        raise InputError(
            f"the report has only lines with the tags {join_ids(report.tag_ids)}, but the balances of all; load it "
            "without tag_ids, and filter by bridge_line_entry_tag in the export; nothing was written"
        )


def with_dates(table: pa.Table, period: Period) -> pa.Table:
    """Table with the local ``date`` of each ``datetime`` in the zone of a period, and its ``month`` as ``2026-01``."""
    dates = local_dates(table["datetime"], period.time_zone)
    months = pc.utf8_slice_codeunits(dates.cast(pa.string()), 0, 7)
    return table.append_column("date", dates).append_column("month", months)


def local_dates(instants: pa.ChunkedArray, time_zone: str) -> pa.Array:
    """Local calendar date of each instant."""
    return pc.floor_temporal(local_times(instants, time_zone), unit="day").cast(pa.date32())


def local_times(instants: pa.ChunkedArray, time_zone: str) -> pa.Array:
    """Local time of each instant, without a zone."""
    local: pd.Series[Any] = instants.to_pandas().dt.tz_convert(zone(time_zone)).dt.tz_localize(None)
    return pa.array(local, pa.timestamp("us"), from_pandas=True)


def arrow_table(frame: pd.DataFrame) -> pa.Table:
    """Arrow table of a frame, without the metadata of pandas."""
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


def report_lines(books: ExportedBooks) -> pa.Table:
    """Lines of the report with their local dates."""
    return with_dates(arrow_table(books.report.lines), books.period)


def lines_within(lines: pa.Table, period: Period) -> pa.Table:
    """Lines of a period; a slice where they follow each other, because a filter copies all columns."""
    start, end = (pa.scalar(day, pa.date32()) for day in (period.start_date, period.end_date))
    inside = pc.and_(pc.greater_equal(lines["date"], start), pc.less_equal(lines["date"], end))
    first, count = max(pc.index(inside, True).as_py(), 0), pc.sum(inside).as_py() or 0
    are_together = pc.all(inside.slice(first, count)).as_py()
    return lines.slice(first, count) if are_together else lines.filter(inside)


class Agreement(NamedTuple):
    """Whether report and line entries agree, in words and as a fact."""

    verdict: str
    is_proven: bool


def describe_agreement(books: ExportedBooks) -> Agreement:
    """Recompute the report from the line entries, rolled forward from its starting balances, and compare the two.

    The text does not name the period, so that it is the same for a month of it that agrees as well.
    """
    try:
        result = _compare(books)
    except AccountingAnalyticsError as error:
        return Agreement(f"Not compared: {error}", is_proven=False)
    return Agreement(f"{result.verdict[0].upper()}{result.verdict[1:]}.", result.ties)


def _compare(books: ExportedBooks) -> Reconciliation:
    """Compare figures of all days; lines only where they are not the same, because that takes far more memory."""
    report = books.report
    sums = None if report.lines.empty else _sums_of_same_lines(books)
    if sums is None:
        return reconcile(report, _recompute(books, books.lines, lines=True))
    compared = report.lines.head(0)  # the lines are the same, and need not be compared again
    totals = replace(_recompute(books, sums, lines=False), lines=compared, totals_only=False)
    return reconcile(replace(report, lines=compared), totals)


def _sums_of_same_lines(books: ExportedBooks) -> pa.Table | None:
    """Sum the entries of each month, as lines; None unless the report has exactly their cash flow lines."""
    reported, found, sums = report_lines(books), 0, []
    is_cash = books.ledgers["report_cash_flow"]
    with duckdb.connect(config=WITHOUT_EXTENSIONS) as database:
        database.execute("set TimeZone = 'UTC'")
        database.register("cash", pa.table({"ledger_id": pa.array(books.ledgers.loc[is_cash, "id"], pa.string())}))
        for month in books.period.months():
            database.register("line", lines_within(books.lines, month))
            database.register("reported", lines_within(reported, month))
            same, different, unbalanced = database.execute(_SAME_LINES).fetchall()[0]
            if different or unbalanced:
                return None
            found += same
            sums.append(database.sql(_SUMS).to_arrow_table())
    return pa.concat_tables(sums) if found == len(reported) else None


def _recompute(books: ExportedBooks, line_entries: pa.Table, *, lines: bool) -> CashFlowReport:
    return recompute_cash_flow(
        line_entries,
        books.ledgers,
        books.period.start_date,
        books.period.end_date,
        time_zone=books.period.time_zone,
        starting_balances=books.report.starting_balances,
        lines=lines,
        allow_partial=True,
    )
