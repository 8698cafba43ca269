"""New categories chosen by id, name or path: in proposals and in plan files, and what the books get."""

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import FrameError, InputError, PlanError
from accounting_analytics.core.schemas import Ledgers
from accounting_analytics.reports.category_ledgers import Categories

LEDGERS = {
    "bank": ("Bank", None, True),
    "expenses": ("Expenses", None, False),
    "meals": ("Meals", "expenses", False),
    "travel": ("Travel", "expenses", False),
    "software": ("Software", "expenses", False),
    "goods": ("Goods", None, False),
    "goods-software": ("Software", "goods", False),
}


@pytest.fixture(scope="module")
def chart():
    """Return the categories of a small chart of accounts."""
    columns = dict.fromkeys(Ledgers.dtypes(), [None] * len(LEDGERS)) | {
        "id": list(LEDGERS),
        "name": [name for name, _, _ in LEDGERS.values()],
        "report_cash_flow": [cash for _, _, cash in LEDGERS.values()],
        "parent_id": [parent for _, parent, _ in LEDGERS.values()],
        "sort_code": [""] * len(LEDGERS),
    }
    return Categories(Ledgers.from_columns(columns), set())


@pytest.mark.parametrize(
    ("ledger_id", "name", "expected"),
    [
        ("meals", "Meals", "meals"),
        ("meals", "", "meals"),
        ("  ", "expenses:meals", "meals"),
        ("Travel", "", "travel"),
        ("Expenses:Travel", "travel", "travel"),
        ("goods-software", "Software", "goods-software"),  # the name is ambiguous, the id decides
    ],
)
def test_both_columns_mean_one_ledger(chart, ledger_id, name, expected):
    """Each column holds an id, a name or a path, or is empty; the plan gets the id and the name."""
    assert chart.find_edited(ledger_id, name) == expected


@pytest.mark.parametrize(
    ("ledger_id", "name", "message"),
    [
        (
            "meals",
            "Travel",
            "'Expenses:Meals' by updated_category_ledger_id, but 'Travel' by updated_category_ledger_name; write one",
        ),
        ("meals", "Travle", "but 'Travle' by updated_category_ledger_name"),
        ("Software", "", "several ledgers match 'Software'"),
        ("", "Software", "several ledgers match 'Software'"),
        ("mea1s", "Meals", "no discovered ledger matches 'mea1s'; did you mean 'Meals'?"),
        ("", " ", "there is no new category; write its id, unique name or path, or remove the row"),
        ("bank", "Bank", "'Bank' reports cash flow and cannot be a category"),
    ],
)
def test_refused_categories(chart, ledger_id, name, message):
    """Unknown, ambiguous, missing and cash ledgers are refused, and columns that disagree."""
    with pytest.raises(InputError) as caught:
        chart.find_edited(ledger_id, name)
    assert message in str(caught.value)


@pytest.fixture
def proposed(books, rules):
    """Return the ledgers and the proposals of the rules."""
    ledgers, lines = books.load()
    return ledgers, aa.propose(aa.uncategorized_queue(lines, ledgers), rules, ledgers)


def test_edit_of_the_name_alone_is_refused(proposed, tmp_path):
    """A name that disagrees with the id is refused with the row that was edited, also in a file."""
    ledgers, proposals = proposed
    plan = aa.plan_recategorization(proposals, ledgers=ledgers)
    (label,) = proposals.index[proposals["transaction_id"] == "txn_1"]
    edited = proposals.copy()
    edited.loc[label, "updated_category_ledger_name"] = "Software"
    reason = "the new category is 'Meals' by updated_category_ledger_id, but 'Software' by"
    with pytest.raises(PlanError) as caught:
        aa.plan_recategorization(edited, ledgers=ledgers)
    assert str(caught.value).startswith(f"row {label} of the proposals (transaction txn_1): {reason}")
    aa.Plan(plan.frame.assign(updated_category_ledger_name="Software")).save(tmp_path / "plan.csv")
    with pytest.raises(PlanError) as caught:
        aa.Plan.load(tmp_path / "plan.csv", ledgers=ledgers)
    assert f"plan.csv, rows 3, 4, 5: {reason}" in str(caught.value)
    assert len(aa.Plan.load(tmp_path / "plan.csv")) == 4  # without ledgers the id counts


@pytest.mark.parametrize(("column", "other", "text"), [("id", "name", "software"), ("name", "id", " Software")])
def test_correction_reaches_the_books(books, proposed, tmp_path, *, column, other, text):
    """A category chosen by name in either column, with the other cleared, is the one the books get, also by a file."""
    ledgers, proposals = proposed
    edited = proposals.copy()
    label = edited.index[edited["transaction_id"] == "txn_1"]
    edited.loc[label, f"updated_category_ledger_{column}"] = text
    edited.loc[label, f"updated_category_ledger_{other}"] = None
    plan = aa.plan_recategorization(edited, ledgers=ledgers, instance_id=books.instance)
    row = plan.frame.set_index("transaction_id").loc["txn_1"]
    assert row["updated_category_ledger_id"] == books.software
    assert row["updated_category_ledger_name"] == "Software"
    plan.save(tmp_path / "plan.csv")
    (tmp_path / "plan.csv").write_text((tmp_path / "plan.csv").read_text().replace(",led_software,", ",,"))
    plan = aa.Plan.load(tmp_path / "plan.csv", ledgers=ledgers)
    outcomes = aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)
    assert set(outcomes["outcome"]) == {"done"}
    lines = books.client.iter_line_entries(books.software, "2025-03-01", "2025-03-31")
    assert row["journal_entry_id"] in {line.journal_entry_id for line in lines}


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
