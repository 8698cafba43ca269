"""New categories in edited plan files: names are looked up in the books, and only where that is needed."""

import datetime as dt

import pytest

import accounting_analytics as aa
from accounting_analytics.cli.plan import resolve_plan
from accounting_analytics.core.errors import PlanError
from accounting_analytics.core.schemas import PlanItems
from accounting_analytics.recategorization.plan import read_plan_sheet

DAY = dt.datetime(2026, 5, 20, 16, tzinfo=dt.UTC)
DISCOVERING = "discovering the ledgers"


@pytest.fixture
def resolved(tmp_path, demo_company):
    """Return a function that writes a plan with new categories as (id, name), resolves it, and returns these pairs."""

    def resolved(*categories, suffix=".csv", ledgers=None):
        count = len(categories)
        columns = {name: [f"{name}_{row}" for row in range(count)] for name in PlanItems.dtypes()} | {
            "datetime": [DAY] * count,
            "transaction_amount": [0] * count,
            "uncategorized_amount": [0] * count,
            "category_ledger_id": ["led_uncategorized_outflow"] * count,
            "opposing_ledger_ids": ["led_uncategorized_outflow"] * count,
            "updated_category_ledger_id": [ledger_id for ledger_id, _ in categories],
            "updated_category_ledger_name": [name for _, name in categories],
        }
        file = tmp_path / f"plan{suffix}"
        aa.Plan(PlanItems.from_columns(columns), instance_id=demo_company.client.instance_id).save(file)
        read = read_plan_sheet(file)
        frame = resolve_plan(demo_company.client, read, demo_company.time_zone, ledgers=ledgers).frame
        return list(zip(frame["updated_category_ledger_id"], frame["updated_category_ledger_name"], strict=True))

    return resolved


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_names_are_looked_up(resolved, capsys, suffix):
    """An id, a name or a path in either column becomes the id and the name of the ledger."""
    found = resolved(("", "Meals"), ("meals", ""), ("led_rent", "Rent"), ("Shipping", "Shipping"), suffix=suffix)
    assert found == [
        ("led_meals", "Meals"),
        ("led_meals", "Meals"),
        ("led_rent", "Rent"),
        ("led_shipping", "Shipping"),
    ]
    assert DISCOVERING in capsys.readouterr().err


def test_unchanged_categories_need_no_discovery(resolved, capsys):
    """Where the books confirm each id with its name, no ledgers are discovered; a plan without rows needs nothing."""
    assert resolved(("led_meals", "Meals"), ("led_rent", "Rent")) == [("led_meals", "Meals"), ("led_rent", "Rent")]
    assert resolved() == []
    assert DISCOVERING not in capsys.readouterr().err


def test_parent_ledgers_are_noted(resolved, capsys, demo_company):
    """A new category that has ledgers below it may be a mistake; ledgers that are given are not discovered again."""
    ledgers = aa.discover_ledgers(demo_company.client, DAY.date(), DAY.date(), time_zone=demo_company.time_zone)
    found = resolved(("", "Cost of Goods"), ("led_meals", "Meals"), ("led_goods", ""), ledgers=ledgers)
    assert found == [("led_goods", "Cost of Goods"), ("led_meals", "Meals"), ("led_goods", "Cost of Goods")]
    printed = capsys.readouterr().err
    assert printed.count(" is a parent ledger; a ledger below it may be meant: ") == 1
    assert "The category 'Expenses:Cost of Goods' is" in printed
    assert DISCOVERING not in printed


def test_all_unusable_names_are_listed(resolved):
    """Unknown names with the most similar one, contradictions and cash, each with its row."""
    with pytest.raises(PlanError) as caught:
        resolved(
            ("", "Meels"),
            ("led_meals", "Meals"),
            ("led_meals", "Rent"),
            ("led_nowhere", "Meals"),
            ("", "Savings Account"),
            ("", "Meels"),
        )
    assert "correct these 4 problems" in str(caught.value)
    for text in (
        "rows 2, 7: no discovered ledger matches 'Meels'; did you mean 'Meals'?",
        "by updated_category_ledger_id, but 'Rent' by updated_category_ledger_name",
        "row 5: no discovered ledger matches 'led_nowhere'",
        "reports cash flow and cannot be a category",
    ):
        assert text in str(caught.value)


def test_another_instance_is_refused(resolved, demo_company, tmp_path):
    """A plan of other books is refused before anything is requested."""
    resolved(("led_meals", "Meals"))
    plan = tmp_path / "plan.csv"
    text = plan.read_text(encoding="utf-8-sig").replace(demo_company.client.instance_id, "other-books")
    plan.write_text(text, encoding="utf-8")
    with pytest.raises(PlanError, match=r"for instance 'other-books', not .*nothing was sent"):
        resolve_plan(demo_company.client, read_plan_sheet(plan), "UTC")
