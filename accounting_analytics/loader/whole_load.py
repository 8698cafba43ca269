"""A whole load: the windows of all ledgers read in parallel, then a check that no ledger changed meanwhile.

The default reads the newest days of each ledger again. A load of one moment reads every window again, after all of them
were read once: a window that is the same both times had these lines at the moment between the two readings, and that
moment is the same for all windows. So lines of any day that were added, moved or changed meanwhile are found.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from accounting_analytics.errors import (
    CertificateRefusedError,
    ChangedWhileReadingError,
    DeadlineExceededError,
    GarbledAnswerError,
    NoConnectionError,
    RateLimitedError,
    ServerFaultError,
    ServiceError,
    TransportError,
    with_context,
)
from accounting_analytics.load_metadata import CHARACTERS_REPLACED, NOISE_REMOVED, DayRange, count_notes, days_to_text
from accounting_analytics.loader.line_tables import lines_within, sort_lines
from accounting_analytics.loader.window_reader import WindowReader
from accounting_analytics.loader.windows import FinishedWindow, Window, group_by_ledger, unread_windows
from accounting_analytics.loader.worker_pool import WorkerPool
from accounting_analytics.messages import count_of, join_ids
from accounting_analytics.periods import LOCALTIME, Period, local_date, zone

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from accounting_analytics.loader.checkpoint import WindowStore
    from accounting_analytics.loader.load_request import LoadRequest
    from accounting_analytics.progress import LoadProgress


_MAX_CHECKS = 3
"""How often all windows are read again until none of them has changed."""
_TEMPORARY = (
    ChangedWhileReadingError,
    DeadlineExceededError,
    GarbledAnswerError,
    RateLimitedError,
    ServerFaultError,
    TransportError,
)


@dataclass(frozen=True)
class MissingWindow:
    """A window that could not be read, and why."""

    window: Window
    error: ServiceError


@dataclass(frozen=True)
class LoadedWindows:
    """The windows of a load, and those that could not be read."""

    request: LoadRequest
    windows: tuple[FinishedWindow, ...]
    missing: tuple[MissingWindow, ...] = ()

    def in_order(self) -> LoadedWindows:
        """Return the windows in the order of the requested ledgers, then by day."""
        positions = {ledger_id: position for position, ledger_id in enumerate(self.request.ledger_ids)}

        def by_ledger_and_day(one: FinishedWindow | MissingWindow) -> Any:  # noqa: ANN401 (a sort key)
            return positions[one.window.ledger_id], one.window.period

        return replace(
            self,
            windows=tuple(sorted(self.windows, key=by_ledger_and_day)),
            missing=tuple(sorted(self.missing, key=by_ledger_and_day)),
        )

    @property
    def is_one_page(self) -> bool:
        """Whether all lines are those of one response, and so of one moment."""
        return [one.pages for one in self.windows] == [1]

    def to_verify(self) -> tuple[FinishedWindow, ...]:
        """Windows with days that must be of one moment."""
        if self.request.verified is None:
            return ()
        first, last = self.request.verified.start_date, self.request.verified.end_date
        periods = ((one, one.window.period) for one in self.windows)
        return tuple(one for one, days in periods if days.start_date <= last and days.end_date >= first)

    def metadata(self, line_count: int) -> dict[str, Any]:
        """Metadata of the load, with ledgers and days as short texts: pandas copies it with every frame."""
        requested = self.request.as_json()
        ledger_ids = requested.pop("ledger_ids")
        filters = {name: requested.pop(name) for name in self.request.filters}
        return {
            **requested,
            "filters": {name: value for name, value in filters.items() if value is not None},
            "complete": not self.missing,
            "ledgers": dict.fromkeys(ledger_ids, "") | _days_by_ledger(one.window for one in self.windows),
            "missing": _days_by_ledger(one.window for one in self.missing),
            "consistency": "newest" if self.request.verified is None else "all",
            "read_at": self._read_at(),
            "of_one_moment": self._of_one_moment(),
            "windows": len(self.windows),
            "pages": sum(one.pages for one in self.windows),
            "lines": line_count,
        }

    def _read_at(self) -> str:
        """Instant from which on every window was read, in UTC; empty where none was."""
        return min((one.read_at.isoformat() for one in self.windows), default="")

    def _of_one_moment(self) -> str:
        """Days whose lines are those of one moment: those that were verified, or all days of a single response."""
        if self.is_one_page and not self.missing:
            return _days(self.request.period)
        return "not checked" if self.request.verified is None else _days(self.request.verified)

    def notes(self, repeats_removed: int) -> tuple[str, ...]:
        """Note values that were normalized, windows that are missing, and the time zone if it was assumed."""
        counts = count_notes(
            (sum(one.noise_removed for one in self.windows), *NOISE_REMOVED),
            (
                repeats_removed + sum(one.repeats_removed for one in self.windows),
                "line",
                "sent more than once with the same content, and kept once",
            ),
            (sum(one.characters_replaced for one in self.windows), *CHARACTERS_REPLACED),
        )
        missing = [
            f"{count_of(len(self.missing), 'window')} could not be read, so lines are missing; the first: {one.error}."
            for one in self.missing[:1]
        ]
        return (*counts, *missing, *self.request.notes)


def load_windows(request: LoadRequest, store: WindowStore, progress: LoadProgress) -> LoadedWindows:
    """Read every window that the store does not have yet, and check that no ledger changed meanwhile."""
    reader, verified = WindowReader(request), request.verified
    finished = list(store.finished())
    progress.update(sum(one.lines for one in finished))
    try:
        windows, missing = _read_windows(reader, store, finished, progress)
        loaded = LoadedWindows(request, (*finished, *windows), tuple(missing)).in_order()
        if verified is None:
            by_ledger = group_by_ledger(loaded.windows)
            _check_changes(reader, store, [by_ledger[one] for one in {one.window.ledger_id for one in windows}])
        elif not ((loaded.is_one_page and not finished) or (not windows and store.is_verified(verified))):
            loaded = _verified(reader, store, loaded, progress)
            store.mark_verified(verified)
    except (ServiceError, ChangedWhileReadingError) as error:
        with_context(error, store.recovery_hint(may_succeed=_may_succeed_later(error)))
        raise
    return loaded


def _verified(reader: WindowReader, store: WindowStore, loaded: LoadedWindows, progress: LoadProgress) -> LoadedWindows:
    """Read the windows again until none of them changed."""
    for check in range(1, _MAX_CHECKS + 1):
        changed = _find_changed_windows(reader, loaded.to_verify(), progress)
        if not changed:
            return loaded
        if check < _MAX_CHECKS:
            loaded = _replace_windows(store, loaded, changed)
    error = _changed_again_error(changed, _MAX_CHECKS)
    store.discard([one.before for one in changed])
    raise error


def _replace_windows(store: WindowStore, loaded: LoadedWindows, changed: list[_ChangedWindow]) -> LoadedWindows:
    """Store the lines of changed windows as they are now."""
    stale = {id(one.before) for one in changed}
    store.discard([one.before for one in changed])
    saved = [store.save(one.after) for one in changed]
    kept = (one for one in loaded.windows if id(one) not in stale)
    return replace(loaded, windows=(*kept, *saved)).in_order()


def _may_succeed_later(error: ServiceError | ChangedWhileReadingError) -> bool:
    """Whether the same load may succeed, although nothing but the service or the network changes."""
    return isinstance(error, _TEMPORARY) and not isinstance(error, CertificateRefusedError | NoConnectionError)


def _read_windows(
    reader: WindowReader, store: WindowStore, finished: list[FinishedWindow], progress: LoadProgress
) -> tuple[list[FinishedWindow], list[MissingWindow]]:
    """Read the days that are not finished; without `allow_partial` the first failure ends the load."""
    request = reader.request

    def read(window: Window) -> FinishedWindow | MissingWindow | list[Window]:
        try:
            found = reader.read(window)
        except ServiceError as error:
            if request.allow_partial:
                return MissingWindow(window, error)
            raise
        if isinstance(found, FinishedWindow):
            saved = store.save(found)
            pa.default_memory_pool().release_unused()  # otherwise the pool keeps what each thread needed
            return saved
        progress.expect(sum(one.expected_lines for one in found) - window.expected_lines)
        return found

    windows: list[FinishedWindow] = []
    missing: list[MissingWindow] = []
    pool: WorkerPool[Window, FinishedWindow | MissingWindow] = WorkerPool(
        read, size=lambda window: window.size, threads=reader.request.in_flight, stop=reader.stop
    )
    for result in pool.results(unread_windows(request.ledger_ids, request.period, finished)):
        if isinstance(result, MissingWindow):
            missing.append(result)
        else:
            windows.append(result)
            progress.update(result.lines, result.window.expected_lines)
    if missing and not windows and not finished:
        raise missing[0].error
    return windows, missing


def _check_changes(reader: WindowReader, store: WindowStore, ledgers: list[list[FinishedWindow]]) -> None:
    """Check ledgers that took several pages; the windows of one that changed leave the store."""

    def check(windows: list[FinishedWindow]) -> tuple[ChangedWhileReadingError | None, list[FinishedWindow]]:
        return _find_change(reader, windows), windows

    pool: WorkerPool[list[FinishedWindow], tuple[ChangedWhileReadingError | None, list[FinishedWindow]]] = WorkerPool(
        check, size=len, threads=reader.request.in_flight, stop=reader.stop
    )
    for error, windows in pool.results(windows for windows in ledgers if _has_several_pages(windows)):
        if error is not None:
            store.discard(windows)
            raise error


def _find_change(reader: WindowReader, windows: list[FinishedWindow]) -> ChangedWhileReadingError | None:
    """Read a ledger again from the day of its newest line to the end of the period, and compare.

    Books grow at their end: a line that was added, removed or changed during the load is most likely there. Changes
    further back are found by the completeness check, where an entry lacks a line or does not balance.
    """
    with_lines = [one for one in windows if one.newest is not None]
    if not with_lines:
        return None
    newest = max(with_lines, key=lambda one: one.window.period)
    period = reader.request.period
    days = Period(_newest_day(newest), period.end_date, period.time_zone)
    before = sort_lines(
        pa.concat_tables(
            lines_within(one.read_table(), days) for one in windows if one.window.period.end_date >= days.start_date
        )
    )
    after = reader.read_whole(Window(newest.window.ledger_id, days)).read_table()
    if before.equals(after):
        return None
    ids = _changed_ids(before, after)
    msg = (
        f"ledger {newest.window.ledger_id} changed during the load: {count_of(len(ids), 'line')} of {days} added, "
        f"removed or changed: {join_ids(ids)}; load again, or end the period before the days that are still being "
        "posted to"
    )
    return ChangedWhileReadingError(msg)


def _has_several_pages(windows: list[FinishedWindow]) -> bool:
    """Whether a ledger took more than one page; within one page nothing can change."""
    return len(windows) > 1 or windows[0].pages > 1


def _days_by_ledger(windows: Iterable[Window]) -> dict[str, str]:
    """Ledger id to its windows, ``2025-01-01/2025-01-31 2025-02-01/2025-02-28``."""
    days: dict[str, list[DayRange]] = defaultdict(list)
    for window in windows:
        days[window.ledger_id].append(DayRange.of_period(window.period))
    return {ledger_id: days_to_text(of_ledger) for ledger_id, of_ledger in days.items()}


def _days(period: Period) -> str:
    """First and last day, ``2025-01-01/2025-01-31``."""
    return days_to_text([DayRange.of_period(period)])


class _ChangedWindow(NamedTuple):
    """A window that changed since it was read: its lines as they were read before, and as they are now."""

    before: FinishedWindow
    after: FinishedWindow

    @property
    def line_ids(self) -> list[str]:
        """Lines that were added, removed or changed."""
        return _changed_ids(self.before.read_table(), self.after.read_table())


def _find_changed_windows(
    reader: WindowReader, windows: Sequence[FinishedWindow], progress: LoadProgress
) -> list[_ChangedWindow]:
    """Read windows again, and return those whose lines are not the same.

    Every window must have been read to its end before, or the lines need not be those of one moment.
    """

    def compare(one: FinishedWindow) -> _ChangedWindow | None:
        lines = reader.read_whole(one.window)
        progress.update(one.lines, one.lines)
        return None if lines.read_table().equals(one.read_table()) else _ChangedWindow(one, lines)

    progress.expect(sum(one.lines for one in windows))
    pool: WorkerPool[FinishedWindow, _ChangedWindow | None] = WorkerPool(
        compare, size=lambda one: one.pages, threads=reader.request.in_flight, stop=reader.stop
    )
    return [changed for changed in pool.results(windows) if changed is not None]


def _changed_again_error(changed: Sequence[_ChangedWindow], checks: int) -> ChangedWhileReadingError:
    """Error of a load whose windows changed between any two of its readings."""
    ids = sorted({line_id for one in changed for line_id in one.line_ids})
    ledger_ids = {one.before.window.ledger_id for one in changed}
    days = [one.before.window.period for one in changed]
    first, last = min(one.start_date for one in days), max(one.end_date for one in days)
    return ChangedWhileReadingError(
        f"{count_of(len(ledger_ids), 'ledger')} ({join_ids(ledger_ids)}) changed during the load, and again in each of "
        f"{checks} checks; in the last one {count_of(len(ids), 'line')} of {first} to {last} added, removed or "
        f"changed: {join_ids(ids)}; load again when nothing is posted, or end the period before the days that are "
        "still being posted to"
    )


def _newest_day(newest: FinishedWindow) -> dt.date:
    """Day of the newest line; the first day of its window where the zone is only known to the service."""
    period = newest.window.period
    if period.time_zone == LOCALTIME or newest.newest is None:
        return period.start_date
    return local_date(newest.newest, zone(period.time_zone))


def _changed_ids(before: pa.Table, after: pa.Table) -> list[str]:
    """Ids of lines that only one table has, or that differ."""
    lines_before = {row["id"]: row for row in before.to_pylist()}
    lines_after = {row["id"]: row for row in after.to_pylist()}
    ids = lines_before.keys() | lines_after.keys()
    return sorted(line_id for line_id in ids if lines_before.get(line_id) != lines_after.get(line_id))
