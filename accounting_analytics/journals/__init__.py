"""Readers of journals and tables of line entries, as plain accounts and entries."""
