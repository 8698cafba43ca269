"""Books to be exported: the demo's first quarter."""

import pytest

import accounting_analytics as aa

PERIOD = ("2025-01-01", "2025-03-31")
ZONE = "America/New_York"


@pytest.fixture(scope="session")
def frames(demo_company):
    """Return the demo's first quarter: line entries, ledgers, report."""
    client = demo_company.client
    ledgers = aa.discover_ledgers(client, *PERIOD, time_zone=ZONE)
    return {
        "line_entries": aa.load_line_entries(client, ledgers["id"], *PERIOD, time_zone=ZONE),
        "ledgers": ledgers,
        "report": aa.load_cash_flow_report(client, *PERIOD, time_zone=ZONE),
    }
