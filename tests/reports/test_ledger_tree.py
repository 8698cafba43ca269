"""The tree of ledgers: display order, and totals where the parents of some ledgers are not known."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting_analytics.core.errors import FrameError, HierarchyError
from accounting_analytics.reports.ledger_tree import LedgerTree


def tree_of(parents, *, codes=None, unknown=(), types=None):
    """Tree of ledgers by their parents; by default each has its id as its sort code."""
    return LedgerTree.from_frame(
        pd.DataFrame(
            {
                "id": list(parents),
                "name": [one.upper() for one in parents],
                "report_cash_flow": [one.startswith("cash") for one in parents],
                "parent_id": list(parents.values()),
                "sort_code": [(codes or {}).get(one, one) for one in parents],
                "parent_known": [one not in unknown for one in parents],
                "type": [(types or {}).get(one, "expense") for one in parents],
            }
        )
    )


@given(st.data())
def test_totals_are_own_amounts_and_those_of_descendants(data):
    """Each ledger with an amount, and each above it, has the sum of its subtree."""
    ids = [f"l{number}" for number in range(data.draw(st.integers(1, 12)))]
    parents = {one: data.draw(st.sampled_from([None, *ids[:number]])) for number, one in enumerate(ids)}
    own = data.draw(st.dictionaries(st.sampled_from(ids), st.integers(-(10**20), 10**20)))
    tree = tree_of(parents)

    def subtree(root):
        return [one for one in ids if root in (one, *tree.hierarchy.ancestors(one))]

    totals = tree.totals(own, tree.trees(own))
    above = {one for one in ids if set(subtree(one)) & own.keys()}
    assert totals == {one: sum(own.get(below, 0) for below in subtree(one)) for one in above}


def test_a_ledger_without_a_code_is_before_its_first_descendant_with_one():
    """Such a parent is listed where its children are; one without any is last."""
    tree = tree_of(
        {"b": None, "child": "parent", "parent": None, "alone": None},
        codes={"b": "1", "child": "2", "parent": "", "alone": ""},
    )
    assert tree.ordered == ["b", "parent", "child", "alone"]


def test_a_tree_that_might_include_a_loose_ledger_has_no_total():
    """A ledger with an amount whose parent is unknown may be below any other of its type, and below no other type."""
    parents = {"rent": None, "meals": None, "sales": None}
    tree = tree_of(parents, unknown={"meals"}, types={"sales": "revenue"})
    own = {"rent": 5, "meals": 7, "sales": 9}
    trees = tree.trees(own)
    assert tree.totals(own, trees) == {"rent": None, "meals": 7, "sales": 9}
    inferred, unplaced = tree.notes(trees)
    assert inferred.startswith("The hierarchy is inferred: the parents of 1 ledger are not known (MEALS)")
    assert unplaced.startswith("The parents of 1 ledger are not known (MEALS): totals that might include them are")
    alone = tree.trees({"meals": 7, "sales": 9})
    assert tree.totals({"meals": 7, "sales": 9}, alone) == {"meals": 7, "sales": 9}
    assert [note.split(":")[0] for note in tree.notes(alone)] == ["The hierarchy is inferred"]


def test_ledgers_in_use_must_be_known():
    """A ledger of the lines, or a parent of it, that is not in the table is named."""
    tree = tree_of({"food": "expenses", "unused": "elsewhere"})
    with pytest.raises(FrameError, match="1 ledger of the line entries not in ledgers: rent"):
        tree.require(["rent"])
    with pytest.raises(HierarchyError, match="1 parent ledger not in ledgers: expenses"):
        tree.require(["food"])
    tree.require([])
