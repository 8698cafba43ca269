"""Line entries, cash flow reports and the chart of accounts, as validated frames.

Values that can be read without guessing (float rounding noise, repeated lines, nested balances) are normalized, counted
and noted in ``frame.attrs["notes"]`` or ``report.notes``. Anything else is refused, and the message names the ledger,
the line entry and the field. A load ends with every line, or with an error: lines are never missing without notice.
"""
