"""Export to a star schema of flat Parquet files for BI tools."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from accounting_analytics.errors import InputError
from accounting_analytics.exports.dataset import SUFFIX, write_dataset
from accounting_analytics.exports.dataset import replace_months as replace_months_of
from accounting_analytics.exports.manifest import Manifest, current_manifest, export_folder
from accounting_analytics.exports.prepared_export import PreparedExport
from accounting_analytics.exports.version_folder import CURRENT

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport

parquet_folder = partial(export_folder, suffix=SUFFIX)
"""Folder of an export in this format; anything else is refused."""


def export_parquet(
    output: str | Path,
    *,
    line_entries: pd.DataFrame,
    ledgers: pd.DataFrame,
    report: CashFlowReport,
    replace_months: bool = False,
    currency: str | None = None,
    fiscal_year_start_month: int = 1,
) -> Manifest:
    """Write the books of a period as a star schema of Parquet files, with a manifest.

    ``output/current`` has the export, in ``fact_*/month=YYYY-MM/`` and ``dim_*.parquet``. It is replaced in one step:
    a reader sees the previous export or the new one. The version before is kept until the next export.

    Parameters
    ----------
    output : path
        Folder of the export: new, empty, or with an earlier export.
    line_entries : DataFrame
        :class:`~accounting_analytics.schemas.LineEntries`; those of the report's period are exported.
    ledgers : DataFrame
        :class:`~accounting_analytics.schemas.Ledgers`.
    report : CashFlowReport
        Its lines, balances, period and time zone; local dates are in that zone.
    replace_months : bool
        Replace only the months of the report's period, and keep all other months of the export.
    currency : str, optional
        Name of the currency, such as ``USD``; the service does not state it.
    fiscal_year_start_month : int
        First month of the fiscal year, 1 to 12.

    Returns
    -------
    Manifest
        Files with rows, exact sums and digests, and how report and line entries agree.

    Raises
    ------
    FrameError
        A table is not valid, the scales differ, or an amount or a balance has more than 18 digits.
    InputError
        An argument is of another type, the report is filtered by tags, the folder contains other files, is in use or
        cannot be written, or the months cannot be combined with the earlier export.
    """
    folder = parquet_folder(output)
    prepared = PreparedExport.of_frames(
        folder.path / CURRENT,
        line_entries,
        ledgers,
        report,
        currency=currency,
        fiscal_year_start_month=fiscal_year_start_month,
    )
    manifest, star = prepared.manifest, prepared.star_schema()
    try:
        with folder.new_version() as version:
            previous = current_manifest(folder, SUFFIX)
            if replace_months and previous:
                return replace_months_of(version, star, manifest, previous)
            return write_dataset(version, star, manifest, previous)
    except OSError as error:
        msg = f"the export to {output} failed ({error.strerror or error}); the previous content is unchanged"
        raise InputError(msg) from error
