from .cash_flow_reports import load_cash_flow_report
from .line_entries import DEFAULT_EXPANSIONS, DEFAULT_IN_FLIGHT, load_line_entries
from .parquet_sink import LoadedFile, iter_line_entry_batches, load_line_entries_to_parquet
from .plan import LoadPlan, plan_load

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
