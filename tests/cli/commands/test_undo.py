"""Undo on the command line: a dry run, a confirmed run, and what is left out."""

import json
from pathlib import Path

import accounting_analytics as aa

RULES = ("--rules", Path(__file__).parents[3] / "data/rules.toml")
PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


def test_undo(run, tmp_path):
    """A dry run sends nothing; a confirmed run restores the report; a change by another user is left out, exit 6."""
    with aa.demo() as company:
        environment = company.environment()
        run("plan", *PERIOD, *RULES, "--output", "plan.csv", **environment)
        applied = run("apply", "plan.csv", "--journal", "run.journal", "--confirm", "--json", **environment)
        assert applied.returncode == 0, applied.stderr
        reports = json.loads(applied.stdout)
        undo = ("undo", "run.journal", "--journal", "undo.journal")
        dry = run(*undo, **environment)
        assert "dry run, nothing was sent" in dry.stderr
        assert not (tmp_path / "undo.journal").exists()
        other = aa.Plan.load(tmp_path / "plan.csv").items[0]
        company.client.recategorize_transaction(
            other.ledger_id,
            other.transaction_id,
            updated_category_ledger_id=other.category_ledger_id,
            category_ledger_id=other.updated_category_ledger_id,
        )
        confirmed = run(*undo, "--confirm", "--json", "--modified-by", "ben", **environment)
        assert confirmed.returncode == 0, confirmed.stderr
        assert json.loads(confirmed.stdout)["after"] == reports["before"]
        third = next(
            one.updated_category_ledger_id
            for one in aa.Plan.load(tmp_path / "plan.csv").items
            if one.updated_category_ledger_id != other.updated_category_ledger_id
        )
        company.client.recategorize_transaction(
            other.ledger_id,
            other.transaction_id,
            updated_category_ledger_id=third,
            category_ledger_id=other.category_ledger_id,
        )
        left_out = run(*undo[:-1], "another.journal", "--confirm", **environment)
        assert left_out.returncode == 6, left_out.stderr
        assert "another user has changed them since" in left_out.stderr
        assert other.transaction_id in left_out.stdout


def test_undo_without_a_journal(run, assert_refused, demo_company):
    """A journal that does not exist is refused, and the message says which to pass."""
    finished = run("undo", "run.journal", "--journal", "undo.journal", **demo_company.environment())
    assert_refused(finished, 2, "does not exist or is empty; pass the journal of the run")
