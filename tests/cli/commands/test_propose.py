"""Decisions by hand on the command line: from the queue to a file, and from the file to proposals and a plan."""

import csv
import json
from collections import Counter

import pytest

PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


@pytest.fixture
def invoke(run, demo_company):
    """Return a function that runs a command on the demo company."""
    return lambda *arguments: run(*arguments, **demo_company.environment())


def decide_first(file, category):
    """Write a category into the first row of a file; return the row."""
    with file.open(encoding="utf-8-sig", newline="") as opened:
        first, *rows = csv.DictReader(opened)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, first)
        writer.writeheader()
        writer.writerows([first | {"category": category}, *rows])
    return first


@pytest.mark.long
def test_decisions_become_a_plan(invoke, tmp_path):
    """A filled-in group replaces what a rule decides, a filled-in transaction its group; every item has its reason."""
    rules, groups, rows = (tmp_path / name for name in ("rules.toml", "groups.csv", "rows.csv"))
    rules.write_text("[[rule]]\nname = 'all'\nregex = '.'\ncategory = 'Office Supplies'\n")
    written = invoke("queue", *PERIOD, "--output", groups)
    assert written.returncode == 0, written.stderr
    assert f" groups written to {groups}, without split ones\n" in written.stderr
    assert f"accounting-analytics plan --decisions {groups} --start-date 2026-05-01" in written.stderr
    assert invoke("queue", *PERIOD, "--all", "--json", "--output", rows).returncode == 0
    group, row = decide_first(groups, "Travel"), decide_first(rows, "Meals")
    decisions = ("--decisions", groups, "--decisions", rows)
    planned = invoke("plan", *PERIOD, "--rules", rules, *decisions, "--output", tmp_path / "plan.csv", "--json")
    assert planned.returncode == 0, planned.stderr
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
    assert "transactions not decided by hand." in shown.stderr


def test_files_are_checked_before_anything_is_loaded(invoke, assert_refused, tmp_path):
    """Without rules and decisions, with a file of the wrong form, or one that would be replaced, nothing is loaded."""
    file = tmp_path / "decisions.csv"
    file.write_text("category,group_id\n")
    refused = [
        (("propose", *PERIOD), "give --rules FILE, --decisions FILE"),
        (("propose", *PERIOD, "--decisions", file), "has no decision"),
        (("queue", *PERIOD, "--output", file), "exists and may hold decisions"),
        (("plan", *PERIOD, "--decisions", file, "--output", file), "which the plan would replace"),
    ]
    for arguments, message in refused:
        assert_refused(invoke(*arguments), 2, message)


def test_suggestions_fill_what_rules_leave(invoke, tmp_path):
    """With --precision the history of the year before is loaded, and what it suggests is proposed and planned."""
    suggested = invoke("propose", *PERIOD, "--precision", "0.98", "--json")
    assert suggested.returncode == 0, suggested.stderr
    assert "would have been right" in suggested.stderr
    rows = json.loads(suggested.stdout)
    assert len(rows) > 20
    assert {row["rule"] for row in rows} == {"suggested from history"}
    assert all(0.9 < row["confidence"] <= 1 and " past transaction" in row["reason"] for row in rows)
    shown = invoke("propose", *PERIOD, "--precision", "0.98").stdout.splitlines()
    assert max(map(len, shown[1:])) <= 120  # in a pipe
    assert "without transaction_id: wider than 120 columns; --json prints every column" in shown
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nname = 'postage'\ncontains = 'USPS'\ncategory = 'Shipping'\n")
    planned = invoke("plan", *PERIOD, "--rules", rules, "--precision", "0.98", "--output", tmp_path / "p.csv", "--json")
    assert planned.returncode == 0, planned.stderr
    counts = Counter(item["rule"] for item in json.loads(planned.stdout))
    assert set(counts) == {"postage", "suggested from history"}
    assert counts["suggested from history"] < len(rows) <= counts.total()


@pytest.mark.long
def test_sheets_have_suggestions(invoke, tmp_path):
    """With --precision the file to decide has suggestions beside empty categories, and the next command has it too."""
    written = invoke("queue", *PERIOD, "--precision", "0.98", "--output", tmp_path / "groups.csv")
    assert written.returncode == 0, written.stderr
    assert " --precision 0.98 " in written.stderr
    with (tmp_path / "groups.csv").open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {row["category"] for row in rows} == {""}
    assert sum(row["suggestion"] != "" for row in rows) > len(rows) / 2
    group = next(row["group_id"] for row in rows if row["suggestion"])
    listed = json.loads(invoke("queue", *PERIOD, "--precision", "0.98", "--group", group, "--json").stdout)
    assert {one["group_id"] for one in listed["suggestions"]} == {group}
    assert all("past transaction" in one["reason"] for one in listed["suggestions"])


@pytest.mark.long
def test_likely_transfers_are_proposed_if_asked_for(invoke):
    """--transfers alone is enough; the demo company has no uncategorized transfer in these days."""
    proposed = invoke("propose", *PERIOD, "--transfers")
    assert proposed.returncode == 0, proposed.stderr
    assert proposed.stdout.startswith("0 of ")


def test_without_a_source_nothing_is_loaded(invoke, assert_refused):
    """A command without rules, decisions, precision or transfers, and one with an impossible precision, is refused."""
    assert_refused(invoke("propose", *PERIOD), 2, "--precision 0.98 or --transfers")
    assert_refused(invoke("propose", *PERIOD, "--precision", "98"), 2, "precision is 98.0, not a share")


def test_suggestions_from_local_books_that_begin_later(run, demo_books):
    """Where local books do not have the year before, the history is what they have."""
    march = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
    finished = run("propose", "--books", demo_books, *march, "--precision", "0.9", "--json")
    assert finished.returncode == 0, finished.stderr
    assert len(json.loads(finished.stdout)) > 5
    assert "would have been right" in finished.stderr
