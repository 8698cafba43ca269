"""Rules files: what is read, and what is refused by the rule's name."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.categorization import load_rules
from accounting_analytics.errors import RulesError
from accounting_analytics.schemas import Queue

RULE = "[[rule]]\nname = 'a'\ncategory = 'Meals'\n"


@pytest.fixture
def rules_of(tmp_path):
    """Return a loader of rules given as text."""

    def load(text):
        file = tmp_path / "rules.toml"
        file.write_text(text, encoding="utf-8")
        return load_rules(file)

    return load


def transactions(*descriptions):
    """Return transactions with these descriptions, as far as rules look at them."""
    count = len(descriptions)
    columns = {
        "description": list(descriptions),
        "amount": ["-5.00"] * count,
        "direction": ["outflow"] * count,
        "ledger_id": ["bank"] * count,
    }
    return Queue.of(columns)


def fits(rules, *descriptions):
    """Return whether any rule fits each description."""
    return [name is not None for name in rules.first_fitting(transactions(*descriptions), {})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]]\ncontains = 'x'\ncategory = 'Meals'", "rule 1 has no name"),
        ("[[rule]]\nname = 'a'\ncontains = 'x'", "rule 1 ('a') has no category"),
        (RULE, "either contains or regex"),
        (RULE + "contains = 'x'\nregex = 'x'", "either contains or regex"),
        (RULE + "contains = ' '", "contains must be text that is not empty"),
        (RULE + "contains = 3", "contains must be text"),
        (RULE + "regex = '('", "does not compile"),
        (RULE + r"regex = '(a)\1'", "does not compile"),
        (RULE + "regex = '(?=a)b'", "does not compile"),
        (RULE + "regex = 'a{1000}{1000}'", "does not compile"),
        (RULE + "contains = 'x'\nmax = 3", "unknown key 'max'"),
        (RULE + "contains = 'x'\nmax_amount = '3,50'", "max_amount: '3,50' is not an amount"),
        (RULE + "contains = 'x'\nmax_amount = true", "max_amount"),
        (RULE + "contains = 'x'\nmax_amount = nan", "max_amount"),
        (RULE + "contains = 'x'\nmin_amount = -5", "say direction instead"),
        (RULE + "contains = 'x'\nmin_amount = 5\nmax_amount = 4", "can never fit"),
        (RULE + "contains = 'x'\ndirection = 'up'", "inflow or outflow"),
        (RULE + "contains = 'x'\nledger = 5", "ledger must be text"),
        (RULE + "contains = 'x'\ncomment = 5", "comment must be text"),
        ((RULE + "contains = 'x'\n") * 2, "two rules named 'a'"),
        ("rule = 3", "[[rule]] tables"),
        ("", "[[rule]] tables"),
        (RULE + "contains = 'x'\n[more]\nx = 1", "nothing else"),
        ("[[rule", "not TOML"),
        ("x = " + "[" * 50_000, "not TOML"),
    ],
)
def test_what_cannot_work_is_refused_by_name(rules_of, text, said):
    """A rule that cannot work is refused when the file is read, in one line."""
    with pytest.raises(RulesError, match="rule") as caught:
        rules_of(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_unreadable_file_is_named(tmp_path, content):
    """A file that is not there, or not text, is named."""
    file = tmp_path / "rules.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(RulesError, match=re.escape(str(file))):
        load_rules(file)


def test_amounts_may_be_numbers_or_text(rules_of):
    """A number is read digit by digit, never as a binary float."""
    (one,) = rules_of(RULE + "contains = 'x'\nmax_amount = 0.3\nmin_amount = '0.1'")
    assert (str(one.max_amount), str(one.min_amount)) == ("0.3000000000", "0.1000000000")


def test_contains_ignores_case_and_white_space(rules_of):
    """Contains is plain text: no character of it means anything else."""
    rules = rules_of(RULE + "contains = 'sq  *Blue (Bttl)'")
    assert fits(rules, "SQ *BLUE\t (BTTL) 0423", "xsq *blue (bttl)", "SQ BLUE (BTTL)", "SQ *BLUE BTTL", "") == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_file_with_a_byte_order_mark_is_read(tmp_path):
    """Editors that begin a file with a mark do no harm."""
    file = tmp_path / "rules.toml"
    file.write_text(RULE + "contains = 'x'", encoding="utf-8-sig")
    assert len(load_rules(file)) == 1


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=20))
def test_any_text_contains_itself(tmp_path_factory, text):
    """Whatever is written in contains fits a description that has it, and not an empty one."""
    file = tmp_path_factory.mktemp("rules") / "rules.toml"
    escaped = "".join(f"\\U{ord(character):08X}" for character in text)
    file.write_text(f'{RULE}contains = "{escaped}"', encoding="utf-8")
    assert fits(load_rules(file), f"before {text} after", "") == [True, False]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*a){12}$", "a*a*a*a*a*a*a*a*b"])
def test_no_expression_runs_for_ever(rules_of, pattern):
    """Expressions that take other engines until tomorrow answer at once, on long descriptions too."""
    rules = rules_of(f"{RULE}regex = '{pattern}'")
    began = time.monotonic()
    fits(rules, *["a" * 10_000 + "!"] * 10)
    assert time.monotonic() - began < 5
