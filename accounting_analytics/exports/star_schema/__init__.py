"""The star schema of exported books: a query for each table, and what builds them."""
