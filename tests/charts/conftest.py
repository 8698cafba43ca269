"""Small cash flow reports to draw."""

import datetime as dt
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines


@pytest.fixture
def lines():
    """Return four lines as (ledger, amount, instant)."""
    return [
        ("Sales", "1000.10", dt.datetime(2025, 1, 20, 12, tzinfo=dt.UTC)),
        ("Rent", "-400.00", dt.datetime(2025, 2, 1, 4, 59, tzinfo=dt.UTC)),  # still 31 January in New York
        ("Sales", "0.20", dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)),
        ("Rent", "-0.30", dt.datetime(2025, 3, 1, 13, tzinfo=dt.UTC)),
    ]


@pytest.fixture
def make_report():
    """Return a function that makes a report of (ledger, amount, instant) lines."""

    def make(lines, *, start="0.00", zone="America/New_York", as_decimals=False, **options):
        amounts = [Decimal(amount) for _, amount, _ in lines]
        nets = {}
        for (ledger, _, _), amount in zip(lines, amounts, strict=True):
            nets[ledger] = nets.get(ledger, Decimal(0)) + amount
        columns = {
            "line_id": [f"line-{position}" for position in range(len(lines))],
            "ledger_id": [ledger for ledger, _, _ in lines],
            "amount": amounts,
            "datetime": [instant for _, _, instant in lines],
            "cash_flow_ledger_name": ["Bank"] * len(lines),
            "journal_entry_id": [f"entry{number}" for number in range(len(lines))],
            "journal_entry_description": [""] * len(lines),
        }
        net = list(nets.values())
        return aa.CashFlowReport(
            period=aa.Period.of("2025-01-15", "2025-03-31", zone),
            ledgers=CashFlowLedgers.from_columns(
                {"ledger_id": list(nets), "name": list(nets), "net_cash_flow": net, "total_net_cash_flow": net},
                as_decimals=as_decimals,
            ),
            lines=CashFlowLines.from_columns(columns, as_decimals=as_decimals),
            starting_balances=CashBalances.without_rows(),
            ending_balances=CashBalances.without_rows(),
            starting_cash_balance=Decimal(start),
            ending_cash_balance=Decimal(start) + sum(amounts, Decimal(0)),
            **options,
        )

    return make


@pytest.fixture
def hovers():
    """Return a function that gives the exact amounts of a trace's hover texts."""
    return lambda trace: [data[-1] for data in trace.customdata]
