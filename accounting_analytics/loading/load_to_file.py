"""A load beyond memory: windows on disk, written as one ordered Parquet file."""

from __future__ import annotations

import math
from contextlib import contextmanager
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.core.atomic_files import write_durably
from accounting_analytics.core.duckdb_settings import WITHOUT_EXTENSIONS, exact_name
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.progress import LoadProgress
from accounting_analytics.loading.arrow_lines import line_schema, remove_repeats, with_local_dates
from accounting_analytics.loading.checkpoint import Checkpoint
from accounting_analytics.loading.load import load_windows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import duckdb

    from accounting_analytics.loading.load import LoadedWindows
    from accounting_analytics.loading.request import LoadRequest

_ROWS_PER_BATCH = 1 << 15
_LINES_PER_PART = 100_000
_CONFIG = WITHOUT_EXTENSIONS | {"memory_limit": "200MB", "threads": 1}


def load_in_order(request: LoadRequest, path: Path, *, checkpoint: Path, progress: bool | None = None) -> None:
    """Load line entries into a Parquet file ordered by (datetime, id).

    The file appears when it is complete. Memory holds only the windows that are being read. A load that failed or was
    killed continues from the windows in `checkpoint` when it is called again with the same request. After a finished
    load, the windows are read from `checkpoint` without a request.
    """
    with (
        Checkpoint(checkpoint, request) as store,
        LoadProgress(progress, lambda: request.client.quota.remaining) as bar,
    ):
        write_in_order(load_windows(request, store, bar), path)


def write_in_order(loaded: LoadedWindows, path: Path) -> None:
    """Write the lines of windows on disk, each once, ordered by (datetime, id)."""
    import duckdb  # noqa: PLC0415 (slow to import, and loads into memory need none)

    pa.default_memory_pool().release_unused()  # frees memory of the loading threads; DuckDB has its own memory
    time_zone = loaded.request.period.time_zone
    lines = line_schema(loaded.request.expand, loaded.request.scale)

    def write(file: BinaryIO) -> None:
        schema = with_local_dates(lines.empty_table(), time_zone).schema
        with (
            _sorted_lines(loaded, lines, path.parent) as batches,
            pq.ParquetWriter(file, schema, compression="zstd", compression_level=1, store_schema=False) as writer,
        ):
            for batch in batches:
                writer.write_table(with_local_dates(pa.Table.from_batches([batch]).cast(lines), time_zone))

    try:
        write_durably(path, write)
    except (OSError, duckdb.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be written ({reason}); its previous content is unchanged") from error


@contextmanager
def _sorted_lines(loaded: LoadedWindows, schema: pa.Schema, folder: Path) -> Iterator[Iterable[pa.RecordBatch]]:
    """Refuse ids with different contents, and yield sorted batches of lines.

    DuckDB sorts the lines.
    """
    import duckdb  # noqa: PLC0415 (slow to import, and loads into memory need none)

    files = [
        exact_name(str(finished.path))
        for finished in loaded.windows
        if finished.path is not None and finished.counts.lines
    ]
    if not files:
        yield ()
        return
    with (
        TemporaryDirectory(prefix=".line-entries-", dir=folder, ignore_cleanup_errors=True) as temporary,
        duckdb.connect(config=_CONFIG | {"temp_directory": temporary}) as database,
    ):
        database.execute("set TimeZone = 'UTC'")
        database.read_parquet(files).create_view("line")
        repeated = database.sql("from line where id in (select id from line group by id having count(*) > 1)")
        unique, repeats = remove_repeats(repeated.to_arrow_table().cast(schema))
        database.register("repeated_line", unique)
        query = "(from line anti join repeated_line using (id) union all from repeated_line)" if repeats else "line"
        yield _in_order(database, query, sum(finished.counts.lines for finished in loaded.windows))


def _in_order(database: duckdb.DuckDBPyConnection, query: str, count: int) -> Iterator[pa.RecordBatch]:
    """Sort the lines in parts, because millions of lines exceed memory."""
    parts = math.ceil(count / _LINES_PER_PART)
    shares = [part / parts for part in range(1, parts)]
    bounds = database.sql(f"select approx_quantile(epoch_us(datetime), {shares}::float[])::bigint[] from line")  # noqa: S608 (our own numbers)
    limits = bounds.fetchall()[0][0] if shares else []
    for since, until in pairwise([None, *limits, None]):
        conditions = [] if since is None else [f"datetime >= make_timestamptz({since})"]
        conditions += [] if until is None else [f"datetime < make_timestamptz({until})"]
        lines = database.sql(f"from {query} where {' and '.join(conditions or ['true'])} order by datetime, id")
        yield from lines.to_arrow_reader(_ROWS_PER_BATCH)
