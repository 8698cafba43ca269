"""Plans for jobs: only what exact rules decide, within the limit and reversible; the rest has a reason."""

from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import RulesError
from accounting_analytics.recategorization.exact_rules import plan_exact_rules
from accounting_analytics.service.bookkeeping.entries_to_post import NewJournalEntry, NewLine, NewTransaction

RULES = """
[[rule]]
name = "coffee"
contains = "SQ *BLUE BTTL 0424"
category = "Meals"
[[rule]]
name = "all coffee"
merchant = "BLUE BTTL"
category = "Meals"
exact = true
[[rule]]
name = "tools"
regex = "HARDWARE|REFUND|JOINT"
category = "{tools}"
exact = true
[[rule]]
name = "software"
contains = "GOOGLE"
category = "Software"
exact = true
"""


@pytest.fixture
def plan_rules(books, tmp_path):
    """Return a function that plans what the exact rules decide up to a limit."""
    ledgers, lines = books.load()
    queue = aa.uncategorized_queue(lines, ledgers)

    def plan_up_to(limit, tools="Meals"):
        file = tmp_path / "rules.toml"
        file.write_text(RULES.format(tools=tools), encoding="utf-8")
        return plan_exact_rules(
            queue, aa.load_rules(file), ledgers, max_amount=Decimal(limit), instance_id=books.instance
        )

    return plan_up_to


@pytest.fixture
def unusual(books):
    """Post an entry whose uncategorized part is larger than its transaction, and one with two transactions."""

    def line(ledger_id, side, amount, transaction_id=None, description=""):
        transaction = NewTransaction(description, id=transaction_id) if transaction_id else None
        return NewLine(ledger_id, side, Decimal(amount), transaction=transaction)

    refund = (
        line(books.bank, "credit", "10.00", "txn_refund", "REFUND"),
        line(books.outflow, "debit", "500.00"),
        line(books.rent, "credit", "490.00"),
    )
    joint = (
        line(books.bank, "credit", "1.00", "txn_joint", "JOINT"),
        line(books.savings, "credit", "2.00", "txn_other", "UNKNOWN"),
        line(books.outflow, "debit", "3.00"),
    )
    moment = aa.Period("2025-03-12", "2025-03-12", "UTC").instants()[0][0]
    books.post(*(NewJournalEntry(moment, "Unusual", lines) for lines in (refund, joint)))


def reasons(made):
    """Return the reason of each transaction that is left."""
    left = made.left_by(made.plan)
    return dict(zip(left["transaction_id"], left["reason"], strict=True))


@pytest.mark.usefixtures("unusual")
def test_reasons(books, plan_rules):
    """Each transaction is planned or left for one reason, and no change of a plan is larger than the limit."""
    made = plan_rules("144.00")
    planned = made.plan.frame.set_index("transaction_id")
    assert planned["rule"].to_dict() == {"txn_0": "all coffee", "txn_2": "software", "txn_split": "tools"}
    assert reasons(made) == {
        "txn_1": "rule not exact",  # the first matching rule decides
        "txn_3": "no rule",
        "txn_refund": "above the limit",
        "txn_joint": "shared category",
        "txn_other": "no rule",
    }
    assert made.plan.instance_id == books.instance


def test_limit_is_exact(plan_rules):
    """A cent below the amount leaves it."""
    made = plan_rules("143.99")
    assert reasons(made)["txn_2"] == "above the limit"
    assert "txn_2" not in set(made.plan.frame["transaction_id"])
    assert len(plan_rules("4.49").plan) == 0


def test_join_of_a_split_is_left(plan_rules):
    """A split whose part would join another part is left: that could not be undone."""
    made = plan_rules("100000", tools="Rent")
    assert reasons(made) == {"txn_1": "rule not exact", "txn_3": "no rule", "txn_split": "joins a split"}
    assert set(made.plan.frame["transaction_id"]) == {"txn_0", "txn_2"}


def test_plan_that_is_resumed(plan_rules):
    """What an earlier plan does not contain is left, with that as the reason."""
    earlier, made = plan_rules("5"), plan_rules("200")
    left = made.left_by(earlier.plan)
    assert dict(zip(left["transaction_id"], left["reason"], strict=True)) == {
        "txn_1": "rule not exact",
        "txn_2": "not in the plan",
        "txn_3": "no rule",
        "txn_split": "not in the plan",
    }


def test_rules_without_an_exact_one(books, rules):
    """A job whose rules decide nothing by themselves is refused."""
    ledgers, lines = books.load()
    queue = aa.uncategorized_queue(lines, ledgers)
    with pytest.raises(RulesError, match=r"no rule of .*rules\.toml is marked `exact = true`"):
        plan_exact_rules(queue, rules, ledgers, max_amount=Decimal(100))
