"""Statements and the cash flow report, summed from line entries."""
