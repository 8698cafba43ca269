"""The monthly pack of a company: its files and its PDF."""
