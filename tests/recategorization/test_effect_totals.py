"""Totals of the roots of the chart of accounts, before and as predicted."""

import datetime as dt
from decimal import Decimal

import pandas as pd
import pytest

import accounting_analytics as aa
from accounting_analytics.errors import InputError
from accounting_analytics.schemas import CashBalances, CashFlowLedgers, CashFlowLines, LedgerChanges, Ledgers

FLOWS = [
    ("expenses", "-1.10", "-6.10"),
    ("food", "-2.00", "-5.00"),
    ("meals", "-3.00", "-3.00"),
    ("out", "-9.20", "-9.20"),
]
PARENTS = {"expenses": None, "food": "expenses", "meals": "food", "travel": "expenses", "out": None}
MOVED = {"meals": Decimal("-7.00"), "travel": Decimal("-2.20")}
"""Amount that a plan moves from out to each ledger."""


def report_of(*flows, moved=MOVED):
    """Return a report of these ledgers, net cash flows and totals, with the lines that a plan moves."""
    ids, own, totals = zip(*flows, strict=True)
    columns = dict.fromkeys(CashFlowLines.dtypes(), ["x"] * len(moved)) | {
        "line_id": list(moved),
        "ledger_id": ["out"] * len(moved),
        "amount": list(moved.values()),
        "datetime": [dt.datetime(2025, 3, 10, 12, tzinfo=dt.UTC)] * len(moved),
        "journal_entry_id": [f"to {ledger_id}" for ledger_id in moved],
    }
    return aa.CashFlowReport(
        period=aa.Period.of("2025-03-01", "2025-03-31", "UTC"),
        ledgers=CashFlowLedgers.from_columns(
            {
                "ledger_id": ids,
                "name": ids,
                "net_cash_flow": [Decimal(amount) for amount in own],
                "total_net_cash_flow": [None if amount is None else Decimal(amount) for amount in totals],
            }
        ),
        lines=CashFlowLines.from_columns(columns),
        starting_balances=CashBalances.without_rows(),
        ending_balances=CashBalances.without_rows(),
        starting_cash_balance=Decimal(0),
        ending_cash_balance=Decimal(0),
    )


def ledgers_of(parents, **known):
    """Return a chart of accounts with these parents; those in `known` state whether their parent is known."""
    columns = dict.fromkeys(Ledgers.dtypes(), [None] * len(parents)) | {
        "id": list(parents),
        "name": [f"the {name}" for name in parents],
        "report_cash_flow": [False] * len(parents),
        "parent_id": list(parents.values()),
        "sort_code": list(parents),
        "parent_known": [known.get(name, True) for name in parents],
    }
    return Ledgers.from_columns(columns)


def rows(totals):
    """Return id, total before, change and predicted total of each root."""
    exact = LedgerChanges.exact(totals).frame
    return [tuple(map(str, row)) for row in exact.drop(columns="name").itertuples(index=False, name=None)]


@pytest.fixture
def predict(build):
    """Return a function that predicts the totals of a plan that moves amounts from out."""

    def totals(report, ledgers, *, moved=MOVED):
        items = (build.item(f"t {one}", "bank", "out", one, entry=f"to {one}") for one in moved)
        names = dict(zip(report.ledgers["ledger_id"], report.ledgers["name"], strict=True))
        cells = (
            item | {"updated_category_ledger_name": names.get(item["updated_category_ledger_id"], "new")}
            for item in items
        )
        return build.plan(None, *cells).preview(report).totals(ledgers)

    return totals


@pytest.mark.parametrize("stated", ["-6.10", None])
def test_totals_of_roots(predict, stated):
    """Changes at any depth are in the total of the root, which is summed where the report does not state it."""
    flows = [("expenses", "-1.10", stated), *FLOWS[1:]]
    totals = predict(report_of(*flows), ledgers_of(PARENTS))
    assert rows(totals) == [("expenses", "-6.10", "-9.20", "-15.30"), ("out", "-9.20", "9.20", "0.00")]
    assert totals["name"].tolist() == ["the expenses", "the out"]
    assert totals.attrs["notes"] == ()


def test_a_root_that_the_report_does_not_list(predict):
    """A root without lines in the period starts at the sum of its ledgers, or at zero."""
    totals = predict(report_of(*FLOWS[2:]), ledgers_of(PARENTS))
    assert rows(totals)[0] == ("expenses", "-3.00", "-9.20", "-12.20")
    totals = predict(report_of(FLOWS[3]), ledgers_of(PARENTS))
    assert rows(totals)[0] == ("expenses", "0.00", "-9.20", "-9.20")


def test_unknown_parents_are_noted(predict):
    """A ledger whose parent is not known, or that is not in the chart, is a total of its own, and is named."""
    moved = MOVED | {"gone": Decimal("0.00")}
    ledgers = ledgers_of(PARENTS | {"food": None}, food=False)
    totals = predict(report_of(*FLOWS, moved=moved), ledgers, moved=moved)
    assert [row[0] for row in rows(totals)] == ["food", "expenses", "gone", "out"]
    assert "parents of 2 ledgers to be changed are not known" in totals.attrs["notes"][0]
    assert totals.attrs["notes"][0].endswith(": gone, the meals.")


def test_plan_and_arguments(build):
    """A plan predicts the totals of its own changes; a chart of accounts of another type is refused."""
    plan = build.plan(None, build.item("t", "bank", "out", "meals"))
    assert plan.preview(report_of(*FLOWS)).totals(ledgers_of(PARENTS)).empty
    with pytest.raises(InputError, match="ledgers is of type dict"):
        plan.preview(report_of(*FLOWS)).totals(PARENTS)
    with pytest.raises(InputError, match="before is of type DataFrame"):
        plan.preview(pd.DataFrame())
