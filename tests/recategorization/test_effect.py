"""The effect of a plan: before, predicted and after a run, equal to the cent, or which figures differ."""

import json
import re
from collections import defaultdict
from decimal import Decimal

import pytest

import accounting_analytics as aa
from accounting_analytics.errors import BooksDoNotTieError, InputError
from accounting_analytics.schemas import CashBalances, CashFlowLedgers, CashFlowLines, LedgerChanges, ReportDifferences

KEYS = ["transaction_id", "ledger_id", "category_ledger_id", "updated_category_ledger_id"]
PERIOD = aa.Period.of("2025-03-01", "2025-03-31", "UTC")


@pytest.fixture
def report(build):
    """Return a function that makes a report of lines, each an entry, a ledger and an amount."""

    def make(*lines, bank="0.00", **flows):
        sums = defaultdict(Decimal)
        for _, ledger_id, amount in lines:
            sums[ledger_id] += Decimal(amount)
        net = list((sums | {name: Decimal(amount) for name, amount in flows.items()}).values())
        count = len(lines)
        return aa.CashFlowReport(
            period=PERIOD,
            ledgers=CashFlowLedgers.from_columns(
                {"ledger_id": list(sums), "name": list(sums), "net_cash_flow": net, "total_net_cash_flow": net}
            ),
            lines=CashFlowLines.from_columns(
                {
                    "line_id": [str(number) for number in range(count)],
                    "ledger_id": [ledger_id for _, ledger_id, _ in lines],
                    "amount": [Decimal(amount) for _, _, amount in lines],
                    "datetime": [build.NOON] * count,
                    "cash_flow_ledger_name": ["Bank"] * count,
                    "journal_entry_id": [entry for entry, _, _ in lines],
                    "journal_entry_description": [None] * count,
                }
            ),
            starting_balances=CashBalances.without_rows(),
            ending_balances=CashBalances.from_columns(
                {
                    "ledger_id": ["bank"],
                    "ledger_name": ["<Bank>"],
                    "sort_code": ["1"],
                    "cash_balance": [Decimal(bank)],
                    "total_cash_balance": [Decimal(bank)],
                }
            ),
            starting_cash_balance=Decimal(0),
            ending_cash_balance=Decimal(bank),
        )

    return make


@pytest.fixture
def plan(build):
    """Return a plan that moves three entries from out to meals."""
    return build.plan(None, *(build.item(f"t{number}", "bank", "out", "meals", entry=f"e{number}") for number in "123"))


BEFORE = [("e1", "out", "-0.10"), ("e2", "out", "-0.20"), ("e3", "out", "-0.40"), ("e4", "rent", "-9.00")]
AFTER = [("e1", "meals", "-0.10"), ("e2", "meals", "-0.20"), ("e3", "meals", "-0.40"), ("e4", "rent", "-9.00")]


def outcomes(plan, *found):
    """Return the outcomes of a plan."""
    return plan.frame[KEYS].assign(outcome=list(found), reason="")


def differences(change):
    """Return figure, transactions, difference and its unexplained part of each difference."""
    exact = ReportDifferences.exact(change.differences).frame
    columns = ["ledger_name", "transaction_ids", "difference", "unexplained"]
    rows = exact[columns].astype(object).where(exact[columns].notna(), None)
    return {(name, ids, str(units), str(left)) for name, ids, units, left in rows.itertuples(index=False, name=None)}


def test_as_predicted(plan, report):
    """When every item is done, every figure is as predicted; ledgers that did not change are left out."""
    predicted = plan.preview(report(*BEFORE))
    assert predicted.as_predicted is None
    assert predicted.summary() == f"Cash flow report, {PERIOD}: 2 ledgers change."
    assert "- meals: 0.00 before, -0.70 predicted\n" in predicted.explain()
    change = predicted.check(report(*AFTER))
    assert change.as_predicted
    exact = LedgerChanges.exact(change.frame).frame
    assert list(exact.itertuples(index=False, name=None)) == [
        ("meals", "meals", Decimal("0.00"), Decimal("-0.70"), Decimal("-0.70"), Decimal("-0.70")),
        ("out", "out", Decimal("-0.70"), Decimal("0.70"), Decimal("0.00"), Decimal("0.00")),
    ]
    assert change.summary() == (
        f"Cash flow report, {PERIOD}: 2 ledgers changed; every figure is as predicted, to the last digit."
    )
    assert "- meals: 0.00 before, -0.70 predicted, -0.70 after" in change.explain()


@pytest.mark.parametrize("outcome", ["not_done", "would_change", "refused", "unknown"])
def test_items_that_are_not_done(plan, report, outcome):
    """An item that is not done explains what its old and its new category lack; it is no failure of the check."""
    found = outcomes(plan, "done", outcome, "done")
    after = report(AFTER[0], BEFORE[1], *AFTER[2:])
    change = plan.preview(report(*BEFORE)).check(after, outcomes=found)
    assert differences(change) == {("out", "t2", "-0.20", "0.00"), ("meals", "t2", "0.20", "0.00")}
    assert "net cash flow of out: 0.20 less than predicted: 1 item of the plan is not in the books (t2)" in (
        change.reasons()
    )
    assert change.frame["after"].tolist() == [-0.5, -0.2]
    change.raise_for_unexpected()


def test_not_done_without_outcomes(plan, report):
    """Without outcomes, everything is expected to be done."""
    change = plan.preview(report(*BEFORE)).check(report(*BEFORE))
    assert change.summary().endswith(": 0 ledgers changed; 2 figures differ from the prediction.")
    assert differences(change) == {("out", None, "-0.70", "-0.70"), ("meals", None, "0.70", "0.70")}
    with pytest.raises(BooksDoNotTieError, match="another user changed, added or deleted entries"):
        change.raise_for_unexpected()


def test_changes_by_another_user(plan, report):
    """Ledgers and balances that another user changed are named, whatever the run had done."""
    after = report(("e1", "rent", "-0.10"), *AFTER[1:3], ("e5", "out", "-1.00"), bank="-1.00")
    found = outcomes(plan, "done", "done", "done")
    change = plan.preview(report(*BEFORE, bank="8.00")).check(after, outcomes=found)
    assert differences(change) == {
        (None, None, "-9.00", "-9.00"),
        ("<Bank>", None, "-9.00", "-9.00"),
        ("meals", None, "0.10", "0.10"),
        ("rent", None, "8.90", "8.90"),
        ("out", None, "-1.00", "-1.00"),
    }
    assert change.reasons()[0].startswith("ending cash balance: 9.00 less than predicted: recategorizing cannot")
    with pytest.raises(BooksDoNotTieError, match=r"ending cash balance: 9\.00 less .* \(and 2 more\)"):
        change.raise_for_unexpected()
    assert "<Bank>" not in change._repr_html_()
    assert json.loads(change.to_json())["differences"][0]["difference"] == "-9.00"


def test_what_is_not_done_is_told_from_what_others_changed(plan, report):
    """The error states how many items are in the books, and only what the outcomes do not explain."""
    found = outcomes(plan, "done", "done", "refused")
    others = report(*AFTER[:2], BEFORE[2], ("e4", "travel", "-9.00"))
    change = plan.preview(report(*BEFORE)).check(others, outcomes=found)
    assert set(change.unexpected["ledger_id"]) == {"rent", "travel"}
    message = r"^2 of 3 items in the books, but .* of rent: 9\.00 more than predicted: another user"
    with pytest.raises(BooksDoNotTieError, match=message):
        change.raise_for_unexpected()
    changed_again = report(("e1", "travel", "-0.10"), AFTER[1], *BEFORE[2:])
    change = plan.preview(report(*BEFORE)).check(changed_again, outcomes=found)
    assert ("meals", "t3", "0.50", "0.10") in differences(change)


@pytest.mark.parametrize("outcome", ["not_done", "unknown", "changed_elsewhere"])
def test_what_is_not_done_is_expected(plan, report, outcome):
    """An item that is not in the books, or that was carried out after it was read, is no unexpected change."""
    found = outcomes(plan, "done", "done", outcome)
    for third in (BEFORE[2], AFTER[2]):
        change = plan.preview(report(*BEFORE)).check(report(*AFTER[:2], third, AFTER[3]), outcomes=found)
        change.raise_for_unexpected()


def test_one_part_of_a_split(build, report):
    """Of an entry with two items of which one is not done, only that one differs."""
    plan = build.plan(
        None,
        build.item("t1", "bank", "out", "meals", entry="e1", opposing=["out", "in"]),
        build.item("t1", "bank", "in", "sales", entry="e1", opposing=["out", "in"]),
    )
    before = report(("e1", "out", "-3.00"), ("e1", "in", "5.00"))
    after = report(("e1", "meals", "-3.00"), ("e1", "in", "5.00"))
    change = plan.preview(before).check(after, outcomes=outcomes(plan, "done", "refused"))
    assert differences(change) == {("in", "t1", "5.00", "0.00"), ("sales", "t1", "-5.00", "0.00")}


def test_a_category_with_another_name_is_compared(plan, report):
    """A plan with another name for a category than the report, whose items were refused, is compared all the same."""
    frame = plan.frame.assign(updated_category_ledger_name="Zeppelin")
    found = outcomes(plan, *["refused"] * 3)
    before = report(*BEFORE, ("e6", "meals", "-1.00"))
    change = aa.Effect.predict(aa.Plan(frame).items, before).check(before, found)
    assert change.unexpected.empty


def test_amounts_unfold_to_the_lines_that_are_moved(plan, report):
    """The table of a prediction has the lines of the report, and what it predicts is made of two amounts."""
    html = plan.preview(report(*BEFORE)).check(report(*AFTER))._repr_html_()
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])
    assert (data["dates"], data["ledgers"]) == (["2025-03-10"], ["out", "meals"])
    at = {column: number for number, column in enumerate(data["columns"])}
    assert [line[4] for line in data["lines"]] == [-10, -20, -40] * 2
    assert data["figures"]["out"][at["before"]] == [1, 0, 2]
    assert data["figures"]["out"][at["change"]] == [-1, 0, 2]
    assert data["terms"]["out|predicted"] == [["+", "out, before", "(0.70)"], ["+", "out, change", "0.70"]]


def test_invalid_arguments(plan, report):
    """Outcomes of another plan are refused, and so is checking an effect that no plan predicted."""
    with pytest.raises(InputError, match=r"was not made by Plan\.preview"):
        aa.Effect(PERIOD, LedgerChanges.without_rows()).check(report(*AFTER))
    found = outcomes(plan, "done", "done", "done").head(2)
    with pytest.raises(InputError, match="belong to another plan"):
        plan.preview(report(*BEFORE)).check(report(*AFTER), outcomes=found)
