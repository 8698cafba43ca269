"""The sync of local books: each month is compared with its report.

If a month differs, the cash ledgers and the ledgers of the entries in question are read again on the differing days,
and if it still differs, the whole month. Lines that a report cannot show are read again month by month, in turn.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import msgspec
import pyarrow.compute as pc

from accounting_analytics.core.errors import InputError, PeriodError
from accounting_analytics.core.periods import DAY, choose_zone, day_label, zone
from accounting_analytics.core.progress import progress_bar
from accounting_analytics.loading.cash_flow_reports import load_report_if_changed
from accounting_analytics.local_books.lines_during_sync import SyncedLines
from accounting_analytics.local_books.month_against_report import compare_month
from accounting_analytics.local_books.reading_plan import days_to_read
from accounting_analytics.local_books.version_changes import compare_versions
from accounting_analytics.local_books.versions import LineChanges, MonthRecord, Version

if TYPE_CHECKING:
    from decimal import Decimal

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.core.periods import Period
    from accounting_analytics.local_books.lines_during_sync import SyncOptions
    from accounting_analytics.local_books.month_against_report import Balances, ComparedMonth
    from accounting_analytics.local_books.storage import BooksFolder
    from accounting_analytics.local_books.version_changes import Drift
    from accounting_analytics.local_books.versions import StoredFile
    from accounting_analytics.reports.figures.cash_flow_report import CashFlowReport

_MOST_COMPARISONS = 3
_UNSTABLE = "lines changed at the service while the months were compared; sync again"


class BooksSync:
    """One sync: the ledgers and months that are read, and the record of each month.

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
        self._lines = SyncedLines(folder, client, options, last, at=self._at, time_zone=self._time_zone)
        self._months: dict[str, MonthRecord] = {}
        before = {} if last is None else last.months
        self._known_complete = {
            name: self._lines.copy.files[name] for name, record in before.items() if record.complete
        }
        self._compared: dict[str, StoredFile] = {}
        self._anchor: dict[str, Decimal] = {} if last is None else last.anchor

    def run(self) -> Version:
        """Read possible changes, compare all months, and write a version."""
        if self._last is None:
            self._lines.read_all()
        else:
            self._require_same_books(self._last)
            self._lines.read_changes(self._last)
        self.notes += self._lines.notes
        if self._lines.is_extended:
            self._anchor = {}
        self._compare_months()
        self._lines.note_first_line(self._first_line())
        return self._write()

    def _first_line(self) -> dt.datetime | None:
        files = self._lines.copy.files
        first = min((name for name, file in files.items() if file.rows), default="")
        instant: dt.datetime | None = pc.min(self._lines.copy.read(first, ["datetime"])["datetime"]).as_py()
        return instant

    def _choose_zone(self) -> str:
        """Choose the time zone at the first sync. In later syncs, refuse another zone."""
        asked, last = self._options.time_zone, self._last
        if last is None:
            chosen = choose_zone(asked, self._client.time_zone)
            self.notes += chosen.notes
            return str(zone(chosen.name))
        if asked is not None and choose_zone(asked).name != last.time_zone:
            raise PeriodError(f"the local books have days in {last.time_zone}; sync into a new folder for another zone")
        return last.time_zone

    def _require_same_books(self, last: Version) -> None:
        """Refuse a client of another instance or scale. Write a note if the address is another."""
        client = self._client
        if (client.instance_id, client.scale) != (last.instance_id, last.scale):
            hint = f"state scale={last.scale}, or " if client.instance_id == last.instance_id else ""
            raise InputError(
                f"the local books are of instance {last.instance_id} with scale {last.scale}, not of "
                f"{client.instance_id} with scale {client.scale}; {hint}sync into a new folder; nothing was changed"
            )
        if client.base_url != last.base_url:
            self.notes += (f"The service is at {client.base_url} now; it was at {last.base_url}.",)

    def _compare_months(self) -> None:
        """Compare every month with the service's report, and read differing months again.

        A ledger that is found later, or a line that moved, may change months that were compared before. Such months are
        compared again.
        """
        starting: dict[int, Balances | None] = {self._lines.period.start_date.toordinal(): None}
        due = self._lines.period.months()
        for _ in range(_MOST_COMPARISONS):
            with progress_bar(self._options.progress, iterable=due, desc="months", unit=" months") as each:
                for month in each:
                    balances = self._compare(month, starting[month.start_date.toordinal()])
                    starting[month.end_date.toordinal() + 1] = balances
            self._lines.copy.remove_moved()
            months = self._lines.period.months()
            due = [month for month in months if self._lines.copy.files[month.month] != self._compared.get(month.month)]
            if not due:
                return
        for name in [month.month for month in due]:
            self._months[name] = MonthRecord(self._lines.read_at[name], complete=False, problem=_UNSTABLE)

    def _compare(self, month: Period, starting: Balances | None) -> Balances:
        """Compare a month, and return the balances at its end.

        If the month differs, the entries in question are read again, then all days, then the ledgers.
        """
        name, is_first = month.month, month.start_date == self._lines.period.start_date
        record = self._record_if_same(month, starting)
        response = load_report_if_changed(self._client, month, record.report)
        if response is None:
            self._months[name] = msgspec.structs.replace(record, read_at=self._lines.read_at[name])
            self._compared[name] = self._lines.copy.files[name]
            return record.ending
        reported, digest = response
        self._lines.take_ledgers(reported)
        if is_first and not self._lines.reaches_back:
            self._take_anchor(reported)
            starting = self._anchor

        def compare() -> ComparedMonth:
            is_complete = self._known_complete.get(name) == self._lines.copy.files[name]
            lines, scale = self._lines.copy.read(name), self._client.scale
            return compare_month(reported, lines, self._lines.ledgers, starting, scale=scale, is_complete=is_complete)

        compared = compare()
        if compared.problem:
            self._read_differing(month, compared)
            compared = compare()
        if compared.problem:
            self._lines.read(month)
            reported, digest = self._lines.load_report(month), ""
            compared = compare()
        if compared.difference and not self._lines.ledgers_are_new:
            self._lines.refresh()
            compared = compare()
        problem = compared.problem
        if compared.difference and is_first and self._lines.reaches_back:
            problem += f"; where lines before {day_label(month.start_date)} are new, sync with an earlier start_date"
        read_at, ending = self._lines.read_at[name], compared.ending_balances
        self._months[name] = MonthRecord(read_at, not compared.incompleteness, problem, digest, ending)
        self._compared[name] = self._lines.copy.files[name]
        return ending

    def _record_if_same(self, month: Period, starting: Balances | None) -> MonthRecord:
        """Return the record of a month that agreed, if nothing changed since.

        Lines, ledgers and starting balances must be the same, else a record without a report is returned. The file is
        checked, although its lines are not read.
        """
        last, name, other = self._last, month.month, MonthRecord(self._at, complete=False)
        if last is None or month not in last.period.months() or self._lines.copy.files[name] != last.files[name]:
            return other
        self._folder.path(last.files[name])
        record = last.months[name]
        earlier = last.months.get((month.start_date - DAY).strftime("%Y-%m"))
        if earlier is None:  # at the start of the books, the report states the balances, or there are none
            is_first = month.start_date == self._lines.period.start_date
            same_start = is_first and self._lines.reaches_back == last.reaches_back
        else:
            same_start = starting == earlier.ending
        same_ledgers = self._lines.ledgers.equals(self._lines.ledgers_before)
        return record if record.ties and same_start and same_ledgers else other

    def _read_differing(self, month: Period, compared: ComparedMonth) -> None:
        """Read cash ledgers and differing entries again, on the differing days."""
        cash, places = {*self._lines.cash_ids()}, compared.places
        ranges = days_to_read(places, cash, self._lines.copy.read(month.month), self._time_zone)
        for days in ranges:
            named = {ledger for day, ledger in places if days.start_date <= day <= days.end_date}
            self._lines.read_entries(days, cash | (named & {*self._lines.ledgers["id"]}))
        if not ranges:
            self._lines.read_entries(month, cash | (compared.ledger_ids & {*self._lines.ledgers["id"]}))

    def _take_anchor(self, reported: CashFlowReport) -> None:
        """Keep the starting balances that the service reports.

        The balances come from lines before the first day of the books.
        """
        balances = reported.exact().starting_balances
        found = dict(zip(balances["ledger_id"], balances["cash_balance"], strict=True))
        if self._anchor and found != self._anchor:
            first = day_label(self._lines.period.start_date)
            self.notes += (f"The cash balances before {first} have changed: lines before the first day of the books.",)
        self._anchor = found

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
            start_date=self._lines.period.start_date,
            end_date=self._lines.period.end_date,
            time_zone=self._time_zone,
            scale=self._client.scale,
            reaches_back=self._lines.reaches_back,
            anchor=self._anchor,
            months=self._months,
            files=self._lines.copy.files,
            ledgers=self._folder.save_ledgers(self._lines.ledgers),
            closed=() if last is None else last.closed,
        )
        if last is not None:
            self.changes = compare_versions(self._folder, last, version)
            version = msgspec.structs.replace(version, changes=_count_lines(self.changes))
            whole = {name for name, record in self._months.items() if record.read_at == self._at}
            self.unread_months = tuple(sorted(self._months.keys() - whole))
            self.unread_entries = tuple(month for month in self.unread_months if month not in self._lines.entries_read)
        self._folder.commit(version)
        return version


def _count_lines(changes: Drift) -> LineChanges:
    lines = changes.line_counts
    changed = lines["recategorized"] + lines["amended"]
    return LineChanges(lines["added"], lines["removed"], changed, tuple(changes.months))
