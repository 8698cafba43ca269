"""Decisions by group and by transaction, alone and after rules; and edited categories."""

import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError
from accounting_analytics.core.schemas import Proposals
from accounting_analytics.reports.books.category_ledgers import Categories

PARENT = "The category 'Cost of Goods' is a parent ledger; a ledger below it may be meant: Software."


@pytest.fixture(scope="module")
def queue(builders):
    """Return a queue of two coffees, a supply and a split transaction."""
    return builders.queue(
        ("card", "-10.00", "SQ *BLUE BOTTLE"),
        ("card", "-30.00", "BLUE BOTTLE 1234"),
        ("bank", "-5.00", "STAPLES #12"),
        ("card", "-50.00", "ULINE", ("out", "20.00"), ("meals", "30.00")),
    )


def reasons(proposals):
    columns = proposals[["updated_category_ledger_id", "rule"]].itertuples(index=False, name=None)
    return dict(zip(proposals["transaction_id"], columns, strict=True))


def test_groups_and_transactions_are_decided(builders, queue, groups):
    group = groups["BLUE BOTTLE"]
    decided = aa.decide(
        queue,
        {group: "Expenses:Meals", "txn-1-0": "Cost of Goods", "txn-2-0": "sales"},
        books_of(builders.ledgers),
    )
    assert reasons(decided) == {
        "txn-1-0": ("cogs", "decided by hand"),
        "txn-0-0": ("meals", f"decided by hand: {group}"),
        "txn-2-0": ("sales", "decided by hand"),
    }
    assert decided["updated_category_ledger_name"].tolist() == ["Cost of Goods", "Meals", "Sales"]
    assert decided.attrs["notes"] == (
        "1 of 4 transactions not decided by hand.",
        PARENT,
        "1 payment, 5.00, proposed for 'Sales', which is revenue: check that refunds to customers are meant.",
    )
    Proposals.checked(decided)
    assert len(aa.plan_recategorization(decided, books_of(builders.ledgers))) == 3
    reverse = aa.decide(queue, {"txn-1-0": "Cost of Goods", group: "Expenses:Meals"}, books_of(builders.ledgers))
    assert set(reverse["updated_category_ledger_id"]) == {"meals"}


@pytest.mark.parametrize(
    ("key", "category", "message"),
    [
        ("txn-1-9", "Meals", "'txn-1-9' is neither a group nor a transaction of the queue; did you mean 'txn-1-0'"),
        ("txn-0-0", "Meels", "decision 'txn-0-0': no discovered ledger matches 'Meels'; did you mean 'Meals'?"),
        ("txn-3-0", "Meals", "'txn-3-0' is split: it has several categories"),
    ],
)
def test_unusable_decision_is_refused(builders, queue, key, category, message):
    with pytest.raises(InputError) as caught:
        aa.decide(queue, {key: category}, books_of(builders.ledgers))
    assert message in str(caught.value)


def test_every_unusable_decision_is_named(builders, queue):
    with pytest.raises(InputError, match=r"^the decisions cannot be used; correct these 22 problems:") as caught:
        aa.decide(
            queue,
            {**{f"a{number}": "Meals" for number in range(21)}, "txn-0-0": "Meels"},
            books_of(builders.ledgers),
        )
    assert len(str(caught.value).splitlines()) == 22
    assert str(caught.value).endswith("\nand 2 more")


def test_decisions_replace_rules(builders, queue, groups, read_rules):
    rules = read_rules("[[rule]]\nname = 'all'\nregex = 'BOTTLE|STAPLES'\ncategory = 'Sales'\n")
    combined = aa.propose(queue, rules, books_of(builders.ledgers), decisions={groups["STAPLES"]: "Cost of Goods"})
    assert list(reasons(combined).items()) == [
        ("txn-1-0", ("sales", "all")),
        ("txn-0-0", ("sales", "all")),
        ("txn-2-0", ("cogs", f"decided by hand: {groups['STAPLES']}")),
    ]
    assert combined.attrs["notes"] == (
        "1 of 4 transactions matched no rule.",
        "3 of 4 transactions not decided by hand.",
        "1 proposal was replaced by later ones.",
        PARENT,
        "2 payments, 40.00, proposed for 'Sales', which is revenue: check that refunds to customers are meant.",
    )
    assert len(aa.plan_recategorization(combined, books_of(builders.ledgers))) == 3


def test_later_decisions_replace_earlier_ones(builders, queue, groups, tmp_path):
    file = tmp_path / "decisions.csv"
    file.write_text(f"category,group_id\nMeals,{groups['BLUE BOTTLE']}\n")
    decisions = [{groups["BLUE BOTTLE"]: "Sales", groups["STAPLES"]: "Sales"}, str(file), {"txn-1-0": "Transfers"}]
    combined = aa.propose(queue, None, books_of(builders.ledgers), decisions=decisions)
    assert {key: category for key, (category, _) in reasons(combined).items()} == {
        "txn-0-0": "meals", "txn-1-0": "transfers", "txn-2-0": "sales",
    }  # fmt: skip
    assert combined.attrs["notes"][-2] == "3 proposals were replaced by later ones."


def test_something_must_decide(builders, queue):
    with pytest.raises(InputError, match="rules is of type NoneType, not Rules; load_rules"):
        aa.propose(queue, None, books_of(builders.ledgers))
    with pytest.raises(InputError, match="decisions is of type int, not Mapping or str or Path"):
        aa.propose(queue, None, books_of(builders.ledgers), decisions=[5])
    with pytest.raises(InputError, match="decisions is of type int"):
        aa.propose(queue, None, books_of(builders.ledgers), decisions=5)
    with pytest.raises(InputError, match="decisions is of type list"):
        aa.decide(queue, ["txn-0-0"], books_of(builders.ledgers))
    with pytest.raises(InputError, match=r"decisions 'a\\x00b' contains a NUL character"):
        aa.decide(queue, "a\0b", books_of(builders.ledgers))


def test_no_decisions_give_no_proposals(builders, queue):
    decided = aa.decide(queue, {}, books_of(builders.ledgers))
    assert len(decided) == len(aa.plan_recategorization(decided, books_of(builders.ledgers))) == 0


@pytest.mark.parametrize(
    ("ledger_id", "name", "expected"),
    [
        ("meals", "", "meals"),
        ("  ", "expenses:meals", "meals"),
        ("Sales", "", "sales"),
        ("cogs-software", "Software", "cogs-software"),  # the name is ambiguous, the id decides
    ],
)
def test_both_columns_mean_one_ledger(builders, ledger_id, name, expected):
    assert Categories(builders.ledgers).find_edited(ledger_id, name) == expected


@pytest.mark.parametrize(
    ("ledger_id", "name", "message"),
    [
        (
            "meals",
            "Sales",
            "'Expenses:Meals' by updated_category_ledger_id, but 'Sales' by updated_category_ledger_name; write one",
        ),
        ("mea1s", "Meals", "no discovered ledger matches 'mea1s'; did you mean 'Meals'?"),
        ("", " ", "there is no new category; write its id, unique name or path, or remove the row"),
        ("bank", "Bank", "'Bank' reports cash flow and cannot be a category"),
    ],
)
def test_unusable_categories_are_refused(builders, ledger_id, name, message):
    with pytest.raises(InputError) as caught:
        Categories(builders.ledgers).find_edited(ledger_id, name)
    assert message in str(caught.value)
