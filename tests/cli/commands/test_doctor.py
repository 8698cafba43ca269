"""The doctor on the command line."""

import json

import pytest


@pytest.mark.long
def test_the_demo_passes(run):
    """The doctor finds nothing wrong with the demo company, and its JSON says so."""
    finished = run("doctor", "--demo", "--json")
    assert finished.returncode == 0, finished.stderr
    diagnosis = json.loads(finished.stdout)
    assert (diagnosis["exit_code"], diagnosis["start_date"], diagnosis["end_date"]) == (0, "2026-04-01", "2026-06-30")
    books = [row for row in diagnosis["findings"] if row["part"] == "The books"]
    assert {row["verdict"] for row in books} == {"ok"}


def test_failures_have_exit_codes(run, demo_company):
    """Without configuration the doctor exits with 2, with a wrong token with 4; findings are on stdout."""
    finished = run("doctor")
    assert finished.returncode == 2
    assert "failed       configuration" in finished.stdout
    assert finished.stderr.startswith("error: 1 check failed: configuration")
    unauthorized = run("doctor", **demo_company.environment() | {"ACCOUNTING_ANALYTICS_TOKEN": "not-the-token"})
    assert unauthorized.returncode == 4
    assert "failed       authentication" in unauthorized.stdout
    assert "not-the-token" not in unauthorized.stdout + unauthorized.stderr
    assert "Traceback" not in finished.stderr + unauthorized.stderr
