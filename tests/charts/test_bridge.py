"""Waterfall of a bridge."""

from decimal import Decimal

import pytest
from payee_books import LEDGERS, frame_of, paid

import accounting_analytics as aa
from accounting_analytics import charts
from accounting_analytics.core.errors import InputError


def bridge_of_months(**options):
    """Return the bridge from February to March of four payees, one of them with markup in its name."""
    entries = [
        *paid("02-03", "03-03", payee="OAK STREET"),
        *paid("02-04", payee="<B>ELM</B>"),
        *paid("03-05", payee="M ORTIZ", cents=-1),
        *paid("03-06", payee="BLUE BOTTLE", cents=500_000, ledger="sales"),
    ]
    statement = aa.cash_flow_statement(frame_of(entries), LEDGERS, "2025-02-01", "2025-03-31", time_zone="UTC")
    return aa.bridge(statement.column("2025-02"), statement.column("2025-03"), **options)


def test_steps_lead_from_before_to_after(hovers):
    """The bars are the total before, the steps and the total after; each has the key of its figure."""
    bridge = bridge_of_months(largest=2)
    figure = charts.bridge(bridge)
    (trace,) = figure.data
    amounts = [Decimal(text.replace(",", "")) for text in hovers(trace)]
    assert sum(amounts[:-1]) == amounts[-1] == bridge["after"].exact()
    keys = [data[0] for data in trace.customdata]
    assert keys == ["before", *(step.key for step in bridge.steps), "after"]
    assert [bridge[key].exact() for key in keys] == amounts
    assert list(trace.measure) == ["absolute", *["relative"] * 3, "total"]
    assert [one.text for one in figure.layout.annotations] == [
        "Feb 2025  <b>\N{MINUS SIGN}6,400</b>",
        "Sales: BLUE BOTTLE  <b>+5,000</b>",
        "Rent: &lt;B&gt;ELM&lt; B&gt;  <b>+3,200</b>",
        "1 smaller change  <b>\N{MINUS SIGN}0.01</b>",
        "Mar 2025  <b>1,800</b>",
    ]


def test_only_bridges_are_drawn():
    """Anything but a bridge is refused."""
    with pytest.raises(InputError, match="bridge must be a Bridge, as bridge\\(\\) returns it, not dict"):
        charts.bridge({})
