"""Which ledgers hold transactions that have no category yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accounting_analytics.chart_of_accounts import RequiredLedger, required_ledger

if TYPE_CHECKING:
    import pandas as pd


def uncategorized_ledgers(
    ledgers: pd.DataFrame, *, inflow_ledger_id: str | None = None, outflow_ledger_id: str | None = None
) -> set[str]:
    """Ids of the uncategorized ledgers; an id that is given replaces the detected ledger of its direction."""
    given = {
        RequiredLedger.UNCATEGORIZED_INFLOW: inflow_ledger_id,
        RequiredLedger.UNCATEGORIZED_OUTFLOW: outflow_ledger_id,
    }
    required = ledgers[ledgers["is_required"].fillna(value=False)]
    roles = {
        ledger_id: required_ledger(is_required=True, sub_type=sub_type, debit_credit=side)
        for ledger_id, sub_type, side in zip(
            required["id"], required["sub_type"], required["debit_credit"], strict=True
        )
    }
    directions_to_detect = {direction for direction, ledger_id in given.items() if ledger_id is None}
    detected = {ledger_id for ledger_id, role in roles.items() if role in directions_to_detect}
    return detected | {ledger_id for ledger_id in given.values() if ledger_id is not None}
