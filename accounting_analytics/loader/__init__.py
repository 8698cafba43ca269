"""Pages and reports of the service, as validated frames.

Whatever comes in oddly but can be read without guessing (float dust, repeated lines, nested balances) is put right,
counted, and said in ``frame.attrs["notes"]`` or ``report.notes``. Anything else is refused, naming ledger, line and
field. A load ends with every line, or with an error: never with fewer lines and no word.
"""

from accounting_analytics.loader.cash_flow_reports import load_cash_flow_report
from accounting_analytics.loader.line_entries import DEFAULT_EXPANSIONS, DEFAULT_IN_FLIGHT, load_line_entries
from accounting_analytics.loader.parquet_sink import LoadedFile, iter_line_entry_batches, load_line_entries_to_parquet
from accounting_analytics.loader.plan import LoadPlan, plan_load

__all__ = [
    "DEFAULT_EXPANSIONS",
    "DEFAULT_IN_FLIGHT",
    "LoadPlan",
    "LoadedFile",
    "iter_line_entry_batches",
    "load_cash_flow_report",
    "load_line_entries",
    "load_line_entries_to_parquet",
    "plan_load",
]
