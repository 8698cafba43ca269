"""Single assumptions under which a report that does not tie agrees exactly.

Each assumption is first tried on the sums of cash, which takes no time, and then the report is recomputed under the
assumption. Lines long before the period are summed once, by ledger, so that the time depends only on the lines of the
period.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.core.chart_of_accounts import SubType
from accounting_analytics.core.errors import BooksDoNotTieError, FrameError, HierarchyError
from accounting_analytics.core.exact_sums import (
    INSTANT_TYPE,
    EntryLines,
    ExactLines,
    amount_column,
    collect,
    is_within,
)
from accounting_analytics.core.money import to_minor_units
from accounting_analytics.core.periods import DAY, LOCALTIME, UTC, Period, day_label, local_date, time_zone_names, zone
from accounting_analytics.reconciliation.compared_report_lines import compare_lines
from accounting_analytics.reconciliation.differences import compare_figures
from accounting_analytics.reports.books.value import Books
from accounting_analytics.reports.statements.recompute_cash_flow import recompute_cash_flow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from accounting_analytics.core.exact_sums import Days, Units
    from accounting_analytics.reconciliation.differences import Difference
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

    Mask = npt.NDArray[np.bool_]

_MICROSECOND = dt.timedelta(microseconds=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PADDING = 2 * DAY
"""Time before and after the period in which lines are not summed: no two time zones are further apart."""
_MAX_NAMED = 3
_KNOWN_ZONES = (
    *(UTC, "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "Europe/London"),
    *("Europe/Berlin", "Asia/Kolkata", "Asia/Shanghai", "Asia/Tokyo", "Australia/Sydney"),
)
"""Time zones that are preferred if several have the same days."""


class Assumption(NamedTuple):
    """An assumption under which every compared figure agrees.

    Attributes
    ----------
    kind : str
        What is assumed to be different: ``zone``, ``end date``, ``opening balance`` on the first day, or ``cash``, of
        the ledger of transfers.
    sentence : str
        How the report looks.
    entry_ids, time_zones : tuple of str
        Journal entries it is about, and zones whose days fit.
    """

    kind: str
    sentence: str
    entry_ids: tuple[str, ...] = ()
    time_zones: tuple[str, ...] = ()


class _Reading(NamedTuple):
    """A way to interpret the lines.

    A reading decides which lines count, their instants, the time zone and the cash ledgers.
    """

    counted: Mask
    when: npt.NDArray[np.int64]
    time_zone: str
    cash: frozenset[str]


def find_assumptions(
    reported: CashFlowReport,
    recomputed: CashFlowReport,
    differences: Sequence[Difference],
    line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
    ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
) -> tuple[Assumption, ...]:
    """Find the single assumptions that explain all differences."""
    lines = _ReportLines(reported, recomputed, differences, line_entries, ledgers)
    fitting = (
        next((assumption for assumption, reading in readings(lines) if lines.fits(reading)), None)
        for readings in ASSUMPTIONS
    )
    return tuple(assumption for assumption in fitting if assumption)


class _ReportLines:
    """The lines from which a report was recomputed.

    There are lines around the period, and sums of earlier lines.
    """

    def __init__(
        self,
        reported: CashFlowReport,
        recomputed: CashFlowReport,
        differences: Sequence[Difference],
        line_entries: Any,  # noqa: ANN401 (any frame narwhals knows)
        ledgers: Any,  # noqa: ANN401 (any frame narwhals knows)
    ) -> None:
        self.reported, self.recomputed, self.differences = reported, recomputed, differences
        self.period, self.zone = recomputed.period, zone(recomputed.period.time_zone)
        self.ledgers: pa.Table = nw.from_native(ledgers).lazy().collect("pyarrow").to_arrow()
        rows = self.ledgers.to_pylist()
        self.transfers = [row["id"] for row in rows if row.get("sub_type") == SubType.TRANSFERS_BETWEEN_ACCOUNTS]
        self.names = {row["id"]: row["name"] for row in rows}
        opening = [row["id"] for row in rows if row.get("is_required") and row.get("sub_type") == "equity"]
        exact = ExactLines.from_frame(line_entries, recomputed.scale)
        self.entries = EntryLines(_lines_around(exact, self.period), exact)
        self.table = self.entries.table
        self.as_given = _Reading(
            counted=np.ones(len(self.table), np.bool_),
            when=self.table["datetime"].cast(pa.int64()).to_numpy(),
            time_zone=self.period.time_zone,
            cash=frozenset(row["id"] for row in rows if row["report_cash_flow"]),
        )
        self.on_cash = self.entries.on(self.as_given.cash)
        self.of_opening = self.entries.of_entries_with(self.entries.on(opening))
        sums = reported.exact()
        self.starting = to_minor_units(sums.starting_cash_balance, recomputed.scale)
        self.change = to_minor_units(sums.ending_cash_balance, recomputed.scale) - self.starting

    def on(self, days: Days, when: npt.NDArray[np.int64] | None = None) -> Mask:
        """Mark the lines within some days, by their own instants or by `when`."""
        when = self.as_given.when if when is None else when
        found = np.zeros(len(when), np.bool_)
        for start, end in days:
            found |= (when >= _microseconds(start)) & (end is None or when < _microseconds(end))
        return found

    def on_dates(self, first: dt.date, last: dt.date) -> Mask:
        """Mark the lines whose local date is from `first` to `last`."""
        return self.on(Period(first, last, self.period.time_zone).instants())

    def entry_ids(self, chosen: Mask) -> tuple[str, ...]:
        """List the entries of some lines."""
        return tuple(dict.fromkeys(self.table["journal_entry_id"].filter(pa.array(chosen)).to_pylist()))

    def of_entries(self, entry_ids: Sequence[str]) -> Mask:
        """Mark the lines of some entries."""
        found: Mask = pc.is_in(self.table["journal_entry_id"], value_set=pa.array(entry_ids, pa.string())).to_numpy()
        return found

    def describe_entries(self, entry_ids: Sequence[str]) -> str:
        """Name the first few entries by id, day and text, and count the others."""
        named, texts = entry_ids[:_MAX_NAMED], {}
        for row in self.table.filter(pa.array(self.of_entries(named))).to_pylist():
            text = f' "{row["journal_entry_description"]}"' if row["journal_entry_description"] else ""
            day = local_date(row["datetime"], self.zone)
            texts[row["journal_entry_id"]] = f"entry {row['journal_entry_id']} of {day_label(day)}{text}"
        more = len(entry_ids) - len(named)
        return ", ".join(texts[entry_id] for entry_id in named) + (f" and {more:,} more" if more else "")

    def fits(self, reading: _Reading) -> bool:
        """Return whether the report, recomputed under a reading, equals the reported report.

        A reading does not fit if the report cannot be recomputed, for example if the chart of accounts lacks a ledger.
        """
        period = Period(self.period.start_date, self.period.end_date, reading.time_zone)
        units = np.where(reading.counted, self.entries.units, 0)
        if not self._moves_reported_cash(period, reading, units):
            return False
        lines = self.table.drop_columns(["units", "datetime"])
        lines = lines.append_column("datetime", pa.array(reading.when).cast(INSTANT_TYPE))
        lines = lines.append_column("signed_amount", amount_column(units, self.recomputed.scale))
        flags = pa.array([ledger_id in reading.cash for ledger_id in self.names])
        balances = self.reported.exact().starting_balances
        supplied = zip(balances["ledger_id"], balances["cash_balance"], strict=True)
        starting = {ledger_id: amount for ledger_id, amount in supplied if ledger_id in reading.cash}
        try:
            books = Books(
                lines.filter(pa.array(reading.counted)),
                self.ledgers.drop_columns("report_cash_flow").append_column("report_cash_flow", flags),
                period,
                time_zone=period.time_zone,
                opening=(period.start_date, starting) if self.recomputed.anchored else None,
                scale=self.recomputed.scale,
            )
            assumed = recompute_cash_flow(books, allow_partial=True)
        except (BooksDoNotTieError, FrameError, HierarchyError):
            return False
        if reading.when is not self.as_given.when:
            dates = dict(zip(self.table["id"].to_pylist(), self.table["datetime"].to_pylist(), strict=True))
            tables = assumed.exact()
            when = tables.lines["line_id"].map(dates).astype(tables.lines["datetime"].dtype)
            assumed = replace(assumed, _exact=tables._replace(lines=tables.lines.assign(datetime=when)))
        if any(compared.differences for compared in compare_figures(self.reported, assumed).values()):
            return False
        return not compare_lines(self.reported, assumed, self.table, {}).differences

    def _moves_reported_cash(self, period: Period, reading: _Reading, units: Units) -> bool:
        """Return whether a reading gives the reported cash balances."""
        on_cash = self.entries.on(reading.cash)
        starting, change = (
            int(units[self.on(days, reading.when) & on_cash].sum())
            for days in (period.instants_before(), period.instants())
        )
        return change == self.change and (self.recomputed.anchored or starting == self.starting)


def _days_of_another_zone(lines: _ReportLines) -> Iterator[tuple[Assumption, _Reading]]:
    """Yield readings with the days of other time zones. Of zones with the same days, one is tried."""
    period, touching = lines.period, lines.entries.of_entries_with(lines.on_cash)

    @cache
    def divide(*days: Days) -> bytes:
        return b"".join(lines.on(zone_days)[touching].tobytes() for zone_days in days)

    zones: defaultdict[bytes, list[str]] = defaultdict(list)
    for name in sorted(time_zone_names() - {LOCALTIME}, key=_rank):
        days = Period(period.start_date, period.end_date, name)
        zones[divide(days.instants_before(), days.instants())].append(name)
    for names in zones.values():
        if period.time_zone not in names:
            more = f" ({len(names):,} zones divide these lines in the same way)" if len(names) > 1 else ""
            sentence = f"The report's days look like those of {names[0]}, not of {period.time_zone}{more}."
            yield Assumption("zone", sentence, (), tuple(names)), lines.as_given._replace(time_zone=names[0])


def _rank(name: str) -> tuple[int, str]:
    known = _KNOWN_ZONES.index(name) if name in _KNOWN_ZONES else len(_KNOWN_ZONES)
    return known + name.startswith("Etc/"), name


def _without_last_day(lines: _ReportLines) -> Iterator[tuple[Assumption, _Reading]]:
    """Yield the reading without the lines of the last day."""
    end = lines.period.end_date
    sentence = (
        f"The report's end date looks exclusive: it has no lines of {day_label(end)}, the last day (or it was made "
        "before them)."
    )
    yield Assumption("end date", sentence), lines.as_given._replace(counted=~lines.on_dates(end, end))


def _other_transfers(lines: _ReportLines) -> Iterator[tuple[Assumption, _Reading]]:
    """Yield readings that count a transfer ledger as cash, or not.

    A transfer ledger is for transfers between accounts.
    """
    for ledger_id in lines.transfers:
        is_cash = ledger_id in lines.as_given.cash
        verb, other = ("does not count", "does") if is_cash else ("counts", "does not")
        sentence = f"The report {verb} {lines.names[ledger_id]} ({ledger_id}) as cash; the chart of accounts {other}."
        yield Assumption("cash", sentence), lines.as_given._replace(cash=lines.as_given.cash ^ {ledger_id})


def _opening_on_first_day(lines: _ReportLines) -> Iterator[tuple[Assumption, _Reading]]:
    """Yield readings whose starting balance includes entries of the first day."""
    first = lines.period.start_date
    before = _microseconds(lines.period.instants()[0].start) - 1
    unreported = [row for row in lines.differences if row.what == "line" and row.reported is None]
    lacking = [row.journal_entry_id or "" for row in unreported]
    first_day = lines.on_dates(first, first)
    for chosen in (first_day & (lines.of_opening | lines.of_entries(lacking)), first_day):
        if chosen.any():
            ids = lines.entry_ids(chosen)
            entries = lines.describe_entries(ids)
            named = entries if (chosen & ~lines.of_opening).any() else f"the opening balance ({entries})"
            when = np.where(chosen, before, lines.as_given.when)
            sentence = f"The report counts {named} in its starting balance, not as a flow."
            yield Assumption("opening balance", sentence, ids), lines.as_given._replace(when=when)


ASSUMPTIONS: tuple[Callable[[_ReportLines], Iterator[tuple[Assumption, _Reading]]], ...] = (
    _days_of_another_zone,
    _without_last_day,
    _other_transfers,
    _opening_on_first_day,
)
"""Functions that yield the readings to try. Of each function, the first reading that fits is named."""


def _microseconds(instant: dt.datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


def _lines_around(exact: ExactLines, period: Period) -> pa.Table:
    """Select the lines around a period.

    For each ledger, add a sum of earlier lines.
    """
    start = max(period.start_date, dt.date.min + _PADDING + DAY) - _PADDING
    end = min(period.end_date, dt.date.max - _PADDING - DAY) + _PADDING
    padded = Period(start, end, period.time_zone)
    lines = collect(exact.lines.filter(is_within(padded.instants())))
    earlier = exact.lines.filter(is_within(padded.instants_before()))
    sums = collect(earlier.group_by("ledger_id").agg(nw.col("units").sum())).to_pylist()
    history = pa.Table.from_pylist(
        [
            row
            | {
                "id": f"history of {row['ledger_id']}",
                "journal_entry_id": "history",
                "datetime": padded.instants()[0].start - _MICROSECOND,
                "units": exact.to_units(row["units"]) if exact.in_units else row["units"],
            }
            for row in sums
        ],
        lines.schema,
    )
    return pa.concat_tables([history, lines])
