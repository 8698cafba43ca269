"""Whom money comes from and goes to: why totals changed, what recurs, what is open, what is to come."""
