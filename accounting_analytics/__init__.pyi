from . import charts
from .client import ClientCredentials, LedgerClient, TokenFile
from .core import errors, schemas
from .core.ledger_names import LedgerNames
from .core.load_metadata import notes
from .core.periods import Period
from .core.version import __version__
from .demo_company import demo
from .diagnosis import doctor
from .exports import export, verify_export
from .loading.cash_flow_reports import load_cash_flow_report
from .loading.ledger_discovery import discover_ledgers
from .loading.load import load_line_entries
from .loading.load_books import load_books
from .loading.open_accounting_export import open_accounting_export
from .loading.open_journal_and_table import open_journal, open_table
from .loading.read_line_entries import read_line_entries
from .local_books import LocalBooks, connect
from .notebook_jobs import run_notebook
from .pack.monthly_pack import monthly_pack
from .pack.pack_result import MonthlyPack
from .pack.verification_result import PackVerification
from .pack.verify_pack import verify_pack
from .recategorization.apply import apply_plan, verify_plan
from .recategorization.check_coding import CodingCheck, check_coding
from .recategorization.effect import Effect
from .recategorization.open_bank_file import open_bank_file
from .recategorization.plan import Plan, plan_recategorization
from .recategorization.proposals import decide, propose
from .recategorization.queue import group_queue, uncategorized_queue
from .recategorization.review import Review, review
from .recategorization.rules import load_rules, report_rules
from .recategorization.run_journal import undo_plan
from .recategorization.suggestions import suggest
from .reconciliation.completeness import check_completeness
from .reconciliation.reconcile import Reconciliation, reconcile
from .reports.books.analysis_frame import analysis_frame
from .reports.books.value import Books
from .reports.figures.cash_flow_report import CashFlowReport
from .reports.figures.figure import Figure
from .reports.payees.ageing import Ageing, ageing
from .reports.payees.bridge import Bridge, bridge
from .reports.payees.budget_draft import draft_budget
from .reports.payees.key_ratios import KeyRatios, key_ratios
from .reports.payees.outlook import Outlook, outlook
from .reports.payees.recurring import RecurringPayments, recurring_payments
from .reports.statements.four_statements import balance_sheet, cash_flow_statement, income_statement, trial_balance
from .reports.statements.recompute_cash_flow import recompute_cash_flow
from .reports.statements.register import register
from .reports.statements.statement import Statement

__all__ = [
    "Ageing",
    "Books",
    "Bridge",
    "CashFlowReport",
    "ClientCredentials",
    "CodingCheck",
    "Effect",
    "Figure",
    "KeyRatios",
    "LedgerClient",
    "LedgerNames",
    "LocalBooks",
    "MonthlyPack",
    "Outlook",
    "PackVerification",
    "Period",
    "Plan",
    "Reconciliation",
    "RecurringPayments",
    "Review",
    "Statement",
    "TokenFile",
    "__version__",
    "ageing",
    "analysis_frame",
    "apply_plan",
    "balance_sheet",
    "bridge",
    "cash_flow_statement",
    "charts",
    "check_coding",
    "check_completeness",
    "connect",
    "decide",
    "demo",
    "discover_ledgers",
    "doctor",
    "draft_budget",
    "errors",
    "export",
    "group_queue",
    "income_statement",
    "key_ratios",
    "load_books",
    "load_cash_flow_report",
    "load_line_entries",
    "load_rules",
    "monthly_pack",
    "notes",
    "open_accounting_export",
    "open_bank_file",
    "open_journal",
    "open_table",
    "outlook",
    "plan_recategorization",
    "propose",
    "read_line_entries",
    "recompute_cash_flow",
    "reconcile",
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
    "verify_export",
    "verify_pack",
    "verify_plan",
]
