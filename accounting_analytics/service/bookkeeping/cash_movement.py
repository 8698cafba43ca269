"""Which cash ledger a journal entry moved: the one rule, used by whatever writes the lines of an entry."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.service.wire.stored_records import StoredLedger


def moved_cash_ledger(lines: Iterable[tuple[StoredLedger, int]]) -> StoredLedger | None:
    """Cash ledger with the largest absolute movement in an entry; ties by sort code, then id.

    Parameters
    ----------
    lines : iterable of (ledger, signed units)
        Every line of the entry.

    Returns
    -------
    StoredLedger or None
        None when no line is on a ledger that reports cash flow.
    """
    movements: defaultdict[str, int] = defaultdict(int)
    cash = {}
    for ledger, units in lines:
        if ledger.report_cash_flow:
            movements[ledger.id] += units
            cash[ledger.id] = ledger
    return min(cash.values(), key=lambda at: (-abs(movements[at.id]), at.sort_code, at.id), default=None)
