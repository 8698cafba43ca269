"""The monthly pack of a company, its files and its PDF, and the check of a pack by its receiver."""
