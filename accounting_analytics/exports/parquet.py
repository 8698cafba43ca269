"""Export to flat Parquet files for BI tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from accounting_analytics.exports.export_folder import export_dataset

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    import pandas as pd
    import pyarrow as pa

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.exports.manifest import Manifest


def export_parquet(
    output: str | Path, *, line_entries: pd.DataFrame, ledgers: pd.DataFrame, report: CashFlowReport
) -> Manifest:
    """Write ``fact_line_entry``, ``fact_cash_flow_line`` and ``dim_ledger`` with a manifest into a folder.

    The files are written to a temporary folder that replaces `output` when all of them are complete: a reader sees the
    previous export or the new one. A folder that contains anything but an export is left unchanged.

    Parameters
    ----------
    output : path
        Folder of the export; an earlier export in it is replaced.
    line_entries : DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    report : CashFlowReport
        Its lines, period and time zone; local dates are in that zone.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount does not fit 64-bit minor units.
    InputError
        An argument is of another type, or the folder contains other files or cannot be written.
    """
    return export_dataset(
        output, line_entries=line_entries, ledgers=ledgers, report=report, suffix=".parquet", write=_write_parquet
    )


def _write_parquet(table: pa.Table, file: BinaryIO) -> None:
    pq.write_table(table, file, compression="zstd", compression_level=1, store_schema=False, use_dictionary=True)
