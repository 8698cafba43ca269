"""The cash flow report on the command line."""

import json
from decimal import Decimal

import pytest

PERIOD = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")


@pytest.mark.parametrize(
    ("configured", "option", "zone"),
    [(None, (), "UTC"), ("Asia/Tokyo", (), "Asia/Tokyo"), ("Asia/Tokyo", ("--time-zone", "UTC"), "UTC")],
)
def test_the_zone_is_the_configured_one(run, demo_company, configured, option, zone):
    """Days are local to the option, else to the configured zone, else to UTC, which a message states."""
    environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_TIME_ZONE": configured or ""}
    finished = run("report", *PERIOD, *option, "--json", **environment)
    assert json.loads(finished.stdout)["time_zone"] == zone
    message = "no time zone is configured, so the days are those of UTC\n"
    assert finished.stderr == (message if configured is None else "")


def test_json_is_exact(run, demo_company):
    """The JSON report has amounts as text, and net cash flow equals the change of cash."""
    finished = run("report", *PERIOD, "--json", **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stdout)
    flows = sum(Decimal(ledger["net_cash_flow"]) for ledger in report["ledgers"])
    assert flows == Decimal(report["ending_cash_balance"]) - Decimal(report["starting_cash_balance"]) != 0
