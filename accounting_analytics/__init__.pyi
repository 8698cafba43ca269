from . import charts, errors, schemas
from .analysis_frame import analysis_frame
from .books import Books, connect
from .bridges import Bridge, bridge
from .cash_flow import recompute_cash_flow
from .cash_flow_report import CashFlowReport
from .categorization import (
    Backtest,
    backtest,
    decide,
    group_queue,
    load_rules,
    propose,
    report_rules,
    suggest,
    uncategorized_queue,
)
from .client import ClientCredentials, LedgerClient, TokenFile
from .completeness import check_completeness
from .demo_company import demo
from .diagnosis import doctor
from .exports import export, export_parquet
from .figures import Figure
from .hledger import export_journal
from .ledger_discovery import discover_ledgers
from .ledger_names import LedgerNames
from .load_metadata import notes
from .loader import (
    combine_loads,
    load_cash_flow_report,
    load_line_entries,
    load_line_entries_to_parquet,
    plan_load,
    read_line_entries,
)
from .monthly_reconciliation import reconcile_months
from .notebook_jobs import run_notebook
from .pack import MonthlyPack, monthly_pack
from .pack_verification import PackVerification, verify_pack
from .periods import Period
from .recategorization import Effect, Plan, apply_plan, plan_recategorization, undo_plan, verify_plan
from .reconciliation import Reconciliation, reconcile
from .recurring_payments import RecurringPayments, recurring_payments
from .review_grid import Review, review
from .statements import (
    Statement,
    balance_sheet,
    cash_flow_statement,
    income_statement,
    register,
    trial_balance,
)
from .version import __version__

__all__ = [
    "Backtest",
    "Books",
    "Bridge",
    "CashFlowReport",
    "ClientCredentials",
    "Effect",
    "Figure",
    "LedgerClient",
    "LedgerNames",
    "MonthlyPack",
    "PackVerification",
    "Period",
    "Plan",
    "Reconciliation",
    "RecurringPayments",
    "Review",
    "Statement",
    "TokenFile",
    "__version__",
    "analysis_frame",
    "apply_plan",
    "backtest",
    "balance_sheet",
    "bridge",
    "cash_flow_statement",
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
    "export_journal",
    "export_parquet",
    "group_queue",
    "income_statement",
    "load_cash_flow_report",
    "load_line_entries",
    "load_line_entries_to_parquet",
    "load_rules",
    "monthly_pack",
    "notes",
    "plan_load",
    "plan_recategorization",
    "propose",
    "read_line_entries",
    "recompute_cash_flow",
    "reconcile",
    "reconcile_months",
    "recurring_payments",
    "register",
    "report_rules",
    "review",
    "run_notebook",
    "schemas",
    "suggest",
    "trial_balance",
    "uncategorized_queue",
    "undo_plan",
    "verify_pack",
    "verify_plan",
]
