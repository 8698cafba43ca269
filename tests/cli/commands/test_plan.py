"""From rules to changed books and back on the command line: plan, preview, apply, verify, undo."""

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pytest

import accounting_analytics as aa
from accounting_analytics.cli.apply import print_outcomes, require_done
from accounting_analytics.core.errors import RecategorizationIncompleteError
from accounting_analytics.core.schemas import PlanItems

RULES = ("--rules", Path(__file__).parents[3] / "data/rules.toml")
PERIOD = ("--start-date", "2026-05-01", "--end-date", "2026-05-31")


def test_plan_preview_apply_verify_undo(run, tmp_path):
    with aa.demo() as company:
        environment = company.environment()
        planned = run("plan", *PERIOD, *RULES, "--output", "plan.csv", "--json", **environment)
        assert planned.stderr.endswith(f"then: accounting-analytics preview plan.csv {' '.join(PERIOD)}\n")
        items = planned.content
        previewed = run("preview", "plan.csv", *PERIOD, "--json", **environment)
        preview = previewed.content
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
        unverified = run("verify", "plan.csv", "--by", "item", "--limit", "2", **environment, code=6)
        assert f"2 of {len(items)} rows; --all prints every row" in unverified.stdout
        assert "whether a change was sent is not known without the journal" in unverified.stdout
        applied = run(*apply, "--confirm", "--modified-by", "ana", "--json", **environment)
        assert "this run changed: accounting-analytics undo journal --journal undo-journal\n" in applied.stderr
        result = applied.content
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
        assert f"{len(items)} items: {len(items)} done" in verified.stdout
        assert "already_done; --confirm would change nothing\n" in run(*apply, **environment).stderr
        assert "none.csv has no items" in run("plan", *PERIOD, *RULES, "--output", "none.csv", **environment).stderr
        check_undo(run, company, aa.Plan.load(tmp_path / "plan.csv").items, result)
        assert not (tmp_path / "dry.journal").exists()
    for command in (apply, ("verify", "plan.csv", "--journal", "journal"), ("undo", "journal", "--journal", "new")):
        refused = run(*command, "--demo", code=2).stderr
        assert "journal is the journal of a demo company that ended with its command" in refused
    assert not (tmp_path / "new").exists()


def check_undo(run, company, items, applied):
    """Undo a run: a dry run sends nothing, a confirmed run restores the report, changes of others stay (exit 6)."""
    environment, other = company.environment(), items[0]
    assert "dry run, nothing was sent" in run("undo", "journal", "--journal", "dry.journal", **environment).stderr
    recategorize(company, other, other.updated_category_ledger_id, other.category_ledger_id)
    undo = ("undo", "journal", "--confirm", "--modified-by", "ben", "--json")
    confirmed = run(*undo, "--journal", "undo.journal", **environment)
    assert confirmed.content["after"] == applied["before"]
    thirds = {one.updated_category_ledger_id for one in items} - {other.updated_category_ledger_id}
    recategorize(company, other, other.category_ledger_id, min(thirds))
    left_out = run(*undo, "--journal", "another.journal", **environment, code=6)
    assert "1 changed_elsewhere" in left_out.stderr
    assert other.transaction_id in left_out.stdout


def recategorize(company, item, before, after):
    """Change the category of an item as another user does."""
    company.client.recategorize_transaction(
        item.ledger_id, item.transaction_id, updated_category_ledger_id=after, category_ledger_id=before
    )


def test_existing_plan_is_not_replaced(run_demo, assert_refused, tmp_path):
    (tmp_path / "plan.csv").write_text("edited", encoding="utf-8")
    refused = run_demo("plan", *PERIOD, *RULES, "--output", "plan.csv", code=2)
    assert_refused(refused, "plan.csv exists and may be a plan in use, so it is not replaced")
    assert (tmp_path / "plan.csv").read_text(encoding="utf-8") == "edited"


def test_undo_names_a_missing_journal(run_demo, assert_refused):
    finished = run_demo("undo", "run.journal", "--journal", "undo.journal", code=2)
    assert_refused(finished, "does not exist or is empty; pass the journal of the run")


@pytest.mark.long
def test_a_plan_works_with_the_next_demo(run):
    planned = run("plan", "--demo", *PERIOD, *RULES, "--output", "plan.csv", "--json")
    next_command = re.search(r"accounting-analytics (preview .*)", planned.stderr).group(1)
    previewed = run(*next_command.split(), "--json")
    assert sum(Decimal(row["change"]) for row in previewed.content["ledgers"]) == 0
    assert "change nothing" not in previewed.stderr
    assert previewed.content["by_rule"]
    other_days = run("preview", "plan.csv", "--demo", "--period", "2026-01")
    assert "change nothing in the report" in other_days.stderr, other_days.stderr


DAY = dt.datetime(2026, 5, 20, 16, tzinfo=dt.UTC)


def make_plan(*categories, instance_id=""):
    """Return a plan with an item for each new category, which is an id and a name."""
    count = len(categories)
    columns = {name: [f"{name}_{row:02}" for row in range(count)] for name in PlanItems.dtypes()} | {
        "transaction_id": [f"txn_{row:02}" for row in range(count)],
        "datetime": [DAY] * count,
        "transaction_amount": [Decimal("-1.50")] * count,
        "uncategorized_amount": [Decimal("-1.50")] * count,
        "category_ledger_id": ["led_uncategorized_outflow"] * count,
        "opposing_ledger_ids": ["led_uncategorized_outflow"] * count,
        "updated_category_ledger_id": [ledger_id for ledger_id, _ in categories],
        "updated_category_ledger_name": [name for _, name in categories],
        "rule": ["x"] * count,
    }
    return aa.Plan.from_frame(PlanItems.from_columns(columns), instance_id=instance_id)


def test_plan_of_other_books_is_refused_before_a_load(run_demo, assert_refused, tmp_path):
    make_plan(("led_meals", "Meals"), instance_id="other-books").save(tmp_path / "plan.csv")
    refused = run_demo("preview", "plan.csv", *PERIOD, code=2)
    assert_refused(refused, "for instance 'other-books', not ", "nothing was sent")


@pytest.mark.parametrize("command", [("preview", *PERIOD), ("apply", "--journal", "journal"), ("verify",)])
def test_an_edited_plan_is_refused(run_demo, assert_refused, tmp_path, command):
    make_plan(("led_meals", "Meals")).save(tmp_path / "plan.csv")
    text = (tmp_path / "plan.csv").read_text(encoding="utf-8-sig").replace(",led_meals,Meals,", ",led_rent,Rent,")
    (tmp_path / "plan.csv").write_text(text, encoding="utf-8")
    name, *options = command
    refused = run_demo(name, "plan.csv", *options, code=2)
    assert_refused(refused, "plan.csv is not as the plan was saved", "change the decisions, and make the plan again")


@pytest.fixture
def plan():
    """Return a plan of 30 items."""
    return make_plan(*[("meals", "Meals")] * 30)


def outcomes(plan, **others):
    """Return outcomes of a plan: done, except those given as (outcome, reason) by transaction."""
    keys = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]
    found = [others.get(one, ("done", "")) for one in plan.frame["transaction_id"]]
    return plan.frame[keys].assign(outcome=[one for one, _ in found], reason=[reason for _, reason in found])


def test_unfinished_items_come_first_with_reasons_once(capsys, plan):
    lost = {f"txn_{number}": ("unknown", "no answer\x1b") for number in (25, 26, 27, 28)}
    refused = {"txn_29": ("refused", "no such ledger")}
    print_outcomes(plan, outcomes(plan, **lost, **refused), by="item", time_zone="UTC", limit=6)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith(": 30 items: 25 done, 4 unknown, 1 refused; times are UTC")
    cells = [line.split() for line in lines if line.startswith(" 2026-")]
    assert [row[2] for row in cells] == ["unknown"] * 4 + ["refused", "done"]
    assert lines[-3:] == [
        "6 of 30 rows; --all prints every row",
        "unknown (txn_25, txn_26, txn_27 and 1 more): no answer\N{REPLACEMENT CHARACTER}",
        "refused (txn_29): no such ledger",
    ]


def test_sums_by_category_and_rule_replace_items(capsys, plan):
    refused = {f"txn_{number:02d}": ("refused", f"reason {number}") for number in range(4)}
    print_outcomes(plan, outcomes(plan, **refused), by="category", time_zone="UTC", limit=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(": 30 items: 26 done, 4 refused")
    cells = [line.split() for line in lines if "-" in line]
    assert ["Meals", "refused", "4", "-6.00", "meals"] in cells
    assert ["Meals", "done", "26", "-39.00", "meals"] in cells
    assert lines[-1] == "3 of 4 reasons; --all prints every one"
    print_outcomes(plan, outcomes(plan, **refused), by="rule", time_zone="UTC", limit=None)
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines() if "done" in line][1] == ["x", "done", "26", "-39.00"]
    assert printed.count("): reason ") == 4


def test_outcomes_that_are_all_done_are_counted(capsys, plan):
    require_done(outcomes(plan))
    assert capsys.readouterr().err == "30 done\n"


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("not_done", "1 not_done; it is safe to apply the rest again"),
        ("unknown", "1 unknown; verify with --journal shows after 60 seconds"),
        ("changed_elsewhere", "not change items that were changed elsewhere, a new plan does$"),
        ("refused", "1 refused; applying again leaves refused"),
    ],
)
def test_incomplete_outcomes_name_the_next_command(plan, outcome, message):
    with pytest.raises(RecategorizationIncompleteError, match=message) as caught:
        require_done(outcomes(plan, txn_03=(outcome, "")))
    assert caught.value.exit_code == 6
