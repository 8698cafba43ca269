"""Packs of the demo company, made once."""

import pytest

import accounting_analytics as aa


@pytest.fixture(scope="session")
def demo_pack(demo_company):
    """Return the pack of May 2026, whose balances are sums since the books began."""
    return aa.monthly_pack(
        demo_company.client,
        "2026-05",
        company="Harbor Lane Coffee Roasters",
        currency="USD",
        books_start=demo_company.start_date,
        progress=False,
    )
