"""Looking at the books: which ledgers stand opposite each planned transaction right now."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from accounting_analytics.client import LedgerClient

_DAY = dt.timedelta(days=1)


def categories_now(client: LedgerClient, items: pd.DataFrame) -> dict[str, set[str]]:
    """Opposing ledgers of each transaction of some plan items; a transaction that is not found is absent.

    Each financial account is read once, over the days its items span.

    Raises
    ------
    ServiceError
        The service cannot be read.
    """
    found: dict[str, set[str]] = {}
    for ledger_id, group in items.groupby("ledger_id"):
        wanted = set(group["transaction_id"])
        lines = client.iter_line_entries(
            str(ledger_id),
            (group["datetime"].min() - _DAY).date(),
            (group["datetime"].max() + _DAY).date(),
            expand=("opposing_ledger_ids",),
        )
        found |= {
            line.transaction_id: set(line.opposing_ledger_ids or ())
            for line in lines
            if line.transaction_id is not None and line.transaction_id in wanted
        }
    return found
