"""The recipes for own books in the README of the service: each is run on its sample file, and checked as it says."""

import re
import shlex
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from accounting_analytics.service.database import Store
from accounting_analytics.service.server import running

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "accounting_analytics" / "service" / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("## Your own books in ten minutes")[2].partition("\n## ")[0]
BLOCKS = "".join(re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL))
COMMANDS = [shlex.split(line) for line in BLOCKS.splitlines() if "--database" in line]
RECIPES = {words[words.index("--database") + 1]: words for words in COMMANDS}

# cash at the end, and the period: the balances that the programs of the journals print
EXPECTED = {
    "hledger.db": ("2025-01-01", "2025-02-28", "13313.97"),
    "beancount.db": ("2025-01-01", "2025-02-28", "4173.55"),
}
"""First and last day, and the cash at the end."""


def test_every_recipe_has_an_expectation():
    assert RECIPES.keys() == EXPECTED.keys()


@pytest.mark.hledger
@pytest.mark.parametrize("database", EXPECTED)
def test_recipe_imports_reconciles_and_repeats_without_change(run, tmp_path, database):
    shutil.copytree(PROJECT / "data", tmp_path / "data")
    first_day, last_day, cash = EXPECTED[database]
    commands = [words[1:] for words in COMMANDS if database in words]
    for words in commands:
        run(*words, "--dry-run")
        run(*words)
        assert "entries: 0" in run(*words).stdout
    with running(tmp_path / database) as service:
        environment = {
            "ACCOUNTING_ANALYTICS_BASE_URL": service.base_url,
            "ACCOUNTING_ANALYTICS_INSTANCE_ID": instance_of(tmp_path / database),
            "ACCOUNTING_ANALYTICS_TOKEN_FILE": str(tmp_path / f"{database}.token"),
        }
        period = ("--start-date", first_day, "--end-date", last_day)
        reconciled = run("reconcile", *period, **environment)
        report = run("report", *period, **environment)
    assert "tie to the last digit" in reconciled.stdout
    assert re.search(rf"Cash at the end +{Decimal(cash):,}", report.stdout), report.stdout


def instance_of(database):
    with Store.open(database, create=False) as store:
        (instance,) = store.instances()
    return instance.id
