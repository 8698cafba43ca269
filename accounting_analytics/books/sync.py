"""The sync of local books with the service: recent days are read again, every month is compared with its report.

A month that differs from the service's own report is read again, first the days that differ, then all of it. What a
report cannot show is read again by rota, the months that were read longest ago first.
"""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.books.comparison import ComparedMonth, compare_month, find_days
from accounting_analytics.books.entries_without_cash import count_lines, plan_reading, touch_cash
from accounting_analytics.books.first_load import FirstLoad, by_month, has_lines_before
from accounting_analytics.books.month_completeness import find_incompleteness, find_open_entries
from accounting_analytics.books.storage import MonthRecord, WorkingCopy
from accounting_analytics.books.sync_result import require_same_books
from accounting_analytics.chart_of_accounts import display_order
from accounting_analytics.column_conversion import LIST_SEPARATOR
from accounting_analytics.errors import InputError
from accounting_analytics.ledger_discovery import discover_ledgers, refresh_ledgers
from accounting_analytics.load_metadata import Discovery
from accounting_analytics.loader import load_cash_flow_report
from accounting_analytics.loader.line_entries import load_line_table
from accounting_analytics.loader.line_tables import lines_within
from accounting_analytics.loader.worker_pool import start_in_thread
from accounting_analytics.money import to_minor_units
from accounting_analytics.periods import Period, local_date, zone
from accounting_analytics.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accounting_analytics.books.delta_table import PartFile
    from accounting_analytics.books.entries_without_cash import Reading
    from accounting_analytics.books.storage import BooksFolder, Version
    from accounting_analytics.books.sync_result import SyncOptions
    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.client import LedgerClient

_DAY = dt.timedelta(days=1)
_MOST_COMPARISONS = 3
_UNSTABLE = "lines changed at the service while the months were compared; sync again"
_MOST_RANGES = 3
"""Ranges of days that are read again one by one; more of them are read as the whole month."""


class BooksSync:
    """One sync: the ledgers and months as they are read, and what is known of each month."""

    def __init__(self, folder: BooksFolder, client: LedgerClient, options: SyncOptions, last: Version | None) -> None:
        self._folder, self.client, self._options, self._last = folder, client, options, last
        self.at = dt.datetime.now(dt.UTC)
        record = None if last is None else last.record
        self._closed = () if record is None else record.closed
        self._turn = 0 if last is None else last.number
        self.entries_read: set[str] = set()
        self._time_zone, self.notes = options.zone_of_days(client, record)
        if record is not None:
            self.notes += require_same_books(client, record)
        self.scale = client.scale
        self.copy = WorkingCopy(folder.lines, {} if last is None else last.commit.parts, self.scale)
        self._parts_before = dict(self.copy.parts)
        self._compared: dict[str, PartFile] = {}
        self._without_cash: list[tuple[Reading, pa.Table]] = []
        self.months = {} if record is None else dict(record.months)
        self.read_again: set[str] = set()
        self._ledgers_are_new = False
        self.anchor = {} if record is None else dict(record.anchor)

    def read_changes(self) -> None:
        """Read the days and months that are due, or all days for the first time."""
        if self._last is None:
            self._take_first_load()
            return
        record = self._last.record
        before = record.period
        first = min(self._options.first_day() or before.start_date, before.start_date)
        end = self._options.last_day(self.at, self._time_zone)
        self.period = Period(first, max(end, before.end_date), self._time_zone)
        self.reaches_back = record.reaches_back
        self.ledgers = self._folder.read_ledgers(record.ledgers_version)
        if self._options.months_a_night > 0 or self._options.parents:
            self._refresh_ledgers()
        if self.period.start_date < before.start_date:
            self._read(Period(self.period.start_date, before.start_date - _DAY, self._time_zone))
            self.anchor = {}
            self.reaches_back = not has_lines_before(self.client, self.ledgers["id"], first, self._time_zone)
        elif self.reaches_back:
            self._check_first_line()
        since = min(self.at, record.synced_at).astimezone(zone(self._time_zone)).date()
        recent = min(since - dt.timedelta(days=self._options.lookback_days), before.end_date + _DAY)
        if recent <= self.period.end_date:
            self._read(Period(max(recent, self.period.start_date), self.period.end_date, self._time_zone))
        by_age = sorted(self.months, key=lambda month: (self.months[month].read_at, month))
        due = set(by_age[: self._options.months_a_night])
        for month in self.period.months():
            if month.month in due:
                self._read(month)
        if self._options.months_a_night > 0:
            self._read_entries_without_cash()
        self.copy.remove_moved()

    def _read_entries_without_cash(self) -> None:
        """Read the entries without cash of all months, as far as the requests for them reach."""
        cash, months = self._cash_ledgers(), self.period.months()
        others = sorted(set(self.ledgers["id"]) - set(cash))
        closed = [Period(one.start_date, one.end_date, self._time_zone) for one in self._closed]
        counts = count_lines(self.copy, months, cash)
        for reading in plan_reading(counts, months, others, closed, self._turn):
            lines = load_line_table(
                self.client, reading.ledger_ids, reading.days, is_cashflow=False, progress=self._options.progress
            )
            self._add_ledgers(_opposing_ids(lines))
            self._without_cash.append((reading, lines))
            if len(reading.ledger_ids) == len(others):
                self.entries_read |= {one.month for one in reading.days.months()}

    def _cash_ledgers(self) -> list[str]:
        return list(self.ledgers.loc[self.ledgers["report_cash_flow"], "id"])

    def _take_entries_without_cash(self, month: Period) -> None:
        """Replace the lines of entries without cash that were read, if they are others now."""
        cash, before = self._cash_ledgers(), self.copy.read(month.month)
        for reading, lines in self._without_cash:
            if not reading.days.covers(month):
                continue
            chosen = pa.array(reading.ledger_ids, pa.string())

            def are_read(table: pa.Table, chosen: pa.Array = chosen) -> pa.ChunkedArray:
                on_ledger = pc.is_in(table["ledger_id"], value_set=chosen)
                return pc.and_not(on_ledger, touch_cash(table, cash))

            found = lines_within(lines, month).cast(before.schema)
            if not before.filter(are_read(before)).equals(found):
                self.copy.replace(month, found, are_read)

    def _take_first_load(self) -> None:
        """Load all days for the first time, or continue such a load, and then the days since it began."""
        start, end = self._options.first_day(), self._options.last_day(self.at, self._time_zone)
        self.ledgers = self._discover_all(start or end, end)
        self._ledgers_are_new = True
        if self.ledgers.empty:
            raise InputError(f"the service has no ledgers with lines until {end} yet; sync when it has some")
        until = Period(start or end, end, self._time_zone)
        discovery = Discovery.stated(self.ledgers) or Discovery(len(self.ledgers), None, until)
        load = FirstLoad.begin(self._folder.first_load, self.ledgers["id"], discovery, start, until)
        self.period, self.reaches_back = load.period, load.reaches_back
        lines = load.read(self._folder.first_load, self.client, progress=self._options.progress)
        for month, rows in by_month(lines, self.period):
            self.copy.add(month, rows)
        self._note_read(self.period)
        named = _opposing_ids(lines.to_table(columns=["opposing_ledger_ids"]))
        self._add_ledgers({*named, *self.ledgers["id"]}, set(load.ledger_ids))
        if end > self.period.end_date:
            after = self.period.end_date + _DAY
            self.period = Period(self.period.start_date, end, self._time_zone)
            self._read(Period(after, end, self._time_zone))

    def _discover_all(self, first: dt.date, last: dt.date) -> pd.DataFrame:
        """Discover the ledgers that are used in some days."""
        parents, progress = self._options.parents, self._options.progress
        return discover_ledgers(self.client, first, last, time_zone=self._time_zone, parents=parents, progress=progress)

    def _read(self, days: Period) -> None:
        """Read all ledgers in some days again."""
        lines = load_line_table(self.client, self.ledgers["id"], days, progress=self._options.progress)
        self.copy.replace(days, lines)
        self._note_read(days)
        self._add_ledgers(_opposing_ids(lines))

    def _note_read(self, days: Period) -> None:
        """Note that months were read whole."""
        for month in self.period.months():
            name = month.month
            if days.covers(month):
                self.read_again.add(name)
            if days.covers(month) or name not in self.months:
                self.months[name] = msgspec.structs.replace(
                    self.months.get(name, MonthRecord(read_at="")), read_at=self.at.isoformat()
                )

    def _refresh_ledgers(self) -> None:
        """Read the ledgers again, and load all lines of those that are new."""
        known = set(self.ledgers["id"])
        self._discover(())
        self._add_ledgers(set(self.ledgers["id"]), known)

    def _check_first_line(self) -> None:
        """Note lines before the first day, if the ledgers were read again; balances are then those of the reports."""
        first_line_at = self.ledgers.attrs.get("first_line_at")
        if first_line_at is None:
            return
        first = self.period.start_date
        earliest = local_date(dt.datetime.fromisoformat(first_line_at), zone(self._time_zone))
        if earliest < first:
            self.reaches_back = False
            note = (
                f"There are lines before {first} now, the first on {earliest}: balances of the books begin with those "
                f"that the service reports for {first}. Sync with start_date={earliest.replace(day=1)} to read them."
            )
            self.notes += (note,)

    def _discover(self, new_ids: Iterable[str]) -> None:
        self.ledgers = refresh_ledgers(
            self.client,
            self.ledgers,
            self.period,
            new_ids=new_ids,
            parents=self._options.parents,
            since_first_line=self._last is not None and self.reaches_back,
        )
        self._ledgers_are_new = True

    def _add_ledgers(self, found: set[str], loaded: set[str] | None = None) -> None:
        """Discover ledgers that were not known, and load all their lines, until no line names another one."""
        known = set(self.ledgers["id"]) if loaded is None else loaded
        while found - known:
            if found - set(self.ledgers["id"]):
                self._discover(sorted(found - set(self.ledgers["id"])))
            new = sorted(set(self.ledgers["id"]) - known)
            lines = load_line_table(self.client, new, self.period, progress=self._options.progress)
            self.copy.add(self.period, lines)
            known |= set(new)
            found = _opposing_ids(lines)

    def compare_months(self) -> None:
        """Compare every month with the service's report; read again what differs.

        A ledger that is found later, or a line that moved, changes months that were compared before: these are compared
        again.
        """
        starting: dict[int, Any] = {self.period.start_date.toordinal(): None}
        months = self.period.months()
        changed = list(months)
        for _ in range(_MOST_COMPARISONS):
            self._compare_each(changed, starting)
            self.copy.remove_moved()
            changed = [one for one in months if self.copy.parts[one.month] != self._compared[one.month]]
            if not changed:
                return
        for name in [month.month for month in changed]:
            self.months[name] = msgspec.structs.replace(
                self.months[name], ties=False, complete=False, problem=_UNSTABLE
            )

    def _compare_each(self, months: Sequence[Period], starting: dict[int, Any]) -> None:
        """Compare months with their reports; `starting` has the balances before each first day that was reached."""
        reports = self._load_reports(months)
        with progress_bar(self._options.progress, iterable=months, desc="months", unit=" months") as each:
            for month in each:
                reported = self._take_report(next(reports))
                if month.start_date == self.period.start_date and not self.reaches_back:
                    starting[month.start_date.toordinal()] = self._take_anchor(reported)
                compared = self._compare_until_equal(month, reported, starting[month.start_date.toordinal()])
                starting[month.end_date.toordinal() + 1] = compared.ending_balances

    def _load_reports(self, months: Sequence[Period]) -> Iterator[CashFlowReport]:
        """Load the service's report of each month while the one before is compared."""
        coming = start_in_thread(partial(self._load_report, months[0]), "report")
        for following in months[1:]:
            reported = coming.result()
            coming = start_in_thread(partial(self._load_report, following), "report")
            yield reported
        yield coming.result()

    def _take_anchor(self, reported: CashFlowReport) -> pd.DataFrame:
        """Keep the balances that the service reports at the start of books that do not reach back."""
        balances = reported.exact().starting_balances
        amounts = zip(balances["ledger_id"], balances["cash_balance"], strict=True)
        found = {one: to_minor_units(amount, self.scale) for one, amount in amounts}
        if self.anchor and found != self.anchor:
            first = self.period.start_date
            self.notes += (f"The cash balances before {first} have changed: lines before the first day of the books.",)
        self.anchor = found
        return reported.starting_balances

    def _load_report(self, month: Period) -> CashFlowReport:
        return load_cash_flow_report(self.client, month.start_date, month.end_date, time_zone=self._time_zone)

    def _take_report(self, reported: CashFlowReport) -> CashFlowReport:
        """Load the ledgers that a report names and the books do not have, and take what it shows of its ledgers."""
        balances = (reported.starting_balances, reported.ending_balances)
        self._add_ledgers({ledger_id for one in (reported.ledgers, *balances) for ledger_id in one["ledger_id"]})
        shown = _with_reported_fields(self.ledgers, reported)
        if shown is not self.ledgers:
            self.ledgers = shown
            self._refresh_ledgers()
            self.ledgers = _with_reported_fields(self.ledgers, reported)
        return reported

    def _compare_until_equal(
        self,
        month: Period,
        reported: CashFlowReport,
        starting: Any,  # noqa: ANN401 (balances)
    ) -> ComparedMonth:
        """Compare a month; if it differs, read the days that differ again, then all days, then the ledgers."""
        name = month.month
        if name not in self._compared:  # what was read since is newer
            self._take_entries_without_cash(month)

        def compare() -> ComparedMonth:
            return compare_month(reported, self.copy.read(name), self.ledgers, starting)

        compared = compare()
        if 0 < len(compared.days) <= _MOST_RANGES:
            for first, last in compared.days:
                self._read(Period(first, last, self._time_zone))
            compared = compare()
        problem = self._find_problem(month) if compared.ties else ""
        if problem:
            self._read_open_entries(month)
            compared = compare()
            problem = self._find_problem(month)
        if not compared.ties or problem:
            self._read(month)
            reported = self._take_report(self._load_report(month))
            compared = compare()
            problem = self._find_problem(month)
        if not compared.ties and not self._ledgers_are_new:
            self._refresh_ledgers()
            compared = compare()
        difference = compared.problem
        if difference and self.reaches_back and month.start_date == self.period.start_date:
            difference += f"; where lines before {month.start_date} are new, sync with an earlier start_date"
        self.months[name] = MonthRecord(
            read_at=self.months[name].read_at,
            compared_at=self.at.isoformat(),
            ties=compared.ties and not problem,
            complete=not problem,
            problem=difference or problem,
        )
        self._compared[name] = self.copy.parts[name]
        return compared

    def _read_open_entries(self, month: Period) -> None:
        """Read the other lines of entries that are not whole: those of their days, on the ledgers that they name."""
        read: set[str] = set()
        while True:  # another line of an entry may name further ledgers
            lines = self.copy.read(month.month)
            entries = find_open_entries(lines, month, self.scale)
            lines = lines.filter(pc.is_in(lines["journal_entry_id"], value_set=entries))
            named = {*lines["ledger_id"].to_pylist(), *_opposing_ids(lines)}
            days = find_days([lines], self._time_zone)
            if named <= read or len(days) > _MOST_RANGES:
                return
            self._add_ledgers(named)
            for first, last in days:
                self._read_ledgers(named, Period(first, last, self._time_zone))
            read |= named

    def _read_ledgers(self, ledger_ids: set[str], days: Period) -> None:
        """Read some ledgers in some days again."""
        chosen = pa.array(ledger_ids, pa.string())
        lines = load_line_table(self.client, sorted(ledger_ids), days, progress=self._options.progress)
        self.copy.replace(days, lines, lambda table: pc.is_in(table["ledger_id"], value_set=chosen))

    def _find_problem(self, month: Period) -> str:
        """Why the journal entries of a month are not complete; empty where they are, as those of an unchanged month."""
        name = month.month
        if self.months[name].complete and self.copy.parts[name] == self._parts_before.get(name):
            return ""
        return find_incompleteness(self.copy.read(name), month, self.scale)

    def unread_months(self) -> tuple[str, ...]:
        """Months whose entries without cash were not all read again, in order."""
        return () if self._last is None else tuple(sorted(self.months.keys() - self.read_again - self.entries_read))

    def changed_months(self) -> list[str]:
        """Months whose lines are not those of the version before."""
        return [month for month, file in self.copy.parts.items() if self._parts_before.get(month) != file]


def _with_reported_fields(ledgers: pd.DataFrame, reported: CashFlowReport) -> pd.DataFrame:
    """Take the names of a report, and the sort codes of its balances: those of ledgers without lines are only there.

    A ledger with balances reports cash flow, where no line shows whether it does.
    """
    names: dict[str, str] = {}
    codes: dict[str, str] = {}
    for balances in (reported.starting_balances, reported.ending_balances):
        names |= dict(zip(balances["ledger_id"], balances["ledger_name"], strict=True))
        coded = balances.dropna(subset="sort_code")
        codes |= dict(zip(coded["ledger_id"], coded["sort_code"], strict=True))
    with_balance = set(names)
    names |= dict(zip(reported.ledgers["ledger_id"], reported.ledgers["name"], strict=True))
    fields = ledgers[["id", "name", "sort_code", "report_cash_flow", "debit_credit"]]
    before = list(fields.itertuples(index=False, name=None))
    shown = [
        (one, names.get(one, name), codes.get(one, code), cash or (one in with_balance and pd.isna(side)), side)
        for one, name, code, cash, side in before
    ]
    if shown == before:
        return ledgers
    changed = pd.DataFrame(shown, columns=fields.columns).astype(fields.dtypes)
    order = sorted(range(len(shown)), key=lambda row: display_order(shown[row][2], shown[row][0]))
    return ledgers.assign(**changed.set_index(ledgers.index)).iloc[order].reset_index(drop=True)


def _opposing_ids(lines: pa.Table) -> set[str]:
    texts = pc.drop_null(pc.unique(lines["opposing_ledger_ids"])).to_pylist()
    return {one for text in texts for one in text.split(LIST_SEPARATOR) if one}
