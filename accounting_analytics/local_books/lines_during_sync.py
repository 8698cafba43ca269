"""Lines and ledgers of local books during a sync, in a working copy.

No version has the working copy yet. A sync reads recent days again, the months that were read longest ago, and entries
without cash. If these lines name a new ledger, all its lines are loaded.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.load_metadata import Discovery
from accounting_analytics.core.periods import DAY, Period, day_label, local_date, month_start, zone
from accounting_analytics.loading.arrow_lines import lines_within
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loading.ledger_discovery import discover_ledgers, find_first_line, refresh_ledgers
from accounting_analytics.loading.load import load_line_table
from accounting_analytics.loading.load_to_file import load_in_order
from accounting_analytics.loading.load_whole_books import load_whole_books_in_order
from accounting_analytics.loading.request import LoadRequest
from accounting_analytics.local_books.reading_plan import (
    days_to_read,
    places_of,
    plan_reading,
    survey_lines,
    touch_cash,
)
from accounting_analytics.local_books.storage import WorkingCopy
from accounting_analytics.reports.books.changed_lines import find_changed_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.records import Ledger
    from accounting_analytics.core.periods import ZoneLike
    from accounting_analytics.loading.load import LoadedLines
    from accounting_analytics.local_books.reading_plan import LineSurvey, Reading
    from accounting_analytics.local_books.storage import BooksFolder, Choice
    from accounting_analytics.local_books.versions import Version
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport


class SyncOptions(NamedTuple):
    """Options of a sync; see :meth:`LocalBooks.sync`."""

    first_day: dt.date | None
    last_day: dt.date | None
    time_zone: ZoneLike | None
    lookback_days: int
    months_a_night: int
    parents: Mapping[str, str | None] | None
    progress: bool | None


class SyncedLines:
    """The ledgers and lines of local books while they are synced.

    Attributes
    ----------
    copy : WorkingCopy
        The lines.
    ledgers : DataFrame
        The chart of accounts.
    period : Period
        The days of the books.
    reaches_back : bool
        True if no ledger has a line before the first day.
    read_at : dict
        Time at which all lines of each month were read.
    entries_read : set of str
        Months whose entries without cash were all read.
    ledgers_are_new : bool
        True once the fields of the ledgers were read.
    ledgers_before : DataFrame
        The chart of accounts of the last version.
    is_extended : bool
        True if the books have earlier days now.
    notes : tuple of str
        Remarks.
    """

    ledgers: pd.DataFrame
    ledgers_before: pd.DataFrame
    period: Period
    reaches_back: bool
    is_extended = False
    _days: Period

    def __init__(
        self,
        folder: BooksFolder,
        client: LedgerClient,
        options: SyncOptions,
        last: Version | None,
        *,
        at: dt.datetime,
        time_zone: str,
    ) -> None:
        self._folder, self._client, self._options, self._last = folder, client, options, last
        self._at, self._time_zone = at, time_zone
        self.notes: tuple[str, ...] = ()
        self.copy = WorkingCopy(folder, {} if last is None else last.files, client.scale)
        self.read_at = {} if last is None else {name: record.read_at for name, record in last.months.items()}
        self.entries_read: set[str] = set()
        self.ledgers_are_new = False
        self._loaded: set[str] = set()

    def _last_day(self) -> dt.date:
        """Return the requested last day, else the last day of this month."""
        today = self._at.astimezone(zone(self._time_zone)).date()
        this_month = Period.relative("this-month", as_of=today, time_zone=self._time_zone)
        return self._options.last_day or this_month.end_date

    def read_all(self) -> None:
        """Load all days at the first sync, and continue an interrupted load of the same lines."""
        first, end = self._options.first_day, self._last_day()
        path = self._folder.first_load / "lines.parquet"
        self.ledgers = self._load_all(path) if first is None else self._load_since(first, path)
        self.ledgers_are_new = True
        if self.ledgers.empty:
            raise InputError(f"the service has no ledgers with lines until {end} yet; sync when it has some")
        first = first or month_start(min(self._discovery.first_day or end, end))
        self._days = self.period = Period(first, end, self._time_zone)
        self.reaches_back = self._begins_with_the_first_line()
        self._loaded = set(self.ledgers["id"])
        if self._options.last_day is None:
            self.period = self._days.months()[0]
            self._extend_to(lines_within(ds.dataset(path).to_table(["datetime"]), self._days))
        opposing: set[str] = set()
        for month, lines in _by_month(ds.dataset(path), self.period):
            self.copy.add(month, lines)
            self.read_at[month.month] = self._at
            opposing |= _opposing_ids(lines)
        self._add_ledgers(opposing)

    def _load_all(self, path: Path) -> pd.DataFrame:
        """Load all lines into a file, and return the named ledgers."""
        return load_whole_books_in_order(
            self._client,
            Period(self._last_day(), self._last_day(), self._time_zone),
            path,
            checkpoint=self._checkpoint("all days", self._time_zone),
            parents=self._options.parents or {},
            progress=self._options.progress,
        )

    def _load_since(self, first: dt.date, path: Path) -> pd.DataFrame:
        """Find the ledgers, and load lines since a day into a file."""
        days, progress = Period(first, self._last_day(), self._time_zone), self._options.progress
        dates, parents = (days.start_date, days.end_date), self._options.parents
        ledgers = discover_ledgers(self._client, *dates, time_zone=self._time_zone, parents=parents, progress=progress)
        if not ledgers.empty:
            request = LoadRequest.from_options(self._client, ledgers["id"], *dates, time_zone=self._time_zone)
            load_in_order(request, path, checkpoint=self._checkpoint(days, *sorted(ledgers["id"])), progress=progress)
        return ledgers

    def _checkpoint(self, *load: object) -> Path:
        """Return the folder of a first load."""
        text = "\n".join(map(str, (*load, f"scale {self._client.scale}")))
        return self._folder.first_load / hashlib.sha256(text.encode()).hexdigest()

    @property
    def _discovery(self) -> Discovery:
        return Discovery.stated(self.ledgers) or Discovery(len(self.ledgers), None, self.period)

    def _begins_with_the_first_line(self) -> bool:
        """Return whether no ledger has a line before the first day.

        It is also false if the service refuses early days.
        """
        first_day = self._discovery.first_day
        is_first = first_day is None or self.period.start_date <= first_day
        return is_first and self._discovery.accepted.start_date == dt.date.min

    def read_changes(self, last: Version) -> None:
        """Read the days and months that are due."""
        options, before = self._options, last.period
        first, end = options.first_day or before.start_date, max(self._last_day(), before.end_date)
        self._days = Period(min(first, before.start_date), end, self._time_zone)
        known = end if options.last_day else before.end_date
        self.period = Period(self._days.start_date, known, self._time_zone)
        self.ledgers = self.ledgers_before = self._folder.read_ledgers(last)
        self._loaded = set(self.ledgers["id"])
        self.reaches_back = last.reaches_back
        is_nightly, self.is_extended = options.months_a_night > 0, self.period.start_date < before.start_date
        if options.parents or self.is_extended or (is_nightly and not self.reaches_back):
            self.refresh()
            self._check_first_line()
        if self.is_extended:
            self.read(Period(self.period.start_date, before.start_date - DAY, self._time_zone))
        if not is_nightly:
            self._read_recent_days(last, ())
        else:
            cash, months = self.cash_ids(), self.period.months()
            survey = survey_lines(self.copy, months, cash)
            others = sorted(set(self.ledgers["id"]) - set(cash))
            closed = [
                Period(closed_period.start_date, closed_period.end_date, self._time_zone)
                for closed_period in last.closed
            ]
            readings = plan_reading(survey.without_cash, months, others, closed, last.number)
            self._read_recent_days(last, readings)
            self._read_due_months(last, survey)
            self._read_entries_without_cash(readings, set(others))
        self.copy.remove_moved()

    def cash_ids(self) -> list[str]:
        """Return the ids of the ledgers that report cash flow."""
        return list(self.ledgers.loc[self.ledgers["report_cash_flow"], "id"])

    def _check_first_line(self) -> None:
        """Write a note if new lines precede the books' first day.

        Balances then begin with the balances that the service reports.
        """
        reached_back, self.reaches_back = self.reaches_back, self._begins_with_the_first_line()
        first, earliest = self.period.start_date, self._discovery.first_day
        if reached_back and not self.reaches_back and earliest is not None:
            day = day_label(first)
            note = (
                f"There are lines before {day} now, the first on {day_label(earliest)}: balances of the books begin "
                f"with those that the service reports for {day}. Sync with start_date={month_start(earliest)} to "
                "read them."
            )
            self.notes += (note,)

    def _read_recent_days(self, last: Version, readings: Iterable[Reading]) -> None:
        """Read all lines since some days before the last sync.

        Days after the end of the books are included. A ledger without lines on these days, whose entries without cash
        are read on all days, is read only if an entry names it.
        """
        since = min(self._at, last.synced_at).astimezone(zone(self._time_zone)).date()
        first = min(since - dt.timedelta(days=self._options.lookback_days), last.period.end_date + DAY)
        if first > self._days.end_date:
            return
        if self.period.end_date < self._days.end_date:
            later = Period(self.period.end_date + DAY, self._days.end_date, self._time_zone)
            self._extend_to(pa.table({"datetime": self.load_report(later).exact().lines["datetime"]}))
        days = Period(max(first, self._days.start_date), self._days.end_date, self._time_zone)
        read_otherwise = {ledger_id for reading in readings if reading.of_all_days for ledger_id in reading.ledger_ids}
        with_lines = self.copy.read_days(days)["ledger_id"].unique().to_pylist()
        others = set(self.ledgers["id"]) - read_otherwise
        self.read_entries(days, {*self.cash_ids(), *with_lines, *others})
        self.read_at |= {month.month: self._at for month in self.period.months() if days.covers(month)}

    def _read_due_months(self, last: Version, survey: LineSurvey) -> None:
        """Read the months that were read longest ago.

        Also read a line of each ledger.
        """
        due = sorted(last.months, key=lambda month: (self.read_at[month], month))[: self._options.months_a_night]
        shown: dict[str, Ledger] = {}
        for month in (candidate for candidate in self.period.months() if candidate.month in due):
            shown |= self.read(month, {} if shown else survey.days_with_a_line(self.ledgers["id"], month))
        if self.reaches_back:
            self.refresh(shown=shown)
        self.ledgers_are_new = True

    def _read_entries_without_cash(self, readings: Iterable[Reading], others: set[str]) -> None:
        """Read entries without cash as planned.

        Also find lines before the first day.
        """
        cash, first_line = self.cash_ids(), None
        unread = set(self.ledgers["id"])
        first = self._discovery.accepted.start_date if self.reaches_back else self._days.start_date
        everything = Period(first, self._days.end_date, self._time_zone)
        for ledger_ids, days, of_all_days in readings:
            asked = everything if of_all_days else days
            lines = self._load(dict.fromkeys(ledger_ids, asked), is_cashflow=False).lines
            chosen = pa.array(ledger_ids, pa.string())

            def are_read(table: pa.Table, chosen: pa.Array = chosen) -> pa.ChunkedArray:
                return pc.and_not(pc.is_in(table["ledger_id"], value_set=chosen), touch_cash(table, cash))

            months = self._replace(asked, lines, are_read)
            if set(ledger_ids) == others:
                self.entries_read |= {month.month for month in months}
            if of_all_days:
                unread -= set(ledger_ids)
                first_line = min(filter(None, [first_line, pc.min(lines["datetime"]).as_py()]), default=None)
        if self.reaches_back and self.period.start_date > self._discovery.accepted.start_date:
            before = Period(self._discovery.accepted.start_date, self.period.start_date - DAY, self._time_zone)
            self.note_first_line(find_first_line(self._client, unread, before))
            self.note_first_line(first_line)
            self._check_first_line()

    def note_first_line(self, instant: dt.datetime | None) -> None:
        """Record the instant of a possible first line."""
        first_day = self._discovery.first_day
        if instant and (first_day is None or local_date(instant, zone(self._time_zone)) < first_day):
            self.refresh(shown={}, first_line=instant)

    def _load(self, days: Mapping[str, Period], **options: bool) -> LoadedLines:
        return load_line_table(self._client, days, progress=self._options.progress, **options)

    def read(self, days: Period, days_of_ledgers: Mapping[str, Period] | None = None) -> dict[str, Ledger]:
        """Read all ledgers on some days again, and return the ledger fields that lines show."""
        asked = dict.fromkeys(self.ledgers["id"], days) | {**(days_of_ledgers or {})}
        lines, shown = self._load(asked, with_ledgers=bool(days_of_ledgers))
        self._replace(days, lines)
        self.read_at |= {month.month: self._at for month in self.period.months() if days.covers(month)}
        return shown

    def _replace(self, days: Period, lines: pa.Table, chosen: Choice | None = None) -> list[Period]:
        """Replace lines of some days, and return the months.

        Ledgers that the new lines name are added.
        """
        self._extend_to(lines)
        first, last = max(days.start_date, self.period.start_date), min(days.end_date, self.period.end_date)
        months = Period(first, last, self._time_zone).months() if first <= last else []
        for month in months:
            self.copy.replace(month, lines, chosen)
        self._add_ledgers(_opposing_ids(lines))
        return months

    def read_entries(self, days: Period, ledger_ids: Iterable[str]) -> None:
        """Read some ledgers again, then ledgers of changed entries, until these name no further ledger."""
        before, due, read, entry_ids = self.copy.read_days(days), {*ledger_ids}, set[str](), set[str]()
        while due:
            lines = self._load(dict.fromkeys(sorted(due), days)).lines
            chosen = pa.array(due, pa.string())

            def are_read(table: pa.Table, chosen: pa.Array = chosen) -> pa.ChunkedArray:
                return pc.is_in(table["ledger_id"], value_set=chosen)

            self._replace(days, lines, are_read)
            known = before.filter(are_read(before))
            changed = find_changed_lines(known, lines, time_zone=self._time_zone, scale=self._client.scale)
            entry_ids |= {*changed["journal_entry_id"].to_pylist()}
            entries = pa.array(entry_ids, pa.string())
            tables = [table.filter(pc.is_in(table["journal_entry_id"], value_set=entries)) for table in (before, lines)]
            read |= due
            named = {
                ledger_id for table in tables for ledger_id in (*table["ledger_id"].to_pylist(), *_opposing_ids(table))
            }
            due = (named & {*self.ledgers["id"]}) - read

    def _extend_to(self, lines: pa.Table) -> None:
        """Extend the books to the end of the latest line's month.

        A last day that the caller gave stays the last day.
        """
        latest = pc.max(lines["datetime"]).as_py()
        if latest is not None and self._options.last_day is None:
            day = local_date(latest, zone(self._time_zone))
            for month in self._days.months():
                if self.period.end_date < day and month.start_date <= day:
                    self.period = Period(self._days.start_date, month.end_date, self._time_zone)
        for month in self.period.months():
            self.read_at.setdefault(month.month, self._at)

    def refresh(
        self,
        new_ids: Iterable[str] = (),
        shown: Mapping[str, Ledger] | None = None,
        first_line: dt.datetime | None = None,
    ) -> None:
        """Read the fields of all ledgers again, and load all lines of new ledgers."""
        self.ledgers = refresh_ledgers(
            self._client,
            self.ledgers,
            self.period,
            new_ids=new_ids,
            parents=self._options.parents,
            since_first_line=self._last is not None,
            shown=shown,
            first_line=first_line,
        )
        self.ledgers_are_new = self.ledgers_are_new or shown is None
        self._add_ledgers()

    def _add_ledgers(self, named: Iterable[str] = ()) -> None:
        """Discover named ledgers, and load their lines.

        Repeat until the lines name no further ledger.
        """
        unknown = sorted({*named} - {*self.ledgers["id"]})
        if unknown:
            self.refresh(unknown, shown={})
        new = sorted({*self.ledgers["id"]} - self._loaded)
        if new:
            lines = self._load(dict.fromkeys(new, self._days)).lines
            self._extend_to(lines)
            others = self.copy.add(self.period, lines)
            self._loaded.update(new)
            self._add_ledgers(_opposing_ids(lines))
            self._read_others(others)

    def _read_others(self, others: pa.Table) -> None:
        """Read the other lines of entries that have lines on new ledgers."""
        for month in self.period.months() if others.num_rows else ():
            places = places_of(lines_within(others, month), self._time_zone)
            for days in days_to_read(places, set(), self.copy.read(month.month), self._time_zone):
                named = {ledger for day, ledger in places if days.start_date <= day <= days.end_date}
                self.read_entries(days, named & {*self.ledgers["id"]})

    def load_report(self, days: Period) -> CashFlowReport:
        """Load the report of some days, and add the ledgers that it names."""
        reported = load_cash_flow_report(self._client, days.start_date, days.end_date, time_zone=self._time_zone)
        self.take_ledgers(reported)
        return reported

    def take_ledgers(self, reported: CashFlowReport) -> None:
        """Add the ledgers that a report names, with their fields."""
        exact = reported.exact()
        tables = (exact.ledgers, exact.starting_balances, exact.ending_balances)
        self._add_ledgers(ledger_id for table in tables for ledger_id in table["ledger_id"])
        shown = _with_reported_fields(self.ledgers, reported)
        if not shown.equals(self.ledgers):
            self.ledgers = shown
            self.refresh()
            self.ledgers = _with_reported_fields(self.ledgers, reported)


def _by_month(lines: ds.Dataset, period: Period) -> Iterator[tuple[Period, pa.Table]]:
    """Yield the lines of each month, with only one month in memory."""
    day = ds.field("local_date")
    for month in period.months():
        first, last = (dt.datetime.combine(date, dt.time.min) for date in (month.start_date, month.end_date))
        of_month = lines.to_table(filter=(day >= first) & (day <= last), use_threads=False)
        yield month, of_month.drop_columns("local_date")
        pa.default_memory_pool().release_unused()


def _with_reported_fields(ledgers: pd.DataFrame, reported: CashFlowReport) -> pd.DataFrame:
    """Complete ledgers with names and sort codes from a report.

    For ledgers without lines, only the report has these fields. If no line shows whether a ledger reports cash flow, it
    does if the report has its balances.
    """
    exact = reported.exact()
    balances = pd.concat([exact.starting_balances, exact.ending_balances])
    coded, flows, ids = balances.dropna(subset="sort_code"), exact.ledgers, ledgers["id"]
    codes = dict(zip(coded["ledger_id"], coded["sort_code"], strict=True))
    names = dict(zip(balances["ledger_id"], balances["ledger_name"], strict=True))
    names |= dict(zip(flows["ledger_id"], flows["name"], strict=True))
    has_balance = ids.isin(balances["ledger_id"]) & ledgers["debit_credit"].isna()
    shown = ledgers.assign(
        name=ids.map(names).fillna(ledgers["name"]).astype(ledgers["name"].dtype),
        sort_code=ids.map(codes).fillna(ledgers["sort_code"]).astype(ledgers["sort_code"].dtype),
        report_cash_flow=ledgers["report_cash_flow"] | has_balance,
    )
    return shown.sort_values(["sort_code", "id"], ignore_index=True)


def _opposing_ids(lines: pa.Table) -> set[str]:
    texts = pc.drop_null(pc.unique(lines["opposing_ledger_ids"])).to_pylist()
    return {ledger_id for text in texts for ledger_id in text.split(LIST_SEPARATOR) if ledger_id}
