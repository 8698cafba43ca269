"""Proposals: the first rule that fits decides, and every category is one."""

import pytest

from accounting_analytics.categorization import load_rules, propose, uncategorized_queue
from accounting_analytics.errors import RulesError
from accounting_analytics.schemas import Proposals


@pytest.fixture
def queue(books):
    """Return a queue of five."""
    lines = books.lines(
        [("bank", "-4.50"), ("out", "4.50")],
        [("bank", "-120.00"), ("out", "120.00")],
        [("card", "-50.00"), ("out", "50.00")],
        [("bank", "30.00"), ("in", "-30.00")],
        [("bank", "-900.00"), ("out", "900.00")],
        descriptions={0: "SQ *BLUE", 1: "SQ *CATERING", 2: "SQ *CARD", 3: "SQ *REFUND", 4: "CHECK 1043"},
    )
    return uncategorized_queue(lines, books.ledgers)


@pytest.fixture
def proposed(books, queue, tmp_path):
    """Return a function from rules as text to their proposals."""

    def run(text, ledgers=books.ledgers):
        file = tmp_path / "rules.toml"
        file.write_text(text, encoding="utf-8")
        return propose(queue, load_rules(file), ledgers)

    return run


def rule(name, **keys):
    """Return a rule as TOML."""
    return f"[[rule]]\nname = '{name}'\n" + "".join(f"{key} = '{value}'\n" for key, value in keys.items())


def decided(proposals):
    """Return rule by description."""
    return dict(zip(proposals["description"], proposals["rule"], strict=True))


def test_first_rule_that_fits_decides(proposed):
    """Direction, amounts and account narrow a rule; the order of the file decides; the rest is counted."""
    proposals = proposed(
        rule("card", contains="sq *", category="sales", ledger="Card")
        + rule("refund", contains="sq *", category="sales", direction="inflow")
        + rule("large", contains="sq *", category="Expenses:Software", min_amount="100")
        + rule("small", regex="^sq", category="Meals", max_amount="4.50")
    )
    assert decided(proposals) == {
        "SQ *CATERING": "large",
        "SQ *CARD": "card",
        "SQ *REFUND": "refund",
        "SQ *BLUE": "small",
    }
    assert proposals["updated_category_ledger_name"].tolist() == ["Software", "Sales", "Sales", "Meals"]
    assert proposals["updated_category_ledger_id"].tolist() == ["software", "sales", "sales", "meals"]
    assert proposals.attrs["notes"] == ("1 of 5 transaction(s) fit no rule and stay uncategorized.",)
    Proposals.checked(proposals)


@pytest.mark.parametrize(
    ("category", "ledger_id"),
    [
        ("meals", "meals"),
        ("MEALS", "meals"),
        ("expenses:software", "software"),
        ("Cost of Goods:Software", "cogs-software"),
        ("Transfers", "transfers"),
    ],
)
def test_category_by_id_name_or_path(proposed, category, ledger_id):
    """A category is named by id, by unique name or by path, case ignored."""
    proposals = proposed(rule("all", regex=".", category=category))
    assert set(proposals["updated_category_ledger_id"]) == {ledger_id}
    assert len(proposals) == 5


@pytest.mark.parametrize(
    ("category", "said"),
    [
        ("Nowhere", "no ledger 'Nowhere'"),
        ("Software", "several ledgers are named 'Software'; give the path or one of: cogs-software, software"),
        ("Bank", "'Bank' is a financial account"),
        ("Loan", "'Loan' is a financial account"),
        ("out", "uncategorized"),
        ("Inflow to sort", "uncategorized"),
    ],
)
def test_what_is_no_category_is_refused(proposed, category, said):
    """An unknown, ambiguous, financial or uncategorized ledger is refused by the rule's name."""
    with pytest.raises(RulesError, match="rule 'all'") as caught:
        proposed(rule("all", regex=".", category=category))
    assert said in str(caught.value)


def test_uncategorized_ledger_is_no_category_even_where_it_does_not_queue(books, queue, tmp_path):
    """The other uncategorized ledger is refused too, though no queued transaction stands opposite it."""
    outflows = queue[queue["direction"] == "outflow"].reset_index(drop=True)
    file = tmp_path / "rules.toml"
    file.write_text(rule("all", contains="CHECK", category="in"), encoding="utf-8")
    with pytest.raises(RulesError, match="uncategorized"):
        propose(outflows, load_rules(file), books.ledgers)


@pytest.mark.parametrize(("ledger", "said"), [("Bnak", "no ledger 'Bnak'"), ("Meals", "does not report cash flow")])
def test_account_of_a_rule_must_be_one(proposed, ledger, said):
    """A rule for an account that is misspelt would never fit: it is refused instead."""
    with pytest.raises(RulesError, match="rule 'all'") as caught:
        proposed(rule("all", regex=".", category="Meals", ledger=ledger))
    assert said in str(caught.value)


def test_unknown_category_is_refused_only_where_it_decides(proposed):
    """A category without lines in the period is no error as long as its rule decides nothing; the notes say so."""
    proposals = proposed(
        rule("ships", contains="zeppelin", category="Airships") + rule("idle", contains="quux", category="Meals")
    )
    assert proposals.empty
    assert proposals.attrs["notes"] == (
        "5 of 5 transaction(s) fit no rule and stay uncategorized.",
        "Rule 'ships' names 'Airships', which was not discovered; it fitted nothing.",
        "1 of 2 rule(s) decide no transaction: 'idle'.",
    )
    with pytest.raises(RulesError, match="rule 'ships'"):
        proposed(rule("ships", contains="check", category="Airships"))


@pytest.mark.parametrize(
    ("bound", "count"),
    [("1234567890123456789012345678.00", 0), ("1234567890123456789012345678.01", 1)],
)
def test_bounds_are_exact_and_inclusive(books, tmp_path, bound, count):
    """Bounds compare every digit, beyond what a binary float or the usual 28 digits of a Decimal keep."""
    lines = books.lines([("bank", "-1234567890123456789012345678.01"), ("out", "1234567890123456789012345678.01")])
    large = uncategorized_queue(lines, books.ledgers)
    file = tmp_path / "rules.toml"
    file.write_text(rule("all", regex=".", category="Meals", max_amount=bound), encoding="utf-8")
    assert len(propose(large, load_rules(file), books.ledgers)) == count
