"""The formats that books can be exported to, by the name that ``accounting-analytics export --format`` takes."""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING, Protocol, cast

from accounting_analytics.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from accounting_analytics.cash_flow_report import CashFlowReport
    from accounting_analytics.exports.manifest import Manifest

FORMATS = {
    "parquet": "accounting_analytics.exports.parquet:export_parquet",
}


class Export(Protocol):
    """A function that writes books to a folder in one format."""

    def __call__(
        self,
        output: str | Path,
        *,
        line_entries: pd.DataFrame,
        ledgers: pd.DataFrame,
        report: CashFlowReport,
        replace_months: bool = False,
        currency: str | None = None,
        fiscal_year_start_month: int = 1,
    ) -> Manifest:
        """Write the files and return their manifest; an option that the format does not have is refused."""


def find_export(name: str) -> Export:
    """Return the function that exports to the named format.

    Raises
    ------
    InputError
        There is no such format.
    """
    if name not in FORMATS:
        msg = f"unknown export format {name!r}; the formats are: {', '.join(FORMATS)}"
        raise InputError(msg)
    return cast("Export", pkgutil.resolve_name(FORMATS[name]))
