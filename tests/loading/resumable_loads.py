"""Loads that continue from a checkpoint, as the first sync of local books makes them, and the frames of their files."""

import pyarrow as pa
import pyarrow.parquet as pq

from accounting_analytics.core.schemas import LineEntries
from accounting_analytics.loading.load_to_file import load_in_order
from accounting_analytics.loading.request import LoadRequest


def load_resumable(client, ledger_ids, days, folder, **options):
    """Load lines into a file beside the checkpoint; return its path."""
    path = folder.with_name(f"{folder.name}.parquet")
    load_in_order(LoadRequest.from_options(client, ledger_ids, *days, **options), path, checkpoint=folder)
    return path


def read_lines(path):
    table = pq.read_table(path)
    for number, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            floats = pa.array(table[number].to_pandas().astype("float64"), from_pandas=True)
            table = table.set_column(number, field.name, floats)
    return LineEntries.checked(table.to_pandas())
