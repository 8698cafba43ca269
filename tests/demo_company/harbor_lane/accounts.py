"""Chart of accounts of the demo company: three levels, and most kinds of financial account.

Nested ledgers in responses carry no parent. One second-level ledger under each of the five roots has lines of its own,
so that a client that sees only nested ledgers can find the roots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.chart_of_accounts import TYPE_OF_SUB_TYPE, DebitCredit, LedgerType, SubType
from accounting_analytics.service.bookkeeping.ledgers import NewLedger

if TYPE_CHECKING:
    from collections.abc import Iterator

TRANSFERS = "transfers"
OPENING_BALANCE = "opening_balance"
UNCATEGORIZED_INFLOW = "uncategorized_inflow"
UNCATEGORIZED_OUTFLOW = "uncategorized_outflow"
REQUIRED_LEDGERS = (TRANSFERS, OPENING_BALANCE, UNCATEGORIZED_INFLOW, UNCATEGORIZED_OUTFLOW)
"""Keys of the four ledgers that every instance has from the start."""


class Account(NamedTuple):
    """A ledger of the company, with a short key for use in this package."""

    key: str
    sort_code: str
    name: str
    sub_type: str
    parent: str | None = None
    financial_account_type: str | None = None
    contra: bool = False

    def new_ledger(self) -> NewLedger:
        """Return the ledger to create; the service fills in the defaults of a financial account."""
        kind = TYPE_OF_SUB_TYPE[SubType(self.sub_type)]
        if self.financial_account_type is not None:
            return NewLedger(
                self.name,
                editable=False,
                financial_account_type=self.financial_account_type,
                parent_id=ledger_id(self.parent),
                sort_code=self.sort_code,
                id=ledger_id(self.key),
            )
        is_debit = (kind in {LedgerType.ASSET, LedgerType.EXPENSE}) != self.contra
        return NewLedger(
            self.name,
            debit_credit=DebitCredit.DEBIT if is_debit else DebitCredit.CREDIT,
            type=kind,
            sub_type=self.sub_type,
            report_cash_flow=False,
            parent_id=ledger_id(self.parent) if self.parent else None,
            sort_code=self.sort_code,
            id=ledger_id(self.key),
        )


def ledger_id(key: str | None) -> str:
    """Return the identifier of the ledger with a key."""
    return f"led_{key}"


def new_ledgers() -> Iterator[NewLedger]:
    """Ledgers to create, parents before children."""
    return (account.new_ledger() for account in ACCOUNTS)


ACCOUNTS = (
    Account("assets", "1100", "Assets", "current_assets"),
    Account("cash", "1110", "Cash and Banks", "current_assets", "assets"),
    Account("operating", "1111", "Operating Account", "current_assets", "cash", "bank_account"),
    Account("savings", "1112", "Savings Account", "current_assets", "cash", "bank_account"),
    Account("processor", "1113", "Card Payments Processor", "current_assets", "cash", "payments"),
    Account("receivables", "1120", "Receivables", "current_assets", "assets"),
    Account("receivable", "1121", "Wholesale Receivables", "current_assets", "receivables", "accounts_receivable"),
    Account("stock", "1130", "Stock and Prepayments", "current_assets", "assets"),
    Account("inventory", "1131", "Green Coffee Inventory", "current_assets", "stock"),
    Account("prepaid", "1132", "Prepaid Insurance", "current_assets", "stock"),
    Account("deposits", "1133", "Equipment Deposits", "current_assets", "stock"),
    Account("advances", "1150", "Employee Advances", "current_assets", "assets"),
    Account("fixed", "1140", "Fixed Assets", "non-current_assets", "assets"),
    Account("equipment", "1141", "Roasting Equipment", "non-current_assets", "fixed"),
    Account("depreciated", "1142", "Accumulated Depreciation", "non-current_assets", "fixed", contra=True),
    Account("liabilities", "2100", "Liabilities", "current_liabilities"),
    Account("cards", "2110", "Credit Cards", "current_liabilities", "liabilities"),
    Account("card", "2111", "Business Credit Card", "current_liabilities", "cards", "credit_card"),
    Account("payables", "2120", "Payables", "current_liabilities", "liabilities"),
    Account("payable", "2121", "Supplier Payables", "current_liabilities", "payables", "accounts_payable"),
    Account("sales_tax", "2122", "Sales Tax Payable", "current_liabilities", "payables"),
    Account("payroll_tax", "2123", "Payroll Taxes Payable", "current_liabilities", "payables"),
    Account("benefits", "2124", "Employee Benefits Payable", "current_liabilities", "payables"),
    Account("gift_cards", "2140", "Gift Cards Outstanding", "current_liabilities", "liabilities"),
    Account("loans", "2130", "Loans", "non-current_liabilities", "liabilities"),
    Account("loan", "2131", "Equipment Loan", "current_liabilities", "loans", "loan"),
    Account("equity", "3100", "Equity", "equity"),
    Account("capital", "3110", "Owner Capital", "equity", "equity"),
    Account("draws", "3120", "Owner Draws", "equity", "equity", contra=True),
    Account("income", "4100", "Income", "operating_revenues"),
    Account("sales", "4110", "Sales", "operating_revenues", "income"),
    Account("cafe_sales", "4111", "Cafe Sales", "operating_revenues", "sales"),
    Account("online_sales", "4112", "Online Sales", "operating_revenues", "sales"),
    Account("wholesale_sales", "4113", "Wholesale Sales", "operating_revenues", "sales"),
    Account("returns", "4114", "Returns and Refunds", "operating_revenues", "sales", contra=True),
    Account("other_income", "4120", "Other Income", "other_income", "income"),
    Account("interest_income", "4121", "Interest Income", "other_income", "other_income"),
    Account("grants", "4130", "Grants and Rebates", "other_income", "income"),
    Account("expenses", "5100", "Expenses", "operating_expenses"),
    Account("goods", "5110", "Cost of Goods", "cost_of_goods_sold", "expenses"),
    Account("coffee", "5111", "Coffee Sold", "cost_of_goods_sold", "goods"),
    Account("packaging", "5112", "Packaging", "cost_of_goods_sold", "goods"),
    Account("milk", "5113", "Milk and Bakery", "cost_of_goods_sold", "goods"),
    Account("processing", "5114", "Processing Fees", "cost_of_goods_sold", "goods"),
    Account("people", "5120", "People", "operating_expenses", "expenses"),
    Account("wages", "5121", "Wages", "operating_expenses", "people"),
    Account("employer_tax", "5122", "Employer Payroll Taxes", "operating_expenses", "people"),
    Account("contractors", "5123", "Contractors", "operating_expenses", "people"),
    Account("premises", "5130", "Premises", "operating_expenses", "expenses"),
    Account("rent", "5131", "Rent", "operating_expenses", "premises"),
    Account("utilities", "5132", "Utilities", "operating_expenses", "premises"),
    Account("repairs", "5133", "Repairs and Maintenance", "operating_expenses", "premises"),
    Account("running", "5140", "Running the Business", "operating_expenses", "expenses"),
    Account("software", "5141", "Software", "operating_expenses", "running"),
    Account("marketing", "5142", "Marketing", "operating_expenses", "running"),
    Account("shipping", "5143", "Shipping", "operating_expenses", "running"),
    Account("insurance", "5144", "Insurance", "operating_expenses", "running"),
    Account("travel", "5145", "Travel", "operating_expenses", "running"),
    Account("meals", "5146", "Meals", "operating_expenses", "running"),
    Account("office", "5147", "Office Supplies", "operating_expenses", "running"),
    Account("vehicle", "5148", "Vehicle", "operating_expenses", "running"),
    Account("bank_fees", "5149", "Bank Fees", "operating_expenses", "running"),
    Account("depreciation", "5151", "Depreciation", "operating_expenses", "running"),
    Account("bad_debts", "5152", "Bad Debts", "operating_expenses", "running"),
    Account("other_expenses", "5160", "Other Expenses", "other_expenses", "expenses"),
    Account("interest", "5161", "Interest Expense", "other_expenses", "other_expenses"),
    Account("taxes", "5170", "Licenses and Taxes", "other_expenses", "expenses"),
)
"""Every account, parents first."""
