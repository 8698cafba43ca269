"""Books to be exported: the demo's first quarter."""

import pytest

import accounting_analytics as aa

PERIOD = ("2025-01-01", "2025-03-31")
ZONE = "America/New_York"


@pytest.fixture(scope="session")
def quarter(demo_company):
    """Return the books of the demo's first quarter, with the report of the service."""
    client = demo_company.client
    ledgers = aa.discover_ledgers(client, *PERIOD, time_zone=ZONE)
    lines = aa.load_line_entries(client, ledgers["id"], *PERIOD, time_zone=ZONE)
    report = aa.load_cash_flow_report(client, *PERIOD, time_zone=ZONE)
    return aa.Books(lines, ledgers, PERIOD, reports=[report])


@pytest.fixture(scope="session")
def exported(quarter, tmp_path_factory):
    """Return the folder of an export of the quarter to Parquet, which no test changes."""
    folder = tmp_path_factory.mktemp("exported") / "out"
    aa.export(quarter, folder)
    return folder
