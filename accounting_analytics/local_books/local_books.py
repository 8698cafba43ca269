"""`LocalBooks`: all versions of a service's line entries and ledgers in a folder."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast

import msgspec
import pandas as pd

from accounting_analytics import client as service_client
from accounting_analytics.client import LedgerClient
from accounting_analytics.client.settings import load_settings
from accounting_analytics.core.arguments import require_type, to_path
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import Period, day_label, days_label, parse_date, period_label
from accounting_analytics.core.results import Result, ResultPart
from accounting_analytics.local_books.lines_during_sync import SyncOptions
from accounting_analytics.local_books.sync import BooksSync
from accounting_analytics.local_books.sync_result import SyncResult
from accounting_analytics.local_books.version_changes import changes_of_closed_periods, compare_versions
from accounting_analytics.local_books.version_reader import VersionReader
from accounting_analytics.local_books.versions import ClosedPeriod, LineChanges, find_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.local_books.version_changes import Drift
    from accounting_analytics.local_books.versions import Version, When

_HISTORY = [
    "version", "at", "action", "lines", "added", "removed", "changed", "months_changed", "months_compared", "ties",
    "complete", "kept", "verdict",
]  # fmt: skip
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""Start of the address of an object store, also as a path: ``s3:/``. A drive such as ``C:/`` has only one letter."""


@dataclass(frozen=True, repr=False)
class LocalBooks(VersionReader, Result):
    """Local books: the content of a service at the last sync, and at every sync before.

    Functions that load from a client, and those that take line entries, take books as well.

    Parameters
    ----------
    folder : Path
        Where they are.
    """

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open the local books of a folder; a new or empty folder has none until the first :meth:`sync`.

        Raises
        ------
        BooksError
            A file is damaged, or was written by another program.
        InputError
            It is not a folder of a file system, or the package ``deltalake`` is not installed.
        """
        path = to_path(folder, "folder")
        if _ADDRESS.match(str(path)):
            raise InputError(
                f"{quote(str(folder))} is an address, and local books are in a folder of a file system: pass the path "
                "that it is mounted at, or copy the books to a disk"
            )
        if path.exists() and not path.is_dir():
            raise InputError(f"{path} is a file; local books are in a folder")
        books = cls(path)
        books._storage.versions()
        return books

    def sync(
        self,
        client: LedgerClient,
        *,
        start_date: DateLike | None = None,
        end_date: DateLike | None = None,
        time_zone: ZoneLike | None = None,
        lookback_days: int = 10,
        months_a_night: int = 1,
        parents: Mapping[str, str | None] | None = None,
        progress: bool | None = None,
    ) -> SyncResult:
        """Bring the books up to date with the service, and compare every month with its cash flow report.

        The first sync loads everything, and continues where an interrupted one ended, if the ledgers and days are still
        the same. A later sync reads the recent days again, and compares each month with the service's own report. Where
        a month differs, it reads again the cash ledgers and the ledgers of the entries in question on the differing
        days, and if that is not enough, the whole month. Entries without cash, which no report shows, are read again in
        all months where that takes at most 100 requests, one for each ledger that is not cash and one more for each
        1,000 lines. If it takes more, the entries of closed months are read, or the entries of some ledgers, which take
        turns, and the result names the months that are left. Texts and tags are read again month by month, in turn. The
        sync writes one version; until then readers see the version before.

        Parameters
        ----------
        client : LedgerClient
            The service.
        start_date, end_date : date-like, optional
            First and last day of the books, both inclusive; by default the first of the month of the earliest line, and
            the last of the month of the latest line, or of this month if that is earlier. Books are only ever extended.
        time_zone : str or ZoneInfo, optional
            Zone that days are counted in, at the first sync; by default the client's, else UTC.
        lookback_days : int
            Days before the last sync that are read again.
        months_a_night : int
            Months that are read again whole, those that were read longest ago first, together with the entries without
            cash and what shows whether a line is before the first day; 0 reads only what the reports show to be
            different.
        parents : mapping, optional
            Ledger id to parent id (None for a root), where the service does not show parents.
        progress : bool, optional
            Show progress bars; None shows them in a terminal or an interactive notebook.

        Returns
        -------
        SyncResult
            Comparisons and changes; ``ties`` is true if every month agrees with its report.

        Raises
        ------
        ServiceError
            The service failed; the books are as before, and calling again is safe.
        InputError
            The books are of another service, instance, zone or scale, or another program is writing to them.
        BooksError
            A file of the books is damaged.
        """
        require_type(client, LedgerClient, "client", "connect() returns one, and demo().client is one")
        self._require_newest()
        for name, value in (("lookback_days", lookback_days), ("months_a_night", months_a_night)):
            if not isinstance(value, int) or value < 0:
                raise InputError(f"{name} is {quote(value)}; it must be a whole number, 0 or more")
        options = SyncOptions(
            None if start_date is None else parse_date(start_date, "start_date"),
            None if end_date is None else parse_date(end_date, "end_date", last=True),
            time_zone,
            lookback_days,
            months_a_night,
            parents,
            progress,
        )
        storage, sent_before = self._storage, client.quota.sent
        with storage.locked():
            versions = storage.versions()
            work = BooksSync(storage, client, options, versions[-1] if versions else None)
            version = work.run()
            shutil.rmtree(storage.first_load, ignore_errors=True)
            storage.remove_unused([*versions, version])  # files that interrupted syncs left
        self._read(version)
        months = version.month_table()
        months.insert(list(months.columns).index("complete") + 1, "read_again", months["read_at"] == version.written_at)
        return SyncResult(
            version.number,
            months,
            changes=work.changes,
            alarms=self.alarms(),
            verdict=version.summary(),
            requests=client.quota.sent - sent_before,
            unread_months=work.unread_months,
            unread_entries=work.unread_entries,
            notes=work.notes,
        )

    def as_of(self, when: When) -> LocalBooks:
        """Return the books of a version, or of the newest version at an instant or at the end of a local day.

        Raises
        ------
        InputError
            There was no version then, or its files are no longer kept.
        """
        return replace(self, _chosen=self._find(when))

    def _find(self, when: When) -> Version:
        """Find a version whose files are kept."""
        versions = self._storage.versions()
        if not versions:
            raise InputError(f"{self.folder} has no local books yet: sync first")
        found = find_version(versions, when)
        if not self._storage.has_files(found):
            raise InputError(f"{found.label} is no longer kept; LocalBooks.history() lists those that are")
        return found

    def drift(self, before: When, after: When | None = None, *, period: Period | None = None) -> Drift:
        """Return the lines that changed between two versions.

        Parameters
        ----------
        before : int, str, date or datetime
            A version or a time, as for :meth:`as_of`.
        after : int, str, date or datetime, optional
            Another one; by default this version.
        period : Period, optional
            Only lines of these days.

        Returns
        -------
        Drift
            Added, removed, recategorized and amended lines by month and ledger, each amount a figure with its lines.

        Raises
        ------
        InputError
            There was no version then, its files are no longer kept, or a time is that of the other version itself.
        """
        days = None if period is None else self._require_days(period)
        first, last = self._find(before), self._version if after is None else self._find(after)
        if first.number == last.number and before != after and not str(before).isdigit():
            earlier = f", such as {first.number - 1}" if first.number else "; there is none"
            raise InputError(
                f"the newest version of {before} is {first.number}, which would be compared with itself: name a "
                f"version before it{earlier}"
            )
        return compare_versions(self._storage, first, last, days)

    def close(self, period: Period) -> Self:
        """Close some days: later changes of their lines raise an alarm in every sync until they are closed again.

        Returns
        -------
        LocalBooks
            The books with the new version.
        """
        self._require_newest()
        days = self._require_days(period)
        with self._storage.locked():
            last, at = self._storage.versions()[-1], dt.datetime.now(dt.UTC)
            closed = {
                (closed_period.start_date, closed_period.end_date): closed_period for closed_period in last.closed
            }
            closed[days.start_date, days.end_date] = ClosedPeriod(days.start_date, days.end_date, at, last.number + 1)
            version = msgspec.structs.replace(
                last,
                number=last.number + 1,
                action="close",
                written_at=at,
                changes=LineChanges(),
                closed=tuple(closed_period for _, closed_period in sorted(closed.items())),
            )
            self._storage.commit(version)
        self._read(version)
        return self

    def closed(self) -> pd.DataFrame:
        """Return the closed periods with the number of lines changed since.

        The columns are ``start_date, end_date, closed_at, version, changed_lines``.
        """
        rows = [
            (*msgspec.structs.astuple(closed_period), sum(drift.line_counts.values()))
            for closed_period, drift in changes_of_closed_periods(self._storage, self._version)
        ]
        frame = pd.DataFrame(rows, columns=["start_date", "end_date", "closed_at", "version", "changed_lines"])
        days = dict.fromkeys(("start_date", "end_date"), "datetime64[us]")
        return frame.astype(days | {"closed_at": "datetime64[us, UTC]"})

    def alarms(self) -> tuple[str, ...]:
        """Return a sentence for each closed period that has changed since."""
        return tuple(
            f"{days_label(Period(closed_period.start_date, closed_period.end_date))} changed since it was closed on "
            f"{day_label(closed_period.closed_at)}. {drift.summary()}"
            for closed_period, drift in changes_of_closed_periods(self._storage, self._version)
            if len(drift.frame)
        )

    def history(self) -> pd.DataFrame:
        """Return the versions, newest first: time, action, changes, comparison, and whether they are kept."""
        rows = [
            {
                "version": version.number,
                "at": version.written_at,
                "action": version.action,
                "lines": version.lines,
                "added": version.changes.added,
                "removed": version.changes.removed,
                "changed": version.changes.changed,
                "months_changed": len(version.changes.months),
                "months_compared": len(version.months) if version.synced_at == version.written_at else 0,
                "ties": version.ties,
                "complete": version.complete,
                "kept": self._storage.has_files(version),
                "verdict": version.summary(),
            }
            for version in reversed(self._storage.versions())
        ]
        return pd.DataFrame(rows, columns=_HISTORY).astype({"at": "datetime64[us, UTC]"})

    def compact(self, keep_days: int = 90) -> int:
        """Delete the files of old versions, and return their number.

        All versions of the last `keep_days` are kept, the newest of every calendar month, and the versions of closed
        periods.
        """
        self._require_newest()
        if not isinstance(keep_days, int) or keep_days < 1:
            raise InputError(f"keep_days is {quote(keep_days)}; it must be a whole number, 1 or more")
        with self._storage.locked():
            versions = self._storage.versions()
            since = dt.datetime.now(dt.UTC) - dt.timedelta(days=keep_days)
            newest_of_month = {f"{version.written_at:%Y-%m}": version for version in versions}
            closed = {closed_period.version for closed_period in versions[-1].closed} if versions else set()
            kept = [version for version in versions if version.written_at >= since or version.number in closed]
            return self._storage.remove_unused([*kept, *newest_of_month.values()])

    def _require_newest(self) -> None:
        if self._chosen is not None:
            raise InputError(f"these are the books as of version {self.version}; open {self.folder} to change them")

    @property
    def frame(self) -> pd.DataFrame:
        """The versions, newest first."""
        return self.history()

    def summary(self) -> str:
        """Write one line of text: days, version, and proof of the last sync."""
        if self._current is None:
            return f"Local books in {self.folder}: none yet, sync first."
        version = self._version
        return (
            f"Local books in {self.folder}: {version.lines:,} lines of {period_label(self.period)}, {version.label}; "
            f"{version.summary()}."
        )

    def _parts(self) -> Iterator[ResultPart]:
        if self._current is not None:
            yield ResultPart([], self._current.month_table(), max_rows=None)

    def _content(self) -> dict[str, Any]:
        version = self._current
        if version is None:
            return {"folder": str(self.folder), "version": None}
        stated: dict[str, Any] = msgspec.to_builtins(version, builtin_types=(dt.datetime, dt.date))
        shown = {name: value for name, value in stated.items() if name not in {"number", "files", "ledgers", "format"}}
        return {"folder": str(self.folder), "version": version.number, **shown, "months": version.month_table()}


def connect(profile: str | None = None, **options: Any) -> LedgerClient:  # noqa: ANN401 (LedgerClient's own)
    """Connect to the configured service, or to local books.

    Without `options` the setting ``books`` (``ACCOUNTING_ANALYTICS_BOOKS``) names a folder of local books where no
    service is configured, or one is only in a profile while the environment names the books. They are returned instead
    of a client, and functions that load take both.

    Parameters
    ----------
    profile : str, optional
        Name of a profile in the configuration file.
    **options
        Settings by name (``base_url``, ``token``, ``token_file``, ``token_url``, ``client_id``, ``client_secret``,
        ``client_secret_file``, ``instance_id``, ``instance_header``, ``time_zone``, ``requests_per_minute``,
        ``scale``, ``company``, ``currency``, ``fiscal_year_start_month``), which override everything else, and any
        further option of :class:`~accounting_analytics.LedgerClient`.

    Raises
    ------
    ConfigurationError
        A required setting is missing; the message says what to set.
    InputError
        The folder of the setting has no local books yet.
    PeriodError
        The configured time zone is unknown.
    """
    if not options and (settings := load_settings(profile)).names_books():
        books = replace(open_synced(str(settings["books"])), **settings.presentation()._asdict())
        return cast("LedgerClient", books)  # functions take a client or local books
    return service_client.connect(profile, **options)


def open_synced(folder: str | Path) -> LocalBooks:
    """Open the books of a folder. Refuse a folder without a version."""
    books = LocalBooks.open(folder)
    if books.version is None:
        raise InputError(
            f"{folder} has no local books yet; this writes them: accounting-analytics sync --books {folder}"
        )
    return books
