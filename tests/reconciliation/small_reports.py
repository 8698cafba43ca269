"""A cash flow report of a few lines and one bank account, which tests of reports, charts and certificates change."""

from decimal import Decimal, localcontext

import accounting_analytics as aa
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines


def small_report(
    lines, *, days, zone="UTC", starting="0.00", ending=None, scale=2, as_decimals=False, cash="Bank", **options
):
    """Return a report of lines as (id, ledger, entry, amount, instant); without `ending` the flows lead to it.

    `cash` is the name of its bank account.
    """
    form = {"scale": scale, "as_decimals": as_decimals}
    nets, start = {}, Decimal(starting)
    with localcontext(prec=50):
        for _, ledger_id, _, amount, _ in lines:
            nets[ledger_id] = nets.get(ledger_id, Decimal(0)) + Decimal(amount)
        net = list(nets.values())
        end = start + sum(net) if ending is None else Decimal(ending)
    columns = {
        "line_id": [line_id for line_id, *_ in lines],
        "ledger_id": [ledger_id for _, ledger_id, *_ in lines],
        "journal_entry_id": [entry for _, _, entry, *_ in lines],
        "journal_entry_description": [""] * len(lines),
        "amount": [Decimal(amount) for *_, amount, _ in lines],
        "datetime": [instant for *_, instant in lines],
        "cash_flow_ledger_name": [cash] * len(lines),
    }
    ledgers = {"ledger_id": list(nets), "name": list(nets), "net_cash_flow": net, "total_net_cash_flow": net}
    bank = {"ledger_id": ["bank"], "ledger_name": [cash], "sort_code": ["1"]}
    before, after = (
        CashBalances.from_columns(bank | {"cash_balance": [amount], "total_cash_balance": [amount]}, **form)
        for amount in (start, end)
    )
    return aa.CashFlowReport(
        period=aa.Period(*days, zone),
        ledgers=CashFlowLedgers.from_columns(ledgers, **form),
        lines=CashFlowLines.from_columns(columns, **form),
        starting_balances=before,
        ending_balances=after,
        starting_cash_balance=start,
        ending_cash_balance=end,
        **options,
    )
