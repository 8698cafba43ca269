"""New ledgers and posted journal entries: defaults, checks, sort codes."""
