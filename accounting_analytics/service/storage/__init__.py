"""The database: its tables, and SQLite or PostgreSQL behind one store."""
