"""The report of rules: decided, agreeing and contradicting transactions, shadowed and dead rules, lines."""

from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, RulesError
from accounting_analytics.core.schemas import RuleReports


@pytest.fixture(scope="module")
def lines(books):
    """Return four uncategorized transactions, four of one category, a split and a transfer."""
    return books.payments(
        ("card", "-10.00", "COFFEE"),
        ("card", "-30.30", "COFFEE 1234"),
        ("bank", "-5.00", "TEA"),
        ("bank", "7.00", "REFUND"),
        ("card", "-11.00", "COFFEE", ("meals", "11.00")),
        ("card", "-12.00", "COFFEE", ("software", "12.00")),
        ("card", "-13.00", "COFFEE", ("cogs", "13.00")),
        ("bank", "-14.00", "PARTS", ("cogs", "14.00")),
        ("card", "-50.00", "COFFEE", ("meals", "20.00"), ("cogs", "30.00")),
        ("bank", "-60.00", "COFFEE", ("card", "60.00")),
    )


@pytest.fixture
def report(books, lines, read_rules):
    """Return a function that reports rules given as TOML text."""

    def run(text, *, line_entries=lines):
        queue, rules = aa.uncategorized_queue(lines, books.ledgers), read_rules(text)
        reported = aa.report_rules(queue, rules, books.ledgers, line_entries)
        assert reported["transaction_count"].sum() == len(aa.propose(queue, rules, books.ledgers))
        return RuleReports.checked(reported)

    return run


def rule(name, text, category, **keys):
    """Return a rule of four lines and one for each key."""
    more = "".join(f"{key} = '{value}'\n" for key, value in keys.items())
    return f"[[rule]]\nname = '{name}'\ncontains = '{text}'\ncategory = '{category}'\n{more}"


def cells(reported, *columns):
    """Return columns of the report as tuples; missing text is empty."""
    return list(reported[list(columns)].fillna("").itertuples(index=False, name=None))


def test_each_rule_is_reported(report):
    """What a rule decides comes with sum and example; transactions of one category agree with it or contradict it."""
    reported = report(
        rule("coffee", "coffee", "Meals")
        + rule("large", "coffee", "Sales", min_amount="30")
        + rule("parts", "parts", "Cost of Goods")
        + rule("none", "zeppelin", "Meals")
    )
    assert cells(reported, "rule", "line", "status", "transaction_count", "amount", "description") == [
        ("coffee", 1, "decides", 2, Decimal("-40.30"), "COFFEE 1234"),
        ("large", 5, "shadowed", 0, Decimal(0), ""),
        ("parts", 10, "idle", 0, Decimal(0), ""),
        ("none", 14, "dead", 0, Decimal(0), ""),
    ]
    assert cells(reported, "shadowed_by", "agreeing_count", "contradicting_count", "contradicting_example") == [
        ("", 1, 2, "COFFEE: Expenses:Software"),
        ("coffee", 0, 0, ""),
        ("", 1, 0, ""),
        ("", 0, 0, ""),
    ]
    assert reported.attrs["notes"] == (
        ("Rule 'coffee' at line 1 contradicts 2 transactions of another category, such as COFFEE: Expenses:Software."),
        "Rule 'large' at line 5 is shadowed: earlier rules, such as 'coffee' at line 1, decide all.",
        "Rule 'none' at line 14 is dead: it matches no transaction of the period.",
        (
            "Rule 'parts' at line 10: The category 'Cost of Goods' is a parent ledger; a ledger below it may be meant: "
            "Software."
        ),
    )


def test_categories_that_cannot_be_used_are_noted(report):
    """An unknown category is noted with its line and the nearest name, where its rule decides nothing yet."""
    (_, note) = report(rule("lost", "zeppelin", "Meels")).attrs["notes"]
    assert note == "Rule 'lost' at line 1: no discovered ledger matches 'Meels'; did you mean 'Meals'?"


def test_without_line_entries_only_the_queue_is_compared(report):
    """Without line entries nothing agrees or contradicts."""
    reported = report(rule("coffee", "coffee", "Meals") + rule("parts", "parts", "Meals"), line_entries=None)
    assert cells(reported, "status", "agreeing_count", "contradicting_count") == [("decides", 0, 0), ("dead", 0, 0)]


def test_unusable_arguments(report, books):
    """A misspelt account is refused with the rule's name, and anything but a queue by its type."""
    with pytest.raises(RulesError, match="rule 'a': no discovered ledger matches 'Bnak'"):
        report(rule("a", "x", "Meals", ledger="Bnak"))
    with pytest.raises(InputError, match="queue is of type list"):
        aa.report_rules([], None, books.ledgers)
