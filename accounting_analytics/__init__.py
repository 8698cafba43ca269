"""Analytics and reporting for books kept in a Ledger Accounting Service."""
