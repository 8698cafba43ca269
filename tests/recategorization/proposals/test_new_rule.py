"""A rule from a group or a transaction: appended as a person would write it, or refused without a change."""

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, RulesError
from accounting_analytics.recategorization.changes import OpenQueue
from accounting_analytics.recategorization.rules import add_rule

EXISTING = "# my rules\n\n[[rule]]\nname = 'tea'  # green\ncontains = 'tea'\ncategory = 'Sales'\n\n\n"
ADDED = """[[rule]]
name = "joes \\"pizza\\", outflow, Card"
merchant = "JOES \\"PIZZA\\""
category = "Expenses:Meals"
direction = "outflow"
ledger = "Card"
"""


@pytest.fixture
def queue(books):
    """Return a queue of two pizzas, a refund of one, and a split."""
    lines = books.lines(
        [("card", "-10.00"), ("out", "10.00")],
        [("card", "-30.00"), ("out", "30.00")],
        [("card", "5.00"), ("in", "-5.00")],
        [("card", "-50.00"), ("out", "20.00"), ("meals", "30.00")],
        descriptions=dict.fromkeys(range(4), 'SQ *Joe\'s "Pizza" 1234'),
    )
    return aa.uncategorized_queue(lines, books.ledgers)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_rule_is_appended(books, queue, tmp_path, newline):
    """Text, comments and line breaks stay; the new rule proposes what a decision of its group does."""
    file = tmp_path / "rules.toml"
    file.write_bytes(EXISTING.replace("\n", newline).encode())
    group = aa.group_queue(queue)["group_id"][0]
    assert add_rule(file, OpenQueue(queue, books.ledgers), group, "meals") == ADDED
    assert file.read_bytes().decode() == (EXISTING.rstrip("\n") + "\n\n" + ADDED).replace("\n", newline)
    proposed = aa.propose(queue[queue["transaction_id"] != "txn-3-0"], aa.load_rules(file), books.ledgers)
    decided = aa.decide(queue, {group: "meals"}, books.ledgers)
    columns = ["transaction_id", "updated_category_ledger_id"]
    assert proposed[columns].to_numpy().tolist() == decided[columns].to_numpy().tolist()


def test_rule_of_some_days(books, queue, tmp_path):
    """The days are part of the rule and of its name; days that cannot be leave the file unchanged."""
    file = tmp_path / "rules.toml"
    group = aa.group_queue(queue)["group_id"][0]
    rule = add_rule(file, OpenQueue(queue, books.ledgers), group, "meals", day_of_month="1-5, 15")
    days = 'day_of_month = "1-5, 15"\n'
    assert rule == ADDED.replace('Card"\nmerchant', 'Card, day 1-5, 15"\nmerchant') + days
    with pytest.raises(RulesError, match="day_of_month: must be days from 1 to 31"):
        add_rule(file, OpenQueue(queue, books.ledgers), group, "meals", day_of_month="32")
    assert file.read_text() == rule


def test_rule_of_a_transaction_in_a_new_file(books, queue, tmp_path):
    """A transaction gives the rule of its group, and a missing file is created."""
    file = tmp_path / "rules.toml"
    add_rule(file, OpenQueue(queue, books.ledgers), "txn-0-0", "Expenses:Meals")
    assert file.read_text() == ADDED


def test_refused_rules_change_nothing(books, queue, tmp_path):
    """A second rule of the same name, an unknown group, a split, and an invalid file leave the file as it is."""
    file = tmp_path / "rules.toml"
    add_rule(file, OpenQueue(queue, books.ledgers), "txn-0-0", "Meals")
    with pytest.raises(RulesError, match="has two rules named"):
        add_rule(file, OpenQueue(queue, books.ledgers), "txn-1-0", "Sales")
    with pytest.raises(InputError, match="neither a group nor a transaction"):
        add_rule(file, OpenQueue(queue, books.ledgers), "pizza", "Sales")
    with pytest.raises(InputError, match="is split"):
        add_rule(file, OpenQueue(queue, books.ledgers), "txn-3-0", "Sales")
    assert file.read_text() == ADDED
    file.write_text("[[rule]]")
    with pytest.raises(RulesError, match="rule 1 at line 1: name is missing"):
        add_rule(file, OpenQueue(queue, books.ledgers), "txn-2-0", "Sales")
    assert file.read_text() == "[[rule]]"
