"""From rules to changed books and back on the command line: plan, preview, apply, verify, undo."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

import accounting_analytics as aa

RULES = ("--rules", Path(__file__).parents[3] / "data/rules.toml")
PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


def test_plan_preview_apply_verify_undo(run, tmp_path):
    """A dry run sends nothing; a confirmed run changes the report as previewed, is verified, and is undone."""
    with aa.demo() as company:
        environment = company.environment()
        planned = run("plan", *PERIOD, *RULES, "--output", "plan.csv", "--json", **environment)
        assert planned.returncode == 0, planned.stderr
        assert planned.stderr.endswith(f"then: accounting-analytics preview plan.csv {' '.join(PERIOD)}\n")
        items = json.loads(planned.stdout)
        previewed = run("preview", "plan.csv", *PERIOD, "--json", **environment)
        preview = json.loads(previewed.stdout)
        changes = [Decimal(row["change"]) for row in preview["ledgers"]]
        assert sum(changes) == 0 < len(changes)
        assert sum(row["item_count"] for row in preview["by_rule"]) == len(items)
        amounts = sum(Decimal(row["amount"]) for row in preview["by_category"])
        assert amounts == sum(Decimal(item["uncategorized_amount"]) for item in items)
        cost = f"at least {len(items)} requests and 0.1 minutes to change every item"
        assert cost in planned.stderr
        assert cost in previewed.stderr
        apply = ("apply", "plan.csv", "--journal", "journal")
        dry = run(*apply, **environment).stderr
        assert "dry run, nothing was sent" in dry
        assert dry.startswith(f"at least {len(items)} requests and 0.1 minutes")
        unverified = run("verify", "plan.csv", "--by", "item", "--limit", "2", **environment)
        assert unverified.returncode == 6, unverified.stderr
        assert f"2 of {len(items)} rows; --all prints every row" in unverified.stdout
        assert "whether a change was sent is not known without the journal" in unverified.stdout
        applied = run(*apply, "--confirm", "--modified-by", "ana", "--json", **environment)
        assert applied.returncode == 0, applied.stderr
        assert "this run changed: accounting-analytics undo journal --journal undo-journal\n" in applied.stderr
        result = json.loads(applied.stdout)
        assert [row["outcome"] for row in result["outcomes"]] == ["done"] * len(items)
        assert result["before"] != result["after"]
        assert result["differences"] == []
        assert all(row["predicted"] == row["after"] != row["before"] for row in result["changes"])
        assert [row["outcome"] for row in result["by_rule"]] == ["done"] * len(preview["by_rule"])
        after = aa.load_cash_flow_report(company.client, *PERIOD[1::2], time_zone=company.time_zone).exact().ledgers
        totals = dict(zip(after["ledger_id"], after["total_net_cash_flow"], strict=True))
        predicted = {row["ledger_id"]: row["predicted"] for row in preview["root_totals"]}
        assert {root: str(totals[root]) for root in predicted} == predicted
        verified = run("verify", "plan.csv", "--journal", "journal", **environment)
        assert verified.returncode == 0
        assert f"{len(items)} items: {len(items)} done" in verified.stdout
        assert "already_done; --confirm would change nothing\n" in run(*apply, **environment).stderr
        assert "none.csv has no items" in run("plan", *PERIOD, *RULES, "--output", "none.csv", **environment).stderr
        check_undo(run, company, aa.Plan.load(tmp_path / "plan.csv").items, result)
        assert not (tmp_path / "dry.journal").exists()


def check_undo(run, company, items, applied):
    """Undo a run: a dry run sends nothing, a confirmed run restores the report, changes of others stay (exit 6)."""
    environment, other = company.environment(), items[0]
    assert "dry run, nothing was sent" in run("undo", "journal", "--journal", "dry.journal", **environment).stderr
    recategorize(company, other, other.updated_category_ledger_id, other.category_ledger_id)
    undo = ("undo", "journal", "--confirm", "--modified-by", "ben", "--json")
    confirmed = run(*undo, "--journal", "undo.journal", **environment)
    assert confirmed.returncode == 0, confirmed.stderr
    assert json.loads(confirmed.stdout)["after"] == applied["before"]
    thirds = {one.updated_category_ledger_id for one in items} - {other.updated_category_ledger_id}
    recategorize(company, other, other.category_ledger_id, min(thirds))
    left_out = run(*undo, "--journal", "another.journal", **environment)
    assert left_out.returncode == 6, left_out.stderr
    assert "1 changed_elsewhere" in left_out.stderr
    assert other.transaction_id in left_out.stdout


def recategorize(company, item, before, after):
    """Change the category of an item as another user does."""
    company.client.recategorize_transaction(
        item.ledger_id, item.transaction_id, updated_category_ledger_id=after, category_ledger_id=before
    )


def test_undo_without_a_journal(run, assert_refused, demo_company):
    """A journal that does not exist is refused, and the message says which to pass."""
    finished = run("undo", "run.journal", "--journal", "undo.journal", **demo_company.environment())
    assert_refused(finished, 2, "does not exist or is empty; pass the journal of the run")


@pytest.mark.long
def test_a_plan_works_with_the_next_demo(run):
    """The demo's ids are always the same: a later command previews a plan of an earlier demo."""
    planned = run("plan", "--demo", *PERIOD, *RULES, "--output", "plan.csv", "--json")
    assert planned.returncode == 0, planned.stderr
    next_command = re.search(r"accounting-analytics (preview .*)", planned.stderr).group(1)
    previewed = run(*next_command.split(), "--json")
    assert sum(Decimal(row["change"]) for row in json.loads(previewed.stdout)["ledgers"]) == 0
    assert "change nothing" not in previewed.stderr
    assert json.loads(previewed.stdout)["by_rule"]


@pytest.mark.long
def test_preview_of_another_instance(run, assert_refused, tmp_path, demo_company):
    """A plan of other books is refused before it is previewed; a plan of other days changes nothing, with a note."""
    march = ("--start-date", "2025-03-01", "--end-date", "2025-03-31")
    environment = demo_company.environment()
    planned = run("plan", *march, *RULES, "--output", "plan.csv", **environment)
    assert planned.returncode == 0, planned.stderr
    assert re.search(r"new category +items +amount +ledger_id", planned.stdout)
    assert len(planned.stdout.splitlines()) < 20
    other_days = run("preview", "plan.csv", "--start-date", "2026-01-01", "--end-date", "2026-01-31", **environment)
    assert other_days.returncode == 0, other_days.stderr
    assert "change nothing in the report" in other_days.stderr
    plan = tmp_path / "plan.csv"
    plan.write_text(plan.read_text().replace("harbor-lane", "other-books"))
    assert_refused(run("preview", "plan.csv", *march, **environment), 2, "other-books", "harbor-lane")


@pytest.mark.long
def test_edited_category_that_contradicts_the_books(run, assert_refused, tmp_path, demo_company):
    """A preview accepts a new category by name, and refuses one that does not exist or contradicts the other column."""
    environment = demo_company.environment()
    planned = run("plan", *PERIOD, *RULES, "--output", "plan.csv", "--json", **environment)
    assert planned.returncode == 0, planned.stderr
    first = json.loads(planned.stdout)[0]
    ledger_id, name = first["updated_category_ledger_id"], first["updated_category_ledger_name"]
    plan = tmp_path / "plan.csv"
    written = plan.read_text()
    plan.write_text(written.replace(ledger_id, "nowhere"))
    assert_refused(run("preview", "plan.csv", *PERIOD, **environment), 2, "no discovered ledger matches 'nowhere'")
    plan.write_text(written.replace(f",{name},", ",Zeppelin,"))
    assert_refused(run("preview", "plan.csv", *PERIOD, **environment), 2, "but 'Zeppelin' by updated_category_ledger")
    plan.write_text(written.replace(ledger_id, ""))
    previewed = run("preview", "plan.csv", *PERIOD, "--json", **environment)
    assert previewed.returncode == 0, previewed.stderr
    assert ledger_id in {row["ledger_id"] for row in json.loads(previewed.stdout)["ledgers"]}
