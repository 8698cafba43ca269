from .combine import combine_loads
from .estimate import LoadPlan, plan_load
from .load import load_line_entries
from .parallel import DEFAULT_IN_FLIGHT
from .parquet_file import LoadedFile, load_line_entries_to_parquet
from .reports import load_cash_flow_report
from .request import DEFAULT_EXPANSIONS
from .saved import read_line_entries

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
    "read_line_entries",
]
