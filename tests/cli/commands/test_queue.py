"""Uncategorized transactions on the command line, of all accounts or of those that --ledger names."""

import json
from decimal import Decimal

import pytest

import accounting_analytics as aa

PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


@pytest.fixture(scope="module")
def ledgers(demo_company):
    """Return the chart of accounts."""
    return aa.discover_ledgers(demo_company.client, "2026-05-01", "2026-05-31", time_zone=demo_company.time_zone)


@pytest.mark.long
def test_ledger_by_id_name_or_path(run, demo_company, ledgers):
    """The account may be given by id, name or path, more than once, and only its transactions are listed."""
    everything = run("queue", *PERIOD, "--json", **demo_company.environment())
    rows = json.loads(everything.stdout)["transactions"]
    assert len(rows) > 20
    account = rows[0]["ledger_id"]
    assert {row["ledger_id"] for row in rows} > {account}
    names = aa.LedgerNames.from_frame(ledgers)
    for texts in ([account], [names.name(account).upper(), account], [names.path(account)]):
        options = [part for text in texts for part in ("--ledger", text)]
        finished = run("queue", *PERIOD, *options, "--json", **demo_company.environment())
        assert finished.returncode == 0, finished.stderr
        assert "likely transfers between accounts are recognized only where both" in finished.stderr
        assert "is not known" not in finished.stderr  # the uncategorized ledgers are loaded too
        listed = [row["transaction_id"] for row in json.loads(finished.stdout)["transactions"]]
        assert listed == [row["transaction_id"] for row in rows if row["ledger_id"] == account]


def test_groups_and_rows(run, demo_company):
    """Groups are printed within 80 columns, most money first; --all prints every transaction instead."""
    listed = json.loads(run("queue", *PERIOD, "--json", **demo_company.environment()).stdout)
    groups, rows = listed["groups"], listed["transactions"]
    assert sum(group["transaction_count"] for group in groups) == len(rows) > len(groups)
    assert groups[-1]["cumulative_share"] == 1
    assert sum(Decimal(group["amount"]) for group in groups) == sum(
        Decimal(row["uncategorized_amount"]) for row in rows
    )
    terminal = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}
    shown = run("queue", *PERIOD, "--limit", "3", **demo_company.environment(), **terminal).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.startswith(f"{len(rows)} uncategorized transactions in {len(groups)} groups; the oldest is ")
    assert f"3 of {len(groups)} groups; --limit N prints more, --all every transaction\n" in shown
    assert shown.index(groups[0]["group_id"]) < shown.index(groups[1]["group_id"])
    assert " decisions clear 8" in shown
    for group in groups[:3]:
        first, last = group["age_days"], group["newest_age_days"]
        cells = next(line.split() for line in shown.splitlines() if group["group_id"] in line)
        assert cells[-1] == (f"{first}" if first == last else f"{first}-{last}")
    everything = run("queue", *PERIOD, "--all", **demo_company.environment()).stdout
    assert everything.startswith(f"{len(rows)} uncategorized transactions, largest first: ")
    assert all(row["transaction_id"] in everything for row in rows)


@pytest.mark.long
def test_transactions_of_a_group(run, assert_refused, demo_company, tmp_path):
    """Every transaction behind a group is printed, and written to be decided; a misspelt group names the nearest."""
    listed = json.loads(run("queue", *PERIOD, "--json", **demo_company.environment()).stdout)
    group = max(listed["groups"], key=lambda one: one["transaction_count"])
    assert 1 < group["transaction_count"] < len(listed["transactions"])
    expected = [one for one in listed["transactions"] if one["group_id"] == group["group_id"]]
    assert len(expected) == group["transaction_count"]
    command = ("queue", *PERIOD, "--group", group["group_id"])
    assert json.loads(run(*command, "--json", **demo_company.environment()).stdout) == {
        "groups": [group],
        "transactions": expected,
    }
    finished = run(*command, "--output", "group.csv", **demo_company.environment())
    assert finished.stdout.startswith(f"{len(expected)} uncategorized transactions, largest first: ")
    assert all(one["transaction_id"] in finished.stdout for one in expected)
    assert len((tmp_path / "group.csv").read_text(encoding="utf-8-sig").splitlines()) == 1 + len(expected)
    misspelt = run("queue", *PERIOD, "--group", f"{group['group_id']}0", **demo_company.environment())
    assert_refused(misspelt, 2, "--group: the queue of these days has no group", f"did you mean '{group['group_id']}'")


def test_unknown_ledger(run, assert_refused, demo_company, ledgers):
    """A misspelt account is invalid input, with a suggestion, before any line is loaded."""
    name = ledgers.loc[ledgers["report_cash_flow"], "name"].iloc[0]
    finished = run("queue", *PERIOD, "--ledger", f"{name}x", **demo_company.environment())
    assert_refused(finished, 2, f"--ledger: no discovered ledger matches '{name}x'; did you mean '{name}'")
