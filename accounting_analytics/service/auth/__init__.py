"""Access tokens, OAuth clients, and the private files that hold their secrets."""
