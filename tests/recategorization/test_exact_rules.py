"""Plans for jobs: only what exact rules decide, within the limit and reversible; the rest has a reason."""

from decimal import Decimal

import pytest
from posted_books import Part

import accounting_analytics as aa
from accounting_analytics.core.errors import RulesError
from accounting_analytics.core.schemas import Ledgers, Queue
from accounting_analytics.recategorization.plan import left_by, plan_exact_rules

RULES = """
[[rule]]
name = "coffee"
contains = "SQ *BLUE BTTL 0424"
category = "Meals"
[[rule]]
name = "all coffee"
counterparty = "BLUE BTTL"
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
def plan_rules(company_books, tmp_path):
    """Return a function that plans what the exact rules decide up to a limit.

    Besides the usual purchases the books have an entry whose uncategorized part is larger than its transaction, and an
    entry of two transactions.
    """
    refund = {
        company_books.bank: Part(-10, "txn_refund", "REFUND"),
        company_books.outflow: 500,
        company_books.rent: -490,
    }
    joint = {
        company_books.bank: Part(-1, "txn_joint", "JOINT"),
        company_books.savings: Part(-2, "txn_other", "UNKNOWN"),
        company_books.outflow: 3,
    }
    company_books.post(*(("2025-03-12", amounts, "Unusual") for amounts in (refund, joint)))
    ledgers, lines = company_books.load()
    queue = aa.uncategorized_queue(aa.Books(lines, ledgers))

    def plan_up_to(limit, tools="Meals"):
        file = tmp_path / "rules.toml"
        file.write_text(RULES.format(tools=tools), encoding="utf-8")
        return plan_exact_rules(
            queue, aa.load_rules(file), ledgers, max_amount=Decimal(limit), instance_id=company_books.instance
        )

    return plan_up_to


def reasons(made, plan=None):
    left = left_by(plan or made[0], made[1])
    return dict(zip(left["transaction_id"], left["reason"], strict=True))


def test_each_transaction_is_planned_or_left_for_a_reason(company_books, plan_rules):
    made = plan_rules("144.00")
    planned = made[0].frame.set_index("transaction_id")
    assert planned["rule"].to_dict() == {"txn_0": "all coffee", "txn_2": "software", "txn_split": "tools"}
    usual = {
        "txn_1": "rule not exact",  # the first matching rule decides
        "txn_3": "no rule",
        "txn_refund": "above the limit",
        "txn_joint": "shared category",
        "txn_other": "no rule",
    }
    assert reasons(made) == usual
    assert made[0].instance_id == company_books.instance
    lower = plan_rules("143.99")
    assert reasons(lower) == usual | {"txn_2": "above the limit"}
    assert reasons(made, lower[0]) == usual | {"txn_2": "not in the plan"}  # a plan that is resumed
    joining = plan_rules("499.99", tools="Rent")
    assert reasons(joining) == usual | {"txn_split": "joins a split"}
    assert set(joining[0].frame["transaction_id"]) == {"txn_0", "txn_2"}


def test_job_whose_rules_decide_nothing_is_refused(rules):
    with pytest.raises(RulesError, match=r"no rule of .*rules\.toml is marked `exact = true`"):
        plan_exact_rules(Queue.without_rows(), rules, Ledgers.without_rows(), max_amount=Decimal(100))
