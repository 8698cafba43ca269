"""Arguments of `categorize` that are refused before anything is loaded; `test_commands.py` has its runs."""

import pytest

RULES = '[[rule]]\nname = "shops"\ncontains = "SHOP"\ncategory = "Meals"\n'


@pytest.mark.parametrize(
    ("limit", "rules", "message"),
    [
        ("200 USD", RULES + "exact = true\n", "--max-amount: '200 USD' is not an amount"),
        ("-1", RULES + "exact = true\n", "--max-amount -1 is negative"),
        ("200", RULES + "exact = 1\n", "exact: must be true or false"),
        ("200", "", "must contain"),
    ],
)
def test_refused_arguments(run, assert_refused, tmp_path, *, limit, rules, message):
    """The message names the option, or the rule."""
    file = tmp_path / "rules.toml"
    file.write_text(rules, encoding="utf-8")
    days = ("--start-date", "2025-01-01", "--end-date", "2025-01-31")
    assert_refused(run("categorize", *days, "--rules", file, f"--max-amount={limit}"), 2, message)
