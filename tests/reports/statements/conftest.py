"""The books of the demo company."""

from typing import NamedTuple

import pandas as pd
import pytest
from books_strategy import naive_books
from naive_statements import NaiveBooks

import accounting_analytics as aa

DAYS = ("2025-01-01", "2026-05-31")


@pytest.fixture(scope="session")
def books_until_may(demo_company):
    return aa.load_books(demo_company.client, DAYS, reports=[], progress=False)


@pytest.fixture(scope="session")
def ledgers(books_until_may):
    """Return the demo company's chart of accounts until May."""
    return books_until_may.ledgers


@pytest.fixture(scope="session")
def demo_lines(books_until_may):
    """Return the demo company's line entries until May."""
    return books_until_may.lines


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
    books = aa.load_books(client, days, reports=[], progress=False)
    ledgers, lines = books.ledgers, books.lines
    return DemoBooks(client, days, ledgers, lines, naive_books(ledgers, lines, demo_company.time_zone))
