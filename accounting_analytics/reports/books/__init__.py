"""The books: their line entries, ledgers, zone and counterparties."""
