"""The four operations of the interface, each a function of a database connection, an instance and a parsed request."""

from accounting_analytics.service.operations.cash_flow_report import retrieve_cash_flow_report
from accounting_analytics.service.operations.line_entries import list_line_entries
from accounting_analytics.service.operations.new_ledger import create_ledger
from accounting_analytics.service.operations.recategorization import recategorize_transaction

__all__ = ["create_ledger", "list_line_entries", "recategorize_transaction", "retrieve_cash_flow_report"]
