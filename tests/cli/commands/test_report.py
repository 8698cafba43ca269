"""The cash flow report on the command line."""

import json
from decimal import Decimal

PERIOD = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")


def test_json_is_exact(run, demo_company):
    """The JSON report has amounts as text, and net cash flow equals the change of cash."""
    finished = run("report", *PERIOD, "--json", **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stdout)
    flows = sum(Decimal(ledger["net_cash_flow"]) for ledger in report["ledgers"])
    assert flows == Decimal(report["ending_cash_balance"]) - Decimal(report["starting_cash_balance"]) != 0
