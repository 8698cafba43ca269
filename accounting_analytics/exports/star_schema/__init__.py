"""The star schema of exported books: a query for each table, and the functions that build the tables."""
