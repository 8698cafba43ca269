"""From the queue to proposals on the command line: groups, decisions by hand, suggestions and rules."""

import csv
import shlex
from collections import Counter
from decimal import Decimal

import pytest

import accounting_analytics as aa

PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")
TERMINAL = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}
RULES = """# my rules
[[rule]]
name = "all"
regex = '.'
category = "Meals"

[[rule]]
name = "never"
contains = "zeppelin"
category = "Meals"
"""
SHOPS = '[[rule]]\nname = "shops"\ncontains = "SHOP"\ncategory = "Meals"\n'


@pytest.fixture(scope="module")
def ledgers(demo_company):
    return aa.discover_ledgers(demo_company.client, "2026-05-01", "2026-05-31", time_zone=demo_company.time_zone)


@pytest.mark.long
def test_queue_of_accounts_by_id_name_or_path(run_demo, ledgers):
    rows = run_demo("queue", *PERIOD, "--json").content["transactions"]
    assert len(rows) > 20
    account = rows[0]["ledger_id"]
    assert {row["ledger_id"] for row in rows} > {account}
    names = aa.LedgerNames.from_frame(ledgers)
    for texts in ([account], [names.name(account).upper(), account], [names.path(account)]):
        options = [part for text in texts for part in ("--ledger", text)]
        finished = run_demo("queue", *PERIOD, *options, "--json")
        assert "is not known" not in finished.stderr  # the uncategorized ledgers are loaded too
        listed = [row["transaction_id"] for row in finished.content["transactions"]]
        assert listed == [row["transaction_id"] for row in rows if row["ledger_id"] == account]


def test_groups_fit_80_columns_and_all_prints_rows(run_demo):
    listed = run_demo("queue", *PERIOD, "--json").content
    groups, rows = listed["groups"], listed["transactions"]
    assert sum(group["transaction_count"] for group in groups) == len(rows) > len(groups)
    assert groups[-1]["cumulative_share"] == 1
    assert sum(Decimal(group["amount"]) for group in groups) == sum(
        Decimal(row["uncategorized_amount"]) for row in rows
    )
    shown = run_demo("queue", *PERIOD, "--limit", "3", **TERMINAL).stdout
    assert max(map(len, shown.splitlines())) <= 80
    oldest = max(group["age_days"] for group in groups)
    counts = f"{len(rows)} uncategorized transactions in {len(groups)} groups"
    assert shown.startswith(f"{counts}; oldest {oldest} days on 31 May 2026\n")
    assert f"3 of {len(groups)} groups; --limit N prints more, --all every transaction\n" in shown
    assert shown.index(groups[0]["group_id"]) < shown.index(groups[1]["group_id"])
    assert " decisions clear 8" in shown
    for group in groups[:3]:
        first, last = group["age_days"], group["newest_age_days"]
        cells = next(line.split() for line in shown.splitlines() if group["group_id"] in line)
        assert cells[-1] == (f"{first}" if first == last else f"{first}-{last}")
    everything = run_demo("queue", *PERIOD, "--all").stdout
    assert everything.startswith(f"{len(rows)} uncategorized transactions, largest first: ")
    assert all(row["transaction_id"] in everything for row in rows)


@pytest.mark.long
def test_transactions_of_a_group_are_printed_and_written(run_demo, assert_refused, tmp_path):
    listed = run_demo("queue", *PERIOD, "--json").content
    group = max(listed["groups"], key=lambda one: one["transaction_count"])
    assert 1 < group["transaction_count"] < len(listed["transactions"])
    expected = [one for one in listed["transactions"] if one["group_id"] == group["group_id"]]
    assert len(expected) == group["transaction_count"]
    command = ("queue", *PERIOD, "--group", group["group_id"])
    assert run_demo(*command, "--json").content == {
        "groups": [group],
        "transactions": expected,
    }
    finished = run_demo(*command, "--output", "group.csv")
    assert finished.stdout.startswith(f"{len(expected)} uncategorized transactions, largest first: ")
    assert all(one["transaction_id"] in finished.stdout for one in expected)
    assert len((tmp_path / "group.csv").read_text(encoding="utf-8-sig").splitlines()) == 1 + len(expected)
    misspelt = run_demo("queue", *PERIOD, "--group", f"{group['group_id']}0", code=2)
    assert_refused(misspelt, "--group: the queue of these days has no group", f"did you mean '{group['group_id']}'")


def test_misspelt_account_is_refused_before_lines_are_loaded(run_demo, assert_refused, ledgers):
    name = ledgers.loc[ledgers["report_cash_flow"], "name"].iloc[0]
    finished = run_demo("queue", *PERIOD, "--ledger", f"{name}x", code=2)
    assert_refused(finished, f"--ledger: no discovered ledger matches '{name}x'; did you mean '{name}'")


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
def test_decisions_replace_rules_and_keep_their_reasons(run_demo, tmp_path):
    rules, groups, rows = (tmp_path / name for name in ("rules.toml", "groups.csv", "rows.csv"))
    rules.write_text("[[rule]]\nname = 'all'\nregex = '.'\ncategory = 'Office Supplies'\n")
    written = run_demo("queue", *PERIOD, "--output", groups)
    assert f" groups written to {groups}, without split ones\n" in written.stderr
    assert f"accounting-analytics plan --decisions {groups} --start-date 2026-05-01" in written.stderr
    run_demo("queue", *PERIOD, "--all", "--json", "--output", rows)
    group, row = decide_first(groups, "Travel"), decide_first(rows, "Meals")
    decisions = ("--decisions", groups, "--decisions", rows)
    planned = run_demo("plan", *PERIOD, "--rules", rules, *decisions, "--output", tmp_path / "plan.csv", "--json")
    found = {item["transaction_id"]: (item["updated_category_ledger_name"], item["rule"]) for item in planned.content}
    assert found.pop(row["transaction_id"]) == ("Meals", "decided by hand")
    in_group = int(group["transaction_count"]) - (row["group_id"] == group["group_id"])
    assert list(found.values()).count(("Travel", f"decided by hand: {group['group_id']}")) == in_group
    assert set(found.values()) == {("Travel", f"decided by hand: {group['group_id']}"), ("Office Supplies", "all")}
    shown = run_demo("propose", *PERIOD, *decisions)
    assert shown.stdout.startswith(f"{in_group + 1} of ")
    assert group["group_id"] not in shown.stdout
    assert "transactions not decided by hand." in shown.stderr


def test_files_are_checked_before_anything_is_loaded(run_demo, assert_refused, tmp_path):
    file = tmp_path / "decisions.csv"
    file.write_text("category,group_id\n")
    refused = [
        (("propose", *PERIOD), "--precision 0.98 or --transfers"),
        (("propose", *PERIOD, "--precision", "98"), "precision is 98.0, not a share"),
        (("propose", *PERIOD, "--decisions", file), "has no decision"),
        (("queue", *PERIOD, "--output", file), "exists and may hold decisions"),
        (("plan", *PERIOD, "--decisions", file, "--output", file), "which the plan would replace"),
    ]
    for arguments, message in refused:
        assert_refused(run_demo(*arguments, code=2), message)


def test_suggestions_fill_what_rules_leave(run_demo, tmp_path):
    suggested = run_demo("propose", *PERIOD, "--precision", "0.98", "--json")
    assert "would have been right" in suggested.stderr
    rows = suggested.content
    assert len(rows) > 20
    assert {row["rule"] for row in rows} == {"suggested from history"}
    assert all(0.9 < row["confidence"] <= 1 and " past transaction" in row["reason"] for row in rows)
    shown = run_demo("propose", *PERIOD, "--precision", "0.98").stdout.splitlines()
    assert max(map(len, shown[1:])) <= 120  # in a pipe
    assert "without transaction_id: wider than 120 columns; --json prints every column" in shown
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nname = 'postage'\ncontains = 'USPS'\ncategory = 'Shipping'\n")
    planned = run_demo(
        "plan", *PERIOD, "--rules", rules, "--precision", "0.98", "--output", tmp_path / "p.csv", "--json"
    )
    counts = Counter(item["rule"] for item in planned.content)
    assert set(counts) == {"postage", "suggested from history"}
    assert counts["suggested from history"] < len(rows) <= counts.total()


def test_suggestions_use_what_history_local_books_have(run, demo_books):
    march = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
    finished = run("propose", "--books", demo_books, *march, "--precision", "0.9", "--json")
    assert len(finished.content) > 5
    assert "would have been right" in finished.stderr


@pytest.mark.long
def test_rules_are_reported_and_dead_ones_named(run_demo, tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    tested = run_demo("rules", "test", "rules.toml", *PERIOD, **TERMINAL)
    assert tested.stdout.startswith("2 rules decide ")
    assert max(map(len, tested.stdout.splitlines())) <= 80
    assert "Rule 'never' at line 7 is dead" in tested.stderr
    first, second = run_demo("rules", "test", "rules.toml", *PERIOD, "--json").content
    assert (first["line"], first["status"], second["status"]) == (2, "decides", "dead")
    assert first["transaction_count"] > 0 == second["transaction_count"]


def test_misspelt_rules_are_refused_with_their_line(run_demo, assert_refused, tmp_path):
    (tmp_path / "rules.toml").write_text(RULES.replace('category = "Meals"\n\n', ""))
    finished = run_demo("rules", "test", "rules.toml", *PERIOD, code=2)
    assert_refused(finished, "rule 1 ('all') at line 2: category is missing")


@pytest.mark.long
def test_group_becomes_a_rule_that_runs_as_printed(run_demo, tmp_path):
    file = tmp_path / "my rules.toml"
    file.write_text(RULES)
    group = run_demo("queue", *PERIOD, "--json").content["groups"][0]
    added = run_demo("rules", "add", file.name, group["group_id"], "--category", "Office Supplies", *PERIOD)
    assert file.read_text() == f"{RULES}\n{added.stdout}"
    _, *command = shlex.split(added.stderr.splitlines()[-1].partition("try it: ")[2])
    assert run_demo(*command).stdout.startswith("3 rules decide ")
    assert f'counterparty = "{group["counterparty"]}"' in added.stdout


@pytest.mark.parametrize(
    ("limit", "rules", "message"),
    [
        ("200 USD", SHOPS + "exact = true\n", "--max-amount: '200 USD' is not an amount"),
        ("-1", SHOPS + "exact = true\n", "--max-amount -1 is negative"),
        ("200", SHOPS + "exact = 1\n", "exact: must be true or false"),
        ("200", "", "must contain"),
    ],
)
def test_refused_arguments_are_named(run, assert_refused, tmp_path, *, limit, rules, message):
    file = tmp_path / "rules.toml"
    file.write_text(rules, encoding="utf-8")
    days = ("--start-date", "2025-01-01", "--end-date", "2025-01-31")
    assert_refused(run("categorize", *days, "--rules", file, f"--max-amount={limit}", code=2), message)
