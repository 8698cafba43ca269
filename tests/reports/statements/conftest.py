"""The books of the demo company."""

from typing import NamedTuple

import pandas as pd
import pytest
from books_strategy import naive_books
from naive_statements import NaiveBooks

import accounting_analytics as aa

DAYS = ("2025-01-01", "2026-05-31")


@pytest.fixture(scope="session")
def ledgers(demo_company):
    """Return the demo company's chart of accounts until May."""
    return aa.discover_ledgers(demo_company.client, *DAYS)


@pytest.fixture(scope="session")
def demo_lines(demo_company, ledgers):
    """Return the demo company's line entries until May."""
    return aa.load_line_entries(demo_company.client, ledgers["id"], *DAYS)


@pytest.fixture(scope="session")
def may_report(demo_company):
    return aa.load_cash_flow_report(demo_company.client, "2026-05-01", "2026-05-31")


class DemoBooks(NamedTuple):
    """All lines of the demo company, its chart, and the naive books of both."""

    client: aa.LedgerClient
    days: tuple[str, str]
    ledgers: pd.DataFrame
    lines: pd.DataFrame
    naive: NaiveBooks


@pytest.fixture(scope="session")
def demo_books(demo_company):
    """Return the demo books, loaded from their first day to their last."""
    client, days = demo_company.client, (str(demo_company.start_date), str(demo_company.end_date))
    ledgers = aa.discover_ledgers(client, *days, progress=False)
    lines = aa.load_line_entries(client, ledgers["id"], *days, progress=False)
    return DemoBooks(client, days, ledgers, lines, naive_books(ledgers, lines, demo_company.time_zone))
