"""Line entries of some ledgers in a period, as one validated frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from accounting_analytics.errors import InputError
from accounting_analytics.loader.checkpoint import Checkpoint
from accounting_analytics.loader.columns import counted, in_order, line_schema, without_repeats
from accounting_analytics.loader.query import LineEntryQuery
from accounting_analytics.loader.reading import Loaded, read_all
from accounting_analytics.loader.shelf import MemoryShelf
from accounting_analytics.progress import LoadProgress
from accounting_analytics.schemas import BOOLEAN, INSTANT, TEXT, TEXT_LIST, LineEntries

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable
    from pathlib import Path

    from accounting_analytics.client import LedgerClient

DEFAULT_EXPANSIONS = ("transaction", "journal_entry", "opposing_ledger_ids")
DEFAULT_IN_FLIGHT = 8
_TO_PANDAS = {
    pa.string(): TEXT,
    pa.timestamp("us", "UTC"): INSTANT,
    pa.bool_(): BOOLEAN,
    pa.list_(pa.string()): TEXT_LIST,
}


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
    shelf = MemoryShelf() if checkpoint is None else Checkpoint(checkpoint, client, query)
    with shelf, LoadProgress(progress, client) as shown:
        loaded = read_all(client, query, shelf, shown, in_flight=at_once, allow_partial=allow_partial)
        return line_entries_frame(loaded)


def checked_in_flight(in_flight: int) -> int:
    """Return a number of requests at once that makes sense."""
    if isinstance(in_flight, bool) or not isinstance(in_flight, int) or in_flight < 1:
        msg = f"in_flight must be a whole number from 1, not {in_flight!r}"
        raise InputError(msg)
    return in_flight


def line_entries_frame(loaded: Loaded) -> pd.DataFrame:
    """All lines of a load as LineEntries."""
    schema = line_schema(loaded.query.expand, loaded.query.scale)
    table = pa.concat_tables([schema.empty_table(), *(one.table() for one in loaded.windows)])
    table, repeated = without_repeats(table)
    table = in_order(table)
    frame = as_frame(table)
    frame.attrs["notes"] = load_notes(loaded, repeated)
    frame.attrs["load"] = loaded.as_json()
    return frame


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Lines as a validated LineEntries frame."""
    return LineEntries.checked(table.to_pandas(types_mapper=_TO_PANDAS.get).astype(_amount_dtypes(table)))


def load_notes(loaded: Loaded, repeated: int) -> tuple[str, ...]:
    """Say what came in oddly, and what did not come."""
    return counted(
        (
            sum(one.dusted for one in loaded.windows),
            "amount(s) had float dust, within 1e-6 of the exact value, removed",
        ),
        (
            repeated + sum(one.repeated for one in loaded.windows),
            "line(s) came more than once with the same content and were kept once",
        ),
        (
            len(loaded.missing),
            f"window(s) could not be read, so lines are missing; the first: {loaded.missing[0].error}"
            if loaded.missing
            else "",
        ),
    )


def _amount_dtypes(table: pa.Table) -> dict[str, pd.ArrowDtype]:
    return {field.name: pd.ArrowDtype(field.type) for field in table.schema if pa.types.is_decimal(field.type)}
