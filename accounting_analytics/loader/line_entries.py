"""Line entries of some ledgers in a period: as one frame, as a Parquet file, or as a plan of the load."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from accounting_analytics.arguments import to_path, to_texts
from accounting_analytics.column_conversion import BOOLEAN, INSTANT, TEXT, signed
from accounting_analytics.errors import AmountError, InputError
from accounting_analytics.load_metadata import attach_load_metadata
from accounting_analytics.loader import line_tables as arrow
from accounting_analytics.loader.checkpoint import Checkpoint, WindowStore
from accounting_analytics.loader.line_tables import remove_repeats, sort_lines, with_local_dates
from accounting_analytics.loader.load_estimate import LoadPlan, estimate_load
from accounting_analytics.loader.load_request import DEFAULT_EXPANSIONS, LoadRequest, check_ledger_ids
from accounting_analytics.loader.merged_parquet_file import LoadedFile, write_parquet
from accounting_analytics.loader.whole_load import load_windows
from accounting_analytics.loader.worker_pool import DEFAULT_IN_FLIGHT
from accounting_analytics.local_books import LocalBooks, days_of_books, refuse_options
from accounting_analytics.messages import join_ids
from accounting_analytics.money import to_floats
from accounting_analytics.progress import LoadProgress
from accounting_analytics.schemas import LineEntries

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt
    from pandas.api.extensions import ExtensionDtype

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.load_request import Consistency
    from accounting_analytics.loader.whole_load import LoadedWindows
    from accounting_analytics.periods import DateLike, Period, ZoneLike

_DTYPES = {arrow.TEXT: TEXT, arrow.INSTANT: INSTANT, pa.bool_(): BOOLEAN}


def load_line_entries(
    client: LedgerClient | LocalBooks,
    ledger_ids: Iterable[str],
    start_date: DateLike,
    end_date: DateLike,
    *,
    time_zone: ZoneLike | None = None,
    is_cashflow: bool | None = None,
    tag_ids: Iterable[str] | None = None,
    expand: Iterable[str] = DEFAULT_EXPANSIONS,
    consistency: Consistency = "newest",
    checkpoint: str | Path | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
    allow_partial: bool = False,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Load all line entries of some ledgers in a period.

    Ledgers with many lines are split into windows of days, which are read in parallel. The same books give the same
    frame, in whatever order the windows arrive.

    Parameters
    ----------
    client : LedgerClient or Books
        The service, or local books: all their columns are returned, and `in_flight`, `allow_partial` and `progress`
        are not needed, because no request is sent. Other `expand`, `consistency` and `checkpoint` are refused.
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
    checkpoint : path, optional
        Folder where finished windows are saved: a load that failed or was killed continues from there when it is called
        again with the same arguments, and a finished load is read back without a request. With `consistency` ``"all"``
        the windows of an earlier call are read again too, unless that call has done so.
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
    CheckpointError
        The checkpoint belongs to another load, is in use, is damaged, or cannot be written.
    """
    if isinstance(client, LocalBooks):
        _refuse_without_effect(expand, consistency, checkpoint)
        return client.line_entries(
            days_of_books(client, start_date, end_date, time_zone),
            ledger_ids=check_ledger_ids(ledger_ids),
            is_cashflow=is_cashflow,
            tag_ids=None if tag_ids is None else to_texts(tag_ids),
        )
    request = LoadRequest.from_arguments(
        client,
        ledger_ids,
        start_date,
        end_date,
        time_zone,
        is_cashflow=is_cashflow,
        tag_ids=tag_ids,
        expand=expand,
        consistency=consistency,
        checkpoint=checkpoint,
        in_flight=in_flight,
        allow_partial=allow_partial,
    )
    store = WindowStore() if request.checkpoint is None else Checkpoint(request.checkpoint, request)
    with store, LoadProgress(progress, lambda: client.quota.remaining) as bar:
        return _build_frame(load_windows(request, store, bar))


def load_line_entries_to_parquet(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: DateLike,
    end_date: DateLike,
    path: str | Path,
    *,
    time_zone: ZoneLike | None = None,
    is_cashflow: bool | None = None,
    tag_ids: Iterable[str] | None = None,
    expand: Iterable[str] = DEFAULT_EXPANSIONS,
    consistency: Consistency = "newest",
    checkpoint: str | Path | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
    progress: bool | None = None,
) -> LoadedFile:
    """Load all line entries of some ledgers in a period into one Parquet file, ordered by (datetime, id).

    Memory holds the windows in flight, not the books. The file appears when it is complete; its previous content stays
    until then. The parameters are those of :func:`load_line_entries`.

    Returns
    -------
    LoadedFile
        Path, rows, notes.

    Raises
    ------
    ServiceError
        The service failed or broke its interface; no file was written.
    ChangedWhileReadingError
        Lines were added, removed or changed during the load.
    CheckpointError
        The checkpoint belongs to another load, is in use, is damaged, or cannot be written.
    InputError
        The file cannot be written.
    """
    request = LoadRequest.from_arguments(
        client,
        ledger_ids,
        start_date,
        end_date,
        time_zone,
        is_cashflow=is_cashflow,
        tag_ids=tag_ids,
        expand=expand,
        consistency=consistency,
        checkpoint=checkpoint,
        in_flight=in_flight,
    )
    target = to_path(path, "path")
    with ExitStack() as stack:
        folder = request.checkpoint or Path(stack.enter_context(_temporary_folder(target.parent)))
        store = stack.enter_context(Checkpoint(folder, request, temporary=request.checkpoint is None))
        bar = stack.enter_context(LoadProgress(progress, lambda: client.quota.remaining))
        return write_parquet(load_windows(request, store, bar), target)


def plan_load(
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
    checkpoint: str | Path | None = None,
    requests_per_minute: float | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
) -> LoadPlan:
    """Estimate what a load will cost, without loading; the parameters are those of :func:`load_line_entries`.

    One small page of each ledger that is not in the checkpoint yet shows how many lines it has on a day; the rest is
    calculated from that.

    Parameters
    ----------
    requests_per_minute : float, optional
        The rate to calculate with; by default the rate limit that the service reports, else the documented one.

    Raises
    ------
    ServiceError
        The service failed.
    CheckpointError
        The checkpoint belongs to another load, is in use, or is damaged.
    """
    request = LoadRequest.from_arguments(
        client,
        ledger_ids,
        start_date,
        end_date,
        time_zone,
        is_cashflow=is_cashflow,
        tag_ids=tag_ids,
        expand=expand,
        consistency=consistency,
        checkpoint=checkpoint,
        in_flight=in_flight,
    )
    return estimate_load(request, requests_per_minute)


def _refuse_without_effect(expand: Iterable[str], consistency: Consistency, checkpoint: str | Path | None) -> None:
    """Refuse what local books do not have or do not need."""
    refuse_options(checkpoint=checkpoint, consistency=None if consistency == "newest" else consistency)
    if absent := sorted(set(to_texts(expand)) - set(DEFAULT_EXPANSIONS)):
        raise InputError(
            f"local books do not have what expand= asks for, {join_ids(absent)}: they have "
            f"{', '.join(DEFAULT_EXPANSIONS)}; load from the service for more"
        )


def load_line_table(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    days: Period,
    *,
    is_cashflow: bool | None = None,
    progress: bool | None = None,
) -> pa.Table:
    """Load all line entries of some ledgers as an exact Arrow table without local dates, ordered by (datetime, id)."""
    request = LoadRequest.from_arguments(
        client,
        ledger_ids,
        days.start_date,
        days.end_date,
        days.time_zone,
        expand=DEFAULT_EXPANSIONS,
        consistency="newest",
        checkpoint=None,
        in_flight=DEFAULT_IN_FLIGHT,
        is_cashflow=is_cashflow,
    )
    with WindowStore() as store, LoadProgress(progress, lambda: client.quota.remaining) as bar:
        return _join_windows(load_windows(request, store, bar))[0]


def _temporary_folder(parent: Path) -> tempfile.TemporaryDirectory[str]:
    """Folder beside a file that is written, deleted after the load."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=".line-entries-", dir=parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise InputError(f"{parent} cannot be written ({error.strerror or error}); no request was sent") from error


def _build_frame(loaded: LoadedWindows) -> pd.DataFrame:
    """Join all windows of a load into one frame with notes and metadata."""
    table, repeats = _join_windows(loaded)
    request = loaded.request
    frame = to_line_frame(
        table, request.scale, request.period.time_zone, as_decimals=request.client.amounts == "decimal"
    )
    frame.attrs["notes"] = loaded.notes(repeats)
    attach_load_metadata(frame, loaded.metadata(len(frame)))
    return frame


def _join_windows(loaded: LoadedWindows) -> tuple[pa.Table, int]:
    """Join all windows of a load in order, each line once, and count the repeats that were removed."""
    schema = arrow.line_schema(loaded.request.expand, loaded.request.scale)
    table = pa.concat_tables([schema.empty_table(), *(one.read_table() for one in loaded.windows)])
    unique, repeats = remove_repeats(table)
    return sort_lines(unique), repeats


def to_line_frame(table: pa.Table, scale: int, time_zone: str, *, as_decimals: bool = False) -> pd.DataFrame:
    """Convert exact lines to a validated frame, with the local date of each."""
    table = with_local_dates(table, time_zone)
    amounts = [] if as_decimals else [field.name for field in table.schema if pa.types.is_decimal(field.type)]
    columns = {name: _floats(table, name) for name in amounts if name != "signed_amount"}
    frame = table.drop_columns(amounts).to_pandas(types_mapper=_dtype)
    for name, values in columns.items():
        frame[name] = values
    if amounts:
        frame["signed_amount"] = signed(frame["amount"], frame["debit_credit"])
    frame = frame[table.column_names]
    frame.attrs["scale"] = scale
    return LineEntries.require_valid(frame)


def _floats(table: pa.Table, name: str) -> npt.NDArray[np.float64]:
    try:
        return to_floats(table[name])
    except AmountError as error:
        largest = pc.index(pc.abs(table[name]), pc.max(pc.abs(table[name]))).as_py()
        raise AmountError(
            f"line entry {table['id'][largest]} of ledger {table['ledger_id'][largest]}: {name}: {error}"
        ) from None


def _dtype(kind: pa.DataType) -> ExtensionDtype | None:
    """Dtype of a column; decimals keep their Arrow type."""
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else _DTYPES.get(kind)
