"""Totals of a plan: counts and exact sums by rule, by new category and by outcome."""

from decimal import Decimal

import pytest

from accounting_analytics.errors import InputError
from accounting_analytics.schemas import PlanTotals

KEYS = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]


@pytest.fixture
def plan(build):
    """Return a plan of four items of two rules in two categories; of a split only a part is recategorized."""
    cells = [
        {"rule": "coffee", "amount": Decimal("-4.10")},
        {"rule": "coffee", "amount": Decimal("-4.20")},
        {"rule": "refunds", "amount": Decimal("3.30")},
        {"rule": "refunds", "amount": Decimal("-90.00"), "category_amount": Decimal("-30.00")},
    ]
    updated = ["Meals", "Meals", "Meals", "<Rent>"]
    return build.plan(
        None,
        *(
            build.item(f"t{number}", "bank", "out", category, **cell)
            for number, (category, cell) in enumerate(zip(updated, cells, strict=True))
        ),
    )


def outcomes(plan, *found):
    """Return the outcomes of a plan."""
    return plan.frame[KEYS].assign(outcome=list(found), reason="")


def rows(table, *columns):
    """Return the exact rows of some columns."""
    exact = PlanTotals.exact(table).frame
    return list(exact[list(columns)].itertuples(index=False, name=None))


def test_counts_and_sums(plan):
    """Each rule and each category has its count and the exact sum of what is recategorized, largest first."""
    assert rows(plan.totals("rule"), "rule", "item_count", "amount") == [
        ("refunds", 2, Decimal("-26.70")),
        ("coffee", 2, Decimal("-8.30")),
    ]
    assert rows(plan.totals(), "updated_category_ledger_name", "item_count", "amount") == [
        ("<Rent>", 1, Decimal("-30.00")),
        ("Meals", 3, Decimal("-5.00")),
    ]
    assert plan.summary() == f"Recategorization plan {plan.plan_id}: 4 items"
    with pytest.raises(InputError, match="by must be one of 'rule', 'category', not 'outcome'"):
        plan.totals("outcome")
    with pytest.raises(InputError, match=r"by must be one of 'rule', 'category', not \['rule'\]"):
        plan.totals(["rule"])


def test_outcomes(plan):
    """With outcomes each rule and category is divided by them; what is not done comes first."""
    found = outcomes(plan, "done", "unknown", "done", "done")
    assert rows(plan.totals("rule", found), "rule", "outcome", "item_count", "amount") == [
        ("coffee", "unknown", 1, Decimal("-4.20")),
        ("refunds", "done", 2, Decimal("-26.70")),
        ("coffee", "done", 1, Decimal("-4.10")),
    ]
    assert rows(plan.totals("category", found), "updated_category_ledger_name", "outcome", "amount") == [
        ("Meals", "unknown", Decimal("-4.20")),
        ("<Rent>", "done", Decimal("-30.00")),
        ("Meals", "done", Decimal("-0.80")),
    ]
    assert plan.summary(found).endswith(": 4 items: 3 done, 1 unknown")


def test_sums_are_exact_with_decimals(build):
    """Amounts of 38 digits are summed without rounding, and stay decimals."""
    items = (build.item(f"t{n}", "bank", "out", "Meals", amount=Decimal("9" * 35 + ".99")) for n in range(10))
    totals = build.plan(None, *items, as_decimals=True).totals("rule")
    assert totals["amount"].tolist() == [Decimal("9" * 36 + ".90")]


def test_outcomes_of_another_plan(plan):
    """Outcomes of other items, and what is not a table, are refused; a table read from a file is not."""
    found = outcomes(plan, *["done"] * 4)
    assert len(plan.totals("rule", found.astype(object))) == 2
    for other in (found.head(3), found.iloc[::-1]):
        with pytest.raises(InputError, match="belong to another plan"):
            plan.totals("rule", other)
    with pytest.raises(InputError, match="outcomes is of type str"):
        plan.summary("done")


def test_empty_plan(build):
    """A plan without items has empty tables."""
    plan = build.plan(None)
    assert plan.totals("rule", outcomes(plan)).empty
    assert plan.summary(outcomes(plan)).endswith("0 items: nothing to do")
