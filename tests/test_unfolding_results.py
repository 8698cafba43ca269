"""Results whose figures unfold in JupyterLab: what a press shows sums to the figure."""

import html
import json
import re
from decimal import Decimal

import pytest

import accounting_analytics as aa

DAYS = ("2026-05-01", "2026-06-30")
FIGURE = re.compile(r'<td class="[^"]*" data-key="([^"]+)">([^<]+)</td>')
DATA = re.compile(r'<script type="application/json">(.*?)</script>', re.DOTALL)


def unfolded(text):
    """Yield the text of each figure that can be pressed, and what the lines or terms below it sum to."""
    data = json.loads(DATA.search(text)[1])
    for key, shown in FIGURE.findall(text):
        row, _, column = html.unescape(key).rpartition("|")
        if terms := data["terms"].get(row, {}).get(str(data["columns"].index(column))):
            yield shown, sum(units_of(one) if sign == "+" else -units_of(one) for sign, _, one in terms)
            continue
        flat = data["figures"][row][data["columns"].index(column)]
        runs = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
        yield shown, sum(sign * int(line[4]) for sign, first, last in runs for line in data["lines"][first : last + 1])


def units_of(text):
    """Return the cents of an amount as it is shown."""
    units = int(Decimal(text.strip("()").replace(",", "").replace("\N{EN DASH}", "0")).scaleb(2))
    return -units if text.startswith("(") else units


@pytest.fixture(scope="module")
def loaded(demo_company):
    """Return line entries and ledgers of two months."""
    ledgers = aa.discover_ledgers(demo_company.client, *DAYS, progress=False)
    return aa.load_line_entries(demo_company.client, ledgers["id"], *DAYS, progress=False), ledgers


def test_report_ledgers_unfold_lines_and_totals_are_stated(demo_company):
    report = aa.load_cash_flow_report(demo_company.client, *DAYS)
    figures = list(unfolded(report._repr_html_()))
    assert len(figures) > 20
    assert all(units_of(text) == units for text, units in figures)
    flows = sum(units for text, units in figures)
    assert Decimal(flows).scaleb(-2) == report.exact().net_cash_flow


def test_report_without_lines_shows_the_call_to_make(loaded):
    report = aa.recompute_cash_flow(aa.Books(*loaded), DAYS, lines=False)
    text = report._repr_html_()
    assert "Net cash flow by ledger" in text
    assert json.loads(DATA.search(text)[1])["lines"] == []


def test_bridge_steps_unfold_lines_of_both_sides(loaded):
    bridge = aa.bridge(aa.Books(*loaded), "2026-06", largest=3)
    figures = list(unfolded(bridge._repr_html_()))
    assert len(figures) >= 12
    assert all(units_of(text) == units for text, units in figures)
    assert figures[-1][1] == int(bridge["change"].exact().scaleb(2))
