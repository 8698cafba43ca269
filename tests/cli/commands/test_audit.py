"""The audit log of the embedded service from the command line."""

import json


def test_list(run_on_books):
    """New names are listed newest first, as JSON and as a table; what the limit leaves out is stated."""
    run_on_books("instances", "create")
    for old, new in (("Uncategorized Cash Outflow", "Costs"), ("Costs", "Ask the owner")):
        run_on_books("ledgers", "rename", old, new, "--modified-by", "Ada")
    listed = json.loads(run_on_books("audit", "list", "--json").stdout)
    assert [(row["before_names"], row["after_names"], row["modified_by"]) for row in listed] == [
        ("Costs", "Ask the owner", "Ada"),
        ("Uncategorized Cash Outflow", "Costs", "Ada"),
        ("", "4 ledgers", None),
    ]
    assert [(row["number"], row["actor"], row["operation"]) for row in listed] == [
        (3, "local", "rename_ledger"),
        (2, "local", "rename_ledger"),
        (1, "local", "create_ledger"),
    ]
    limited = run_on_books("audit", "list", "--limit", "1")
    assert "Ask the owner" in limited.stdout
    assert "the newest 1 of 3 changes" in limited.stderr
    assert "no entries" in run_on_books("audit", "list", "--transaction", "T").stderr
    assert "2025-13-01" in run_on_books("audit", "list", "--start-date", "2025-13-01", code=2).stderr
