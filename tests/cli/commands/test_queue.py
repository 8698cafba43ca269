"""Uncategorized transactions on the command line, of all accounts or of those that --ledger names."""

import json

import pytest

import accounting_analytics as aa
from accounting_analytics.ledger_names import LedgerNames

PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


@pytest.fixture(scope="module")
def ledgers(demo_company):
    """Return the chart of accounts."""
    return aa.discover_ledgers(demo_company.client, "2026-05-01", "2026-05-31", time_zone=demo_company.time_zone)


def test_ledger_by_id_name_or_path(run, demo_company, ledgers):
    """The account may be given by id, name or path, more than once, and only its transactions are listed."""
    everything = run("queue", *PERIOD, "--json", **demo_company.environment())
    rows = json.loads(everything.stdout)
    assert len(rows) > 20
    first = run("queue", *PERIOD, "--limit", "3", **demo_company.environment()).stdout
    assert first.startswith(f"{len(rows)} uncategorized transaction(s), largest first: ")
    assert first.endswith(f"3 of {len(rows)} rows; --all prints every row\n")
    account = rows[0]["ledger_id"]
    assert {row["ledger_id"] for row in rows} > {account}
    names = LedgerNames.from_frame(ledgers)
    for texts in ([account], [names.name(account).upper(), account], [names.path(account)]):
        options = [part for text in texts for part in ("--ledger", text)]
        finished = run("queue", *PERIOD, *options, "--json", **demo_company.environment())
        assert finished.returncode == 0, finished.stderr
        listed = [row["transaction_id"] for row in json.loads(finished.stdout)]
        assert listed == [row["transaction_id"] for row in rows if row["ledger_id"] == account]


def test_unknown_ledger(run, assert_refused, demo_company, ledgers):
    """A misspelt account is invalid input, with a suggestion, before any line is loaded."""
    name = ledgers.loc[ledgers["report_cash_flow"], "name"].iloc[0]
    finished = run("queue", *PERIOD, "--ledger", f"{name}x", **demo_company.environment())
    assert_refused(finished, 2, f"--ledger: no discovered ledger matches '{name}x'; did you mean '{name}'")
