"""Journals and tables of line entries, read from files into plain accounts and entries; nothing is posted here."""
