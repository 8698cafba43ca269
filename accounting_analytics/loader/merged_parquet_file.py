"""Loaded line entries as one Parquet file: the windows on disk merged by (datetime, id), written batch by batch."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounting_analytics.atomic_files import write_durably
from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import to_file_metadata
from accounting_analytics.loader.line_tables import INSTANT, line_schema, remove_repeats, sort_lines, with_local_dates
from accounting_analytics.messages import fit_terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from accounting_analytics.loader.whole_load import LoadedWindows
    from accounting_analytics.loader.windows import FinishedWindow

_ROWS_PER_BATCH = 1 << 15


@dataclass(frozen=True, repr=False)
class LoadedFile:
    """A Parquet file of line entries.

    Parameters
    ----------
    path : Path
        The file.
    lines : int
        Its rows.
    notes : tuple of str
        Values that were normalized.
    load : dict
        Metadata of the load, as in ``attrs["load"]`` of a frame and in the metadata of the file.
    """

    path: Path
    lines: int
    notes: tuple[str, ...]
    load: dict[str, Any]

    def __repr__(self) -> str:
        return fit_terminal("\n".join([self.summary(), *(f"Note: {note}" for note in self.notes)]))

    def summary(self) -> str:
        """One line: the file and its number of lines."""
        return f"{self.lines:,} lines in {self.path}"


def write_parquet(loaded: LoadedWindows, path: Path) -> LoadedFile:
    """Write all lines of a load, ordered by (datetime, id); the file appears when it is complete."""
    _require_one_content([one for one in loaded.windows if one.lines])
    written = repeats_removed = 0

    def write(file: BinaryIO) -> None:
        nonlocal written, repeats_removed
        time_zone = loaded.request.period.time_zone
        lines = line_schema(loaded.request.expand, loaded.request.scale)
        schema = with_local_dates(lines.empty_table(), time_zone).schema
        with pq.ParquetWriter(file, schema, compression="zstd", compression_level=1, store_schema=False) as writer:
            for table, repeats in _unique_batches(loaded.windows, lines.empty_table()):
                repeats_removed += repeats
                writer.write_table(with_local_dates(table, time_zone))
                written += table.num_rows
                pa.default_memory_pool().release_unused()
            metadata = loaded.metadata(written) | {"notes": loaded.notes(repeats_removed)}
            writer.add_key_value_metadata(to_file_metadata(metadata))

    try:
        write_durably(path, write)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written ({error.strerror or error}); its previous content is unchanged"
        ) from error
    return LoadedFile(path, written, loaded.notes(repeats_removed), loaded.metadata(written))


def _unique_batches(windows: Iterable[FinishedWindow], empty: pa.Table) -> Iterator[tuple[pa.Table, int]]:
    """Batches of lines in order, each line once, with the number of repeats between windows that were removed.

    Each window is sorted, and its row groups are read when their first line is due: memory holds about one row group
    a ledger.
    """
    paths = [one.path for one in windows if one.path is not None and one.lines]
    due = [
        (first, index, group) for index, path in enumerate(paths) for group, first in enumerate(_first_instants(path))
    ]
    heapq.heapify(due)
    pending = [empty]
    pending_rows = 0
    while due:
        _, index, group = heapq.heappop(due)
        pending.append(_read_row_group(paths[index], group))
        pending_rows += pending[-1].num_rows
        if due and pending_rows < _ROWS_PER_BATCH:
            continue
        batch = rows = pa.concat_tables(pending)
        pending, pending_rows = [], 0
        if due:  # all lines before the next row group are here
            is_complete = pc.less(rows["datetime"], pa.scalar(due[0][0], INSTANT))
            batch = rows.filter(is_complete)
            pending = [rows.filter(pc.invert(is_complete))]
        unique, repeats = remove_repeats(sort_lines(batch))
        if unique.num_rows:
            yield unique, repeats


def _first_instants(path: Path) -> list[int]:
    """Instant of the first line of each row group, in microseconds since 1970."""
    with pq.ParquetFile(path) as file:
        column = file.schema_arrow.names.index("datetime")
        groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
        return [group.column(column).statistics.min_raw for group in groups]


def _read_row_group(path: Path, group: int) -> pa.Table:
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, use_threads=False).replace_schema_metadata(None)


def _require_one_content(windows: list[FinishedWindow]) -> None:
    """Refuse an id that two windows have with different content; memory holds only a hash of each id.

    This reads every window completely once, so damage is found before the first line is passed on.
    """
    hashes = [np.fromiter(map(hash, one.read_table()["id"].to_pylist()), np.int64, one.lines) for one in windows]
    all_hashes = np.sort(np.concatenate([np.empty(0, np.int64), *hashes]))
    repeated = all_hashes[1:][all_hashes[1:] == all_hashes[:-1]]
    if len(repeated):
        suspects = [
            one.read_table().filter(pa.array(np.isin(of_window, repeated)))
            for one, of_window in zip(windows, hashes, strict=True)
        ]
        remove_repeats(pa.concat_tables(suspects))
