"""Line entries of some ledgers in a period, as one validated frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.errors import InputError
from accounting_analytics.loader.checkpoint import Checkpoint
from accounting_analytics.loader.frames import line_entries_frame
from accounting_analytics.loader.load_windows import read_all
from accounting_analytics.loader.query import LineEntryQuery
from accounting_analytics.loader.window_files import MemoryShelf
from accounting_analytics.progress import LoadProgress

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.window_files import Shelf

DEFAULT_EXPANSIONS = ("transaction", "journal_entry", "opposing_ledger_ids")
DEFAULT_IN_FLIGHT = 8


def load_line_entries(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: dt.date | str,
    end_date: dt.date | str,
    *,
    time_zone: str = "UTC",
    is_cashflow: bool | None = None,
    tag_ids: Iterable[str] | None = None,
    expand: Iterable[str] = DEFAULT_EXPANSIONS,
    checkpoint: str | Path | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
    allow_partial: bool = False,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Load all line entries of some ledgers in a period.

    The period is cut into windows of days that are read at the same time, as many as the first page of a ledger calls
    for. Whatever the order in which they come, the same books give the same frame.

    Parameters
    ----------
    client : LedgerClient
        The service.
    ledger_ids : iterable of str
        The ledgers; each once.
    start_date, end_date : datetime.date or str
        First and last day, both inclusive, local to `time_zone`.
    is_cashflow : bool, optional
        Only lines whose entry touches a ledger that reports cash flow (True), or only the others (False).
    tag_ids : iterable of str, optional
        Only lines that carry all these tags.
    expand : iterable of str
        What the service sends along; columns of what was not expanded are absent.
    checkpoint : path, optional
        Folder where finished windows are kept as they come: a load that failed or was killed goes on from there when it
        is called again with the same arguments, and a finished one is read back without a request.
    in_flight : int
        How many requests at once at most; the client's own pace holds as well.
    allow_partial : bool
        Return what could be read when some windows fail; ``attrs["load"]["missing"]`` names the days, and figures
        made from such a frame are refused unless they allow it too.
    progress : bool, optional
        A progress bar; None shows one where somebody is watching.

    Returns
    -------
    DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`, ordered by (datetime, id). ``attrs["notes"]`` says what
        came in oddly, ``attrs["load"]`` what was asked for and read: ledgers, period, windows, complete or not.

    Raises
    ------
    ServiceError
        The service failed or broke its interface; nothing is returned, loading again is safe.
    ChangedWhileReadingError
        Lines came, went or changed while they were read.
    CheckpointError
        The checkpoint belongs to another load, is in use, is damaged, or cannot be written.
    """
    query = LineEntryQuery.of(
        client,
        ledger_ids,
        start_date,
        end_date,
        time_zone=time_zone,
        is_cashflow=is_cashflow,
        tag_ids=tag_ids,
        expand=expand,
    )
    at_once = checked_in_flight(in_flight)
    with _shelf(checkpoint, client, query) as shelf, LoadProgress(progress, client) as shown:
        return read_all(
            client,
            query,
            shelf,
            shown,
            in_flight=at_once,
            make=line_entries_frame,
            allow_partial=allow_partial,
        )


def _shelf(checkpoint: str | Path | None, client: LedgerClient, query: LineEntryQuery) -> Shelf:
    """Where windows are kept: in memory, or in a folder."""
    return MemoryShelf() if checkpoint is None else Checkpoint(checkpoint, client, query)


def checked_in_flight(in_flight: int) -> int:
    """Return a number of requests at once that makes sense."""
    if isinstance(in_flight, bool) or not isinstance(in_flight, int) or in_flight < 1:
        msg = f"in_flight must be a whole number from 1, not {in_flight!r}"
        raise InputError(msg)
    return in_flight
