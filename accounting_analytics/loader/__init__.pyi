from .cash_flow_reports import load_cash_flow_report
from .combined_loads import combine_loads
from .line_entries import load_line_entries, load_line_entries_to_parquet, plan_load
from .load_estimate import LoadPlan
from .load_request import DEFAULT_EXPANSIONS
from .merged_parquet_file import LoadedFile
from .worker_pool import DEFAULT_IN_FLIGHT

__all__ = [
    "DEFAULT_EXPANSIONS",
    "DEFAULT_IN_FLIGHT",
    "LoadPlan",
    "LoadedFile",
    "combine_loads",
    "load_cash_flow_report",
    "load_line_entries",
    "load_line_entries_to_parquet",
    "plan_load",
]
