"""A budget of the demo's months to May 2026."""

import pandas as pd

ROWS = [
    *(("Rent", f"2026-{month:02}", 7_600) for month in range(1, 6)),
    *(("Cafe Sales", f"2026-{month:02}", 48_000.5) for month in range(1, 6)),
    *(("People", f"2026-{month:02}", 27_000) for month in range(1, 6)),
    ("Travel", "2026-03", 0),
    ("Interest Expense", "2026-05", -450),
]
BUDGET = pd.DataFrame(ROWS, columns=["ledger", "month", "amount"])
"""Leaves and a parent of the months to date, a stated zero, and a negative amount."""
