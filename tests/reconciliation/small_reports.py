"""A cash flow report of a few lines and one bank account, which tests of reports, charts and certificates change."""

import dataclasses
from decimal import Context, Decimal, localcontext

import accounting_analytics as aa
from accounting_analytics.core.schemas import CashBalances, CashFlowLedgers, CashFlowLines, ExactReport

KINDS = dict(zip(ExactReport._fields[:4], (CashFlowLedgers, CashFlowLines, CashBalances, CashBalances), strict=True))


def altered(report, *, starting_cash_balance=None, ending_cash_balance=None, **changes):
    """Return a report with other tables, given as frames, and other fields."""
    frames = {name: changes.pop(name) for name in KINDS if name in changes}
    exact = {name: KINDS[name].exact(frame, scale=report.scale).frame for name, frame in frames.items()}
    sums = {"starting_cash_balance": starting_cash_balance, "ending_cash_balance": ending_cash_balance}
    exact |= {name: Decimal(str(amount)) for name, amount in sums.items() if amount is not None}
    return dataclasses.replace(report, _exact=report.exact()._replace(**exact), **changes)


def small_report(lines, *, days, zone="UTC", starting="0.00", ending=None, scale=2, cash="Bank", **options):
    """Return a report of lines as (id, ledger, entry, amount, instant); without `ending` the flows lead to it.

    `cash` is the name of its bank account.
    """
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
        CashBalances.exact_from_columns(bank | {"cash_balance": [amount], "total_cash_balance": [amount]}, scale)
        for amount in (start, end)
    )
    return aa.CashFlowReport(
        aa.Period(*days, zone),
        ExactReport(
            ledgers=CashFlowLedgers.exact_from_columns(ledgers, scale),
            lines=CashFlowLines.exact_from_columns(columns, scale),
            starting_balances=before,
            ending_balances=after,
            starting_cash_balance=start.quantize(Decimal(1).scaleb(-scale), context=Context(prec=60)),
            ending_cash_balance=end.quantize(Decimal(1).scaleb(-scale), context=Context(prec=60)),
        ),
        **options,
    )
