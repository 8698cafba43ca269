"""Arguments of `categorize` that are refused before anything is loaded; `test_commands.py` has its runs."""

import pytest
from typer.testing import CliRunner

from accounting_analytics.cli.program import app
from accounting_analytics.errors import AmountError, RulesError

RULES = '[[rule]]\nname = "shops"\ncontains = "SHOP"\ncategory = "Meals"\n'


@pytest.mark.parametrize(
    ("limit", "rules", "error", "message"),
    [
        ("200 USD", RULES + "exact = true\n", AmountError, "--max-amount: '200 USD' is not an amount"),
        ("-1", RULES + "exact = true\n", AmountError, "--max-amount -1 is negative"),
        ("200", RULES + "exact = 1\n", RulesError, "exact: must be true or false"),
        ("200", "", RulesError, "must contain"),
    ],
)
def test_refused_arguments(tmp_path, limit, rules, error, message):
    """The message names the option, or the rule."""
    file = tmp_path / "rules.toml"
    file.write_text(rules, encoding="utf-8")
    days = ("--start-date", "2025-01-01", "--end-date", "2025-01-31")
    result = CliRunner().invoke(app, ["categorize", *days, "--rules", str(file), f"--max-amount={limit}"])
    assert type(result.exception) is error
    assert message in str(result.exception)
