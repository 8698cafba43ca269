"""A whole load: all windows of all ledgers at once, then a second look at the newest lines."""

from __future__ import annotations

import threading
from collections import defaultdict
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from accounting_analytics.errors import ChangedWhileReadingError, ServiceError
from accounting_analytics.loader.consistency_check import SecondLook, second_look
from accounting_analytics.loader.window_reader import Scan, WindowLines
from accounting_analytics.loader.windows import gaps
from accounting_analytics.loader.worker_pool import Crew, begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.query import LineEntryQuery, Window
    from accounting_analytics.loader.window_files import KeptWindow, Shelf
    from accounting_analytics.progress import LoadProgress


Made = TypeVar("Made")


@dataclass(frozen=True)
class MissingWindow:
    """A window that could not be read, and why."""

    window: Window
    error: ServiceError


@dataclass(frozen=True)
class Loaded:
    """Everything a load brought: windows by ledger and day, and those it could not read."""

    query: LineEntryQuery
    windows: tuple[KeptWindow, ...]
    missing: tuple[MissingWindow, ...]

    def as_json(self, lines: int) -> dict[str, Any]:
        """Say what the load of so many lines is, in short texts: pandas copies ``attrs["load"]`` with every frame."""
        asked = self.query.as_json()
        ledger_ids = asked.pop("ledger_ids")
        return {
            **asked,
            "complete": not self.missing,
            "ledgers": dict.fromkeys(ledger_ids, "") | _days_of(one.window for one in self.windows),
            "missing": _days_of(one.window for one in self.missing),
            "windows": len(self.windows),
            "pages": sum(one.pages for one in self.windows),
            "lines": lines,
        }


def read_all(
    client: LedgerClient,
    query: LineEntryQuery,
    shelf: Shelf,
    progress: LoadProgress,
    *,
    in_flight: int,
    make: Callable[[Loaded], Made],
    allow_partial: bool = False,
) -> Made:
    """Read every window that the shelf does not have yet, and make sure that nothing changed meanwhile.

    What is wanted of the load is made while the second look is on its way, and dropped if that finds a change.

    Raises
    ------
    ServiceError
        The service failed; what the shelf keeps stays there.
    ChangedWhileReadingError
        Lines came, went or changed while they were read.
    """
    scan = Scan(client, query, in_flight, threading.Event())
    finished = list(shelf.finished())
    progress.already(sum(one.lines for one in finished))
    order = {ledger_id: at for at, ledger_id in enumerate(query.ledger_ids)}

    def place(one: KeptWindow | MissingWindow) -> Any:  # noqa: ANN401 (a sort key)
        return order[one.window.ledger_id], one.window.period

    try:
        windows, missing = _read_open(scan, shelf, finished, progress, allow_partial=allow_partial)
        loaded = Loaded(query, tuple(sorted([*finished, *windows], key=place)), tuple(sorted(missing, key=place)))
        made = begun(partial(copy_context().run, make, loaded), "make of a load")
        fresh = {one.window.ledger_id for one in windows}
        by_ledger = _by_ledger(loaded.windows)
        _require_unchanged(scan, shelf, [by_ledger[ledger_id] for ledger_id in fresh])
    except (ServiceError, ChangedWhileReadingError) as error:
        error.args = (f"{error}; {shelf.safe()}", *error.args[1:])
        raise
    return made.result()


def _read_open(
    scan: Scan, shelf: Shelf, finished: list[KeptWindow], progress: LoadProgress, *, allow_partial: bool
) -> tuple[list[KeptWindow], list[MissingWindow]]:
    """Read what is not finished; without `allow_partial` the first failure ends it."""

    def read(window: Window) -> KeptWindow | MissingWindow | list[Window]:
        try:
            found = scan.read(window)
        except ServiceError as error:
            if allow_partial:
                return MissingWindow(window, error)
            raise
        if isinstance(found, WindowLines):
            kept = shelf.keep(found)
            pa.default_memory_pool().release_unused()  # each thread's share stays reserved otherwise
            return kept
        progress.expect(sum(one.lines for one in found) - window.lines)
        return found

    done = _by_ledger(finished)
    query = scan.query
    pieces = [
        window
        for ledger_id in query.ledger_ids
        for window in gaps(ledger_id, query.period, [one.window.period for one in done[ledger_id]])
    ]
    windows: list[KeptWindow] = []
    missing: list[MissingWindow] = []
    crew: Crew[Window, KeptWindow | MissingWindow] = Crew(
        read, size=lambda window: window.size, threads=scan.in_flight, stop=scan.stop
    )
    for outcome in crew.outcomes(pieces):
        if isinstance(outcome, MissingWindow):
            missing.append(outcome)
        else:
            windows.append(outcome)
            progress.read(outcome.lines, outcome.window.lines)
    if missing and not windows and not finished:
        raise missing[0].error
    return windows, missing


def _require_unchanged(scan: Scan, shelf: Shelf, ledgers: list[list[KeptWindow]]) -> None:
    """Look again at ledgers that took several pages; what turns out stale leaves the shelf."""

    def look(windows: tuple[KeptWindow, ...]) -> SecondLook:
        return second_look(scan, windows)

    crew: Crew[tuple[KeptWindow, ...], SecondLook] = Crew(look, size=len, threads=scan.in_flight, stop=scan.stop)
    for seen in crew.outcomes(tuple(windows) for windows in ledgers if _took_several(windows)):
        if seen.error is not None:
            shelf.forget(seen.stale)
            raise seen.error


def _took_several(windows: list[KeptWindow]) -> bool:
    """Whether a ledger was read in more than one page; one page is one moment, nothing can change within it."""
    return len(windows) > 1 or windows[0].pages > 1


def _by_ledger(windows: Iterable[KeptWindow]) -> defaultdict[str, list[KeptWindow]]:
    by_ledger: defaultdict[str, list[KeptWindow]] = defaultdict(list)
    for one in windows:
        by_ledger[one.window.ledger_id].append(one)
    return by_ledger


def _days_of(windows: Iterable[Window]) -> dict[str, str]:
    """Ledger id to its windows, ``2025-01-01/2025-01-31 2025-02-01/2025-02-28``."""
    days: dict[str, list[str]] = defaultdict(list)
    for window in windows:
        days[window.ledger_id].append(f"{window.period.start_date}/{window.period.end_date}")
    return {ledger_id: " ".join(listed) for ledger_id, listed in days.items()}
