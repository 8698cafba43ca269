"""Loaded lines as validated frames: the part of a load that needs pandas, which takes a while to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from accounting_analytics.dtypes import BOOLEAN, INSTANT, TEXT, TEXT_LIST
from accounting_analytics.loader.notes import load_notes
from accounting_analytics.loader.page_decoder import in_order, line_schema, without_repeats
from accounting_analytics.schemas import LineEntries

if TYPE_CHECKING:
    from pandas.api.extensions import ExtensionDtype

    from accounting_analytics.loader.load_windows import Loaded

_TO_PANDAS = {
    pa.string(): TEXT,
    pa.timestamp("us", "UTC"): INSTANT,
    pa.bool_(): BOOLEAN,
    pa.list_(pa.string()): TEXT_LIST,
}


def line_entries_frame(loaded: Loaded) -> pd.DataFrame:
    """All lines of a load as LineEntries."""
    schema = line_schema(loaded.query.expand, loaded.query.scale)
    table = pa.concat_tables([schema.empty_table(), *(one.table() for one in loaded.windows)])
    table, repeated = without_repeats(table)
    table = in_order(table)
    frame = as_frame(table)
    frame.attrs["notes"] = load_notes(loaded, repeated)
    frame.attrs["load"] = loaded.as_json(len(frame))
    return frame


def as_frame(table: pa.Table) -> pd.DataFrame:
    """Lines as a validated LineEntries frame."""
    return LineEntries.checked(table.to_pandas(types_mapper=_dtype))


def _dtype(kind: pa.DataType) -> ExtensionDtype | None:
    """Dtype of a column; amounts stay what they are."""
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else _TO_PANDAS.get(kind)
