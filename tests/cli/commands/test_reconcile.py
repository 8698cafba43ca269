"""Reconciliation on the command line."""

import json
import re
from decimal import Decimal

import pytest


def test_the_demo_ties(run, demo_company):
    """Every month of the demo's first quarter ties, with starting balances summed from history."""
    arguments = ("--start-date", "2025-01-01", "--end-date", "2025-03-31", "--since", "2025-01-01", "--json")
    finished = run("reconcile", *arguments, **demo_company.environment())
    assert finished.returncode == 0, finished.stderr
    assert "all 3 months tie to the last digit." in finished.stderr
    months = json.loads(finished.stdout)["months"]
    assert [(month["ties"], month["anchored"], month["differences"]) for month in months] == [(True, False, [])] * 3


@pytest.mark.long
def test_what_agreement_does_not_prove(run, demo_company):
    """Balances that were taken from the report are said to prove nothing."""
    anchored = run("reconcile", "--period", "2025-01", **demo_company.environment())
    assert anchored.returncode == 0, anchored.stderr
    assert anchored.stdout.count("agreement proves nothing: pass books_start") == 1
    assert "proves nothing" not in anchored.stderr
    assert "tie to the last digit" not in anchored.stderr
    summed = run("reconcile", "--period", "2025-01", "--books-start", "2025-01-01", **demo_company.environment())
    assert "proves nothing" not in summed.stdout + summed.stderr


def test_a_first_day_after_the_first_entry(run, deep_books):
    """Where --since is after the first entry, the error says so, and the explanation what to do."""
    days = ("--start-date", "2025-01-01", "--end-date", "2025-01-31", "--since", "2025-01-01")
    finished = run("reconcile", *days, **deep_books.environment())
    assert finished.returncode == 3
    assert "the books begin before --since 2025-01-01: give their first day, or leave --since out" in finished.stderr
    assert "balances differ only by the missing history" in finished.stdout


def test_a_month_that_does_not_tie(run, demo_company, distortion, forwarding):
    """An untied month is explained on stdout and named on stderr, exit code 3; the others tie."""

    def change_response(path, params, body):
        if "cash-flow" in path and (params["start_date"], params["end_date"]) == ("2025-02-01", "2025-02-28"):
            body["ending_cash_balance"] = Decimal(body["ending_cash_balance"]) + 1

    with forwarding(demo_company.base_url, distortion(response=change_response)) as base_url:
        environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
        finished = run("reconcile", "--start-date", "2025-01-01", "--end-date", "2025-03-31", **environment)
    assert finished.returncode == 3
    assert "the books do not tie in 1 of 3 months: 2025-02-01 to 2025-02-28 (America/New_York)" in finished.stderr
    assert "ending cash balance" in finished.stdout
    rows = [line.split() for line in finished.stdout.splitlines() if re.match(r"2025-\d\d-01 to \S+  ", line)]
    assert [row[:4] for row in rows] == [
        ["2025-01-01", "to", "2025-01-31", "ties"],
        ["2025-02-01", "to", "2025-02-28", "2"],
        ["2025-03-01", "to", "2025-03-31", "ties"],
    ]


JANUARY = ("reconcile", "--start-date", "2025-01-01", "--end-date", "2025-01-31", "--time-zone", "UTC")


@pytest.fixture
def without_parents(run, deep_books, distortion, forwarding):
    """Return a function that runs a command on the deep books, whose service shows no parents."""

    def refuse_parents(path, params):
        return 422 if "line-entries" in path and "parent" in params.get("expand", "") else None

    def run_without_parents(*arguments):
        with forwarding(deep_books.base_url, distortion(status=refuse_parents)) as base_url:
            return run(*arguments, **deep_books.environment(base_url))

    return run_without_parents


@pytest.mark.long
def test_totals_that_were_not_compared(without_parents):
    """The result and a message count totals that were not compared; exit code 3 for them only with --strict."""
    finished = without_parents(*JANUARY)
    assert finished.returncode == 0, finished.stderr
    assert "totals not compared (11 of 12)" in finished.stderr
    assert "--parents FILE" in finished.stderr
    assert "totals not compared (11 of 12)" in finished.stdout
    strict = without_parents(*JANUARY, "--strict")
    assert strict.returncode == 3
    assert "error: 2025-01-01 to 2025-01-31 (UTC): 1 month ties" in strict.stderr


@pytest.mark.long
def test_parents_from_a_file(without_parents, tmp_path):
    """With the parents of all ledgers from a CSV file, every total is compared."""
    days = ("--start-date", "2025-01-01", "--end-date", "2025-01-31")
    found = without_parents("discover", *days, "--json")
    ids = {ledger["name"]: ledger["id"] for ledger in json.loads(found.stdout)}
    pairs = [("home", "expenses"), ("rent", "home"), ("office", "expenses"), ("paper", "office"), ("expenses", "")]
    pairs += [("web", "sales"), ("sales", "income"), ("income", ""), ("checking", ""), ("savings", "")]
    rows = [f"{ids[child]},{ids.get(parent, '')}" for child, parent in pairs]
    (tmp_path / "parents.csv").write_text("\n".join(["ledger_id,parent_id", *rows]), encoding="utf-8")
    finished = without_parents(*JANUARY, "--parents", "parents.csv", "--strict", "--json")
    assert finished.returncode == 0, finished.stderr
    assert [month["not_compared"] for month in json.loads(finished.stdout)["months"]] == [0]
    discovered = without_parents("discover", *days, "--parents", "parents.csv", "--json")
    parents = {ledger["name"]: ledger["parent_id"] for ledger in json.loads(discovered.stdout)}
    assert parents["rent"] == ids["home"]


@pytest.mark.long
def test_json_says_why_a_month_does_not_tie(run, demo_company, distortion, forwarding):
    """Each month has its explanations; those of a month without a line name it, and count what follows."""

    def change_response(path, params, body):
        if "cash-flow" in path and (params["start_date"], params["end_date"]) == ("2025-02-01", "2025-02-28"):
            body["cash_flow_ledgers"] = [one for one in body["cash_flow_ledgers"] if one["name"] != "Rent"]

    with forwarding(demo_company.base_url, distortion(response=change_response)) as base_url:
        environment = demo_company.environment() | {"ACCOUNTING_ANALYTICS_BASE_URL": base_url}
        days = ("--start-date", "2025-01-01", "--end-date", "2025-02-28")
        finished = run("reconcile", *days, "--json", **environment)
    assert finished.returncode == 3
    january, february = json.loads(finished.stdout)["months"]
    assert january["explanations"] == []
    assert ":Rent (led_rent), line " in february["explanations"][0]
    assert "the report omits it" in february["explanations"][0]
    assert "follow from this" in february["explanations"][-1]
