"""Loaded line entries as one Parquet file, written batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.atomic_files import write_durably
from accounting_analytics.errors import InputError
from accounting_analytics.load_metadata import to_file_metadata
from accounting_analytics.loader.line_entry_schema import line_schema
from accounting_analytics.loader.line_tables import with_local_dates
from accounting_analytics.loader.merged_batches import LineEntryBatches
from accounting_analytics.messages import fit_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from accounting_analytics.loader.load_windows import LoadedWindows


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
    """Write all lines of a load, ordered by (datetime, id); the file appears when it is complete.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    batches = LineEntryBatches(loaded)
    written = 0

    def write(file: BinaryIO) -> None:
        nonlocal written
        time_zone = loaded.query.period.time_zone
        lines = line_schema(loaded.query.expand, loaded.query.scale)
        schema = with_local_dates(lines.empty_table(), time_zone).schema
        with pq.ParquetWriter(file, schema, compression="zstd", compression_level=1, store_schema=False) as writer:
            for table in batches:
                writer.write_table(with_local_dates(table, time_zone))
                written += table.num_rows
                pa.default_memory_pool().release_unused()
            metadata = loaded.metadata(written) | {"notes": loaded.notes(batches.repeats_removed)}
            writer.add_key_value_metadata(to_file_metadata(metadata))

    try:
        write_durably(path, write)
    except OSError as error:
        msg = f"{path} cannot be written ({error.strerror or error}); its previous content is unchanged"
        raise InputError(msg) from error
    return LoadedFile(path, written, loaded.notes(batches.repeats_removed), loaded.metadata(written))
