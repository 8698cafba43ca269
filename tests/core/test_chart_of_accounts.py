"""Chart of accounts: enumerations, defaults, required ledgers, order, hierarchy."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounting_analytics.core.chart_of_accounts import (
    DEFAULTS,
    TYPE_OF_SUB_TYPE,
    FinancialAccountType,
    Hierarchy,
    RequiredLedger,
    SubType,
    display_order,
    required_ledger,
)
from accounting_analytics.core.errors import HierarchyError


def test_every_sub_type_has_a_type():
    """Every sub_type has a type."""
    assert set(TYPE_OF_SUB_TYPE) == set(SubType)


def test_every_financial_account_has_consistent_defaults():
    """Each financial account type has defaults whose sub_type belongs to their type; only these report cash flow."""
    assert set(DEFAULTS) == set(FinancialAccountType)
    assert all(TYPE_OF_SUB_TYPE[defaults.sub_type] == defaults.type for defaults in DEFAULTS.values())
    assert {kind.value for kind, defaults in DEFAULTS.items() if defaults.report_cash_flow} == {
        "bank_account",
        "prepaid_card",
        "payments",
        "payroll",
        "credit_card",
    }
    assert {kind.value for kind, defaults in DEFAULTS.items() if defaults.debit_credit == "credit"} == {
        "accounts_payable",
        "loan",
        "credit_card",
    }


@pytest.mark.parametrize(
    ("sub_type", "side", "expected"),
    [
        ("transfers_between_accounts", "debit", RequiredLedger.TRANSFERS_BETWEEN_ACCOUNTS),
        ("equity", "credit", RequiredLedger.OPENING_BALANCE),
        ("uncategorized_assets", "credit", RequiredLedger.UNCATEGORIZED_INFLOW),
        ("uncategorized_assets", "debit", RequiredLedger.UNCATEGORIZED_OUTFLOW),
        ("other_income", "credit", RequiredLedger.UNCATEGORIZED_INFLOW),
        ("other_expenses", "debit", RequiredLedger.UNCATEGORIZED_OUTFLOW),
    ],
)
def test_required_ledgers_are_known_by_their_fields(sub_type, side, expected):
    """The four required ledgers are recognized without names, also where the uncategorized ones have another type."""
    assert required_ledger(is_required=True, sub_type=sub_type, debit_credit=side) is expected
    assert required_ledger(is_required=False, sub_type=sub_type, debit_credit=side) is None


def test_sort_codes_are_text():
    """20010 sorts before 3050, leading zeros count, equal codes are ordered by id."""
    ledgers = [("3050", "a"), ("20010", "b"), ("0100", "d"), ("0100", "c")]
    assert sorted(ledgers, key=lambda ledger: display_order(*ledger)) == [
        ("0100", "c"),
        ("0100", "d"),
        ("20010", "b"),
        ("3050", "a"),
    ]


@settings(deadline=None)
@given(st.data())
def test_hierarchy_against_a_naive_walk(data):
    """Ancestors of random trees are those of a naive search."""
    names = [f"led_{number}" for number in range(data.draw(st.integers(1, 12)))]
    parents = {name: data.draw(st.sampled_from([None, *names[:position]])) for position, name in enumerate(names)}
    hierarchy = Hierarchy(parents)
    for name in names:
        up, at = [], parents[name]
        while at is not None:
            up.append(at)
            at = parents[at]
        assert list(hierarchy.ancestors(name)) == up
        assert hierarchy.parent(name) == parents[name]


@pytest.mark.parametrize(
    "parents",
    [{"a": "a"}, {"a": "b", "b": "a"}, {"x": "a", "a": "b", "b": "c", "c": "a"}, {"y": None, "a": "b", "b": "a"}],
)
def test_cycles_are_refused_and_named(parents):
    """A cycle of any length is refused, and the message names each ledger in it."""
    with pytest.raises(HierarchyError) as caught:
        Hierarchy(parents)
    walked = re.search(r"cycle: (.*)$", str(caught.value))[1].split(" -> ")
    assert walked[0] == walked[-1]
    assert all(parents[child] == parent for child, parent in itertools.pairwise(walked))


def test_a_deep_hierarchy_needs_no_recursion():
    """A chain of 50,000 ledgers causes no recursion error."""
    hierarchy = Hierarchy({f"{number}": f"{number + 1}" for number in range(50_000)})
    assert sum(1 for _ in hierarchy.ancestors("0")) == 50_000


def test_unknown_ledgers_are_roots():
    """A ledger that is not in the hierarchy has no parent."""
    hierarchy = Hierarchy({"a": "gone"})
    assert hierarchy.parent("gone") is None
    assert list(hierarchy.ancestors("a")) == ["gone"]
