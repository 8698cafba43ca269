"""The star schema of an export: fact and dimension tables of the books, as Arrow tables."""
