"""Books of a chart of accounts, with line entries that state no load or none, in UTC."""

import pandas as pd

import accounting_analytics as aa
from accounting_analytics.core.schemas import LineEntries


def books_of(ledgers, lines=None):
    """Return books of ledgers and line entries, by default none, as for what looks up categories."""
    if lines is None:
        lines = LineEntries.without_rows().assign(opposing_ledger_ids=pd.Series(dtype="str"))
    return aa.Books(lines, ledgers, "2025" if lines.empty else None, time_zone="UTC")
