"""Loaded line entries as one Parquet file: the windows on disk, sorted by (datetime, id)."""

from __future__ import annotations

import math
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Unpack

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.arguments import to_path
from accounting_analytics.atomic_files import write_durably
from accounting_analytics.duckdb_settings import WITHOUT_EXTENSIONS, exact_name
from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import to_file_metadata
from accounting_analytics.loader.checkpoint import Checkpoint
from accounting_analytics.loader.line_tables import line_schema, remove_repeats, with_local_dates
from accounting_analytics.loader.load import load_windows
from accounting_analytics.loader.request import LoadRequest
from accounting_analytics.messages import fit_terminal
from accounting_analytics.progress import LoadProgress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accounting_analytics.client import LedgerClient
    from accounting_analytics.loader.load import LoadedWindows
    from accounting_analytics.loader.request import LoadOptions
    from accounting_analytics.periods import DateLike

_ROWS_PER_BATCH = 1 << 15
_LINES_PER_PART = 100_000
_CONFIG = WITHOUT_EXTENSIONS | {"memory_limit": "200MB", "threads": 1}


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


def load_line_entries_to_parquet(
    client: LedgerClient,
    ledger_ids: Iterable[str],
    start_date: DateLike,
    end_date: DateLike,
    path: str | Path,
    *,
    progress: bool | None = None,
    **options: Unpack[LoadOptions],
) -> LoadedFile:
    """Load all line entries of some ledgers in a period into one Parquet file, ordered by (datetime, id).

    Memory holds the windows in flight, not the books. The file appears when it is complete; its previous content stays
    until then. The options are those of :func:`load_line_entries`.

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
    request = LoadRequest.from_options(client, ledger_ids, start_date, end_date, **options)
    target = to_path(path, "path")
    with ExitStack() as stack:
        folder = request.checkpoint or Path(stack.enter_context(_temporary_folder(target.parent)))
        store = stack.enter_context(Checkpoint(folder, request, temporary=request.checkpoint is None))
        bar = stack.enter_context(LoadProgress(progress, lambda: client.quota.remaining))
        return _write_parquet(load_windows(request, store, bar), target)


def _temporary_folder(parent: Path) -> TemporaryDirectory[str]:
    """Folder beside a file that is written, deleted after the load."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return TemporaryDirectory(prefix=".line-entries-", dir=parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise InputError(f"{parent} cannot be written ({error.strerror or error}); no request was sent") from error


def _write_parquet(loaded: LoadedWindows, path: Path) -> LoadedFile:
    """Write all lines of a load, each once, ordered by (datetime, id); the file appears when it is complete."""
    time_zone = loaded.request.period.time_zone
    lines = line_schema(loaded.request.expand, loaded.request.scale)
    written = repeats_removed = 0

    def write(file: BinaryIO) -> None:
        nonlocal written, repeats_removed
        schema = with_local_dates(lines.empty_table(), time_zone).schema
        with (
            _sorted_lines(loaded, lines, path.parent) as (batches, repeats_removed),
            pq.ParquetWriter(file, schema, compression="zstd", compression_level=1, store_schema=False) as writer,
        ):
            for batch in batches:
                writer.write_table(with_local_dates(pa.Table.from_batches([batch]).cast(lines), time_zone))
                written += batch.num_rows
            metadata = loaded.metadata(written) | {"notes": loaded.notes(repeats_removed)}
            writer.add_key_value_metadata(to_file_metadata(metadata))

    try:
        write_durably(path, write)
    except (OSError, duckdb.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be written ({reason}); its previous content is unchanged") from error
    return LoadedFile(path, written, loaded.notes(repeats_removed), loaded.metadata(written))


@contextmanager
def _sorted_lines(
    loaded: LoadedWindows, schema: pa.Schema, folder: Path
) -> Iterator[tuple[Iterable[pa.RecordBatch], int]]:
    """Batches of lines in order, and how many repeats between windows were removed; DuckDB sorts them.

    An id that two windows have with different content is refused before the first batch.
    """
    files = [exact_name(str(one.path)) for one in loaded.windows if one.path is not None and one.counts.lines]
    if not files:
        yield (), 0
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
        yield _in_order(database, query, sum(one.counts.lines for one in loaded.windows)), repeats


def _in_order(database: duckdb.DuckDBPyConnection, query: str, count: int) -> Iterator[pa.RecordBatch]:
    """Sort the lines in parts of so many that DuckDB can, one after the other."""
    parts = math.ceil(count / _LINES_PER_PART)
    shares = [part / parts for part in range(1, parts)]
    bounds = database.sql(f"select approx_quantile(epoch_us(datetime), {shares}::float[])::bigint[] from line")  # noqa: S608 (our own numbers)
    limits = bounds.fetchall()[0][0] if shares else []
    for since, until in pairwise([None, *limits, None]):
        conditions = [] if since is None else [f"datetime >= make_timestamptz({since})"]
        conditions += [] if until is None else [f"datetime < make_timestamptz({until})"]
        lines = database.sql(f"from {query} where {' and '.join(conditions or ['true'])} order by datetime, id")
        yield from lines.to_arrow_reader(_ROWS_PER_BATCH)
