"""The product in one test: load, validate, recompute, reconcile, chart, categorize and undo, notebook, run, export.

Only public names are used: every redesign keeps this test as it is.
"""

import json
import re
from decimal import Decimal

import duckdb
import httpx
import nbformat
import pytest
from nbformat import v4

import accounting_analytics as aa

MONTH = ("2026-06-01", "2026-06-30")
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
CELL = """import accounting_analytics as aa
books = aa.load_books(aa.connect(), ("2026-06-01", "2026-06-30"))
print("ties:", aa.reconcile(books).ties, "cash:", f"{books.reports[0].exact().ending_cash_balance}")"""


def exact(report):
    """Return the exact net cash flow of each ledger of a report, and its closing cash."""
    found = report.exact()
    flows = dict(zip(found.ledgers["ledger_id"], found.ledgers["net_cash_flow"], strict=True))
    return flows, found.ending_cash_balance


class Broken(httpx.HTTPTransport):
    """A network on which the first line of every page has an amount that is no amount."""

    def handle_request(self, request):
        response = super().handle_request(request)
        content = json.loads(response.read())
        self.ids = [one["id"] for one in content.get("records", [])[:1]]
        for record in content.get("records", [])[:1]:
            record["amount"] = "1,000.00"
        return httpx.Response(response.status_code, json=content)


@pytest.fixture(scope="module")
def own_company():
    """Return a demo company of this test alone, whose books are changed and changed back."""
    with aa.demo() as company:
        yield company


@pytest.fixture(scope="module")
def loaded(own_company):
    """Return the books of a month, with their report."""
    return aa.load_books(own_company.client, MONTH, since=MONTH[0])


def test_broken_page_and_frame_are_refused_naming_an_id(own_company, loaded):
    settings = own_company.environment()
    network = Broken()
    broken = aa.LedgerClient(
        settings["ACCOUNTING_ANALYTICS_BASE_URL"],
        token=settings["ACCOUNTING_ANALYTICS_TOKEN"],
        instance_id=settings["ACCOUNTING_ANALYTICS_INSTANCE_ID"],
        time_zone="UTC",
        transport=network,
    )
    with broken, pytest.raises(aa.errors.AccountingAnalyticsError, match=r"1,000\.00") as caught:
        aa.load_line_entries(broken, [loaded.ledgers["id"][0]], *MONTH)
    assert network.ids[0] in str(caught.value)
    frame = loaded.lines
    frame.loc[3, ["amount", "signed_amount"]] = 12.345
    with pytest.raises(aa.errors.AccountingAnalyticsError, match=re.escape(frame.loc[3, "id"])):
        aa.schemas.LineEntries.checked(frame)


def test_reports_charts_and_exports_agree(loaded, tmp_path):
    (reported,) = loaded.reports
    computed = aa.recompute_cash_flow(loaded)
    reconciliation = aa.reconcile(loaded)
    assert reconciliation.ties, reconciliation.explain()
    flows, ending = exact(reported)
    net = ending - reported.exact().starting_cash_balance
    assert (flows, ending) == exact(computed)
    assert sum(flows.values()) == net
    figure = aa.charts.inflow_outflow(reported)
    keys = {mark[0] for trace in figure.data if trace.customdata is not None for mark in trace.customdata}
    marks = [figure.mark(key) for key in keys if key.startswith(("inflow|", "outflow|"))]
    assert sum(Decimal(str(mark.amount)) for mark in marks) == net
    aa.export(loaded, tmp_path / "export #1")
    files = [str(path) for path in (tmp_path / "export #1" / "current").glob("fact_cash_flow_line/**/*.parquet")]
    with duckdb.connect() as database:
        rows = database.execute("select ledger_id, sum(amount) from read_parquet(?) group by all", [files]).fetchall()
    assert dict(rows) == {ledger: amount for ledger, amount in flows.items() if ledger in dict(rows)}
    assert sum(dict(rows).values()) == net


def test_the_uncategorized_are_categorized_and_taken_back(own_company, loaded, tmp_path):
    (reported,), client = loaded.reports, own_company.client
    queue = aa.uncategorized_queue(loaded)
    proposals = aa.decide(queue.head(3), dict.fromkeys(queue.head(3)["transaction_id"], "Travel"), loaded)
    plan = aa.plan_recategorization(proposals, loaded)
    predicted = plan.preview(reported)
    outcomes = aa.apply_plan(client, plan, journal=tmp_path / "a.journal", confirm=True)
    assert set(outcomes["outcome"]) == {"done"}
    assert set(aa.verify_plan(client, plan, journal=tmp_path / "a.journal")["outcome"]) <= {"done", "already_done"}
    changed = aa.load_cash_flow_report(client, *MONTH)
    assert exact(changed) != exact(reported)
    predicted.check(changed, outcomes)
    undo = aa.undo_plan(client, tmp_path / "a.journal")
    assert set(aa.apply_plan(client, undo, journal=tmp_path / "undo.journal", confirm=True)["outcome"]) == {"done"}
    assert exact(aa.load_cash_flow_report(client, *MONTH)) == exact(reported)


@pytest.fixture
def notebook_of_the_company(own_company, monkeypatch, tmp_path):
    """Return a notebook of one cell, and connect the kernels of this test to the company."""
    for name, value in own_company.environment().items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "job.ipynb"
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell(CELL)], metadata=KERNEL), path)
    return path


def test_scheduled_run_leaves_a_page_with_the_report(loaded, notebook_of_the_company, tmp_path):
    finished = aa.run_notebook(notebook_of_the_company, tmp_path / "runs")
    assert f"ties: True cash: {loaded.reports[0].exact().ending_cash_balance}" in finished.html.read_text(
        encoding="utf-8"
    )
