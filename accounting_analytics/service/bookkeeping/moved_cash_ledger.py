"""The cash ledger that a journal entry moves."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accounting_analytics.service.wire.stored_values import StoredLedger


def moved_cash_ledger(lines: Iterable[tuple[StoredLedger, int]]) -> StoredLedger | None:
    """Cash ledger with the largest absolute movement in an entry; ties by sort code, then id.

    Parameters
    ----------
    lines : iterable of (ledger, signed units)
        Every line of the entry.

    Returns
    -------
    StoredLedger or None
        None if no line is on a ledger that reports cash flow.
    """
    movements: defaultdict[str, int] = defaultdict(int)
    ledgers = {}
    for ledger, units in lines:
        if ledger.report_cash_flow:
            movements[ledger.id] += units
            ledgers[ledger.id] = ledger
    return min(
        ledgers.values(), key=lambda ledger: (-abs(movements[ledger.id]), ledger.sort_code, ledger.id), default=None
    )
