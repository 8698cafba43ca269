"""The effect of a plan: before, predicted and after a run, equal to the cent, or which figures differ."""

import dataclasses
import json
import re
from decimal import Decimal

import pytest
from small_reports import altered, small_report

import accounting_analytics as aa
from accounting_analytics.core.errors import AmountError, BooksDoNotTieError, InputError
from accounting_analytics.core.schemas import LedgerChanges, ReportDifferences

PERIOD = aa.Period.of("2025-03-01", "2025-03-31", "UTC")


@pytest.fixture
def report_of(build):
    """Return a function that makes a report of lines, each an entry, a ledger and an amount."""

    def make(*lines, bank="0.00"):
        rows = [
            (str(number), ledger_id, entry, amount, build.NOON)
            for number, (entry, ledger_id, amount) in enumerate(lines)
        ]
        return small_report(rows, days=("2025-03-01", "2025-03-31"), ending=bank, cash="<Bank>")

    return make


@pytest.fixture
def moves(build):
    """Return a plan that moves three entries from out to meals."""
    return build.plan(None, *(build.item(f"t{number}", "bank", "out", "meals", entry=f"e{number}") for number in "123"))


BEFORE = [("e1", "out", "-0.10"), ("e2", "out", "-0.20"), ("e3", "out", "-0.40"), ("e4", "rent", "-9.00")]
AFTER = [("e1", "meals", "-0.10"), ("e2", "meals", "-0.20"), ("e3", "meals", "-0.40"), ("e4", "rent", "-9.00")]


def differences(change):
    exact = ReportDifferences.exact(change.differences).frame
    return {
        (None if what == "ending_cash_balance" else name, str(units))
        for what, name, units in exact[["what", "ledger_name", "difference"]].itertuples(index=False, name=None)
    }


def test_done_items_give_every_predicted_figure(moves, report_of):
    predicted = moves.preview(report_of(*BEFORE))
    assert predicted.as_predicted is None
    assert predicted.summary() == "Cash flow report, Mar 2025 (UTC): 2 ledgers change."
    assert "- meals: 0.00 before, -0.70 predicted\n" in predicted.explain()
    change = predicted.check(report_of(*AFTER))
    assert change.as_predicted
    exact = LedgerChanges.exact(change.frame).frame
    assert list(exact.itertuples(index=False, name=None)) == [
        ("meals", "meals", Decimal("0.00"), Decimal("-0.70"), Decimal("-0.70"), Decimal("-0.70")),
        ("out", "out", Decimal("-0.70"), Decimal("0.70"), Decimal("0.00"), Decimal("0.00")),
    ]
    assert change.summary() == (
        "Cash flow report, Mar 2025 (UTC): 2 ledgers changed; every figure is as predicted, to the last digit."
    )
    assert "- meals: 0.00 before, -0.70 predicted, -0.70 after" in change.explain()


@pytest.mark.parametrize("outcome", ["not_done", "unknown"])
def test_items_in_the_books_are_what_is_predicted(build, moves, report_of, outcome):
    found = build.found(moves, "done", outcome, "done")
    for second, made, predicted in ((BEFORE[1], 2, [-0.5, -0.2]), (AFTER[1], 3, [-0.7, 0.0])):
        change = moves.preview(report_of(*BEFORE)).check(report_of(AFTER[0], second, *AFTER[2:]), outcomes=found)
        change.raise_for_unexpected()
        assert change.frame["predicted"].tolist() == change.frame["after"].tolist() == predicted
        assert ("2 of 3 items in the books; 2 ledgers changed; every" in change.summary()) == (made == 2)


def test_everything_is_expected_without_outcomes(moves, report_of):
    change = moves.preview(report_of(*BEFORE)).check(report_of(*BEFORE))
    assert change.summary().endswith(": 0 ledgers changed; 2 figures differ from the prediction.")
    assert differences(change) == {("out", "-0.70"), ("meals", "0.70")}
    with pytest.raises(BooksDoNotTieError, match="another user changed, added or deleted entries"):
        change.raise_for_unexpected()


def test_changes_by_another_user_are_named(build, moves, report_of):
    after = report_of(("e1", "rent", "-0.10"), *AFTER[1:3], ("e5", "out", "-1.00"), bank="-1.00")
    found = build.found(moves, "done", "done", "done")
    change = moves.preview(report_of(*BEFORE, bank="8.00")).check(after, outcomes=found)
    assert differences(change) == {
        (None, "-9.00"),
        ("<Bank>", "-9.00"),
        ("meals", "0.10"),
        ("rent", "8.90"),
        ("out", "-1.00"),
    }
    assert change.differences["reason"][0].startswith(
        "ending cash balance: 9.00 less than predicted: recategorizing cannot"
    )
    with pytest.raises(BooksDoNotTieError, match=r"ending cash balance: 9\.00 less .* \(and 2 more\)"):
        change.raise_for_unexpected()
    assert "<Bank>" not in change._repr_html_()
    assert json.loads(change.to_json())["differences"][0]["difference"] == "-9.00"


def test_what_is_not_done_is_told_from_what_others_changed(build, moves, report_of):
    found = build.found(moves, "done", "done", "refused")
    others = report_of(*AFTER[:2], BEFORE[2], ("e4", "travel", "-9.00"))
    change = moves.preview(report_of(*BEFORE)).check(others, outcomes=found)
    assert differences(change) == {("rent", "9.00"), ("travel", "-9.00")}
    message = r"^2 of 3 items in the books, but .* of rent: 9\.00 more than predicted: another user"
    with pytest.raises(BooksDoNotTieError, match=message):
        change.raise_for_unexpected()


def test_one_part_of_a_split_is_predicted(build, report_of):
    plan = build.plan(
        None,
        build.item("t1", "bank", "out", "meals", entry="e1", opposing=["out", "in"]),
        build.item("t1", "bank", "in", "sales", entry="e1", opposing=["out", "in"]),
    )
    before = report_of(("e1", "out", "-3.00"), ("e1", "in", "5.00"))
    after = report_of(("e1", "meals", "-3.00"), ("e1", "in", "5.00"))
    change = plan.preview(before).check(after, outcomes=build.found(plan, "done", "refused"))
    assert change.as_predicted


def test_the_table_has_each_ledger(moves, report_of):
    html = moves.preview(report_of(*BEFORE)).check(report_of(*AFTER))._repr_html_()
    assert re.findall(r"<th[^>]*>([^<]*)</th>", html)[:5] == ["name", "before", "change", "predicted", "after"]
    rows = [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    assert ["-0.70", "0.70", "0.00", "0.00"] in [row[1:] for row in rows]


def test_reports_and_outcomes_must_belong_together(company_books, build, moves, report_of):
    effect, found = moves.preview(report_of(*BEFORE)), build.found(moves, "done", "done", "done")
    with pytest.raises(InputError, match="belong to another plan"):
        effect.check(report_of(*AFTER), outcomes=found.head(2))
    with pytest.raises(InputError, match="one period"):
        effect.check(company_books.report()).check(
            aa.load_cash_flow_report(company_books.client, "2025-03-01", "2025-03-30")
        )
    with pytest.raises(InputError, match="tags"):
        moves.preview(dataclasses.replace(report_of(*BEFORE), tag_ids=("tag",)))


def test_preview_notes_items_without_effect(company_books, plan):
    narrow = aa.load_cash_flow_report(company_books.client, "2025-03-11", "2025-03-31")
    preview = plan.preview(narrow)
    assert preview.frame.empty
    assert "4 of 4 items would change nothing" in preview.notes[0]
    assert "txn_split" in preview.notes[0]
    company_books.move("txn_2", company_books.outflow, company_books.rent)
    moved = plan.preview(company_books.report())
    assert company_books.software not in set(moved.frame["ledger_id"])
    assert "1 of 4 items would change nothing" in moved.notes[0]


def test_preview_is_exact(build, report_of):
    plan = build.plan(None, build.item("t", "bank", "out", "in", entry="e"))
    amount = "-123456789012345678901234567890123456.78"
    large = plan.preview(report_of(("e", "out", amount), ("i", "in", "0.01")))
    assert list(map(str, large.exact().changes["predicted"])) == [f"{amount[:-1]}7", "0.00"]
    assert [one["predicted"] for one in json.loads(large.to_json())["changes"]] == [f"{amount[:-1]}7", "0.00"]
    assert f"{Decimal(amount[:-1] + '7'):,f} predicted" in large.explain()
    with pytest.raises(AmountError, match=r"before: amount .* is too large for a pandas frame"):
        _ = large.frame
    floats = plan.preview(report_of(("e", "out", "-0.10"), ("e", "out", "-0.20"), ("i", "in", "0.01"))).frame
    assert floats.drop(columns="name").to_dict("list") == {
        "ledger_id": ["in", "out"],
        "before": [0.01, -0.30],
        "change": [-0.30, 0.30],
        "predicted": [-0.29, 0.0],
    }


PARENTS = {"expenses": None, "food": "expenses", "meals": "food", "travel": "expenses", "out": None}
FLOWS = [("e1", "expenses", "-1.10"), ("e2", "food", "-2.00"), ("e3", "meals", "-3.00")]
MOVED = [("to meals", "out", "-7.00"), ("to travel", "out", "-2.20")]


@pytest.fixture
def totals(build):
    """Return a function that predicts the totals of a plan that moves lines of entries that name a ledger.

    The chart of accounts has these parents; those in `known` state whether their parent is known.
    """

    def predict(report, parents=PARENTS, **known):
        names, is_known = [f"the {name}" for name in parents], [known.get(name, True) for name in parents]
        ledgers = build.ledgers([*parents], name=names, parent_id=[*parents.values()], parent_known=is_known)
        entries = [entry for entry in report.lines["journal_entry_id"] if entry.startswith("to ")]
        items = (build.item(entry, "bank", "out", entry.removeprefix("to "), entry=entry) for entry in entries)
        found = build.plan(None, *items).preview(report).totals(ledgers)
        exact = LedgerChanges.exact(found).frame.drop(columns="name")
        return found, [tuple(map(str, row)) for row in exact.itertuples(index=False, name=None)]

    return predict


@pytest.mark.parametrize(("stated", "before", "predicted"), [("-6.50", "-6.50", "-15.70"), (None, "-6.10", "-15.30")])
def test_totals_of_roots_have_changes_at_any_depth(totals, report_of, stated, before, predicted):
    made = report_of(*FLOWS, *MOVED)
    ledgers = made.exact().ledgers
    ledgers.loc[ledgers["ledger_id"] == "expenses", "total_net_cash_flow"] = stated and Decimal(stated)
    found, rows = totals(altered(made, ledgers=ledgers))
    assert rows == [("expenses", before, "-9.20", predicted), ("out", "-9.20", "9.20", "0.00")]
    assert found["name"].tolist() == ["the expenses", "the out"]
    assert found.attrs["notes"] == ()


def test_root_that_is_not_listed_starts_at_its_ledgers(totals, report_of):
    _, rows = totals(report_of(FLOWS[2], *MOVED))
    assert rows[0] == ("expenses", "-3.00", "-9.20", "-12.20")
    _, rows = totals(report_of(*MOVED))
    assert rows[0] == ("expenses", "0.00", "-9.20", "-9.20")


def test_unknown_parents_are_noted(totals, report_of):
    found, rows = totals(
        report_of(*FLOWS, *MOVED, ("to gone", "out", "0.00")), parents=PARENTS | {"food": None}, food=False
    )
    assert [row[0] for row in rows] == ["food", "expenses", "gone", "out"]
    assert "parents of 2 ledgers to be changed are not known" in found.attrs["notes"][0]
    assert found.attrs["notes"][0].endswith(": gone, the meals.")
