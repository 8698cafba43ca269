from .cash_flow_reports import load_cash_flow_report
from .line_entries import DEFAULT_EXPANSIONS, DEFAULT_IN_FLIGHT, load_line_entries
from .load_plan import LoadPlan, plan_load
from .parquet_sink import LoadedFile, iter_line_entry_batches, load_line_entries_to_parquet

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
