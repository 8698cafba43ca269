"""The lines of all windows on disk, merged into batches that are ordered by (datetime, id)."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from accounting_analytics.loader.line_entry_schema import INSTANT, line_schema
from accounting_analytics.loader.line_tables import remove_repeats, sort_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from accounting_analytics.loader.load_windows import LoadedWindows
    from accounting_analytics.loader.window_store import FinishedWindow

_ROWS_PER_BATCH = 1 << 15


class LineEntryBatches:
    """Batches of a load, each line once; `repeats_removed` counts the repeats between windows.

    Each window is sorted, and its row groups are read when their first line is due: memory holds about one row group
    a ledger.
    """

    def __init__(self, loaded: LoadedWindows) -> None:
        self.repeats_removed = 0
        self._schema = line_schema(loaded.query.expand, loaded.query.scale)
        self._paths = [one.path for one in loaded.windows if one.path is not None and one.lines]
        _require_one_content([one for one in loaded.windows if one.lines])

    def __iter__(self) -> Iterator[pa.Table]:
        due = [
            (first, index, group)
            for index, path in enumerate(self._paths)
            for group, first in enumerate(_first_instants(path))
        ]
        heapq.heapify(due)
        pending = [self._schema.empty_table()]
        pending_rows = 0
        while due:
            _, index, group = heapq.heappop(due)
            pending.append(_read_row_group(self._paths[index], group))
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
            self.repeats_removed += repeats
            if unique.num_rows:
                yield unique


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
