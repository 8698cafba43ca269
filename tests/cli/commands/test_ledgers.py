"""Ledgers of the embedded service from the command line."""

import json


def test_list_and_rename(run_on_books):
    """A required ledger is listed with its id, renamed by name, and listed with the new name."""
    run_on_books("instances", "create")
    old, new = "Uncategorized Cash Outflow", "Ask the owner"
    renamed = run_on_books("ledgers", "rename", old, new, "--modified-by", "Ada")
    listed = json.loads(run_on_books("ledgers", "list", "--json").stdout)
    (ledger,) = [ledger for ledger in listed if ledger["name"] == new]
    assert (ledger["path"], ledger["is_required"], ledger["sort_code"]) == (new, True, "10003")
    assert renamed.stderr.strip() == f"ledger {ledger['id']}: '{old}' is now '{new}'"
    assert new in run_on_books("ledgers", "list").stdout
    assert "ledgers list" in run_on_books("ledgers", "rename", "nobody", "x", code=2).stderr
