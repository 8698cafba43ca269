"""A whole load: the windows of all ledgers read in parallel, then a check that no ledger changed meanwhile."""

from __future__ import annotations

from collections import defaultdict
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from accounting_analytics.errors import ChangedWhileReadingError, ServiceError, with_context
from accounting_analytics.load_metadata import CHARACTERS_REPLACED, count_notes
from accounting_analytics.loader.change_check import ChangeCheck, check_changes
from accounting_analytics.loader.window_reader import WindowLines, WindowReader
from accounting_analytics.loader.windows import gaps
from accounting_analytics.loader.worker_pool import WorkerPool, start_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.query import LineEntryQuery
    from accounting_analytics.loader.window_store import FinishedWindow, WindowStore
    from accounting_analytics.loader.windows import Window
    from accounting_analytics.progress import LoadProgress


Built = TypeVar("Built")


@dataclass(frozen=True)
class MissingWindow:
    """A window that could not be read, and why."""

    window: Window
    error: ServiceError


@dataclass(frozen=True)
class LoadedWindows:
    """The windows of a load by ledger and day, and those that could not be read."""

    query: LineEntryQuery
    windows: tuple[FinishedWindow, ...]
    missing: tuple[MissingWindow, ...]

    def metadata(self, line_count: int) -> dict[str, Any]:
        """Metadata of the load, with ledgers and days as short texts: pandas copies it with every frame."""
        requested = self.query.as_json()
        ledger_ids = requested.pop("ledger_ids")
        filters = {name: requested.pop(name) for name in self.query.filters}
        return {
            **requested,
            "filters": {name: value for name, value in filters.items() if value is not None},
            "complete": not self.missing,
            "ledgers": dict.fromkeys(ledger_ids, "") | _days_by_ledger(one.window for one in self.windows),
            "missing": _days_by_ledger(one.window for one in self.missing),
            "windows": len(self.windows),
            "pages": sum(one.pages for one in self.windows),
            "lines": line_count,
        }

    def notes(self, repeats_removed: int) -> tuple[str, ...]:
        """Note values that were normalized, windows that are missing, and the time zone if it was assumed."""
        counts = count_notes(
            (
                sum(one.noise_removed for one in self.windows),
                "amount(s) had float rounding noise, within 1e-6 of the exact value, which was removed",
            ),
            (
                repeats_removed + sum(one.repeats_removed for one in self.windows),
                "line(s) were sent more than once with the same content and kept once",
            ),
            (sum(one.characters_replaced for one in self.windows), CHARACTERS_REPLACED),
            (
                len(self.missing),
                f"window(s) could not be read, so lines are missing; the first: {self.missing[0].error}"
                if self.missing
                else "",
            ),
        )
        return (*counts, *self.query.notes)


def load_windows(
    client: LedgerClient,
    query: LineEntryQuery,
    store: WindowStore,
    progress: LoadProgress,
    *,
    in_flight: int,
    build: Callable[[LoadedWindows], Built],
    allow_partial: bool = False,
) -> Built:
    """Read every window that the store does not have yet, and check that no ledger changed meanwhile.

    `build` makes the result of the load. It runs during the change check; if that fails, its result is dropped.

    Raises
    ------
    ServiceError
        The service failed; windows in the store stay there.
    ChangedWhileReadingError
        Lines were added, removed or changed during the load.
    """
    reader = WindowReader(client, query, in_flight)
    finished = list(store.finished())
    progress.update(sum(one.lines for one in finished))
    positions = {ledger_id: position for position, ledger_id in enumerate(query.ledger_ids)}

    def by_ledger_and_day(one: FinishedWindow | MissingWindow) -> Any:  # noqa: ANN401 (a sort key)
        return positions[one.window.ledger_id], one.window.period

    try:
        windows, missing = _read_windows(reader, store, finished, progress, allow_partial=allow_partial)
        loaded = LoadedWindows(
            query,
            tuple(sorted([*finished, *windows], key=by_ledger_and_day)),
            tuple(sorted(missing, key=by_ledger_and_day)),
        )
        built = start_in_thread(partial(copy_context().run, build, loaded), "build a load")
        read_now = {one.window.ledger_id for one in windows}
        by_ledger = _group_by_ledger(loaded.windows)
        _check_changes(reader, store, [by_ledger[ledger_id] for ledger_id in read_now])
    except (ServiceError, ChangedWhileReadingError) as error:
        with_context(error, store.recovery_hint())
        raise
    return built.result()


def _read_windows(
    reader: WindowReader,
    store: WindowStore,
    finished: list[FinishedWindow],
    progress: LoadProgress,
    *,
    allow_partial: bool,
) -> tuple[list[FinishedWindow], list[MissingWindow]]:
    """Read the days that are not finished; without `allow_partial` the first failure ends the load."""

    def read(window: Window) -> FinishedWindow | MissingWindow | list[Window]:
        try:
            found = reader.read(window)
        except ServiceError as error:
            if allow_partial:
                return MissingWindow(window, error)
            raise
        if isinstance(found, WindowLines):
            saved = store.save(found)
            pa.default_memory_pool().release_unused()  # otherwise the pool keeps what each thread needed
            return saved
        progress.expect(sum(one.expected_lines for one in found) - window.expected_lines)
        return found

    by_ledger = _group_by_ledger(finished)
    query = reader.query
    unread = [
        window
        for ledger_id in query.ledger_ids
        for window in gaps(ledger_id, query.period, [one.window.period for one in by_ledger[ledger_id]])
    ]
    windows: list[FinishedWindow] = []
    missing: list[MissingWindow] = []
    pool: WorkerPool[Window, FinishedWindow | MissingWindow] = WorkerPool(
        read, size=lambda window: window.size, threads=reader.in_flight, stop=reader.stop
    )
    for result in pool.results(unread):
        if isinstance(result, MissingWindow):
            missing.append(result)
        else:
            windows.append(result)
            progress.update(result.lines, result.window.expected_lines)
    if missing and not windows and not finished:
        raise missing[0].error
    return windows, missing


def _check_changes(reader: WindowReader, store: WindowStore, ledgers: list[list[FinishedWindow]]) -> None:
    """Check ledgers that took several pages; windows that are stale leave the store."""
    pool: WorkerPool[tuple[FinishedWindow, ...], ChangeCheck] = WorkerPool(
        partial(check_changes, reader), size=len, threads=reader.in_flight, stop=reader.stop
    )
    for result in pool.results(tuple(windows) for windows in ledgers if _has_several_pages(windows)):
        if result.error is not None:
            store.discard(result.stale)
            raise result.error


def _has_several_pages(windows: list[FinishedWindow]) -> bool:
    """Whether a ledger took more than one page; within one page nothing can change."""
    return len(windows) > 1 or windows[0].pages > 1


def _group_by_ledger(windows: Iterable[FinishedWindow]) -> defaultdict[str, list[FinishedWindow]]:
    by_ledger: defaultdict[str, list[FinishedWindow]] = defaultdict(list)
    for one in windows:
        by_ledger[one.window.ledger_id].append(one)
    return by_ledger


def _days_by_ledger(windows: Iterable[Window]) -> dict[str, str]:
    """Ledger id to its windows, ``2025-01-01/2025-01-31 2025-02-01/2025-02-28``."""
    days: dict[str, list[str]] = defaultdict(list)
    for window in windows:
        days[window.ledger_id].append(f"{window.period.start_date}/{window.period.end_date}")
    return {ledger_id: " ".join(texts) for ledger_id, texts in days.items()}
