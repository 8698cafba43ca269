"""The effect of a plan: before, predicted and after a run, equal to the cent, or every difference with its cause."""

import json
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


def causes(change):
    """Return figure, entry, transactions, difference and cause of each difference."""
    exact = ReportDifferences.exact(change.differences).frame
    columns = ["ledger_name", "journal_entry_id", "transaction_ids", "difference", "cause"]
    return set(exact[columns].astype(object).where(exact[columns].notna(), None).itertuples(index=False, name=None))


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


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [("not_done", "not_done"), ("would_change", "not_done"), ("refused", "refused"), ("unknown", "unknown")],
)
def test_items_that_are_not_done(plan, report, outcome, cause):
    """An item that is not done explains what its old and its new category lack; it is no failure of the check."""
    found = outcomes(plan, "done", outcome, "done")
    after = report(AFTER[0], BEFORE[1], *AFTER[2:])
    change = plan.preview(report(*BEFORE)).check(after, outcomes=found)
    assert causes(change) == {
        ("out", "e2", "t2", Decimal("-0.20"), cause),
        ("meals", "e2", "t2", Decimal("0.20"), cause),
    }
    reason = next(one for one in change.reasons() if "of out" in one)
    assert reason.startswith("net cash flow of out: 0.20 less than predicted: 1 item ")
    assert reason.endswith("(t2)")
    assert change.frame["after"].tolist() == [-0.5, -0.2]
    change.raise_for_unexpected()


def test_not_done_without_outcomes(plan, report):
    """Without outcomes, an unchanged entry of the plan is not done."""
    change = plan.preview(report(*BEFORE)).check(report(*BEFORE))
    assert {cause for *_, cause in causes(change)} == {"not_done"}
    assert change.summary().endswith(": 0 ledgers changed; 2 figures differ from the prediction.")
    assert "3 items not done (t1, t2, t3)" in change.reasons()[0]


def test_changes_by_another_user(plan, report):
    """Entries that another user recategorized, added or deleted are named; also those that the run had done."""
    after = report(("e1", "rent", "-0.10"), *AFTER[1:3], ("e5", "out", "-1.00"), bank="-1.00")
    found = outcomes(plan, "done", "done", "done")
    change = plan.preview(report(*BEFORE, bank="8.00")).check(after, outcomes=found)
    assert causes(change) == {
        (None, None, None, Decimal("-9.00"), "balance_changed"),
        ("<Bank>", None, None, Decimal("-9.00"), "balance_changed"),
        ("meals", "e1", "t1", Decimal("0.10"), "changed_elsewhere"),
        ("rent", "e1", "t1", Decimal("-0.10"), "changed_elsewhere"),
        ("rent", "e4", None, Decimal("9.00"), "missing_entry"),
        ("out", "e5", None, Decimal("-1.00"), "new_entry"),
    }
    assert change.reasons()[0].startswith("ending cash balance: 9.00 less than predicted: recategorizing cannot")
    assert "net cash flow of out: 1.00 less than predicted: 1 new journal entry (e5)" in change.reasons()
    with pytest.raises(BooksDoNotTieError, match=r"ending cash balance: 9\.00 less .* \(and 3 more\)"):
        plan.preview(report(*BEFORE, bank="8.00")).check(after, outcomes=found).raise_for_unexpected()
    assert "<Bank>" not in change._repr_html_()
    assert json.loads(change.to_json())["differences"][0]["difference"] == "-9.00"


def test_done_and_changed_back(plan, report):
    """An item that the run states to be done and the report does not show was changed by another user."""
    found = outcomes(plan, "done", "done", "done")
    change = plan.preview(report(*BEFORE)).check(report(BEFORE[0], *AFTER[1:]), outcomes=found)
    assert {cause for *_, cause in causes(change)} == {"changed_elsewhere"}


def test_changes_outside_the_plan_are_told_from_those_of_its_transactions(plan, report):
    """The error states how many items are in the books, and whether transactions of the plan are part of the rest."""
    found = outcomes(plan, "done", "done", "refused")
    others = report(*AFTER[:2], BEFORE[2], ("e4", "travel", "-9.00"))
    change = plan.preview(report(*BEFORE)).check(others, outcomes=found)
    assert set(change.unexpected["journal_entry_id"]) == {"e4"}
    message = r"^2 of 3 items in the books, but .* of rent: 9\.00 more .*\(e4\).*No transaction of the plan"
    with pytest.raises(BooksDoNotTieError, match=message):
        change.raise_for_unexpected()
    changed_again = report(("e1", "travel", "-0.10"), AFTER[1], *BEFORE[2:])
    change = plan.preview(report(*BEFORE)).check(changed_again, outcomes=found)
    with pytest.raises(BooksDoNotTieError, match=r"1 transaction of the plan had a part in this \(t1\): verify"):
        change.raise_for_unexpected()


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
    assert causes(change) == {
        ("in", "e1", "t1", Decimal("5.00"), "refused"),
        ("sales", "e1", "t1", Decimal("-5.00"), "refused"),
    }


def test_a_figure_that_the_lines_do_not_show(plan, report):
    """A net cash flow that differs from the sum of its lines is a difference without an entry."""
    after = report(*AFTER, rent="-8.99")
    change = plan.preview(report(*BEFORE)).check(after)
    assert causes(change) == {("rent", None, None, Decimal("0.01"), "not_shown")}


def test_a_category_with_another_name_is_compared(plan, report):
    """A plan with another name for a category than the report, whose items were refused, is compared all the same."""
    frame = plan.frame.assign(updated_category_ledger_name="Zeppelin")
    found = outcomes(plan, *["refused"] * 3)
    before = report(*BEFORE, ("e6", "meals", "-1.00"))
    change = aa.Effect.predict(aa.Plan(frame).items, before).check(before, found)
    assert {cause for *_, cause in causes(change)} == {"refused"}


def test_invalid_arguments(plan, report):
    """Outcomes of another plan are refused, and so is checking an effect that no plan predicted."""
    with pytest.raises(InputError, match=r"was not made by Plan\.preview"):
        aa.Effect(PERIOD, LedgerChanges.without_rows()).check(report(*AFTER))
    found = outcomes(plan, "done", "done", "done").head(2)
    with pytest.raises(InputError, match="belong to another plan"):
        plan.preview(report(*BEFORE)).check(report(*AFTER), outcomes=found)
