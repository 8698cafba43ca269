"""New categories that an analyst edits in proposals: id, name or path in one column or in both."""

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import FrameError, PlanError
from accounting_analytics.recategorization.plan_sheet import DiscoveredCategory
from accounting_analytics.schemas import Ledgers

LEDGERS = {
    # id: name, parent, reports cash flow
    "bank": ("Bank", None, True),
    "expenses": ("Expenses", None, False),
    "meals": ("Meals", "expenses", False),
    "travel": ("Travel", "expenses", False),
    "software": ("Software", "expenses", False),
    "goods": ("Goods", None, False),
    "goods-software": ("Software", "goods", False),
    "loan": ("Loan", None, False),
}


@pytest.fixture(scope="module")
def category():
    """Return the categories of a small chart of accounts."""
    count = len(LEDGERS)
    columns = {
        "id": list(LEDGERS),
        "name": [name for name, _, _ in LEDGERS.values()],
        "type": [None] * count,
        "sub_type": [None] * count,
        "debit_credit": [None] * count,
        "financial_account_type": [ledger_id if ledger_id == "loan" else None for ledger_id in LEDGERS],
        "report_cash_flow": [cash for _, _, cash in LEDGERS.values()],
        "is_required": [None] * count,
        "editable": [None] * count,
        "parent_id": [parent for _, parent, _ in LEDGERS.values()],
        "sort_code": [""] * count,
        "created_at": [None] * count,
    }
    return DiscoveredCategory(Ledgers.from_columns(columns))


@pytest.mark.parametrize(
    ("ledger_id", "name", "expected"),
    [
        ("meals", "Meals", "meals"),
        ("meals", "", "meals"),
        ("", "Meals", "meals"),
        ("  ", "expenses:meals", "meals"),
        ("Travel", "", "travel"),
        ("Expenses:Travel", "travel", "travel"),
        ("goods-software", "Software", "goods-software"),  # the name is ambiguous, the id decides
        ("Software", "Goods:Software", "goods-software"),  # the path decides
        ("loan", "Loan", "loan"),
    ],
)
def test_both_columns_mean_one_ledger(category, ledger_id, name, expected):
    """Each column holds an id, a name or a path, or is empty; the plan gets the id and the name."""
    assert category.find(ledger_id, name, "row 0") == (expected, LEDGERS[expected][0])


@pytest.mark.parametrize(
    ("ledger_id", "name", "message"),
    [
        (
            "meals",
            "Travel",
            (
                "row 0: updated_category_ledger_id 'meals' is 'Expenses:Meals', but updated_category_ledger_name "
                "'Travel' is 'Expenses:Travel'; write the category in one of the two columns (id, unique name or path) "
                "and clear the other"
            ),
        ),
        ("meals", "Software", "'Software' is 'Expenses:Software' or 'Goods:Software'; write the category"),
        ("Software", "", "row 0: updated_category_ledger_id: several ledgers match 'Software'"),
        ("", "Software", "row 0: updated_category_ledger_name: several ledgers match 'Software'"),
        ("Software", "Software", "several ledgers match 'Software'"),
        ("meals", "Travle", "updated_category_ledger_name: no discovered ledger matches 'Travle'; did you mean 'Tra"),
        ("mea1s", "Meals", "updated_category_ledger_id: no discovered ledger matches 'mea1s'; did you mean 'Meals'?"),
        ("", "", "row 0: there is no new category; write its id, unique name or path, or remove the row"),
        ("bank", "Bank", "row 0: 'Bank' reports cash flow and cannot be a category"),
        ("", "bank", "row 0: 'Bank' reports cash flow and cannot be a category"),
    ],
)
def test_refused_categories(category, ledger_id, name, message):
    """Unknown, ambiguous, missing and cash ledgers are refused, and columns that disagree."""
    with pytest.raises(PlanError) as caught:
        category.find(ledger_id, name, "row 0")
    assert message in str(caught.value)


@pytest.fixture
def proposed(books, rules):
    """Return the ledgers and the proposals of the rules."""
    ledgers, lines = books.load()
    return ledgers, aa.propose(aa.uncategorized_queue(lines, ledgers), rules, ledgers)


def test_edit_of_the_name_alone_is_refused(proposed):
    """A name that disagrees with the id is refused with the row that was edited, not another of the same ledger."""
    ledgers, proposals = proposed
    edited = proposals.copy()
    assert edited["updated_category_ledger_name"].tolist().count("Meals") == 3
    (label,) = edited.index[edited["transaction_id"] == "txn_1"]
    edited.loc[label, "updated_category_ledger_name"] = "Software"
    with pytest.raises(PlanError) as caught:
        aa.plan_recategorization(edited, ledgers=ledgers)
    assert str(caught.value).startswith(f"row {label} of the proposals (transaction txn_1): updated_category_ledger_id")
    assert "is 'Meals', but updated_category_ledger_name 'Software' is 'Software'" in str(caught.value)


@pytest.mark.parametrize(("column", "other"), [("id", "name"), ("name", "id")])
@pytest.mark.parametrize("text", ["Software", "software", None])
def test_correction_reaches_the_books(books, proposed, tmp_path, *, column, other, text):
    """A category chosen by name or id in either column, with the other cleared, is the one the books get."""
    ledgers, proposals = proposed
    edited = proposals.copy()
    label = edited.index[edited["transaction_id"] == "txn_1"]
    edited.loc[label, f"updated_category_ledger_{column}"] = text or books.software
    edited.loc[label, f"updated_category_ledger_{other}"] = None
    plan = aa.plan_recategorization(edited, ledgers=ledgers, instance_id=books.instance)
    row = plan.frame.set_index("transaction_id").loc["txn_1"]
    assert row["updated_category_ledger_id"] == books.software
    assert row["updated_category_ledger_name"] == "Software"
    outcomes = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(outcomes["outcome"]) == {"done"}
    lines = books.client.iter_line_entries(books.software, "2025-03-01", "2025-03-31")
    assert plan.frame.set_index("transaction_id").loc["txn_1", "journal_entry_id"] in {
        line.journal_entry_id for line in lines
    }


def test_proposals_may_be_saved_as_csv(proposed, tmp_path):
    """Proposals that pandas wrote to a CSV file and read again give the same plan."""
    ledgers, proposals = proposed
    proposals.to_csv(tmp_path / "proposals.csv", index=False)
    plan = aa.plan_recategorization(pd.read_csv(tmp_path / "proposals.csv"), ledgers=ledgers)
    assert plan.plan_id == aa.plan_recategorization(proposals, ledgers=ledgers).plan_id


def test_a_whole_column_may_be_cleared_or_be_dropped(proposed):
    """A column without any value is filled from the other; without the column the frame is refused."""
    ledgers, proposals = proposed
    expected = aa.plan_recategorization(proposals, ledgers=ledgers).frame
    for column in ("updated_category_ledger_id", "updated_category_ledger_name"):
        plan = aa.plan_recategorization(proposals.assign(**{column: None}), ledgers=ledgers)
        assert plan.frame.equals(expected)
        with pytest.raises(FrameError, match=f"{column}: column is missing"):
            aa.plan_recategorization(proposals.drop(columns=column), ledgers=ledgers)
    assert len(aa.plan_recategorization(proposals[:0], ledgers=ledgers)) == 0
