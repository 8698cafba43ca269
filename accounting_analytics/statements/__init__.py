"""Financial statements: rows and columns of figures, each of which knows the line entries behind it."""

from __future__ import annotations

from accounting_analytics.statements.calculation import (
    balance_sheet,
    cash_flow_statement,
    income_statement,
    trial_balance,
)
from accounting_analytics.statements.register import register
from accounting_analytics.statements.rows import CASH_FLOW_SECTIONS
from accounting_analytics.statements.statement import Statement

__all__ = [
    "CASH_FLOW_SECTIONS",
    "Statement",
    "balance_sheet",
    "cash_flow_statement",
    "income_statement",
    "register",
    "trial_balance",
]
