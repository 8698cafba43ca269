"""Pure calculations over line entries: cash flow, statements, bridges, and the figures that they are made of."""
