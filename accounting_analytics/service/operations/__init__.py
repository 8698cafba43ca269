"""The four operations of the interface: functions of a call and its parsed request."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accounting_analytics.service.interface import (
    CashFlowReport,
    CashFlowReportQuery,
    CreateLedgerBody,
    CreateLedgerQuery,
    Ledger,
    LineEntryPage,
    ListLineEntriesQuery,
    Query,
    RecategorizedTransaction,
    RecategorizeTransactionBody,
)
from accounting_analytics.service.operations.create_ledger import create_ledger
from accounting_analytics.service.operations.list_line_entries import list_line_entries
from accounting_analytics.service.operations.recategorize_transaction import recategorize_transaction
from accounting_analytics.service.operations.retrieve_cash_flow_report import retrieve_cash_flow_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from msgspec import Struct


class Operation(NamedTuple):
    """Declaration of an operation: its function, its route, and the types of its response, query and body.

    An operation with a body changes the books. A `named` operation has the header modified-by, and a `slow` operation
    is a report.
    """

    function: Callable[..., Struct]
    summary: str
    method: str
    path: str
    response: type[Struct]
    query: type[Query] | None = None
    body: type[Struct] | None = None
    status: int = 200
    refusals: tuple[int, ...] = ()
    named: bool = False
    slow: bool = False


OPERATIONS = (
    Operation(
        create_ledger,
        "Create a ledger",
        "POST",
        "/v0/ledgers",
        response=Ledger,
        query=CreateLedgerQuery,
        body=CreateLedgerBody,
        status=201,
    ),
    Operation(
        recategorize_transaction,
        "Recategorize a ledger transaction",
        "PUT",
        "/v0/ledgers/{ledger_id}/transactions/{transaction_id}/categories",
        response=RecategorizedTransaction,
        body=RecategorizeTransactionBody,
        named=True,
    ),
    Operation(
        list_line_entries,
        "List line entries of a ledger",
        "GET",
        "/v0/ledgers/{ledger_id}/line-entries",
        response=LineEntryPage,
        query=ListLineEntriesQuery,
    ),
    Operation(
        retrieve_cash_flow_report,
        "Retrieve the cash flow report",
        "GET",
        "/v0/reports/cash-flow",
        response=CashFlowReport,
        query=CashFlowReportQuery,
        refusals=(403,),
        slow=True,
    ),
)
