"""Figures, the line entries or figures behind them, and tables of figures."""
