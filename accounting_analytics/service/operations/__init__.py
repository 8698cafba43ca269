"""The four operations of the interface, each a function of a database connection, an instance and a parsed request."""

from accounting_analytics.service.operations.create_ledger import create_ledger
from accounting_analytics.service.operations.list_line_entries import list_line_entries
from accounting_analytics.service.operations.recategorize_transaction import recategorize_transaction
from accounting_analytics.service.operations.retrieve_cash_flow_report import retrieve_cash_flow_report

__all__ = ["create_ledger", "list_line_entries", "recategorize_transaction", "retrieve_cash_flow_report"]
