"""The embedded Ledger Accounting Service: the interface in full, on SQLite or PostgreSQL."""
