"""Proposals: the first matching rule decides, and only a ledger that can be a category; and what each rule decides."""

from decimal import Decimal

import pytest
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, RulesError
from accounting_analytics.core.schemas import Proposals, RuleReports


@pytest.fixture
def queue(builders):
    """Return a queue of five transactions."""
    return builders.queue(
        ("bank", "-4.50", "SQ *BLUE"),
        ("bank", "-120.00", "SQ *CATERING"),
        ("card", "-50.00", "SQ *CARD"),
        ("bank", "30.00", "SQ *REFUND"),
        ("bank", "-900.00", "CHECK 1043"),
    )


@pytest.fixture
def proposed(builders, queue, read_rules):
    """Return a function that makes proposals from rules given as TOML text."""
    return lambda text: aa.propose(queue, read_rules(text), books_of(builders.ledgers))


def rule(name, **keys):
    return f"[[rule]]\nname = '{name}'\n" + "".join(f"{key} = '{value}'\n" for key, value in keys.items())


def rules_by_description(proposals):
    return dict(zip(proposals["description"], proposals["rule"], strict=True))


def test_first_matching_rule_decides(proposed):
    proposals = proposed(
        rule("card", contains="sq *", category="sales", ledger="Card")
        + rule("refund", contains="sq *", category="sales", direction="inflow")
        + rule("large", contains="sq *", category="Expenses:Software", min_amount="100")
        + rule("rest", regex="^sq", category="Meals", max_amount="120.00")
    )
    assert rules_by_description(proposals) == {
        "SQ *CATERING": "large",
        "SQ *CARD": "card",
        "SQ *REFUND": "refund",
        "SQ *BLUE": "rest",
    }
    assert proposals["updated_category_ledger_name"].tolist() == ["Software", "Sales", "Sales", "Meals"]
    assert proposals["updated_category_ledger_id"].tolist() == ["software", "sales", "sales", "meals"]
    assert proposals.attrs["notes"] == (
        "1 of 5 transactions matched no rule.",
        "1 payment, 50.00, proposed for 'Sales', which is revenue: check that refunds to customers are meant.",
    )
    Proposals.checked(proposals)


def test_a_loan_may_be_a_category(proposed):
    assert set(proposed(rule("all", regex=".", category=" LOAN"))["updated_category_ledger_id"]) == {"loan"}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"category": "card"}, "'card' reports cash flow and cannot be a category"),
        ({"category": "Inflow to sort"}, "'Inflow to sort' is an uncategorized ledger"),
        ({"category": "Meals", "ledger": "Bnak"}, "no discovered ledger matches 'Bnak'; did you mean 'Bank'?"),
        ({"category": "Meals", "ledger": "Meals"}, "does not report cash flow"),
    ],
)
def test_ledgers_that_cannot_be_used_are_refused(proposed, keys, message):
    with pytest.raises(RulesError, match="rule 'all'") as caught:
        proposed(rule("all", regex=".", **keys))
    assert message in str(caught.value)


def test_uncategorized_ledger_outside_the_queue_is_refused(builders, queue, read_rules):
    outflows = queue[queue["direction"] == "outflow"].reset_index(drop=True)
    with pytest.raises(RulesError, match="uncategorized"):
        aa.propose(outflows, read_rules(rule("all", contains="CHECK", category="in")), books_of(builders.ledgers))


def test_unknown_category_is_refused_only_if_its_rule_matches(proposed):
    proposals = proposed(
        rule("ships", contains="zeppelin", category="Meels") + rule("idle", contains="quux", category="Meals")
    )
    assert proposals.empty
    assert proposals.attrs["notes"] == (
        "5 of 5 transactions matched no rule.",
        (
            "Rule 'ships' names the category 'Meels', which was not discovered (did you mean 'Meals'?); the rule "
            "matched nothing."
        ),
        "1 of 2 rules decided no transaction: 'idle'.",
    )
    with pytest.raises(RulesError, match="rule 'ships': no discovered ledger matches 'Airships'"):
        proposed(rule("ships", contains="check", category="Airships"))


@pytest.mark.parametrize(
    ("bound", "count"),
    [("9999999999999.98", 0), ("9999999999999.99", 1)],
)
def test_bounds_are_exact_and_inclusive(builders, read_rules, bound, count):
    large = builders.queue(("bank", "-9999999999999.99", ""))
    rules = read_rules(rule("all", regex=".", category="Meals", max_amount=bound))
    assert len(aa.propose(large, rules, books_of(builders.ledgers))) == count


def test_a_transaction_with_two_uncategorized_parts_counts_once(builders, read_rules):
    lines = builders.lines(
        [("bank", "-100.00"), ("out", "60.00"), ("in", "40.00")], [("bank", "-1.00"), ("out", "1.00")]
    )
    queue = aa.uncategorized_queue(books_of(builders.ledgers, lines))
    assert len(queue) == 3
    none = read_rules(rule("none", contains="nothing like it", category="meals"))
    assert (
        aa.propose(queue, none, books_of(builders.ledgers)).attrs["notes"][0] == "2 of 2 transactions matched no rule."
    )
    report = aa.report_rules(queue, read_rules(rule("all", regex=".*", category="meals")), books_of(builders.ledgers))
    assert (report["transaction_count"].tolist(), report["amount"].tolist()) == ([2], [-101.0])


@pytest.fixture(scope="module")
def coffee_lines(builders):
    """Return four uncategorized transactions, four of one category, a split and a transfer."""
    return builders.payments(
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
def report_of_rules(builders, coffee_lines, read_rules):
    """Return a function that reports rules given as TOML text."""

    def run(text, *, line_entries=coffee_lines):
        queue, rules = aa.uncategorized_queue(books_of(builders.ledgers, coffee_lines)), read_rules(text)
        reported = aa.report_rules(queue, rules, books_of(builders.ledgers, line_entries))
        assert reported["transaction_count"].sum() == len(aa.propose(queue, rules, books_of(builders.ledgers)))
        return RuleReports.checked(reported)

    return run


def cells(reported, *columns):
    """Return columns of the report as tuples; missing text is empty."""
    return list(reported[list(columns)].fillna("").itertuples(index=False, name=None))


def test_each_rule_is_reported(report_of_rules):
    reported = report_of_rules(
        rule("coffee", contains="coffee", category="Meals")
        + rule("large", contains="coffee", category="Sales", min_amount="30")
        + rule("parts", contains="parts", category="Cost of Goods")
        + rule("none", contains="zeppelin", category="Meals")
    )
    exact = aa.schemas.RuleReports.exact(reported).frame
    assert cells(exact, "rule", "line", "status", "transaction_count", "amount", "description") == [
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


def test_categories_that_cannot_be_used_are_noted(report_of_rules):
    (_, note) = report_of_rules(rule("lost", contains="zeppelin", category="Meels")).attrs["notes"]
    assert note == "Rule 'lost' at line 1: no discovered ledger matches 'Meels'; did you mean 'Meals'?"


def test_without_lines_only_the_queue_is_compared(report_of_rules, builders):
    reported = report_of_rules(
        rule("coffee", contains="coffee", category="Meals") + rule("parts", contains="parts", category="Meals"),
        line_entries=None,
    )
    assert cells(reported, "status", "agreeing_count", "contradicting_count") == [("decides", 0, 0), ("dead", 0, 0)]
    with pytest.raises(InputError, match="queue is of type list"):
        aa.report_rules([], None, books_of(builders.ledgers))
