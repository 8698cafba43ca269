"""Rules files on the command line."""

import json

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
PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


def test_rules_are_tested(run, tmp_path, demo_company):
    """Each rule is reported with its line, within 80 columns, and a dead rule is named on stderr."""
    (tmp_path / "rules.toml").write_text(RULES)
    terminal = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}
    tested = run("rules", "test", "rules.toml", *PERIOD, **demo_company.environment(), **terminal)
    assert tested.returncode == 0, tested.stderr
    assert tested.stdout.startswith("2 rule(s) decide ")
    assert max(map(len, tested.stdout.splitlines())) <= 80
    assert "Rule 'never' at line 7 is dead" in tested.stderr
    first, second = json.loads(
        run("rules", "test", "rules.toml", *PERIOD, "--json", **demo_company.environment()).stdout
    )
    assert (first["line"], first["status"], second["status"]) == (2, "decides", "dead")
    assert first["transaction_count"] > 0 == second["transaction_count"]


def test_misspelt_rules_file(run, assert_refused, tmp_path, demo_company):
    """A file that cannot be used is refused before anything is loaded, with the line of the rule."""
    (tmp_path / "rules.toml").write_text(RULES.replace('category = "Meals"\n\n', ""))
    finished = run("rules", "test", "rules.toml", *PERIOD, **demo_company.environment())
    assert_refused(finished, 2, "rule 1 ('all') at line 2: category is missing")


def test_rule_is_added(run, tmp_path, demo_company):
    """A group of the queue becomes a rule at the end of the file, which is printed."""
    (tmp_path / "rules.toml").write_text(RULES)
    group = json.loads(run("queue", *PERIOD, "--json", **demo_company.environment()).stdout)["groups"][0]
    add = ("rules", "add", "rules.toml", group["group_id"], "--category", "Office Supplies", *PERIOD)
    added = run(*add, **demo_company.environment())
    assert added.returncode == 0, added.stderr
    assert (tmp_path / "rules.toml").read_text() == f"{RULES}\n{added.stdout}"
    assert f'merchant = "{group["merchant"]}"' in added.stdout
