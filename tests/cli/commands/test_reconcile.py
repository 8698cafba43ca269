"""Reconciliation on the command line."""

import json
from decimal import Decimal


def test_the_demo_ties(run, demo_company):
    """Every month of the demo's first quarter ties, with starting balances summed from history."""
    arguments = ("--start-date", "2025-01-01", "--end-date", "2025-03-31", "--since", "2025-01-01", "--json")
    finished = run("reconcile", *arguments, **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    months = json.loads(finished.stdout)
    assert [(month["ties"], month["anchored"], month["differences"]) for month in months] == [(True, False, 0)] * 3


def test_a_month_that_does_not_tie(run, demo_company, distortion, forwarding):
    """An untied month is explained on stdout and named on stderr, exit code 3; the others tie."""

    def change_response(path, params, body):
        if "cash-flow" in path and (params["start_date"], params["end_date"]) == ("2025-02-01", "2025-02-28"):
            body["ending_cash_balance"] = Decimal(body["ending_cash_balance"]) + 1

    with forwarding(demo_company.base_url, distortion(response=change_response)) as base_url:
        environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
        finished = run("reconcile", "--start-date", "2025-01-01", "--end-date", "2025-03-31", **environment)
    assert finished.returncode == 3
    assert "the books do not tie in 1 of 3 months: 2025-02-01 to 2025-02-28 (America/New_York)" in finished.stderr
    assert "ending cash balance" in finished.stdout
    rows = [line.split() for line in finished.stdout.splitlines() if line.strip().startswith("2025-")]
    assert [row[:5] for row in rows] == [
        ["2025-01-01", "2025-01-31", "True", "True", "0"],
        ["2025-02-01", "2025-02-28", "False", "True", "2"],
        ["2025-03-01", "2025-03-31", "True", "True", "0"],
    ]
