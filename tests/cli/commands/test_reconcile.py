"""Reconciliation on the command line."""

import json


def test_the_demo_ties(run, demo_company):
    """Every month of the demo's first quarter ties, with starting balances summed from history."""
    arguments = ("--start-date", "2025-01-01", "--end-date", "2025-03-31", "--since", "2025-01-01", "--json")
    finished = run("reconcile", *arguments, **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    months = json.loads(finished.stdout)
    assert [(month["ties"], month["anchored"], month["differences"]) for month in months] == [(True, False, 0)] * 3
