"""The effect of a plan: before, predicted and after a run, equal to the cent, or which figures differ."""

import dataclasses
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
def moves(build):
    """Return a plan that moves three entries from out to meals."""
    return build.plan(None, *(build.item(f"t{number}", "bank", "out", "meals", entry=f"e{number}") for number in "123"))


BEFORE = [("e1", "out", "-0.10"), ("e2", "out", "-0.20"), ("e3", "out", "-0.40"), ("e4", "rent", "-9.00")]
AFTER = [("e1", "meals", "-0.10"), ("e2", "meals", "-0.20"), ("e3", "meals", "-0.40"), ("e4", "rent", "-9.00")]


def outcomes(plan, *found):
    """Return the outcomes of a plan."""
    return plan.frame[KEYS].assign(outcome=list(found), reason="")


def differences(change):
    """Return figure and amount of each difference."""
    exact = ReportDifferences.exact(change.differences).frame
    return {
        (None if what == "ending_cash_balance" else name, str(units))
        for what, name, units in exact[["what", "ledger_name", "difference"]].itertuples(index=False, name=None)
    }


def test_as_predicted(moves, report):
    """When every item is done, every figure is as predicted; ledgers that did not change are left out."""
    predicted = moves.preview(report(*BEFORE))
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


@pytest.mark.parametrize("outcome", ["not_done", "would_change", "refused", "unknown", "changed_elsewhere"])
def test_items_that_are_not_done(moves, report, outcome):
    """What is predicted is what the items in the books change, also one that was carried out after it was read."""
    found = outcomes(moves, "done", outcome, "done")
    for second, made, predicted in ((BEFORE[1], 2, [-0.5, -0.2]), (AFTER[1], 3, [-0.7, 0.0])):
        change = moves.preview(report(*BEFORE)).check(report(AFTER[0], second, *AFTER[2:]), outcomes=found)
        change.raise_for_unexpected()
        assert change.frame["predicted"].tolist() == change.frame["after"].tolist() == predicted
        assert ("2 of 3 items in the books; 2 ledgers changed; every" in change.summary()) == (made == 2)


def test_not_done_without_outcomes(moves, report):
    """Without outcomes, everything is expected to be done."""
    change = moves.preview(report(*BEFORE)).check(report(*BEFORE))
    assert change.summary().endswith(": 0 ledgers changed; 2 figures differ from the prediction.")
    assert differences(change) == {("out", "-0.70"), ("meals", "0.70")}
    with pytest.raises(BooksDoNotTieError, match="another user changed, added or deleted entries"):
        change.raise_for_unexpected()


def test_changes_by_another_user(moves, report):
    """Ledgers and balances that another user changed are named, whatever the run had done."""
    after = report(("e1", "rent", "-0.10"), *AFTER[1:3], ("e5", "out", "-1.00"), bank="-1.00")
    found = outcomes(moves, "done", "done", "done")
    change = moves.preview(report(*BEFORE, bank="8.00")).check(after, outcomes=found)
    assert differences(change) == {
        (None, "-9.00"),
        ("<Bank>", "-9.00"),
        ("meals", "0.10"),
        ("rent", "8.90"),
        ("out", "-1.00"),
    }
    assert change.reasons()[0].startswith("ending cash balance: 9.00 less than predicted: recategorizing cannot")
    with pytest.raises(BooksDoNotTieError, match=r"ending cash balance: 9\.00 less .* \(and 2 more\)"):
        change.raise_for_unexpected()
    assert "<Bank>" not in change._repr_html_()
    assert json.loads(change.to_json())["differences"][0]["difference"] == "-9.00"


def test_what_is_not_done_is_told_from_what_others_changed(moves, report):
    """The error states how many items are in the books, and only what they do not explain."""
    found = outcomes(moves, "done", "done", "refused")
    others = report(*AFTER[:2], BEFORE[2], ("e4", "travel", "-9.00"))
    change = moves.preview(report(*BEFORE)).check(others, outcomes=found)
    assert differences(change) == {("rent", "9.00"), ("travel", "-9.00")}
    message = r"^2 of 3 items in the books, but .* of rent: 9\.00 more than predicted: another user"
    with pytest.raises(BooksDoNotTieError, match=message):
        change.raise_for_unexpected()


def test_an_account_that_the_report_does_not_list_any_more(moves, report):
    """A balance that is gone differs."""
    before = report(*BEFORE, bank="8.00")
    gone = dataclasses.replace(report(*AFTER, bank="8.00"), ending_balances=CashBalances.without_rows())
    assert differences(moves.preview(before).check(gone)) == {("<Bank>", "-8.00")}


def test_one_part_of_a_split(build, report):
    """Of an entry with two items of which one is not done, only the other is predicted."""
    plan = build.plan(
        None,
        build.item("t1", "bank", "out", "meals", entry="e1", opposing=["out", "in"]),
        build.item("t1", "bank", "in", "sales", entry="e1", opposing=["out", "in"]),
    )
    before = report(("e1", "out", "-3.00"), ("e1", "in", "5.00"))
    after = report(("e1", "meals", "-3.00"), ("e1", "in", "5.00"))
    change = plan.preview(before).check(after, outcomes=outcomes(plan, "done", "refused"))
    assert change.as_predicted


def test_a_category_with_another_name_is_compared(moves, report):
    """A plan with another name for a category than the report, whose items were refused, is compared all the same."""
    frame = moves.frame.assign(updated_category_ledger_name="Zeppelin")
    found = outcomes(moves, *["refused"] * 3)
    before = report(*BEFORE, ("e6", "meals", "-1.00"))
    change = aa.Effect.predict(aa.Plan(frame).items, before).check(before, found)
    assert change.as_predicted


def test_amounts_unfold_to_the_lines_that_are_moved(moves, report):
    """The table of a prediction has the lines of the report, and what it predicts is made of two amounts."""
    html = moves.preview(report(*BEFORE)).check(report(*AFTER))._repr_html_()
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])
    assert (data["dates"], data["ledgers"]) == (["2025-03-10"], ["out", "meals"])
    at = {column: number for number, column in enumerate(data["columns"])}
    assert [line[4] for line in data["lines"]] == [-10, -20, -40] * 2
    assert data["figures"]["out"][at["before"]] == [1, 0, 2]
    assert data["figures"]["out"][at["change"]] == [-1, 0, 2]
    assert data["terms"]["out|predicted"] == [["+", "out, before", "(0.70)"], ["+", "out, change", "0.70"]]


def test_invalid_arguments(moves, report):
    """Outcomes of another plan are refused, and so is checking an effect that no plan predicted."""
    with pytest.raises(InputError, match=r"was not made by Plan\.preview"):
        aa.Effect(PERIOD, LedgerChanges.without_rows()).check(report(*AFTER))
    found = outcomes(moves, "done", "done", "done").head(2)
    with pytest.raises(InputError, match="belong to another plan"):
        moves.preview(report(*BEFORE)).check(report(*AFTER), outcomes=found)


@pytest.fixture
def applied(books, plan, tmp_path):
    """Return the report before a run, and the outcomes of the run, all done."""
    before = books.report()
    return before, aa.apply_plan(books.client, plan, journal=tmp_path / "journal", confirm=True)


def test_report_changed_as_previewed(books, plan, applied):
    """Totals and balances are unchanged; each ledger changed by the predicted amount."""
    before, outcomes = applied
    effect = plan.preview(before)
    preview = LedgerChanges.exact(effect.frame).frame
    checked = effect.check(books.report(), outcomes)
    checked.raise_for_unexpected()
    changes = LedgerChanges.exact(checked.frame).frame
    assert (changes["after"] == changes["predicted"]).all()
    columns = (changes[name] for name in ("ledger_id", "before", "after"))
    moved = {ledger_id: now - was for ledger_id, was, now in zip(*columns, strict=True)}
    assert moved == dict(zip(preview["ledger_id"], preview["change"], strict=True))
    assert moved[books.meals] == Decimal("-39.75")


def test_transfer_between_accounts_is_detected(books, build, plan, applied):
    """A transfer changes two balances and no total; it is detected."""
    before, outcomes = applied
    transfer = build.purchase(9, "TRANSFER", "25.00", books.bank, books.savings)
    books.post(transfer)
    after = books.report()
    assert after.ending_cash_balance == before.ending_cash_balance
    with pytest.raises(BooksDoNotTieError, match=r"ending balance of (Bank|Savings)"):
        plan.preview(before).check(after, outcomes).raise_for_unexpected()


def test_reports_and_outcomes_must_belong_together(books, plan, applied):
    """Reports of different periods, and outcomes of another plan, are refused."""
    before, outcomes = applied
    other = aa.load_cash_flow_report(books.client, "2025-03-01", "2025-03-30")
    with pytest.raises(InputError, match="one period"):
        plan.preview(before).check(other).raise_for_unexpected()
    with pytest.raises(InputError, match="belong to another plan"):
        plan.preview(before).check(books.report(), outcomes.head(1)).raise_for_unexpected()
