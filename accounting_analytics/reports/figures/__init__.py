"""Figures: an amount, what it is of, and the line entries or figures behind it; tables of them."""
