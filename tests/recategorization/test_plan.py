"""The queue, the rules' proposals, and the plan made of them."""

from decimal import Decimal

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import accounting_analytics as aa
from accounting_analytics.errors import PlanError, RulesError
from accounting_analytics.schemas import PlanItems


def test_queue_is_every_uncategorized_transaction_largest_first(books):
    """The queue holds each uncategorized transaction once, with direction from the side and the part of a split."""
    ledgers, lines = books.load()
    queue = aa.uncategorized_queue(lines, ledgers)
    assert queue["transaction_id"].tolist() == ["txn_3", "txn_2", "txn_split", "txn_1", "txn_0"]
    assert set(queue["direction"]) == {"outflow"}
    assert queue["amount"].tolist() == [Decimal(text) for text in ("-900.00", "-144.00", "-70.00", "-5.25", "-4.50")]
    assert queue["category_amount"].tolist()[2] == Decimal("-30.00")
    assert queue.attrs["notes"] == ()


def test_queue_says_what_it_cannot_know(books):
    """Without the lines of the uncategorized ledger the uncategorized parts are null, and the notes say so."""
    ledgers, lines = books.load()
    queue = aa.uncategorized_queue(lines[lines["ledger_id"] == books.bank], ledgers)
    assert len(queue) == 5
    assert queue["category_amount"].isna().all()
    assert "5 transaction(s)" in queue.attrs["notes"][0]


def test_queue_takes_pinned_ledgers(books):
    """A pinned ledger replaces the recognised ones."""
    ledgers, lines = books.load()
    queue = aa.uncategorized_queue(lines, ledgers, outflow_ledger_id=books.rent)
    assert queue["transaction_id"].tolist() == ["txn_split"]


def test_proposals_follow_the_rules_and_count_the_rest(books, rules):
    """The first fitting rule decides; what fits none is counted."""
    ledgers, lines = books.load()
    proposals = aa.propose(aa.uncategorized_queue(lines, ledgers), rules, ledgers)
    assert dict(zip(proposals["transaction_id"], proposals["rule"], strict=True)) == {
        "txn_0": "coffee",
        "txn_1": "coffee",
        "txn_2": "software",
        "txn_split": "hardware",
    }
    assert proposals.attrs["notes"] == ("1 of 5 transaction(s) fit no rule and stay uncategorized.",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]]\ncontains = 'x'\ncategory = 'Meals'", "rule 1 has no name"),
        ("[[rule]]\nname = 'a'\ncategory = 'Meals'", "either contains or regex"),
        ("[[rule]]\nname = 'a'\nregex = '('\ncategory = 'Meals'", "does not compile"),
        ("[[rule]]\nname = 'a'\ncontains = 'x'\ncategory = 'Meals'\nmax = 3", "unknown key 'max'"),
        ("[[rule]]\nname = 'a'\ncontains = 'x'\ncategory = 'Meals'\nmax_amount = 3.5", "in quotes"),
        ("[[rule]]\nname = 'a'\ncontains = 'x'\ncategory = 'Meals'\ndirection = 'up'", "inflow or outflow"),
        ("[[rule]]\nname = 'a'\ncontains = 'x'\ncategory = 'Meals'\n" * 2, "two rules named 'a'"),
        ("rule = 3", "[[rule]] tables"),
        ("[[rule", "not TOML"),
    ],
)
def test_bad_rules_are_refused_by_name(tmp_path, text, said):
    """A rule that cannot work is refused when the file is read."""
    file = tmp_path / "rules.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RulesError, match="rule") as caught:
        aa.load_rules(file)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("category", "said"), [("Nowhere", "no ledger 'Nowhere'"), ("Bank", "no category"), ("Twice", "several ledgers")]
)
def test_impossible_categories_are_refused(books, tmp_path, category, said):
    """A category that is unknown, ambiguous or cash is refused by the rule's name."""
    ledgers, lines = books.load()
    twice = ledgers.assign(name=ledgers["name"].where(~ledgers["name"].isin(["Meals", "Rent"]), "Twice"))
    file = tmp_path / "rules.toml"
    file.write_text(f"[[rule]]\nname = 'a'\ncontains = 'sq'\ncategory = '{category}'", encoding="utf-8")
    queue = aa.uncategorized_queue(lines, ledgers)
    with pytest.raises(RulesError, match="rule 'a'") as caught:
        aa.propose(queue, aa.load_rules(file), twice)
    assert said in str(caught.value)


def test_rule_that_fits_nothing_may_name_what_was_not_discovered(books, tmp_path):
    """A category without lines in the period is no error as long as its rule decides nothing; the notes say so."""
    ledgers, lines = books.load()
    file = tmp_path / "rules.toml"
    file.write_text("[[rule]]\nname = 'a'\ncontains = 'zeppelin'\ncategory = 'Airships'", encoding="utf-8")
    proposals = aa.propose(aa.uncategorized_queue(lines, ledgers), aa.load_rules(file), ledgers)
    assert proposals.empty
    assert "'Airships'" in proposals.attrs["notes"][1]


def test_preview_predicts_the_report(books, plan):
    """The preview names each ledger's change, exactly; the changes sum to zero."""
    preview = plan.preview(books.report())
    assert dict(zip(preview["ledger_id"], preview["change"], strict=True)) == {
        books.software: Decimal("-144.00"),
        books.meals: Decimal("-39.75"),
        books.outflow: Decimal("183.75"),
    }
    assert preview["change"].sum() == 0
    columns = (preview[name] for name in ("net_cash_flow", "change", "net_cash_flow_after"))
    assert all(before + change == after for before, change, after in zip(*columns, strict=True))


def test_plan_comes_back_from_its_file(plan, tmp_path):
    """A saved plan is the same when loaded; its file holds no formula."""
    plan.save(tmp_path / "plan.csv")
    loaded = aa.Plan.load(tmp_path / "plan.csv")
    pd.testing.assert_frame_equal(loaded.frame, plan.frame)
    assert loaded.plan_id == plan.plan_id


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_description_survives_the_file(tmp_path_factory, text):
    """Descriptions with quotes, line breaks, formulas and guards come back as they were; no cell is a formula."""
    folder = tmp_path_factory.mktemp("plan")
    cells = {name: [f"{name}-1"] for name in PlanItems.to_schema().columns}
    cells |= {"description": [text], "amount": [Decimal("-1.50")], "datetime": [pd.Timestamp("2025-03-01", tz="UTC")]}
    dtypes = PlanItems.dtypes()
    plan = aa.Plan(pd.DataFrame({name: pd.Series(cell, dtype=dtypes[name]) for name, cell in cells.items()}))
    plan.save(folder / "plan.csv")
    pd.testing.assert_frame_equal(aa.Plan.load(folder / "plan.csv").frame, plan.frame)
    row = (folder / "plan.csv").read_text(encoding="utf-8").split("\n", 1)[1]
    assert not any(cell.lstrip('"').startswith(("=", "@", "+")) for cell in row.split(","))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda text: text.replace("4.50", "4,50"), "cells where there are"),
        (lambda text: text.replace("-4.50", "four"), "'four' is not an amount"),
        (lambda text: text.replace("transaction_id", "id"), "is not a plan"),
        (lambda text: text.replace("coffee", ""), "rule is empty"),
        (lambda text: text + text.splitlines(keepends=True)[1], "twice"),
    ],
)
def test_bad_edits_are_refused(plan, tmp_path, edit, said):
    """A file that was edited badly is refused; where a row is to blame, the line is named."""
    file = tmp_path / "plan.csv"
    plan.save(file)
    file.write_text(edit(file.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(PlanError) as caught:
        aa.Plan.load(file)
    assert said in str(caught.value)


def test_plan_html_is_escaped(plan):
    """Descriptions do not become markup in a notebook."""
    frame = plan.frame.assign(description="<script>alert(1)</script>")
    assert "<script>" not in aa.Plan(frame)._repr_html_()
