"""Decisions by hand on the command line: from the queue to a file, and from the file to proposals and a plan."""

import csv
import json

import pytest
from typer.testing import CliRunner

from accounting_analytics.cli.program import app
from accounting_analytics.errors import InputError, PlanError

PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


@pytest.fixture
def invoke(demo_company, tmp_path):
    """Return a function that runs a command on the demo company in this process."""

    def invoke(*arguments):
        environment = {**demo_company.environment(), "XDG_CONFIG_HOME": str(tmp_path), "COLUMNS": "80"}
        return CliRunner().invoke(app, [*map(str, arguments)], env=environment)

    return invoke


def decide_first(file, category):
    """Write a category into the first row of a file; return the row."""
    with file.open(encoding="utf-8-sig", newline="") as opened:
        first, *rows = csv.DictReader(opened)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, first)
        writer.writeheader()
        writer.writerows([first | {"category": category}, *rows])
    return first


def test_decisions_become_a_plan(invoke, tmp_path):
    """A filled-in group replaces what a rule decides, a filled-in transaction its group; every item has its reason."""
    rules, groups, rows = (tmp_path / name for name in ("rules.toml", "groups.csv", "rows.csv"))
    rules.write_text("[[rule]]\nname = 'all'\nregex = '.'\ncategory = 'Office Supplies'\n")
    written = invoke("queue", *PERIOD, "--output", groups)
    assert written.exit_code == 0, written.output
    assert f" group(s) written to {groups}, without split ones\n" in written.stderr
    assert f"accounting-analytics plan --decisions {groups} --start-date 2026-05-01" in written.stderr
    assert invoke("queue", *PERIOD, "--all", "--json", "--output", rows).exit_code == 0
    group, row = decide_first(groups, "Travel"), decide_first(rows, "Meals")
    decisions = ("--decisions", groups, "--decisions", rows)
    planned = invoke("plan", *PERIOD, "--rules", rules, *decisions, "--output", tmp_path / "plan.csv", "--json")
    assert planned.exit_code == 0, planned.output
    found = {
        item["transaction_id"]: (item["updated_category_ledger_name"], item["rule"])
        for item in json.loads(planned.stdout)
    }
    assert found.pop(row["transaction_id"]) == ("Meals", "decided by hand")
    in_group = int(group["transaction_count"]) - (row["group_id"] == group["group_id"])
    assert list(found.values()).count(("Travel", f"decided by hand: {group['group_id']}")) == in_group
    assert set(found.values()) == {("Travel", f"decided by hand: {group['group_id']}"), ("Office Supplies", "all")}
    shown = invoke("propose", *PERIOD, *decisions)
    assert shown.stdout.startswith(f"{in_group + 1} of ")
    assert group["group_id"] not in shown.stdout
    assert "transaction(s) are not decided by hand." in shown.stderr


def test_files_are_checked_before_anything_is_loaded(invoke, tmp_path):
    """Without rules and decisions, with a file of the wrong form, or one that would be replaced, nothing is loaded."""
    file = tmp_path / "decisions.csv"
    file.write_text("category,group_id\n")
    refused = [
        (("propose", *PERIOD), InputError, "give --rules FILE, or --decisions FILE"),
        (("propose", *PERIOD, "--decisions", file), InputError, "has no decision"),
        (("queue", *PERIOD, "--output", file), InputError, "exists and may hold decisions"),
        (("plan", *PERIOD, "--decisions", file, "--output", file), PlanError, "which the plan would replace"),
    ]
    for arguments, error, message in refused:
        result = invoke(*arguments)
        assert isinstance(result.exception, error)
        assert message in str(result.exception)
