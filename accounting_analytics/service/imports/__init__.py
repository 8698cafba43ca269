"""Files of books read into ledgers and journal entries."""
