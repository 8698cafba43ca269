"""Loads larger than memory: finished windows go to disk, and come back in order, a batch at a time."""

from __future__ import annotations

import heapq
import json
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounting_analytics.atomic_files import write_durably
from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import LOAD_METADATA_KEY
from accounting_analytics.loader.checkpoint import Checkpoint
from accounting_analytics.loader.frames import as_frame
from accounting_analytics.loader.line_entries import DEFAULT_EXPANSIONS, DEFAULT_IN_FLIGHT, checked_in_flight
from accounting_analytics.loader.load_windows import Loaded, read_all
from accounting_analytics.loader.notes import load_notes
from accounting_analytics.loader.page_decoder import INSTANT, in_order, line_schema, without_repeats
from accounting_analytics.loader.query import LineEntryQuery
from accounting_analytics.progress import LoadProgress

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Iterator

    import pandas as pd

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.window_files import KeptWindow

_ROWS_A_BATCH = 1 << 15


@dataclass(frozen=True)
class LoadedFile:
    """A Parquet file of line entries.

    Parameters
    ----------
    path : Path
        The file.
    lines : int
        Its rows.
    notes : tuple of str
        What came in oddly.
    load : dict
        What was asked for and read, as in ``attrs["load"]`` of a frame; the file's metadata say the same.
    """

    path: Path
    lines: int
    notes: tuple[str, ...]
    load: dict[str, Any]


def load_line_entries_to_parquet(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: dt.date | str,
    end_date: dt.date | str,
    path: str | Path,
    *,
    time_zone: str = "UTC",
    is_cashflow: bool | None = None,
    tag_ids: Iterable[str] | None = None,
    expand: Iterable[str] = DEFAULT_EXPANSIONS,
    checkpoint: str | Path | None = None,
    in_flight: int = DEFAULT_IN_FLIGHT,
    progress: bool | None = None,
) -> LoadedFile:
    """Load all line entries of some ledgers in a period into one Parquet file, ordered by (datetime, id).

    Memory holds the windows in flight, not the books. The file appears when it is whole; what was there before stays
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
        Lines came, went or changed while they were read.
    CheckpointError
        The checkpoint belongs to another load, is in use, is damaged, or cannot be written.
    InputError
        The file cannot be written.
    """
    target = Path(path)
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
    with _read(
        client,
        query,
        checkpoint=checkpoint,
        beside=target.parent,
        in_flight=checked_in_flight(in_flight),
        progress=progress,
    ) as loaded:
        batches = _Batches(loaded)
        written = 0

        def write(file: Any) -> None:  # noqa: ANN401 (a binary file)
            nonlocal written
            schema = line_schema(query.expand, query.scale)
            with pq.ParquetWriter(file, schema, compression="zstd", compression_level=1, store_schema=False) as writer:
                for table in batches:
                    writer.write_table(table)
                    written += table.num_rows
                    pa.default_memory_pool().release_unused()
                said = loaded.as_json(written) | {"notes": load_notes(loaded, batches.repeated)}
                writer.add_key_value_metadata({LOAD_METADATA_KEY: json.dumps(said).encode()})

        try:
            write_durably(target, write)
        except OSError as error:
            msg = f"{target} cannot be written ({error.strerror or error}); what was there before is still there"
            raise InputError(msg) from error
        return LoadedFile(target, written, load_notes(loaded, batches.repeated), loaded.as_json(written))


def iter_line_entry_batches(
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
    progress: bool | None = None,
) -> Iterator[pd.DataFrame]:
    """Iterate over all line entries of some ledgers in a period, as validated frames ordered by (datetime, id).

    Everything is read and compared before the first frame comes, so that whoever gets one gets all; until then it lies
    on disk, in the checkpoint or in a temporary folder. The parameters are those of :func:`load_line_entries`.

    Yields
    ------
    DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`, some ten thousand lines each: parts of one load, so figures
        made of fewer than all are refused.
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
    with _read(
        client, query, checkpoint=checkpoint, beside=None, in_flight=checked_in_flight(in_flight), progress=progress
    ) as loaded:
        stamp = loaded.as_json(sum(one.lines for one in loaded.windows))
        for table in _Batches(loaded):
            frame = as_frame(table)
            frame.attrs["load"] = stamp
            yield frame


@contextmanager
def _read(
    client: LedgerClient,
    query: LineEntryQuery,
    *,
    checkpoint: str | Path | None,
    beside: Path | None,
    in_flight: int,
    progress: bool | None,
) -> Iterator[Loaded]:
    """Read everything onto disk: into the checkpoint, or into a folder that is gone afterwards."""
    with ExitStack() as stack:
        if checkpoint is None:
            folder: str | Path = stack.enter_context(_temporary_folder(beside))
        else:
            folder = checkpoint
        shelf = stack.enter_context(Checkpoint(folder, client, query, passing=checkpoint is None))
        shown = stack.enter_context(LoadProgress(progress, client))
        yield read_all(client, query, shelf, shown, in_flight=in_flight, make=lambda loaded: loaded)


def _temporary_folder(beside: Path | None) -> tempfile.TemporaryDirectory[str]:
    try:
        if beside is not None:
            beside.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=".line-entries-", dir=beside, ignore_cleanup_errors=True)
    except OSError as error:
        msg = f"{beside or tempfile.gettempdir()} cannot be written ({error.strerror or error}); nothing was asked for"
        raise InputError(msg) from error


class _Batches:
    """Lines of all windows in order of (datetime, id), each once; counts the repeats left out.

    Windows are in order within themselves and are read back by row group, each when its first line is due: memory
    holds about one row group a ledger.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.repeated = 0
        self._schema = line_schema(loaded.query.expand, loaded.query.scale)
        self._paths = [one.path for one in loaded.windows if one.path is not None and one.lines]
        _require_one_content([one for one in loaded.windows if one.lines])

    def __iter__(self) -> Iterator[pa.Table]:
        due = [(first, at, group) for at, path in enumerate(self._paths) for group, first in enumerate(_firsts(path))]
        heapq.heapify(due)
        pending = [pa.Table.from_batches([], self._schema)]
        fresh = 0
        while due:
            _, at, group = heapq.heappop(due)
            pending.append(_row_group(self._paths[at], group))
            fresh += pending[-1].num_rows
            if due and fresh < _ROWS_A_BATCH:
                continue
            ready = waiting = pa.concat_tables(pending)
            pending, fresh = [], 0
            if due:  # whatever is still to be read comes at or after this
                early = pc.less(waiting["datetime"], pa.scalar(due[0][0], INSTANT))
                ready = waiting.filter(early)
                pending = [waiting.filter(pc.invert(early))]
            once, repeated = without_repeats(in_order(ready))
            self.repeated += repeated
            if once.num_rows:
                yield once


def _firsts(path: Path) -> list[int]:
    """Instant of the first line of each row group, in microseconds."""
    with pq.ParquetFile(path) as file:
        column = file.schema_arrow.names.index("datetime")
        groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
        return [group.column(column).statistics.min_raw for group in groups]


def _row_group(path: Path, group: int) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, use_threads=False).replace_schema_metadata(None)


def _require_one_content(windows: list[KeptWindow]) -> None:
    """Refuse an id that stands in two windows with other content; only eight bytes a line are held to find it.

    Every window is read for this once as a whole, so damage shows before the first line is passed on.
    """
    hashes = [np.fromiter(map(hash, one.table()["id"].to_pylist()), np.int64, one.lines) for one in windows]
    every = np.sort(np.concatenate([np.empty(0, np.int64), *hashes]))
    twice = every[1:][every[1:] == every[:-1]]
    if len(twice):
        suspects = [
            one.table().filter(pa.array(np.isin(of_one, twice))) for one, of_one in zip(windows, hashes, strict=True)
        ]
        without_repeats(pa.concat_tables(suspects))
