"""Differences of several months by ledger: the figures of ledgers, each counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accounting_analytics.money import sum_by_key
from accounting_analytics.schemas import Differences, MonthlyDifferences

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from accounting_analytics.reconciliation.result import Reconciliation

_OF_LEDGERS = ("net_cash_flow", "starting_balance", "ending_balance")


def differences_by_month(reconciliations: Sequence[Reconciliation]) -> pd.DataFrame:
    """Differences in the figures of each ledger by month; those of a month with no such, in lines or sums, as they are.

    Lines, totals with descendants and sums of the report contain the same differences again.
    """
    rows: list[dict[str, Any]] = []
    scale, as_decimals = 0, False
    for month in reconciliations:
        exact = Differences.exact(month.differences)
        scale, as_decimals = exact.scale, exact.as_decimals
        own = exact.frame[exact.frame["what"].isin(_OF_LEDGERS)]
        chosen = (exact.frame if own.empty else own).to_dict("records")
        names = {(row["what"], _text(row["ledger_id"])): _text(row["ledger_name"]) for row in chosen}
        sums = sum_by_key(((row["what"], _text(row["ledger_id"])), row["difference"]) for row in chosen)
        rows.extend(
            {
                "start_date": month.period.start_date,
                "what": what,
                "ledger_id": ledger_id,
                "ledger_name": names[what, ledger_id],
                "difference": difference,
            }
            for (what, ledger_id), difference in sums.items()
        )
    columns = {name: [row[name] for row in rows] for name in MonthlyDifferences.to_schema().columns}
    return MonthlyDifferences.from_columns(columns, scale, as_decimals=as_decimals)


def _text(value: Any) -> str | None:  # noqa: ANN401 (text, or null in any form)
    return value if isinstance(value, str) else None
