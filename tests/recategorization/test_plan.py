"""Plans: their content, their new categories by id, name or path, contradictions, and totals."""

from decimal import Decimal

import pandas as pd
import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import AmountError, FrameError, InputError, PlanError
from accounting_analytics.core.schemas import PlanTotals


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([("t1", "out", "out", "e1")], "already has its new category"),
        ([("t1", "out", "meals", "e1"), ("t1", "out", "rent", "e1")], "appears twice"),
        ([("t1", "out", "meals", "e1"), ("t2", "out", "rent", "e1")], "journal entry e1"),
        ([("t1", "in", "out", "e1"), ("t1", "out", "meals", "e1")], "depend on their order"),
    ],
)
def test_contradictions_are_refused(build, items, message):
    with pytest.raises(PlanError, match=message):
        build.plan(None, *(build.item(t, "bank", before, after, entry=entry) for t, before, after, entry in items))


@pytest.mark.parametrize("column", ["transaction_id", "category_ledger_id"])
def test_an_empty_id_is_refused(build, column):
    frame = build.plan(None, build.item("t1", "bank", "out", "meals", entry="e1")).frame
    with pytest.raises(FrameError, match=f"{column}: empty where a value is required"):
        aa.Plan.from_frame(frame.assign(**{column: ""}))


def test_plan_id_depends_on_the_changes_only(build):
    items = [build.item(f"t{number}", "bank", "out", "meals") for number in range(3)]
    plan = build.plan("one", *items)
    assert build.plan("one", *reversed(items)).plan_id == plan.plan_id
    assert build.plan("one", *(one | {"description": "other"} for one in items)).plan_id == plan.plan_id
    assert build.plan("one", *items[:2]).plan_id != plan.plan_id
    assert build.plan("one", items[0] | {"updated_category_ledger_id": "rent"}, *items[1:]).plan_id != plan.plan_id


def test_plan_is_immutable(build):
    plan = build.plan(None, build.item("t", "bank", "out", "meals"))
    frame = plan.frame
    frame.loc[0, "updated_category_ledger_id"] = "bank"
    assert plan.frame["updated_category_ledger_id"].tolist() == ["meals"]
    with pytest.raises(AttributeError):
        plan.frame = pd.DataFrame()


def test_amounts_are_printed_with_every_digit(build):
    plan = build.plan(None, build.item("t", "bank", "out", "meals", amount=Decimal("-1234.50")))
    assert plan.frame["transaction_amount"].tolist() == [-1234.5]
    assert " -1,234.50 " in repr(plan)
    assert "<td>-1,234.50</td>" in plan._repr_html_()


def test_plan_states_minutes_at_320_requests_each(build):
    items = (build.item(f"txn_{number}", "bank", "out", "meals") for number in range(80))
    assert build.plan(None, *items).minutes == 0.25


@pytest.fixture
def sums(build):
    """Return a plan of four items of two rules in two categories; of a split only a part is recategorized."""
    cells = [
        {"rule": "coffee", "amount": Decimal("-4.10")},
        {"rule": "coffee", "amount": Decimal("-4.20")},
        {"rule": "refunds", "amount": Decimal("3.30")},
        {"rule": "refunds", "amount": Decimal("-90.00"), "uncategorized_amount": Decimal("-30.00")},
    ]
    updated = ["Meals", "Meals", "Meals", "<Rent>"]
    return build.plan(
        None,
        *(
            build.item(f"t{number}", "bank", "out", category, **cell)
            for number, (category, cell) in enumerate(zip(updated, cells, strict=True))
        ),
    )


def rows(table, *columns):
    exact = PlanTotals.exact(table).frame
    return list(exact[list(columns)].itertuples(index=False, name=None))


def test_rules_and_categories_have_counts_and_exact_sums(sums):
    assert rows(sums.totals("rule"), "rule", "item_count", "amount") == [
        ("refunds", 2, Decimal("-26.70")),
        ("coffee", 2, Decimal("-8.30")),
    ]
    assert rows(sums.totals(), "updated_category_ledger_name", "item_count", "amount") == [
        ("<Rent>", 1, Decimal("-30.00")),
        ("Meals", 3, Decimal("-5.00")),
    ]
    assert sums.summary() == f"Recategorization plan {sums.plan_id}: 4 items"
    with pytest.raises(InputError, match="by must be one of 'rule', 'category', not 'outcome'"):
        sums.totals("outcome")
    with pytest.raises(InputError, match=r"by must be one of 'rule', 'category', not \['rule'\]"):
        sums.totals(["rule"])


def test_outcomes_divide_rules_and_categories(build, sums):
    found = build.found(sums, "done", "unknown", "done", "done")
    assert rows(sums.totals("rule", found), "rule", "outcome", "item_count", "amount") == [
        ("coffee", "unknown", 1, Decimal("-4.20")),
        ("refunds", "done", 2, Decimal("-26.70")),
        ("coffee", "done", 1, Decimal("-4.10")),
    ]
    assert rows(sums.totals("category", found), "updated_category_ledger_name", "outcome", "amount") == [
        ("Meals", "unknown", Decimal("-4.20")),
        ("<Rent>", "done", Decimal("-30.00")),
        ("Meals", "done", Decimal("-0.80")),
    ]
    assert sums.summary(found).endswith(": 4 items: 3 done, 1 unknown")


def test_sums_are_exact(build):
    items = (build.item(f"t{n}", "bank", "out", "Meals", amount=Decimal("9" * 35 + ".99")) for n in range(10))
    plan = build.plan(None, *items)
    assert plan.exact_totals("rule")["amount"].tolist() == [Decimal("9" * 36 + ".90")]
    with pytest.raises(AmountError, match=f"amount: amount {Decimal('9' * 36 + '.90'):,f} is too large for a pandas"):
        plan.totals("rule")


def test_outcomes_of_another_plan_are_refused(build, sums):
    found = build.found(sums, *["done"] * 4)
    assert len(sums.totals("rule", found.astype(object))) == 2
    for other in (found.head(3), found.iloc[::-1]):
        with pytest.raises(InputError, match="belong to another plan"):
            sums.totals("rule", other)
    with pytest.raises(InputError, match="outcomes is of type str"):
        sums.summary("done")


@pytest.fixture
def proposed(company_books, rules):
    ledgers, lines = company_books.load()
    return ledgers, aa.propose(aa.uncategorized_queue(aa.Books(lines, ledgers)), rules, books_of(ledgers))


def test_edit_of_the_name_alone_is_refused(proposed):
    ledgers, proposals = proposed
    (label,) = proposals.index[proposals["transaction_id"] == "txn_1"]
    edited = proposals.copy()
    edited.loc[label, "updated_category_ledger_name"] = "Software"
    reason = "the new category is 'Meals' by updated_category_ledger_id, but 'Software' by"
    with pytest.raises(PlanError) as caught:
        aa.plan_recategorization(edited, books_of(ledgers))
    assert str(caught.value).startswith(f"row {label} of the proposals (transaction txn_1): {reason}")


def test_a_whole_column_may_be_cleared_or_be_dropped(proposed):
    ledgers, proposals = proposed
    expected = aa.plan_recategorization(proposals, books_of(ledgers)).frame
    for column in ("updated_category_ledger_id", "updated_category_ledger_name"):
        plan = aa.plan_recategorization(proposals.assign(**{column: None}), books_of(ledgers))
        assert plan.frame.equals(expected)
        with pytest.raises(FrameError, match=f"{column}: column is missing"):
            aa.plan_recategorization(proposals.drop(columns=column), books_of(ledgers))
    assert len(aa.plan_recategorization(proposals[:0], books_of(ledgers))) == 0
