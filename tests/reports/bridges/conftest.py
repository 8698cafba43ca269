"""The books of the demo company."""

from typing import NamedTuple

import pandas as pd
import pytest

import accounting_analytics as aa


class DemoBooks(NamedTuple):
    """Chart of accounts and line entries of the demo company."""

    ledgers: pd.DataFrame
    lines: pd.DataFrame
    time_zone: str


@pytest.fixture(scope="session")
def demo_lines(demo_company):
    """Return the demo books up to May 2026."""
    days = str(demo_company.start_date), "2026-05-31"
    ledgers = aa.discover_ledgers(demo_company.client, *days, progress=False)
    lines = aa.load_line_entries(demo_company.client, ledgers["id"], *days, progress=False)
    return DemoBooks(ledgers, lines, demo_company.time_zone)
