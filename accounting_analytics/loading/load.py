"""Load line entries: read all windows in parallel, then check for changes.

The default reads the newest days of each ledger again. A load of one moment reads every window again, after all windows
were read once. A window that is the same both times had these lines at the moment between the two readings, and this
moment is the same for all windows. So lines of any day that were added, moved or changed meanwhile are found.
"""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from accounting_analytics.client.http import is_temporary
from accounting_analytics.core.column_conversion import midnight_notes
from accounting_analytics.core.day_ranges import DayRange, days_to_text
from accounting_analytics.core.errors import ChangedWhileReadingError, ServiceError, with_context
from accounting_analytics.core.load_metadata import CHARACTERS_REPLACED, NOISE_REMOVED, count_notes
from accounting_analytics.core.messages import count_of, join_ids
from accounting_analytics.core.periods import Period, local_date, zone
from accounting_analytics.core.progress import LoadProgress
from accounting_analytics.loading.arrow_lines import (
    line_schema,
    lines_within,
    remove_repeats,
    sort_lines,
    to_line_frame,
)
from accounting_analytics.loading.checkpoint import WindowStore
from accounting_analytics.loading.request import (
    DEFAULT_EXPANSIONS,
    DEFAULT_IN_FLIGHT,
    LoadRequest,
    Window,
)
from accounting_analytics.loading.windows import (
    FinishedWindow,
    WindowReader,
    group_by_ledger,
    run_in_parallel,
    unread_windows,
)
from accounting_analytics.reports.books.extent_of_load import attach_load_metadata

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.records import Ledger
    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.loading.request import Consistency

_MAX_CHECKS = 3
"""Most times that all windows are read again until none has changed."""


def load_line_entries(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: DateLike,
    end_date: DateLike,
    *,
    time_zone: ZoneLike | None = None,
    is_cashflow: bool | None = None,
    tag_ids: Iterable[str] | None = None,
    expand: Iterable[str] = DEFAULT_EXPANSIONS,
    consistency: Consistency = "newest",
    in_flight: int = DEFAULT_IN_FLIGHT,
    allow_partial: bool = False,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Load all line entries of some ledgers in a period.

    Ledgers with many lines are split into windows of days, which are read in parallel. The same books give the same
    frame, in whatever order the windows arrive.

    Parameters
    ----------
    client : LedgerClient
        The service.
    ledger_ids : iterable of str
        The ledgers; each is loaded once.
    start_date, end_date : date-like
        First and last day, both inclusive, local to `time_zone`: dates, ``YYYY-MM-DD``, midnights without a time zone,
        or periods of pandas (the first day of the one, the last of the other).
    time_zone : str or ZoneInfo, optional
        Zone that days are counted in; by default the client's, else UTC, which is then noted.
    is_cashflow : bool, optional
        Only lines of entries that touch a ledger that reports cash flow (True), or only the others (False).
    tag_ids : iterable of str, optional
        Only lines that carry all these tags.
    expand : iterable of str
        Nested objects and fields to request; columns of what is not requested are absent.
    consistency : {"newest", "all"} or Period
        Lines to read a second time at the end, to find changes of the books during the load. ``"newest"`` reads the
        newest lines of each ledger again, where books grow. ``"all"`` reads every day again, until all lines are those
        of one moment; that doubles the requests, and needs more if the books change. A
        :class:`~accounting_analytics.Period` within the load does so for its days: the history before may be large.
    in_flight : int
        Requests in parallel at most; the rate limit of the client applies as well.
    allow_partial : bool
        Return what could be read when some windows fail; ``attrs["load"]["missing"]`` names the days. Calculations
        refuse such a frame unless they are called with ``allow_partial`` too.
    progress : bool, optional
        Show a progress bar; None shows one in a terminal or an interactive notebook.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`, ordered by (datetime, id). ``attrs["notes"]`` lists values
        that were normalized, ``attrs["load"]`` holds the metadata of the load: ``ledgers`` (a JSON text of the days
        of each), period, windows, complete or not, `consistency`, the days whose lines are those of one moment
        (``of_one_moment``), and the instant in UTC from which on they were read (``read_at``).

    Raises
    ------
    ServiceError
        The service failed or broke its interface; nothing is returned, loading again is safe.
    ChangedWhileReadingError
        Lines were added, removed or changed during the load; with `consistency` ``"all"``, again and again.
    """
    request = LoadRequest.from_options(
        client,
        ledger_ids,
        start_date,
        end_date,
        time_zone=time_zone,
        is_cashflow=is_cashflow,
        tag_ids=tag_ids,
        expand=expand,
        consistency=consistency,
        in_flight=in_flight,
        allow_partial=allow_partial,
    )
    with LoadProgress(progress, lambda: client.quota.remaining) as bar:
        loaded = load_windows(request, WindowStore(), bar)
        table, repeats = join_windows(loaded)
        frame = to_line_frame(table, request.scale, request.period.time_zone)
        midnights = midnight_notes(frame["datetime"], request.period.time_zone)
        frame.attrs["notes"] = (*loaded.notes(repeats), *midnights)
        attach_load_metadata(frame, loaded.metadata(len(frame)))
        return frame


class LoadedLines(NamedTuple):
    """Line entries as an exact Arrow table, and the ledgers that their pages showed, by id."""

    lines: pa.Table
    shown: dict[str, Ledger]


def load_line_table(
    client: LedgerClient,
    days: Mapping[str, Period],
    *,
    is_cashflow: bool | None = None,
    with_ledgers: bool = False,
    progress: bool | None = None,
) -> LoadedLines:
    """Load lines of ledgers, each ledger on its own days, ordered by (datetime, id).

    Local dates are not added. With `with_ledgers` the pages show the fields of each ledger that has lines, and of its
    parents.
    """
    periods = list(days.values())
    span = min(period.start_date for period in periods), max(period.end_date for period in periods)
    request = LoadRequest.from_options(client, days, *span, time_zone=periods[0].time_zone, is_cashflow=is_cashflow)
    windows = [Window(ledger_id, period, with_ledger=with_ledgers) for ledger_id, period in days.items()]
    with LoadProgress(progress, lambda: client.quota.remaining) as bar:
        reader = WindowReader(request, windows)
        loaded = load_windows(request, WindowStore(), bar, reader, windows)
        return LoadedLines(join_windows(loaded)[0], reader.shown)


def join_windows(loaded: LoadedWindows) -> tuple[pa.Table, int]:
    """Join all windows of a load in order, and remove and count repeated lines."""
    schema = line_schema(loaded.request.expand, loaded.request.scale)
    # windows of a ledger are joined in order, because sorting would need twice the memory
    windows = sorted(loaded.windows, key=lambda finished: (finished.window.ledger_id, finished.window.period))
    table = pa.concat_tables([schema.empty_table(), *(finished.read_table() for finished in windows)])
    unique, repeats = remove_repeats(table)
    return sort_lines(unique), repeats


class MissingWindow(NamedTuple):
    """A window that could not be read, and the reason."""

    window: Window
    error: ServiceError


@dataclass(frozen=True)
class LoadedWindows:
    """The finished windows of a load, and the windows that could not be read."""

    request: LoadRequest
    windows: tuple[FinishedWindow, ...]
    missing: tuple[MissingWindow, ...] = ()

    def metadata(self, line_count: int) -> dict[str, Any]:
        """Describe the load."""
        requested = self.request.as_json()
        ledger_ids = requested.pop("ledger_ids")
        filters = {name: requested.pop(name) for name in self.request.filters}
        read = _days_by_ledger((finished.window for finished in self.windows), self.request.period)
        return {
            **requested,
            "filters": {name: value for name, value in filters.items() if value is not None},
            "complete": not self.missing,
            "ledgers": json.dumps(dict.fromkeys(ledger_ids, "") | read),
            "missing": _days_by_ledger((missing.window for missing in self.missing), self.request.period),
            "consistency": "newest" if self.request.verified is None else "all",
            "read_at": min((finished.read_at.isoformat() for finished in self.windows), default=""),
            "of_one_moment": self._of_one_moment(),
            "windows": len(self.windows),
            "pages": sum(finished.counts.pages for finished in self.windows),
            "lines": line_count,
        }

    def _of_one_moment(self) -> str:
        """Return the days whose lines are of one moment.

        All days of a single response are of one moment, else the verified days.
        """
        is_single = is_one_page(self.windows) and not self.missing
        days = self.request.period if is_single else self.request.verified
        return "not checked" if days is None else days_to_text([DayRange.of_period(days)])

    def notes(self, repeats_removed: int) -> tuple[str, ...]:
        """Write notes on normalized values, missing windows, and an assumed time zone."""
        counts = [finished.counts for finished in self.windows]
        repeats = repeats_removed + sum(window_counts.repeats_removed for window_counts in counts)
        normalized = count_notes(
            (sum(window_counts.noise_removed for window_counts in counts), *NOISE_REMOVED),
            (repeats, "line", "sent more than once with the same content, and kept once"),
            (sum(window_counts.characters_replaced for window_counts in counts), *CHARACTERS_REPLACED),
        )
        missing = [
            f"{count_of(len(self.missing), 'window')} could not be read, so lines are missing; "
            f"the first: {first.error}."
            for first in self.missing[:1]
        ]
        return (*normalized, *missing, *self.request.notes)


def is_one_page(windows: Sequence[FinishedWindow]) -> bool:
    """Return whether all lines come from one response, and so are of one moment."""
    return [finished.counts.pages for finished in windows] == [1]


def load_windows(
    request: LoadRequest,
    store: WindowStore,
    progress: LoadProgress,
    reader: WindowReader | None = None,
    unread: Sequence[Window] | None = None,
) -> LoadedWindows:
    """Read the windows that the store lacks, and check for changes."""
    if unread is None:
        unread = unread_windows(request.ledger_ids, request.period, store.windows)
    reader, verified = reader or WindowReader(request, unread), request.verified
    read_before = len(store.windows)
    progress.update(sum(finished.counts.lines for finished in store.windows))
    with naming_what_is_safe(store):
        missing = read_windows(reader, unread, store, progress)
        new = store.windows[read_before:]
        if verified is None:
            check_newest_days(reader, store, {finished.window.ledger_id for finished in new})
        elif not is_one_page(store.windows):
            _read_until_unchanged(reader, store, verified, progress)
    return LoadedWindows(request, tuple(store.windows), tuple(missing))


@contextmanager
def naming_what_is_safe(store: WindowStore) -> Iterator[None]:
    """Add to an error of the service which windows are saved, and how to continue."""
    try:
        yield
    except (ServiceError, ChangedWhileReadingError) as error:
        may_succeed = isinstance(error, ChangedWhileReadingError) or is_temporary(error)
        with_context(error, store.recovery_hint(may_succeed=may_succeed))
        raise


def read_windows(
    reader: WindowReader, unread: Iterable[Window], store: WindowStore, progress: LoadProgress
) -> list[MissingWindow]:
    """Read the unread windows. A failure ends the load, unless the load may be partial."""
    request = reader.request

    def read(window: Window) -> FinishedWindow | MissingWindow | list[Window]:
        try:
            found = reader.read(window)
        except ServiceError as error:
            if request.allow_partial:
                return MissingWindow(window, error)
            raise
        if isinstance(found, FinishedWindow):
            found = store.save(found)
            pa.default_memory_pool().release_unused()  # otherwise the pool keeps the memory of each thread
        else:
            progress.expect(sum(part.expected_lines for part in found) - window.expected_lines)
        return found

    missing: list[MissingWindow] = []
    results: Iterator[FinishedWindow | MissingWindow] = run_in_parallel(
        read, unread, threads=request.in_flight, stop=reader.stop
    )
    for result in results:
        if isinstance(result, MissingWindow):
            missing.append(result)
        else:
            progress.update(result.counts.lines, result.window.expected_lines)
    if missing and not store.windows:
        raise missing[0].error
    return missing


class _Reread(NamedTuple):
    """Days of a ledger that were read twice.

    The fields are the windows of both readings, and the ids of changed lines.
    """

    before: list[FinishedWindow]
    after: FinishedWindow
    changed_ids: list[str]


def _read_again(reader: WindowReader, days: Window, before: list[FinishedWindow]) -> _Reread:
    """Read days of a ledger again, and compare the lines."""
    after = reader.read_whole(days)
    lines = sort_lines(pa.concat_tables(lines_within(earlier.read_table(), days.period) for earlier in before))
    read_again = after.read_table()
    return _Reread(before, after, [] if lines.equals(read_again) else _changed_ids(lines, read_again))


def check_newest_days(reader: WindowReader, store: WindowStore, ledger_ids: set[str]) -> None:
    """Read the newest days of ledgers again. If lines have changed, discard the ledger's windows and raise an error.

    Only ledgers of several pages are read, from the day of their newest line on. Books grow at their end: a line that
    was added, removed or changed during the load is most likely there. The completeness check finds changes further
    back, where an entry lacks a line or does not balance.
    """
    by_ledger = group_by_ledger(finished for finished in store.windows if finished.window.ledger_id in ledger_ids)

    def check(ledger_id: str) -> _Reread:
        windows = by_ledger[ledger_id]
        newest = max(
            (finished for finished in windows if finished.counts.lines), key=lambda finished: finished.window.period
        )
        first, end = (
            _newest_day(newest),
            min(max(finished.window.period.end_date for finished in windows), reader.last_day),
        )
        days = Period(first, max(first, end), newest.window.period.time_zone)
        since = [finished for finished in windows if finished.window.period.end_date >= days.start_date]
        return _read_again(reader, Window(ledger_id, days), since)

    # the lines of a single page are all of one moment
    of_several_pages = [
        ledger_id
        for ledger_id, windows in by_ledger.items()
        if sum(finished.counts.pages for finished in windows) > 1 and any(finished.counts.lines for finished in windows)
    ]
    for reread in run_in_parallel(check, of_several_pages, threads=reader.request.in_flight, stop=reader.stop):
        if reread.changed_ids:
            store.discard(by_ledger[reread.after.window.ledger_id])
            raise _changed_error([reread], "changed during the load:")


def _read_until_unchanged(reader: WindowReader, store: WindowStore, verified: Period, progress: LoadProgress) -> None:
    """Read the windows of verified days again until none changed.

    Every window must have been read to its end before, else the lines may be of different moments.
    """

    def read_again(finished: FinishedWindow) -> _Reread:
        read = _read_again(reader, finished.window, [finished])
        progress.update(read.after.counts.lines, finished.counts.lines)
        return read

    for _ in range(_MAX_CHECKS):
        windows = [finished for finished in store.windows if _have_common_days(finished.window.period, verified)]
        progress.expect(sum(finished.counts.lines for finished in windows))
        results = run_in_parallel(read_again, windows, threads=reader.request.in_flight, stop=reader.stop)
        changed = [reread for reread in results if reread.changed_ids]
        store.discard(window for reread in changed for window in reread.before)
        for reread in changed:
            store.save(reread.after)
        if not changed:
            return
    raise _changed_error(changed, f"changed in each of {_MAX_CHECKS} checks of the load; in the last one")


def _have_common_days(first: Period, second: Period) -> bool:
    return first.start_date <= second.end_date and second.start_date <= first.end_date


def _changed_error(changed: list[_Reread], what: str) -> ChangedWhileReadingError:
    """Make the error of a load whose ledgers changed during reading."""
    ids = sorted({line_id for reread in changed for line_id in reread.changed_ids})
    ledger_ids = {reread.after.window.ledger_id for reread in changed}
    days = [reread.after.window.period for reread in changed]
    first, last = min(period.start_date for period in days), max(period.end_date for period in days)
    names = join_ids(ledger_ids)
    ledgers = f"ledger {names}" if len(ledger_ids) == 1 else f"{len(ledger_ids)} ledgers ({names})"
    return ChangedWhileReadingError(
        f"{ledgers} {what} {count_of(len(ids), 'line')} of {first} to {last} added, "
        f"removed or changed: {join_ids(ids)}; load again when nothing is posted, or end the period before the days "
        "that are still being posted to"
    )


def _newest_day(newest: FinishedWindow) -> dt.date:
    period = newest.window.period
    return local_date(newest.read_table()["datetime"][-1].as_py(), zone(period.time_zone))


def _changed_ids(before: pa.Table, after: pa.Table) -> list[str]:
    """Return the ids of lines that differ between two tables.

    A line of only one table differs, too.
    """
    lines_before = {row["id"]: row for row in before.to_pylist()}
    lines_after = {row["id"]: row for row in after.to_pylist()}
    ids = lines_before.keys() | lines_after.keys()
    return sorted(line_id for line_id in ids if lines_before.get(line_id) != lines_after.get(line_id))


def _days_by_ledger(windows: Iterable[Window], within: Period) -> dict[str, str]:
    """Format each ledger's windows within days: ``2025-01-01/2025-01-31 2025-02-01/2025-02-28``."""
    days: dict[str, list[DayRange]] = defaultdict(list)
    for window in windows:
        first = max(window.period.start_date, within.start_date)
        last = min(window.period.end_date, within.end_date)
        if first <= last:
            days[window.ledger_id].append(DayRange(first, last))
    return {ledger_id: days_to_text(sorted(of_ledger)) for ledger_id, of_ledger in days.items()}
