"""Pure calculations over line entries: cash flow, statements, bridges, and their figures."""
