"""Rules files on the command line."""

import json
import shlex

import pytest

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


@pytest.mark.long
def test_rules_are_tested(run, tmp_path, demo_company):
    """Each rule is reported with its line, within 80 columns, and a dead rule is named on stderr."""
    (tmp_path / "rules.toml").write_text(RULES)
    terminal = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}
    tested = run("rules", "test", "rules.toml", *PERIOD, **demo_company.environment(), **terminal)
    assert tested.returncode == 0, tested.stderr
    assert tested.stdout.startswith("2 rules decide ")
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


@pytest.fixture
def profile(tmp_path, demo_company):
    """Return options that select a profile with the demo company; nothing else is configured."""
    settings = demo_company.environment().items()
    lines = [f"{name.removeprefix('ACCOUNTING_ANALYTICS_').lower()} = {json.dumps(value)}" for name, value in settings]
    folder = tmp_path / "config" / "accounting-analytics"
    folder.mkdir(parents=True)
    file = folder / "config.toml"
    file.write_text("\n".join(["[demo]", *lines]))
    file.chmod(0o600)
    return "--profile", "demo"


@pytest.mark.long
def test_rule_is_added(run, tmp_path, profile):
    """A group of the queue becomes a rule at the end of the file, which is printed, and can be tried as printed."""
    file = tmp_path / "my rules.toml"
    file.write_text(RULES)
    group = json.loads(run("queue", *PERIOD, *profile, "--json").stdout)["groups"][0]
    added = run("rules", "add", file.name, group["group_id"], "--category", "Office Supplies", *PERIOD, *profile)
    assert added.returncode == 0, added.stderr
    assert file.read_text() == f"{RULES}\n{added.stdout}"
    _, *command = shlex.split(added.stderr.splitlines()[-1].partition("try it: ")[2])
    assert run(*command).stdout.startswith("3 rules decide ")
    assert f'merchant = "{group["merchant"]}"' in added.stdout
