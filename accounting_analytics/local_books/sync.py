"""The sync of local books with the service: recent days are read again, every month is compared with its report.

Where a month differs from the service's own report, the cash ledgers and those of the entries in question are read
again on these days, and all of the month if it still differs. What a report cannot show is read again by rota, the
months that were read longest ago first.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from accounting_analytics.core.column_conversion import LIST_SEPARATOR
from accounting_analytics.core.errors import InputError, PeriodError
from accounting_analytics.core.load_metadata import Discovery
from accounting_analytics.core.periods import Period, choose_zone, day_label, local_date, zone
from accounting_analytics.core.progress import progress_bar
from accounting_analytics.loading.arrow_lines import lines_within
from accounting_analytics.loading.cash_flow_reports import load_cash_flow_report, load_report_if_changed
from accounting_analytics.loading.ledger_discovery import discover_ledgers, find_first_line, refresh_ledgers
from accounting_analytics.loading.load import load_line_table
from accounting_analytics.loading.ordered_load import load_in_order
from accounting_analytics.loading.request import LoadRequest
from accounting_analytics.loading.whole_books import load_whole_books_in_order
from accounting_analytics.local_books.drift import compare_versions
from accounting_analytics.local_books.month_proof import compare_month
from accounting_analytics.local_books.reading_plan import days_to_read, plan_reading, survey_lines, touch_cash
from accounting_analytics.local_books.storage import WorkingCopy
from accounting_analytics.local_books.versions import LineChanges, MonthRecord, Version
from accounting_analytics.reports.books.changed_lines import find_changed_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal
    from pathlib import Path

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.records import Ledger
    from accounting_analytics.core.periods import ZoneLike
    from accounting_analytics.loading.load import LoadedLines
    from accounting_analytics.local_books.drift import Drift
    from accounting_analytics.local_books.month_proof import Balances, ComparedMonth
    from accounting_analytics.local_books.reading_plan import LineSurvey, Reading
    from accounting_analytics.local_books.storage import BooksFolder, Choice
    from accounting_analytics.local_books.versions import StoredFile
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_DAY = dt.timedelta(days=1)
_MOST_COMPARISONS = 3
_UNSTABLE = "lines changed at the service while the months were compared; sync again"


class SyncOptions(NamedTuple):
    """What a caller asks of a sync: see :meth:`LocalBooks.sync`."""

    first_day: dt.date | None
    last_day: dt.date | None
    time_zone: ZoneLike | None
    lookback_days: int
    months_a_night: int
    parents: Mapping[str, str | None] | None
    progress: bool | None


class BooksSync:
    """One sync: the ledgers and months as they are read, and what is known of each month.

    Attributes
    ----------
    changes : Drift or None
        Lines that changed since the last version.
    unread_months : tuple of str
        Months that were not read again whole: no report shows a change of texts, or of transfers within a month.
    unread_entries : tuple of str
        Those of them whose entries without cash were not all read again, which no report shows either.
    notes : tuple of str
        Remarks.
    """

    def __init__(self, folder: BooksFolder, client: LedgerClient, options: SyncOptions, last: Version | None) -> None:
        self._folder, self._client, self._options, self._last = folder, client, options, last
        self._at = dt.datetime.now(dt.UTC)
        self.notes: tuple[str, ...] = ()
        self.changes: Drift | None = None
        self.unread_months: tuple[str, ...] = ()
        self.unread_entries: tuple[str, ...] = ()
        self._time_zone = self._choose_zone()
        self._copy = WorkingCopy(folder, {} if last is None else last.files, client.scale)
        self._months: dict[str, MonthRecord] = {}
        before = {} if last is None else last.months
        self._read_at = {name: one.read_at for name, one in before.items()}
        self._known_complete = {name: self._copy.files[name] for name, one in before.items() if one.complete}
        self._compared: dict[str, StoredFile] = {}
        self._anchor: dict[str, Decimal] = {} if last is None else last.anchor
        self._loaded: set[str] = set()
        self._entries_read: set[str] = set()
        self._ledgers_are_new = False

    def run(self) -> Version:
        """Read what may have changed, compare all months, and write a version."""
        if self._last is None:
            self._read_all()
        else:
            self._require_same_books(self._last)
            self._read_changes(self._last)
        self._compare_months()
        return self._write()

    def _choose_zone(self) -> str:
        """Zone of the books; another one than theirs is refused."""
        asked, last = self._options.time_zone, self._last
        if last is None:
            chosen = choose_zone(asked, self._client.time_zone)
            self.notes += chosen.notes
            return str(zone(chosen.name))
        if asked is not None and choose_zone(asked).name != last.time_zone:
            raise PeriodError(f"the local books have days in {last.time_zone}; sync into a new folder for another zone")
        return last.time_zone

    def _require_same_books(self, last: Version) -> None:
        """Refuse a client of another instance or scale than the books; note another address."""
        client = self._client
        if (client.instance_id, client.scale) != (last.instance_id, last.scale):
            hint = f"state scale={last.scale}, or " if client.instance_id == last.instance_id else ""
            raise InputError(
                f"the local books are of instance {last.instance_id} with scale {last.scale}, not of "
                f"{client.instance_id} with scale {client.scale}; {hint}sync into a new folder; nothing was changed"
            )
        if client.base_url != last.base_url:
            self.notes += (f"The service is at {client.base_url} now; it was at {last.base_url}.",)

    def _last_day(self) -> dt.date:
        """Last day that is asked for, or the last day of this month."""
        today = self._at.astimezone(zone(self._time_zone)).date()
        this_month = Period.relative("this-month", as_of=today, time_zone=self._time_zone)
        return self._options.last_day or this_month.end_date

    def _read_all(self) -> None:
        """Load all days for the first time; a load that was interrupted continues if it is still of the same lines."""
        first, end = self._options.first_day, self._last_day()
        path = self._folder.first_load / "lines.parquet"
        self._ledgers = self._load_all(path) if first is None else self._load_since(first, path)
        self._ledgers_are_new = True
        if self._ledgers.empty:
            raise InputError(f"the service has no ledgers with lines until {end} yet; sync when it has some")
        first = first or min(self._discovery.first_day or end, end).replace(day=1)
        self._days = self._period = Period(first, end, self._time_zone)
        self._reaches_back = self._begins_with_the_first_line()
        self._loaded = set(self._ledgers["id"])
        if self._options.last_day is None:
            self._period = self._days.months()[0]
            self._extend_to(lines_within(ds.dataset(path).to_table(["datetime"]), self._days))
        opposing: set[str] = set()
        for month, lines in _by_month(ds.dataset(path), self._period):
            self._copy.add(month, lines)
            self._read_at[month.month] = self._at
            opposing |= _opposing_ids(lines)
        self._add_ledgers(opposing)

    def _load_all(self, path: Path) -> pd.DataFrame:
        """Load the lines of all days into a file, and return the ledgers, which are found meanwhile."""
        return load_whole_books_in_order(
            self._client,
            Period(self._last_day(), self._last_day(), self._time_zone),
            path,
            checkpoint=self._checkpoint("all days", self._time_zone),
            parents=self._options.parents or {},
            progress=self._options.progress,
        )

    def _load_since(self, first: dt.date, path: Path) -> pd.DataFrame:
        """Find the ledgers, load their lines since a day into a file, and return the ledgers."""
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
        """How the ledgers came to be known."""
        return Discovery.stated(self._ledgers) or Discovery(len(self._ledgers), None, self._period)

    def _begins_with_the_first_line(self) -> bool:
        """Whether no ledger has a line before the first day; not known where the service refuses early days."""
        first_day = self._discovery.first_day
        is_first = first_day is None or self._period.start_date <= first_day
        return is_first and self._discovery.accepted.start_date == dt.date.min

    def _read_changes(self, last: Version) -> None:
        """Read the days and months that are due."""
        options, before = self._options, last.period
        first, end = options.first_day or before.start_date, max(self._last_day(), before.end_date)
        self._days = Period(min(first, before.start_date), end, self._time_zone)
        known = end if options.last_day else before.end_date
        self._period = Period(self._days.start_date, known, self._time_zone)
        self._ledgers = self._last_ledgers = self._folder.read_ledgers(last)
        self._loaded = set(self._ledgers["id"])
        self._reaches_back = last.reaches_back
        is_nightly, is_extended = options.months_a_night > 0, self._period.start_date < before.start_date
        if options.parents or is_extended or (is_nightly and not self._reaches_back):
            self._refresh_ledgers()
            self._check_first_line()
        if is_extended:
            self._read(Period(self._period.start_date, before.start_date - _DAY, self._time_zone))
            self._anchor = {}
        if not is_nightly:
            self._read_recent_days(last, ())
        else:
            cash, months = self._cash_ids(), self._period.months()
            survey = survey_lines(self._copy, months, cash)
            others = sorted(set(self._ledgers["id"]) - set(cash))
            closed = [Period(one.start_date, one.end_date, self._time_zone) for one in last.closed]
            readings = plan_reading(survey.without_cash, months, others, closed, last.number)
            self._read_recent_days(last, readings)
            self._read_due_months(last, survey)
            self._read_entries_without_cash(readings)
        self._copy.remove_moved()

    def _cash_ids(self) -> list[str]:
        """Ids of the ledgers that report cash flow."""
        return list(self._ledgers.loc[self._ledgers["report_cash_flow"], "id"])

    def _check_first_line(self) -> None:
        """Note lines before the first day of books that had none; balances are then those of the reports."""
        reached_back, self._reaches_back = self._reaches_back, self._begins_with_the_first_line()
        first, earliest = self._period.start_date, self._discovery.first_day
        if reached_back and not self._reaches_back and earliest is not None:
            day = day_label(first)
            note = (
                f"There are lines before {day} now, the first on {day_label(earliest)}: balances of the books begin "
                f"with those that the service reports for {day}. Sync with start_date={earliest.replace(day=1)} to "
                "read them."
            )
            self.notes += (note,)

    def _read_recent_days(self, last: Version, readings: Iterable[Reading]) -> None:
        """Read all lines since some days before the last sync, also those after the last day of the books.

        Ledgers without lines there, whose entries without cash are read on all days, are read if an entry names them.
        """
        since = min(self._at, last.synced_at).astimezone(zone(self._time_zone)).date()
        first = min(since - dt.timedelta(days=self._options.lookback_days), last.period.end_date + _DAY)
        if first > self._days.end_date:
            return
        if self._period.end_date < self._days.end_date:
            later = Period(self._period.end_date + _DAY, self._days.end_date, self._time_zone)
            self._extend_to(pa.table({"datetime": self._load_report(later).exact().lines["datetime"]}))
        days = Period(max(first, self._days.start_date), self._days.end_date, self._time_zone)
        read_otherwise = {one for reading in readings if reading.of_all_days for one in reading.ledger_ids}
        with_lines = self._copy.read_days(days)["ledger_id"].unique().to_pylist()
        others = set(self._ledgers["id"]) - read_otherwise
        self._read_entries(days, {*self._cash_ids(), *with_lines, *others})
        self._read_at |= {month.month: self._at for month in self._period.months() if days.covers(month)}

    def _read_due_months(self, last: Version, survey: LineSurvey) -> None:
        """Read the months that were read longest ago, and with the first of them a line of each ledger."""
        due = sorted(last.months, key=lambda month: (self._read_at[month], month))[: self._options.months_a_night]
        shown: dict[str, Ledger] = {}
        for month in (one for one in self._period.months() if one.month in due):
            shown |= self._read(month, {} if shown else survey.days_with_a_line(self._ledgers["id"], month))
        if self._reaches_back:
            self._refresh_ledgers(shown=shown)
        self._ledgers_are_new = True

    def _read_entries_without_cash(self, readings: Iterable[Reading]) -> None:
        """Read entries without cash, as planned, and find lines before the first day of books that begin with it."""
        cash, first_line = self._cash_ids(), None
        unread = set(self._ledgers["id"])
        first = self._discovery.accepted.start_date if self._reaches_back else self._days.start_date
        everything = Period(first, self._days.end_date, self._time_zone)
        for ledger_ids, days, of_all_days in readings:
            asked = everything if of_all_days else days
            lines = self._load(dict.fromkeys(ledger_ids, asked), is_cashflow=False).lines
            chosen = pa.array(ledger_ids, pa.string())

            def are_read(table: pa.Table, chosen: pa.Array = chosen) -> pa.ChunkedArray:
                return pc.and_not(pc.is_in(table["ledger_id"], value_set=chosen), touch_cash(table, cash))

            months = self._replace(asked, lines, are_read)
            if {*self._ledgers["id"]} == {*ledger_ids, *cash}:
                self._entries_read |= {month.month for month in months}
            if of_all_days:
                unread -= set(ledger_ids)
                first_line = min(filter(None, [first_line, pc.min(lines["datetime"]).as_py()]), default=None)
        if self._reaches_back and self._period.start_date > self._discovery.accepted.start_date:
            self._find_first_line(unread, first_line)

    def _find_first_line(self, unread: Iterable[str], first_line: dt.datetime | None) -> None:
        """Find lines before the first day: those of some ledgers are read, of others the first one is known."""
        before = Period(self._discovery.accepted.start_date, self._period.start_date - _DAY, self._time_zone)
        instants = [first_line, find_first_line(self._client, unread, before)]
        first = min(filter(None, instants), default=None)
        if first is not None and local_date(first, zone(self._time_zone)) < self._period.start_date:
            self._refresh_ledgers(shown={}, first_line=first)
            self._check_first_line()

    def _load(self, days: Mapping[str, Period], **options: bool) -> LoadedLines:
        """Load the lines of some ledgers."""
        return load_line_table(self._client, days, progress=self._options.progress, **options)

    def _read(self, days: Period, days_of_ledgers: Mapping[str, Period] | None = None) -> dict[str, Ledger]:
        """Read all ledgers in some days again, each on more days where given; return the fields that lines show."""
        asked = dict.fromkeys(self._ledgers["id"], days) | {**(days_of_ledgers or {})}
        lines, shown = self._load(asked, with_ledgers=bool(days_of_ledgers))
        self._replace(days, lines)
        self._read_at |= {month.month: self._at for month in self._period.months() if days.covers(month)}
        return shown

    def _replace(self, days: Period, lines: pa.Table, chosen: Choice | None = None) -> list[Period]:
        """Replace lines of some days, add ledgers that they name, and return the months that the books have of them."""
        self._extend_to(lines)
        first, last = max(days.start_date, self._period.start_date), min(days.end_date, self._period.end_date)
        months = Period(first, last, self._time_zone).months() if first <= last else []
        for month in months:
            self._copy.replace(month, lines, chosen)
        self._add_ledgers(_opposing_ids(lines))
        return months

    def _read_entries(self, days: Period, ledger_ids: Iterable[str]) -> None:
        """Read some ledgers in some days again, then those that entries with changed lines name, until none is new."""
        before, due, read, entry_ids = self._copy.read_days(days), {*ledger_ids}, set[str](), set[str]()
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
            tables = [one.filter(pc.is_in(one["journal_entry_id"], value_set=entries)) for one in (before, lines)]
            read |= due
            named = {one for table in tables for one in (*table["ledger_id"].to_pylist(), *_opposing_ids(table))}
            due = (named & {*self._ledgers["id"]}) - read

    def _extend_to(self, lines: pa.Table) -> None:
        """Extend the days of the books to the month of the latest of some lines, where no last day was given."""
        latest = pc.max(lines["datetime"]).as_py()
        if latest is not None and self._options.last_day is None:
            day = local_date(latest, zone(self._time_zone))
            for month in self._days.months():
                if self._period.end_date < day and month.start_date <= day:
                    self._period = Period(self._days.start_date, month.end_date, self._time_zone)
        for month in self._period.months():
            self._read_at.setdefault(month.month, self._at)

    def _refresh_ledgers(
        self,
        new_ids: Iterable[str] = (),
        shown: Mapping[str, Ledger] | None = None,
        first_line: dt.datetime | None = None,
    ) -> None:
        """Read the ledgers again, or take what lines have shown of them, and load all lines of those that are new."""
        self._ledgers = refresh_ledgers(
            self._client,
            self._ledgers,
            self._period,
            new_ids=new_ids,
            parents=self._options.parents,
            since_first_line=self._last is not None,
            shown=shown,
            first_line=first_line,
        )
        self._ledgers_are_new = self._ledgers_are_new or shown is None
        self._add_ledgers()

    def _add_ledgers(self, named: Iterable[str] = ()) -> None:
        """Discover ledgers that are named and not known, and load all lines of new ones, until no line names others."""
        unknown = sorted({*named} - {*self._ledgers["id"]})
        if unknown:
            self._refresh_ledgers(unknown, shown={})
        new = sorted({*self._ledgers["id"]} - self._loaded)
        if new:
            lines = self._load(dict.fromkeys(new, self._days)).lines
            self._extend_to(lines)
            self._copy.add(self._period, lines)
            self._loaded.update(new)
            self._add_ledgers(_opposing_ids(lines))

    def _compare_months(self) -> None:
        """Compare every month with the service's report; read again what differs.

        A ledger that is found later, or a line that moved, changes months that were compared before: these are compared
        again.
        """
        starting: dict[int, Balances | None] = {self._period.start_date.toordinal(): None}
        due = self._period.months()
        for _ in range(_MOST_COMPARISONS):
            with progress_bar(self._options.progress, iterable=due, desc="months", unit=" months") as each:
                for month in each:
                    balances = self._compare(month, starting[month.start_date.toordinal()])
                    starting[month.end_date.toordinal() + 1] = balances
            self._copy.remove_moved()
            months = self._period.months()
            due = [one for one in months if self._copy.files[one.month] != self._compared.get(one.month)]
            if not due:
                return
        for name in [month.month for month in due]:
            self._months[name] = MonthRecord(self._read_at[name], complete=False, problem=_UNSTABLE)

    def _compare(self, month: Period, starting: Balances | None) -> Balances:
        """Compare a month; if it differs, read the entries in question again, then all days, then the ledgers.

        Returns the balances at its end.
        """
        name, is_first = month.month, month.start_date == self._period.start_date
        record = self._record_if_same(month, starting)
        response = load_report_if_changed(self._client, month, record.report)
        if response is None:
            self._months[name] = msgspec.structs.replace(record, read_at=self._read_at[name])
            self._compared[name] = self._copy.files[name]
            return record.ending
        reported, digest = response
        self._take_ledgers(reported)
        if is_first and not self._reaches_back:
            self._take_anchor(reported)
            starting = self._anchor

        def compare() -> ComparedMonth:
            is_complete = self._known_complete.get(name) == self._copy.files[name]
            lines, scale = self._copy.read(name), self._client.scale
            return compare_month(reported, lines, self._ledgers, starting, scale=scale, is_complete=is_complete)

        compared = compare()
        if compared.problem:
            self._read_differing(month, compared)
            compared = compare()
        if compared.problem:
            self._read(month)
            reported, digest = self._load_report(month), ""
            compared = compare()
        if compared.difference and not self._ledgers_are_new:
            self._refresh_ledgers()
            compared = compare()
        problem = compared.problem
        if compared.difference and is_first and self._reaches_back:
            problem += f"; where lines before {day_label(month.start_date)} are new, sync with an earlier start_date"
        ending = compared.ending_balances
        self._months[name] = MonthRecord(self._read_at[name], not compared.incompleteness, problem, digest, ending)
        self._compared[name] = self._copy.files[name]
        return ending

    def _record_if_same(self, month: Period, starting: Balances | None) -> MonthRecord:
        """Return the record of a month that agreed, if lines, ledgers and balances before are those of that time.

        Otherwise it is one of no report. The file is checked, although its lines are not read.
        """
        last, name, other = self._last, month.month, MonthRecord(self._at, complete=False)
        if last is None or month not in last.period.months() or self._copy.files[name] != last.files[name]:
            return other
        self._folder.path(last.files[name])
        record = last.months[name]
        earlier = last.months.get((month.start_date - _DAY).strftime("%Y-%m"))
        if earlier is None:  # the balances at the start of the books are those of the report, or none
            is_first = month.start_date == self._period.start_date
            same_start = is_first and self._reaches_back == last.reaches_back
        else:
            same_start = starting == earlier.ending
        return record if record.ties and same_start and self._ledgers.equals(self._last_ledgers) else other

    def _read_differing(self, month: Period, compared: ComparedMonth) -> None:
        """Read the cash ledgers and those of differing entries again, on the days that differ or in the whole month."""
        cash, places = {*self._cash_ids()}, compared.places
        ranges = days_to_read(places, cash, self._copy.read(month.month), self._time_zone)
        for days in ranges:
            named = {ledger for day, ledger in places if days.start_date <= day <= days.end_date}
            self._read_entries(days, cash | (named & {*self._ledgers["id"]}))
        if not ranges:
            self._read_entries(month, cash | (compared.ledger_ids & {*self._ledgers["id"]}))

    def _take_anchor(self, reported: CashFlowReport) -> None:
        """Keep the balances that the service reports at the start of books that do not reach back."""
        balances = reported.exact().starting_balances
        found = dict(zip(balances["ledger_id"], balances["cash_balance"], strict=True))
        if self._anchor and found != self._anchor:
            first = day_label(self._period.start_date)
            self.notes += (f"The cash balances before {first} have changed: lines before the first day of the books.",)
        self._anchor = found

    def _load_report(self, days: Period) -> CashFlowReport:
        """Load the report of some days, and take what it shows of ledgers."""
        reported = load_cash_flow_report(self._client, days.start_date, days.end_date, time_zone=self._time_zone)
        self._take_ledgers(reported)
        return reported

    def _take_ledgers(self, reported: CashFlowReport) -> None:
        """Add the ledgers that a report names, and take what it shows of them."""
        exact = reported.exact()
        tables = (exact.ledgers, exact.starting_balances, exact.ending_balances)
        self._add_ledgers(ledger_id for table in tables for ledger_id in table["ledger_id"])
        shown = _with_reported_fields(self._ledgers, reported)
        if not shown.equals(self._ledgers):
            self._ledgers = shown
            self._refresh_ledgers()
            self._ledgers = _with_reported_fields(self._ledgers, reported)

    def _write(self) -> Version:
        """Write a version: first the ledgers, then the record of all files."""
        last = self._last
        version = Version(
            number=0 if last is None else last.number + 1,
            action="sync",
            written_at=self._at,
            synced_at=self._at,
            base_url=self._client.base_url,
            instance_id=self._client.instance_id,
            start_date=self._period.start_date,
            end_date=self._period.end_date,
            time_zone=self._time_zone,
            scale=self._client.scale,
            reaches_back=self._reaches_back,
            anchor=self._anchor,
            months=self._months,
            files=self._copy.files,
            ledgers=self._folder.save_ledgers(self._ledgers),
            closed=() if last is None else last.closed,
        )
        if last is not None:
            self.changes = compare_versions(self._folder, last, version)
            version = msgspec.structs.replace(version, changes=_count_lines(self.changes))
            whole = {name for name, one in self._months.items() if one.read_at == self._at}
            self.unread_months = tuple(sorted(self._months.keys() - whole))
            self.unread_entries = tuple(one for one in self.unread_months if one not in self._entries_read)
        self._folder.commit(version)
        return version


def _by_month(lines: ds.Dataset, period: Period) -> Iterator[tuple[Period, pa.Table]]:
    """Lines of each month of a period; one month is in memory at a time, because the file is ordered by days."""
    day = ds.field("local_date")
    for month in period.months():
        first, last = (dt.datetime.combine(one, dt.time.min) for one in (month.start_date, month.end_date))
        of_month = lines.to_table(filter=(day >= first) & (day <= last), use_threads=False)
        yield month, of_month.drop_columns("local_date")
        pa.default_memory_pool().release_unused()


def _count_lines(changes: Drift) -> LineChanges:
    """Count the lines of each kind of change."""
    lines = changes.line_counts
    changed = lines["recategorized"] + lines["amended"]
    return LineChanges(lines["added"], lines["removed"], changed, tuple(changes.months))


def _with_reported_fields(ledgers: pd.DataFrame, reported: CashFlowReport) -> pd.DataFrame:
    """Take the names of a report, and the sort codes of its balances: those of ledgers without lines are only there.

    A ledger with balances reports cash flow, where no line shows whether it does.
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
    return {one for text in texts for one in text.split(LIST_SEPARATOR) if one}
