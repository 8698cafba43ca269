"""Chart of accounts: enumerations, defaults, order, hierarchy, and names of ledgers as people write them."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accounting_analytics as aa
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
from accounting_analytics.core.errors import HierarchyError, InputError


def test_every_financial_account_has_consistent_defaults():
    assert set(TYPE_OF_SUB_TYPE) == set(SubType)
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
    assert required_ledger(is_required=True, sub_type=sub_type, debit_credit=side) is expected
    assert required_ledger(is_required=False, sub_type=sub_type, debit_credit=side) is None


def test_sort_codes_are_text():
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
    with pytest.raises(HierarchyError) as caught:
        Hierarchy(parents)
    walked = re.search(r"cycle: (.*)$", str(caught.value))[1].split(" -> ")
    assert walked[0] == walked[-1]
    assert all(parents[child] == parent for child, parent in itertools.pairwise(walked))


def test_a_deep_hierarchy_needs_no_recursion():
    hierarchy = Hierarchy({f"{number}": f"{number + 1}" for number in range(50_000)})
    assert sum(1 for _ in hierarchy.ancestors("0")) == 50_000


def test_unknown_ledgers_are_roots():
    hierarchy = Hierarchy({"a": "gone"})
    assert hierarchy.parent("gone") is None
    assert list(hierarchy.ancestors("a")) == ["gone"]


NAMES = {
    "expenses": "Expenses",
    "meals": "Meals",
    "travel": "Travel",
    "software": "Software",
    "goods": "Cost of Goods",
    "goods-software": "Software",
    "007": "Caf\N{LATIN SMALL LETTER E WITH ACUTE}",
    "shop": "meals-id: spare",
    "rent": "travel",  # the name of one ledger differs from the id of another
}
PARENTS = {"meals": "expenses", "travel": "expenses", "software": "expenses", "goods-software": "goods", "rent": "away"}


@pytest.fixture(scope="module")
def names():
    return aa.LedgerNames(NAMES, Hierarchy(dict.fromkeys(NAMES) | PARENTS))


@pytest.mark.parametrize(
    ("text", "ledger_id"),
    [
        ("meals", "meals"),
        ("MEALS", "meals"),
        ("  cost  of\tgoods ", "goods"),
        ("Expenses:Software", "software"),
        ("expenses : software", "software"),
        ("Cost of Goods:Software", "goods-software"),
        ("Cafe\N{COMBINING ACUTE ACCENT}", "007"),
        ("007", "007"),
        ("Meals-ID:Spare", "shop"),
        ("travel", "travel"),  # an id has precedence over the name of ledger rent
        ("away:travel", "rent"),  # a parent that is not in the chart is written by its id
    ],
)
def test_ledger_is_found_by_id_name_or_path(names, text, ledger_id):
    assert names.find(text) == ledger_id
    assert text in names


@pytest.mark.parametrize(
    ("text", "suggested"),
    [
        ("Meels", "did you mean 'Meals'?"),
        ("Expense:Meal", "did you mean 'Expenses:Meals' or 'Expenses:Travel' or 'Expenses'?"),
        ("Sofware", "did you mean 'Cost of Goods:Software' or 'Expenses:Software'?"),  # the name is not unique
        ("Expenses:Sofware", "did you mean 'Expenses:Software'"),
        ("Expenses:Running the Business:Meals", "did you mean 'Meals'"),
        ("Zeppelin", "give its id, unique name or path"),
        ("", "give its id"),
        (7, "no discovered ledger matches 7"),
        (None, "no discovered ledger matches None"),
    ],
)
def test_unknown_name_suggests_at_most_three(names, text, suggested):
    assert text not in names
    with pytest.raises(InputError) as caught:
        names.find(text)
    assert suggested in str(caught.value)
    assert "\n" not in str(caught.value)


def test_ambiguous_name_is_refused_with_paths_and_ids(names):
    with pytest.raises(InputError) as caught:
        names.find("SOFTWARE")
    assert str(caught.value) == (
        "several ledgers match 'SOFTWARE': 'Cost of Goods:Software' (id goods-software), 'Expenses:Software' "
        "(id software); give the path or id of one"
    )
    assert names.matches("software") == {"software"}  # an id
    assert names.matches("Software ") == {"software", "goods-software"}


def test_many_matches_are_counted():
    same = aa.LedgerNames({str(number): "Meals" for number in range(9)}, Hierarchy({}))
    with pytest.raises(InputError, match=r"'Meals' \(id 2\) and 6 more; give the path or id"):
        same.find("meals")
    similar = aa.LedgerNames({str(number): f"Meals {number}" for number in range(9)}, Hierarchy({}))
    assert len(similar.close_to("Meals")) == 3


def test_one_suggestion_for_each_ledger():
    names = aa.LedgerNames({"e": "E", "m": "Meals"}, Hierarchy({"m": "e"}))
    assert names.close_to("Meal") == ["Meals"]
    assert names.suggestion("Meal") == "did you mean 'Meals'?"


def test_beginnings_of_words_suggest_longer_names():
    listed = {"t": "Transfers Between Accounts", "w": "Wire Transfer Fees (Bank)", "r": "Rent"}
    names = aa.LedgerNames(listed, Hierarchy({}))
    assert names.close_to("Transfer") == ["Wire Transfer Fees (Bank)", "Transfers Between Accounts"]
    assert names.close_to("accounts transfer") == ["Transfers Between Accounts"]
    assert names.close_to("Tr") == []
    assert names.close_to("transferred") == []
    assert names.suggestion("Zeppelin") == ""


def test_ids_have_names_and_paths_or_stay_ids(names):
    assert (names.name("meals"), names.path("meals")) == ("Meals", "Expenses:Meals")
    assert (names.name("other"), names.path("other")) == ("other", "other")
    assert repr(names) == "<LedgerNames: 9 ledgers>"


def test_ids_and_paths_of_a_frame_find_ledgers(demo_company):
    ledgers = aa.discover_ledgers(demo_company.client, "2025-03-01", "2025-03-31")
    names = aa.LedgerNames.from_frame(ledgers)
    assert len(names) == len(ledgers)
    assert ledgers["parent_id"].notna().any()
    for ledger_id in ledgers["id"]:
        assert names.find(ledger_id) == ledger_id
        assert names.find(names.path(ledger_id).upper()) == ledger_id


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1), max_size=8))
def test_any_name_matches_its_ledger(names):
    found = aa.LedgerNames(names, Hierarchy({}))
    for ledger_id, name in names.items():
        assert found.find(ledger_id) == ledger_id
        assert ledger_id in found.matches(name) or name in names
