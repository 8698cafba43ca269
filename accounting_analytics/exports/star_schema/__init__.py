"""The star schema of the books: the definitions of its tables, a query for each, and what runs the queries."""
