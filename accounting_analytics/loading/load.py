"""Load line entries: the windows of all ledgers read in parallel, then a check that no ledger changed meanwhile.

The default reads the newest days of each ledger again. A load of one moment reads every window again, after all of them
were read once: a window that is the same both times had these lines at the moment between the two readings, and that
moment is the same for all windows. So lines of any day that were added, moved or changed meanwhile are found.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from accounting_analytics.client.http import is_temporary
from accounting_analytics.core.column_conversion import midnight_notes
from accounting_analytics.core.errors import ChangedWhileReadingError, ServiceError, with_context
from accounting_analytics.core.load_metadata import (
    CHARACTERS_REPLACED,
    NOISE_REMOVED,
    DayRange,
    count_notes,
    days_to_text,
)
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
from accounting_analytics.reports.books.extent import attach_load_metadata

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.client.records import Ledger
    from accounting_analytics.core.periods import DateLike, ZoneLike
    from accounting_analytics.loading.request import Consistency

_MAX_CHECKS = 3
"""How often all windows are read again until none of them has changed."""


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
        What is read a second time at the end, to find changes of the books during the load. ``"newest"`` reads the
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
        that were normalized, ``attrs["load"]`` holds the metadata of the load: ledgers, period, windows, complete or
        not, `consistency`, the days whose lines are those of one moment (``verified``, empty for ``"newest"``), and the
        instant in UTC from which on they were read (``read_at``).

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
    """Line entries as an exact Arrow table, and the ledgers that their pages have shown, by id."""

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
    """Load all line entries of some ledgers, each on its own days, without local dates, ordered by (datetime, id).

    With `with_ledgers` the pages show the fields of each ledger that has lines, and of its parents.
    """
    periods = list(days.values())
    span = min(one.start_date for one in periods), max(one.end_date for one in periods)
    request = LoadRequest.from_options(client, days, *span, time_zone=periods[0].time_zone, is_cashflow=is_cashflow)
    windows = [Window(ledger_id, period, with_ledger=with_ledgers) for ledger_id, period in days.items()]
    with LoadProgress(progress, lambda: client.quota.remaining) as bar:
        reader = WindowReader(request, windows)
        loaded = load_windows(request, WindowStore(), bar, reader, windows)
        return LoadedLines(join_windows(loaded)[0], reader.shown)


def join_windows(loaded: LoadedWindows) -> tuple[pa.Table, int]:
    """Join all windows of a load in order, each line once, and count the repeats that were removed."""
    schema = line_schema(loaded.request.expand, loaded.request.scale)
    # those of one ledger are sorted then: sorting needs as much memory again
    windows = sorted(loaded.windows, key=lambda one: (one.window.ledger_id, one.window.period))
    table = pa.concat_tables([schema.empty_table(), *(one.read_table() for one in windows)])
    unique, repeats = remove_repeats(table)
    return sort_lines(unique), repeats


class MissingWindow(NamedTuple):
    """A window that could not be read, and why."""

    window: Window
    error: ServiceError


@dataclass(frozen=True)
class LoadedWindows:
    """The windows of a load, and those that could not be read."""

    request: LoadRequest
    windows: tuple[FinishedWindow, ...]
    missing: tuple[MissingWindow, ...] = ()

    def metadata(self, line_count: int) -> dict[str, Any]:
        """Metadata of the load, with ledgers and days as short texts: pandas copies it with every frame."""
        requested = self.request.as_json()
        ledger_ids = requested.pop("ledger_ids")
        filters = {name: requested.pop(name) for name in self.request.filters}
        return {
            **requested,
            "filters": {name: value for name, value in filters.items() if value is not None},
            "complete": not self.missing,
            "ledgers": dict.fromkeys(ledger_ids, "")
            | _days_by_ledger((one.window for one in self.windows), self.request.period),
            "missing": _days_by_ledger((one.window for one in self.missing), self.request.period),
            "consistency": "newest" if self.request.verified is None else "all",
            "read_at": min((one.read_at.isoformat() for one in self.windows), default=""),
            "of_one_moment": self._of_one_moment(),
            "windows": len(self.windows),
            "pages": sum(one.counts.pages for one in self.windows),
            "lines": line_count,
        }

    def _of_one_moment(self) -> str:
        """Days whose lines are those of one moment: those that were verified, or all days of a single response."""
        is_single = is_one_page(self.windows) and not self.missing
        days = self.request.period if is_single else self.request.verified
        return "not checked" if days is None else days_to_text([DayRange.of_period(days)])

    def notes(self, repeats_removed: int) -> tuple[str, ...]:
        """Note values that were normalized, windows that are missing, and the time zone if it was assumed."""
        counts = [one.counts for one in self.windows]
        repeats = repeats_removed + sum(one.repeats_removed for one in counts)
        normalized = count_notes(
            (sum(one.noise_removed for one in counts), *NOISE_REMOVED),
            (repeats, "line", "sent more than once with the same content, and kept once"),
            (sum(one.characters_replaced for one in counts), *CHARACTERS_REPLACED),
        )
        missing = [
            f"{count_of(len(self.missing), 'window')} could not be read, so lines are missing; the first: {one.error}."
            for one in self.missing[:1]
        ]
        return (*normalized, *missing, *self.request.notes)


def is_one_page(windows: Sequence[FinishedWindow]) -> bool:
    """Whether all lines are those of one response, and so of one moment."""
    return [one.counts.pages for one in windows] == [1]


def load_windows(
    request: LoadRequest,
    store: WindowStore,
    progress: LoadProgress,
    reader: WindowReader | None = None,
    unread: Sequence[Window] | None = None,
) -> LoadedWindows:
    """Read the windows that the store does not have yet, and check that no ledger changed meanwhile.

    They are `unread`, or all days of each ledger.
    """
    if unread is None:
        unread = unread_windows(request.ledger_ids, request.period, store.windows)
    reader, verified = reader or WindowReader(request, unread), request.verified
    finished = len(store.windows)
    progress.update(sum(one.counts.lines for one in store.windows))
    with naming_what_is_safe(store):
        missing = read_windows(reader, unread, store, progress)
        new = store.windows[finished:]
        if verified is None:
            check_newest_days(reader, store, {one.window.ledger_id for one in new})
        elif not is_one_page(store.windows):
            _read_until_unchanged(reader, store, verified, progress)
    return LoadedWindows(request, tuple(store.windows), tuple(missing))


@contextmanager
def naming_what_is_safe(store: WindowStore) -> Iterator[None]:
    """Add to an error of the service what was kept, and how to continue."""
    try:
        yield
    except (ServiceError, ChangedWhileReadingError) as error:
        may_succeed = isinstance(error, ChangedWhileReadingError) or is_temporary(error)
        with_context(error, store.recovery_hint(may_succeed=may_succeed))
        raise


def read_windows(
    reader: WindowReader, unread: Iterable[Window], store: WindowStore, progress: LoadProgress
) -> list[MissingWindow]:
    """Read the windows that are not finished; without `allow_partial` the first failure ends the load."""
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
            pa.default_memory_pool().release_unused()  # otherwise the pool keeps what each thread needed
        else:
            progress.expect(sum(one.expected_lines for one in found) - window.expected_lines)
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
    """Days of a ledger that were read twice: the windows before, the window after, and the lines that differ."""

    before: list[FinishedWindow]
    after: FinishedWindow
    changed_ids: list[str]


def _read_again(reader: WindowReader, days: Window, before: list[FinishedWindow]) -> _Reread:
    """Read days of a ledger again, and compare them with the windows that have them."""
    after = reader.read_whole(days)
    lines = sort_lines(pa.concat_tables(lines_within(one.read_table(), days.period) for one in before))
    read_again = after.read_table()
    return _Reread(before, after, [] if lines.equals(read_again) else _changed_ids(lines, read_again))


def check_newest_days(reader: WindowReader, store: WindowStore, ledger_ids: set[str]) -> None:
    """Read ledgers of several pages again from the day of their newest line on; those that changed leave the store.

    Books grow at their end: a line that was added, removed or changed during the load is most likely there. Changes
    further back are found by the completeness check, where an entry lacks a line or does not balance.
    """
    by_ledger = group_by_ledger(one for one in store.windows if one.window.ledger_id in ledger_ids)

    def check(ledger_id: str) -> _Reread:
        windows = by_ledger[ledger_id]
        newest = max((one for one in windows if one.counts.lines), key=lambda one: one.window.period)
        first, end = _newest_day(newest), min(max(one.window.period.end_date for one in windows), reader.last_day)
        days = Period(first, max(first, end), newest.window.period.time_zone)
        since = [one for one in windows if one.window.period.end_date >= days.start_date]
        return _read_again(reader, Window(ledger_id, days), since)

    # within one page nothing can change
    of_several_pages = [
        ledger_id
        for ledger_id, windows in by_ledger.items()
        if sum(one.counts.pages for one in windows) > 1 and any(one.counts.lines for one in windows)
    ]
    for one in run_in_parallel(check, of_several_pages, threads=reader.request.in_flight, stop=reader.stop):
        if one.changed_ids:
            store.discard(by_ledger[one.after.window.ledger_id])
            raise _changed_error([one], "changed during the load:")


def _read_until_unchanged(reader: WindowReader, store: WindowStore, verified: Period, progress: LoadProgress) -> None:
    """Read the windows of some days again until none of them changed.

    Every window must have been read to its end before, or the lines need not be those of one moment.
    """

    def read_again(one: FinishedWindow) -> _Reread:
        read = _read_again(reader, one.window, [one])
        progress.update(read.after.counts.lines, one.counts.lines)
        return read

    for _ in range(_MAX_CHECKS):
        windows = [one for one in store.windows if _have_common_days(one.window.period, verified)]
        progress.expect(sum(one.counts.lines for one in windows))
        results = run_in_parallel(read_again, windows, threads=reader.request.in_flight, stop=reader.stop)
        changed = [one for one in results if one.changed_ids]
        store.discard(window for one in changed for window in one.before)
        for one in changed:
            store.save(one.after)
        if not changed:
            return
    raise _changed_error(changed, f"changed in each of {_MAX_CHECKS} checks of the load; in the last one")


def _have_common_days(one: Period, other: Period) -> bool:
    return one.start_date <= other.end_date and other.start_date <= one.end_date


def _changed_error(changed: list[_Reread], what: str) -> ChangedWhileReadingError:
    """Error of a load whose ledgers changed between two readings."""
    ids = sorted({line_id for one in changed for line_id in one.changed_ids})
    ledger_ids = {one.after.window.ledger_id for one in changed}
    days = [one.after.window.period for one in changed]
    first, last = min(one.start_date for one in days), max(one.end_date for one in days)
    names = join_ids(ledger_ids)
    ledgers = f"ledger {names}" if len(ledger_ids) == 1 else f"{len(ledger_ids)} ledgers ({names})"
    return ChangedWhileReadingError(
        f"{ledgers} {what} {count_of(len(ids), 'line')} of {first} to {last} added, "
        f"removed or changed: {join_ids(ids)}; load again when nothing is posted, or end the period before the days "
        "that are still being posted to"
    )


def _newest_day(newest: FinishedWindow) -> dt.date:
    """Day of the newest line."""
    period = newest.window.period
    return local_date(newest.read_table()["datetime"][-1].as_py(), zone(period.time_zone))


def _changed_ids(before: pa.Table, after: pa.Table) -> list[str]:
    """Ids of lines that only one table has, or that differ."""
    lines_before = {row["id"]: row for row in before.to_pylist()}
    lines_after = {row["id"]: row for row in after.to_pylist()}
    ids = lines_before.keys() | lines_after.keys()
    return sorted(line_id for line_id in ids if lines_before.get(line_id) != lines_after.get(line_id))


def _days_by_ledger(windows: Iterable[Window], within: Period) -> dict[str, str]:
    """Ledger id to its windows within some days, ``2025-01-01/2025-01-31 2025-02-01/2025-02-28``."""
    days: dict[str, list[DayRange]] = defaultdict(list)
    for window in windows:
        first = max(window.period.start_date, within.start_date)
        last = min(window.period.end_date, within.end_date)
        if first <= last:
            days[window.ledger_id].append(DayRange(first, last))
    return {ledger_id: days_to_text(sorted(of_ledger)) for ledger_id, of_ledger in days.items()}
