from .combine import combine_loads
from .estimate import LoadPlan, plan_load
from .files import LoadedFile, load_line_entries_to_parquet, read_line_entries
from .load import load_line_entries
from .parallel import DEFAULT_IN_FLIGHT
from .reports import load_cash_flow_report
from .request import DEFAULT_EXPANSIONS

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
