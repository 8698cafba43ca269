"""All line entries and ledgers of books, with each page requested once.

The balances of a report name the ledgers that report cash flow. The lines of a ledger name the opposing ledgers, whose
lines are read next, until no new ledger is named. All days that the service accepts are read, so that the first entry
is certain; lines after the last requested day only help to find ledgers.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import midnight_notes, split_list
from accounting_analytics.core.errors import InputError, NotFoundError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import Period
from accounting_analytics.core.progress import LoadProgress
from accounting_analytics.loading.arrow_lines import lines_within, to_line_frame
from accounting_analytics.loading.checkpoint import Checkpoint, WindowStore
from accounting_analytics.loading.ledger_discovery import GIVEN_PARENTS, LedgerSearch, keep_fields
from accounting_analytics.loading.load import (
    LoadedWindows,
    MissingWindow,
    check_newest_days,
    join_windows,
    naming_what_is_safe,
    read_windows,
)
from accounting_analytics.loading.load_to_file import write_in_order
from accounting_analytics.loading.request import DEFAULT_EXPANSIONS, DEFAULT_IN_FLIGHT, LoadRequest, check_in_flight
from accounting_analytics.loading.windows import WindowReader, group_by_ledger, unread_windows
from accounting_analytics.reports.books.extent_of_load import attach_load_metadata

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loading.windows import FinishedWindow


def load_whole_books(
    client: LedgerClient,
    asked: Period,
    *,
    chart: pd.DataFrame | None,
    parents: Mapping[str, str | None],
    in_flight: int,
    allow_partial: bool,
    progress: bool | None,
    notes: tuple[str, ...],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load the lines until the last requested day, and all ledgers."""
    options = _Options(asked, parents, check_in_flight(in_flight), allow_partial, progress, notes)
    search = _begin(client, options)
    known = [] if chart is None else chart.to_dict("records")
    for row in known:
        search.add(row["id"], row["found_by"], name=row["name"], sort_code=row["sort_code"])
    loaded, ledgers = _read(client, search, WindowStore(), options, known)
    period = Period(min(search.first_day or asked.start_date, asked.start_date), asked.end_date, asked.time_zone)
    loaded = replace(loaded, request=replace(loaded.request, ledger_ids=tuple(ledgers["id"]), period=period))
    table, repeats = join_windows(loaded)
    frame = to_line_frame(lines_within(table, period), loaded.request.scale, period.time_zone)
    frame.attrs["notes"] = (*loaded.notes(repeats), *midnight_notes(frame["datetime"], period.time_zone))
    attach_load_metadata(frame, loaded.metadata(len(frame)))
    return frame, ledgers


def load_whole_books_in_order(
    client: LedgerClient,
    asked: Period,
    path: Path,
    *,
    checkpoint: Path,
    parents: Mapping[str, str | None],
    progress: bool | None,
) -> pd.DataFrame:
    """Load all lines into an ordered Parquet file, and return the ledgers.

    Memory holds only the windows that are being read. `checkpoint` keeps finished windows, as in
    :func:`~accounting_analytics.loading.load_to_file.load_in_order`. If no ledger is found, no file is written.
    """
    options = _Options(asked, parents, DEFAULT_IN_FLIGHT, allow_partial=False, progress=progress, notes=())
    search = _begin(client, options)
    if not search.found:
        return search.frame({}, {})
    if search.days.start_date != dt.date.min:
        raise InputError(
            f"the service refuses days before {search.days.start_date}, so the first day of the books is not known: "
            "give it as start_date"
        )
    loaded, ledgers = _read(client, search, Checkpoint(checkpoint, _request(client, search, options)), options)
    write_in_order(loaded, path)
    return ledgers


class _Options(NamedTuple):
    """Options of a load of books; see :func:`~accounting_analytics.load_books`."""

    asked: Period
    parents: Mapping[str, str | None]
    in_flight: int
    allow_partial: bool
    progress: bool | None
    notes: tuple[str, ...]


def _begin(client: LedgerClient, options: _Options) -> LedgerSearch:
    """Find the cash ledgers, and the days that the service accepts."""
    search = LedgerSearch(client, options.asked.time_zone, options.in_flight)
    search.read_cash_ledgers(options.asked.end_date)
    search.find_accepted_days(options.asked)
    for ledger_id in (*options.parents, *filter(None, options.parents.values())):
        search.add(ledger_id, GIVEN_PARENTS)
    return search


def _request(client: LedgerClient, search: LedgerSearch, options: _Options) -> LoadRequest:
    """Make a request for all accepted days, without ledgers.

    Ledgers are added when they are found.
    """
    return LoadRequest(
        client=client,
        ledger_ids=(),
        period=search.days,
        expand=frozenset(DEFAULT_EXPANSIONS),
        filters={"is_cashflow": None, "tag_ids": None},
        verified=None,
        in_flight=options.in_flight,
        allow_partial=options.allow_partial,
        notes=options.notes,
    )


def _read(
    client: LedgerClient,
    search: LedgerSearch,
    store: WindowStore,
    options: _Options,
    known: Iterable[Mapping[Hashable, Any]] = (),
) -> tuple[LoadedWindows, pd.DataFrame]:
    """Read all lines that the store lacks, of all ledgers."""
    request, missing = _request(client, search, options), list[MissingWindow]()
    with store, LoadProgress(options.progress, lambda: client.quota.remaining) as bar, naming_what_is_safe(store):
        reader = WindowReader(request, last_day=options.asked.end_date)
        reader.shown |= {finished.window.ledger_id: finished.shown for finished in store.windows if finished.shown}
        read_before = len(store.windows)
        bar.update(sum(finished.counts.lines for finished in store.windows))
        while search.unprobed:
            missing += _read_new(search, reader, store, bar)
            for row in known:
                keep_fields(search.found[row["id"]], row)
            search.read_higher_parents(options.parents)
        check_newest_days(reader, store, {finished.window.ledger_id for finished in store.windows[read_before:]})
    return LoadedWindows(request, tuple(store.windows), tuple(missing)), search.frame(options.parents, {})


def _read_new(
    search: LedgerSearch, reader: WindowReader, store: WindowStore, progress: LoadProgress
) -> list[MissingWindow]:
    """Read the lines of new ledgers, and add the named ledgers."""
    found, search.unprobed = sorted(search.unprobed, key=lambda ledger: ledger.id), []
    unread = unread_windows((ledger.id for ledger in found), search.days, store.windows)
    windows = [replace(window, with_ledger=True) for window in unread]
    reader.requests_to_come.add_windows(windows)
    try:
        missing = read_windows(reader, windows, store, progress)
    except NotFoundError as error:
        given = [ledger.id for ledger in found if ledger.found_by == GIVEN_PARENTS and ledger.id in str(error)]
        if not given:
            raise
        raise InputError(f"parents: ledger {quote(given[0])} does not exist in this instance; correct its id") from None
    of_ledgers = group_by_ledger(store.windows)
    for ledger in found:  # in the order of ids, not of threads
        if ledger.id in reader.shown and ledger.fields is None:
            search.set_fields(ledger, reader.shown[ledger.id])
        for window in sorted(of_ledgers[ledger.id], key=lambda finished: finished.window.period):
            _follow(search, window)
    return missing


def _follow(search: LedgerSearch, window: FinishedWindow) -> None:
    """Add the opposing ledgers that a window's lines name.

    Also note the days of the lines.
    """
    table = window.read_table()
    if not table.num_rows:
        return
    ends = pc.min_max(table["datetime"]).as_py()
    search.note_days(ends["min"], ends["max"])
    name = search.found[window.window.ledger_id].name or window.window.ledger_id
    lists = map(split_list, pc.unique(table["opposing_ledger_ids"]).to_pylist())
    for ledger_id in sorted(set().union(*filter(None, lists))):
        search.add(ledger_id, f"opposing ledger of {name}")
