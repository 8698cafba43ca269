"""All line entries of books, and the ledgers that are found while these are read: each page is requested once.

The balances of a report name the ledgers that report cash flow. The lines of a ledger name the ledgers opposite to it,
whose lines are read next, until no new one is named. All days that the service accepts are read, so that the first
entry is certain; lines after the last day that was asked for serve to find ledgers only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from accounting_analytics.core.column_conversion import midnight_notes, split_lists
from accounting_analytics.core.errors import InputError, NotFoundError
from accounting_analytics.core.messages import quote
from accounting_analytics.core.periods import Period
from accounting_analytics.core.progress import LoadProgress
from accounting_analytics.loading.arrow_lines import lines_within, to_line_frame
from accounting_analytics.loading.checkpoint import WindowStore
from accounting_analytics.loading.ledger_discovery import GIVEN_PARENTS, LedgerSearch, keep_fields
from accounting_analytics.loading.load import (
    LoadedWindows,
    MissingWindow,
    check_newest_days,
    join_windows,
    read_windows,
)
from accounting_analytics.loading.request import DEFAULT_EXPANSIONS, LoadRequest, Window, check_in_flight
from accounting_analytics.loading.windows import WindowReader
from accounting_analytics.reports.books.extent import attach_load_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Load the lines until the last day that is asked for, and all ledgers; a chart that was kept is extended."""
    search = LedgerSearch(client, asked.time_zone, in_flight)
    search.read_cash_ledgers(asked.end_date)
    search.find_accepted_days(asked)
    known = [] if chart is None else chart.to_dict("records")
    for row in known:
        search.add(row["id"], row["found_by"], name=row["name"], sort_code=row["sort_code"])
    for ledger_id in (*parents, *filter(None, parents.values())):
        search.add(ledger_id, GIVEN_PARENTS)
    request = LoadRequest(
        client=client,
        ledger_ids=(),  # which are found
        period=search.days,
        expand=frozenset(DEFAULT_EXPANSIONS),
        filters={"is_cashflow": None, "tag_ids": None},
        verified=None,
        in_flight=check_in_flight(in_flight),
        allow_partial=allow_partial,
        notes=notes,
    )
    store, missing = WindowStore(), list[MissingWindow]()
    with LoadProgress(progress, lambda: client.quota.remaining) as bar:
        reader = WindowReader(request, last_day=asked.end_date)
        while search.unprobed:
            missing += _read_new(search, reader, store, bar)
            for row in known:
                keep_fields(search.found[row["id"]], row)
            search.read_higher_parents(parents)
        check_newest_days(reader, store, set(search.found))
    ledgers = search.frame(parents, {})
    first = min(search.first_day or asked.start_date, asked.start_date)
    period = Period(first, asked.end_date, asked.time_zone)
    loaded = LoadedWindows(
        replace(request, ledger_ids=tuple(ledgers["id"]), period=period), tuple(store.windows), tuple(missing)
    )
    table, repeats = join_windows(loaded)
    frame = to_line_frame(lines_within(table, period), request.scale, period.time_zone)
    frame.attrs["notes"] = (*loaded.notes(repeats), *midnight_notes(frame["datetime"], period.time_zone))
    attach_load_metadata(frame, loaded.metadata(len(frame)))
    return frame, ledgers


def _read_new(
    search: LedgerSearch, reader: WindowReader, store: WindowStore, progress: LoadProgress
) -> list[MissingWindow]:
    """Read the ledgers that were found last, and add those that their lines name."""
    found, search.unprobed = sorted(search.unprobed, key=lambda one: one.id), []
    windows = [Window(one.id, search.days, with_ledger=True) for one in found]
    reader.requests_to_come.add_windows(windows)
    before = len(store.windows)
    try:
        missing = read_windows(reader, windows, store, progress)
    except NotFoundError as error:
        given = [one.id for one in found if one.found_by == GIVEN_PARENTS and one.id in str(error)]
        if not given:
            raise
        raise InputError(f"parents: ledger {quote(given[0])} does not exist in this instance; correct its id") from None
    for ledger in found:  # in an order of their own, whichever thread read them first
        if ledger.id in reader.shown and ledger.fields is None:
            search.set_fields(ledger, reader.shown[ledger.id])
    for window in sorted(store.windows[before:], key=lambda one: (one.window.ledger_id, one.window.period)):
        _follow(search, window)
    return missing


def _follow(search: LedgerSearch, window: FinishedWindow) -> None:
    """Add the ledgers that are opposite to the lines of a window, and the days of these."""
    table = window.read_table()
    if not table.num_rows:
        return
    ends = pc.min_max(table["datetime"]).as_py()
    search.note_days(ends["min"], ends["max"])
    name = search.found[window.window.ledger_id].name or window.window.ledger_id
    opposing = split_lists(pc.unique(table["opposing_ledger_ids"]).to_pandas())
    for ledger_id in sorted(set(opposing)):
        search.add(ledger_id, f"opposing ledger of {name}")
