"""The monthly pack of a company: its files, its PDF and the mail that sends it."""
