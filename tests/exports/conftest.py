"""Books to be exported: the demo's first quarter."""

import pytest

import accounting_analytics as aa

PERIOD = ("2025-01-01", "2025-03-31")
ZONE = "America/New_York"


@pytest.fixture(scope="session")
def frames_of(demo_company):
    """Return a function that loads line entries and report of days of the quarter, with all its ledgers."""
    client = demo_company.client
    ledgers = aa.discover_ledgers(client, *PERIOD, time_zone=ZONE)

    def frames_of(start_date, end_date):
        days = (start_date, end_date)
        return {
            "line_entries": aa.load_line_entries(client, ledgers["id"], *days, time_zone=ZONE),
            "ledgers": ledgers,
            "report": aa.load_cash_flow_report(client, *days, time_zone=ZONE),
        }

    return frames_of


@pytest.fixture(scope="session")
def frames(frames_of):
    """Return the demo's first quarter: line entries, ledgers, report."""
    return frames_of(*PERIOD)


@pytest.fixture(scope="session")
def exported(frames, tmp_path_factory):
    """Return the folder of an export of the quarter to Parquet, which no test changes."""
    folder = tmp_path_factory.mktemp("exported") / "out"
    aa.export(folder, **frames)
    return folder
