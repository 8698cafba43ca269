"""Rules files: what is accepted, refused with the name of the rule, and appended as a person would write it."""

import json
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_books import books_of

import accounting_analytics as aa
from accounting_analytics.core.errors import InputError, RulesError
from accounting_analytics.core.schemas import Queue
from accounting_analytics.recategorization import rules
from accounting_analytics.recategorization.open_queue import OpenQueue
from accounting_analytics.recategorization.rules import add_rule
from accounting_analytics.reports.books.merchants import merchants

PROJECT = Path(__file__).parents[3]
RULE = "[[rule]]\nname = 'a'\ncategory = 'Meals'\n"


def transactions(*descriptions):
    """Return a queue with these descriptions and the columns that rules compare."""
    count = len(descriptions)
    columns = {
        "description": list(descriptions),
        "transaction_amount": [Decimal("-5.00")] * count,
        "direction": ["outflow"] * count,
        "ledger_id": ["bank"] * count,
        "counterparty": merchants(descriptions),
    }
    return Queue.exact_from_columns(columns)


def test_every_condition_is_documented():
    documents = (PROJECT / "data/README.md").read_text(encoding="utf-8"), rules.__doc__
    assert [key for key in rules.CONDITIONS for text in documents if not re.search(rf"\b{key}\b", text)] == []


def matches(rules, *descriptions):
    return [name is not None for name in rules.match(transactions(*descriptions), {}).deciding]


@pytest.mark.parametrize("condition", ["contains", "regex", "counterparty"])
def test_spellings_of_a_name_are_one(condition):
    spellings = [
        "Caf\u00e9 Joe's",
        "Cafe\u0301 Joe\u2019s",
        "Caf\u00e9\u00a0Joe's",
        "\uff23af\u00e9 Joe's",
        "Caf\u00e9\u200b Joe's",
    ]
    for text in spellings:
        found = rules.parse_rules(f"{RULE}{condition} = {json.dumps(text)}", "r")
        assert matches(found, *spellings, "Cafe Joes") == [True] * 5 + [False]
    literal = rules.parse_rules(f"{RULE}regex = 'joe\uff08s\uff09'", "r")
    assert matches(literal, "Joe(s)", "Joes") == [False, False]
    assert matches(rules.parse_rules(f"{RULE}contains = 'joe\uff08s\uff09'", "r"), "Joe(s)", "Joes") == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]]\ncontains = 'x'\ncategory = 'Meals'", "rule 1 at line 1: name is missing"),
        ("[[rule]]\nname = 'a'\ncontains = 'x'", "rule 1 ('a') at line 1: category is missing"),
        (RULE, "either contains or regex or counterparty"),
        (RULE + "contains = 'x'\ncounterparty = 'x'", "either contains or regex"),
        (RULE + "contains = 3", "contains: must be non-empty text, not 3"),
        (RULE + r"regex = '(a)\1'", "does not compile"),
        (RULE + "contains = 'x'\nmax = 3", "unknown key 'max'"),
        (RULE + "contains = 'x'\nmax_amount = '3,50'", "max_amount: '3,50' is not an amount"),
        (RULE + "contains = 'x'\nmin_amount = -5", "use direction instead"),
        (RULE + "contains = 'x'\nmin_amount = 5\nmax_amount = 4", "min_amount is greater than max_amount"),
        (RULE + "contains = 'x'\ndirection = 'up'", "inflow or outflow"),
        (RULE + "contains = 'x'\nday_of_month = 0", "day_of_month: must be days from 1 to 31"),
        (RULE + "contains = 'x'\nday_of_month = [1, '30-32']", "day_of_month: must be days from 1 to 31"),
        (RULE + "contains = 'x'\nday_of_month = '28-3'", "'28-31' or '28-31, 1-3', not '28-3'"),
        (RULE + "contains = 'x'\nday_of_month = []", "day_of_month: must be days from 1 to 31"),
        (RULE + "contains = 'x'\nday_of_month = true", "day_of_month: must be days from 1 to 31"),
        (RULE + "contains = 'x'\nexact = 'yes'", "exact: must be true or false, not 'yes'"),
        ((RULE + "contains = 'x'\n") * 2, "two rules named 'a'"),
        ("rule = [3]", "[[rule]] tables"),
        ("", "[[rule]] tables"),
        (RULE + "contains = 'x'\n[more]\nx = 1", "nothing else"),
        ("[[rule", "not valid TOML"),
        ("x = " + "[" * 50_000, "not valid TOML"),
    ],
)
def test_unusable_rule_is_refused_by_name(read_rules, text, message):
    with pytest.raises(RulesError, match="rule") as caught:
        read_rules(text)
    assert message in str(caught.value)


def test_files_are_read_as_they_are(tmp_path):
    file = tmp_path / "rules.toml"
    with pytest.raises(RulesError, match=re.escape(str(file))):
        aa.load_rules(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RulesError, match=re.escape(str(file))):
        aa.load_rules(file)
    file.write_text(RULE + "contains = 'x'", encoding="utf-8-sig")
    assert len(aa.load_rules(file)) == 1


def test_amounts_may_be_numbers_or_text(read_rules):
    (rule,) = read_rules(RULE + "contains = 'x'\nmax_amount = 0.3\nmin_amount = '0.1'")
    assert (str(rule.conditions["max_amount"]), str(rule.conditions["min_amount"])) == ("0.3000000000", "0.1000000000")


def test_contains_ignores_case_and_white_space(read_rules):
    rules = read_rules(RULE + "contains = 'sq  *Blue (Bttl)'")
    assert matches(rules, "SQ *BLUE\t (BTTL) 0423", "xsq *blue (bttl)", "SQ BLUE (BTTL)", "SQ *BLUE BTTL", "") == [
        True, True, False, False, False,
    ]  # fmt: skip


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=20))
def test_any_text_contains_itself(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("rules") / "rules.toml"
    escaped = "".join(f"\\U{ord(character):08X}" for character in text)
    file.write_text(f'{RULE}contains = "{escaped}"', encoding="utf-8")
    assert matches(aa.load_rules(file), f"before {text} after", "") == [True, False]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("pattern", "expected"), [("(a+)+$", False), ("(a|a)*$", True)])
def test_patterns_do_not_backtrack(read_rules, *, pattern, expected):
    rules = read_rules(f"{RULE}regex = '{pattern}'")
    assert matches(rules, *["a" * 10_000 + "!"] * 10) == [expected] * 10


@pytest.mark.parametrize("text", ["Blue Bottle", "SQ *BLUE BOTTLE 1234"])
def test_merchant_is_compared_without_noise(read_rules, text):
    rules = read_rules(f"{RULE}counterparty = '{text}'")
    assert matches(rules, "blue bottle 04/12/26", "BLUE BOTTLE COFFEE", "BLUE") == [True, False, False]


def test_tag_limits_a_rule(read_rules):
    queue = transactions("x", "x", "x", "x").assign(tag_ids=["a|b", "ab", "", None])
    assert read_rules(RULE + "contains = 'x'\ntag = 'b'").match(queue, {}).deciding.tolist() == ["a", None, None, None]


DAY_RANGES = st.lists(st.tuples(st.integers(1, 31), st.integers(1, 31)).map(sorted), min_size=1, max_size=3)


@given(ranges=DAY_RANGES, as_list=st.booleans())
def test_day_of_month_limits_a_rule(ranges, as_list):
    texts = [f"{first} - {last}" if first < last else str(first) for first, last in ranges]
    value = [int(text) if text.isdigit() else text for text in texts] if as_list else ", ".join(texts)
    (rule,) = rules.parse_rules(f"{RULE}contains = 'x'\nday_of_month = {json.dumps(value)}", "text")
    expected = {day for first, last in ranges for day in range(first, last + 1)}
    dates = pd.date_range("2025-01-01", "2025-01-31", unit="us")
    queue = transactions(*["x"] * len(dates)).assign(local_date=dates)
    matches = rules.Rules((rule,), "text").match(queue, {}).deciding
    assert {day for day, name in zip(dates.day, matches, strict=True) if name} == expected


def test_day_of_month_needs_local_dates(read_rules):
    rules = read_rules(RULE + "contains = 'x'\nday_of_month = [1, 15]")
    assert repr(rules).endswith("where contains x, day_of_month [1, 15]")
    queue = transactions("x")
    unknown = queue.assign(local_date=pd.Series([None], dtype="datetime64[us]"))
    for one in (queue, unknown):
        with pytest.raises(RulesError, match="rule 'a' at line 1: day_of_month: local dates are not known"):
            rules.match(one, {})
        assert matches(read_rules(RULE + "contains = 'x'"), "x") == [True]


def test_rules_know_the_line_of_their_header(read_rules):
    first = "# rules\n\n" + RULE + "contains = 'x'\n"
    rules = read_rules(first + "  [[ rule ]]  # second\nname = 'b'\ncategory = 'Meals'\nregex = 'x'\n")
    assert [rule.line for rule in rules] == [3, 7]
    (inline,) = read_rules("rule = [{name = 'a', category = 'Meals', contains = 'x'}]")
    assert inline.line is None


EXISTING = "# my rules\n\n[[rule]]\nname = 'tea'  # green\ncontains = 'tea'\ncategory = 'Sales'\n\n\n"
ADDED = """[[rule]]
name = "joes \\"pizza\\", outflow, Card"
counterparty = "JOES \\"PIZZA\\""
category = "Expenses:Meals"
direction = "outflow"
ledger = "Card"
"""


@pytest.fixture
def queue(builders):
    """Return a queue of two pizzas, a refund of one, and a split."""
    text = 'SQ *Joe\'s "Pizza" 1234'
    parts = ("out", "20.00"), ("meals", "30.00")
    return builders.queue(
        ("card", "-10.00", text), ("card", "-30.00", text), ("card", "5.00", text), ("card", "-50.00", text, *parts)
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_appended_rule_decides_like_its_group(builders, queue, tmp_path, newline):
    file = tmp_path / "rules.toml"
    file.write_bytes(EXISTING.replace("\n", newline).encode())
    group = aa.group_queue(queue)["group_id"][0]
    assert add_rule(file, OpenQueue(queue, builders.ledgers), group, "meals") == ADDED
    assert file.read_bytes().decode() == (EXISTING.rstrip("\n") + "\n\n" + ADDED).replace("\n", newline)
    proposed = aa.propose(queue[queue["transaction_id"] != "txn-3-0"], aa.load_rules(file), books_of(builders.ledgers))
    decided = aa.decide(queue, {group: "meals"}, books_of(builders.ledgers))
    columns = ["transaction_id", "updated_category_ledger_id"]
    assert proposed[columns].to_numpy().tolist() == decided[columns].to_numpy().tolist()


def test_rule_of_some_days_is_named_after_them(builders, queue, tmp_path):
    file = tmp_path / "rules.toml"
    group = aa.group_queue(queue)["group_id"][0]
    rule = add_rule(file, OpenQueue(queue, builders.ledgers), group, "meals", day_of_month="1-5, 15")
    days = 'day_of_month = "1-5, 15"\n'
    assert rule == ADDED.replace('Card"\ncounterparty', 'Card, day 1-5, 15"\ncounterparty') + days
    with pytest.raises(RulesError, match="day_of_month: must be days from 1 to 31"):
        add_rule(file, OpenQueue(queue, builders.ledgers), group, "meals", day_of_month="32")
    assert file.read_text() == rule


def test_refused_rules_change_nothing(builders, queue, tmp_path):
    file, opened = tmp_path / "rules.toml", OpenQueue(queue, builders.ledgers)
    add_rule(file, opened, "txn-0-0", "Expenses:Meals")  # the rule of its group
    for key, error, message in (
        ("txn-1-0", RulesError, "has two rules named"),
        ("pizza", InputError, "neither a group nor a transaction"),
        ("txn-3-0", InputError, "is split"),
    ):
        with pytest.raises(error, match=message):
            add_rule(file, opened, key, "Sales")
        assert file.read_text() == ADDED
    file.write_text("[[rule]]")
    with pytest.raises(RulesError, match="rule 1 at line 1: name is missing"):
        add_rule(file, opened, "txn-2-0", "Sales")
    assert file.read_text() == "[[rule]]"
