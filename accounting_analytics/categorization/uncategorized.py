"""Which ledgers are the uncategorized ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.chart_of_accounts import RequiredLedger, required_ledger

if TYPE_CHECKING:
    import pandas as pd


def uncategorized_ledgers(
    ledgers: pd.DataFrame, *, inflow_ledger_id: str | None = None, outflow_ledger_id: str | None = None
) -> set[str]:
    """Ids of the uncategorized ledgers; a pinned one takes the place of the recognised one of its direction."""
    pinned = {
        RequiredLedger.UNCATEGORIZED_INFLOW: inflow_ledger_id,
        RequiredLedger.UNCATEGORIZED_OUTFLOW: outflow_ledger_id,
    }
    required = ledgers[ledgers["is_required"].fillna(value=False)]
    recognised = {
        ledger_id: required_ledger(is_required=True, sub_type=sub_type, debit_credit=side)
        for ledger_id, sub_type, side in zip(
            required["id"], required["sub_type"], required["debit_credit"], strict=True
        )
    }
    open_directions = {direction for direction, ledger_id in pinned.items() if ledger_id is None}
    found = {ledger_id for ledger_id, direction in recognised.items() if direction in open_directions}
    return found | {ledger_id for ledger_id in pinned.values() if ledger_id is not None}
