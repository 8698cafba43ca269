"""Outcomes of a plan for people: those that are not done first, each reason once, and exit code 6."""

from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.cli.apply import print_outcomes, require_done
from accounting_analytics.core.errors import RecategorizationIncompleteError
from accounting_analytics.core.schemas import PlanItems


@pytest.fixture
def plan():
    """Return a plan of 30 items."""
    count = 30
    columns = dict.fromkeys(PlanItems.dtypes(), ["x"] * count) | {
        "transaction_id": [f"txn_{number:02d}" for number in range(count)],
        "journal_entry_id": [f"entry_{number}" for number in range(count)],
        "datetime": pd.date_range("2025-07-01T12:00:00Z", periods=count, freq="D", unit="us"),
        "transaction_amount": [Decimal("-1.50")] * count,
        "uncategorized_amount": [Decimal("-1.50")] * count,
        "category_ledger_id": ["out"] * count,
        "updated_category_ledger_id": ["meals"] * count,
        "updated_category_ledger_name": ["Meals"] * count,
        "opposing_ledger_ids": ["out"] * count,
    }
    return aa.Plan(PlanItems.from_columns(columns))


def outcomes(plan, **others):
    """Return outcomes of a plan: done, except those given as (outcome, reason) by transaction."""
    keys = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]
    found = [others.get(one, ("done", "")) for one in plan.frame["transaction_id"]]
    return plan.frame[keys].assign(outcome=[one for one, _ in found], reason=[reason for _, reason in found])


def test_items_that_are_not_done_come_first(capsys, plan):
    """They are among the first rows wherever they are in the plan, and equal reasons are printed once."""
    lost = {f"txn_{number}": ("unknown", "no answer\x1b") for number in (25, 26, 27, 28)}
    refused = {"txn_29": ("refused", "no such ledger")}
    print_outcomes(plan, outcomes(plan, **lost, **refused), by="item", time_zone="UTC", limit=6)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith(": 30 items: 25 done, 4 unknown, 1 refused; times are UTC")
    cells = [line.split() for line in lines if line.startswith(" 2025-")]
    assert [row[2] for row in cells] == ["unknown"] * 4 + ["refused", "done"]
    assert lines[-3:] == [
        "6 of 30 rows; --all prints every row",
        "unknown (txn_25, txn_26, txn_27 and 1 more): no answer\N{REPLACEMENT CHARACTER}",
        "refused (txn_29): no such ledger",
    ]


def test_sums_by_category_and_rule(capsys, plan):
    """Instead of items the sums of each outcome are printed, and the reasons below."""
    refused = {f"txn_{number:02d}": ("refused", f"reason {number}") for number in range(4)}
    print_outcomes(plan, outcomes(plan, **refused), by="category", time_zone="UTC", limit=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(": 30 items: 26 done, 4 refused")
    cells = [line.split() for line in lines if "-" in line]
    assert ["Meals", "refused", "4", "-6.00", "meals"] in cells
    assert ["Meals", "done", "26", "-39.00", "meals"] in cells
    assert lines[-1] == "3 of 4 reasons; --all prints every one"
    print_outcomes(plan, outcomes(plan, **refused), by="rule", time_zone="UTC", limit=None)
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines() if "done" in line][1] == ["x", "done", "26", "-39.00"]
    assert printed.count("): reason ") == 4


def test_reasons_are_counted(capsys, plan):
    """Reasons beyond the limit are counted; without a limit every one is printed."""
    refused = {f"txn_{number:02d}": ("refused", f"reason {number}") for number in range(30)}
    print_outcomes(plan, outcomes(plan, **refused), by="item", time_zone="UTC", limit=2)
    assert capsys.readouterr().out.splitlines()[-1] == "2 of 30 reasons; --all prints every one"
    print_outcomes(plan, outcomes(plan, **refused), by="item", time_zone="UTC", limit=None)
    assert capsys.readouterr().out.count("): reason ") == 30


def test_message_of_incomplete_outcomes(capsys, plan):
    """Unknown items lead to `verify --journal`, others to applying again; when all is done the counts are printed."""
    require_done(outcomes(plan))
    assert capsys.readouterr().err == "30 done\n"
    with pytest.raises(
        RecategorizationIncompleteError, match="1 not_done; it is safe to apply the rest again"
    ) as caught:
        require_done(outcomes(plan, txn_03=("not_done", "")))
    assert caught.value.exit_code == 6
    with pytest.raises(
        RecategorizationIncompleteError, match="1 unknown; verify with --journal shows after 60 seconds"
    ):
        require_done(outcomes(plan, txn_03=("unknown", "")))
    with pytest.raises(RecategorizationIncompleteError) as caught:
        require_done(outcomes(plan, txn_03=("changed_elsewhere", "")))
    assert str(caught.value).endswith("not change items that were changed elsewhere, a new plan does")
    with pytest.raises(RecategorizationIncompleteError, match="1 refused; applying again leaves refused"):
        require_done(outcomes(plan, txn_03=("refused", "")))
