"""`Books`: line entries and ledgers of a service in a folder, every version of them, compared with its reports."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from accounting_analytics.arguments import require_type, to_path
from accounting_analytics.books.reading import VersionReader
from accounting_analytics.books.sync import BooksSync
from accounting_analytics.books.sync_result import SyncOptions, SyncResult, month_table
from accounting_analytics.books.synced_version import changed_lines, close_days, find_alarms, list_closed, write_version
from accounting_analytics.books.versions import changed_months, compare_versions, find_version, list_versions
from accounting_analytics.client import LedgerClient
from accounting_analytics.errors import InputError
from accounting_analytics.messages import quote
from accounting_analytics.results import Result, ResultPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.books.drift import Drift
    from accounting_analytics.books.storage import Version
    from accounting_analytics.books.versions import When
    from accounting_analytics.periods import DateLike, Period, ZoneLike

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""What an address of an object store begins with, also as a path: ``s3:/``; a drive has one letter."""


@dataclass(frozen=True, repr=False)
class Books(VersionReader, Result):
    """Local books: what a service held at the last sync, and at every sync before.

    Functions that load from a client, and those that take line entries, take books as well.

    Parameters
    ----------
    folder : Path
        Where they are.
    """

    folder: Path
    _fixed: Version | None = None

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open the local books of a folder; one that is new or empty has none until the first :meth:`sync`.

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

    @cached_property
    def _current(self) -> Version | None:
        """The version that is read: the newest one when it was first needed, or the one that was chosen."""
        versions = [] if self._fixed else self._storage.versions()
        return self._fixed or (versions[-1] if versions else None)

    def _read(self, version: Version) -> None:
        """Read another version from now on."""
        self.__dict__["_current"] = version
        self.__dict__.pop("_queries", None)

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

        The first sync loads everything, and continues where an interrupted one ended. A later one reads the ledgers and
        the recent days again, compares each month with the service's own report, and reads again what differs. Entries
        without cash, which no report shows, are read again in all months where that takes at most 100 requests, one for
        each ledger that is not cash and one more for each 1,000 lines. Where it takes more, those of closed months are
        read, or those of some of the ledgers, which take turns, and the result names the months that are left. Texts
        and tags are read again by rota. One version is written; until then readers see the one before.

        Parameters
        ----------
        client : LedgerClient
            The service.
        start_date, end_date : date-like, optional
            First and last day of the books, both inclusive; by default the first of the month of the earliest line, and
            the last day of this month. Books are only ever extended.
        time_zone : str or ZoneInfo, optional
            Zone that days are counted in, at the first sync; by default the client's, else UTC. ``localtime`` is
            refused.
        lookback_days : int
            Days before the last sync that are read again.
        months_a_night : int
            Months that are read again whole, those that were read longest ago first, together with the first line of
            each ledger, which shows whether one is before the first day, and the entries without cash; 0 reads only
            what the reports show to be different.
        parents : mapping, optional
            Ledger id to parent id (None for a root), where the service does not show parents.
        progress : bool, optional
            Show progress bars; None shows them in a terminal or an interactive notebook.

        Returns
        -------
        SyncResult
            What was compared, and what changed; ``ties`` is whether every month agrees with its report.

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
        if self._fixed is not None:
            raise InputError(f"these are the books as of version {self.version}; sync Books.open({str(self.folder)!r})")
        for name, value in (("lookback_days", lookback_days), ("months_a_night", months_a_night)):
            if not isinstance(value, int) or value < 0:
                raise InputError(f"{name} is {quote(value)}; it must be a whole number, 0 or more")
        options = SyncOptions(start_date, end_date, time_zone, lookback_days, months_a_night, parents, progress)
        storage, sent_before = self._storage, client.quota.sent
        with storage.locked():
            versions = storage.versions()
            last = versions[-1] if versions else None
            work = BooksSync(storage, client, options, last)
            work.read_changes()
            work.compare_months()
            changes = None if last is None else changed_lines(storage, work, last)
            version = write_version(storage, work, last, changes)
            shutil.rmtree(storage.first_load, ignore_errors=True)
            storage.lines.remove_unused(one.commit for one in (*versions, version))  # those of interrupted syncs
        self._read(version)
        return SyncResult.of(
            version,
            read_again=frozenset(work.read_again),
            unread_months=work.unread_months(),
            changes=changes,
            alarms=self.alarms(),
            notes=work.notes,
            requests=client.quota.sent - sent_before,
        )

    def as_of(self, when: When) -> Books:
        """Return the books as they were: at a version, or the newest one at an instant or at the end of a local day.

        Raises
        ------
        InputError
            There was no version then, or its files are no longer kept.
        """
        return Books(self.folder, find_version(self._storage, when))

    def changed_months(self, since: int) -> list[str]:
        """Return the months whose lines are not those of an earlier version."""
        return changed_months(find_version(self._storage, since), self._version)

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
        """
        old, new = (
            find_version(self._storage, before),
            self._version if after is None else find_version(self._storage, after),
        )
        if period is not None:
            self._require_days(period)
        return compare_versions(self._storage, old, new, period)

    def close(self, period: Period) -> Self:
        """Close some days: a later change of their lines raises an alarm in every sync until they are closed again.

        Returns
        -------
        Books
            The books with the new version.
        """
        self._require_newest()
        self._read(close_days(self._storage, self._require_days(period)))
        return self

    def closed(self) -> pd.DataFrame:
        """Return the closed periods: ``start_date, end_date, closed_at, version`` and how many lines changed since."""
        return list_closed(self._storage, self._version)

    def alarms(self) -> tuple[str, ...]:
        """Return a sentence for each closed period whose lines have changed since."""
        return find_alarms(self._storage, self._version)

    def history(self) -> pd.DataFrame:
        """Return the versions, newest first: when, why, what changed, what was compared, and whether they are kept."""
        return list_versions(self._storage)

    def compact(self, keep_days: int = 90) -> int:
        """Delete the files of old versions, and return how many there were.

        All versions of the last `keep_days` stay, the newest of every calendar month, and those of closed periods.
        """
        self._require_newest()
        if not isinstance(keep_days, int) or keep_days < 1:
            raise InputError(f"keep_days is {quote(keep_days)}; it must be a whole number, 1 or more")
        with self._storage.locked():
            versions = self._storage.versions()
            since = dt.datetime.now(dt.UTC) - dt.timedelta(days=keep_days)
            newest_of_month = {one.record.written_at[:7]: one for one in versions}
            closed = {one.version for one in versions[-1].record.closed} if versions else set()
            kept = [one for one in versions if one.record.instant >= since or one.number in closed]
            return self._storage.lines.remove_unused(one.commit for one in (*kept, *newest_of_month.values()))

    def _require_newest(self) -> None:
        if self._fixed is not None:
            raise InputError(f"these are the books as of version {self.version}; open {self.folder} to change them")

    @property
    def frame(self) -> pd.DataFrame:
        """The versions, newest first."""
        return self.history()

    def summary(self) -> str:
        """One line: the days, the version, and what the last sync proved."""
        if self._current is None:
            return f"Local books in {self.folder}: none yet, sync first."
        lines = sum(file.rows for file in self._version.commit.parts.values())
        proven = f"{self._version.label}; {self._record.summary()}"
        return f"Local books in {self.folder}: {lines:,} lines of {self.period}, {proven}."

    def _parts(self) -> Iterator[ResultPart]:
        if self._current is None:
            return
        yield ResultPart([], month_table(self._version), max_rows=None)

    def _content(self) -> dict[str, Any]:
        if self._current is None:
            return {"folder": str(self.folder), "version": None}
        return {"folder": str(self.folder), "version": self.version, **self._record.as_json()}
