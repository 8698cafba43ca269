from . import charts, errors, schemas
from .cash_flow import recompute_cash_flow
from .cash_flow_report import CashFlowReport
from .categorization import (
    decide,
    group_queue,
    load_rules,
    propose,
    report_rules,
    uncategorized_queue,
)
from .client import ClientCredentials, LedgerClient, TokenFile, connect
from .completeness import check_completeness
from .demo_company import demo
from .diagnosis import doctor
from .exports import export, export_parquet
from .ledger_discovery import discover_ledgers
from .ledger_names import LedgerNames
from .line_entry_files import read_line_entries
from .load_metadata import notes
from .loader import (
    combine_loads,
    load_cash_flow_report,
    load_line_entries,
    load_line_entries_to_parquet,
    plan_load,
)
from .months import reconcile_months
from .notebook_jobs import run_notebook
from .periods import Period
from .recategorization import Effect, Plan, apply_plan, plan_recategorization, undo_plan, verify_plan
from .reconciliation import Reconciliation, reconcile
from .version import __version__

__all__ = [
    "CashFlowReport",
    "ClientCredentials",
    "Effect",
    "LedgerClient",
    "LedgerNames",
    "Period",
    "Plan",
    "Reconciliation",
    "TokenFile",
    "__version__",
    "apply_plan",
    "charts",
    "check_completeness",
    "combine_loads",
    "connect",
    "decide",
    "demo",
    "discover_ledgers",
    "doctor",
    "errors",
    "export",
    "export_parquet",
    "group_queue",
    "load_cash_flow_report",
    "load_line_entries",
    "load_line_entries_to_parquet",
    "load_rules",
    "notes",
    "plan_load",
    "plan_recategorization",
    "propose",
    "read_line_entries",
    "recompute_cash_flow",
    "reconcile",
    "reconcile_months",
    "report_rules",
    "run_notebook",
    "schemas",
    "uncategorized_queue",
    "undo_plan",
    "verify_plan",
]
