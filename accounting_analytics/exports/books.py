"""The books that are exported: line entries of a period, the chart of accounts, and a report that they agree with."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, runtime_checkable

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.arguments import require_type
from accounting_analytics.cash_flow import recompute_cash_flow
from accounting_analytics.cash_flow_report import CashFlowReport, require_report
from accounting_analytics.column_conversion import negated
from accounting_analytics.errors import AccountingAnalyticsError, FrameError, InputError
from accounting_analytics.load_metadata import known_ledgers_claim, missing_reasons, read_instant
from accounting_analytics.local_books import LocalBooks
from accounting_analytics.messages import join_ids
from accounting_analytics.periods import Period, zone
from accounting_analytics.reconciliation import COMPARED_FIELDS, have_same_lines, reconcile
from accounting_analytics.schemas import CashFlowLines, Ledgers, LineEntries

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator
    from typing import Any

    from accounting_analytics.reconciliation import Reconciliation

LINES_OF_A_BATCH = 50_000
"""Fewest line entries of a batch of months: each takes time of its own, and this many take little memory."""


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
        lines = pa.Table.from_pandas(exact.frame.drop(columns="local_date", errors="ignore"), preserve_index=False)
        return cls(
            lines=_within(with_dates(lines.replace_schema_metadata(None), report.period), report.period),
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

    def in_batches(self, least_lines: int = LINES_OF_A_BATCH) -> Iterator[Self]:
        """Split the books into batches of whole months, in order, so that tables made of them fit into memory.

        Months are joined until a batch has `least_lines`, because each batch takes time of its own. A journal entry has
        one datetime, so all its lines are in one batch.
        """
        days = local_dates(pa.chunked_array([self.report.lines["datetime"]]), self.period.time_zone)
        for period in self._periods_of_batches(least_lines):
            inside = _are_within(days, period).to_numpy(zero_copy_only=False)
            report = replace(self.report, period=period, lines=self.report.lines[inside])
            yield self._replace(lines=_within(self.lines, period), report=report)

    def _periods_of_batches(self, least_lines: int) -> Iterator[Period]:
        counts = self.lines_by_month()
        first, rows = None, 0
        for month in self.period.months():
            rows += counts[name_of_month(month)]
            first = first or month.start_date
            if rows >= least_lines or month.end_date == self.period.end_date:
                yield Period(first, month.end_date, self.period.time_zone)
                first, rows = None, 0

    def lines_by_month(self) -> dict[str, int]:
        """Count the lines of each month of the period, also of those without any."""
        counts = {row["values"]: row["counts"] for row in self.lines["month"].value_counts().to_pylist()}
        names = map(name_of_month, self.period.months())
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


def name_of_month(month: Period) -> str:
    """Year and month as text: ``2026-01``."""
    return month.start_date.isoformat()[:7]


def local_dates(instants: pa.ChunkedArray, time_zone: str) -> pa.Array:
    """Local calendar date of each instant."""
    return pc.floor_temporal(local_times(instants, time_zone), unit="day").cast(pa.date32())


def local_times(instants: pa.ChunkedArray, time_zone: str) -> pa.Array:
    """Local time of each instant, without a zone."""
    local: pd.Series[Any] = instants.to_pandas().dt.tz_convert(zone(time_zone)).dt.tz_localize(None)
    return pa.array(local, pa.timestamp("us"), from_pandas=True)


def _within(lines: pa.Table, period: Period) -> pa.Table:
    """Lines of a period; a slice where they follow each other, because a filter copies all columns."""
    inside = _are_within(lines["date"], period)
    first, count = max(pc.index(inside, True).as_py(), 0), pc.sum(inside).as_py() or 0
    are_together = pc.all(inside.slice(first, count)).as_py()
    return lines.slice(first, count) if are_together else lines.filter(inside)


def _are_within(days: pa.Array | pa.ChunkedArray, period: Period) -> pa.Array | pa.ChunkedArray:
    start, end = (pa.scalar(day, pa.date32()) for day in (period.start_date, period.end_date))
    return pc.and_(pc.greater_equal(days, start), pc.less_equal(days, end))


class Agreement(NamedTuple):
    """Whether report and line entries agree, in words and as a fact."""

    verdict: str
    is_proven: bool


def describe_agreement(books: ExportedBooks, least_lines: int = LINES_OF_A_BATCH) -> Agreement:
    """Recompute the report from the line entries, rolled forward from its starting balances, and compare the two.

    The text does not name the period, so that it is the same for a month of it that agrees as well. A few months are
    compared at a time; only if they do not agree is the whole period compared in one piece, to count what differs.
    """
    try:
        result = _compare_in_batches(books, least_lines) or _compare(books)
    except AccountingAnalyticsError as error:
        return Agreement(f"Not compared: {error}", is_proven=False)
    return Agreement(f"{result.verdict[0].upper()}{result.verdict[1:]}.", result.ties)


def _compare(books: ExportedBooks) -> Reconciliation:
    """Compare the whole period."""
    return reconcile(books.report, _recompute(books, books.report.starting_balances))


def _compare_in_batches(books: ExportedBooks, least_lines: int) -> Reconciliation | None:
    """Compare the lines of a few months at a time, and then the figures; None unless all agree.

    Figures are sums by ledger, so they are recomputed from one journal entry a batch, with the sums of its lines.
    """
    sums, balances, compared = [], books.report.starting_balances, 0
    with suppress(AccountingAnalyticsError):
        for batch in books.in_batches(least_lines):
            recomputed = _recompute(batch, balances)
            flows = CashFlowLines.exact(recomputed.lines, scale=books.scale).frame
            if recomputed.partial or not have_same_lines(batch.report.lines, flows, COMPARED_FIELDS):
                return None
            sums.append(_sums_by_ledger(batch, flows))
            balances = recomputed.ending_balances
            compared += len(flows)
        whole = _recompute(books._replace(lines=pa.concat_tables(sums)), books.report.starting_balances)
        # the lines were compared above; those of the sums stand for them
        result = reconcile(replace(books.report, lines=whole.lines), whole)
        return result if result.ties and compared == len(books.report.lines) else None
    return None


def _recompute(books: ExportedBooks, starting_balances: pd.DataFrame) -> CashFlowReport:
    period = books.period
    return recompute_cash_flow(
        books.lines,
        books.ledgers,
        period.start_date,
        period.end_date,
        time_zone=period.time_zone,
        starting_balances=starting_balances,
        allow_partial=True,
    )


def _sums_by_ledger(books: ExportedBooks, flows: pd.DataFrame) -> pa.Table:
    """One journal entry with the sum of the lines of each cash ledger, and of the flows of each other ledger."""
    is_cash = pc.is_in(books.lines["ledger_id"], value_set=pa.array(books.cash_ledger_ids, pa.large_string()))
    cash = books.lines.filter(is_cash).select(["ledger_id", "signed_amount"])
    others = pa.table({"ledger_id": flows["ledger_id"], "signed_amount": pa.array(negated(flows["amount"]))})
    sums = pa.concat_tables([cash, others]).group_by("ledger_id").aggregate([("signed_amount", "sum")])
    entry = pa.repeat(str(books.period.start_date), sums.num_rows)
    instant = pa.scalar(books.period.instants()[0].start, pa.timestamp("us", "UTC"))
    return pa.table(
        {
            "id": pc.binary_join_element_wise(entry, sums["ledger_id"].cast(pa.string()), " "),
            "ledger_id": sums["ledger_id"],
            "journal_entry_id": entry,
            "journal_entry_description": entry,
            "datetime": pa.repeat(instant, sums.num_rows),
            "signed_amount": sums["signed_amount_sum"],
        }
    )
