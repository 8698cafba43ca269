"""Tables about a plan in a terminal of 80 columns and 24 lines, whatever the number of items."""

from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.cli.output import MAX_ROWS
from accounting_analytics.cli.plan_tables import print_preview, print_totals, print_verdict
from accounting_analytics.schemas import LedgerChanges, PlanItems, ReportDifferences

NAME = "Professional services, legal and accounting, outside the country"
COUNT = 5_000
LEDGERS = 40


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """Print to a terminal of 80 columns."""
    for name, value in {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def totals():
    """Return a function for the totals of 5,000 items of 40 rules in 40 categories, one of which is not done."""
    numbers = range(COUNT)
    columns = dict.fromkeys(PlanItems.dtypes(), ["x"] * COUNT) | {
        "transaction_id": [f"t{number}" for number in numbers],
        "journal_entry_id": [f"e{number}" for number in numbers],
        "datetime": [pd.Timestamp("2025-07-01T12:00:00Z")] * COUNT,
        "amount": [Decimal("-1234567.89")] * COUNT,
        "category_amount": [None] * COUNT,
        "updated_category_ledger_id": [f"ledger-{number % LEDGERS:032}" for number in numbers],
        "updated_category_ledger_name": [f"{number % LEDGERS} {NAME}" for number in numbers],
        "rule": [f"{number % LEDGERS} {NAME}" for number in numbers],
        "opposing_ledger_ids": ["x"] * COUNT,
    }
    plan = aa.Plan(PlanItems.from_columns(columns))
    keys = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]
    outcomes = plan.frame[keys].assign(outcome=["unknown", *["done"] * (COUNT - 1)], reason="")
    return lambda by: plan.totals(by, outcomes)


@pytest.mark.parametrize("by", ["category", "rule"])
def test_totals_fit_a_screen(capsys, totals, by):
    """The items are summed in a table that leaves lines for messages; what is not done comes first."""
    print_totals(totals(by), MAX_ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 16
    rows = [line for line in lines if "-" in line and line.lstrip()[0].isdigit()]
    assert [line.split()[-3:] for line in rows[:1]] == [["unknown", "1", "-1,234,567.89"]]
    assert "10 of 41 rows; --all prints every row" in lines


def test_ledgers_with_the_largest_changes_come_first(capsys):
    """Totals come first, then the ledgers by the size of the change; a root without other ledgers is printed once."""
    changes = [Decimal(-number) for number in range(1, LEDGERS)]
    changes.append(-sum(changes))
    ids = [f"ledger-{number:032}" for number in range(LEDGERS)]
    columns = {
        "ledger_id": ids,
        "name": [f"{number} {NAME}" for number in range(LEDGERS)],
        "before": [Decimal(0)] * LEDGERS,
        "change": changes,
        "predicted": changes,
    }
    moved = [-changes[-1], changes[-1]]
    totals = LedgerChanges.from_columns(
        {
            "ledger_id": ["expenses", ids[-1]],
            "name": ["expenses", columns["name"][-1]],
            "before": [Decimal(0)] * 2,
            "change": moved,
            "predicted": moved,
        }
    )
    print_preview(LedgerChanges.from_columns(columns), totals, MAX_ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 16
    rows = [line.split() for line in lines if line.endswith("0 ")]
    assert [row[-1] for row in rows[:4]] == ["-780.00", "780.00", "-39.00", "-38.00"]
    assert rows[0][:2] == ["total", "expenses"]
    assert "10 of 41 rows; --all prints every row" in lines


def test_a_plan_that_changes_nothing(capsys):
    """A preview without rows prints no table."""
    print_preview(LedgerChanges.without_rows(), LedgerChanges.without_rows(), MAX_ROWS)
    assert capsys.readouterr().out == ""


def test_verdict(capsys):
    """The first differences are printed, without control characters, and how many there are."""
    period = aa.Period.of("2025-03-01", "2025-03-31", "UTC")
    columns = {name: ["x"] * 5 for name in ReportDifferences.dtypes()} | {
        "what": ["net_cash_flow"] * 5,
        "ledger_id": list("abcde"),
        "ledger_name": ["Rent\x1b"] * 5,
        "difference": [Decimal(1)] * 5,
        "unexplained": [Decimal(1)] * 5,
        "transaction_ids": [None] * 5,
    }
    changes = LedgerChanges.from_columns({name: [] for name in LedgerChanges.dtypes()})
    change = aa.Effect(period, changes, differences=ReportDifferences.from_columns(columns))
    print_verdict(change, MAX_ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(": 0 ledgers changed; 5 figures differ from the prediction.")
    cause = "1.00 more than predicted: another user changed, added or deleted entries"
    assert lines[1] == f"- net cash flow of Rent\N{REPLACEMENT CHARACTER}: {cause}"
    assert lines[4:] == ["3 of 5 differences; --all prints every one"]
    print_verdict(change, None)
    assert len(capsys.readouterr().out.splitlines()) == 6
